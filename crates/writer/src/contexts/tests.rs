//! The policy and the order under every interleaving of small cases.

use super::arrivals::{Arrivals, Arrived, Offer};
use super::policy::{Buffers, Policy};
use crate::interleavings::visit;
use crate::queue::Room;

mod in_order;
mod sleeping;

/// The next step of a producer. Each is what is done under one lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Next {
    /// Asks for a buffer for its next entry.
    Ask,
    /// Waits in line with this number.
    Wait(u64),
    /// Has this buffer, and puts its entry into it.
    Fill(usize),
    /// Compresses what was in this buffer.
    Compress(usize),
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Producer {
    next: Next,
    entries: Vec<u32>,
    /// True for one that gives up once, when it waits.
    gives_up: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Free {
    buffers: Buffers,
    collected: Vec<Vec<u32>>,
    /// The entries of buffers that are being compressed.
    compressing: Vec<Vec<u32>>,
    producers: Vec<Producer>,
    written: Vec<u32>,
    given_up: Vec<u32>,
}

impl Free {
    fn new(policy: Policy, n_buffers: usize, producers: &[(u32, bool)]) -> Free {
        let buffers = Buffers::new(policy, n_buffers);
        let n_buffers = buffers.n_fills().len();
        let mut first = 0;
        let producer = |&(n_entries, gives_up): &(u32, bool)| {
            first += n_entries;
            Producer { next: Next::Ask, entries: (first - n_entries..first).collect(), gives_up }
        };
        Free {
            buffers,
            collected: vec![Vec::new(); n_buffers],
            compressing: vec![Vec::new(); n_buffers],
            producers: producers.iter().map(producer).collect(),
            written: Vec::new(),
            given_up: Vec::new(),
        }
    }

    /// Room for `most` entries in memory.
    fn room(&self, most: usize) -> Room {
        let n_compressing: usize = self.compressing.iter().map(Vec::len).sum();
        let n_collected: usize = self.collected.iter().map(Vec::len).sum();
        if n_collected + n_compressing <= most {
            Room::Within
        } else if n_compressing == 0 {
            Room::Beyond
        } else {
            Room::None
        }
    }

    fn steps(&self, most: usize) -> Vec<Free> {
        let mut found: Vec<Free> = (0..self.producers.len()).filter_map(|number| self.step(number, most)).collect();
        for number in 0..self.producers.len() {
            if let Producer { next: Next::Wait(waiter), gives_up: true, .. } = self.producers[number] {
                let mut world = self.clone();
                let producer = &mut world.producers[number];
                world.given_up.push(producer.entries.remove(0));
                (producer.next, producer.gives_up) = (Next::Ask, false);
                world.buffers.leave(waiter);
                found.push(world);
            }
        }
        found
    }

    fn step(&self, number: usize, most: usize) -> Option<Free> {
        let mut world = self.clone();
        let room = self.room(most);
        let mut producer = world.producers[number].clone();
        match producer.next {
            Next::Nothing => return None,
            Next::Ask if producer.entries.is_empty() => producer.next = Next::Nothing,
            Next::Ask => {
                producer.next = match world.buffers.lend(None, room) {
                    Some(buffer) => Next::Fill(buffer),
                    None => Next::Wait(world.buffers.queue_up(false)),
                }
            }
            Next::Wait(waiter) => producer.next = Next::Fill(world.buffers.lend(Some(waiter), room)?),
            Next::Fill(buffer) => {
                // Two entries fill a buffer.
                world.collected[buffer].push(producer.entries.remove(0));
                if world.collected[buffer].len() < 2 {
                    world.buffers.give_back(buffer, 1);
                    producer.next = Next::Ask;
                } else {
                    world.buffers.end(buffer);
                    assert!(world.compressing[buffer].is_empty(), "a buffer is filled while it is compressed");
                    world.compressing[buffer] = std::mem::take(&mut world.collected[buffer]);
                    producer.next = Next::Compress(buffer);
                }
            }
            Next::Compress(buffer) => {
                let entries = std::mem::take(&mut world.compressing[buffer]);
                world.written.extend(entries);
                // Which of them was first is all one: fewer worlds differ.
                world.written.sort_unstable();
                world.buffers.renew(buffer);
                producer.next = Next::Ask;
            }
        }
        world.producers[number] = producer;
        Some(world)
    }

    fn check_end(&self) {
        assert!(self.producers.iter().all(|producer| producer.next == Next::Nothing), "nobody goes on: {self:?}");
        let mut all: Vec<u32> = self.written.iter().chain(&self.given_up).copied().collect();
        all.extend(self.collected.iter().flatten());
        all.sort_unstable();
        let n_entries = u32::try_from(all.len()).unwrap();
        assert!(all.iter().copied().eq(0..n_entries) && !self.buffers.is_awaited(), "{self:?}");
    }
}

#[test]
fn each_entry_is_in_one_buffer_and_nobody_waits_for_ever_whatever_the_policy() {
    let mut n_states = 0;
    for policy in [Policy::Fullest, Policy::Fifo, Policy::Single] {
        for most in [0, 2, 100] {
            for (n_buffers, producers) in [
                (1, [(2, false), (1, false), (2, true)]),
                (2, [(3, false), (2, true), (1, false)]),
                (3, [(2, true), (2, true), (1, true)]),
            ] {
                let start = Free::new(policy, n_buffers, &producers);
                n_states += visit(start, |world| world.steps(most), Free::check_end);
            }
        }
    }
    assert!(n_states > 10_000, "{n_states}");
}

/// The next step of a thread that offers entries by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Offering {
    Offer,
    Wait,
    /// Takes its own entry, then so many of those that follow.
    Take(usize),
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Numbered {
    arrivals: Arrivals<u64>,
    producers: Vec<(Offering, Vec<u64>)>,
    n_open: usize,
    /// Entries in the hand of the thread that takes.
    in_hand: Option<u64>,
    written: Vec<u64>,
}

impl Numbered {
    fn new(producers: &[&[u64]]) -> Numbered {
        Numbered {
            arrivals: Arrivals::new(1),
            producers: producers.iter().map(|entries| (Offering::Offer, entries.to_vec())).collect(),
            n_open: producers.len(),
            in_hand: None,
            written: Vec::new(),
        }
    }

    fn step(&self, number: usize) -> Option<Numbered> {
        let mut world = self.clone();
        let n_waiting = world.producers.iter().filter(|(next, _)| *next == Offering::Wait).count();
        let (next, mut entries) = world.producers[number].clone();
        let next = match next {
            Offering::Nothing => return None,
            Offering::Offer if entries.is_empty() => {
                world.n_open -= 1;
                Offering::Nothing
            }
            Offering::Offer => match world.arrivals.offer(entries[0], 1, 1, world.n_open - n_waiting - 1) {
                Offer::Next => {
                    assert_eq!(world.in_hand.replace(entries.remove(0)), None, "two take at a time");
                    Offering::Take(1)
                }
                Offer::Take => {
                    assert_eq!(world.in_hand, None, "two take at a time");
                    world.in_hand = world.arrivals.follow().map(|arrived| arrived.values);
                    Offering::Take(1)
                }
                Offer::Keep => {
                    let entry = entries.remove(0);
                    world.arrivals.keep(entry, Arrived { n_entries: 1, n_bytes: 1, values: entry });
                    Offering::Offer
                }
                Offer::Full => {
                    world.arrivals.wait(entries[0]);
                    Offering::Wait
                }
                Offer::Twice(_) => panic!("nothing comes twice: {world:?}"),
            },
            Offering::Wait => {
                if world.arrivals.verdict(entries[0], 1, 1, world.n_open - n_waiting) == Offer::Full {
                    return None;
                }
                world.arrivals.leave(entries[0]);
                Offering::Offer
            }
            Offering::Take(n_more) => {
                world.written.extend(world.in_hand.take());
                world.arrivals.taken(1);
                world.in_hand = if n_more > 0 { world.arrivals.follow().map(|arrived| arrived.values) } else { None };
                if world.in_hand.is_some() {
                    Offering::Take(n_more - 1)
                } else {
                    world.arrivals.stop();
                    Offering::Offer
                }
            }
        };
        world.producers[number] = (next, entries);
        Some(world)
    }

    /// The rest is taken when the table is closed.
    fn check_end(&self, n_entries: u64) {
        assert!(self.producers.iter().all(|(next, _)| *next == Offering::Nothing), "nobody goes on: {self:?}");
        let mut world = self.clone();
        while let Some(arrived) = world.arrivals.follow() {
            world.written.push(arrived.values);
            world.arrivals.taken(1);
        }
        assert!(world.written.iter().copied().eq(0..n_entries), "{self:?}");
    }
}

#[test]
fn entries_come_in_the_order_of_their_numbers_whoever_offers_them_first() {
    let mut n_states = 0;
    for producers in [
        &[&[0, 1, 2][..], &[3, 4, 5]][..],
        &[&[0, 3], &[1, 4], &[2, 5]],
        &[&[5, 4], &[3, 2], &[1, 0]],
        // One alone, in the wrong order; and a producer that comes to its first entry last.
        &[&[3, 2, 1, 0]],
        &[&[1, 2, 3, 4, 5, 6], &[0]],
    ] {
        let n_entries = producers.iter().map(|entries| entries.len() as u64).sum();
        let steps = |world: &Numbered| (0..world.producers.len()).filter_map(|number| world.step(number)).collect();
        n_states += visit(Numbered::new(producers), steps, |world| world.check_end(n_entries));
    }
    assert!(n_states > 300, "{n_states}");
}
