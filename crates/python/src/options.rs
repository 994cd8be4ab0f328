//! Options of the storage: their table, and their values as text.

use arrowroot::storage::{self, OPTIONS, Options, Strategy};
use pyo3::prelude::*;

use crate::errors::to_python;

/// Name, value as text, and where that comes from.
pub(crate) type OptionText = (String, String, String);

/// The options that these texts set; the others have their defaults.
pub(crate) fn options_of(texts: &[OptionText]) -> PyResult<Options> {
    let settings = texts.iter().map(|(name, text, origin)| (name.as_str(), text.as_str(), origin.as_str()));
    Options::of(settings).map_err(|error| to_python(error.into()))
}

#[pyfunction]
pub(crate) fn options() -> Vec<(&'static str, &'static str, &'static str, bool)> {
    OPTIONS.iter().map(|option| (option.name, option.takes, option.meaning, option.is_secret)).collect()
}

#[pyfunction]
pub(crate) fn strategies() -> Vec<&'static str> {
    Strategy::ALL.iter().map(|(_, name)| *name).collect()
}

#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments come by value")]
pub(crate) fn check_options(options: Vec<OptionText>) -> PyResult<Vec<(&'static str, Option<String>)>> {
    let set = options_of(&options)?;
    Ok(OPTIONS.iter().map(|option| (option.name, set.text(option.name))).collect())
}

#[pyfunction]
pub(crate) fn told(failures: Vec<(String, String)>) -> String {
    storage::told(&failures)
}

#[pyfunction]
pub(crate) fn redacted(url: std::ffi::OsString) -> String {
    storage::redacted(&url.to_string_lossy())
}

#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments come by value")]
pub(crate) fn scrubbed(text: &str, url: std::ffi::OsString) -> String {
    storage::scrubbed(text, &url.to_string_lossy())
}
