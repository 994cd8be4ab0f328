//! The order of what producers hand over, as state without threads or clocks.

use std::collections::BTreeMap;

/// The answer to entries that are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// They are next, and nobody is at work: who offers them takes them, and some of those that [follow](Arrivals::follow).
    Next,
    /// Kept entries are next, and nobody is at work: the one who offers takes some of them first, and offers again.
    Take,
    /// They can be [kept](Arrivals::keep) until it is their turn.
    Keep,
    /// There is no room to keep them.
    Full,
    /// Entries of theirs were offered before: those from this number on.
    Twice(u64),
}

/// Entries by their numbers, which are taken in their order whoever offers them when.
///
/// One at a time takes what is next; what others offer meanwhile is kept for that one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Arrivals<T> {
    /// The number of the entry that is taken next.
    next: u64,
    /// The number of the entry behind all that were offered and not refused.
    end: u64,
    kept: BTreeMap<u64, Arrived<T>>,
    kept_bytes: u64,
    max_bytes: u64,
    is_taking: bool,
    /// The first entry of each producer that waits for room.
    waiting: Vec<u64>,
}

/// Entries that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Arrived<T> {
    pub(crate) n_entries: u64,
    pub(crate) n_bytes: u64,
    pub(crate) values: T,
}

impl<T> Arrivals<T> {
    /// Nothing has come yet. At most so many bytes are kept, or the entries of one offer.
    pub(crate) fn new(max_bytes: u64) -> Self {
        Arrivals {
            next: 0,
            end: 0,
            kept: BTreeMap::new(),
            kept_bytes: 0,
            max_bytes,
            is_taking: false,
            waiting: Vec::new(),
        }
    }

    /// The number for entries that come without one: behind all that came so far.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Offers the entries from `first` on. `n_others`: other producers that may offer something before
    /// they wait for anything.
    ///
    /// Without room they are refused, and [`Arrivals::wait`] may follow. But if all producers wait, here or elsewhere, the
    /// one with the lowest number is let in: the entries that are next come from somebody who is not here yet, or waits for
    /// others itself, and would be waited for forever.
    pub(crate) fn offer(&mut self, first: u64, n_entries: u64, n_bytes: u64, n_others: usize) -> Offer {
        let offer = self.verdict(first, n_entries, n_bytes, n_others);
        self.is_taking |= matches!(offer, Offer::Next | Offer::Take);
        if offer == Offer::Next {
            self.end = self.end.max(first.saturating_add(n_entries));
        }
        offer
    }

    /// The answer to an offer, before it is made.
    pub(crate) fn verdict(&self, first: u64, n_entries: u64, n_bytes: u64, n_others: usize) -> Offer {
        if let Some(twice) = self.taken_of(first, n_entries) {
            return Offer::Twice(twice);
        }
        if !self.is_taking && first == self.next {
            return Offer::Next;
        }
        if !self.is_taking && self.kept.contains_key(&self.next) {
            return Offer::Take;
        }
        let is_let_in = n_others == 0 && self.waiting.iter().all(|&number| number >= first) && !self.is_taking;
        let has_room = self.kept.is_empty() || self.kept_bytes.saturating_add(n_bytes) <= self.max_bytes;
        if has_room || is_let_in { Offer::Keep } else { Offer::Full }
    }

    /// Keeps entries that were offered, if they may be.
    pub(crate) fn keep(&mut self, first: u64, arrived: Arrived<T>) {
        self.kept_bytes += arrived.n_bytes;
        self.end = self.end.max(first.saturating_add(arrived.n_entries));
        self.kept.insert(first, arrived);
    }

    /// Which of these entries was there before: `None` if none was.
    pub(crate) fn taken_of(&self, first: u64, n_entries: u64) -> Option<u64> {
        if first < self.next {
            return Some(first);
        }
        let end = first.saturating_add(n_entries);
        let before = self.kept.range(..=first).next_back().map(|(number, kept)| number + kept.n_entries);
        if before.is_some_and(|before| before > first) {
            return Some(first);
        }
        self.kept.range(first..end).next().map(|(number, _)| *number)
    }

    /// Notes that who offered these entries waits for room.
    pub(crate) fn wait(&mut self, first: u64) {
        self.waiting.push(first);
    }

    /// Notes that who offered these entries waits no longer.
    pub(crate) fn leave(&mut self, first: u64) {
        if let Some(index) = self.waiting.iter().position(|&number| number == first) {
            self.waiting.swap_remove(index);
        }
    }

    /// So many entries from the next one on are taken, by the one who takes.
    pub(crate) fn taken(&mut self, n_entries: u64) {
        self.next += n_entries;
    }

    /// The entries that are next, if they are kept: for the one who takes.
    pub(crate) fn follow(&mut self) -> Option<Arrived<T>> {
        let arrived = self.kept.remove(&self.next)?;
        self.kept_bytes -= arrived.n_bytes;
        Some(arrived)
    }

    /// Ends the taking. Returns true if somebody waits for room.
    pub(crate) fn stop(&mut self) -> bool {
        self.is_taking = false;
        !self.waiting.is_empty()
    }

    /// The number of the entry that is next, and of the first that is kept, if any is.
    pub(crate) fn missing(&self) -> (u64, Option<u64>) {
        (self.next, self.kept.keys().next().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offers entries, and keeps them if they may be.
    fn offer(arrivals: &mut Arrivals<u64>, first: u64, n_entries: u64, n_bytes: u64, n_others: usize) -> Offer {
        let offer = arrivals.offer(first, n_entries, n_bytes, n_others);
        if offer == Offer::Keep {
            arrivals.keep(first, Arrived { n_entries, n_bytes, values: first });
        }
        offer
    }

    #[test]
    fn entries_are_taken_in_the_order_of_their_numbers() {
        let mut arrivals = Arrivals::new(100);
        assert_eq!(offer(&mut arrivals, 5, 5, 1, 2), Offer::Keep);
        assert_eq!(offer(&mut arrivals, 10, 1, 2, 2), Offer::Keep);
        assert_eq!(arrivals.missing(), (0, Some(5)));
        assert_eq!(offer(&mut arrivals, 0, 5, 3, 2), Offer::Next);
        // Meanwhile somebody else comes.
        assert_eq!(offer(&mut arrivals, 11, 1, 4, 2), Offer::Keep);
        arrivals.taken(5);
        let mut taken = Vec::new();
        while let Some(arrived) = arrivals.follow() {
            taken.push(arrived.values);
            arrivals.taken(arrived.n_entries);
        }
        assert_eq!(taken, [5, 10, 11]);
        assert_eq!((arrivals.missing(), arrivals.stop()), ((12, None), false));
        assert_eq!(offer(&mut arrivals, 12, 1, 4, 2), Offer::Next);
    }

    #[test]
    fn entries_that_come_twice_are_found() {
        let mut arrivals = Arrivals::new(100);
        assert_eq!(offer(&mut arrivals, 10, 10, 1, 1), Offer::Keep);
        for (first, n_entries, twice) in [(10, 1, 10), (15, 1, 15), (5, 6, 10), (19, 5, 19), (0, 50, 10)] {
            assert_eq!(offer(&mut arrivals, first, n_entries, 1, 1), Offer::Twice(twice), "{first}");
        }
        assert_eq!(offer(&mut arrivals, 0, 10, 1, 1), Offer::Next);
        arrivals.taken(10);
        assert_eq!(arrivals.follow().unwrap().n_entries, 10);
        arrivals.taken(10);
        assert_eq!(arrivals.follow(), None);
        arrivals.stop();
        assert_eq!(offer(&mut arrivals, 19, 1, 1, 1), Offer::Twice(19));
        assert_eq!(offer(&mut arrivals, 20, 1, 1, 1), Offer::Next);
    }

    #[test]
    fn what_is_kept_is_bounded_unless_all_producers_wait() {
        let mut arrivals = Arrivals::new(10);
        assert_eq!(offer(&mut arrivals, 5, 1, 8, 2), Offer::Keep);
        for first in [7, 6] {
            assert_eq!(offer(&mut arrivals, first, 1, 8, 1), Offer::Full);
            arrivals.wait(first);
        }
        assert_eq!(offer(&mut arrivals, 7, 1, 8, 1), Offer::Full);
        // The third producer is gone, or waits as well.
        assert_eq!(offer(&mut arrivals, 7, 1, 8, 0), Offer::Full, "another one is lower");
        assert_eq!(offer(&mut arrivals, 6, 1, 8, 0), Offer::Keep);
        arrivals.leave(6);
        assert_eq!(offer(&mut arrivals, 7, 1, 8, 1), Offer::Full);
        assert_eq!(offer(&mut arrivals, 0, 5, 8, 1), Offer::Next);
    }

    #[test]
    fn what_was_left_is_taken_by_whoever_offers_next() {
        let mut arrivals = Arrivals::new(2);
        assert_eq!(offer(&mut arrivals, 1, 1, 1, 2), Offer::Keep);
        assert_eq!(offer(&mut arrivals, 0, 1, 1, 2), Offer::Next);
        arrivals.taken(1);
        assert!(!arrivals.stop());
        assert_eq!(offer(&mut arrivals, 5, 1, 9, 2), Offer::Take);
        assert_eq!(arrivals.follow().unwrap().values, 1);
        arrivals.taken(1);
        arrivals.stop();
        assert_eq!(offer(&mut arrivals, 5, 1, 9, 2), Offer::Keep);
    }

    #[test]
    fn entries_without_numbers_stand_as_they_came() {
        let mut arrivals = Arrivals::new(1);
        assert_eq!(offer(&mut arrivals, 0, 3, 1, 2), Offer::Next);
        assert_eq!(arrivals.end(), 3);
        assert_eq!(offer(&mut arrivals, 3, 2, 1, 2), Offer::Keep);
        let end = arrivals.end();
        assert_eq!((end, offer(&mut arrivals, end, 1, 1, 2)), (5, Offer::Full));
        assert_eq!(arrivals.end(), 5, "what is refused has no number");
    }
}
