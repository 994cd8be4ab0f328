//! How many connections a server is good for, as it turns out. Plain data, without I/O or clock.
//!
//! Small servers accept a handful at a time (a queue of five is the default of Python's), and what is beyond hangs until the
//! system sends its first packet again, a second later and then ever more rarely. Others serve one connection and leave the
//! next without an answer for as long as the first one lives. So a server that is not known gets few connections, and more only
//! while answers still come as soon as they did with few.

use std::time::Duration;

/// Connections that nobody has answered on yet: less than the shortest queue that is usual.
const FIRST: usize = 4;
/// The same for servers whose protocol is used with many connections (S3), or that have shown that they are no toys.
const FIRST_OF_MANY: usize = 32;
/// What a busy machine adds to any answer. One that takes longer than that and half as long again as the soonest waited for
/// others: one connection more brings little.
const JITTER: Duration = Duration::from_millis(2);
/// Answers after which one more connection is tried where one did not come about; four times as many after each failure.
const ANSWERS_BEFORE_TRIAL: u64 = 64;
/// A connection without an answer is given up after this, at the earliest, and after so many times what answers take.
const LEAST_PATIENCE: Duration = Duration::from_millis(300);
const PATIENCE: u32 = 8;

/// What kind of server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing is known but that it answers.
    Any,
    /// It is made for many connections: object stores, servers that answer several ranges.
    Many,
}

/// What is known of the connections to one server.
#[derive(Debug)]
pub(super) struct Connections {
    kind: Kind,
    /// As many as paid so far.
    paying: usize,
    /// More did not come about.
    ceiling: usize,
    /// Answers until one more is tried than the ceiling allows.
    n_until_trial: u64,
    n_failed: u32,
    /// Those that are open, and on which something came.
    n_proven: usize,
    /// Heads of answers that came, and answers that ended.
    n_signs: u64,
    least: Option<Duration>,
    /// Of late.
    usual: Option<Duration>,
}

impl Connections {
    pub(super) fn new(kind: Kind) -> Connections {
        Connections {
            kind,
            paying: FIRST,
            ceiling: usize::MAX,
            n_until_trial: 0,
            n_failed: 0,
            n_proven: 0,
            n_signs: 0,
            least: None,
            usual: None,
        }
    }

    pub(super) fn set_kind(&mut self, kind: Kind) {
        self.kind = kind;
    }

    /// Requests that may be under way at a time once all connections are there, where `most` is what would be good.
    pub(super) fn good_for(&self, most: usize) -> usize {
        let paying = if self.kind == Kind::Many { most } else { self.paying.min(most) };
        paying.min(self.ceiling).max(1)
    }

    /// Requests that may be under way at this moment: few on connections that nothing came on.
    pub(super) fn allowed(&self, most: usize) -> usize {
        let first = if self.kind == Kind::Many { FIRST_OF_MANY } else { FIRST };
        self.good_for(most).min(self.n_proven + first)
    }

    /// The shortest time to an answer, which is what the line needs; more is a server that was busy.
    pub(super) fn latency(&self) -> Option<Duration> {
        self.least
    }

    /// The head of an answer came, so long after the request, without connecting.
    /// `is_full`: whether as many requests were under way as are allowed.
    pub(super) fn answered(&mut self, latency: Duration, is_full: bool, most: usize) {
        let least = self.least.map_or(latency, |least| least.min(latency));
        self.least = Some(least);
        self.usual = Some(self.usual.map_or(latency, |usual| (usual * 7 + latency) / 8));
        self.n_signs += 1;
        self.n_until_trial = self.n_until_trial.saturating_sub(1);
        if !is_full {
            return;
        }
        if latency <= least + least / 2 + JITTER {
            self.paying = (self.paying + 1).min(most.max(FIRST));
            if self.n_until_trial == 0 && self.paying > self.ceiling {
                self.ceiling = self.ceiling.saturating_add(1);
            }
        } else {
            self.paying = (self.paying - 1).max(FIRST);
        }
    }

    /// Something came on a new connection.
    pub(super) fn proven(&mut self) {
        self.n_proven += 1;
    }

    /// One that had been proven was closed.
    pub(super) fn closed(&mut self) {
        self.n_proven = self.n_proven.saturating_sub(1);
    }

    /// An answer ended: its connection is free for others.
    pub(super) fn ended(&mut self) {
        self.n_signs += 1;
    }

    /// Signs so far that the server is at work.
    pub(super) fn n_signs(&self) -> u64 {
        self.n_signs
    }

    /// How long a new connection is waited for where others work; `None` while nobody has been answered.
    /// `n_given_up`: connections that the same request was given up on before.
    pub(super) fn patience(&self, n_given_up: u32) -> Option<Duration> {
        self.usual.map(|usual| LEAST_PATIENCE.max(usual * PATIENCE) * (1 << n_given_up.min(10)))
    }

    /// Whether a connection is not worth waiting for any longer, on which nothing came for so long and since when there had
    /// been `n_signs`: others work.
    pub(super) fn is_hopeless(&self, waited: Duration, n_signs: u64, n_given_up: u32) -> bool {
        self.n_signs > n_signs && self.patience(n_given_up).is_some_and(|patience| waited >= patience)
    }

    /// A connection did not come about, or nothing came on it, while `n_others` were at work.
    pub(super) fn given_up(&mut self, n_others: usize) {
        self.ceiling = self.ceiling.min(n_others.max(1));
        self.paying = self.paying.min(self.ceiling.max(FIRST));
        self.n_until_trial = ANSWERS_BEFORE_TRIAL << (2 * self.n_failed).min(40);
        self.n_failed = self.n_failed.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    const MOST: usize = 100;

    /// A server in virtual time, in microseconds: `n_workers` requests at a time take `work` each, `line` is on the way.
    struct Server {
        line: u64,
        work: u64,
        n_workers: usize,
    }

    impl Server {
        /// Makes requests, always as many at a time as are allowed. Returns the most that were, and the time of all.
        fn run(&self, connections: &mut Connections, n_requests: usize) -> (usize, u64) {
            let mut workers: BinaryHeap<Reverse<u64>> = (0..self.n_workers).map(|_| Reverse(0)).collect();
            let mut under_way = BinaryHeap::new();
            let (mut now, mut n_asked, mut n_most) = (0, 0, 0);
            while n_asked < n_requests || !under_way.is_empty() {
                while n_asked < n_requests && under_way.len() < connections.allowed(MOST) {
                    let Reverse(free) = workers.pop().unwrap();
                    let done = free.max(now) + self.work;
                    workers.push(Reverse(done));
                    under_way.push(Reverse((done + self.line, now)));
                    n_asked += 1;
                }
                n_most = n_most.max(under_way.len());
                let is_full = under_way.len() >= connections.allowed(MOST);
                let Reverse((answered, asked)) = under_way.pop().unwrap();
                now = answered;
                if connections.n_proven < n_most {
                    connections.proven();
                }
                connections.answered(Duration::from_micros(now - asked), is_full, MOST);
            }
            (n_most, now)
        }
    }

    #[test]
    fn a_server_that_does_one_thing_at_a_time_gets_few() {
        let mut connections = Connections::new(Kind::Any);
        let (n_most, _) = Server { line: 0, work: 5000, n_workers: 1 }.run(&mut connections, 500);
        assert!(n_most <= FIRST + 1, "{n_most}: the first answer comes as soon as if it were alone");
        assert_eq!(connections.good_for(MOST), FIRST);
    }

    #[test]
    fn one_that_works_while_answers_are_on_their_way_gets_as_many_as_pay() {
        // At 20 ms and 1 ms of work more than 21 at a time bring nothing.
        let mut connections = Connections::new(Kind::Any);
        let server = Server { line: 20_000, work: 1000, n_workers: 1 };
        let (n_most, time) = server.run(&mut connections, 1000);
        assert!((20..=64).contains(&n_most), "{n_most}: answers tell of it a round trip later");
        // With four at a time it takes 5.25 s, with as many as one likes 1 s.
        assert!(time < 1_500_000, "{time}");
        // One that does everything at once gets all.
        let mut connections = Connections::new(Kind::Any);
        assert_eq!(Server { line: 20_000, work: 10, n_workers: 16 }.run(&mut connections, 3000).0, MOST);
    }

    #[test]
    fn what_does_not_come_about_is_not_tried_again_soon() {
        let mut connections = Connections::new(Kind::Any);
        let answer = Duration::from_millis(5);
        let mut n_given_up = 0;
        // Two are served, and the others hang.
        for _ in 0..10_000 {
            while connections.allowed(MOST) > 2 {
                connections.given_up(connections.allowed(MOST) - 1);
                n_given_up += 1;
            }
            connections.answered(answer, true, MOST);
        }
        assert!(n_given_up <= 8, "{n_given_up}");
        assert_eq!(connections.good_for(MOST), 2);
        // One day it may be another server.
        (0..2_000_000).for_each(|_| connections.answered(answer, true, MOST));
        assert!(connections.good_for(MOST) > 2);
    }

    #[test]
    fn a_connection_is_given_up_only_where_others_work() {
        let mut connections = Connections::new(Kind::Any);
        let long = Duration::from_secs(60);
        assert!(!connections.is_hopeless(long, 0, 0), "nobody has an answer");
        connections.answered(Duration::from_millis(100), false, MOST);
        assert!(connections.is_hopeless(long, 0, 0));
        assert!(!connections.is_hopeless(long, 1, 0), "none since it was begun");
        connections.ended();
        assert!(connections.is_hopeless(long, 1, 0), "it had been answered before, and is free now");
        assert!(!connections.is_hopeless(Duration::from_millis(799), 0, 0), "so long may one take that is only slow");
        assert!(!connections.is_hopeless(Duration::from_millis(801), 0, 1), "the second time it has more time");
    }

    #[test]
    fn who_closes_every_connection_gets_no_more_than_at_first() {
        let mut connections = Connections::new(Kind::Any);
        for _ in 0..1000 {
            connections.proven();
            connections.answered(Duration::from_millis(20), true, MOST);
            connections.closed();
        }
        assert_eq!(connections.allowed(MOST), FIRST);
    }

    #[test]
    fn an_object_store_gets_what_is_usual_and_soon() {
        let mut connections = Connections::new(Kind::Many);
        assert_eq!((connections.good_for(MOST), connections.allowed(MOST)), (MOST, FIRST_OF_MANY));
        (0..FIRST_OF_MANY).for_each(|_| connections.proven());
        assert_eq!(connections.allowed(MOST), 2 * FIRST_OF_MANY);
        connections.given_up(20);
        assert_eq!(connections.allowed(MOST), 20);
    }
}
