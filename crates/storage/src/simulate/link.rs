//! A line to a store in virtual time.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::requests::Protocol;
use crate::simulate::disk::Disk;
use crate::source::AccessProfile;

/// What a store and the way to it are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// From asking to the first byte; of a disk a seek.
    pub latency: Duration,
    /// Bytes for each second, shared evenly by all requests whose bytes are coming; of a disk those of one command.
    pub bytes_per_second: f64,
    /// Requests that are under way at a time; others wait for one of them to end. It changes no request.
    pub n_streams: usize,
    /// From the beginning of a request to that of the next, at least: what it keeps server and client busy.
    pub interval: Duration,
    /// How the store makes requests of what it is asked for.
    pub protocol: Protocol,
    /// A local disk: `n_streams` and `interval` mean nothing then.
    pub disk: Option<Disk>,
}

/// A line that answers sooner is that to a disk.
const LEAST_OF_NETWORK: Duration = Duration::from_micros(101);

impl Line {
    /// How a store behind this line says that it wants to be asked.
    pub fn access_profile(&self) -> AccessProfile {
        if self.disk.is_some() {
            return AccessProfile::LOCAL;
        }
        AccessProfile {
            is_remote: self.latency >= LEAST_OF_NETWORK,
            latency: self.latency,
            bytes_per_second: self.bytes_per_second,
            max_parallel: self.protocol.max_parallel().max(1),
            max_ranges: self.protocol.max_ranges().max(1),
        }
    }

    /// # Errors
    /// [`Error::Option`] for a line that would bring nothing.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |option: &str, what: String| Err(Error::Option { option: option.to_owned(), what });
        if !(self.bytes_per_second.is_finite() && self.bytes_per_second > 0.0) {
            return wrong("bandwidth", format!("{} bytes for each second; there must be some", self.bytes_per_second));
        }
        if self.n_streams == 0 {
            return wrong("streams", "there must be at least one".to_owned());
        }
        Ok(())
    }
}

/// Seconds or bytes, in an order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number(pub(super) f64);

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Names a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestId(pub(crate) usize);

/// What happened on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing before the limit.
    Nothing,
    /// A first byte came.
    Progress,
    /// A request ended.
    Finished(RequestId),
}

/// The line with what is under way. Times in seconds since its making.
///
/// Bandwidth is shared evenly: what each active request has got since a moment is the same for all of them, so that one
/// number (`served`) moves all of them, and the next to end is the smallest in a heap.
#[derive(Debug)]
pub(crate) struct Link {
    latency: f64,
    bytes_per_second: f64,
    n_streams: usize,
    interval: f64,
    now: f64,
    /// Before this no request begins.
    next_start: f64,
    /// Bytes that a request that was active all the time would have got.
    served: f64,
    waiting: VecDeque<(RequestId, f64)>,
    /// Asked for, and the first byte is not there: when it will be, and size. By time, as all wait equally long.
    starting: VecDeque<(f64, RequestId, f64)>,
    /// When each ends, in terms of `served`.
    active: BinaryHeap<Reverse<(Number, RequestId)>>,
    finished: Vec<Option<f64>>,
    /// Ended, and not reported.
    ended: VecDeque<RequestId>,
}

impl Link {
    pub(crate) fn new(line: &Line) -> Self {
        Link {
            latency: line.latency.as_secs_f64(),
            bytes_per_second: line.bytes_per_second,
            n_streams: line.n_streams,
            interval: line.interval.as_secs_f64(),
            now: 0.0,
            next_start: 0.0,
            served: 0.0,
            waiting: VecDeque::new(),
            starting: VecDeque::new(),
            active: BinaryHeap::new(),
            finished: Vec::new(),
            ended: VecDeque::new(),
        }
    }

    /// Asks for bytes at a time that is not before the last one.
    pub(crate) fn submit(&mut self, at: f64, n_bytes: u64) -> RequestId {
        self.advance_to(at);
        let id = RequestId(self.finished.len());
        self.finished.push(None);
        #[expect(clippy::cast_precision_loss, reason = "sizes of files are below 2^53")]
        self.waiting.push_back((id, n_bytes as f64));
        self.start_waiting();
        id
    }

    /// Lets time pass until something happens, but not beyond `limit`. Each end is reported once.
    pub(crate) fn step(&mut self, limit: f64) -> Event {
        if self.ended.is_empty() {
            let Some(time) = self.next_event().filter(|&time| time <= limit) else { return Event::Nothing };
            self.handle(time);
        }
        self.ended.pop_front().map_or(Event::Progress, Event::Finished)
    }

    /// Lets time pass. What ends meanwhile is reported by the steps that follow.
    pub(crate) fn advance_to(&mut self, time: f64) {
        while let Some(event) = self.next_event().filter(|&event| event <= time) {
            self.handle(event);
        }
        self.pass_until(time);
    }

    pub(crate) fn now(&self) -> f64 {
        self.now
    }

    /// When a request was answered, if it is.
    pub(crate) fn finished(&self, id: RequestId) -> Option<f64> {
        self.finished.get(id.0).copied().flatten()
    }

    fn start_waiting(&mut self) {
        while self.active.len() + self.starting.len() < self.n_streams
            && let Some((id, n_bytes)) = self.waiting.pop_front()
        {
            let start = self.now.max(self.next_start);
            self.next_start = start + self.interval;
            self.starting.push_back((start + self.latency, id, n_bytes));
        }
    }

    fn next_event(&self) -> Option<f64> {
        let first_byte = self.starting.front().map(|&(time, ..)| time);
        let end = self.active.peek().map(|Reverse((Number(end), _))| {
            self.now + (end - self.served).max(0.0) * self.n_active() / self.bytes_per_second
        });
        match (first_byte, end) {
            (Some(first_byte), Some(end)) => Some(first_byte.min(end)),
            (first_byte, end) => first_byte.or(end),
        }
    }

    fn n_active(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "few")]
        let n_active = self.active.len() as f64;
        n_active
    }

    fn pass_until(&mut self, time: f64) {
        let elapsed = (time - self.now).max(0.0);
        if !self.active.is_empty() {
            self.served += elapsed * self.bytes_per_second / self.n_active();
        }
        self.now += elapsed;
    }

    /// What happens at `time`, which is the next event.
    fn handle(&mut self, time: f64) {
        let is_end = self.starting.front().is_none_or(|&(first_byte, ..)| first_byte > time);
        if is_end {
            self.now = self.now.max(time);
            let Some(Reverse((Number(end), id))) = self.active.pop() else { return };
            // Exactly, so that rounding cannot make an event that never comes.
            self.served = self.served.max(end);
            self.finished[id.0] = Some(self.now);
            self.ended.push_back(id);
            if self.active.is_empty() {
                self.served = 0.0;
            }
            self.start_waiting();
        } else if let Some((first_byte, id, n_bytes)) = self.starting.pop_front() {
            self.pass_until(first_byte);
            self.active.push(Reverse((Number(self.served + n_bytes), id)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(n_streams: usize) -> Link {
        let latency = Duration::from_millis(5);
        let interval = Duration::ZERO;
        Link::new(&Line {
            latency,
            bytes_per_second: 1e6,
            n_streams,
            interval,
            protocol: Protocol::Plain { max_parallel: 1 },
            disk: None,
        })
    }

    fn wait_for(link: &mut Link, id: RequestId) -> f64 {
        while link.finished(id).is_none() && link.step(f64::INFINITY) != Event::Nothing {}
        link.finished(id).unwrap()
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn one_request_takes_latency_and_bytes() {
        let mut link = link(1);
        let id = link.submit(0.0, 1000);
        assert!(is_near(wait_for(&mut link, id), 0.006));
    }

    #[test]
    fn two_at_a_time_share_the_line_and_the_wait_overlaps() {
        let mut both = link(2);
        let (first, second) = (both.submit(0.0, 1000), both.submit(0.0, 3000));
        // Half the line each until the small one ends, then all of it.
        assert!(is_near(wait_for(&mut both, first), 0.005 + 0.002));
        assert!(is_near(wait_for(&mut both, second), 0.005 + 0.004));
        let mut one = link(1);
        let (first, second) = (one.submit(0.0, 1000), one.submit(0.0, 3000));
        assert!(is_near(wait_for(&mut one, first), 0.006));
        assert!(is_near(wait_for(&mut one, second), 0.006 + 0.008));
    }

    #[test]
    fn requests_begin_one_after_the_other_where_each_keeps_the_server_busy() {
        let (latency, interval) = (Duration::from_millis(5), Duration::from_millis(2));
        let mut link = Link::new(&Line {
            latency,
            bytes_per_second: 1e6,
            n_streams: 64,
            interval,
            protocol: Protocol::Plain { max_parallel: 1 },
            disk: None,
        });
        let all: Vec<_> = (0..10).map(|_| link.submit(0.0, 0)).collect();
        for (index, id) in all.into_iter().enumerate() {
            assert!(is_near(wait_for(&mut link, id), 0.005 + 0.002 * index as f64), "{index}");
        }
        let late = link.submit(1.0, 0);
        assert!(is_near(wait_for(&mut link, late), 1.005), "an idle server begins at once");
    }

    #[test]
    fn a_later_request_gets_its_share_from_then_on() {
        let mut link = link(8);
        let first = link.submit(0.0, 10_000);
        let second = link.submit(0.005, 1000);
        // At 10 ms the first has 5000 bytes; then both get 1000 in 2 ms; then the first has the line.
        assert!(is_near(wait_for(&mut link, second), 0.012));
        assert!(is_near(wait_for(&mut link, first), 0.016));
    }

    #[test]
    fn requests_that_end_together_are_all_reported() {
        let mut link = link(8);
        let all: Vec<_> = (0..3).map(|_| link.submit(0.0, 1000)).collect();
        let mut ended = Vec::new();
        while ended.len() < 3 {
            match link.step(f64::INFINITY) {
                Event::Nothing => break,
                Event::Progress => {}
                Event::Finished(id) => {
                    ended.push(id);
                    let now = link.now();
                    link.submit(now, 1);
                }
            }
        }
        assert_eq!(ended, all);
    }

    #[test]
    fn nothing_takes_its_latency() {
        let mut link = link(1);
        let id = link.submit(1.0, 0);
        assert!(is_near(wait_for(&mut link, id), 1.005));
    }
}
