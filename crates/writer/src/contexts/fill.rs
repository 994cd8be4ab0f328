//! The filling of one batch, step by step.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::ThreadId;

use crate::error::{Error, Result};
use crate::pipeline::Submission;
use crate::queue::{Alarm, InLine, Manner, Patience, Pause, Room};
use crate::table::Slice;

use super::arrivals::Arrived;
use super::behind::But;
use super::stalls::Doing;
use super::{Checked, Collected, FillingState, Free, InUse, Inner, Offer, Order, Ordered, lock};

/// Entries on their way to a table. Dropped before its first step has taken some, nothing has happened.
#[must_use = "nothing is taken before its steps are done"]
pub struct Fill {
    inner: Arc<Inner>,
    /// The thread that it belongs to; another one may do its steps.
    thread: ThreadId,
    /// The slices not taken yet; the first one from the entry `start` on.
    values: VecDeque<Slice>,
    start: usize,
    n_entries: u64,
    n_bytes: u64,
    /// The number of the first entry, once it is known.
    first_entry: Option<u64>,
    has_begun: bool,
    /// True once its thread has waited.
    has_waited: bool,
    /// The buffer that waiting has brought.
    lent: Option<usize>,
}

/// The next thing to do.
pub enum Step {
    /// Nothing: all entries are taken.
    Done,
    /// There is no buffer, or no room in memory. Nothing was taken, unless the fill [has begun](Fill::has_begun).
    Full,
    /// This, which may take long, as it may compress. It must be done: others wait for it.
    Work(Work),
}

/// A part of a fill that may take long.
#[must_use = "others wait for it"]
pub struct Work {
    inner: Arc<Inner>,
    /// `None` once it is done.
    kind: Option<Kind>,
}

enum Kind {
    /// A buffer is full.
    Submit(Box<Submission>),
    /// The entries are next.
    Take(Vec<Slice>, u64),
    /// Entries that others left are next.
    TakeKept,
}

impl Work {
    /// Does it.
    ///
    /// # Errors
    /// The error that stopped the file.
    pub fn complete(mut self) -> Result<()> {
        let filling = &self.inner.filling;
        let _guard = StopOnPanic(Arc::clone(&self.inner));
        let record = &self.inner.record;
        let mut has_waited = false;
        let mut note = |pause| {
            has_waited = true;
            record.mark(doing_in(pause));
        };
        let mut manner = Manner { helps: filling.settings.helps, note: Some(&mut note) };
        let done = match self.kind.take() {
            Some(Kind::Submit(submission)) => submission.submit(),
            Some(Kind::Take(slices, n_entries)) => {
                filling.take_in_order(slices, n_entries, filling.n_open(), &mut manner)
            }
            Some(Kind::TakeKept) => filling.take_kept(filling.n_open(), &mut manner),
            None => Ok(()),
        };
        record.mark(Doing::Writing);
        if has_waited {
            record.waited();
        }
        done.inspect_err(|error| filling.stop(error))
    }
}

/// The doing that a pause ends.
fn doing_in(pause: Pause) -> Doing {
    match pause {
        Pause::Begun => Doing::Writing,
        Pause::Slept => Doing::Stalled,
        Pause::Helped => Doing::Helping,
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.kind.is_some() {
            self.inner.waker.wake_after(|| {
                self.inner.give_up();
                false
            });
        }
    }
}

impl Inner {
    /// Stops the file, as some of a fill is lost.
    pub(super) fn give_up(&self) {
        let what = format!("table {:?}: a fill was given up half way", self.filling.columns.table);
        self.filling.stop(&Error::InvalidRequest { what });
    }
}

impl Fill {
    pub(super) fn new(inner: Arc<Inner>, thread: ThreadId, checked: Checked) -> Self {
        let Checked { values, n_entries, first_entry } = checked;
        let n_bytes = values.iter().map(Slice::held_bytes).sum();
        Fill {
            inner,
            thread,
            values,
            start: 0,
            n_entries,
            n_bytes,
            first_entry,
            has_begun: false,
            has_waited: false,
            lent: None,
        }
    }

    /// True if some of its entries were taken. It must be completed then, or the file is given up.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Takes all entries, and waits where it must.
    ///
    /// # Errors
    /// As [`FillContext::fill`](super::FillContext::fill).
    pub fn complete(mut self) -> Result<()> {
        loop {
            match self.advance()? {
                Step::Done => return Ok(()),
                Step::Full => {
                    self.wait(&AtomicBool::new(false))?;
                }
                Step::Work(work) => work.complete()?,
            }
        }
    }

    /// Takes entries as far as that needs no waiting.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if an entry was taken before; then nothing is taken. Any other error stops the file.
    pub fn advance(&mut self) -> Result<Step> {
        self.inner.filling.file.queue().check()?;
        let _guard = StopOnPanic(Arc::clone(&self.inner));
        let step = if self.values.is_empty() {
            Step::Done
        } else if self.inner.filling.settings.order == Order::Free {
            self.take_free()?
        } else {
            self.take_ordered()?
        };
        self.inner.record.mark(Doing::Writing);
        if matches!(step, Step::Done) {
            self.inner.record.filled(self.n_entries);
            self.inner.filling.n_entries.fetch_add(self.n_entries, Relaxed);
        }
        Ok(step)
    }

    /// Waits until there may be a buffer, or room, after [`Step::Full`]. Returns false if `is_cancelled` was set before, which
    /// [`FillContext::wake`](super::FillContext::wake) must follow.
    ///
    /// # Errors
    /// The error that stopped the file.
    pub fn wait(&mut self, is_cancelled: &AtomicBool) -> Result<bool> {
        self.has_waited = true;
        let Fill { inner, thread, has_begun, first_entry, n_entries, n_bytes, lent, .. } = self;
        let (filling, record) = (&inner.filling, &inner.record);
        let queue = filling.file.queue();
        queue.check()?;
        let mut note = |pause| record.mark(doing_in(pause));
        let helps = filling.settings.helps;
        let patience = Patience { helps, is_cancelled, note: Some(&mut note), line: None };
        let found = if filling.settings.order != Order::Free && queue.room() == Room::None {
            // Those who compress make it, and not other producers.
            queue.wait_for(patience, |room| (room != Room::None).then_some(())).map(|found| found.is_some())
        } else if filling.settings.order != Order::Free {
            let number = first_entry.unwrap_or(u64::MAX);
            if let FillingState::Ordered(ordered) = &mut *filling.lock() {
                ordered.arrivals.wait(number);
            }
            filling.file.behind().begin(inner.number, *thread);
            // Another one may be let in now.
            queue.wake();
            let found = queue.wait_for(patience, |_| match &*filling.lock() {
                FillingState::Ordered(Ordered { arrivals }) => {
                    let first = first_entry.unwrap_or(arrivals.end());
                    let verdict = arrivals.verdict(first, *n_entries, *n_bytes, filling.n_running(None));
                    (verdict != Offer::Full).then_some(())
                }
                FillingState::Free(_) => Some(()),
            });
            filling.file.behind().end(inner.number, *thread);
            if let FillingState::Ordered(ordered) = &mut *filling.lock() {
                ordered.arrivals.leave(number);
            }
            found.map(|found| found.is_some())
        } else {
            let alarm = Alarm::new(helps);
            let waiter = match &mut *filling.lock() {
                FillingState::Free(free) => {
                    let waiter = free.buffers.queue_up(*has_begun);
                    free.alarms.insert(waiter, alarm.clone());
                    waiter
                }
                FillingState::Ordered(_) => return Ok(true),
            };
            let is_first = || match &*filling.lock() {
                FillingState::Free(free) => free.buffers.first_in_line() == Some(waiter),
                FillingState::Ordered(_) => true,
            };
            let patience = Patience { line: Some(InLine { alarm, is_first: &is_first }), ..patience };
            let found = queue.wait_for(patience, |room| match &mut *filling.lock() {
                FillingState::Free(free) => free.buffers.lend(Some(waiter), room),
                FillingState::Ordered(_) => None,
            });
            // Whoever is next in line looks again.
            let next = match &mut *filling.lock() {
                FillingState::Free(free) => {
                    free.alarms.remove(&waiter);
                    free.buffers.leave(waiter).and_then(|next| free.alarms.get(&next).cloned())
                }
                FillingState::Ordered(_) => None,
            };
            if let Some(next) = next {
                queue.ring(&next);
            }
            found.map(|found| {
                *lent = found;
                found.is_some()
            })
        };
        record.waited();
        found
    }

    /// Takes entries into a buffer, up to its end.
    fn take_free(&mut self) -> Result<Step> {
        let filling = &self.inner.filling;
        let room = filling.file.queue().room();
        let (number, collected) = match &mut *filling.lock() {
            FillingState::Free(Free { buffers, collected, .. }) => {
                let Some(number) = self.lent.take().or_else(|| buffers.lend(None, room)) else {
                    return Ok(Step::Full);
                };
                (number, collected[number].take())
            }
            FillingState::Ordered(_) => return Ok(Step::Full),
        };
        let mut collected = collected.unwrap_or_else(|| {
            let mut pipeline = lock(&filling.pipeline);
            let widening = 1 << filling.file.queue().n_growths().min(2);
            let (cutter, border) = (pipeline.cutter(), pipeline.next_border(widening));
            Collected { cutter, border, producer: filling.file.queue().producer() }
        });
        self.has_begun = true;
        let mut is_end = false;
        while let Some(slice) = self.values.front_mut().filter(|_| !is_end) {
            let n_slice = slice.n_entries;
            let stored = slice.stored(&filling.columns).inspect_err(|error| filling.stop(error))?;
            let (n_taken, is_cut) = collected.cutter.take(stored, self.start..n_slice, collected.border);
            self.start += n_taken;
            is_end = is_cut;
            if self.start >= n_slice {
                self.start = 0;
                self.values.pop_front();
            }
        }
        collected.producer.count(collected.cutter.held_bytes());
        if is_end {
            if let FillingState::Free(free) = &mut *filling.lock() {
                free.buffers.end(number);
            }
            let waker = filling.file.queue().waker();
            let held = Arc::new(InUse { filling: Arc::downgrade(filling), waker, number });
            let Collected { cutter, producer, .. } = collected;
            let submission = lock(&filling.pipeline).cut(cutter, producer, held);
            let submission = submission.inspect_err(|error| filling.stop(error))?;
            let kind = Some(Kind::Submit(Box::new(submission)));
            return Ok(Step::Work(Work { inner: Arc::clone(&self.inner), kind }));
        }
        let n_bytes = collected.cutter.n_bytes();
        let is_awaited = match &mut *filling.lock() {
            FillingState::Free(free) => {
                free.collected[number] = Some(collected);
                free.buffers.give_back(number, n_bytes)
            }
            FillingState::Ordered(_) => false,
        };
        if is_awaited {
            filling.file.queue().wake();
        }
        Ok(Step::Done)
    }

    /// Hands the entries over, to be taken when it is their turn: at once, if it is.
    fn take_ordered(&mut self) -> Result<Step> {
        let filling = &self.inner.filling;
        let queue = filling.file.queue();
        if queue.room() == Room::None {
            return Ok(Step::Full);
        }
        // Before it is kept, as whoever takes it from there counts it no longer.
        queue.count(self.n_bytes);
        // A thread that waits for this fill does no other one before.
        let but = But { context: self.inner.number, thread: self.has_waited.then_some(self.thread) };
        let n_others = filling.n_running(Some(but));
        let offer = match &mut *filling.lock() {
            FillingState::Ordered(Ordered { arrivals }) => {
                let first = self.first_entry.unwrap_or(arrivals.end());
                let offer = arrivals.offer(first, self.n_entries, self.n_bytes, n_others);
                if offer == Offer::Keep {
                    let values = self.values.drain(..).collect();
                    arrivals.keep(first, Arrived { n_entries: self.n_entries, n_bytes: self.n_bytes, values });
                }
                offer
            }
            FillingState::Free(_) => Offer::Full,
        };
        if offer == Offer::Keep {
            // Whoever waits may be let in now.
            queue.wake();
            return Ok(Step::Done);
        }
        queue.let_go(self.n_bytes);
        let kind = match offer {
            Offer::Next => {
                self.has_begun = true;
                Kind::Take(self.values.drain(..).collect(), self.n_entries)
            }
            Offer::Take => Kind::TakeKept,
            Offer::Keep | Offer::Full => return Ok(Step::Full),
            Offer::Twice(entry) => {
                let what = format!("table {:?}: entry {entry} was filled before", filling.columns.table);
                return Err(Error::InvalidRequest { what });
            }
        };
        Ok(Step::Work(Work { inner: Arc::clone(&self.inner), kind: Some(kind) }))
    }
}

impl Drop for Fill {
    fn drop(&mut self) {
        let filling = &self.inner.filling;
        // A buffer that waiting has brought is for others.
        if let Some(number) = self.lent.take() {
            self.inner.waker.wake_after(|| match &mut *filling.lock() {
                FillingState::Free(free) => {
                    let n_bytes = free.collected[number].as_ref().map_or(0, |collected| collected.cutter.n_bytes());
                    free.buffers.give_back(number, n_bytes)
                }
                FillingState::Ordered(_) => false,
            });
        }
        if self.has_begun && !self.values.is_empty() {
            self.inner.waker.wake_after(|| {
                self.inner.give_up();
                false
            });
        }
        // Whoever closes the table may wait for it.
        self.inner.waker.wake_after(|| filling.note(self.inner.number, |context| context.n_fills -= 1));
    }
}

/// Stops the file if a panic is on its way: a buffer may be lost with it, which others would wait for.
struct StopOnPanic(Arc<Inner>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.filling.stop(&Error::Panicked { what: "filling a table".to_owned() });
        }
    }
}
