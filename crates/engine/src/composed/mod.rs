//! Tables that record the Arrow schema they were written from: their columns are those that were written.
//!
//! A [`Composed`] table stands around the tree or RNTuple. A column of it reads the branches or fields that hold its parts,
//! and no others, and each batch is put together when its parts are decoded. Branches keep their names: who asks for one
//! that is no column, such as a counter, gets it as it is.

mod columns;
mod record;
mod table;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use arrow_schema::{Field, Schema};
use arrowroot_arrow::stored::original_name;
use arrowroot_format::column::DataType;
use arrowroot_format::tree::RecordedIndex;

use crate::scan::{ColumnId, Holds};
use crate::table::{ColumnTypes, Table};

pub(crate) use record::{ntuple_record, schema_by_names, tree_record};

/// A table as it was before it was written.
pub(crate) struct Composed {
    inner: Arc<dyn Table>,
    written: Arc<Written>,
    /// The index of the table inside, by the names of columns.
    index: Option<RecordedIndex>,
}

impl Deref for Composed {
    type Target = Written;

    fn deref(&self) -> &Written {
        &self.written
    }
}

/// The columns of a table by its recorded schema. Trees of one schema that record the same text share them.
pub(crate) struct Written {
    /// The schema that is recorded.
    schema: Schema,
    /// Its columns, in its order.
    columns: Vec<ComposedColumn>,
    by_name: HashMap<String, usize>,
    /// What is in the table besides and is no part of a column: somebody added it. Depth first.
    others: Vec<ColumnId>,
    holds: Holds,
    /// The types of all columns, behind those of the table inside that they were found of.
    types: Mutex<Option<[Arc<ColumnTypes>; 2]>>,
    /// About the bytes of all that.
    n_bytes: usize,
}

/// A column that was written.
struct ComposedColumn {
    field: Arc<Field>,
    /// The same, nullable where validity is stored.
    stored: Arc<Field>,
    data_type: DataType,
    /// The branches or fields of the table that hold it.
    parts: Vec<ColumnId>,
    /// The members inside of its field. Depth first.
    members: Vec<ColumnId>,
}

/// A column of a composed table.
enum Meaning {
    /// One that was written, by its number.
    Column(usize),
    /// One of the table inside.
    Inner(ColumnId),
}

impl Composed {
    /// What an id stands for: those of columns come first, those of the table inside follow.
    fn meaning_of(&self, id: ColumnId) -> Meaning {
        let index = id.0 as usize;
        match index.checked_sub(self.columns.len()).and_then(|inner| u32::try_from(inner).ok()) {
            Some(inner) => Meaning::Inner(ColumnId(inner)),
            None => Meaning::Column(index),
        }
    }

    fn id_of_column(index: usize) -> ColumnId {
        ColumnId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    fn id_of_inner(&self, inner: ColumnId) -> ColumnId {
        ColumnId(u32::try_from(self.columns.len()).unwrap_or(u32::MAX).saturating_add(inner.0))
    }

    fn new(inner: Arc<dyn Table>, written: Arc<Written>) -> Composed {
        let mut index = inner.recorded().index.cloned();
        if let Some((major, minor)) = index.as_mut().and_then(|index| index.names.as_mut()) {
            for expression in [major, minor] {
                let name = original_name(expression);
                if written.by_name.contains_key(&name) {
                    *expression = name;
                }
            }
        }
        Composed { inner, written, index }
    }
}

impl Written {
    fn new(schema: Schema, columns: Vec<ComposedColumn>, others: Vec<ColumnId>, holds: Holds) -> Arc<Written> {
        let names = columns.iter().enumerate().map(|(number, column)| (column.field.name().clone(), number));
        let by_name = names.collect();
        let metadata: usize = schema.metadata().iter().map(|(key, value)| key.len() + value.len()).sum();
        // Each field is there as it is recorded, as it is stored, as a type, and among the types of all.
        let fields = 4 * schema.fields().size() + columns.len() * 2 * size_of::<ComposedColumn>();
        let n_bytes = size_of::<Written>() + metadata + fields;
        Arc::new(Written { schema, columns, by_name, others, holds, types: Mutex::default(), n_bytes })
    }
}
