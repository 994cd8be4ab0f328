//! The object of a key whose members are made when somebody asks for them. Files have thousands of histograms, and whoever wants
//! their contents wants three of fifty members.

use arrowroot::KeyedObject;
use arrowroot::format::column::is_of_root;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;

use crate::object::{Maker, outermost_struct};

#[pyclass(name = "Unread", module = "arrowroot._native", frozen)]
pub(crate) struct PyUnread {
    read: KeyedObject,
}

/// The object of a key: made by the factory, or, with members of a class of ROOT's, put off by it.
pub(crate) fn object_of<'py>(
    py: Python<'py>,
    factory: Bound<'py, PyAny>,
    read: KeyedObject,
) -> PyResult<Bound<'py, PyAny>> {
    let class = read.key().key.class_name.clone();
    // A class of a user's may have members that are called as those of the class of ROOT's that it derives from.
    if outermost_struct(&read).is_none() || !is_of_root(&class) {
        return Maker::new(py, factory, &read).make();
    }
    let bases = PyTuple::new(py, read.bases_of(&class))?;
    factory.call_method1("put_off", (class, bases, PyUnread { read }))
}

#[pymethods]
impl PyUnread {
    /// Gives the record of the object its members, by the factory that put it off.
    fn fill<'py>(&self, py: Python<'py>, factory: Bound<'py, PyAny>, record: Bound<'py, PyAny>) -> PyResult<()> {
        Maker::new(py, factory, &self.read).make_into(record)
    }

    /// A number, a text or an array of numbers by the names that lead to it; `None` if there is none, `NotImplemented` if that
    /// is not so simple.
    #[pyo3(signature = (factory, *names))]
    fn member<'py>(
        &self,
        py: Python<'py>,
        factory: Bound<'py, PyAny>,
        names: Vec<PyBackedStr>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Maker::new(py, factory, &self.read).plain_member(&names)
    }
}
