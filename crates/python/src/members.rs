//! Objects to write, from Python's records and dictionaries of members.

use std::collections::HashMap;

use arrowroot::format::encode::{Numbers, Object, Value};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use crate::errors::wrong_type;

/// The objects that one consists of, itself first. Objects in it are records, or tuples of a class and its members; one that is
/// there twice is one object. `itself`: what leads back to it, if anything does.
pub(crate) fn objects_of(
    class_name: String,
    members: &Bound<'_, PyMapping>,
    itself: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Object>> {
    let indices = itself.map(|itself| (itself.as_ptr() as usize, 0)).into_iter().collect();
    let mut found = FoundObjects { indices, waiting: vec![(class_name, members.clone().into_any())] };
    let mut objects: Vec<Object> = Vec::new();
    while let Some((class, members)) = found.waiting.get(objects.len()).cloned() {
        let items = members.cast::<PyMapping>()?.items()?;
        let mut object = Object { class, members: HashMap::with_capacity(items.len()) };
        for item in items {
            let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
            let value = found.value(&value).map_err(|error| within(&object.class, &name, error, members.py()))?;
            object.members.insert(name, value);
        }
        objects.push(object);
    }
    Ok(objects)
}

/// The objects that were found, in order, and where each is: those after the last that was made wait for it.
struct FoundObjects<'py> {
    indices: HashMap<usize, usize>,
    waiting: Vec<(String, Bound<'py, PyAny>)>,
}

impl<'py> FoundObjects<'py> {
    fn value(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Value> {
        if value.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Value::Text(bytes_of(text)?));
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Value::Text(bytes.as_bytes().to_vec()));
        }
        if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyInt>() {
            return Ok(Value::Integer(value.extract()?));
        }
        if value.is_instance_of::<PyFloat>() {
            return Ok(Value::Float(value.extract()?));
        }
        if let Ok(list) = value.cast::<PyList>() {
            return list.iter().map(|item| self.value(&item)).collect::<PyResult<_>>().map(Value::Items);
        }
        if let Ok(pairs) = value.cast::<PyDict>() {
            let pair =
                |(key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)| Ok((self.value(&key)?, self.value(&value)?));
            return pairs.iter().map(pair).collect::<PyResult<_>>().map(Value::Pairs);
        }
        if let Ok(described) = value.cast::<PyTuple>() {
            let (class, members) = described.extract::<(String, Bound<'py, PyAny>)>()?;
            return Ok(self.object(described.as_any(), class, members));
        }
        if let (Ok(class), Ok(members)) = (value.getattr("class_name"), value.getattr("members")) {
            return Ok(self.object(value, class.extract()?, members));
        }
        if value.hasattr("__array_interface__")? {
            return numbers(value);
        }
        if value.hasattr("num_entries")? {
            let unsupported = value.py().import("arrowroot._errors")?.getattr("UnsupportedError")?;
            let what = "a tree inside of an object is not written with it: write it as a table of its own";
            return Err(PyErr::from_value(unsupported.call1((what,))?));
        }
        let kind = value.get_type().fully_qualified_name()?;
        Err(wrong_type(format!("no member of an object is a {kind}")))
    }

    fn object(&mut self, identity: &Bound<'py, PyAny>, class: String, members: Bound<'py, PyAny>) -> Value {
        let index = *self.indices.entry(identity.as_ptr() as usize).or_insert(self.waiting.len());
        if index == self.waiting.len() {
            self.waiting.push((class, members));
        }
        Value::Object(index)
    }
}

/// An array of numbers, or one number of NumPy.
fn numbers(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let numpy = value.py().import("numpy")?;
    let kind: String = value.getattr("dtype")?.getattr("kind")?.extract()?;
    let as_type = |name: &str| numpy.call_method1("ravel", (numpy.call_method1("asarray", (value, name))?,));
    let item_bytes: usize = value.getattr("dtype")?.getattr("itemsize")?.extract()?;
    let is_one = value.getattr("ndim")?.extract::<usize>()? == 0;
    match kind.as_str() {
        "f" if is_one => Ok(Value::Float(value.call_method0("item")?.extract()?)),
        "i" | "u" | "b" if is_one => Ok(Value::Integer(value.call_method0("item")?.extract()?)),
        "f" => {
            let numbers = as_type("float64")?.cast::<PyArray1<f64>>()?.to_vec()?;
            Ok(Value::Numbers(Numbers::floats(numbers, item_bytes)))
        }
        "i" | "b" => {
            let numbers = as_type("int64")?.cast::<PyArray1<i64>>()?.to_vec()?;
            Ok(Value::Numbers(Numbers::integers(numbers, item_bytes)))
        }
        "u" => {
            let numbers = as_type("uint64")?.cast::<PyArray1<u64>>()?.to_vec()?;
            Ok(Value::Numbers(Numbers::unsigned(numbers, item_bytes)))
        }
        _ => Err(wrong_type(format!("no member of an object is an array of {}", value.getattr("dtype")?))),
    }
}

/// The bytes of text as it is read: what was not UTF-8 comes back.
fn bytes_of(text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
    text.call_method1("encode", ("utf-8", "surrogateescape"))?.extract()
}

fn within(class: &str, name: &str, error: PyErr, py: Python<'_>) -> PyErr {
    PyErr::from_type(error.get_type(py), format!("{class}, member {name}: {}", error.value(py)))
}
