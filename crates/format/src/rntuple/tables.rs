//! What all fields of a schema have, in few allocations: wide schemas have thousands of fields, and opening one is to take
//! less than a millisecond.

use crate::error::{Error, Result};

use super::schema::FieldId;

/// Where a text is among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text {
    start: u32,
    end: u32,
}

/// Texts, one behind the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Texts {
    all: String,
}

impl Texts {
    pub(super) fn reserve(&mut self, n_bytes: usize) {
        self.all.reserve(n_bytes);
    }

    /// Adds a text.
    ///
    /// # Errors
    /// Unsupported if they are longer than 4 GiB together.
    pub(super) fn add(&mut self, text: &str) -> Result<Text> {
        let end_of = |all: &str| u32::try_from(all.len()).map_err(|_| Error::unsupported(0, "texts of over 4 GiB"));
        let start = end_of(&self.all)?;
        self.all.push_str(text);
        Ok(Text { start, end: end_of(&self.all)? })
    }

    pub(super) fn get(&self, text: Text) -> &str {
        &self.all[text.start as usize..text.end as usize]
    }
}

/// For each field some items, in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OfFields<T> {
    /// Where those of a field begin, and the end of the last.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> OfFields<T> {
    /// `given`: begins anew each time. Fewer than 2^32 items.
    pub(super) fn new<I: Iterator<Item = (FieldId, T)>>(n_fields: usize, given: impl Fn() -> I) -> Self {
        let mut starts = vec![0_u32; n_fields + 1];
        for (field, _) in given() {
            starts[field.0 as usize + 1] += 1;
        }
        let mut n_items = 0;
        for start in &mut starts {
            n_items += *start;
            *start = n_items;
        }
        let mut items = vec![T::default(); n_items as usize];
        let mut next = starts.clone();
        for (field, item) in given() {
            let next = &mut next[field.0 as usize];
            items[*next as usize] = item;
            *next += 1;
        }
        OfFields { starts, items }
    }
}

impl<T> OfFields<T> {
    /// The items of a field; none before they were given.
    pub(super) fn of(&self, field: FieldId) -> &[T] {
        let index = field.0 as usize;
        match (self.starts.get(index), self.starts.get(index + 1)) {
            (Some(&start), Some(&end)) => &self.items[start as usize..end as usize],
            _ => &[],
        }
    }
}
