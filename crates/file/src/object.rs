//! Objects that are no trees: histograms, graphs, parameters, lists, anything that streamer information describes.

use arrowroot_format as format;
use format::decode::{Object, ObjectGraph, read_graph};

use crate::access::format_error;
use crate::error::{Error, Result};
use crate::file::File;

/// The object of a key, with all that its pointers lead to.
pub struct KeyedObject {
    file: File,
    name: String,
    /// Where the data begin, for errors.
    place: format::Place,
    data: Vec<u8>,
    graph: ObjectGraph,
}

impl File {
    /// Reads the object of any class that a key holds; where its bytes are wrong, from another replica.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key; [`Error::Format`], with the class in its text, if it cannot be read.
    pub fn object(&self, path: &str) -> Result<KeyedObject> {
        self.or_elsewhere(path, |file| file.own_object(path))
    }

    fn own_object(&self, path: &str) -> Result<KeyedObject> {
        let entry = self.find(path)?;
        let key = &entry.key;
        let data = self.read_object(key)?;
        let graph = read_graph(&key.class_name, &data, usize::from(key.key_bytes), self.class_infos()?)
            .map_err(|error| format_error(self.source().as_ref(), &entry.path(), error.placed(key.object_place())))?;
        Ok(KeyedObject { file: self.clone(), name: entry.path(), place: key.object_place(), data, graph })
    }

    /// The uncompressed bytes of the object that a key holds, of whatever class.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key; [`Error::Format`] if it cannot be decompressed.
    pub fn raw_object(&self, path: &str) -> Result<Vec<u8>> {
        self.or_elsewhere(path, |file| file.read_object(&file.find(path)?.key))
    }
}

impl KeyedObject {
    /// The object and what it leads to.
    pub fn graph(&self) -> &ObjectGraph {
        &self.graph
    }

    /// The bytes of one object; what its pointers lead to is among them.
    pub fn bytes_of(&self, object: &Object) -> &[u8] {
        self.data.get(object.range.clone()).unwrap_or_default()
    }

    /// The classes that a class derives from, near ones first.
    pub fn bases_of(&self, class: &str) -> Vec<&str> {
        self.file.class_infos().map(|infos| infos.bases_of(class)).unwrap_or_default()
    }

    /// Why an object of the graph cannot be read, with the file and the key.
    pub fn error_of(&self, error: &format::Error) -> Error {
        format_error(self.file.source().as_ref(), &self.name, error.clone().placed(self.place))
    }
}
