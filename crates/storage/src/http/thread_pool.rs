//! Threads that are kept a while for the next work.
//!
//! Hundreds of small requests are made by some tens of threads, which are needed for some milliseconds, window after window. New
//! threads, with what their stacks cost, were an eighth of the CPU time of a reading of 430 ranges.

#![expect(unsafe_code, reason = "work that borrows is done by threads that outlive what it borrows")]

use std::any::Any;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A thread without work ends after this.
const MAX_IDLE: Duration = Duration::from_secs(5);
/// The system keeps stacks of ended threads for new ones, 40 MB of them; with the default size that is 20.
const STACK_BYTES: usize = 512 << 10;

type Task = Box<dyn FnOnce() + Send>;

/// Threads, as many as there was work for at one time.
#[derive(Default)]
pub(super) struct ThreadPool {
    state: Mutex<PoolState>,
    called: Condvar,
}

#[derive(Default)]
struct PoolState {
    /// For threads that have been called: there is one waiting for each.
    tasks: VecDeque<Task>,
    /// Threads that wait and were not called.
    n_idle: usize,
}

/// Where work is handed out that borrows from whoever made the scope.
///
/// `'scope` is how long it lasts, `'env` how long what it may borrow lives: as those of [`std::thread::Scope`].
pub(super) struct Scope<'scope, 'env: 'scope> {
    pool: &'scope Arc<ThreadPool>,
    progress: Arc<Progress>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// How far the work of a scope is.
#[derive(Default)]
struct Progress {
    state: Mutex<Unfinished>,
    done: Condvar,
}

#[derive(Default)]
struct Unfinished {
    n_tasks: usize,
    panic: Option<Box<dyn Any + Send>>,
}

impl ThreadPool {
    /// Runs `body`, and returns when it and all work that was handed out in the scope are done.
    ///
    /// # Panics
    /// With the first panic of a share of work, as if it had been in `body`.
    pub(super) fn scope<'env, T>(
        self: &'env Arc<Self>,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        let scope = Scope { pool: self, progress: Arc::default(), scope: PhantomData, env: PhantomData };
        // Nothing may leave here before the work has ended, a panic least of all.
        let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        let panic = scope.progress.wait();
        match (result, panic) {
            (Ok(result), None) => result,
            (Err(panic), _) | (_, Some(panic)) => resume_unwind(panic),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a task to a thread that waits, or to a new one. Without one the task is dropped.
    fn give(self: &Arc<Self>, task: Task) {
        let mut state = self.lock();
        if state.n_idle > 0 {
            state.n_idle -= 1;
            state.tasks.push_back(task);
            drop(state);
            self.called.notify_one();
            return;
        }
        drop(state);
        let pool = Arc::clone(self);
        let builder = std::thread::Builder::new().name("arrowroot-http".to_owned()).stack_size(STACK_BYTES);
        let _ = builder.spawn(move || {
            let mut next = Some(task);
            while let Some(task) = next {
                task();
                next = pool.next();
            }
        });
    }

    /// Waits for a task; none comes for long: none.
    fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        if let Some(task) = state.tasks.pop_front() {
            // Who was called for it will find nothing.
            state.n_idle += 1;
            return Some(task);
        }
        state.n_idle += 1;
        loop {
            let (woken, waited) = self.called.wait_timeout(state, MAX_IDLE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if let Some(task) = state.tasks.pop_front() {
                return Some(task);
            }
            // One that was called for what another one took is idle again, and counted.
            if waited.timed_out() {
                state.n_idle -= 1;
                return None;
            }
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Lets another thread do a share of work. Where no thread can be had it is dropped undone.
    pub(super) fn spawn(&'scope self, work: impl FnOnce() + Send + 'scope) {
        let share = Share { work, running: Running::new(&self.progress) };
        let task: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || share.run());
        // SAFETY: what differs is how long what it borrows must live. `ThreadPool::scope` does not return while `running` is there,
        // and nothing of `work` is left when that is dropped, whether it ran, panicked or was never run.
        self.pool.give(unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Task>(task) });
    }
}

/// A share of work. The order of its fields matters: the work is dropped before the scope is told.
struct Share<W> {
    work: W,
    running: Running,
}

impl<W: FnOnce()> Share<W> {
    fn run(self) {
        let Share { work, mut running } = self;
        running.panic = catch_unwind(AssertUnwindSafe(work)).err();
    }
}

/// One of the tasks that a scope waits for, until it is dropped.
struct Running {
    progress: Arc<Progress>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Running {
    fn new(progress: &Arc<Progress>) -> Running {
        progress.lock().n_tasks += 1;
        Running { progress: Arc::clone(progress), panic: None }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut unfinished = self.progress.lock();
        unfinished.n_tasks -= 1;
        if let Some(panic) = self.panic.take() {
            unfinished.panic.get_or_insert(panic);
        }
        if unfinished.n_tasks == 0 {
            self.progress.done.notify_one();
        }
    }
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Unfinished> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is left to do. Returns what the first panic said.
    fn wait(&self) -> Option<Box<dyn Any + Send>> {
        let mut unfinished = self.lock();
        while unfinished.n_tasks > 0 {
            unfinished = self.done.wait(unfinished).unwrap_or_else(PoisonError::into_inner);
        }
        unfinished.panic.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::thread::ThreadId;

    #[test]
    fn what_is_borrowed_is_written_when_the_scope_has_ended() {
        let pool = Arc::<ThreadPool>::default();
        for n in 0..200 {
            let mut numbers = vec![0; n];
            pool.scope(|scope| {
                for (index, number) in numbers.iter_mut().enumerate() {
                    scope.spawn(move || {
                        std::thread::yield_now();
                        *number = index + 1;
                    });
                }
            });
            assert_eq!(numbers, (1..=n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn work_hands_out_more_work() {
        fn split<'scope>(scope: &'scope Scope<'scope, '_>, n: usize, sum: &'scope AtomicUsize) {
            sum.fetch_add(1, Relaxed);
            for part in [n / 2, n - n / 2].into_iter().filter(|part| *part < n && *part > 0) {
                scope.spawn(move || split(scope, part, sum));
            }
        }
        let (pool, sum) = (Arc::<ThreadPool>::default(), AtomicUsize::new(0));
        pool.scope(|scope| split(scope, 500, &sum));
        assert_eq!(sum.load(Relaxed), 999, "nodes of a binary tree of 500 leaves");
    }

    #[test]
    fn threads_are_used_again() {
        let (pool, seen) = (Arc::<ThreadPool>::default(), Mutex::new(HashSet::<ThreadId>::new()));
        for _ in 0..100 {
            let note = || _ = seen.lock().unwrap().insert(std::thread::current().id());
            pool.scope(|scope| scope.spawn(note));
        }
        // One may be called again before it waits.
        let n_threads = seen.lock().unwrap().len();
        assert!(n_threads < 20, "{n_threads}");
    }

    #[test]
    fn as_many_threads_as_there_is_work_for_at_one_time() {
        let pool = Arc::<ThreadPool>::default();
        for _ in 0..3 {
            let barrier = std::sync::Barrier::new(40);
            pool.scope(|scope| (0..40).for_each(|_| scope.spawn(|| _ = barrier.wait())));
        }
    }

    #[test]
    fn scopes_of_several_threads_do_not_wait_for_each_other() {
        let (pool, barrier) = (Arc::<ThreadPool>::default(), std::sync::Barrier::new(8));
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| pool.scope(|scope| scope.spawn(|| _ = barrier.wait())));
            }
        });
    }

    #[test]
    fn a_panic_comes_when_all_other_work_is_done() {
        let pool = Arc::<ThreadPool>::default();
        for is_body in [false, true] {
            let n_done = AtomicUsize::new(0);
            let work = || {
                std::thread::sleep(Duration::from_millis(20));
                n_done.fetch_add(1, Relaxed);
            };
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.scope(|scope| {
                    (0..4).for_each(|_| scope.spawn(work));
                    if is_body {
                        panic!("told");
                    }
                    scope.spawn(|| panic!("told"));
                });
            }));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"told"));
            assert_eq!(n_done.load(Relaxed), 4);
        }
        let answered = pool.scope(|_| 7);
        assert_eq!(answered, 7, "its threads have survived");
    }

    #[test]
    fn what_is_dropped_undone_is_gone_before_the_scope_is_told() {
        struct Told<'t>(&'t Progress, &'t AtomicUsize);
        impl Drop for Told<'_> {
            fn drop(&mut self) {
                self.1.store(self.0.lock().n_tasks, Relaxed);
            }
        }
        let (progress, n_left) = (Arc::<Progress>::default(), AtomicUsize::new(0));
        let told = Told(&progress, &n_left);
        let share = Share { work: move || drop(told), running: Running::new(&progress) };
        let task: Box<dyn FnOnce() + Send> = Box::new(move || share.run());
        drop(task);
        assert_eq!((n_left.load(Relaxed), progress.lock().n_tasks), (1, 0));
    }
}
