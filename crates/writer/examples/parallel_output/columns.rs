//! Events as they are filled.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, ListArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};

use crate::{Random, Result};

/// Events with lists of floats, of which each value has few bits, as measurements have.
pub(crate) struct Columns {
    pub(crate) schema: Arc<Schema>,
    n_numbers: usize,
    n_lists: usize,
    list_length: u64,
}

impl Columns {
    /// `miniaod`: some 20 kB in 400 columns; `aod`: some 200 kB in 1,600; `wide-N`: N columns.
    pub(crate) fn of(shape: &str) -> Result<Columns> {
        let (n_columns, list_length) = match shape {
            "miniaod" => (400, 15),
            "aod" => (1600, 40),
            other => (other.strip_prefix("wide-").ok_or("miniaod, aod or wide-N")?.parse()?, 15),
        };
        let n_numbers = n_columns / 5;
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let number = |n| Field::new(format!("n{n}"), DataType::Float32, false);
        let list = |n| Field::new(format!("v{n}"), DataType::List(Arc::clone(&item)), false);
        let fields: Vec<Field> = (0..n_numbers).map(number).chain((n_numbers..n_columns).map(list)).collect();
        let n_lists = n_columns - n_numbers;
        Ok(Columns { schema: Arc::new(Schema::new(fields)), n_numbers, n_lists, list_length })
    }

    /// The values of so many events.
    pub(crate) fn events(&self, n_events: usize, random: &mut Random) -> Result<RecordBatch> {
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let value = |random: &mut Random| {
            let bits = u16::try_from(random.next() >> 52).unwrap_or_default();
            f32::from(bits) * 0.125
        };
        let values = |n: usize, random: &mut Random| Float32Array::from_iter_values((0..n).map(|_| value(random)));
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.n_numbers + self.n_lists);
        for _ in 0..self.n_numbers {
            arrays.push(Arc::new(values(n_events, random)));
        }
        for _ in 0..self.n_lists {
            let length = |_| usize::try_from(random.next() % (2 * self.list_length)).unwrap_or_default();
            let lengths: Vec<usize> = (0..n_events).map(length).collect();
            let values = values(lengths.iter().sum(), random);
            let offsets = OffsetBuffer::from_lengths(lengths);
            arrays.push(Arc::new(ListArray::try_new(Arc::clone(&item), offsets, Arc::new(values), None)?));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }

    /// Bytes of the values of an event, about.
    pub(crate) fn event_bytes(&self) -> u64 {
        4 * (self.n_numbers as u64 + self.n_lists as u64 * self.list_length)
    }
}
