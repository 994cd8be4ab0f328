//! The policy alone, in virtual time.

use std::collections::BinaryHeap;

use arrowroot_writer::contexts::policy::Buffers;
use arrowroot_writer::queue::Room;

use crate::{BUFFER_EVENTS, COMPRESS_NS, Case, EVENT_NS, Random, STALL_NS};

/// Streams in virtual time: the next to do something first.
pub(crate) struct Virtual {
    case: Case,
    buffers: Buffers,
    n_filled: Vec<u64>,
    randoms: Vec<Random>,
    n_left: u64,
    /// When, which stream, and what it has done by then; the earliest first.
    due: BinaryHeap<std::cmp::Reverse<(u64, usize, Done)>>,
    /// The waiting threads: since when, and with which number in line.
    waiting: Vec<(usize, u64, u64)>,
    waits: Vec<u64>,
    last_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    Work,
    /// Compressed this buffer.
    Compress(usize),
}

impl Virtual {
    pub(crate) fn new(case: Case) -> Virtual {
        let buffers = Buffers::new(case.policy, case.n_buffers);
        Virtual {
            n_filled: vec![0; buffers.n_fills().len()],
            buffers,
            randoms: (0..case.n_streams).map(|stream| case.random(stream)).collect(),
            n_left: case.n_events,
            due: BinaryHeap::new(),
            waiting: Vec::new(),
            waits: Vec::new(),
            last_ns: 0,
            case,
        }
    }

    pub(crate) fn run(mut self) -> String {
        (0..self.case.n_streams).for_each(|stream| self.work(stream, 0));
        while let Some(std::cmp::Reverse((now_ns, stream, done))) = self.due.pop() {
            self.last_ns = now_ns;
            match done {
                Done::Work => match self.buffers.lend(None, Room::Within) {
                    Some(buffer) => self.fill(stream, buffer, now_ns),
                    None => {
                        let waiter = self.buffers.queue_up(false);
                        self.waiting.push((stream, now_ns, waiter));
                    }
                },
                Done::Compress(buffer) => {
                    self.buffers.renew(buffer);
                    self.work(stream, now_ns);
                    self.serve(now_ns);
                }
            }
        }
        let stalls: Vec<u64> = self.waits.iter().copied().filter(|&wait| wait >= STALL_NS).collect();
        let n_stalls = stalls.len();
        format!(
            "{{\"wall_ns\": {}, \"n_events\": {}, \"work_ns\": {EVENT_NS}, \"n_stalls\": {n_stalls}, \"stalls_ns\": {}, \
             \"stalled_ns\": {}, \"longest_ns\": {}, \"n_fills\": {:?}}}",
            self.last_ns,
            self.case.n_events,
            stalls.iter().sum::<u64>(),
            self.waits.iter().sum::<u64>(),
            self.waits.iter().max().copied().unwrap_or_default(),
            self.buffers.n_fills()
        )
    }

    fn work(&mut self, stream: usize, now_ns: u64) {
        if self.n_left > 0 {
            self.n_left -= 1;
            let end_ns = now_ns + self.randoms[stream].work_ns(EVENT_NS);
            self.due.push(std::cmp::Reverse((end_ns, stream, Done::Work)));
        }
    }

    /// An event goes to a buffer, which takes no time.
    fn fill(&mut self, stream: usize, buffer: usize, now_ns: u64) {
        self.n_filled[buffer] += 1;
        if self.n_filled[buffer] < BUFFER_EVENTS {
            self.buffers.give_back(buffer, self.n_filled[buffer]);
            self.work(stream, now_ns);
            self.serve(now_ns);
        } else {
            self.n_filled[buffer] = 0;
            self.buffers.end(buffer);
            self.due.push(std::cmp::Reverse((now_ns + COMPRESS_NS, stream, Done::Compress(buffer))));
        }
    }

    /// Lends what is free to those who wait.
    fn serve(&mut self, now_ns: u64) {
        if let Some(&(stream, since_ns, waiter)) = self.waiting.first()
            && let Some(buffer) = self.buffers.lend(Some(waiter), Room::Within)
        {
            self.waiting.remove(0);
            self.waits.push(now_ns - since_ns);
            self.fill(stream, buffer, now_ns);
        }
    }
}
