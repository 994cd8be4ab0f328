//! Objects that are no trees: histograms, graphs, parameters, lists, anything that streamer information describes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrowroot_format as format;
use format::decode::{Object, ObjectGraph, read_graph};
use format::streamer::StreamerInfos;

use crate::access::format_error;
use crate::error::{Error, Result};
use crate::file::File;
use crate::inside::paths_of_trees;
use crate::key::FileKey;
use crate::paths::around;

/// The object of a key, with all that its pointers lead to.
pub struct KeyedObject {
    file: File,
    key: FileKey,
    data: Arc<Vec<u8>>,
    graph: ObjectGraph,
    trees: BTreeMap<u32, String>,
}

impl File {
    /// Reads the object of any class that a key holds; where its bytes are wrong, from another replica.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key; [`Error::Format`], with the class in its text, if it cannot be read.
    pub fn object(&self, path: &str) -> Result<KeyedObject> {
        self.or_elsewhere(path, |file| file.own_object(path))
    }

    /// The same where the key of the path was found.
    ///
    /// # Errors
    /// As [`File::object`].
    pub fn object_at(&self, path: &str, key: FileKey) -> Result<KeyedObject> {
        match self.read_object(&key.key).and_then(|data| self.object_of(key, data)) {
            Err(error) if error.is_damage() => self.elsewhere(path, error, |file| file.own_object(path)),
            read => read,
        }
    }

    fn own_object(&self, path: &str) -> Result<KeyedObject> {
        let key = self.find(path)?;
        let data = self.read_object(&key.key)?;
        self.object_of(key, data)
    }

    fn object_of(&self, key: FileKey, data: Vec<u8>) -> Result<KeyedObject> {
        let (class, key_bytes) = (&key.key.class_name, usize::from(key.key.key_bytes));
        let infos = self.class_infos()?;
        let in_object = |error: format::Error| {
            format_error(self.source().as_ref(), &key.path(), error.placed(key.key.object_place()))
        };
        let graph = read_graph(class, &data, key_bytes, infos).map_err(in_object)?;
        let trees = paths_of_trees(&graph, &data, infos);
        Ok(KeyedObject { file: self.clone(), key, data: Arc::new(data), graph, trees })
    }

    /// Finds a tree inside of the object of a key, by the path that [`KeyedObject::path_of_tree`] gives it. Returns the object,
    /// and the number of the tree.
    ///
    /// # Errors
    /// Those of reading the key lists, and the object: that of a class which is not read has no trees.
    pub fn tree_inside(&self, path: &str) -> Result<Option<(KeyedObject, u32)>> {
        for outer in around(path.trim_start_matches('/')).filter(|outer| !outer.is_empty()) {
            let Some(key) = self.found(outer)? else { continue };
            if key.is_directory
                || Self::is_ntuple_class(&key.key.class_name)
                || self.is_tree_class(&key.key.class_name)?
            {
                continue;
            }
            let object = match self.own_object(outer) {
                Err(error) if error.is_of_format() && !error.is_damage() => continue, // of a class that cannot be read
                object => object?,
            };
            let inner = path.trim_start_matches('/').get(outer.len()..).unwrap_or_default();
            let number = object.trees.iter().find(|(_, path)| *path == inner).map(|(&number, _)| number);
            if let Some(number) = number {
                return Ok(Some((object, number)));
            }
        }
        Ok(None)
    }

    /// The paths of the trees inside of the objects of some keys, key by key: those in collections and folders, and in objects
    /// of classes that are not ROOT's. Nothing is read where there are no such keys, and no object where the file describes its
    /// classes, and no tree is among them.
    ///
    /// # Errors
    /// All of reading class descriptions and objects. An object that cannot be read yet, or compresses too well for what nobody
    /// asked for, has no trees.
    pub fn trees_inside(&self, paths: &[String]) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        for path in paths {
            let key = self.find(path)?;
            if !key.is_directory && StreamerInfos::may_hold_objects(&key.key.class_name) {
                keys.push(key);
            }
        }
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let described = self.streamer_infos()?;
        if !described.is_empty() && described.named("TTree").next().is_none() {
            return Ok(Vec::new());
        }
        let (mut found, mut n_bytes) = (Vec::new(), 0);
        for key in keys {
            n_bytes += u64::from(key.key.n_bytes);
            if n_bytes > self.size_bytes() {
                let error = format::Error::corrupt(0, "records that overlap: objects of more bytes than the file has");
                return Err(format_error(self.source().as_ref(), &key.path(), error.placed(key.key.object_place())));
            }
            let read = |file: &File| file.object_of(key.clone(), file.read_metadata(&key.key)?);
            match self.or_elsewhere(&key.path(), read) {
                Ok(object) => found.extend(object.trees.keys().filter_map(|&number| object.path_of_tree(number))),
                Err(error) if error.is_of_format() && !error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
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
    /// The file that it is in.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its key.
    pub fn key(&self) -> &FileKey {
        &self.key
    }

    /// Its bytes, uncompressed.
    pub fn data(&self) -> &Arc<Vec<u8>> {
        &self.data
    }

    /// The path of a tree in it by the tree's number: that of the key and then names with slashes between, of a member or of an
    /// item in a collection. `None` if nothing leads there, or the path is too long.
    pub fn path_of_tree(&self, number: u32) -> Option<String> {
        self.trees.get(&number).map(|inner| format!("{}{inner}", self.key.path()))
    }

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
        let place = self.key.key.object_place();
        format_error(self.file.source().as_ref(), &self.key.path(), error.clone().placed(place))
    }
}
