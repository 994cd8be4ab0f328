//! The growth of the queue: compression that does not keep up with the producers.

/// Watches how much waits. It has no clock: whoever looks says when that was.
///
/// The queue *grows* while there always are tasks that nobody has begun, and more bytes than when that began.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Growth {
    /// How long it may grow before that is told, in ns.
    threshold_ns: u64,
    /// Since when tasks have been waiting all the time, and the bytes in flight then.
    since: Option<(u64, u64)>,
    is_told: bool,
    /// How often it has grown for longer than the threshold.
    n_times: u64,
    /// How long it has grown, in ns, counting those times alone, up to the last look.
    total_ns: u64,
    /// The part of `total_ns` that is not over.
    current_ns: u64,
}

impl Default for Growth {
    fn default() -> Self {
        Growth { threshold_ns: 10_000_000_000, since: None, is_told: false, n_times: 0, total_ns: 0, current_ns: 0 }
    }
}

impl Growth {
    /// It is told when the queue has grown for longer than so many ns.
    pub(crate) fn tell_after(&mut self, threshold_ns: u64) {
        self.threshold_ns = threshold_ns;
    }

    /// Notes that so many tasks wait to be begun, and so many bytes are in flight.
    pub(crate) fn look(&mut self, now_ns: u64, n_tasks: usize, n_bytes: u64) {
        if n_tasks == 0 {
            (self.since, self.is_told, self.current_ns) = (None, false, 0);
            return;
        }
        let (start_ns, start_bytes) = *self.since.get_or_insert((now_ns, n_bytes));
        let grown_ns = now_ns.saturating_sub(start_ns);
        if grown_ns <= self.threshold_ns || (n_bytes <= start_bytes && !self.is_told) {
            return;
        }
        if !self.is_told {
            self.is_told = true;
            self.n_times += 1;
        }
        self.total_ns += grown_ns - self.current_ns.min(grown_ns);
        self.current_ns = grown_ns;
    }

    /// How often it has grown for longer than the threshold.
    pub(crate) fn n_times(&self) -> u64 {
        self.n_times
    }

    /// How long all of those times were, in ns.
    pub(crate) fn total_ns(&self) -> u64 {
        self.total_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(looks: &[(u64, usize, u64)]) -> (u64, u64) {
        let mut growth = Growth::default();
        growth.tell_after(100);
        looks.iter().for_each(|&(now_ns, n_tasks, n_bytes)| growth.look(now_ns, n_tasks, n_bytes));
        (growth.n_times(), growth.total_ns())
    }

    #[test]
    fn growth_counts_once_it_has_lasted_longer_than_the_threshold() {
        assert_eq!(after(&[(0, 1, 10), (50, 2, 20), (100, 3, 30)]), (0, 0));
        assert_eq!(after(&[(0, 1, 10), (50, 2, 20), (101, 3, 30)]), (1, 101));
        assert_eq!(after(&[(0, 1, 10), (101, 3, 30), (150, 3, 30), (200, 2, 5)]), (1, 200));
    }

    #[test]
    fn a_moment_without_waiting_tasks_ends_it() {
        assert_eq!(after(&[(0, 1, 10), (60, 0, 20), (120, 3, 30), (200, 1, 40)]), (0, 0));
        assert_eq!(after(&[(0, 1, 10), (120, 1, 20), (130, 0, 0), (200, 1, 1), (301, 2, 2)]), (2, 221));
    }

    #[test]
    fn a_queue_that_is_as_full_as_it_was_has_not_grown() {
        assert_eq!(after(&[(0, 5, 10), (1000, 5, 10), (2000, 5, 9)]), (0, 0));
    }
}
