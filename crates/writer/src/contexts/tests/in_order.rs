//! Producers that sleep until their entries may come, under every interleaving of small cases: each wakes those that may go on.

use crate::contexts::arrivals::{Arrivals, Arrived, Offer};
use crate::interleavings::visit;

/// The next step of a producer. Each is what is done under one lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Next {
    Offer,
    /// Says which entry waits.
    Register,
    /// Says that its producer waits.
    Begin,
    /// Locks the queue's state, and looks if its entry may come.
    Look,
    /// Still has the lock.
    Sleep,
    Asleep,
    /// Its producer waits no longer; true if it gives up its entry.
    End(bool),
    /// Its entry waits no longer.
    Leave(bool),
    /// Takes what is in hand, then so many of those that follow.
    Take(usize),
    Stop,
    /// Has all look again that sleep, and goes on.
    Wake(Box<Next>),
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Producer {
    next: Next,
    entries: Vec<u64>,
    is_behind: bool,
    /// True for one that gives up once, while it sleeps.
    gives_up: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    arrivals: Arrivals<u64>,
    producers: Vec<Producer>,
    n_open: usize,
    in_hand: Option<u64>,
    written: Vec<u64>,
    /// True while one has the lock of the queue's state.
    is_locked: bool,
}

impl World {
    fn new(producers: &[(&[u64], bool)]) -> World {
        let producer = |&(entries, gives_up): &(&[u64], bool)| Producer {
            next: Next::Offer,
            entries: entries.to_vec(),
            is_behind: false,
            gives_up,
        };
        World {
            arrivals: Arrivals::new(1),
            producers: producers.iter().map(producer).collect(),
            n_open: producers.len(),
            in_hand: None,
            written: Vec::new(),
            is_locked: false,
        }
    }

    fn steps(&self) -> Vec<World> {
        let mut found: Vec<World> = (0..self.producers.len()).filter_map(|number| self.step(number)).collect();
        for number in 0..self.producers.len() {
            let mut world = self.clone();
            let producer = &mut world.producers[number];
            if producer.next == Next::Asleep && producer.gives_up {
                (producer.next, producer.gives_up) = (Next::End(true), false);
                found.push(world);
            }
        }
        found
    }

    fn n_running(&self) -> usize {
        self.n_open - self.producers.iter().filter(|producer| producer.is_behind).count()
    }

    fn step(&self, number: usize) -> Option<World> {
        let mut world = self.clone();
        let mut producer = world.producers[number].clone();
        let (arrivals, first) = (&mut world.arrivals, producer.entries.first().copied());
        producer.next = match (producer.next, first) {
            (Next::Nothing | Next::Asleep, _) => return None,
            (Next::Look | Next::Wake(_), _) if self.is_locked => return None,
            (Next::Offer, None) => {
                world.n_open -= 1;
                Next::Wake(Box::new(Next::Nothing))
            }
            (Next::Offer, Some(first)) => match arrivals.offer(first, 1, 1, self.n_running() - 1) {
                Offer::Next => {
                    world.in_hand = Some(producer.entries.remove(0));
                    Next::Take(1)
                }
                Offer::Take => {
                    world.in_hand = arrivals.follow().map(|arrived| arrived.values);
                    Next::Wake(Box::new(Next::Take(1)))
                }
                Offer::Keep => {
                    producer.entries.remove(0);
                    arrivals.keep(first, Arrived { n_entries: 1, n_bytes: 1, values: first });
                    Next::Wake(Box::new(Next::Offer))
                }
                Offer::Full => Next::Register,
                Offer::Twice(_) => panic!("nothing comes twice: {self:?}"),
            },
            (Next::Register, Some(first)) => {
                arrivals.wait(first);
                Next::Begin
            }
            (Next::Begin, _) => {
                producer.is_behind = true;
                Next::Wake(Box::new(Next::Look))
            }
            (Next::Look, Some(first)) => {
                world.is_locked = arrivals.verdict(first, 1, 1, self.n_running()) == Offer::Full;
                if world.is_locked { Next::Sleep } else { Next::End(false) }
            }
            (Next::Sleep, _) => {
                world.is_locked = false;
                Next::Asleep
            }
            (Next::End(gives_up), _) => {
                producer.is_behind = false;
                Next::Leave(gives_up)
            }
            (Next::Leave(gives_up), Some(first)) => {
                arrivals.leave(first);
                if gives_up {
                    producer.entries.remove(0);
                }
                Next::Offer
            }
            (Next::Take(n_more), _) => {
                world.written.extend(world.in_hand.take());
                arrivals.taken(1);
                world.in_hand = if n_more > 0 { arrivals.follow().map(|arrived| arrived.values) } else { None };
                if world.in_hand.is_some() { Next::Wake(Box::new(Next::Take(n_more - 1))) } else { Next::Stop }
            }
            (Next::Stop, _) => {
                if arrivals.stop() {
                    Next::Wake(Box::new(Next::Offer))
                } else {
                    Next::Offer
                }
            }
            (Next::Wake(next), _) => {
                for other in world.producers.iter_mut().filter(|other| other.next == Next::Asleep) {
                    other.next = Next::Look;
                }
                *next
            }
            (Next::Register | Next::Look | Next::Leave(_), None) => panic!("nothing waits: {self:?}"),
        };
        world.producers[number] = producer;
        Some(world)
    }

    fn check_end(&self) {
        let is_done = self.producers.iter().all(|producer| producer.next == Next::Nothing);
        assert!(is_done, "somebody sleeps on: {self:?}");
        assert!(self.written.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{self:?}");
    }
}

#[test]
fn nobody_sleeps_whose_entries_may_come_though_others_give_up() {
    let mut n_states = 0;
    for producers in [
        &[(&[0, 3][..], false), (&[1, 4], false), (&[2, 5], false)][..],
        &[(&[5, 4], false), (&[3, 2], true), (&[1, 0], false)],
        &[(&[1, 2, 3], true), (&[4, 5], true), (&[0], false)],
        &[(&[3, 2, 1, 0], true), (&[4], false)],
    ] {
        n_states += visit(World::new(producers), World::steps, World::check_end);
    }
    assert!(n_states > 3_000, "{n_states}");
}
