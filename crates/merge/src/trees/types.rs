//! The Arrow types that trees of arrowroot record: a column that only later inputs have keeps those of the first of them.

use ahash::HashSet;
use arrow_schema::{DataType, FieldRef, Schema};
use arrowroot_arrow::stored::RecordedSchema;

/// The types so far, with those of an input.
pub(super) struct JoinedTypes {
    /// The record; `None` if it is as it was.
    pub(super) text: Option<String>,
    /// Whether all columns of the input have the types that it records.
    pub(super) is_whole: bool,
}

/// Joins the types that an input records to those so far. `added`: branches that no input before has.
pub(super) fn joined_types(known: Option<&str>, theirs: &str, added: &HashSet<&str>) -> JoinedTypes {
    let unchanged = JoinedTypes { text: None, is_whole: false };
    let known = known.map_or_else(|| Ok(no_types()), RecordedSchema::decode);
    let (Ok(known), Ok(theirs)) = (known, RecordedSchema::decode(theirs)) else { return unchanged };
    let mut columns = columns_of(&known);
    let n_known = columns.len();
    let mut is_whole = true;
    let mut new = Vec::new();
    for their in columns_of(&theirs) {
        match columns[..n_known].iter().find(|column| column.name() == their.name()) {
            Some(column) => is_whole &= *column == their,
            None if added.contains(their.name()) => new.push(their),
            // Columns of a record come before others: so they stay in the order of the branches.
            None if their.needs_no_record() => columns.push(their),
            None => is_whole = false,
        }
    }
    if new.is_empty() || (n_known == 0 && new.iter().all(Column::needs_no_record)) {
        return JoinedTypes { text: None, is_whole };
    }
    columns.extend(new);
    let fields = |of: fn(&Column) -> &FieldRef| columns.iter().map(|column| of(column).clone()).collect::<Vec<_>>();
    let joined = RecordedSchema {
        schema: Schema::new_with_metadata(fields(|column| &column.field), known.schema.metadata().clone()),
        stored: Schema::new_with_metadata(fields(|column| &column.stored), known.stored.metadata().clone()),
        splits: columns.iter().map(|column| column.split).collect(),
    };
    joined.encode().map_or(unchanged, |text| JoinedTypes { text: Some(text), is_whole })
}

/// A column of a record.
#[derive(PartialEq)]
struct Column {
    field: FieldRef,
    stored: FieldRef,
    split: Option<u8>,
}

impl Column {
    fn name(&self) -> &str {
        self.field.name()
    }

    /// Whether its values are the same without a record: so it is for the plainest columns, if none is missing.
    fn needs_no_record(&self) -> bool {
        let kind = self.field.data_type();
        let is_plain = kind.is_integer()
            || matches!(kind, DataType::Float32 | DataType::Float64 | DataType::Boolean | DataType::Utf8);
        is_plain && !self.stored.is_nullable() && self.field.metadata().is_empty()
    }
}

fn columns_of(recorded: &RecordedSchema) -> Vec<Column> {
    let fields = recorded.schema.fields().iter().zip(recorded.stored.fields()).enumerate();
    let column = |(index, (field, stored)): (usize, (&FieldRef, &FieldRef))| Column {
        field: field.clone(),
        stored: stored.clone(),
        split: recorded.splits.get(index).copied().flatten(),
    };
    fields.map(column).collect()
}

fn no_types() -> RecordedSchema {
    RecordedSchema { schema: Schema::empty(), stored: Schema::empty(), splits: Vec::new() }
}
