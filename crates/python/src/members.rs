//! Objects of the Python layer as the writer takes them: members by name, and objects in them by their places.

use std::collections::HashMap;

use arrowroot::format::encode::{Numbers, Object, Value};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::invalid;

/// Values may be in each other so deep.
const MAX_DEPTH: usize = 64;

/// The objects that an object leads to, itself the first.
///
/// An object has the attributes `class_name` and `members`, a dictionary. Values are numbers, text, bytes, None for a pointer to
/// nothing, arrays of NumPy, objects, lists of values, and dictionaries for items of several parts.
pub(crate) fn objects_in(class: &str, members: &Bound<'_, PyDict>) -> PyResult<Vec<Object>> {
    let mut found = Found { places: HashMap::new(), waiting: vec![(class.to_owned(), members.clone())], kept: Vec::new() };
    let mut objects = Vec::new();
    while let Some((class, members)) = found.waiting.get(objects.len()).cloned() {
        let mut object = Object { class, members: HashMap::new() };
        for (name, value) in &members {
            let name: String = name.extract()?;
            let value = found.value(&value, 0).map_err(|error| named(&object.class, &name, error, members.py()))?;
            object.members.insert(name, value);
        }
        objects.push(object);
    }
    Ok(objects)
}

fn named(class: &str, name: &str, error: PyErr, py: Python<'_>) -> PyErr {
    invalid(format!("{class}, member {name}: {}", error.value(py)))
}

struct Found<'py> {
    /// Places of objects, by their addresses.
    places: HashMap<usize, usize>,
    /// Classes and members, in the order in which they were met.
    waiting: Vec<(String, Bound<'py, PyDict>)>,
    /// Addresses are of nobody else as long as their objects live.
    kept: Vec<Bound<'py, PyAny>>,
}

impl<'py> Found<'py> {
    fn value(&mut self, value: &Bound<'py, PyAny>, depth: usize) -> PyResult<Value> {
        if depth > MAX_DEPTH {
            return Err(invalid(format!("values nested more than {MAX_DEPTH} deep")));
        }
        if value.is_none() {
            Ok(Value::Null)
        } else if let Ok(value) = value.cast::<PyBool>() {
            Ok(Value::Integer(value.is_true().into()))
        } else if value.is_instance_of::<PyInt>() {
            Ok(Value::Integer(value.extract()?))
        } else if value.is_instance_of::<PyFloat>() {
            Ok(Value::Float(value.extract()?))
        } else if let Ok(text) = value.cast::<PyString>() {
            Ok(Value::Text(text.to_str()?.as_bytes().to_vec()))
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            Ok(Value::Text(bytes.as_bytes().to_vec()))
        } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            let items = value.try_iter()?.map(|item| self.value(&item?, depth + 1)).collect::<PyResult<_>>()?;
            Ok(Value::Items(items))
        } else if let Ok(parts) = value.cast::<PyDict>() {
            let parts = parts.iter().map(|(name, part)| Ok((name.extract()?, self.value(&part, depth + 1)?)));
            Ok(Value::Parts(parts.collect::<PyResult<_>>()?))
        } else if value.hasattr("class_name")? && value.hasattr("members")? {
            self.object(value).map(Value::Object)
        } else if value.hasattr("dtype")? {
            numbers(value).map(Value::Numbers)
        } else {
            Err(invalid(format!("a {} is no value of a member", value.get_type().name()?)))
        }
    }

    fn object(&mut self, object: &Bound<'py, PyAny>) -> PyResult<usize> {
        let address = object.as_ptr().addr();
        if let Some(&place) = self.places.get(&address) {
            return Ok(place);
        }
        let class: String = object.getattr("class_name")?.extract()?;
        let place = self.waiting.len();
        self.waiting.push((class, object.getattr("members")?.cast_into()?));
        self.places.insert(address, place);
        self.kept.push(object.clone());
        Ok(place)
    }
}

/// A NumPy array, or one number of NumPy.
fn numbers(array: &Bound<'_, PyAny>) -> PyResult<Numbers> {
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let as_type = |name: &str| array.call_method1("astype", (name,))?.call_method1("reshape", (-1,));
    match kind.as_str() {
        "f" => Ok(Numbers::Floats(values(&as_type("f8")?)?)),
        "i" | "b" => Ok(Numbers::Integers(values(&as_type("i8")?)?)),
        "u" => Ok(Numbers::Unsigned(values(&as_type("u8")?)?)),
        _ => Err(invalid(format!("an array of kind {kind:?} holds no numbers"))),
    }
}

fn values<T: numpy::Element + Copy>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array: PyReadonlyArray1<'_, T> = array.extract()?;
    let mut values = Vec::with_capacity(array.len());
    values.extend(array.as_array().iter().copied());
    Ok(values)
}
