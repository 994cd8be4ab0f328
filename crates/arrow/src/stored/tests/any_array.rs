//! Arrays of any type: with extremes, NaN, empties, garbage under nulls, and items that no list has.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, GenericBinaryArray,
    GenericListArray, GenericListViewArray, GenericStringArray, MapArray, NullArray, OffsetSizeTrait, PrimitiveArray,
    RunArray, StringViewArray, StructArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType as ArrowType, Field, Fields, IntervalUnit, TimeUnit};

/// A generator of types and arrays, the same for the same seed.
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random { state: seed | 1 }
    }

    /// Any number below `end`. Source: xorshift64*, Vigna 2016.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() >> 11).unwrap() % end.max(1)
    }

    fn bits(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// A field whose type is nested in at most `depth` others.
    pub(super) fn field(&mut self, name: &str, depth: usize) -> Field {
        let data_type = self.data_type(depth);
        let is_nullable = data_type == ArrowType::Null || !self.chance(3);
        Field::new(name, data_type, is_nullable)
    }

    fn shared_field(&mut self, name: &str, depth: usize) -> Arc<Field> {
        Arc::new(self.field(name, depth))
    }

    fn flat_type(&mut self) -> ArrowType {
        let types = [
            ArrowType::Null,
            ArrowType::Boolean,
            ArrowType::Int8,
            ArrowType::Int16,
            ArrowType::Int32,
            ArrowType::Int64,
            ArrowType::UInt8,
            ArrowType::UInt16,
            ArrowType::UInt32,
            ArrowType::UInt64,
            ArrowType::Float16,
            ArrowType::Float32,
            ArrowType::Float64,
            ArrowType::Date32,
            ArrowType::Date64,
            ArrowType::Time32(TimeUnit::Second),
            ArrowType::Time64(TimeUnit::Nanosecond),
            ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            ArrowType::Duration(TimeUnit::Millisecond),
            ArrowType::Interval(IntervalUnit::YearMonth),
            ArrowType::Interval(IntervalUnit::DayTime),
            ArrowType::Interval(IntervalUnit::MonthDayNano),
            ArrowType::Decimal32(9, 2),
            ArrowType::Decimal64(18, -2),
            ArrowType::Decimal128(38, 10),
            ArrowType::Decimal256(76, 0),
            ArrowType::FixedSizeBinary(0),
            ArrowType::FixedSizeBinary(3),
            ArrowType::Utf8,
            ArrowType::LargeUtf8,
            ArrowType::Utf8View,
            ArrowType::Binary,
            ArrowType::LargeBinary,
            ArrowType::BinaryView,
        ];
        types[self.below(types.len())].clone()
    }

    fn data_type(&mut self, depth: usize) -> ArrowType {
        if depth == 0 || self.chance(3) {
            return self.flat_type();
        }
        let inner = depth - 1;
        match self.below(10) {
            0 => ArrowType::List(self.shared_field("item", inner)),
            1 => ArrowType::LargeList(self.shared_field("x", inner)),
            2 => ArrowType::ListView(self.shared_field("item", inner)),
            3 => ArrowType::LargeListView(self.shared_field("item", inner)),
            4 => {
                let size = i32::try_from(self.below(4)).unwrap();
                ArrowType::FixedSizeList(self.shared_field("item", inner), size)
            }
            5 | 6 => {
                let names = ["a", "b.c", "", "x_isvalid"];
                let n_members = self.below(4);
                ArrowType::Struct(names[..n_members].iter().map(|name| self.field(name, inner)).collect())
            }
            7 => {
                let key = Field::new("k", ArrowType::Utf8, false);
                let pair = ArrowType::Struct(Fields::from(vec![key, self.field("v", inner)]));
                ArrowType::Map(Arc::new(Field::new("pairs", pair, false)), self.chance(2))
            }
            8 => {
                let keys = [ArrowType::Int8, ArrowType::UInt16, ArrowType::Int32, ArrowType::UInt64];
                let key = keys[self.below(keys.len())].clone();
                let mut value = self.data_type(inner.min(1));
                if matches!(value, ArrowType::Null | ArrowType::Dictionary(..) | ArrowType::RunEndEncoded(..)) {
                    value = ArrowType::Utf8;
                }
                ArrowType::Dictionary(Box::new(key), Box::new(value))
            }
            _ => {
                let ends = [ArrowType::Int16, ArrowType::Int32, ArrowType::Int64];
                let ends = Field::new("run_ends", ends[self.below(3)].clone(), false);
                let value = match self.data_type(inner.min(1)) {
                    ArrowType::Null | ArrowType::Dictionary(..) | ArrowType::RunEndEncoded(..) => ArrowType::Int16,
                    other => other,
                };
                ArrowType::RunEndEncoded(Arc::new(ends), Arc::new(Field::new("values", value, true)))
            }
        }
    }

    fn nulls(&mut self, len: usize) -> NullBuffer {
        (0..len).map(|_| !self.chance(3)).collect::<Vec<_>>().into()
    }

    /// An array of a field.
    pub(super) fn array(&mut self, field: &Field, len: usize) -> ArrayRef {
        let array = match field.data_type() {
            ArrowType::RunEndEncoded(ends, values) => {
                let is_nullable = field.is_nullable();
                let values = values.as_ref().clone().with_nullable(is_nullable);
                return self.runs(ends.data_type(), &values, field.data_type(), len);
            }
            data_type => self.values(data_type, len),
        };
        if !field.is_nullable() || field.data_type() == &ArrowType::Null || self.chance(4) {
            return array;
        }
        let nulls = self.nulls(len);
        make_array(array.to_data().into_builder().nulls(Some(nulls)).build().unwrap())
    }

    fn values(&mut self, data_type: &ArrowType, len: usize) -> ArrayRef {
        match data_type {
            ArrowType::Null => Arc::new(NullArray::new(len)),
            ArrowType::Boolean => Arc::new(BooleanArray::from((0..len).map(|_| self.chance(2)).collect::<Vec<_>>())),
            ArrowType::Float16 => {
                // A NaN that signals comes back as one that does not.
                let bits = [0x0000_u16, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x7bff, 0x3c00, 0xc101];
                let bits: Vec<u16> = (0..len).map(|_| bits[self.below(bits.len())]).collect();
                let data = ArrayData::builder(ArrowType::Float16).len(len).add_buffer(Buffer::from_vec(bits));
                make_array(data.build().unwrap())
            }
            ArrowType::FixedSizeBinary(width) => {
                let bytes = self.bytes(len * usize::try_from(*width).unwrap());
                let bytes = Buffer::from_vec(bytes);
                Arc::new(FixedSizeBinaryArray::try_new_with_len(*width, bytes, None, len).unwrap())
            }
            ArrowType::Utf8 => Arc::new(self.texts::<i32>(len)),
            ArrowType::LargeUtf8 => Arc::new(self.texts::<i64>(len)),
            ArrowType::Utf8View => Arc::new(StringViewArray::from(&self.texts::<i32>(len))),
            ArrowType::Binary => Arc::new(self.binary::<i32>(len)),
            ArrowType::LargeBinary => Arc::new(self.binary::<i64>(len)),
            ArrowType::BinaryView => Arc::new(BinaryViewArray::from(&self.binary::<i32>(len))),
            ArrowType::List(item) => self.lists::<i32>(item, len),
            ArrowType::LargeList(item) => self.lists::<i64>(item, len),
            ArrowType::ListView(item) => self.list_views::<i32>(item, len),
            ArrowType::LargeListView(item) => self.list_views::<i64>(item, len),
            ArrowType::FixedSizeList(item, size) => {
                let items = self.array(item, len * usize::try_from(*size).unwrap());
                let lists = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, items, None, len);
                Arc::new(lists.unwrap())
            }
            ArrowType::Struct(fields) => Arc::new(self.members(fields, len)),
            ArrowType::Map(entries, is_sorted) => {
                let ArrowType::Struct(fields) = entries.data_type() else { panic!("a map without pairs") };
                let (offsets, n_items) = self.offsets::<i32>(len);
                let pairs = self.members(fields, n_items);
                Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, None, *is_sorted).unwrap())
            }
            ArrowType::Dictionary(key, value) => {
                let values = self.values(value, 4);
                let width = key.primitive_width().unwrap();
                let mut keys = vec![0_u8; len * width];
                for key in keys.chunks_exact_mut(width) {
                    let number = u8::try_from(self.below(4)).unwrap();
                    key[if cfg!(target_endian = "little") { 0 } else { width - 1 }] = number;
                }
                let data = ArrayData::builder(data_type.clone()).len(len).add_buffer(Buffer::from_slice_ref(&keys));
                make_array(data.add_child_data(values.to_data()).align_buffers(true).build().unwrap())
            }
            other => {
                let width = other.primitive_width().unwrap();
                let bytes = match range_of(other) {
                    None => self.bytes(len * width),
                    Some((first, limit, step)) => {
                        (0..len).flat_map(|_| self.number(first..limit, step, width)).collect()
                    }
                };
                let bytes = Buffer::from_vec(bytes);
                let data = ArrayData::builder(other.clone()).len(len).add_buffer(bytes).align_buffers(true);
                make_array(data.build().unwrap())
            }
        }
    }

    /// The bytes of a number in a range, or of one of its ends, times `step`.
    fn number(&mut self, range: Range<i64>, step: i64, width: usize) -> Vec<u8> {
        let within =
            self.bits().cast_signed().rem_euclid(range.end) * if range.start < 0 && self.chance(2) { -1 } else { 1 };
        let value = [range.start, range.end - 1, within, within, within][self.below(5)] * step;
        let fill = if value < 0 { 0xff } else { 0 };
        let mut bytes = value.to_le_bytes().to_vec();
        bytes.resize(width, fill);
        if cfg!(target_endian = "big") {
            bytes.reverse();
        }
        bytes
    }

    /// Bytes, among them long stretches of zeros and ones.
    fn bytes(&mut self, n_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(n_bytes + 8);
        while bytes.len() < n_bytes {
            bytes.extend(match self.below(4) {
                0 => [0; 8],
                1 => [0xff; 8],
                _ => self.bits().to_ne_bytes(),
            });
        }
        bytes.truncate(n_bytes);
        bytes
    }

    /// Offsets of lists that begin at any item, and the number of items, of which the last may be in no list.
    fn offsets<O: OffsetSizeTrait>(&mut self, len: usize) -> (OffsetBuffer<O>, usize) {
        let mut end = self.below(3);
        let mut offsets = vec![O::usize_as(end)];
        for _ in 0..len {
            end += if self.chance(3) { 0 } else { self.below(4) };
            offsets.push(O::usize_as(end));
        }
        (OffsetBuffer::new(offsets.into()), end + self.below(3))
    }

    fn texts<O: OffsetSizeTrait>(&mut self, len: usize) -> GenericStringArray<O> {
        let words = ["", "a", "é", "🦀🦀", "muon", "longer than a view has room for", "\u{0}"];
        GenericStringArray::from_iter_values((0..len).map(|_| words[self.below(words.len())]))
    }

    fn binary<O: OffsetSizeTrait>(&mut self, len: usize) -> GenericBinaryArray<O> {
        let (offsets, n_bytes) = self.offsets::<O>(len);
        GenericBinaryArray::try_new(offsets, Buffer::from_vec(self.bytes(n_bytes)), None).unwrap()
    }

    fn lists<O: OffsetSizeTrait>(&mut self, item: &Arc<Field>, len: usize) -> ArrayRef {
        let (offsets, n_items) = self.offsets::<O>(len);
        let items = self.array(item, n_items);
        Arc::new(GenericListArray::<O>::try_new(Arc::clone(item), offsets, items, None).unwrap())
    }

    fn list_views<O: OffsetSizeTrait>(&mut self, item: &Arc<Field>, len: usize) -> ArrayRef {
        if self.chance(2) {
            // In a row, as lists stand.
            let (offsets, n_items) = self.offsets::<O>(len);
            let sizes = offsets.lengths().map(|length| O::usize_as(length)).collect();
            let starts = offsets.iter().take(len).copied().collect();
            let items = self.array(item, n_items);
            return Arc::new(GenericListViewArray::<O>::try_new(Arc::clone(item), starts, sizes, items, None).unwrap());
        }
        let n_items = 6;
        let items = self.array(item, n_items);
        let views: Vec<(usize, usize)> = (0..len)
            .map(|_| {
                let start = self.below(n_items + 1);
                (start, self.below(n_items + 1 - start))
            })
            .collect();
        let starts = views.iter().map(|&(start, _)| O::usize_as(start)).collect();
        let sizes = views.iter().map(|&(_, size)| O::usize_as(size)).collect();
        Arc::new(GenericListViewArray::<O>::try_new(Arc::clone(item), starts, sizes, items, None).unwrap())
    }

    fn members(&mut self, fields: &Fields, len: usize) -> StructArray {
        let columns = fields.iter().map(|field| self.array(field, len)).collect();
        StructArray::try_new_with_length(fields.clone(), columns, None, len).unwrap()
    }

    fn runs(&mut self, ends: &ArrowType, values: &Field, data_type: &ArrowType, len: usize) -> ArrayRef {
        let mut run_ends = Vec::new();
        let mut end = 0;
        while end < len {
            end = (end + 1 + self.below(3)).min(len);
            run_ends.push(end);
        }
        let values = self.array(values, run_ends.len());
        let array: ArrayRef = match ends {
            ArrowType::Int16 => {
                let ends: PrimitiveArray<Int16Type> = run_ends.iter().map(|&end| i16::try_from(end).ok()).collect();
                Arc::new(RunArray::try_new(&ends, &values).unwrap())
            }
            ArrowType::Int32 => {
                let ends: PrimitiveArray<Int32Type> = run_ends.iter().map(|&end| i32::try_from(end).ok()).collect();
                Arc::new(RunArray::try_new(&ends, &values).unwrap())
            }
            _ => {
                let ends: PrimitiveArray<Int64Type> = run_ends.iter().map(|&end| i64::try_from(end).ok()).collect();
                Arc::new(RunArray::try_new(&ends, &values).unwrap())
            }
        };
        make_array(array.to_data().into_builder().data_type(data_type.clone()).build().unwrap())
    }
}

/// Values from here on, below there, times so much: of a type that does not take all that its bytes have room for.
fn range_of(data_type: &ArrowType) -> Option<(i64, i64, i64)> {
    const DAY_S: i64 = 86_400;
    Some(match data_type {
        ArrowType::Date64 => (-1_000_000, 1_000_000, DAY_S * 1000),
        ArrowType::Time32(TimeUnit::Second) => (0, DAY_S, 1),
        ArrowType::Time32(_) => (0, DAY_S * 1000, 1),
        ArrowType::Time64(TimeUnit::Microsecond) => (0, DAY_S * 1_000_000, 1),
        ArrowType::Time64(_) => (0, DAY_S * 1_000_000_000, 1),
        ArrowType::Decimal32(precision, _) | ArrowType::Decimal64(precision, _) => {
            let limit = 10_i64.pow(u32::from(*precision));
            (1 - limit, limit, 1)
        }
        ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => (-i64::MAX, i64::MAX, 1),
        _ => return None,
    })
}
