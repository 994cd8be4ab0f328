//! Options of the storage: their table, and their values as text.

use arrowroot::storage::{self, OPTIONS, Options, Strategy};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyStringMethods};

use crate::errors::to_python;

/// Name, value as text, and where that comes from.
pub(crate) type OptionText = (String, String, String);

/// The options that these texts set; the others have their defaults. Nobody sees credentials who is not named.
pub(crate) fn options_of(texts: &[OptionText]) -> PyResult<Options> {
    let nobody = [("credentials_for", "", "default")];
    let settings = texts.iter().map(|(name, text, origin)| (name.as_str(), text.as_str(), origin.as_str()));
    Options::of(nobody.into_iter().chain(settings)).map_err(|error| to_python(error.into()))
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

/// Bytes of a size as people write it; `None` of what is no size.
#[pyfunction]
pub(crate) fn parse_size(text: &Bound<'_, PyString>) -> Option<u64> {
    storage::parse_size(&text.to_string_lossy())
}

/// Up to three of the names, those most like one that is not there.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments come by value")]
pub(crate) fn nearest(name: &Bound<'_, PyString>, names: Vec<Bound<'_, PyString>>) -> Vec<String> {
    let names: Vec<_> = names.iter().map(PyStringMethods::to_string_lossy).collect();
    arrowroot::format::nearest(&name.to_string_lossy(), names.iter().map(AsRef::as_ref))
}

#[pyfunction]
pub(crate) fn told(failures: Vec<(String, String)>) -> String {
    storage::failures_text(&failures)
}

#[pyfunction]
pub(crate) fn redacted(url: std::ffi::OsString) -> String {
    storage::redacted(&url.to_string_lossy())
}

/// Scheme, host and port of a URL, as the option `credentials_for` takes them; `None` of a local file.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments come by value")]
pub(crate) fn origin(url: std::ffi::OsString) -> Option<String> {
    storage::Origin::of(&url.to_string_lossy()).map(|origin| origin.to_string())
}

/// Whether what a URL names may be shown credentials.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments come by value")]
pub(crate) fn may_see_credentials(url: std::ffi::OsString, options: Vec<OptionText>) -> PyResult<bool> {
    Ok(!options_of(&options)?.network.toward(&url.to_string_lossy()).is_anonymous)
}

#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments come by value")]
pub(crate) fn check_named(url: std::ffi::OsString, named_by: std::ffi::OsString) -> PyResult<()> {
    storage::check_named(&url.to_string_lossy(), &named_by.to_string_lossy()).map_err(|error| to_python(error.into()))
}

#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments come by value")]
pub(crate) fn scrubbed(text: &str, url: std::ffi::OsString) -> String {
    storage::scrubbed(text, &url.to_string_lossy())
}
