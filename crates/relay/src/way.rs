//! What becomes of the bytes of one direction: as many pieces as there are faults, and one more.

use std::time::Duration;

use crate::faults::{Direction, Kind, Next, OfConnection};

/// What becomes of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    Reset,
    Close,
    Stall,
}

/// One direction of a connection with what will go wrong in it.
pub(crate) struct Way {
    faults: OfConnection,
    /// The next one last.
    next: Vec<Next>,
    /// Bytes that have come so far.
    at: u64,
    /// Of those to come, how many to leave out.
    n_dropped: usize,
}

impl Way {
    pub(crate) fn new(faults: &OfConnection, direction: Direction) -> Self {
        Way { next: faults.queue(direction), faults: faults.clone(), at: 0, n_dropped: 0 }
    }

    /// Applies the faults that lie in the next `bytes`.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Vec<Step> {
        let mut steps = Vec::new();
        let (mut rest, mut sent) = (bytes, 0);
        while let Some(next) = self.next.pop_if(|next| next.offset < self.at + rest.len() as u64) {
            let (before, after) = rest.split_at(usize::try_from(next.offset - self.at).unwrap_or(usize::MAX));
            self.forward(before, &mut steps);
            sent += before.len();
            rest = after;
            self.at = next.offset;
            self.faults.mark_met(&next);
            match next.kind {
                Kind::Refuse => {}
                Kind::Delay(time) => steps.push(Step::Wait(time)),
                Kind::Reset => steps.push(Step::Reset),
                Kind::Close => steps.push(Step::Close),
                Kind::Stall => steps.push(Step::Stall),
                Kind::Flip(mask) => {
                    if let Some((first, after)) = rest.split_first() {
                        self.forward(&[first ^ mask], &mut steps);
                        (rest, sent, self.at) = (after, sent + 1, self.at + 1);
                    }
                }
                Kind::Drop(n) => self.n_dropped += n,
                Kind::Repeat(n) => steps.push(Step::Send(bytes[sent.saturating_sub(n)..sent].to_vec())),
            }
        }
        self.forward(rest, &mut steps);
        self.at += rest.len() as u64;
        steps
    }

    fn forward(&mut self, bytes: &[u8], steps: &mut Vec<Step>) {
        let n = self.n_dropped.min(bytes.len());
        self.n_dropped -= n;
        if n < bytes.len() {
            steps.push(Step::Send(bytes[n..].to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Plan;
    use std::sync::Arc;

    /// What a client receives of the numbers from 0 to 99, in pieces of `piece` bytes, and how it ends.
    fn received(plan: &str, piece: usize) -> (Vec<u8>, Vec<Step>) {
        let plan = Arc::new(Plan::parse(plan).unwrap());
        let mut way = Way::new(&plan.connection(), Direction::Down);
        let content: Vec<u8> = (0..100).collect();
        let (mut bytes, mut other) = (Vec::new(), Vec::new());
        for step in content.chunks(piece).flat_map(|piece| way.pass(piece)) {
            match step {
                Step::Send(part) if other.is_empty() => bytes.extend(part),
                Step::Send(_) => {}
                step => other.push(step),
            }
        }
        (bytes, other)
    }

    #[test]
    fn faults_happen_at_their_byte_whatever_the_pieces() {
        for piece in [1, 7, 50, 100] {
            assert_eq!(received("", piece).0, (0..100).collect::<Vec<u8>>());
            assert_eq!(received("*:down:50:close", piece), ((0..50).collect(), vec![Step::Close]));
            assert_eq!(received("0:down:0:reset", piece), (vec![], vec![Step::Reset]));
            assert_eq!(received("1:down:0:reset;0:up:0:reset", piece).1, []);
            let flipped = received("0:down:99:flip:255;0:down:3:flip:1", piece).0;
            assert_eq!((flipped[3], flipped[4], flipped[99], flipped.len()), (2, 4, 99 ^ 255, 100));
            let dropped = received("0:down:10:drop:20", piece).0;
            assert_eq!(dropped, (0..10).chain(30..100).collect::<Vec<u8>>());
        }
        let repeated = received("0:down:10:repeat:3", 100).0;
        assert_eq!(repeated, (0..10).chain(7..100).collect::<Vec<u8>>());
    }

    #[test]
    fn a_plan_that_means_nothing_is_refused() {
        for wrong in ["x", "0:down:1", "0:down:1:flip:0", "0:left:1:reset", "0:down:1:delay", "0:down:1:reset:5"] {
            assert!(Plan::parse(wrong).is_err(), "{wrong}");
        }
    }
}
