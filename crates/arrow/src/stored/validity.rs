//! Which fields of a schema store validity.
//!
//! A *stored schema* has the fields of the schema that somebody gave, and those flags `nullable` that are true where validity
//! is stored. Flags are listed in the order of the fields, each before those inside of it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema};

use super::Stored;
use super::data_type::data_type;
use super::error::{Result, StoreError};
use super::store::{repeated, store};

/// The stored schema for batches that are known: a field stores its validity if it is nullable and has a null there.
///
/// # Errors
/// As [`data_type`] and [`store`]; [`StoreError::OtherType`] if a batch has other columns.
pub fn observed_validity(schema: &Schema, batches: &[RecordBatch]) -> Result<Schema> {
    let mut flags = vec![false; validity_flags(schema).len()];
    let mut first = 0;
    for (place, field) in schema.fields().iter().enumerate() {
        let data_type = data_type(field)?;
        let n_fields = 1 + fields_inside(field.data_type());
        for batch in batches {
            let array = batch.columns().get(place).ok_or_else(|| StoreError::OtherType {
                column: field.name().clone(),
                expected: field.data_type().to_string(),
                found: "no column".to_owned(),
            })?;
            let stored = store(field.name(), array, &data_type)?;
            let mut nulls = Nulls { flags: &mut flags[first..first + n_fields], next: 0 };
            nulls.look(field, &stored, 0..stored.len(), None);
        }
        first += n_fields;
    }
    Ok(with_validity_flags(schema, &flags))
}

/// The flags of all fields.
pub(super) fn validity_flags(schema: &Schema) -> Vec<bool> {
    let mut flags = Vec::new();
    let mut note = |field: &Field| {
        flags.push(field.is_nullable());
        field.is_nullable()
    };
    for field in schema.fields() {
        mapped(field, &mut note);
    }
    flags
}

/// A schema with other flags: those that are not given, or that it has not itself, are false.
pub(super) fn with_validity_flags(schema: &Schema, flags: &[bool]) -> Schema {
    let mut flags = flags.iter().copied();
    let mut next = |field: &Field| flags.next().unwrap_or(false) && field.is_nullable();
    let fields: Fields = schema.fields().iter().map(|field| mapped(field, &mut next)).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// A field with the flags that `flag` gives for it and for those inside.
fn mapped(field: &FieldRef, flag: &mut dyn FnMut(&Field) -> bool) -> FieldRef {
    let is_nullable = flag(field);
    let data_type = mapped_type(field.data_type(), flag);
    Arc::new(field.as_ref().clone().with_data_type(data_type).with_nullable(is_nullable))
}

fn mapped_type(data_type: &ArrowType, flag: &mut dyn FnMut(&Field) -> bool) -> ArrowType {
    match data_type {
        ArrowType::List(item) => ArrowType::List(mapped(item, flag)),
        ArrowType::LargeList(item) => ArrowType::LargeList(mapped(item, flag)),
        ArrowType::ListView(item) => ArrowType::ListView(mapped(item, flag)),
        ArrowType::LargeListView(item) => ArrowType::LargeListView(mapped(item, flag)),
        ArrowType::FixedSizeList(item, n_items) => ArrowType::FixedSizeList(mapped(item, flag), *n_items),
        ArrowType::Struct(members) => ArrowType::Struct(members.iter().map(|member| mapped(member, flag)).collect()),
        ArrowType::Map(entries, is_sorted) => ArrowType::Map(mapped(entries, flag), *is_sorted),
        ArrowType::Dictionary(key, value) => ArrowType::Dictionary(key.clone(), Box::new(mapped_type(value, flag))),
        ArrowType::RunEndEncoded(ends, values) => {
            // Whether runs have nulls is the flag of the field around.
            let inner = mapped_type(values.data_type(), flag);
            ArrowType::RunEndEncoded(Arc::clone(ends), Arc::new(values.as_ref().clone().with_data_type(inner)))
        }
        other => other.clone(),
    }
}

fn fields_inside(data_type: &ArrowType) -> usize {
    let mut n_fields = 0;
    mapped_type(data_type, &mut |field| {
        n_fields += 1;
        field.is_nullable()
    });
    n_fields
}

/// Where nulls were seen, in the order of fields.
struct Nulls<'n> {
    flags: &'n mut [bool],
    next: usize,
}

impl Nulls<'_> {
    /// `around`: which values are under no null of something around them, if not all are.
    fn look(&mut self, field: &Field, stored: &Stored, range: Range<usize>, around: Option<&NullBuffer>) {
        let place = self.next;
        self.next += 1;
        match stored {
            Stored::Optional { valid, values } => {
                let own = NullBuffer::new(valid.slice(range.start, range.len()));
                // What is under a null is none itself.
                self.flags[place] |= own.null_count() > around.map_or(0, NullBuffer::null_count);
                self.look_inside(field.data_type(), values, range, Some(&own));
            }
            _ => self.look_inside(field.data_type(), stored, range, around),
        }
    }

    fn look_inside(
        &mut self,
        data_type: &ArrowType,
        stored: &Stored,
        range: Range<usize>,
        around: Option<&NullBuffer>,
    ) {
        let end = self.next + fields_inside(data_type);
        match (data_type, stored) {
            (
                ArrowType::List(item)
                | ArrowType::LargeList(item)
                | ArrowType::ListView(item)
                | ArrowType::LargeListView(item)
                | ArrowType::Map(item, _),
                Stored::List { offsets, items },
            ) => self.look(item, items, super::inner(offsets, &range), None),
            (ArrowType::FixedSizeList(item, _), Stored::Fixed { n_items, items, .. }) => {
                let around = around.map(|around| repeated(around, *n_items));
                self.look(item, items, range.start * n_items..range.end * n_items, around.as_ref());
            }
            (ArrowType::Struct(fields), Stored::Struct { members, .. }) => {
                for (field, member) in fields.iter().zip(members) {
                    self.look(field, member, range.clone(), around);
                }
            }
            (ArrowType::Dictionary(_, value), _) => self.look_inside(value, stored, range, around),
            (ArrowType::RunEndEncoded(_, values), _) => self.look_inside(values.data_type(), stored, range, around),
            _ => {}
        }
        // What holds no bytes is not looked into.
        self.next = end;
    }
}
