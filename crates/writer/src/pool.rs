//! The threads that compress.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Threads of one writer, started when there is something to do.
///
/// A child of the process that started them has none of them: there they are not waited for.
#[derive(Debug)]
pub(crate) struct Pool {
    n_threads: usize,
    /// `None` until they are started.
    threads: Mutex<Option<Vec<JoinHandle<()>>>>,
    process: u32,
}

impl Pool {
    /// So many threads, not started yet.
    pub(crate) fn new(n_threads: usize) -> Self {
        Pool { n_threads, threads: Mutex::default(), process: std::process::id() }
    }

    /// How many there are once they are started.
    pub(crate) fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// True if this is the process that made it, and not a child.
    pub(crate) fn is_own_process(&self) -> bool {
        std::process::id() == self.process
    }

    /// Starts what is not started. Returns how many there are: where the system gives fewer threads, those who produce do more.
    pub(crate) fn start<W: FnOnce() + Send + 'static>(&self, work: impl Fn() -> W) -> usize {
        if self.n_threads == 0 {
            return 0;
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = threads.get_or_insert_with(|| {
            let thread = |_| std::thread::Builder::new().name("arrowroot-compress".to_owned()).spawn(work());
            (0..self.n_threads).map_while(|number| thread(number).ok()).collect()
        });
        threads.len()
    }

    /// How many run.
    #[cfg(test)]
    pub(crate) fn n_started(&self) -> usize {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, Vec::len)
    }

    /// Waits until they have ended, which they must have been told to.
    pub(crate) fn join(&self) {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        let own = std::thread::current().id();
        // One of them may be the last that has the file.
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != own) {
            // What panicked in it was told by the task.
            let _ = thread.join();
        }
    }
}
