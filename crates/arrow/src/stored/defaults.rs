//! The values of entries that nobody has given any.

use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, ScalarBuffer};
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

use super::Stored;

/// So many default values of a type: 0, false, empty texts and lists; optionals are missing.
///
/// They take [`default_bytes`] each: whoever asks for them has looked how much that is.
#[must_use]
pub fn defaults(data_type: &DataType, len: usize) -> Stored {
    match data_type {
        DataType::Primitive(Primitive::Bool) => Stored::Bits(BooleanBuffer::new_unset(len)),
        DataType::Primitive(primitive) => {
            let values = MutableBuffer::from_len_zeroed(len * primitive.stored_bytes()).into();
            Stored::Numbers { primitive: *primitive, values }
        }
        DataType::Text => Stored::Text { offsets: no_items(len), bytes: Buffer::from_vec(Vec::<u8>::new()) },
        DataType::List(item) => lists(len, defaults(item, 0)),
        DataType::Bytes => lists(len, defaults(&DataType::Primitive(Primitive::UInt8), 0)),
        DataType::Map(key, value) => {
            lists(len, Stored::Struct { len: 0, members: vec![defaults(key, 0), defaults(value, 0)] })
        }
        DataType::FixedList(item, n_items) => {
            let n_items = *n_items as usize;
            Stored::Fixed { len, n_items, items: Box::new(defaults(item, len * n_items)) }
        }
        DataType::Struct(members) => {
            Stored::Struct { len, members: members.iter().map(|(_, member)| defaults(member, len)).collect() }
        }
        DataType::Optional(value) => {
            Stored::Optional { valid: BooleanBuffer::new_unset(len), values: Box::new(defaults(value, len)) }
        }
        DataType::Variant(of) => Stored::Variant {
            tags: MutableBuffer::from_len_zeroed(len).into(),
            alternatives: of.iter().map(|alternative| lists(len, defaults(alternative, 0))).collect(),
        },
        DataType::Nothing | DataType::Link => Stored::Struct { len, members: Vec::new() },
    }
}

/// The bytes of memory that a default value takes, about; those of one that no memory holds are [`u64::MAX`].
#[must_use]
pub fn default_bytes(data_type: &DataType) -> u64 {
    match data_type {
        DataType::Primitive(primitive) => primitive.stored_bytes() as u64,
        DataType::Text | DataType::List(_) | DataType::Bytes | DataType::Map(..) => 8,
        DataType::FixedList(item, n_items) => default_bytes(item).saturating_mul((*n_items).into()),
        DataType::Struct(members) => {
            members.iter().map(|(_, member)| default_bytes(member)).fold(0, u64::saturating_add)
        }
        DataType::Optional(value) => default_bytes(value).saturating_add(1),
        DataType::Variant(of) => 1 + 8 * of.len() as u64,
        DataType::Nothing | DataType::Link => 0,
    }
}

fn lists(len: usize, items: Stored) -> Stored {
    Stored::List { offsets: no_items(len), items: Box::new(items) }
}

/// The offsets of so many empty texts or lists.
fn no_items(len: usize) -> ScalarBuffer<i64> {
    vec![0; len + 1].into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn fixed(item: DataType, n_items: u32) -> DataType {
        DataType::FixedList(Box::new(item), n_items)
    }

    #[test]
    fn each_type_has_as_many_defaults_as_are_asked_for() {
        let number = DataType::Primitive(Primitive::Int16);
        let of_numbers = DataType::List(Box::new(number.clone()));
        let members = vec![("a".into(), fixed(number.clone(), 3)), ("b".into(), of_numbers)];
        let all = [
            DataType::Primitive(Primitive::Bool),
            DataType::Text,
            DataType::Bytes,
            DataType::Map(Box::new(DataType::Text), Box::new(number.clone())),
            fixed(fixed(number, 2), 3),
            DataType::Struct(Arc::from(members)),
            DataType::Optional(Box::new(DataType::Nothing)),
            DataType::Optional(Box::new(DataType::Text)),
        ];
        for of in &all {
            let values = defaults(of, 5);
            assert_eq!(values.len(), 5, "{of:?}");
            assert!(values.held_bytes(0..5) <= 5 * default_bytes(of), "{of:?}");
        }
        let Stored::Optional { valid, .. } = defaults(&all[7], 3) else { panic!("no optional") };
        assert_eq!(valid.count_set_bits(), 0);
    }

    #[test]
    fn what_no_memory_holds_is_said_and_not_made() {
        let number = DataType::Primitive(Primitive::Float64);
        assert_eq!(default_bytes(&fixed(fixed(number, u32::MAX), u32::MAX)), u64::MAX);
    }
}
