//! Where the pieces of a table lie, as arrays of NumPy.

use arrowroot::{ColumnPieces, Piece, entry_spans as spans_of};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ending::without_lock;
use crate::errors::invalid;

/// The offset that stands for a piece in the record of the table.
const EMBEDDED: i64 = -1;

/// Arrays of one number for each piece, and the paths that the first of them counts.
pub(crate) fn pieces_to_python(py: Python<'_>, columns: Vec<ColumnPieces>) -> PyResult<Bound<'_, PyDict>> {
    let n_pieces = columns.iter().map(|column| column.pieces.len()).sum();
    let mut numbers: [Vec<i64>; 5] = std::array::from_fn(|_| Vec::with_capacity(n_pieces));
    for (number, column) in (0_i64..).zip(&columns) {
        for piece in &column.pieces {
            let offset = if piece.embedded.is_some() { EMBEDDED } else { signed(piece.offset) };
            let row = [number, offset, piece.stored_bytes.into(), signed(piece.first_entry), signed(piece.entry_end)];
            numbers.iter_mut().zip(row).for_each(|(array, number)| array.push(number));
        }
    }
    let told = PyDict::new(py);
    told.set_item("paths", columns.into_iter().map(|column| column.path).collect::<Vec<_>>())?;
    for (name, array) in ["column", "offset", "stored_bytes", "first_entry", "entry_end"].into_iter().zip(numbers) {
        told.set_item(name, array.into_pyarray(py))?;
    }
    Ok(told)
}

/// The spans of entries over some pieces; entries in a row that need the same share one.
#[pyfunction]
pub(crate) fn entry_spans<'py>(
    py: Python<'py>,
    offset: PyReadonlyArray1<'py, i64>,
    stored_bytes: PyReadonlyArray1<'py, i64>,
    first_entry: PyReadonlyArray1<'py, i64>,
    entry_end: PyReadonlyArray1<'py, i64>,
    n_entries: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = [&offset, &stored_bytes, &first_entry, &entry_end];
    let arrays = arrays.map(|array| array.as_slice().map(<[i64]>::to_vec));
    let [offset, stored_bytes, first_entry, entry_end] = arrays;
    let (offset, stored_bytes, first_entry, entry_end) = (offset?, stored_bytes?, first_entry?, entry_end?);
    let n_pieces = offset.len();
    if [&stored_bytes, &first_entry, &entry_end].iter().any(|array| array.len() != n_pieces) {
        return Err(invalid("arrays of different lengths".to_owned()));
    }
    let spans = without_lock(py, move || {
        let pieces = (0..n_pieces).map(|index| Piece {
            offset: unsigned(offset[index]),
            stored_bytes: u32::try_from(stored_bytes[index]).unwrap_or(u32::MAX),
            first_entry: unsigned(first_entry[index]),
            entry_end: unsigned(entry_end[index]),
            embedded: (offset[index] == EMBEDDED).then_some(0),
        });
        spans_of(pieces, n_entries)
    })?;
    let mut numbers: [Vec<i64>; 4] = std::array::from_fn(|_| Vec::with_capacity(spans.len()));
    for span in &spans {
        let row = [span.n_entries, span.span_bytes, span.stored_bytes, span.n_pieces].map(signed);
        numbers.iter_mut().zip(row).for_each(|(array, number)| array.push(number));
    }
    let told = PyDict::new(py);
    for (name, array) in ["n_entries", "span_bytes", "stored_bytes", "n_pieces"].into_iter().zip(numbers) {
        told.set_item(name, array.into_pyarray(py))?;
    }
    Ok(told)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
