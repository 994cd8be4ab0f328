//! What goes wrong, where: `CONNECTION:DIRECTION:OFFSET:KIND[:ARGUMENT]`.
//!
//! CONNECTION counts from 0 since the plan was set, `*` is each of them. DIRECTION is `down` (from the server) or `up`. OFFSET
//! is the byte in that direction before which it happens, whatever the pieces in which the bytes come.
//!
//! | KIND | does |
//! |---|---|
//! | `refuse` | resets the connection at once (OFFSET has no meaning) |
//! | `delay:MS` | holds everything back for so long |
//! | `reset` | the connection is reset in both directions |
//! | `close` | the bytes end here, as if the peer had closed in good order |
//! | `stall` | nothing comes any more, and nobody says so |
//! | `flip:MASK` | the byte at OFFSET is changed by exclusive or with MASK |
//! | `drop:N` | N bytes are left out |
//! | `repeat:N` | the N bytes before OFFSET, as far as they are in the same piece, come once more |

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Down,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Refuse,
    Delay(Duration),
    Reset,
    Close,
    Stall,
    Flip(u8),
    Drop(usize),
    Repeat(usize),
}

struct Fault {
    /// `None`: each connection.
    connection: Option<usize>,
    direction: Direction,
    offset: u64,
    kind: Kind,
    is_met: AtomicBool,
}

/// All faults, and how many connections there have been.
#[derive(Default)]
pub(crate) struct Plan {
    faults: Vec<Fault>,
    n_connections: AtomicUsize,
}

/// The faults of one connection.
#[derive(Clone)]
pub(crate) struct OfConnection {
    plan: Arc<Plan>,
    connection: usize,
}

/// The next fault of a direction.
pub(crate) struct Next {
    pub(crate) offset: u64,
    pub(crate) kind: Kind,
    index: usize,
}

impl Plan {
    pub(crate) fn parse(text: &str) -> Result<Plan, String> {
        let faults = text.split(';').filter(|fault| !fault.is_empty());
        let faults = faults
            .map(|fault| parse_fault(fault).ok_or_else(|| format!("no fault: {fault}")))
            .collect::<Result<_, _>>()?;
        Ok(Plan { faults, n_connections: AtomicUsize::new(0) })
    }

    /// The faults of the next connection.
    pub(crate) fn connection(self: &Arc<Self>) -> OfConnection {
        OfConnection { plan: Arc::clone(self), connection: self.n_connections.fetch_add(1, Relaxed) }
    }

    /// Positions in the plan of those that have happened.
    pub(crate) fn met(&self) -> Vec<usize> {
        let met = self.faults.iter().enumerate().filter(|(_, fault)| fault.is_met.load(Relaxed));
        met.map(|(index, _)| index).collect()
    }
}

impl OfConnection {
    /// Whether the connection is to be reset at once.
    pub(crate) fn refuses(&self) -> bool {
        self.of(Direction::Down).chain(self.of(Direction::Up)).any(|(_, fault)| {
            let refuses = fault.kind == Kind::Refuse;
            fault.is_met.fetch_or(refuses, Relaxed);
            refuses
        })
    }

    /// The faults of a direction, the next one last.
    pub(crate) fn queue(&self, direction: Direction) -> Vec<Next> {
        let mut queue: Vec<_> =
            self.of(direction).map(|(index, fault)| Next { offset: fault.offset, kind: fault.kind, index }).collect();
        queue.sort_by_key(|next| std::cmp::Reverse(next.offset));
        queue
    }

    pub(crate) fn mark_met(&self, next: &Next) {
        self.plan.faults[next.index].is_met.store(true, Relaxed);
    }

    fn of(&self, direction: Direction) -> impl Iterator<Item = (usize, &Fault)> {
        self.plan.faults.iter().enumerate().filter(move |(_, fault)| {
            fault.direction == direction && fault.connection.is_none_or(|connection| connection == self.connection)
        })
    }
}

fn parse_fault(text: &str) -> Option<Fault> {
    let mut words = text.trim().split(':');
    let connection = match words.next()? {
        "*" => None,
        number => Some(number.parse().ok()?),
    };
    let direction = match words.next()? {
        "up" => Direction::Up,
        "down" => Direction::Down,
        _ => return None,
    };
    let offset = words.next()?.parse().ok()?;
    let name = words.next()?;
    let argument: Option<u64> = match words.next() {
        Some(word) => Some(word.parse().ok()?),
        None => None,
    };
    let kind = match (name, argument) {
        ("refuse", None) => Kind::Refuse,
        ("delay", Some(ms)) => Kind::Delay(Duration::from_millis(ms)),
        ("reset", None) => Kind::Reset,
        ("close", None) => Kind::Close,
        ("stall", None) => Kind::Stall,
        ("flip", Some(mask)) => Kind::Flip(u8::try_from(mask).ok().filter(|&mask| mask != 0)?),
        ("drop", Some(n)) => Kind::Drop(usize::try_from(n).ok()?),
        ("repeat", Some(n)) => Kind::Repeat(usize::try_from(n).ok()?),
        _ => return None,
    };
    Some(Fault { connection, direction, offset, kind, is_met: AtomicBool::new(false) })
}
