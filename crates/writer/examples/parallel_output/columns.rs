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
    /// True if all lists of an event are equally long.
    are_alike: bool,
}

impl Columns {
    /// `miniaod`: some 20 kB in 400 columns; `aod`: some 200 kB in 1,600; `wide-N`: N columns; `flat`: 24 numbers, and 12 lists
    /// that are equally long.
    pub(crate) fn of(shape: &str) -> Result<Columns> {
        let (n_columns, list_length) = match shape {
            "miniaod" => (400, 15),
            "aod" => (1600, 40),
            "flat" => (36, 3),
            other => (other.strip_prefix("wide-").ok_or("miniaod, aod, flat or wide-N")?.parse()?, 15),
        };
        let are_alike = shape == "flat";
        let n_numbers = if are_alike { 24 } else { n_columns / 5 };
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let number = |n| Field::new(format!("n{n}"), DataType::Float32, false);
        let list = |n| Field::new(format!("v{n}"), DataType::List(Arc::clone(&item)), false);
        let fields: Vec<Field> = (0..n_numbers).map(number).chain((n_numbers..n_columns).map(list)).collect();
        let n_lists = n_columns - n_numbers;
        Ok(Columns { schema: Arc::new(Schema::new(fields)), n_numbers, n_lists, list_length, are_alike })
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
        let ends = |random: &mut Random| {
            let length = |_| usize::try_from(random.next() % (2 * self.list_length)).unwrap_or_default();
            OffsetBuffer::<i32>::from_lengths((0..n_events).map(length).collect::<Vec<usize>>())
        };
        let shared = self.are_alike.then(|| ends(random));
        for _ in 0..self.n_lists {
            let offsets = shared.clone().unwrap_or_else(|| ends(random));
            let values = values(usize::try_from(offsets.last())?, random);
            arrays.push(Arc::new(ListArray::try_new(Arc::clone(&item), offsets, Arc::new(values), None)?));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }

    /// Bytes of the values of an event, about.
    pub(crate) fn event_bytes(&self) -> u64 {
        4 * (self.n_numbers as u64 + self.n_lists as u64 * self.list_length)
    }
}
