//! Batches of others, taken in through the Arrow C data interface.

#![expect(unsafe_code, reason = "capsules hold what C has")]

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{RecordBatch, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields, Schema, UnionMode};
use arrowroot_arrow::incoming::{Foreign, Incoming};
use arrowroot_arrow::stored::StoreError;
use arrowroot_writer::Error;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::ending::without_lock;
use crate::errors::writing_to_python;
use crate::interface::{ARRAY, are_stored_alike, array_of, exported, is_same, schema_of_array};

/// Takes batches in: what it returns contradicts itself nowhere, and shares with what it was given at most numbers, bools and the
/// bytes of texts and binary values.
#[pyclass(name = "Incoming", module = "arrowroot._native", frozen)]
pub(crate) struct PyIncoming(Mutex<Incoming>);

#[pymethods]
impl PyIncoming {
    /// `copies_all`: nothing is shared.
    #[new]
    #[pyo3(signature = (*, copies_all))]
    fn new(copies_all: bool) -> Self {
        PyIncoming(Mutex::new(Incoming::new(copies_all)))
    }

    /// Takes a record batch in, as capsules. `text_bytes`: as [`Given::of`] has it.
    fn take<'py>(
        &self,
        py: Python<'py>,
        batch: Bound<'py, PyAny>,
        text_bytes: Vec<u64>,
        first_entry: u64,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let (of_schema, array): (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>) =
            batch.call_method0("__arrow_c_array__")?.extract()?;
        let (schema, array) = (schema_of_array(&of_schema)?, array_of(&array)?);
        let taken = without_lock(py, || {
            let mut incoming = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            data_of(array, text_bytes, schema.fields(), &mut incoming, first_entry)
                .map(|data| FFI_ArrowArray::new(&data))
        })?;
        Ok((of_schema, PyCapsule::new_with_value(py, taken.map_err(writing_to_python)?, ARRAY)?))
    }
}

/// A record batch of others, which nobody has looked at.
pub(crate) struct Given {
    schema: FFI_ArrowSchema,
    array: FFI_ArrowArray,
    text_bytes: Vec<u64>,
}

impl Given {
    /// Takes it from an object with `__arrow_c_array__`. `text_bytes`: the bytes of the memory of each array of texts or binary
    /// values in it, those inside after those around, dictionaries last: the interface tells all other sizes.
    pub(crate) fn of(object: &Bound<'_, PyAny>, text_bytes: Vec<u64>) -> PyResult<Self> {
        let (schema, array) = exported(object)?;
        Ok(Given { schema, array, text_bytes })
    }

    /// Its entries, as it says.
    pub(crate) fn n_entries(&self) -> usize {
        self.array.len()
    }
}

/// Takes in the batches of others for a table, which needs no lock of the interpreter.
pub(crate) struct Intake {
    table: Arc<Schema>,
    taking: Mutex<Taking>,
}

#[derive(Default)]
struct Taking {
    incoming: Incoming,
    /// The schema of the batch before, mostly that of the next one, too.
    known: Option<(FFI_ArrowSchema, Arc<Schema>)>,
}

impl Intake {
    /// For a table of this schema, which stores texts and lists of any form, dictionaries and runs as its own.
    pub(crate) fn of(table: &Arc<Schema>) -> Arc<Self> {
        Arc::new(Intake { table: Arc::clone(table), taking: Mutex::default() })
    }

    /// Takes a batch in.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for a schema whose values are stored otherwise; as [`Incoming::take`], with the number of the
    /// entry in the batch.
    pub(crate) fn take(&self, given: Given) -> arrowroot_writer::Result<RecordBatch> {
        let mut taking = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        let schema = taking.schema_of(given.schema, &self.table)?;
        let data = data_of(given.array, given.text_bytes, schema.fields(), &mut taking.incoming, 0)?;
        let columns = data.child_data().iter().map(|child| make_array(child.clone())).collect();
        // SAFETY: all columns have the types of the schema and the length of the array. Nulls are for the writer to judge.
        Ok(unsafe { RecordBatch::new_unchecked(schema, columns, data.len()) })
    }
}

impl Taking {
    fn schema_of(&mut self, given: FFI_ArrowSchema, table: &Schema) -> arrowroot_writer::Result<Arc<Schema>> {
        if let Some((known, schema)) = &self.known
            && is_same(known, &given)
        {
            return Ok(Arc::clone(schema));
        }
        let refused = |what: String| Error::InvalidRequest { what };
        let schema = Schema::try_from(&given).map_err(|error| refused(error.to_string()))?;
        if !are_stored_alike(&schema, table) {
            return Err(refused(format!("the batch has {schema}, and its table {table}")));
        }
        let (_, schema) = self.known.insert((given, Arc::new(schema)));
        Ok(Arc::clone(schema))
    }
}

/// The columns of a record batch as a struct, taken in. `text_bytes`: as [`Given::of`] has it.
///
/// # Errors
/// As [`Incoming::take`].
fn data_of(
    array: FFI_ArrowArray,
    text_bytes: Vec<u64>,
    fields: &Fields,
    incoming: &mut Incoming,
    first_entry: u64,
) -> arrowroot_writer::Result<ArrayData> {
    let owner = Arc::new(array);
    let mut reading = Reading { owner: &owner, text_bytes: text_bytes.into_iter() };
    let refused = |column: &str, what: String| StoreError::Spoilt { column: column.to_owned(), entry: 0, what };
    let (len, offset) = extent(&owner).map_err(|what| refused("", what))?;
    let children = fields
        .iter()
        .enumerate()
        .map(|(index, field)| reading.child(&owner, index, field).map_err(|what| refused(field.name(), what)));
    let children = children.collect::<Result<_, _>>()?;
    let batch = Foreign { len, offset, n_nulls: None, buffers: Vec::new(), children, dictionary: None };
    Ok(incoming.take(batch, fields, first_entry)?)
}

/// Number of values, and of those before the first.
fn extent(array: &FFI_ArrowArray) -> Result<(usize, usize), String> {
    let (len, offset) = (array.len(), array.offset());
    let fits = len.checked_add(offset).and_then(|end| end.checked_add(1)).and_then(|end| end.checked_mul(32));
    match fits.filter(|&n_bytes| isize::try_from(n_bytes).is_ok()) {
        Some(_) => Ok((len, offset)),
        None => Err(format!("an array of {len} values from {offset} on")),
    }
}

struct Reading<'o> {
    owner: &'o Arc<FFI_ArrowArray>,
    text_bytes: std::vec::IntoIter<u64>,
}

impl Reading<'_> {
    fn child(&mut self, of: &FFI_ArrowArray, index: usize, field: &Field) -> Result<Foreign, String> {
        if index >= of.num_children() {
            return Err("an array inside is missing".to_owned());
        }
        self.node(of.child(index), field.data_type())
    }

    fn node(&mut self, array: &FFI_ArrowArray, data_type: &DataType) -> Result<Foreign, String> {
        use DataType as T;
        let (len, offset) = extent(array)?;
        let n = len + offset;
        // An empty array need not have offsets.
        let n_ends = if n == 0 { 0 } else { n + 1 };
        let bits = n.div_ceil(8);
        let sizes = match data_type {
            T::Null | T::RunEndEncoded(..) => vec![],
            T::Union(_, UnionMode::Sparse) => vec![n],
            T::Union(_, UnionMode::Dense) => vec![n, n * 4],
            T::Struct(_) | T::FixedSizeList(..) => vec![bits],
            T::Boolean => vec![bits, bits],
            T::Utf8 | T::Binary => vec![bits, n_ends * 4, self.text_bytes()?],
            T::LargeUtf8 | T::LargeBinary => vec![bits, n_ends * 8, self.text_bytes()?],
            T::List(_) | T::Map(..) => vec![bits, n_ends * 4],
            T::LargeList(_) => vec![bits, n_ends * 8],
            T::ListView(_) => vec![bits, n * 4, n * 4],
            T::LargeListView(_) => vec![bits, n * 8, n * 8],
            T::Utf8View | T::BinaryView => [bits, n * 16].into_iter().chain(variadic_sizes(array)?).collect(),
            T::FixedSizeBinary(width) => {
                let width = usize::try_from(*width).map_err(|_| format!("values of {width} bytes"))?;
                vec![bits, n.checked_mul(width).ok_or_else(|| format!("{n} values of {width} bytes"))?]
            }
            T::Dictionary(key, _) => vec![bits, n * key.primitive_width().unwrap_or_default()],
            other => vec![bits, n * other.primitive_width().ok_or_else(|| format!("no values are known of {other}"))?],
        };
        let children = match data_type {
            T::List(item) | T::LargeList(item) | T::ListView(item) | T::LargeListView(item) => vec![item],
            T::FixedSizeList(item, _) | T::Map(item, _) => vec![item],
            T::Struct(fields) => fields.iter().collect(),
            T::Union(fields, _) => fields.iter().map(|(_, field)| field).collect(),
            T::RunEndEncoded(ends, values) => vec![ends, values],
            _ => vec![],
        };
        let buffers = sizes.into_iter().enumerate().map(|(number, n_bytes)| self.buffer(array, number, n_bytes));
        let buffers = buffers.collect::<Result<_, _>>()?;
        let children = children.into_iter().enumerate().map(|(index, field)| self.child(array, index, field));
        let children = children.collect::<Result<_, _>>()?;
        let dictionary = match data_type {
            T::Dictionary(_, values) => {
                let of = array.dictionary().ok_or_else(|| "a dictionary is missing".to_owned())?;
                Some(Box::new(self.node(of, values)?))
            }
            _ => None,
        };
        Ok(Foreign { len, offset, n_nulls: array.null_count_opt(), buffers, children, dictionary })
    }

    fn text_bytes(&mut self) -> Result<usize, String> {
        let n_bytes = self.text_bytes.next().and_then(|n_bytes| usize::try_from(n_bytes).ok());
        n_bytes
            .filter(|&n_bytes| isize::try_from(n_bytes).is_ok())
            .ok_or_else(|| "nobody says how long its texts are".to_owned())
    }

    fn buffer(&self, array: &FFI_ArrowArray, number: usize, n_bytes: usize) -> Result<Option<Buffer>, String> {
        if number >= array.num_buffers() {
            return Err(format!("buffer {number} is missing, of {}", array.num_buffers()));
        }
        let Some(pointer) = NonNull::new(array.buffer(number).cast_mut()) else { return Ok(None) };
        if n_bytes == 0 {
            // It may point anywhere.
            return Ok(Some(Buffer::from_vec(Vec::<u8>::new())));
        }
        // SAFETY: pyarrow has said that the memory is so long, and the owner keeps it. Others may change it: it is read
        // once, into copies, or as plain numbers and bytes, of which any are valid.
        Ok(Some(unsafe { Buffer::from_custom_allocation(pointer, n_bytes, Arc::clone(self.owner) as _) }))
    }
}

/// No process has so much memory.
const MAX_BUFFER_BYTES: usize = 1 << 48;

/// The bytes of the buffers that views lead to, which the last buffer tells.
fn variadic_sizes(array: &FFI_ArrowArray) -> Result<Vec<usize>, String> {
    let Some(last) = array.num_buffers().checked_sub(1).filter(|&last| last >= 2) else {
        return Err("the sizes of the buffers of its views are missing".to_owned());
    };
    let sizes = array.buffer(last).cast::<i64>();
    if sizes.is_null() && last > 2 {
        return Err("the sizes of the buffers of its views are missing".to_owned());
    }
    let size = |place| {
        // SAFETY: the interface has so many sizes there, one for each buffer between the views and itself.
        let size = unsafe { sizes.add(place).read_unaligned() };
        let size_of = usize::try_from(size).ok().filter(|&n_bytes| n_bytes <= MAX_BUFFER_BYTES);
        size_of.ok_or_else(|| format!("a buffer of {size} bytes"))
    };
    (0..last - 2).map(size).collect()
}
