//! Values that have no place known in advance: collected basket by basket, by several threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use arrowroot_format as format;
use format::column::DataType;
use format::decode::Values;

use crate::memory::populate;

/// Memory for all entries is set aside once so many of them, one in `SAMPLE`, have shown how much they take.
const SAMPLE: usize = 16;
/// Entries differ: so much more than the first ones say is set aside.
const SLACK: f64 = 1.1;

/// The values of a column of a batch, in parts.
#[derive(Debug)]
pub(crate) struct Parts {
    /// No two of them are neighbours.
    parts: Mutex<Vec<Part>>,
    n_entries: usize,
}

/// Values of some baskets in a row.
#[derive(Debug)]
struct Part {
    /// The places of the baskets.
    baskets: Range<usize>,
    values: Values,
    /// It has the memory for all entries, as far as that can be told, and the pages of it for so many; 0: not yet.
    n_with_pages: usize,
}

impl Parts {
    /// No values yet, of so many entries.
    pub(crate) fn new(n_entries: usize) -> Parts {
        Parts { parts: Mutex::default(), n_entries }
    }

    /// Lets `decode` append the entries of a basket to those of the baskets before it, if nobody else has these in hand.
    /// Small baskets would otherwise cost more for the memory of their parts than for their values.
    pub(crate) fn collect(
        &self,
        basket: usize,
        data_type: impl FnOnce() -> DataType,
        decode: impl FnOnce(&mut Values) -> format::Result<()>,
    ) -> format::Result<()> {
        let mut part = self.take(|other| other.baskets.end == basket).unwrap_or_else(|| Part {
            baskets: basket..basket,
            values: Values::empty(&data_type()),
            n_with_pages: 0,
        });
        decode(&mut part.values)?;
        part.baskets.end = basket + 1;
        self.give_back(part)
    }

    fn take(&self, is_it: impl Fn(&Part) -> bool) -> Option<Part> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let index = parts.iter().position(is_it)?;
        Some(parts.swap_remove(index))
    }

    /// Puts a part to those that nobody has in hand, as one with its neighbours. A basket is moved once at most, while
    /// it is in the cache, as it is appended to those before it.
    fn give_back(&self, mut part: Part) -> format::Result<()> {
        loop {
            self.make_room(&mut part);
            let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
            let is_neighbour =
                |other: &Part| other.baskets.end == part.baskets.start || part.baskets.end == other.baskets.start;
            let Some(index) = parts.iter().position(is_neighbour) else {
                parts.push(part);
                return Ok(());
            };
            let neighbour = parts.swap_remove(index);
            drop(parts); // others go on while values are moved
            let (mut before, after) =
                if neighbour.baskets.start < part.baskets.start { (neighbour, part) } else { (part, neighbour) };
            before.values.append(after.values)?;
            before.baskets.end = after.baskets.end;
            part = before;
        }
    }

    /// Sets memory aside: what grows by and by is copied, to fresh pages, again and again. Pages are asked for before
    /// they are written, for twice the entries that are there: entries may differ, and those to come be small.
    fn make_room(&self, part: &mut Part) {
        let n_done = part.values.len();
        if part.baskets.start > 0 || n_done < part.n_with_pages || n_done < self.n_entries.div_ceil(SAMPLE).max(1) {
            return;
        }
        let n_left = self.n_entries.saturating_sub(n_done);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let times = |n_more: usize| n_more as f64 / n_done as f64;
        if part.n_with_pages == 0 {
            part.values.reserve(times(n_left) * SLACK);
        }
        let n_more = n_left.min(n_done);
        part.n_with_pages = if n_more < n_left { n_done + n_more } else { usize::MAX };
        part.values.upcoming(times(n_more), &mut |range| populate(&range));
    }

    /// All values, when all baskets are done.
    pub(crate) fn finish(&self, data_type: &DataType) -> format::Result<Values> {
        let mut parts = std::mem::take(&mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner));
        parts.sort_by_key(|part| part.baskets.start);
        let mut parts = parts.into_iter().map(|part| part.values);
        let mut all = parts.next().unwrap_or_else(|| Values::empty(data_type));
        for values in parts {
            all.append(values)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrowroot_format::streamer::Primitive;

    const NUMBERS: DataType = DataType::Primitive(Primitive::UInt8);

    fn add(parts: &Parts, basket: usize) {
        let byte = u8::try_from(basket).unwrap();
        let decode = |values: &mut Values| values.append(Values::Primitive(Primitive::UInt8, vec![byte; 3]));
        parts.collect(basket, || NUMBERS, decode).unwrap();
    }

    fn expected(n_baskets: u8) -> Values {
        Values::Primitive(Primitive::UInt8, (0..n_baskets).flat_map(|basket| [basket; 3]).collect())
    }

    #[test]
    fn baskets_in_any_order_become_one_part_in_theirs() {
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 2, 4, 1, 3], [3, 1, 0, 4, 2]] {
            let parts = Parts::new(15);
            order.iter().for_each(|&basket| add(&parts, basket));
            assert_eq!(parts.parts.lock().unwrap().len(), 1, "{order:?}");
            assert_eq!(parts.finish(&NUMBERS).unwrap(), expected(5));
        }
    }

    #[test]
    fn threads_that_overtake_each_other_lose_nothing() {
        let parts = Parts::new(3 * 200);
        let next = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let basket @ 0..200 = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                        add(&parts, basket);
                    }
                });
            }
        });
        assert_eq!(parts.finish(&NUMBERS).unwrap(), expected(200));
    }

    #[test]
    fn memory_for_all_entries_is_there_after_the_first_ones() {
        let parts = Parts::new(3 * 100);
        (0..10).for_each(|basket| add(&parts, basket));
        let capacity = |parts: &Parts| match &parts.parts.lock().unwrap()[0].values {
            Values::Primitive(_, bytes) => (bytes.as_ptr(), bytes.capacity()),
            _ => panic!("no numbers"),
        };
        let (place, n_bytes) = capacity(&parts);
        assert!((300..2000).contains(&n_bytes), "{n_bytes}");
        (10..100).for_each(|basket| add(&parts, basket));
        assert_eq!(capacity(&parts), (place, n_bytes));
    }

    #[test]
    fn a_basket_that_cannot_be_decoded_is_an_error() {
        let wrong = |_: &mut Values| Err(format::Error::corrupt(0, "wrong"));
        assert!(Parts::new(1).collect(0, || NUMBERS, wrong).is_err());
    }
}
