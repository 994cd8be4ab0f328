//! Opening a table of either kind.

use std::sync::Arc;

use arrowroot_arrow::stored::{RecordedSchema, SCHEMA_RECORD};
use arrowroot_file::{Error, File, KeyedObject, Result, permanent};

use crate::composed::{Composed, ntuple_record, schema_by_names, tree_record};
use crate::ntuple::Ntuple;
use crate::table::Table;
use crate::tree::Tree;

/// A table that was opened.
pub struct Opened {
    /// The table: with the columns that were written, if it records the Arrow schema.
    pub table: Arc<dyn Table>,
    /// Why it has the columns of its branches or fields although it records a schema.
    pub unread_record: Option<String>,
}

/// An RNTuple that records no schema, with the names that its columns were written with; as it is if its types are none of ours.
fn by_names(ntuple: Ntuple) -> Result<Arc<dyn Table>> {
    let schema = permanent(schema_by_names(&ntuple))?.ok().flatten();
    let composed = schema.and_then(|schema| Composed::of_ntuple(ntuple.clone(), schema).ok());
    Ok(composed.map_or_else(|| Arc::new(ntuple) as Arc<dyn Table>, |composed| Arc::new(composed)))
}

/// Opens the tree or RNTuple of a path in a file; the path of a tree may lead into the object of a key.
///
/// # Errors
/// [`Error::NotFound`](crate::Error::NotFound) if there is no such key; [`Error::Format`](crate::Error::Format) if it is neither, or cannot be read.
pub fn open_table(file: &File, path: &str) -> Result<Opened> {
    if !file.find(path).is_ok_and(|key| File::is_ntuple_class(&key.key.class_name)) {
        return Ok(opened_tree(Tree::open(file, path)?));
    }
    let ntuple = Ntuple::open(file, path)?;
    let composed = match permanent(ntuple_record(&ntuple))? {
        Ok(None) => return Ok(Opened { table: by_names(ntuple)?, unread_record: None }),
        Ok(Some(record)) => {
            RecordedSchema::decode(&record).and_then(|recorded| Composed::of_ntuple(ntuple.clone(), recorded))
        }
        Err(error) => Err(error.to_string()),
    };
    Ok(opened(Arc::new(ntuple), composed))
}

/// Opens an attribute set of an RNTuple, with the names that its values were written with.
///
/// # Errors
/// [`Error::NotFound`] with the names there are; [`Error::Format`](crate::Error::Format) if it cannot be read;
/// [`Error::InvalidRequest`] of a tree.
pub fn open_attribute_set(table: &dyn Table, name: &str) -> Result<Arc<dyn Table>> {
    let ntuple = table.ntuple().and_then(|ntuple| ntuple.downcast_ref::<Ntuple>()).ok_or_else(|| {
        let what = format!("{}:{}: a {} has no attribute sets", table.file().url(), table.path(), table.class_name());
        Error::InvalidRequest { what }
    })?;
    by_names(ntuple.attribute_set(name)?)
}

/// The Arrow schema that an RNTuple records, as text: see [`RecordedSchema::decode`].
///
/// # Errors
/// As [`open_table`].
pub fn recorded_schema(file: &File, path: &str) -> Result<Option<String>> {
    ntuple_record(&Ntuple::open(file, path)?)
}

/// Opens the tree of a path that leads into the object of a key; `None` if none is there.
///
/// # Errors
/// [`Error::Format`](crate::Error::Format) if it, or that object, cannot be read.
pub fn find_inside(file: &File, path: &str) -> Result<Option<Opened>> {
    file.or_elsewhere(path, |file| match file.tree_inside(path)? {
        Some((object, number)) => open_inside(&object, number).map(Some),
        None => Ok(None),
    })
}

/// Opens the tree of that number inside of the object of a key.
///
/// # Errors
/// [`Error::Format`](crate::Error::Format) if it cannot be read.
pub fn open_inside(object: &KeyedObject, number: u32) -> Result<Opened> {
    Tree::inside(object, number).map(opened_tree)
}

fn opened_tree(tree: Tree) -> Opened {
    let Some(record) = tree_record(&tree) else {
        return Opened { table: Arc::new(tree), unread_record: None };
    };
    let composed = Composed::of_tree(tree.clone(), record);
    opened(Arc::new(tree), composed)
}

fn opened(plain: Arc<dyn Table>, composed: std::result::Result<Composed, String>) -> Opened {
    match composed {
        Ok(composed) => Opened { table: Arc::new(composed), unread_record: None },
        Err(why) => {
            let (url, path) = (plain.file().url(), plain.path());
            let what =
                format!("{url}: {path}: {SCHEMA_RECORD} is not used, and columns are read as they are stored: {why}");
            Opened { table: plain, unread_record: Some(what) }
        }
    }
}
