//! The engine as Python sees it: types and errors are turned around here, and nothing else happens.
//!
//! ```python
//! from arrowroot import _native
//!
//! file = _native.open_file(["tests/fixtures/events.root"], [])
//! assert [key.name for key in file.keys()] == ["events"]
//! table = file.table("events")
//! assert table.branch(table.column_names()[0]).path == table.column_names()[0]
//! ```
//!
//! `tests/house/test_documents.py` runs this; the package around it is `python/arrowroot`.

mod branch;
mod column;
mod ending;
mod errors;
mod file;
mod fill;
mod incoming;
mod interface;
mod ledgers;
mod logging;
mod members;
mod merge;
mod object;
mod options;
mod packed;
mod patience;
mod pieces;
mod protocol;
mod python_source;
mod replay;
mod scan;
mod table;
mod unread;
mod writer;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // Set where a wheel is built; a checkout has its own.
    module.add("built_from", option_env!("ARROWROOT_COMMIT").unwrap_or(""))?;
    module.add("debug_build", cfg!(debug_assertions))?;
    module.add("TREE_CACHE_BYTES", arrowroot::storage::TREE_CACHE_BYTES)?;
    logging::register();
    errors::register(module)?;
    ending::register(module.py())?;
    module.add_function(wrap_pyfunction!(file::open_file, module)?)?;
    module.add_function(wrap_pyfunction!(table::schema_counts, module)?)?;
    module.add_function(wrap_pyfunction!(file::open_reader, module)?)?;
    module.add_function(wrap_pyfunction!(options::options, module)?)?;
    module.add_function(wrap_pyfunction!(options::strategies, module)?)?;
    module.add_function(wrap_pyfunction!(options::check_options, module)?)?;
    module.add_function(wrap_pyfunction!(options::nearest, module)?)?;
    module.add_function(wrap_pyfunction!(options::parse_size, module)?)?;
    module.add_function(wrap_pyfunction!(options::redacted, module)?)?;
    module.add_function(wrap_pyfunction!(options::origin, module)?)?;
    module.add_function(wrap_pyfunction!(options::may_see_credentials, module)?)?;
    module.add_function(wrap_pyfunction!(options::check_named, module)?)?;
    module.add_function(wrap_pyfunction!(options::scrubbed, module)?)?;
    module.add_function(wrap_pyfunction!(options::told, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(pieces::entry_spans, module)?)?;
    module.add_class::<protocol::PyProtocol>()?;
    module.add_class::<file::PyFile>()?;
    module.add_class::<file::PyKey>()?;
    module.add_class::<unread::PyUnread>()?;
    module.add_class::<table::PyCompact>()?;
    module.add_class::<table::PyTable>()?;
    module.add_class::<table::PyTypes>()?;
    module.add_class::<branch::PyBranch>()?;
    module.add_class::<scan::PyScan>()?;
    module.add_class::<scan::PyBatch>()?;
    module.add_function(wrap_pyfunction!(writer::create_file, module)?)?;
    module.add_function(wrap_pyfunction!(writer::may_have_types, module)?)?;
    module.add_function(wrap_pyfunction!(writer::name_fault, module)?)?;
    module.add_function(wrap_pyfunction!(writer::nullable_as_typed, module)?)?;
    module.add_function(wrap_pyfunction!(writer::stored_name, module)?)?;
    module.add_class::<writer::PyFileWriter>()?;
    module.add_class::<writer::PyTableWriter>()?;
    module.add_class::<merge::PyMerger>()?;
    module.add_class::<packed::PyPacked>()?;
    module.add_class::<fill::PyFillContext>()?;
    module.add_class::<incoming::PyIncoming>()?;
    module.add_function(wrap_pyfunction!(column::as_batch, module)?)?;
    module.add_class::<column::PyStream>()?;
    Ok(())
}
