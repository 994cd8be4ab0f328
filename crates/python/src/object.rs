//! Object graphs as Python objects. A factory of the Python layer makes them; what is in them is turned around here.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use arrowroot::format::column::{Class, Name, Node};
use arrowroot::format::decode::{Content, OUTERMOST, Object, Values};
use arrowroot::format::streamer::Primitive;
use arrowroot::{KeyedObject, open_inside};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyString, PyTuple};

use crate::errors::to_python;
use crate::table::PyTable;
use hints::{Hint, Part, collect_hints, item_hint, of_root, parts_of};

mod hints;

/// Values inside of each other that are no objects, such as lists behind pointers, may be nested so deep.
const MAX_DEPTH: usize = 64;

/// How many objects and values are made before the next look for a signal.
const MADE_BETWEEN_SIGNALS: u32 = 1024;

/// Turns a graph around.
pub(crate) struct Maker<'py, 'g> {
    py: Python<'py>,
    /// Has the methods `record(class_name, bases)`, `fill(record, members, own)`, `tree(table)`,
    /// and `unreadable(class_name, error, data)`.
    factory: Bound<'py, PyAny>,
    read: &'g KeyedObject,
    made: HashMap<u32, Bound<'py, PyAny>>,
    /// Records that are made, but empty.
    empty: Vec<(Bound<'py, PyAny>, &'g Arc<Node>, &'g Values)>,
    bases: HashMap<String, Bound<'py, PyTuple>>,
    /// Names of members by their address: the objects of a class share them.
    names: HashMap<*const u8, Bound<'py, PyString>>,
    depth: usize,
    /// Objects, and values in them that are none, so far.
    n_made: Cell<u32>,
}

/// Members of structs of one class: a dictionary for each, without those that its version does not have.
struct Members<'py> {
    structs: Vec<Bound<'py, PyDict>>,
    /// Names of the members that the class adds to those of the class of ROOT which it derives from; none where there is no
    /// such class.
    own: Bound<'py, PyTuple>,
}

/// Values of a column; `None` where there is none.
type Column<'py> = Vec<Option<Bound<'py, PyAny>>>;

impl<'py, 'g> Maker<'py, 'g> {
    pub(crate) fn new(py: Python<'py>, factory: Bound<'py, PyAny>, read: &'g KeyedObject) -> Self {
        let (made, bases, names) = (HashMap::new(), HashMap::new(), HashMap::new());
        Maker { py, factory, read, made, empty: Vec::new(), bases, names, depth: 0, n_made: Cell::new(0) }
    }

    /// The object of the key, with all that it leads to.
    pub(crate) fn make(mut self) -> PyResult<Bound<'py, PyAny>> {
        let outermost = self.link(OUTERMOST)?;
        self.fill_all()?;
        Ok(outermost)
    }

    /// The same where the record of the object is there already, without members.
    pub(crate) fn make_into(mut self, record: Bound<'py, PyAny>) -> PyResult<()> {
        if let Some((node, values)) = outermost_struct(self.read) {
            self.made.insert(OUTERMOST, record.clone());
            self.empty.push((record, node, values));
        }
        self.fill_all()
    }

    /// A number, a text or an array of numbers among the members of the object, by the names that lead to it: `None` if there
    /// is none, `NotImplemented` if it is something else, or several have the name.
    pub(crate) fn plain_member(mut self, names: &[PyBackedStr]) -> PyResult<Bound<'py, PyAny>> {
        let other = self.py.NotImplemented().into_bound(self.py);
        let Some((_, mut values)) = outermost_struct(self.read) else { return Ok(other) };
        for name in names {
            let Values::Struct(1, columns) = values else { return Ok(other) };
            let mut called_so = columns.iter().filter(|(known, _)| **known == **name);
            match (called_so.next(), called_so.next()) {
                (Some((_, found)), None) => values = found,
                // A base that writes itself may have it.
                (None, _)
                    if !columns
                        .iter()
                        .any(|(_, inner)| matches!(inner, Values::Struct(_, inner) if has(inner, name))) =>
                {
                    return Ok(self.py.None().into_bound(self.py));
                }
                _ => return Ok(other),
            }
        }
        match values {
            Values::Primitive(..) | Values::Text(..) => first(self.column(Hint::Unknown, values)?),
            Values::List(_, items) if Dense::of(items).is_some() => first(self.column(Hint::Unknown, values)?),
            _ => Ok(other),
        }
    }

    /// See [`PyUnread::bins`](crate::unread::PyUnread).
    pub(crate) fn bins(self, flow: bool) -> PyResult<Option<(Bound<'py, PyAny>, Vec<usize>)>> {
        let n_axes = n_axes(&self.read.key().key.class_name);
        let found = n_axes.and_then(|n_axes| bins_of(outermost_struct(self.read)?.1, n_axes));
        let Some((mut bins, sizes)) = found else { return Ok(None) };
        let n_cells = sizes.iter().map(|size| size + 2).product::<usize>();
        let mut n_bins = n_cells;
        if let ([size], false) = (sizes.as_slice(), flow) {
            let item_bytes = bins.item_bytes();
            bins.bytes = bins.bytes.get(item_bytes..).unwrap_or_default();
            n_bins = *size;
        }
        Ok(Some((self.array(&bins, n_bins)?, sizes)))
    }

    fn fill_all(&mut self) -> PyResult<()> {
        // Each object is made before what it leads to: they may lead back to it.
        while let Some((record, node, values)) = self.empty.pop() {
            self.look_for_signals()?;
            let Members { structs, own } = self.members(class_of(node), values)?;
            if let Some(members) = structs.into_iter().next() {
                self.fill(&record, members, own)?;
            }
        }
        Ok(())
    }

    fn link(&mut self, number: u32) -> PyResult<Bound<'py, PyAny>> {
        if let Some(made) = self.made.get(&number) {
            return Ok(made.clone());
        }
        let Some(object) = self.read.graph().objects.get(&number) else {
            return Ok(self.py.None().into_bound(self.py));
        };
        let made = match &object.content {
            Err(error) => self.unreadable(object, self.read.error_of(error))?,
            Ok(Content::Tree) => {
                self.look_for_signals()?;
                match open_inside(self.read, number) {
                    Ok(opened) => {
                        let table = PyTable::of_opened(self.py, opened)?;
                        self.factory.call_method1("tree", (table,))?
                    }
                    Err(error) if error.is_of_format() => self.unreadable(object, error)?,
                    Err(error) => return Err(to_python(error)),
                }
            }
            Ok(Content::Value(node, values @ Values::Struct(..))) => {
                let record = self.record(&object.class)?;
                self.empty.push((record.clone(), node, values));
                record
            }
            Ok(Content::Value(node, values)) => self.nested(|maker| first(maker.column(Hint::Of(node), values)?))?,
        };
        self.made.insert(number, made.clone());
        Ok(made)
    }

    /// What stands for an object that cannot be read.
    fn unreadable(&self, object: &Object, error: arrowroot::Error) -> PyResult<Bound<'py, PyAny>> {
        let error = to_python(error).into_value(self.py);
        let data = PyBytes::new(self.py, self.read.bytes_of(object));
        self.factory.call_method1("unreadable", (object.class.as_str(), error, data))
    }

    /// Once in a while, what a signal handler raises: that of Ctrl-C, say.
    fn look_for_signals(&self) -> PyResult<()> {
        let n_made = self.n_made.get().wrapping_add(1);
        self.n_made.set(n_made);
        if n_made.is_multiple_of(MADE_BETWEEN_SIGNALS) { self.py.check_signals() } else { Ok(()) }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> PyResult<T>) -> PyResult<T> {
        if self.depth >= MAX_DEPTH {
            let what = format!("values nested more than {MAX_DEPTH} deep");
            return Err(to_python(self.read.error_of(&arrowroot::format::Error::unsupported(0, what))));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn name(&mut self, name: &'g Name) -> Bound<'py, PyString> {
        self.names.entry(name.as_ptr()).or_insert_with(|| PyString::new(self.py, name)).clone()
    }

    fn record(&mut self, class: &str) -> PyResult<Bound<'py, PyAny>> {
        self.look_for_signals()?;
        let bases = match self.bases.get(class) {
            Some(bases) => bases.clone(),
            None => {
                let bases = PyTuple::new(self.py, self.read.bases_of(class))?;
                self.bases.insert(class.to_owned(), bases.clone());
                bases
            }
        };
        self.factory.call_method1("record", (class, bases))
    }

    fn fill(&self, record: &Bound<'py, PyAny>, members: Bound<'py, PyDict>, own: Bound<'py, PyTuple>) -> PyResult<()> {
        self.factory.call_method1("fill", (record, members, own)).map(|_| ())
    }

    /// The members of structs, without those that their versions do not have.
    fn members(&mut self, class: Option<&'g Class>, values: &'g Values) -> PyResult<Members<'py>> {
        let Values::Struct(n_values, columns) = values else {
            return Ok(Members { structs: Vec::new(), own: PyTuple::empty(self.py) });
        };
        let structs: Vec<_> = (0..*n_values).map(|_| PyDict::new(self.py)).collect();
        let mut hints = vec![Hint::Unknown; columns.len()];
        for variant in class.map(|class| class.variants.as_slice()).unwrap_or_default() {
            collect_hints(&variant.steps, &mut hints);
        }
        let parts = parts_of(columns, &hints);
        for part in &parts {
            let name = self.part_name(part);
            for (members, value) in structs.iter().zip(self.part(part)?) {
                if let Some(value) = value {
                    members.set_item(&name, value)?;
                }
            }
        }
        let is_of_root = class.map(|class| of_root(class, columns.len())).unwrap_or_default();
        let own = parts.iter().filter(|part| is_of_root.get(part.index) == Some(&false));
        let own: Vec<_> = own.map(|part| self.part_name(part)).collect();
        Ok(Members { structs, own: PyTuple::new(self.py, own)? })
    }

    fn part_name(&mut self, part: &Part<'g>) -> Bound<'py, PyString> {
        match part.base {
            None => self.name(part.name),
            Some(base) => PyString::new(self.py, &format!("{base}::{}", part.name)),
        }
    }

    fn part(&mut self, part: &Part<'g>) -> PyResult<Column<'py>> {
        let column = self.column(part.hint, part.values)?;
        let Some(is_there) = part.is_there else { return Ok(column) };
        let mut values = column.into_iter();
        Ok(is_there.iter().map(|&is_there| if is_there != 0 { values.next().flatten() } else { None }).collect())
    }

    /// Structs as dictionaries, or as records where their class is known.
    fn structs(&mut self, hint: Hint<'g>, values: &'g Values) -> PyResult<Column<'py>> {
        if let Hint::Of(Node::Struct(nodes)) = hint {
            return self.plain_structs(nodes, values);
        }
        let (class, name) = match hint {
            Hint::Of(Node::Object(class)) => (Some(&**class), Some(class.name.as_str())),
            Hint::Of(Node::Clones) => (None, Some("TClonesArray")),
            _ => (None, None),
        };
        let mut made = Vec::new();
        let Members { structs, own } = self.members(class, values)?;
        for members in structs {
            made.push(Some(match name {
                Some(name) => {
                    let record = self.record(name)?;
                    self.fill(&record, members, own.clone())?;
                    record
                }
                None => members.into_any(),
            }));
        }
        Ok(made)
    }

    fn plain_structs(&mut self, nodes: &'g [(Name, Node)], values: &'g Values) -> PyResult<Column<'py>> {
        let Values::Struct(n_values, columns) = values else { return Ok(Vec::new()) };
        let structs: Vec<_> = (0..*n_values).map(|_| PyDict::new(self.py)).collect();
        for ((name, column), (_, node)) in columns.iter().zip(nodes) {
            let name = self.name(name);
            for (members, value) in structs.iter().zip(self.column(Hint::Of(node), column)?) {
                members.set_item(&name, value)?;
            }
        }
        Ok(structs.into_iter().map(|members| Some(members.into_any())).collect())
    }

    fn column(&mut self, hint: Hint<'g>, values: &'g Values) -> PyResult<Column<'py>> {
        let hint = match hint {
            Hint::Of(Node::Framed(node)) => Hint::Of(node),
            hint => hint,
        };
        match values {
            Values::Primitive(primitive, bytes) => bytes
                .chunks_exact(primitive.stored_bytes())
                .map(|value| self.number(*primitive, value).map(Some))
                .collect(),
            Values::Text(ends, bytes) => parts(ends)
                .map(|range| {
                    self.look_for_signals()?;
                    Ok(Some(self.text(bytes.get(range).unwrap_or_default())))
                })
                .collect(),
            Values::List(ends, items) => self.lists(item_hint(hint), ends, items),
            Values::FixedList(items, n_items) => {
                let n_items = *n_items as usize;
                if let Some(dense) = Dense::of(values) {
                    let n_values = dense.bytes.len().checked_div(dense.item_bytes()).unwrap_or(0);
                    let array = self.array(&dense, n_values)?;
                    return (0..n_values).map(|i| self.piece(&array, i).map(Some)).collect();
                }
                let items = self.column(item_hint(hint), items)?;
                items.chunks(n_items.max(1)).map(|items| self.list(items).map(Some)).collect()
            }
            Values::Map(ends, keys, values) => {
                let (key, value) = match hint {
                    Hint::Of(Node::Map(map)) => (Hint::Of(&map.key), Hint::Of(&map.value)),
                    _ => (Hint::Unknown, Hint::Unknown),
                };
                let (keys, values) = (self.column(key, keys)?, self.column(value, values)?);
                parts(ends).map(|range| self.map(&keys[range.clone()], &values[range]).map(Some)).collect()
            }
            Values::Struct(..) => self.structs(hint, values),
            Values::Optional(is_there, values) => {
                let mut values = self.column(hint, values)?.into_iter();
                Ok(is_there
                    .iter()
                    .map(|&is_there| if is_there != 0 { values.next().flatten() } else { None })
                    .collect())
            }
            Values::Nothing(n_values) => Ok(vec![None; *n_values]),
            Values::Bytes(ends, bytes) => parts(ends)
                .map(|range| Ok(Some(PyBytes::new(self.py, bytes.get(range).unwrap_or_default()).into_any())))
                .collect(),
            Values::Links(links) => links.iter().map(|&number| self.link(number).map(Some)).collect(),
        }
    }

    fn lists(&mut self, item: Hint<'g>, ends: &[i32], items: &'g Values) -> PyResult<Column<'py>> {
        if let Some(dense) = Dense::of(items) {
            let n_items = parts(ends).last().map_or(0, |range| range.end);
            let array = self.array(&dense, n_items)?;
            if ends.len() == 1 {
                return Ok(vec![Some(array)]);
            }
            let end = |end: usize| isize::try_from(end).unwrap_or(isize::MAX);
            let slices = parts(ends).map(|range| PySlice::new(self.py, end(range.start), end(range.end), 1));
            return slices.map(|slice| self.piece(&array, slice).map(Some)).collect();
        }
        let items = self.column(item, items)?;
        parts(ends).map(|range| self.list(items.get(range).unwrap_or_default()).map(Some)).collect()
    }

    fn list(&self, items: &[Option<Bound<'py, PyAny>>]) -> PyResult<Bound<'py, PyAny>> {
        self.look_for_signals()?;
        Ok(PyList::new(self.py, items)?.into_any())
    }

    /// A dictionary; pairs where a key comes twice or cannot be one.
    fn map(
        &self,
        keys: &[Option<Bound<'py, PyAny>>],
        values: &[Option<Bound<'py, PyAny>>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let dict = PyDict::new(self.py);
        let fits = keys.iter().zip(values).all(|(key, value)| dict.set_item(key, value).is_ok());
        if fits && dict.len() == keys.len() {
            return Ok(dict.into_any());
        }
        let pairs = keys.iter().zip(values).map(|(key, value)| (key, value).into_pyobject(self.py));
        Ok(PyList::new(self.py, pairs.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }

    /// Text where it is UTF-8, bytes where not.
    fn text(&self, bytes: &[u8]) -> Bound<'py, PyAny> {
        match std::str::from_utf8(bytes) {
            Ok(text) => PyString::new(self.py, text).into_any(),
            Err(_) => PyBytes::new(self.py, bytes).into_any(),
        }
    }

    /// The items of a column as one array.
    fn array(&self, dense: &Dense<'_>, n_items: usize) -> PyResult<Bound<'py, PyAny>> {
        let bytes = dense.bytes.get(..n_items.saturating_mul(dense.item_bytes())).unwrap_or_default();
        macro_rules! numbers {
            ($kind:ty) => {
                PyArray1::from_iter(self.py, bytes.as_chunks().0.iter().map(|&value| <$kind>::from_ne_bytes(value)))
                    .into_any()
            };
        }
        let flat = match dense.primitive {
            Primitive::Bool => PyArray1::from_iter(self.py, bytes.iter().map(|&byte| byte != 0)).into_any(),
            Primitive::Int8 => numbers!(i8),
            Primitive::UInt8 => numbers!(u8),
            Primitive::Int16 => numbers!(i16),
            Primitive::UInt16 => numbers!(u16),
            Primitive::Int32 => numbers!(i32),
            Primitive::UInt32 => numbers!(u32),
            Primitive::Int64 => numbers!(i64),
            Primitive::UInt64 => numbers!(u64),
            Primitive::Float32 | Primitive::Float16 => numbers!(f32),
            Primitive::Float64 | Primitive::Double32 => numbers!(f64),
        };
        if dense.shape.is_empty() {
            return Ok(flat);
        }
        flat.call_method1("reshape", (PyTuple::new(self.py, [&[n_items], dense.shape.as_slice()].concat())?,))
    }

    /// Some items of an array. Arrays of their own would take hundreds of bytes each.
    fn piece(&self, array: &Bound<'py, PyAny>, place: impl IntoPyObject<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.look_for_signals()?;
        array.get_item(place)
    }

    fn number(&self, primitive: Primitive, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        self.look_for_signals()?;
        macro_rules! number {
            ($kind:ty) => {
                match bytes.first_chunk() {
                    Some(bytes) => Ok(<$kind>::from_ne_bytes(*bytes).into_bound_py_any(self.py)?),
                    None => Ok(self.py.None().into_bound(self.py)),
                }
            };
        }
        match primitive {
            Primitive::Bool => (bytes.first() != Some(&0)).into_bound_py_any(self.py),
            Primitive::Int8 => number!(i8),
            Primitive::UInt8 => number!(u8),
            Primitive::Int16 => number!(i16),
            Primitive::UInt16 => number!(u16),
            Primitive::Int32 => number!(i32),
            Primitive::UInt32 => number!(u32),
            Primitive::Int64 => number!(i64),
            Primitive::UInt64 => number!(u64),
            Primitive::Float32 | Primitive::Float16 => number!(f32),
            Primitive::Float64 | Primitive::Double32 => number!(f64),
        }
    }
}

/// Numbers, or arrays of fixed shape of them.
struct Dense<'v> {
    primitive: Primitive,
    bytes: &'v [u8],
    /// Shape of one item.
    shape: Vec<usize>,
}

impl<'v> Dense<'v> {
    fn of(values: &'v Values) -> Option<Self> {
        match values {
            Values::Primitive(primitive, bytes) => Some(Dense { primitive: *primitive, bytes, shape: Vec::new() }),
            Values::FixedList(items, n_items) => {
                let mut dense = Dense::of(items)?;
                dense.shape.insert(0, *n_items as usize);
                Some(dense)
            }
            _ => None,
        }
    }

    fn item_bytes(&self) -> usize {
        self.shape.iter().fold(self.primitive.stored_bytes(), |product, n_items| product.saturating_mul(*n_items))
    }
}

/// The members of the object of a key, where it has some, and how they were read.
pub(crate) fn outermost_struct(read: &KeyedObject) -> Option<(&Arc<Node>, &Values)> {
    match &read.graph().objects.get(&OUTERMOST)?.content {
        Ok(Content::Value(node, values @ Values::Struct(1, _))) => Some((node, values)),
        _ => None,
    }
}

/// The number of axes of a histogram of ROOT's own, by its class: it is not stored.
fn n_axes(class: &str) -> Option<usize> {
    match class.strip_prefix("TH")?.as_bytes() {
        [n_axes @ b'1'..=b'3', b'C' | b'S' | b'I' | b'L' | b'F' | b'D'] => Some(usize::from(n_axes - b'0')),
        _ => None,
    }
}

/// The bins of a histogram with those below and above the axes, and how many others each axis has. `None` if fills wait in a
/// buffer, or something is not as it is in most.
fn bins_of(histogram: &Values, n_axes: usize) -> Option<(Dense<'_>, Vec<usize>)> {
    /// As many as there are in a `TH3`.
    const AXES: [&str; 3] = ["fXaxis", "fYaxis", "fZaxis"];
    let integer = |values: &Values| values.integers()?.first().copied();
    if integer(member(histogram, "fBufferSize")?)? != 0 {
        return None;
    }
    let size = |axis: &&str| usize::try_from(integer(member(member(histogram, axis)?, "fNbins")?)?).ok();
    let sizes: Vec<usize> = AXES.get(..n_axes)?.iter().map(size).collect::<Option<_>>()?;
    let Values::List(ends, items) = member(histogram, "fArray")? else { return None };
    let bins = Dense::of(items).filter(|dense| dense.shape.is_empty() && ends.len() == 1)?;
    let n_cells = sizes.iter().try_fold(1_usize, |n_cells, size| n_cells.checked_mul(size.checked_add(2)?))?;
    let is_right =
        !sizes.is_empty() && !sizes.contains(&0) && n_cells.checked_mul(bins.item_bytes()) == Some(bins.bytes.len());
    is_right.then_some((bins, sizes))
}

/// The member of one object that alone has a name.
fn member<'v>(object: &'v Values, name: &str) -> Option<&'v Values> {
    let Values::Struct(1, members) = object else { return None };
    let mut called_so = members.iter().filter(|(known, _)| **known == *name);
    let found = called_so.next();
    found.filter(|_| called_so.next().is_none()).map(|(_, values)| values)
}

fn has(members: &[(Name, Values)], name: &str) -> bool {
    members.iter().any(|(known, _)| **known == *name)
}

fn first<'py>(column: Column<'py>) -> PyResult<Bound<'py, PyAny>> {
    let value = column.into_iter().next().flatten();
    value.ok_or_else(|| to_python(arrowroot::Error::Internal { what: "an object without a value".to_owned() }))
}

/// The places of lists among their items.
fn parts(ends: &[i32]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let end = |end: i32| usize::try_from(end).unwrap_or(0);
    ends.iter().enumerate().map(move |(i, &stop)| {
        let start = i.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |&start| end(start));
        start..end(stop)
    })
}

fn class_of(node: &Arc<Node>) -> Option<&Class> {
    match &**node {
        Node::Object(class) => Some(class),
        _ => None,
    }
}
