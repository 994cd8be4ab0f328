//! Containers of the standard library as branches: their types, and values that C++ would not give back.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::Field;
use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{container_type_name, data_type, is_known_map, is_plain_map, template_name};
use arrowroot_format::column::DataType;
use arrowroot_format::rntuple::number_type_name;
use arrowroot_format::streamer::Primitive;

use super::layout::TreeColumn;
use super::packed::Packed;
use crate::check::{Check, CheckValues, Fault};
use crate::error::{Error, Result};
use crate::field_type::{BYTE, CHAR, FieldType, Kind, LISTS, MAPS};
use crate::settings::{ColumnCodec, ColumnLayout};
use crate::unique::{Compared, Unique, distinct_in, in_lists};

/// The types of maps whose keys may be equal.
const KEYS: &str = "std::multimap";

/// The type that somebody wants the branch of a column to be of.
#[derive(Debug)]
pub(super) struct Container {
    /// ROOT's name for it.
    pub(super) name: String,
    wanted: FieldType,
}

impl Container {
    /// The container that a column is to be; `None` if it is to be as it would be by itself.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for a type that no branch of such values has, with those that there are.
    pub(super) fn of(column: &TreeColumn) -> Result<Option<Container>> {
        let layout = &column.layout;
        let refused = |what: String| Error::InvalidRequest { what: format!("column {}: types: {what}", column.name) };
        let mut wanted = None;
        for (path, text) in &layout.types {
            if !path.is_empty() {
                let what = format!("{path:?}: a tree has types of columns, and none of members of structs");
                return Err(refused(what));
            }
            wanted = Some(FieldType::parse(text).map_err(refused)?);
        }
        let Some(wanted) = wanted else { return Ok(None) };
        let (data_type, packed) = (present(&column.data_type), Packed::of(layout.precision));
        let Some(name) = name_of(data_type, &wanted, packed.as_ref()).filter(|_| *data_type != DataType::Text) else {
            return Err(refused(format!("{} where {} in a tree", wanted.alias(), possible(data_type))));
        };
        if packed.is_some() && has_unique_items(&wanted) {
            let what = format!("{}: numbers that differ may be equal with precision", wanted.name());
            return Err(refused(what));
        }
        Ok(matches!(data_type, DataType::List(_) | DataType::Bytes | DataType::Map(..))
            .then_some(Container { name, wanted }))
    }
}

/// That a column may be of these types, which are as those of [`ColumnLayout::types`], in a tree.
///
/// # Errors
/// [`Error::InvalidRequest`] for types that no branch of its values has, [`Error::Store`] for values that no branch holds.
pub fn check_types(field: &Field, types: Vec<(String, String)>) -> Result<()> {
    let column = TreeColumn {
        name: field.name().clone(),
        title: String::new(),
        data_type: data_type(field)?,
        counter: None,
        layout: ColumnLayout { types, ..ColumnLayout::default() },
        compression: ColumnCodec::Tried,
    };
    Container::of(&column).map(drop)
}

/// The type of values that are there.
fn present(data_type: &DataType) -> &DataType {
    if let DataType::Optional(value) = data_type { value } else { data_type }
}

/// ROOT's name for a type that values have in a branch; `None` if they have it nowhere.
fn name_of(data_type: &DataType, wanted: &FieldType, packed: Option<&Packed>) -> Option<String> {
    let argument = |number: usize| wanted.arguments.get(number);
    let short = |name: &'static str| name.strip_prefix("std::").unwrap_or(name);
    Some(match (data_type, &wanted.kind) {
        (DataType::Primitive(primitive), Kind::Number(of, name))
            if primitive == of && !matches!(*name, BYTE | CHAR) && packed.is_none_or(|packed| packed.of != *of) =>
        {
            container_type_name(*primitive).to_owned()
        }
        (DataType::Primitive(Primitive::Float64), Kind::Double32)
            if packed.is_some_and(|packed| packed.primitive == Primitive::Double32) =>
        {
            container_type_name(Primitive::Double32).to_owned()
        }
        (DataType::Text, Kind::Text) => "string".to_owned(),
        (DataType::Bytes, Kind::List(name)) => {
            template_name(short(name), &name_of(&DataType::Primitive(Primitive::UInt8), argument(0)?, None)?)
        }
        (DataType::List(item), Kind::List(name) | Kind::Set { name, .. }) => {
            template_name(short(name), &name_of(item, argument(0)?, packed)?)
        }
        (DataType::Map(key, value), Kind::Map { name, .. }) if is_plain_map(key, value) => {
            let (key, value) = (name_of(key, argument(0)?, None)?, name_of(value, argument(1)?, packed)?);
            template_name(short(name), &format!("{key},{value}"))
        }
        _ => return None,
    })
}

fn has_unique_items(wanted: &FieldType) -> bool {
    wanted.unique() == Some(Unique::Items) || wanted.arguments.iter().any(has_unique_items)
}

/// The kind of values, and the types that they may have.
fn possible(data_type: &DataType) -> String {
    match data_type {
        DataType::List(_) | DataType::Bytes => {
            format!("lists are: possible are {LISTS} of numbers, texts, and containers of these")
        }
        DataType::Map(key, value) if is_plain_map(key, value) => {
            format!("maps are: possible are {MAPS}, of numbers and texts to these or lists of them")
        }
        DataType::Map(..) => "maps of other keys or values are: they are lists of keys and values".to_owned(),
        DataType::Primitive(primitive) => {
            let name = number_type_name(*primitive).unwrap_or_default();
            format!("{name} is: possible is {name}; precision= packs floating-point numbers, schema= makes others")
        }
        DataType::Text => "texts are: they are characters of a leaf, x/C".to_owned(),
        DataType::FixedList(..) => "lists of one length are: they are arrays of a leaf, x[3]".to_owned(),
        DataType::Struct(_) => "structs are: their members are branches; split= and classes= make objects".to_owned(),
        _ => "values of no type of C++ are".to_owned(),
    }
}

/// Refuses values that the branches of a column do not hold.
#[derive(Debug)]
struct OfColumn {
    data_type: DataType,
    wanted: Option<FieldType>,
}

impl CheckValues for OfColumn {
    fn look_at(&self, values: &Stored) -> Result<(), Fault> {
        check(&self.data_type, self.wanted.as_ref(), values, 0..values.len())
    }
}

/// The check of a column; `None` if its branches hold all values of its type.
///
/// # Errors
/// As [`Container::of`].
pub(super) fn check_of(column: &TreeColumn) -> Result<Option<Check>> {
    let wanted = Container::of(column)?.map(|container| container.wanted);
    let data_type = column.data_type.clone();
    // The maps in objects are lists of pairs.
    let is_checked = column.layout.split.is_none() && needs_check(&data_type, wanted.as_ref());
    Ok(is_checked.then(|| Arc::new(OfColumn { data_type, wanted }) as Check))
}

/// The parts that must differ, of lists and maps.
fn unique_of(data_type: &DataType, wanted: Option<&FieldType>) -> Option<Unique> {
    match (data_type, wanted) {
        (_, Some(wanted)) => wanted.unique(),
        (DataType::Map(key, value), None) if is_known_map(key, value) => Some(Unique::Keys),
        _ => None,
    }
}

/// The types inside a type, and what is wanted of them. Maps in lists have equal keys if nobody wants these to be maps.
fn inside<'t>(data_type: &'t DataType, wanted: Option<&'t FieldType>) -> Vec<(&'t DataType, Option<&'t FieldType>)> {
    let argument = |number: usize| wanted.and_then(|wanted| wanted.arguments.get(number));
    match data_type {
        DataType::Optional(value) => vec![(value, wanted)],
        DataType::Struct(members) => members.iter().map(|(_, member)| (member, None)).collect(),
        DataType::List(item) if wanted.is_some() => vec![(item, argument(0))],
        DataType::Map(key, value) if wanted.is_some() => vec![(key, argument(0)), (value, argument(1))],
        _ => Vec::new(),
    }
}

fn compared(data_type: &DataType, wanted: Option<&FieldType>) -> Compared {
    let parts = inside(data_type, wanted).into_iter().map(|(of, wanted)| compared(of, wanted)).collect();
    let of_pairs = |parts| vec![Compared { is_unordered: false, parts }];
    match data_type {
        DataType::Optional(_) => Compared { is_unordered: false, parts },
        DataType::Map(..) => Compared { is_unordered: unique_of(data_type, wanted).is_some(), parts: of_pairs(parts) },
        _ => Compared { is_unordered: unique_of(data_type, wanted).is_some(), parts },
    }
}

fn needs_check(data_type: &DataType, wanted: Option<&FieldType>) -> bool {
    unique_of(data_type, wanted).is_some_and(Unique::needs_check)
        || inside(data_type, wanted).into_iter().any(|(of, wanted)| needs_check(of, wanted))
}

fn check(data_type: &DataType, wanted: Option<&FieldType>, values: &Stored, range: Range<usize>) -> Result<(), Fault> {
    if !needs_check(data_type, wanted) {
        return Ok(());
    }
    let inside = inside(data_type, wanted);
    let look_at = |parts: &[Stored], range: Range<usize>| {
        inside.iter().zip(parts).try_for_each(|((of, wanted), part)| check(of, *wanted, part, range.clone()))
    };
    match values {
        // Missing lists are empty.
        Stored::Optional { values, .. } => look_at(std::slice::from_ref(values), range),
        Stored::Struct { members, .. } => look_at(members, range),
        Stored::List { offsets, items } => {
            if let Some(unique) = unique_of(data_type, wanted) {
                let compared = compared(data_type, wanted);
                distinct_in(offsets, (items, compared.of_items()), range.clone(), unique, KEYS)?;
            }
            in_lists(offsets, range, |inner| match &**items {
                Stored::Struct { members, .. } if matches!(data_type, DataType::Map(..)) => look_at(members, inner),
                items => look_at(std::slice::from_ref(items), inner),
            })
        }
        _ => Ok(()),
    }
}
