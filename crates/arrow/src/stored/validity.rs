//! Which fields of a schema store validity.
//!
//! A *stored schema* has the fields of the schema that somebody gave, and those flags `nullable` that are true where validity
//! is stored. Flags are listed in the order of the fields, each before those inside of it.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema};

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
        ArrowType::Union(members, mode) => {
            ArrowType::Union(members.iter().map(|(id, member)| (id, mapped(member, flag))).collect(), *mode)
        }
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
