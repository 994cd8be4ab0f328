//! Arrow types of the format's types.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Fields, UnionFields, UnionMode};
use arrowroot_format::column::{DataType, Name};
use arrowroot_format::streamer::Primitive;

use crate::text::TextForm;

/// Name of the items of lists, as in the Arrow specification.
pub(crate) const ITEM: &str = "item";

/// The name of what a variant holds that holds none of its alternatives.
const NOTHING: &str = "none";

/// Names of so many bytes count as a field does.
const NAME_BYTES: usize = 32;

/// The Arrow type of a column.
pub fn arrow_type(data_type: &DataType, text: TextForm) -> ArrowType {
    ArrowTypes::new(text).arrow_type(data_type)
}

/// As much of the Arrow type of a column as a text of so many bytes says of it: the first members of each struct.
pub fn arrow_type_for_text(data_type: &DataType, text: TextForm, n_bytes: usize) -> ArrowType {
    ArrowTypes { text_bytes_left: Some(n_bytes), ..ArrowTypes::new(text) }.arrow_type(data_type)
}

/// Arrow types of several columns. All places where a class occurs share its fields.
pub struct ArrowTypes {
    text: TextForm,
    /// By the place of the members in memory, which stay there: the fields, and how many there are with all inside.
    structs: HashMap<*const (Name, DataType), Preloaded>,
    /// Fields so far, each time that they occur, and what their names count: so many are made where a type leaves the process.
    pub n_fields: usize,
    /// For a text: how many of its bytes names of members do not fill yet.
    text_bytes_left: Option<usize>,
}

struct Preloaded {
    _members: Arc<[(Name, DataType)]>,
    fields: Fields,
    n_fields: usize,
}

impl ArrowTypes {
    /// No types yet; of texts in this form.
    pub fn new(text: TextForm) -> Self {
        ArrowTypes { text, structs: HashMap::new(), n_fields: 0, text_bytes_left: None }
    }

    /// The field of a column or member: nullable if it is optional.
    pub fn arrow_field(&mut self, name: &str, data_type: &DataType) -> Field {
        self.n_fields = self.n_fields.saturating_add(1 + name.len() / NAME_BYTES);
        // A variant that holds nothing is null.
        let is_nullable = matches!(data_type, DataType::Optional(_) | DataType::Nothing | DataType::Variant(_));
        Field::new(name, self.arrow_type(data_type), is_nullable)
    }

    fn fields(&mut self, members: &Arc<[(Name, DataType)]>) -> Fields {
        let before = self.n_fields;
        if let Some(known) = self.structs.get(&members.as_ptr()) {
            self.n_fields = before.saturating_add(known.n_fields);
            return known.fields.clone();
        }
        let mut fields = Vec::with_capacity(if self.text_bytes_left.is_some() { 0 } else { members.len() });
        for (name, member) in members.iter() {
            match &mut self.text_bytes_left {
                Some(0) => break,
                Some(left) => *left = left.saturating_sub(name.len() + 1),
                None => {}
            }
            fields.push(self.arrow_field(name, member));
        }
        let fields = Fields::from(fields);
        let known =
            Preloaded { _members: Arc::clone(members), fields: fields.clone(), n_fields: self.n_fields - before };
        // All empty ones are at one place.
        if !members.is_empty() {
            self.structs.insert(members.as_ptr(), known);
        }
        fields
    }

    fn arrow_type(&mut self, data_type: &DataType) -> ArrowType {
        let text = self.text;
        let mut field = |name: &str, item: &DataType| Arc::new(self.arrow_field(name, item));
        match data_type {
            DataType::Primitive(primitive) => primitive_type(*primitive),
            DataType::Text if text == TextForm::Binary => ArrowType::Binary,
            DataType::Text => ArrowType::Utf8,
            DataType::List(item) => ArrowType::List(field(ITEM, item)),
            DataType::FixedList(item, n_items) => {
                ArrowType::FixedSizeList(field(ITEM, item), i32::try_from(*n_items).unwrap_or(i32::MAX))
            }
            DataType::Map(key, value) => map_type(field("key", key), field("value", value)),
            DataType::Struct(members) => ArrowType::Struct(self.fields(members)),
            DataType::Variant(of) => {
                let alternatives = of.iter().enumerate();
                let fields: Vec<_> = alternatives.map(|(number, of)| field(&number.to_string(), of)).collect();
                ArrowType::Union(variant_fields(fields), UnionMode::Dense)
            }
            DataType::Optional(value) => self.arrow_type(value),
            DataType::Nothing => ArrowType::Null,
            DataType::Link => ArrowType::UInt32,
            DataType::Bytes => ArrowType::Binary,
        }
    }
}

pub(crate) fn item_field(item: ArrowType) -> Arc<Field> {
    Arc::new(Field::new(ITEM, item, false))
}

/// A map; a list of pairs if the keys may be null, which those of Arrow's maps must not be.
pub fn map_type(key: Arc<Field>, value: Arc<Field>) -> ArrowType {
    let can_be_map = !key.is_nullable();
    let pair = ArrowType::Struct(Fields::from(vec![key, value]));
    match can_be_map {
        true => ArrowType::Map(Arc::new(Field::new("entries", pair, false)), false),
        false => ArrowType::List(item_field(pair)),
    }
}

/// The members of a union for the alternatives of a variant, by tag; 0 is none of them.
pub fn variant_fields(alternatives: impl IntoIterator<Item = Arc<Field>>) -> UnionFields {
    let nothing = (0_i8, Arc::new(Field::new(NOTHING, ArrowType::Null, true)));
    std::iter::once(nothing).chain((1_i8..).zip(alternatives)).collect()
}

/// The Arrow type of a number.
pub fn primitive_type(primitive: Primitive) -> ArrowType {
    match primitive {
        Primitive::Bool => ArrowType::Boolean,
        Primitive::Int8 => ArrowType::Int8,
        Primitive::UInt8 => ArrowType::UInt8,
        Primitive::Int16 => ArrowType::Int16,
        Primitive::UInt16 => ArrowType::UInt16,
        Primitive::Int32 => ArrowType::Int32,
        Primitive::UInt32 => ArrowType::UInt32,
        Primitive::Int64 => ArrowType::Int64,
        Primitive::UInt64 => ArrowType::UInt64,
        Primitive::Float32 | Primitive::Float16 => ArrowType::Float32,
        Primitive::Float64 | Primitive::Double32 => ArrowType::Float64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_for_a_text_has_the_members_that_the_text_tells() {
        let number = || DataType::Primitive(Primitive::Int32);
        let wide = |item: &dyn Fn() -> DataType| -> DataType {
            DataType::Struct((0..1000).map(|index| (Name::from(format!("m{index}")), item())).collect())
        };
        let of = wide(&|| DataType::List(Box::new(wide(&number))));
        let ArrowType::Struct(members) = arrow_type_for_text(&of, TextForm::Utf8, 100) else { panic!("no struct") };
        let ArrowType::List(item) = members[0].data_type() else { panic!("no list") };
        let ArrowType::Struct(inner) = item.data_type() else { panic!("no struct") };
        assert_eq!(members.len(), 1);
        let n_bytes: usize = inner.iter().map(|member| member.name().len() + 1).sum();
        assert!((98..110).contains(&n_bytes), "{n_bytes}");
        let small = DataType::Struct(Arc::new([(Name::from("x"), number()), (Name::from("y"), number())]));
        assert_eq!(arrow_type_for_text(&small, TextForm::Utf8, 100), arrow_type(&small, TextForm::Utf8));
    }
}
