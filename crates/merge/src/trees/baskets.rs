//! The baskets of a branch of the output.

use arrowroot::format::tree::{BasketLocation, Branch};

/// Baskets of fewer bytes, as they are stored, are small: reading them costs more requests than bytes.
const SMALL_BASKET_BYTES: u32 = 4096;

/// A basket in the output: no more than the record needs, as a wide tree has many.
#[derive(Debug, Clone, Copy)]
struct Placed {
    offset: u64,
    stored_bytes: u32,
    n_entries: u32,
}

/// A branch of the output as far as it is joined.
#[derive(Debug, Default)]
pub(crate) struct JoinedBranch {
    /// In the order of their entries.
    baskets: Vec<Placed>,
    /// `fTotBytes`.
    memory_bytes: u64,
    /// `fEntries` of those that have no baskets.
    n_counted: i64,
}

/// How far a branch was joined.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    n_baskets: usize,
    memory_bytes: u64,
    n_counted: i64,
}

impl JoinedBranch {
    pub(crate) fn mark(&self) -> Mark {
        Mark { n_baskets: self.baskets.len(), memory_bytes: self.memory_bytes, n_counted: self.n_counted }
    }

    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.baskets.truncate(mark.n_baskets);
        (self.memory_bytes, self.n_counted) = (mark.memory_bytes, mark.n_counted);
    }

    pub(crate) fn n_baskets(&self) -> usize {
        self.baskets.len()
    }

    /// Makes room for baskets that come in any order. Returns the number of the first.
    pub(crate) fn reserve(&mut self, n_baskets: usize) -> usize {
        let first = self.baskets.len();
        self.baskets.resize(first + n_baskets, Placed { offset: 0, stored_bytes: 0, n_entries: 0 });
        first
    }

    /// Says where a basket is. `memory_bytes`: uncompressed, with its key.
    pub(crate) fn place(&mut self, number: usize, offset: u64, [stored_bytes, n_entries]: [u32; 2], memory_bytes: u64) {
        self.baskets[number] = Placed { offset, stored_bytes, n_entries };
        self.memory_bytes += memory_bytes;
    }

    /// Counts entries of a branch that has no baskets.
    pub(crate) fn count(&mut self, n_entries: i64) {
        self.n_counted = self.n_counted.saturating_add(n_entries);
    }

    pub(crate) fn n_small(&self) -> usize {
        self.baskets.iter().filter(|basket| basket.stored_bytes < SMALL_BASKET_BYTES).count()
    }

    /// Writes them into the branch of a record.
    pub(crate) fn record(self, branch: &mut Branch) -> arrowroot::format::Result<()> {
        branch.embedded.clear();
        let has_baskets = !self.baskets.is_empty();
        let mut first_entry = 0;
        let locations: Vec<BasketLocation> = self
            .baskets
            .into_iter()
            .map(|basket| {
                let entry_end = first_entry + u64::from(basket.n_entries);
                let location = BasketLocation {
                    offset: basket.offset,
                    stored_bytes: basket.stored_bytes,
                    first_entry,
                    entry_end,
                    embedded: None,
                };
                first_entry = entry_end;
                location
            })
            .collect();
        let entry_end = branch.entry_end;
        branch.set_baskets(&locations)?;
        branch.memory_bytes = i64::try_from(self.memory_bytes).unwrap_or(i64::MAX);
        if !has_baskets {
            branch.n_entries = self.n_counted;
            // ROOT counts those with others inside here or not at all.
            branch.entry_end = if entry_end == 0 { 0 } else { self.n_counted };
        }
        Ok(())
    }
}

/// The cycle in the key of a basket of that number: its lower 16 bits, as ROOT has it.
pub(crate) fn cycle_of(number: usize) -> i16 {
    let [.., high, low] = number.to_be_bytes();
    i16::from_be_bytes([high, low])
}
