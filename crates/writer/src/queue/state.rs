//! The state of the queue: which tickets there are, what is done and placed, what waits. It has no threads, no clock and no
//! lock: who has it says what happened, and is told what may happen next.

use std::collections::VecDeque;

use super::QueueReport;
use super::growth::Growth;

/// The room in memory for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Room {
    /// The bytes in flight are within the bound.
    Within,
    /// They are not, but none of them are on their way to the file: no room comes before more is handed over.
    Beyond,
    /// None, until some of them are in the file.
    None,
}

/// The number of a ticket, and of one of its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TaskId {
    pub(super) ticket: u64,
    pub(super) task: usize,
}

/// The state of a ticket that was not placed as a whole yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct OpenTicket<P> {
    is_submitted: bool,
    /// True if there is nothing to place.
    is_passed_over: bool,
    n_tasks_left: usize,
    place: Option<P>,
    /// Its share of the bytes in flight.
    n_bytes: u64,
    /// For each task what it made, once it is done.
    made: Vec<Option<u64>>,
    /// The results of so many of its tasks are placed.
    n_placed: usize,
    /// Bytes that its tasks made and that are not placed.
    made_bytes: u64,
}

/// Results that can be placed now: those of so many tasks of the first ticket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Ready<P> {
    pub(super) place: Option<P>,
    pub(super) n_tasks: usize,
    pub(super) is_last: bool,
}

/// All that a queue knows. `T`: a task, `P`: how results are placed, `E`: what stopped it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct QueueState<T, P, E> {
    /// Tickets that are not placed as a whole, in their order; the number of the first one is `first`.
    open: VecDeque<OpenTicket<P>>,
    first: u64,
    tasks: VecDeque<(TaskId, T)>,
    is_placing: bool,
    pub(super) is_ended: bool,
    pub(super) error: Option<E>,
    pub(super) report: QueueReport,
    pub(super) growth: Growth,
}

impl<T, P, E> Default for QueueState<T, P, E> {
    fn default() -> Self {
        QueueState {
            open: VecDeque::new(),
            first: 0,
            tasks: VecDeque::new(),
            is_placing: false,
            is_ended: false,
            error: None,
            report: QueueReport::default(),
            growth: Growth::default(),
        }
    }
}

impl<T, P, E> QueueState<T, P, E> {
    /// True if no ticket is out.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && !self.is_placing
    }

    /// True if no task waits to be begun.
    pub(super) fn has_no_tasks(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Number of tasks that wait to be begun.
    pub(super) fn n_tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Number of tickets that were ever given out.
    pub(super) fn n_given(&self) -> u64 {
        self.first + self.open.len() as u64
    }

    /// Number of tickets whose turn is over: all before that one.
    pub(super) fn n_done(&self) -> u64 {
        self.first
    }

    /// Number of tickets that are out.
    pub(super) fn n_tickets(&self) -> usize {
        self.open.len()
    }

    /// The room for so many more bytes.
    pub(super) fn room(&self, more_bytes: u64, limit: u64) -> Room {
        if self.report.bytes.saturating_add(more_bytes) <= limit {
            Room::Within
        } else if self.is_empty() {
            Room::Beyond
        } else {
            Room::None
        }
    }

    /// True if so many more bytes are within the limit. Where nothing is in flight that could make room, there always is room.
    pub(super) fn has_room(&self, more_bytes: u64, limit: u64) -> bool {
        self.room(more_bytes, limit) != Room::None
    }

    pub(super) fn add(&mut self, n_bytes: u64) {
        self.report.bytes += n_bytes;
        self.report.peak_bytes = self.report.peak_bytes.max(self.report.bytes);
    }

    /// Takes the next place in the order, for something that takes so many bytes until its tasks are done.
    pub(super) fn ticket(&mut self, n_bytes: u64) -> u64 {
        self.open.push_back(OpenTicket {
            is_submitted: false,
            is_passed_over: false,
            n_tasks_left: 0,
            place: None,
            n_bytes,
            made: Vec::new(),
            n_placed: 0,
            made_bytes: 0,
        });
        self.n_given() - 1
    }

    /// Takes the tasks of a ticket; none, and no `place`, for one that is passed over. After an error they are given back.
    pub(super) fn submit(&mut self, number: u64, tasks: Vec<T>, place: Option<P>) -> Option<(Vec<T>, Option<P>)> {
        if self.error.is_some() {
            return Some((tasks, place));
        }
        if let Some(ticket) = self.open_ticket(number) {
            (ticket.is_submitted, ticket.is_passed_over) = (true, place.is_none());
            ticket.n_tasks_left = tasks.len();
            ticket.place = place;
            ticket.made = vec![None; tasks.len()];
        }
        self.settle(number);
        let id = |task: usize| TaskId { ticket: number, task };
        self.tasks.extend(tasks.into_iter().enumerate().map(|(place, task)| (id(place), task)));
        None
    }

    /// Takes the task that has waited longest.
    pub(super) fn take_task(&mut self) -> Option<(TaskId, T)> {
        self.tasks.pop_front()
    }

    fn open_ticket(&mut self, number: u64) -> Option<&mut OpenTicket<P>> {
        self.open.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// One of a ticket's tasks is done: the last one lets go of what they were made of. Returns true if there is more room.
    pub(super) fn done(&mut self, id: TaskId, made_bytes: u64) -> bool {
        let before = self.report.bytes;
        let Some(ticket) = self.open_ticket(id.ticket) else { return false };
        if let Some(made) = ticket.made.get_mut(id.task) {
            *made = Some(made_bytes);
        }
        ticket.n_tasks_left = ticket.n_tasks_left.saturating_sub(1);
        ticket.made_bytes += made_bytes;
        self.settle(id.ticket);
        self.report.bytes < before
    }

    /// Once all tasks of a ticket are done, its share is what they made and is not placed.
    fn settle(&mut self, number: u64) {
        let Some(ticket) = self.open_ticket(number).filter(|ticket| ticket.n_tasks_left == 0) else { return };
        let (before, now) = (ticket.n_bytes, ticket.made_bytes);
        ticket.n_bytes = now;
        self.report.bytes -= before;
        self.add(now);
    }

    /// Takes the results that can be placed next. Its caller places them, and says so by [`QueueState::placed`].
    pub(super) fn next_ready(&mut self) -> Option<Ready<P>> {
        if self.is_placing || self.error.is_some() {
            return None;
        }
        let ticket = self.open.front_mut().filter(|ticket| ticket.is_submitted)?;
        let n_tasks = ticket.made[ticket.n_placed..].iter().take_while(|made| made.is_some()).count();
        let is_last = ticket.n_placed + n_tasks == ticket.made.len();
        if n_tasks == 0 && !is_last {
            return None;
        }
        self.is_placing = true;
        Some(Ready { place: ticket.place.take(), n_tasks, is_last })
    }

    /// Notes that results which were ready are placed. Returns true if that may be what somebody waits for: there is more room, or
    /// a ticket is placed as a whole.
    pub(super) fn placed(&mut self, Ready { place, n_tasks, is_last }: Ready<P>) -> bool {
        let before = self.report.bytes;
        self.is_placing = false;
        let number = self.first;
        if let Some(ticket) = self.open.front_mut() {
            let placed = ticket.made.iter().skip(ticket.n_placed).take(n_tasks);
            ticket.made_bytes -= placed.copied().flatten().sum::<u64>();
            ticket.n_placed += n_tasks;
            ticket.place = place;
        }
        self.settle(number);
        if is_last {
            self.first += 1;
            let is_passed_over = self.open.pop_front().is_none_or(|ticket| ticket.is_passed_over);
            self.report.n_placed += u64::from(!is_passed_over);
        }
        is_last || self.report.bytes < before
    }

    /// Stops it for good. Gives what was waiting, for the caller to drop where nobody waits for that.
    pub(super) fn fail(&mut self, error: E) -> (VecDeque<(TaskId, T)>, Vec<Option<P>>) {
        self.error.get_or_insert(error);
        let places = self.open.iter_mut().map(|ticket| ticket.place.take()).collect();
        (std::mem::take(&mut self.tasks), places)
    }

    /// Ends it: gives the tasks that nobody has begun.
    pub(super) fn end(&mut self) -> VecDeque<(TaskId, T)> {
        self.is_ended = true;
        std::mem::take(&mut self.tasks)
    }
}

#[cfg(test)]
mod tests;
