//! The object of a key whose members are made when somebody asks for them. Files have thousands of histograms, and whoever wants
//! their contents wants three of fifty members.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use arrowroot::KeyedObject;
use arrowroot::format::column::is_of_root;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyString, PyTuple};

use crate::object::{Maker, outermost_struct};

#[pyclass(name = "Unread", module = "arrowroot._native", frozen)]
pub(crate) struct PyUnread {
    read: KeyedObject,
}

/// The classes of objects of a file that were met: the classes that each derives from, if it is one of ROOT's.
#[derive(Default)]
pub(crate) struct KnownClasses(Mutex<HashMap<String, Option<Py<PyTuple>>>>);

impl KnownClasses {
    /// The bases of the class of an object; `None` if it is not one of ROOT's.
    fn bases_of<'py>(&self, py: Python<'py>, read: &KeyedObject) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let class = &read.key().key.class_name;
        // What Python does meanwhile may come here, too: it is not locked then.
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bases) = known().get(class) {
            return Ok(bases.as_ref().map(|bases| bases.bind(py).clone()));
        }
        // A class of a user's may have members that are called as those of the class of ROOT's that it derives from.
        let bases = is_of_root(class).then(|| PyTuple::new(py, read.bases_of(class))).transpose()?;
        let before = known().insert(class.clone(), bases.clone().map(Bound::unbind));
        drop(before);
        Ok(bases)
    }
}

/// The object of a key: made by the factory, or, with members of a class of ROOT's, put off by it.
pub(crate) fn object_of<'py>(
    py: Python<'py>,
    factory: Bound<'py, PyAny>,
    read: KeyedObject,
    classes: &KnownClasses,
) -> PyResult<Bound<'py, PyAny>> {
    let bases = if outermost_struct(&read).is_none() { None } else { classes.bases_of(py, &read)? };
    let Some(bases) = bases else { return Maker::new(py, factory, &read).make() };
    let class = PyString::new(py, &read.key().key.class_name);
    factory.call_method1(intern!(py, "put_off"), (class, bases, PyUnread { read }))
}

#[pymethods]
impl PyUnread {
    /// Gives the record of the object its members, by the factory that put it off.
    fn fill<'py>(&self, py: Python<'py>, factory: Bound<'py, PyAny>, record: Bound<'py, PyAny>) -> PyResult<()> {
        Maker::new(py, factory, &self.read).make_into(record)
    }

    /// The contents of a histogram's bins, one axis after the other, and how many bins each axis has; `None` if the members have to
    /// be looked at one by one. `flow`: with those below and above, as those of several axes always come.
    fn bins<'py>(
        &self,
        py: Python<'py>,
        factory: Bound<'py, PyAny>,
        flow: bool,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Vec<usize>)>> {
        Maker::new(py, factory, &self.read).bins(flow)
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
