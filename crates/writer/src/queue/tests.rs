use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::*;
use proptest::prelude::*;

fn queue(n_threads: usize, buffer_bytes: u64) -> Queue {
    Queue::new(QueueSettings { n_threads, buffer_bytes })
}

fn nothing() -> Place {
    Box::new(|_, _| Ok(()))
}

fn making(n_bytes: u64) -> Task {
    Box::new(move |_| Ok(n_bytes))
}

fn failing(what: &str) -> Error {
    Error::InvalidRequest { what: what.to_owned() }
}

proptest! {
    #[test]
    fn tickets_are_placed_in_their_order_once_their_tasks_are_done(
        n_threads in 0_usize..5,
        buffer_bytes in 0_u64..400,
        tickets in prop::collection::vec((prop::collection::vec(0_u64..50, 0..6), 0_u64..100, any::<bool>()), 1..40),
    ) {
        let queue = queue(n_threads, buffer_bytes);
        let mut producer = queue.producer();
        let placed = Arc::new(Mutex::new(Vec::new()));
        let mut expected = Vec::new();
        for (number, (tasks, held, is_submitted)) in tasks_of(tickets) {
            producer.hold(held).unwrap();
            let ticket = producer.ticket().unwrap();
            prop_assert_eq!(ticket.number(), number);
            if !is_submitted {
                continue;
            }
            expected.push((number, tasks.len()));
            let n_done = Arc::new(AtomicUsize::new(0));
            let placed = Arc::clone(&placed);
            let count = Arc::clone(&n_done);
            let mut n_placed = 0;
            let place = Box::new(move |n_tasks: usize, is_last: bool| {
                n_placed += n_tasks;
                // Nothing is placed before it is made.
                assert!(n_placed <= count.load(Relaxed));
                if is_last {
                    placed.lock().unwrap().push((number, n_placed));
                }
                Ok(())
            });
            let task = |n_bytes: u64| {
                let n_done = Arc::clone(&n_done);
                let task: Task = Box::new(move |_| {
                    n_done.fetch_add(1, Relaxed);
                    Ok(n_bytes)
                });
                task
            };
            ticket.submit(tasks.into_iter().map(task).collect(), place).unwrap();
        }
        queue.wait().unwrap();
        prop_assert_eq!(&*placed.lock().unwrap(), &expected);
        prop_assert_eq!(queue.report().bytes, 0);
    }
}

type Tickets = Vec<(Vec<u64>, u64, bool)>;

fn tasks_of(tickets: Tickets) -> impl Iterator<Item = (u64, (Vec<u64>, u64, bool))> {
    (0_u64..).zip(tickets)
}

/// The largest sum of what is alive at one time: what is collected, waits, and was made.
struct Alive {
    bytes: AtomicU64,
    peak: AtomicU64,
}

static ALIVE: Alive = Alive { bytes: AtomicU64::new(0), peak: AtomicU64::new(0) };

struct HeldBytes(u64);

impl HeldBytes {
    fn new(n_bytes: u64) -> HeldBytes {
        let bytes = ALIVE.bytes.fetch_add(n_bytes, Relaxed) + n_bytes;
        ALIVE.peak.fetch_max(bytes, Relaxed);
        HeldBytes(n_bytes)
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        ALIVE.bytes.fetch_sub(self.0, Relaxed);
    }
}

#[test]
fn what_is_in_flight_stays_within_the_buffer() {
    for n_threads in [0, 1, 2, 8] {
        ALIVE.peak.store(0, Relaxed);
        let queue = queue(n_threads, 1000);
        let mut producer = queue.producer();
        for number in 0..200_u64 {
            let held = 20 + number * 7 % 200;
            // What is collected is there before it is counted.
            let cluster = Arc::new(HeldBytes::new(held));
            producer.hold(held).unwrap();
            let ticket = producer.ticket().unwrap();
            let made: Vec<_> = (0..4).map(|_| Arc::new(Mutex::new(None))).collect();
            let tasks = made.iter().map(|made| {
                let (cluster, made) = (Arc::clone(&cluster), Arc::clone(made));
                let task: Task = Box::new(move |_| {
                    let n_bytes = cluster.0 / 4;
                    *made.lock().unwrap() = Some(HeldBytes::new(n_bytes));
                    Ok(n_bytes)
                });
                task
            });
            let tasks = tasks.collect();
            drop(cluster);
            let mut made = made.into_iter();
            ticket
                .submit(
                    tasks,
                    Box::new(move |n_tasks, _| {
                        made.by_ref().take(n_tasks).for_each(|made| drop(made.lock().unwrap().take().unwrap()));
                        Ok(())
                    }),
                )
                .unwrap();
        }
        queue.wait().unwrap();
        let report = queue.report();
        // The last that came may be there before it was waited for.
        assert!(ALIVE.peak.load(Relaxed) <= 1000 + 220, "{} with {n_threads} threads", ALIVE.peak.load(Relaxed));
        assert!(report.peak_bytes <= 1000 + 220, "{report:?}");
        assert!(n_threads < 2 || report.peak_bytes > 300, "{report:?}");
        assert_eq!((ALIVE.bytes.load(Relaxed), report.bytes, report.n_placed), (0, 0, 200));
    }
}

#[test]
fn what_a_task_made_is_placed_before_the_next_task_is_done_where_there_is_one_thread() {
    let queue = queue(1, 1000);
    let n_placed = Arc::new(AtomicUsize::new(0));
    let task = |number: usize| {
        let n_placed = Arc::clone(&n_placed);
        let task: Task = Box::new(move |_| {
            assert_eq!(n_placed.load(Relaxed), number);
            Ok(1)
        });
        task
    };
    let tasks = (0..5).map(task).collect();
    let count = Arc::clone(&n_placed);
    let place: Place = Box::new(move |n_tasks, is_last| {
        assert_eq!(is_last, count.fetch_add(n_tasks, Relaxed) == 4);
        Ok(())
    });
    queue.producer().ticket().unwrap().submit(tasks, place).unwrap();
    queue.wait().unwrap();
    assert_eq!((n_placed.load(Relaxed), queue.report().n_placed), (5, 1));
}

/// A task that says when it begins, and lasts until it is let go on.
fn lasting() -> (Task, Sender<()>, Receiver<()>) {
    let ((open, gate), (begin, begun)) = (channel(), channel());
    let task: Task = Box::new(move |_| {
        begin.send(()).unwrap();
        gate.recv_timeout(Duration::from_secs(600)).unwrap();
        Ok(0)
    });
    (task, open, begun)
}

#[test]
fn who_waits_for_what_was_queued_does_not_wait_for_what_comes_later() {
    let queue = queue(2, 1000);
    let mut producer = queue.producer();
    let [(first, end_first, first_begun), (second, end_second, second_begun), (later, end_later, later_begun)] =
        [lasting(), lasting(), lasting()];
    producer.ticket().unwrap().submit(vec![first], nothing()).unwrap();
    first_begun.recv().unwrap();
    producer.ticket().unwrap().submit(vec![second], nothing()).unwrap();
    std::thread::scope(|scope| {
        let (done, is_done) = channel();
        let queue = &queue;
        scope.spawn(move || done.send(queue.wait()).unwrap());
        // Only who waits can have begun this one, as the other thread is at the first. So it does not help with what comes later.
        second_begun.recv().unwrap();
        producer.ticket().unwrap().submit(vec![later], nothing()).unwrap();
        end_first.send(()).unwrap();
        later_begun.recv().unwrap();
        end_second.send(()).unwrap();
        let waited = is_done.recv_timeout(Duration::from_secs(60));
        end_later.send(()).unwrap();
        waited.expect("it waits for what came later").unwrap();
    });
    queue.wait().unwrap();
    assert_eq!(queue.report().n_placed, 3);
}

#[test]
fn a_ticket_larger_than_the_buffer_is_placed_alone() {
    for n_threads in [0, 1, 3] {
        let queue = queue(n_threads, 10);
        let mut producer = queue.producer();
        for _ in 0..5 {
            producer.hold(1000).unwrap();
            producer.ticket().unwrap().submit(vec![making(500)], nothing()).unwrap();
        }
        queue.wait().unwrap();
        assert_eq!(queue.report().n_placed, 5);
    }
}

#[test]
fn who_has_no_room_does_tasks() {
    // The only other thread is kept busy until the producer has done the second ticket's task.
    let queue = queue(2, 100);
    let (sender, receiver) = channel::<()>();
    let mut producer = queue.producer();
    producer.hold(20).unwrap();
    let busy: Task = Box::new(move |_| {
        receiver.recv_timeout(Duration::from_secs(600)).unwrap();
        Ok(0)
    });
    let (begun, has_begun) = channel();
    let first: Task = Box::new(move |compressor| {
        begun.send(()).unwrap();
        busy(compressor)
    });
    producer.ticket().unwrap().submit(vec![first], nothing()).unwrap();
    has_begun.recv().unwrap();
    producer.hold(20).unwrap();
    let own = std::thread::current().id();
    let second: Task = Box::new(move |_| {
        assert_eq!(std::thread::current().id(), own);
        sender.send(()).unwrap();
        Ok(0)
    });
    // There is room for both, each counted twice; but for nothing more.
    let ticket = producer.ticket().unwrap();
    let number = ticket.number();
    ticket.submit(vec![second], nothing()).unwrap();
    producer.hold(30).unwrap();
    producer.wait_for(number).unwrap();
    let report = queue.report();
    assert_eq!(report.n_placed, 2);
    assert!(report.n_waits >= 1 && report.longest_wait_ns <= report.wait_ns, "{report:?}");
}

#[test]
fn who_waits_is_not_woken_for_tasks_that_idle_threads_do() {
    let queue = queue(3, 1000);
    let shared = &queue.shared;
    let mut producer = queue.producer();
    // Nothing is placed before this one, so nothing changes that somebody waits for.
    let first = producer.ticket().unwrap();
    let (is_over, never, n_slept) = (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut note = |pause| {
                n_slept.fetch_add(usize::from(pause == Pause::Slept), Relaxed);
            };
            let patience = Patience { helps: true, is_cancelled: &never, note: Some(&mut note), line: None };
            queue.wait_for(patience, |_| is_over.load(Relaxed).then_some(()))
        });
        let mut submit_one = |n_done| {
            producer.ticket().unwrap().submit(vec![making(0)], nothing()).unwrap();
            let all_sleep = || (shared.n_idle.load(Relaxed), shared.n_asleep.load(Relaxed)) == (2, 1);
            while queue.report().n_tasks < n_done || !all_sleep() {
                std::thread::yield_now();
            }
            n_slept.load(Relaxed)
        };
        // The threads are started by the first.
        let n_before = submit_one(1);
        let n_slept = (2..12).map(submit_one).last();
        is_over.store(true, Relaxed);
        queue.wake();
        waiting.join().unwrap().unwrap();
        assert_eq!(n_slept, Some(n_before));
    });
    drop(first);
    queue.wait().unwrap();
}

#[test]
fn an_error_stops_everything_and_is_told_again() {
    for n_threads in [1, 2, 4] {
        for is_of_task in [true, false] {
            let queue = queue(n_threads, 1000);
            let mut producer = queue.producer();
            let n_placed = Arc::new(AtomicUsize::new(0));
            let mut error = None;
            for number in 0..1000 {
                let is_bad = number == 5;
                let task: Task = Box::new(move |_| if is_bad && is_of_task { Err(failing("bad")) } else { Ok(1) });
                let n_placed = Arc::clone(&n_placed);
                let place: Place = Box::new(move |_, _| {
                    n_placed.fetch_add(1, Relaxed);
                    if is_bad && !is_of_task { Err(failing("bad")) } else { Ok(()) }
                });
                let submitted = producer
                    .hold(100)
                    .and_then(|()| producer.ticket())
                    .and_then(|ticket| ticket.submit(vec![task], place));
                if let Err(told) = submitted {
                    error = Some(told.to_string());
                    break;
                }
            }
            assert_eq!(error.as_deref(), Some("bad"));
            assert_eq!(queue.wait().unwrap_err().to_string(), "bad");
            assert_eq!(producer.ticket().unwrap_err().to_string(), "bad");
            let n_placed = n_placed.load(Relaxed);
            // A task may fail before what comes before it was placed.
            assert!(if is_of_task { n_placed <= 5 } else { n_placed == 6 }, "{n_placed}");
        }
    }
}

#[test]
fn a_panic_is_an_error() {
    let queue = queue(2, 1000);
    let mut producer = queue.producer();
    producer.ticket().unwrap().submit(vec![Box::new(|_| panic!("lost"))], nothing()).unwrap();
    assert_eq!(queue.wait().unwrap_err().to_string(), "a compressing thread failed: lost");
    let queue = super::Queue::new(QueueSettings { n_threads: 2, buffer_bytes: 10 });
    let mut producer = queue.producer();
    producer.ticket().unwrap().submit(Vec::new(), Box::new(|_, _| panic!("{}", "late"))).unwrap();
    assert_eq!(queue.wait().unwrap_err().to_string(), "a compressing thread failed: late");
}

#[test]
fn whoever_waits_is_told_when_it_is_stopped() {
    let queue = queue(2, 10);
    let mut producer = queue.producer();
    let (sender, receiver) = channel::<()>();
    let (begun, has_begun) = channel();
    let task: Task = Box::new(move |_| {
        begun.send(()).unwrap();
        receiver.recv_timeout(Duration::from_secs(600)).unwrap();
        Ok(0)
    });
    producer.ticket().unwrap().submit(vec![task], nothing()).unwrap();
    has_begun.recv().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| queue.wait());
        queue.stop(failing("given up"));
        queue.stop(failing("later"));
        assert_eq!(waiting.join().unwrap().unwrap_err().to_string(), "given up");
    });
    sender.send(()).unwrap();
    drop(queue);
    assert_eq!(producer.hold(1).unwrap_err().to_string(), "given up");
}

#[test]
fn threads_are_started_by_the_first_tasks_and_joined_at_the_end() {
    // The producer is one of them.
    for (n_threads, n_others) in [(3, 2), (1, 0), (0, n_cores() - 1)] {
        let queue = queue(n_threads, 1000);
        assert_eq!(queue.shared.pool.n_started(), 0);
        let mut producer = queue.producer();
        producer.ticket().unwrap().submit(vec![making(1)], nothing()).unwrap();
        assert_eq!(queue.shared.pool.n_started(), n_others, "of {n_threads} threads");
        queue.wait().unwrap();
        queue.end();
        assert_eq!(queue.shared.pool.n_started(), 0);
        assert_eq!(Arc::strong_count(&queue.shared), 2);
    }
}
