//! How a table is filled by several at the same time.

use super::policy::Policy;

/// Buffers of a table, if nobody says how many.
const N_BUFFERS: usize = 4;

/// The most buffers of a table: more are of no use to anybody.
pub const MAX_BUFFERS: usize = 4096;

/// The order in which entries stand in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Any. The entries of one fill follow one another, but for a cluster's end in between.
    Free,
    /// That in which fills were taken.
    Filled,
    /// That of the numbers that producers give them. The file is the same whatever the threads, if they fill one table at a time.
    Numbered,
}

/// How a table is filled by several at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextSettings {
    /// Which buffer is filled, where the order is free; otherwise one is at a time.
    pub policy: Policy,
    /// Most buffers in use: those that are being filled, and those that are being compressed. The bound in bytes of the file
    /// holds besides.
    pub n_buffers: usize,
    /// The order of the entries.
    pub order: Order,
    /// True if a producer that would wait compresses instead.
    pub helps: bool,
}

impl ContextSettings {
    /// True if the order of the entries depends on threads, with so many contexts.
    pub(super) fn is_by_chance(&self, n_contexts: usize) -> bool {
        // One alone fills its buffers in turns.
        let is_in_turns = self.policy == Policy::Fifo && self.n_buffers > 1;
        self.order == Order::Free && (is_in_turns || n_contexts > 1)
    }
}

impl Default for ContextSettings {
    fn default() -> Self {
        ContextSettings { policy: Policy::Fullest, n_buffers: N_BUFFERS, order: Order::Free, helps: true }
    }
}
