//! Producers that sleep, and those that wake them, under every interleaving of small cases: nobody sleeps on while a buffer is free.

use crate::contexts::policy::{Buffers, Policy};
use crate::interleavings::visit;
use crate::queue::Room;

/// The next step of a producer. Each is what is done under one lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Next {
    Ask,
    /// Has begun a fill whose rest needs another buffer.
    AskForMore,
    /// Takes its place in the line: at its beginning for one who has begun.
    StandInLine {
        has_begun: bool,
    },
    /// Locks the queue's state, and looks for a buffer.
    Look(u64),
    /// Still has the lock: sleeps, as the first in line or behind others.
    Sleep(u64),
    /// Sleeps until anything changes.
    Asleep(u64),
    /// Sleeps until it is the first in line.
    AsleepBehind(u64),
    /// Leaves the line, with a buffer or without.
    Leave(u64, Option<usize>),
    /// Rings for the next in line.
    Ring(Option<u64>, Option<usize>),
    Fill(usize),
    /// Has those look again who sleep until anything changes.
    Wake,
    Compress(usize),
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    buffers: Buffers,
    n_collected: Vec<u32>,
    /// The next step of each, how many entries it has left, and true if it gives up once: while it sleeps, or with the buffer
    /// that waiting has brought.
    producers: Vec<(Next, u32, bool)>,
    /// True if each fill has an entry more than a buffer takes.
    fills_are_long: bool,
    room: Room,
    /// The producer that has the lock of the queue's state.
    locked_by: Option<usize>,
}

impl World {
    fn new(policy: Policy, n_buffers: usize, producers: &[(u32, bool)], fills_are_long: bool, room: Room) -> World {
        let buffers = Buffers::new(policy, n_buffers);
        World {
            n_collected: vec![0; buffers.n_fills().len()],
            buffers,
            producers: producers.iter().map(|&(n_entries, gives_up)| (Next::Ask, n_entries, gives_up)).collect(),
            fills_are_long,
            room,
            locked_by: None,
        }
    }

    fn steps(&self) -> Vec<World> {
        let mut found: Vec<World> = (0..self.producers.len()).filter_map(|number| self.step(number)).collect();
        for number in 0..self.producers.len() {
            let mut world = self.clone();
            let (next, n_entries, gives_up) = &mut world.producers[number];
            if let (Next::Asleep(waiter) | Next::AsleepBehind(waiter), true) = (*next, *gives_up) {
                (*next, *n_entries, *gives_up) = (Next::Leave(waiter, None), *n_entries - 1, false);
                found.push(world);
            } else if let (Next::Fill(buffer), true) = (*next, *gives_up) {
                (*next, *n_entries, *gives_up) = (Next::Ask, *n_entries - 1, false);
                if world.buffers.give_back(buffer, 1) {
                    world.producers[number].0 = Next::Wake;
                }
                found.push(world);
            }
        }
        found
    }

    /// Has the producers look again that sleep until anything changes.
    fn wake(&mut self) {
        for (next, _, _) in &mut self.producers {
            if let Next::Asleep(waiter) = *next {
                *next = Next::Look(waiter);
            }
        }
    }

    fn step(&self, number: usize) -> Option<World> {
        let mut world = self.clone();
        let (next, mut n_entries, gives_up) = world.producers[number];
        let is_locked = world.locked_by.is_some();
        let goes_on = if self.fills_are_long && n_entries > 0 { Next::AskForMore } else { Next::Ask };
        let next = match next {
            Next::Nothing | Next::Asleep(_) | Next::AsleepBehind(_) => return None,
            Next::Look(_) | Next::Ring(..) | Next::Wake if is_locked => return None,
            Next::Ask if n_entries == 0 => Next::Nothing,
            Next::Ask => world.buffers.lend(None, self.room).map_or(Next::StandInLine { has_begun: false }, Next::Fill),
            Next::AskForMore => {
                world.buffers.lend(None, self.room).map_or(Next::StandInLine { has_begun: true }, Next::Fill)
            }
            Next::StandInLine { has_begun } => Next::Look(world.buffers.queue_up(has_begun)),
            Next::Look(waiter) => match world.buffers.lend(Some(waiter), self.room) {
                Some(buffer) => Next::Leave(waiter, Some(buffer)),
                None => {
                    world.locked_by = Some(number);
                    Next::Sleep(waiter)
                }
            },
            Next::Sleep(waiter) => {
                world.locked_by = None;
                if world.buffers.first_in_line() == Some(waiter) {
                    Next::Asleep(waiter)
                } else {
                    Next::AsleepBehind(waiter)
                }
            }
            Next::Leave(waiter, buffer) => match world.buffers.leave(waiter) {
                Some(next) => Next::Ring(Some(next), buffer),
                None => buffer.map_or(Next::Ask, Next::Fill),
            },
            Next::Ring(first, buffer) => {
                world.wake();
                for (next, _, _) in &mut world.producers {
                    if let Next::AsleepBehind(waiter) = *next
                        && Some(waiter) == first
                    {
                        *next = Next::Look(waiter);
                    }
                }
                buffer.map_or(Next::Ask, Next::Fill)
            }
            Next::Fill(buffer) => {
                n_entries -= 1;
                // Two entries fill a buffer.
                world.n_collected[buffer] += 1;
                if world.n_collected[buffer] == 2 {
                    world.n_collected[buffer] = 0;
                    world.buffers.end(buffer);
                    Next::Compress(buffer)
                } else if world.buffers.give_back(buffer, 1) {
                    Next::Wake
                } else {
                    Next::Ask
                }
            }
            Next::Compress(buffer) => {
                if world.buffers.renew(buffer) {
                    Next::Wake
                } else {
                    goes_on
                }
            }
            Next::Wake => {
                world.wake();
                goes_on
            }
        };
        world.producers[number] = (next, n_entries, gives_up);
        Some(world)
    }

    fn check_end(&self) {
        let is_done = self.producers.iter().all(|(next, _, _)| *next == Next::Nothing);
        assert!(is_done && !self.buffers.is_awaited(), "somebody sleeps on: {self:?}");
    }
}

#[test]
fn nobody_sleeps_while_a_buffer_is_free_though_only_the_first_in_line_is_woken() {
    let mut n_states = 0;
    for policy in [Policy::Fullest, Policy::Fifo, Policy::Single] {
        for producers in [
            &[(2, false), (2, false), (1, true)][..],
            &[(1, true), (1, true), (2, false)],
            &[(1, false), (1, false), (1, true), (1, false)],
        ] {
            for n_buffers in [1, 2] {
                for (fills_are_long, room) in
                    [(false, Room::Within), (true, Room::Within), (false, Room::Beyond), (true, Room::Beyond)]
                {
                    let start = World::new(policy, n_buffers, producers, fills_are_long, room);
                    n_states += visit(start, World::steps, World::check_end);
                }
            }
        }
    }
    assert!(n_states > 10_000, "{n_states}");
}
