//! Objects that several threads read and pack.

use std::sync::{Mutex, PoisonError};

use arrowroot::format::codec::{Compressor, Decompressor};

use super::layout::Layouts;
use crate::error::{Error, Result};

/// Another thread is worth its start from so many bytes on.
const BYTES_PER_THREAD: u64 = 64 << 10;

/// The state of one thread.
#[derive(Default)]
pub struct Worker {
    pub(crate) decompressor: Decompressor,
    pub(crate) compressor: Compressor,
    pub(crate) layouts: Layouts,
}

/// Does work on items, on as many threads as there are workers and `n_bytes` are worth.
///
/// # Errors
/// The error of the first item that has one.
pub(crate) fn in_parallel<T: Send>(
    workers: &mut [Worker],
    items: Vec<T>,
    n_bytes: u64,
    work: impl Fn(&mut Worker, T) -> Result<()> + Sync,
) -> Result<()> {
    let Some((own, others)) = workers.split_first_mut() else { return Ok(()) };
    let n_others = items.len().saturating_sub(1).min(usize::try_from(n_bytes / BYTES_PER_THREAD).unwrap_or(usize::MAX));
    let waiting = Mutex::new(items.into_iter().enumerate());
    let take = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = |worker: &mut Worker| -> Option<(usize, Error)> {
        std::iter::from_fn(take).find_map(|(number, item)| work(worker, item).err().map(|error| (number, error)))
    };
    let run = &run;
    let first = std::thread::scope(|scope| {
        let thread = |worker| {
            let name = "arrowroot-merge".to_owned();
            // Where the system gives no thread, the others do more.
            std::thread::Builder::new().name(name).spawn_scoped(scope, move || run(worker)).ok()
        };
        let threads: Vec<_> = others.iter_mut().take(n_others).filter_map(thread).collect();
        let own = run(own);
        let joined = threads.into_iter().filter_map(|thread| match thread.join() {
            Ok(failed) => failed,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        own.into_iter().chain(joined).min_by_key(|(number, _)| *number)
    });
    first.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn workers(number: usize) -> Vec<Worker> {
        (0..number).map(|_| Worker::default()).collect()
    }

    #[test]
    fn every_item_is_done_once_by_any_number_of_threads() {
        for n_workers in [1, 4] {
            for n_bytes in [0, u64::MAX] {
                let mut done = [const { AtomicUsize::new(0) }; 300];
                let items = done.iter().collect();
                let count = |_: &mut Worker, item: &AtomicUsize| {
                    item.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                };
                in_parallel(&mut workers(n_workers), items, n_bytes, count).unwrap();
                assert!(done.iter_mut().all(|count| *count.get_mut() == 1));
            }
        }
    }

    #[test]
    fn the_error_is_that_of_the_first_item_that_has_one() {
        let fail = |_: &mut Worker, item: i32| match item {
            0..40 => Ok(()),
            _ => Err(Error::InvalidRequest { what: item.to_string() }),
        };
        let error = in_parallel(&mut workers(4), (0..300).collect(), u64::MAX, fail).unwrap_err();
        assert_eq!(error.to_string(), "40");
    }
}
