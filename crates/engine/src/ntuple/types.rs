//! The Arrow types of the shapes of fields.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Fields, UnionFields, UnionMode};
use arrowroot_arrow::types::{map_type, primitive_type, variant_fields};
use arrowroot_arrow::{TextForm, arrow_type as object_type};
use arrowroot_format::column::DataType;
use arrowroot_format::rntuple::Shape;

const ITEM: &str = "item";

/// The Arrow field of a shape.
pub(super) fn arrow_field(name: &str, shape: &Shape, text: TextForm) -> Field {
    let is_nullable = match shape {
        // A variant that holds nothing, or a null, is one: so arrow-rs has it.
        Shape::Optional { .. } | Shape::Variant { .. } => true,
        Shape::Streamed { form, .. } => matches!(form.data_type(), DataType::Optional(_)),
        _ => false,
    };
    Field::new(name, arrow_type(shape, text), is_nullable)
}

pub(super) fn item_field(shape: &Shape, text: TextForm) -> Arc<Field> {
    Arc::new(arrow_field(ITEM, shape, text))
}

/// Key and value of a map.
pub(super) fn pair_fields(key: &Shape, value: &Shape, text: TextForm) -> [Arc<Field>; 2] {
    [("key", key), ("value", value)].map(|(name, shape)| Arc::new(arrow_field(name, shape, text)))
}

pub(super) fn struct_fields(members: &[(String, Shape)], text: TextForm) -> Fields {
    members.iter().map(|(name, member)| arrow_field(name, member, text)).collect()
}

/// The alternatives of a variant by tag; 0 is none of them.
pub(super) fn union_fields(alternatives: &[Shape], text: TextForm) -> UnionFields {
    let fields = alternatives.iter().enumerate();
    variant_fields(fields.map(|(number, of)| Arc::new(arrow_field(&number.to_string(), of, text))))
}

pub(super) fn arrow_type(shape: &Shape, text: TextForm) -> ArrowType {
    match shape {
        Shape::Number { primitive, .. } | Shape::Cardinality { primitive, .. } => primitive_type(*primitive),
        Shape::Text { .. } if text == TextForm::Binary => ArrowType::Binary,
        Shape::Text { .. } => ArrowType::Utf8,
        Shape::List { item, .. } => ArrowType::List(item_field(item, text)),
        Shape::Map { key, value, .. } => {
            let [key, value] = pair_fields(key, value, text);
            map_type(key, value)
        }
        Shape::Optional { item, .. } => arrow_type(item, text),
        Shape::FixedList { item, n_items } => {
            ArrowType::FixedSizeList(item_field(item, text), i32::try_from(*n_items).unwrap_or(i32::MAX))
        }
        Shape::Struct { members } => ArrowType::Struct(struct_fields(members, text)),
        Shape::Variant { alternatives, .. } => ArrowType::Union(union_fields(alternatives, text), UnionMode::Dense),
        Shape::Streamed { form, .. } => object_type(&form.data_type(), text),
    }
}
