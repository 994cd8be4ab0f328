//! Arrays of any type, for tests.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int16Array, Int64Array, ListArray, MapArray, RecordBatch,
    StringArray, StructArray, UInt8Array, cast::AsArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use proptest::prelude::*;

/// Numbers that look random and are the same in each run of a seed.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 32
    }

    fn below(&mut self, bound: u64) -> usize {
        usize::try_from(self.next() % bound).unwrap()
    }

    fn nulls(&mut self, n: usize, is_nullable: bool) -> Option<NullBuffer> {
        is_nullable.then(|| (0..n).map(|_| self.below(3) > 0).collect())
    }
}

/// A field of items.
pub(crate) fn item(data_type: &DataType, is_nullable: bool) -> FieldRef {
    Arc::new(Field::new("item", data_type.clone(), is_nullable))
}

/// `n` values of a type.
fn array(data_type: &DataType, is_nullable: bool, n: usize, seeded: &mut Seeded) -> ArrayRef {
    let nulls = seeded.nulls(n, is_nullable);
    let mut bits = || seeded.next();
    match data_type {
        DataType::Boolean => Arc::new(BooleanArray::new((0..n).map(|_| bits() & 1 == 1).collect(), nulls)),
        DataType::UInt8 => Arc::new(UInt8Array::new((0..n).map(|_| bits().to_ne_bytes()[0]).collect(), nulls)),
        DataType::Int16 => {
            let value = |bytes: [u8; 8]| i16::from_ne_bytes([bytes[0], bytes[1]]);
            Arc::new(Int16Array::new((0..n).map(|_| value(bits().to_ne_bytes())).collect(), nulls))
        }
        DataType::Int64 => {
            Arc::new(Int64Array::new((0..n).map(|_| bits().cast_signed() >> (bits() % 64)).collect(), nulls))
        }
        DataType::Float32 => {
            let value = |bytes: [u8; 8]| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            Arc::new(Float32Array::new((0..n).map(|_| value(bits().to_ne_bytes())).collect(), nulls))
        }
        DataType::Utf8 => {
            let texts: Vec<String> = (0..n).map(|_| "äx".repeat(usize::try_from(bits() % 4).unwrap())).collect();
            let (offsets, values, _) = StringArray::from_iter_values(texts).into_parts();
            Arc::new(StringArray::new(offsets, values, nulls))
        }
        DataType::List(field) => {
            let offsets = OffsetBuffer::<i32>::from_lengths((0..n).map(|_| seeded.below(4)));
            let n_items = usize::try_from(offsets.last().to_owned()).unwrap();
            let items = array(field.data_type(), field.is_nullable(), n_items, seeded);
            Arc::new(ListArray::new(Arc::clone(field), offsets, items, nulls))
        }
        DataType::FixedSizeList(field, size) => {
            let n_items = n * usize::try_from(*size).unwrap();
            let items = array(field.data_type(), field.is_nullable(), n_items, seeded);
            Arc::new(FixedSizeListArray::new(Arc::clone(field), *size, items, nulls))
        }
        DataType::Struct(fields) => {
            let member = |field: &FieldRef| array(field.data_type(), field.is_nullable(), n, seeded);
            let members = fields.iter().map(member).collect();
            Arc::new(StructArray::new(fields.clone(), members, nulls))
        }
        DataType::Map(entries, _) => {
            let offsets = OffsetBuffer::<i32>::from_lengths((0..n).map(|_| seeded.below(3)));
            let n_items = usize::try_from(offsets.last().to_owned()).unwrap();
            let items = array(entries.data_type(), false, n_items, seeded);
            // No two keys of a map are equal.
            let keys: ArrayRef = Arc::new(StringArray::from_iter_values((0..n_items).map(|n| n.to_string())));
            let (fields, members, _) = items.as_struct().clone().into_parts();
            let items = StructArray::new(fields, vec![keys, Arc::clone(&members[1])], None);
            Arc::new(MapArray::new(Arc::clone(entries), offsets, items, nulls, false))
        }
        other => panic!("{other}"),
    }
}

/// A type, nested three deep at most, and whether it may be missing.
pub(crate) fn any_type() -> impl Strategy<Value = (DataType, bool)> {
    let number =
        [DataType::Boolean, DataType::UInt8, DataType::Int16, DataType::Int64, DataType::Float32, DataType::Utf8];
    let leaf = (prop::sample::select(number.to_vec()), any::<bool>());
    leaf.prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(of, is_nullable)| DataType::List(item(&of, is_nullable))),
            (inner.clone(), 1..4)
                .prop_map(|((of, is_nullable), size)| DataType::FixedSizeList(item(&of, is_nullable), size)),
            inner.clone().prop_map(|(of, is_nullable)| {
                let key = Field::new("key", DataType::Utf8, false);
                let pair = DataType::Struct(vec![key, Field::new("value", of, is_nullable)].into());
                DataType::Map(Arc::new(Field::new("entries", pair, false)), false)
            }),
            prop::collection::vec(inner, 1..4)
                .prop_map(|members| {
                    let members = members.into_iter().enumerate();
                    members
                        .map(|(place, (of, is_nullable))| Field::new(format!("m{place}"), of, is_nullable))
                        .collect::<Vec<_>>()
                })
                .prop_map(|members| DataType::Struct(members.into())),
        ]
        .prop_flat_map(|of| any::<bool>().prop_map(move |is_nullable| (of.clone(), is_nullable)))
    })
}

/// A batch of so many entries.
pub(crate) fn batch_of(types: &[(DataType, bool)], n_entries: usize, seed: u64) -> RecordBatch {
    let fields: Vec<Field> = types
        .iter()
        .enumerate()
        .map(|(index, (of, is_nullable))| Field::new(format!("c{index}"), of.clone(), *is_nullable))
        .collect();
    let mut seeded = Seeded(seed);
    let arrays = types.iter().map(|(of, is_nullable)| array(of, *is_nullable, n_entries, &mut seeded)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}
