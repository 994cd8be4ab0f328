//! How a store makes requests, as a value that is written down and read again.

use std::collections::HashMap;
use std::time::Duration;

use arrowroot::storage::{Error, Protocol};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_python;

/// What a store makes of a vector read.
#[pyclass(name = "Protocol", module = "arrowroot._native", frozen, eq, hash)]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PyProtocol(pub(crate) Protocol);

#[pymethods]
impl PyProtocol {
    /// One of these limits, which :meth:`data` returned.
    #[new]
    #[pyo3(signature = (name, /, **limits))]
    fn new(name: &str, limits: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let limits: HashMap<String, Bound<'_, PyAny>> =
            limits.map_or_else(|| Ok(HashMap::new()), |limits| limits.extract())?;
        let number = |(name, value): (String, Bound<'_, PyAny>)| match value.extract() {
            Ok(number) => Ok((name, number)),
            Err(_) => {
                let what = format!("{name} is no number of 64 bits");
                Err(to_python(Error::Option { option: "protocol".to_owned(), what }.into()))
            }
        };
        let limits = limits.into_iter().map(number).collect::<PyResult<Vec<_>>>()?;
        Protocol::from_fields(name, &limits).map(PyProtocol).map_err(|error| to_python(error.into()))
    }

    /// That of a store of a kind of which nothing is known but how long an answer takes.
    #[staticmethod]
    fn of_any(kind: &str, latency_s: f64) -> PyResult<Self> {
        let latency = Duration::try_from_secs_f64(latency_s).map_err(|_| {
            let what = format!("{latency_s} is no number of seconds");
            to_python(Error::Option { option: "latency".to_owned(), what }.into())
        })?;
        Protocol::of_any(kind, latency).map(PyProtocol).map_err(|error| to_python(error.into()))
    }

    /// Its name under "name", and its limits.
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (name, limits) = self.0.fields();
        let dict = PyDict::new(py);
        dict.set_item("name", name)?;
        limits.into_iter().try_for_each(|(name, number)| dict.set_item(name, number))?;
        Ok(dict)
    }

    #[getter]
    fn max_ranges(&self) -> usize {
        self.0.max_ranges()
    }

    #[getter]
    fn max_parallel(&self) -> usize {
        self.0.max_parallel()
    }

    /// Requests that are made for ranges, offset and length of each, that are asked for together.
    fn count(&self, ranges: Vec<(u64, u64)>) -> usize {
        let ranges = ranges.into_iter().map(|(offset, n_bytes)| offset..offset.saturating_add(n_bytes)).collect();
        self.0.requests(ranges).len()
    }

    fn __repr__(&self) -> String {
        let (name, limits) = self.0.fields();
        let limits: String = limits.into_iter().map(|(name, number)| format!(", {name}={number}")).collect();
        format!("Protocol({name:?}{limits})")
    }
}
