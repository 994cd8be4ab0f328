//! The state under every interleaving of small cases: who submits, who does tasks, who places.

use super::*;
use crate::interleavings::visit;

type Model = QueueState<(), u64, &'static str>;

/// The next step of a thread. Each is what is done under one lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Next {
    /// Takes a ticket, once there is room.
    Ticket,
    /// Submits the tasks of a ticket, or drops it.
    Submit(u64),
    /// Takes a task, if there is one.
    Take,
    /// Says that it is done.
    Done(TaskId),
    /// Says that what was ready is placed, and looks for more.
    Placed(Ready<u64>),
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Thread {
    next: Next,
    /// The tickets that it still takes: how many tasks each has, `None` for one that is dropped.
    tickets: Vec<Option<usize>>,
    /// True for one of the pool, which does tasks.
    is_worker: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    queue: Model,
    threads: Vec<Thread>,
    /// For each ticket that was taken, its number of tasks; `None`: it is dropped.
    taken: Vec<Option<usize>>,
    done: Vec<TaskId>,
    /// Ticket and number of its tasks, as placed.
    placed: Vec<(u64, usize, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    limit: u64,
    /// The task that fails, and whether that is when it is done or when it is placed.
    bad: Option<(TaskId, bool)>,
}

const BYTES: u64 = 10;

impl World {
    fn new(producers: &[&[Option<usize>]], n_workers: usize) -> World {
        let producers =
            producers.iter().map(|tickets| Thread { next: Next::Ticket, tickets: tickets.to_vec(), is_worker: false });
        let worker = Thread { next: Next::Take, tickets: Vec::new(), is_worker: true };
        let threads = producers.chain(std::iter::repeat_n(worker, n_workers)).collect();
        World { queue: Model::default(), threads, taken: Vec::new(), done: Vec::new(), placed: Vec::new() }
    }

    fn steps(&self, case: Case) -> Vec<World> {
        (0..self.threads.len()).filter_map(|number| self.step(number, case)).collect()
    }

    fn step(&self, number: usize, case: Case) -> Option<World> {
        let mut world = self.clone();
        let mut thread = world.threads[number].clone();
        match thread.next.clone() {
            Next::Nothing => return None,
            Next::Ticket => {
                if thread.tickets.is_empty() || world.queue.error.is_some() {
                    thread.next = Next::Nothing;
                } else {
                    if !world.queue.has_room(2 * BYTES, case.limit) {
                        return None;
                    }
                    world.taken.push(thread.tickets.remove(0));
                    world.queue.add(2 * BYTES);
                    thread.next = Next::Submit(world.queue.ticket(2 * BYTES));
                }
            }
            Next::Submit(ticket) => {
                let n_tasks = world.taken[usize::try_from(ticket).unwrap()];
                let place = n_tasks.map(|_| ticket);
                let refused = world.queue.submit(ticket, vec![(); n_tasks.unwrap_or_default()], place);
                assert_eq!(refused.is_some(), world.queue.error.is_some());
                thread.next = world.look(&thread);
            }
            Next::Take => {
                let (id, ()) = world.queue.take_task()?;
                thread.next = Next::Done(id);
            }
            Next::Done(id) => {
                if case.bad == Some((id, true)) {
                    drop(world.queue.fail("bad"));
                    thread.next = thread.rest();
                } else {
                    world.queue.done(id, BYTES);
                    world.done.push(id);
                    world.done.sort_unstable_by_key(|id| (id.ticket, id.task));
                    thread.next = world.look(&thread);
                }
            }
            Next::Placed(ready) => {
                world.note(&ready);
                let ticket = ready.place;
                world.queue.placed(ready);
                let is_bad = |(id, is_of_task): (TaskId, bool)| {
                    let tasks = self.tasks_of_last(&world);
                    !is_of_task && ticket == Some(id.ticket) && tasks.contains(&id.task)
                };
                if case.bad.is_some_and(is_bad) {
                    drop(world.queue.fail("bad"));
                    thread.next = thread.rest();
                } else {
                    thread.next = world.look(&thread);
                }
            }
        }
        world.threads[number] = thread;
        Some(world)
    }

    /// The tasks that the last placing of another world, one step later, had.
    fn tasks_of_last(&self, later: &World) -> std::ops::Range<usize> {
        let Some((ticket, n_tasks, _)) = later.placed.last() else { return 0..0 };
        let before: usize = self.placed.iter().filter(|(of, ..)| of == ticket).map(|(_, n, _)| n).sum();
        before..before + n_tasks
    }

    /// The next step of a thread that has looked for what is ready.
    fn look(&mut self, thread: &Thread) -> Next {
        self.queue.next_ready().map_or_else(|| thread.rest(), Next::Placed)
    }

    /// Notes what is being placed: each result once, in order, after it was made.
    fn note(&mut self, ready: &Ready<u64>) {
        let Some(ticket) = ready.place else { return };
        let before: usize = self.placed.iter().filter(|(of, ..)| *of == ticket).map(|(_, n, _)| n).sum();
        for task in before..before + ready.n_tasks {
            assert!(self.done.contains(&TaskId { ticket, task }), "{self:?}");
        }
        if let Some((last, _, was_last)) = self.placed.last() {
            assert!(*last == ticket && !was_last || *last < ticket && *was_last, "{self:?}");
        }
        self.placed.push((ticket, ready.n_tasks, ready.is_last));
    }

    fn check_end(&self, case: Case) {
        let is_bad = self.queue.error.is_some();
        assert_eq!(is_bad, case.bad.is_some(), "{self:?}");
        // Nobody waits for what does not come: workers wait for tasks, and there are none.
        for thread in &self.threads {
            assert!(thread.next == if thread.is_worker { Next::Take } else { Next::Nothing }, "{self:?}");
        }
        assert!(self.queue.has_no_tasks());
        if !is_bad {
            assert!(self.queue.is_empty() && self.queue.report.bytes == 0, "{self:?}");
            let expected: Vec<(u64, usize)> =
                (0..).zip(&self.taken).filter_map(|(ticket, n)| Some((ticket, (*n)?))).collect();
            let mut found: Vec<(u64, usize)> = Vec::new();
            for (ticket, n_tasks, _) in &self.placed {
                match found.last_mut() {
                    Some((last, n)) if last == ticket => *n += n_tasks,
                    _ => found.push((*ticket, *n_tasks)),
                }
            }
            assert_eq!(found, expected);
        }
    }
}

impl Thread {
    fn rest(&self) -> Next {
        if self.is_worker { Next::Take } else { Next::Ticket }
    }
}

fn check(producers: &[&[Option<usize>]], n_workers: usize, case: Case) -> usize {
    visit(World::new(producers, n_workers), |world| world.steps(case), |world| world.check_end(case))
}

#[test]
fn results_are_placed_once_and_in_order_whoever_is_first() {
    let mut n_states = 0;
    for limit in [0, 20, 60, 1000] {
        let case = Case { limit, bad: None };
        n_states += check(&[&[Some(2), Some(1)], &[Some(1), Some(2)]], 2, case);
        n_states += check(&[&[Some(1)], &[Some(1)], &[Some(2)]], 2, case);
        n_states += check(&[&[Some(3)], &[None, Some(0), Some(1)]], 2, case);
        n_states += check(&[&[Some(2)], &[None]], 3, case);
    }
    assert!(n_states > 5_000, "{n_states}");
}

#[test]
fn whatever_fails_first_nobody_waits_for_ever_and_nothing_is_placed_after_it() {
    for (ticket, task) in [(0, 0), (0, 1), (1, 0)] {
        for is_of_task in [true, false] {
            let bad = Some((TaskId { ticket, task }, is_of_task));
            // Every ticket has the task that is bad.
            check(&[&[Some(2), Some(2)], &[Some(2)]], 2, Case { limit: 1000, bad });
            check(&[&[Some(2), Some(2)]], 2, Case { limit: 40, bad });
        }
    }
}
