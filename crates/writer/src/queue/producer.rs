//! Somebody who produces, and places in the order.

use std::fmt;
use std::sync::Arc;

use super::waiting::Manner;
use super::{Place, Shared, Task, TaskQueueState};
use crate::error::Result;

/// Somebody who has things written in an order.
pub struct Producer {
    shared: Arc<Shared>,
    held_bytes: u64,
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("held_bytes", &self.held_bytes).finish_non_exhaustive()
    }
}

/// A place in the order. Dropped without being submitted, it is passed over.
#[must_use = "others wait for it"]
pub struct Ticket {
    shared: Arc<Shared>,
    number: u64,
    is_submitted: bool,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Producer {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Producer { shared: Arc::clone(shared), held_bytes: 0 }
    }

    /// Counts the bytes that it has collected for its next ticket among those in flight, and waits until there is room for them.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn hold(&mut self, held_bytes: u64) -> Result<()> {
        self.hold_as(held_bytes, &mut Manner::helping())
    }

    /// The same, waiting in this manner.
    pub(crate) fn hold_as(&mut self, held_bytes: u64, manner: &mut Manner<'_>) -> Result<()> {
        self.count(held_bytes);
        self.shared.wait_for_room(0, manner)
    }

    /// Counts what it collects as so many bytes, without waiting.
    pub(crate) fn count(&mut self, held_bytes: u64) {
        let mut state = self.shared.lock();
        state.report.bytes -= self.held_bytes;
        state.add(held_bytes);
        self.held_bytes = held_bytes;
    }

    /// Takes the next place in the order, for what it holds. Waits until there is room for what will become of that, which is
    /// taken to be as much again until it is known.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn ticket(&mut self) -> Result<Ticket> {
        self.ticket_as(&mut Manner::helping())
    }

    /// The same, waiting in this manner.
    pub(crate) fn ticket_as(&mut self, manner: &mut Manner<'_>) -> Result<Ticket> {
        self.shared.wait_for_room(self.held_bytes, manner)?;
        Ok(self.next_ticket())
    }

    /// As [`Producer::ticket`], without waiting.
    pub(crate) fn next_ticket(&mut self) -> Ticket {
        let mut state = self.shared.lock();
        state.add(self.held_bytes);
        let n_bytes = std::mem::take(&mut self.held_bytes) * 2;
        let number = state.ticket(n_bytes);
        Ticket::new(&self.shared, number)
    }

    /// Waits until a ticket is placed, and does tasks meanwhile.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn wait_for(&self, number: u64) -> Result<()> {
        self.wait_for_as(number, &mut Manner::helping())
    }

    /// The same, waiting in this manner.
    pub(crate) fn wait_for_as(&self, number: u64, manner: &mut Manner<'_>) -> Result<()> {
        self.shared.wait_as(manner, |state| state.n_done() > number)
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        if self.held_bytes > 0 && self.shared.pool.is_own_process() {
            self.shared.lock().report.bytes -= self.held_bytes;
            self.shared.tell_of_change();
        }
    }
}

impl Ticket {
    pub(super) fn new(shared: &Arc<Shared>, number: u64) -> Self {
        Ticket { shared: Arc::clone(shared), number, is_submitted: false }
    }

    /// Its place in the order.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Hands over the tasks, and what to do once they are done and its turn has come. Where there are no threads, the tasks are
    /// done now.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn submit(mut self, tasks: Vec<Task>, place: Place) -> Result<()> {
        self.is_submitted = true;
        let shared = Arc::clone(&self.shared);
        shared.submit(self.number, tasks, Some(place));
        let n_threads = shared.pool.start(|| {
            let shared = Arc::clone(&shared);
            move || shared.work()
        });
        if n_threads == 0 {
            return shared.help_until(TaskQueueState::has_no_tasks);
        }
        Ok(())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_submitted && self.shared.pool.is_own_process() {
            self.shared.submit(self.number, Vec::new(), None);
        }
    }
}
