//! The choice of the buffer that a producer fills, as state without threads or clocks.

use std::collections::VecDeque;

use crate::queue::Room;

/// Which of the buffers that are there a producer fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The fullest one. So buffers are full at different times, and the others go on when one is compressed.
    Fullest,
    /// The one that was not filled for longest. All are full at about the same time.
    Fifo,
    /// There is one buffer.
    Single,
}

/// The state of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    /// There is nothing in it.
    Empty,
    /// It has entries, and nobody has it.
    Open,
    /// A producer has it.
    Lent,
    /// Its entries are being compressed.
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Buffer {
    is: Use,
    n_bytes: u64,
    /// When it was given back last, in turns.
    turn: u64,
}

/// The buffers of a table, and the producers that wait for one.
///
/// Producers that wait are served in the order of coming, one buffer each; so none waits forever while buffers come back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Buffers {
    policy: Policy,
    buffers: Vec<Buffer>,
    turn: u64,
    /// How often each was lent.
    n_fills: Vec<u64>,
    waiting: VecDeque<u64>,
    next_waiter: u64,
}

impl Buffers {
    /// So many buffers, at least one; [`Policy::Single`] has one.
    pub fn new(policy: Policy, n_buffers: usize) -> Self {
        let n_buffers = if policy == Policy::Single { 1 } else { n_buffers.max(1) };
        let buffer = Buffer { is: Use::Empty, n_bytes: 0, turn: 0 };
        Buffers {
            policy,
            buffers: vec![buffer; n_buffers],
            turn: 0,
            n_fills: vec![0; n_buffers],
            waiting: VecDeque::new(),
            next_waiter: 0,
        }
    }

    /// Joins the line of those who wait, at its beginning for one who has begun. Returns the number to ask with.
    pub fn queue_up(&mut self, has_begun: bool) -> u64 {
        let number = self.next_waiter;
        self.next_waiter += 1;
        if has_begun {
            self.waiting.push_front(number);
        } else {
            self.waiting.push_back(number);
        }
        number
    }

    /// Leaves the line. Returns the number of the one whose turn it may be now.
    pub fn leave(&mut self, waiter: u64) -> Option<u64> {
        self.waiting.retain(|&number| number != waiter);
        self.first_in_line()
    }

    /// The number of the one who is served next.
    pub fn first_in_line(&self) -> Option<u64> {
        self.waiting.front().copied()
    }

    /// True if somebody waits.
    pub fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Lends a buffer to one who waits with this number, or has just come (`None`), if there is one and nobody was earlier.
    ///
    /// Beyond the bound of memory one buffer at a time is filled up, the fullest whatever the policy: it makes room soonest.
    pub fn lend(&mut self, waiter: Option<u64>, room: Room) -> Option<usize> {
        if self.waiting.front().copied() != waiter {
            return None;
        }
        let number = match room {
            Room::Within => self.choice(self.policy),
            Room::Beyond if self.buffers.iter().all(|buffer| buffer.is != Use::Lent) => self.choice(Policy::Fullest),
            Room::Beyond | Room::None => None,
        }?;
        if waiter.is_some() {
            self.waiting.pop_front();
        }
        self.buffers[number].is = Use::Lent;
        self.n_fills[number] += 1;
        Some(number)
    }

    fn choice(&self, policy: Policy) -> Option<usize> {
        let buffers = self.buffers.iter().enumerate();
        let mut free = buffers.filter(|(_, buffer)| matches!(buffer.is, Use::Empty | Use::Open));
        match policy {
            Policy::Single => free.next(),
            // The first one of equals.
            Policy::Fifo => free.min_by_key(|(number, buffer)| (buffer.turn, *number)),
            Policy::Fullest => {
                free.min_by_key(|(number, buffer)| (buffer.is == Use::Empty, u64::MAX - buffer.n_bytes, *number))
            }
        }
        .map(|(number, _)| number)
    }

    /// Takes a buffer back that is not full. Returns true if somebody waits for one.
    pub fn give_back(&mut self, number: usize, n_bytes: u64) -> bool {
        self.turn += 1;
        let buffer = &mut self.buffers[number];
        debug_assert_eq!(buffer.is, Use::Lent);
        *buffer = Buffer { is: Use::Open, n_bytes, turn: self.turn };
        self.is_awaited()
    }

    /// A buffer that was lent is full: its entries go to be compressed.
    pub fn end(&mut self, number: usize) {
        debug_assert_eq!(self.buffers[number].is, Use::Lent);
        self.buffers[number].is = Use::Ended;
    }

    /// The entries of a buffer are compressed. Returns true if somebody waits for one.
    pub fn renew(&mut self, number: usize) -> bool {
        self.turn += 1;
        let buffer = &mut self.buffers[number];
        debug_assert_eq!(buffer.is, Use::Ended);
        *buffer = Buffer { is: Use::Empty, n_bytes: 0, turn: self.turn };
        self.is_awaited()
    }

    /// How often each buffer was lent.
    pub fn n_fills(&self) -> &[u64] {
        &self.n_fills
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_buffer_is_filled_first_and_an_empty_one_last() {
        let mut buffers = Buffers::new(Policy::Fullest, 3);
        let (first, second) = (buffers.lend(None, Room::Within).unwrap(), buffers.lend(None, Room::Within).unwrap());
        assert_eq!((first, second), (0, 1));
        buffers.give_back(first, 10);
        buffers.give_back(second, 20);
        assert_eq!(buffers.lend(None, Room::Within), Some(1));
        assert_eq!(buffers.lend(None, Room::Within), Some(0));
        assert_eq!(buffers.lend(None, Room::Within), Some(2));
        assert_eq!(buffers.lend(None, Room::Within), None);
        assert_eq!(buffers.n_fills(), [2, 2, 1]);
    }

    #[test]
    fn in_turns_all_buffers_fill_in_step() {
        let mut buffers = Buffers::new(Policy::Fifo, 3);
        let lent: Vec<usize> = (0..7)
            .map(|fill| {
                let number = buffers.lend(None, Room::Within).unwrap();
                buffers.give_back(number, 10 * fill);
                number
            })
            .collect();
        assert_eq!(lent, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn a_single_buffer_is_the_only_one() {
        let mut buffers = Buffers::new(Policy::Single, 8);
        assert_eq!((buffers.lend(None, Room::Within), buffers.lend(None, Room::Within)), (Some(0), None));
        buffers.end(0);
        assert_eq!(buffers.lend(None, Room::Within), None);
        buffers.renew(0);
        assert_eq!(buffers.lend(None, Room::Within), Some(0));
    }

    #[test]
    fn who_waits_is_served_in_order_and_before_those_who_come() {
        let mut buffers = Buffers::new(Policy::Fullest, 1);
        buffers.lend(None, Room::Within).unwrap();
        let (first, second) = (buffers.queue_up(false), buffers.queue_up(false));
        let begun = buffers.queue_up(true);
        assert!(buffers.give_back(0, 1));
        assert_eq!((buffers.lend(None, Room::Within), buffers.lend(Some(second), Room::Within)), (None, None));
        assert_eq!(buffers.lend(Some(first), Room::Within), None);
        assert_eq!(buffers.lend(Some(begun), Room::Within), Some(0));
        assert_eq!(buffers.leave(first), Some(second));
        assert!(buffers.give_back(0, 2));
        assert_eq!(buffers.lend(Some(second), Room::Within), Some(0));
        assert!(!buffers.give_back(0, 3));
        assert_eq!(buffers.lend(None, Room::Within), Some(0));
    }

    #[test]
    fn nothing_is_lent_without_room() {
        let mut buffers = Buffers::new(Policy::Fullest, 2);
        assert_eq!(buffers.lend(None, Room::None), None);
        assert_eq!(buffers.lend(None, Room::Within), Some(0));
    }

    #[test]
    fn beyond_the_bound_the_fullest_is_filled_up_by_one_at_a_time_whatever_the_policy() {
        for policy in [Policy::Fullest, Policy::Fifo, Policy::Single] {
            let mut buffers = Buffers::new(policy, 3);
            let n_buffers = buffers.n_fills().len();
            (0..n_buffers).for_each(|number| assert_eq!(buffers.lend(None, Room::Within), Some(number)));
            (0..n_buffers).for_each(|number| assert!(!buffers.give_back(number, [10, 30, 20][number])));
            let fullest = n_buffers.min(2) - 1;
            assert_eq!(buffers.lend(None, Room::Beyond), Some(fullest));
            assert_eq!(buffers.lend(None, Room::Beyond), None, "{policy:?}");
            buffers.give_back(fullest, 40);
            assert_eq!(buffers.lend(None, Room::Beyond), Some(fullest));
        }
    }
}
