//! From what is needed, in the order of need, to the requests that are made. Plain data, without I/O.

use std::ops::Range;

use crate::coalesce::{CoalesceLimits, Span, coalesce, limits_for, with_gaps_within};
use crate::source::AccessProfile;

/// Share of the memory budget that one window may take: two are in use while one is decoded, and the batches need room.
const WINDOW_SHARE: u64 = 8;
/// Share of the memory budget that all windows may take that are there or on the way.
const ALL_WINDOWS_SHARE: u64 = 2;

/// A piece of the file that somebody needs: a basket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Half-open offsets in the file in bytes.
    pub range: Range<u64>,
    /// First entry in it.
    pub first_entry: u64,
    /// Number of its branch.
    pub branch: u32,
    /// Whether it must be fetched; what is in memory already still has its place in the order.
    pub is_fetched: bool,
}

/// What makes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// As many pieces, in the order of need, as fit in a window.
    Windows,
    /// As ROOT's TTreeCache: while it learns, what the first entries need; then whole clusters, as many as fit.
    TreeCache {
        /// Entries of the learning phase; 0: it was told the branches.
        learn_entries: u64,
        /// Whether the learning phase is one request too (ROOT 6) or a read for each basket (ROOT 5).
        prefill: bool,
    },
}

/// What is merged within a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Merging {
    /// Nothing but what touches.
    Touching,
    /// By limits that somebody set, as far as memory allows.
    Fixed {
        /// As they were set.
        limits: CoalesceLimits,
        /// What the gaps of one request may be together, in bytes.
        gap_sum_bytes: u64,
    },
    /// By what is best for a store of this profile.
    For(AccessProfile),
}

impl Merging {
    /// The limits for one request.
    pub fn limits(&self, ranges: &[Range<u64>]) -> CoalesceLimits {
        match *self {
            Merging::Touching => CoalesceLimits { max_gap_bytes: 0, max_span_bytes: u64::MAX },
            Merging::Fixed { limits, gap_sum_bytes } => with_gaps_within(limits, gap_sum_bytes, ranges),
            Merging::For(profile) => limits_for(profile, ranges),
        }
    }
}

/// How the engine is to ask a scan's source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadStyle {
    /// What makes a request.
    pub grouping: Grouping,
    /// Payload of one window in bytes, at most, unless a single range is larger.
    pub window_bytes: u64,
    /// What of a request is merged into one range; `None`: each piece is a request, one after the other, in the order of
    /// need.
    pub limits: Option<Merging>,
    /// Windows that are fetched in the background; 0: who decodes, reads.
    pub n_ahead: usize,
}

impl ReadStyle {
    /// The same within a memory budget: smaller windows, and fewer of them at a time.
    #[must_use]
    pub fn within(self, memory_budget_bytes: u64) -> ReadStyle {
        let window_bytes = self.window_bytes.min(memory_budget_bytes / WINDOW_SHARE).max(1);
        let fitting = memory_budget_bytes / ALL_WINDOWS_SHARE / window_bytes;
        let n_ahead = self.n_ahead.min(usize::try_from(fitting.saturating_sub(1)).unwrap_or(usize::MAX));
        let n_ahead = n_ahead.max(self.n_ahead.min(1));
        let share = memory_budget_bytes / ALL_WINDOWS_SHARE / (n_ahead as u64 + 1);
        let limits = self.limits.map(|merging| match merging {
            Merging::Fixed { limits, .. } => {
                Merging::Fixed { limits, gap_sum_bytes: share.saturating_sub(window_bytes) }
            }
            other => other,
        });
        ReadStyle { window_bytes, n_ahead, limits, ..self }
    }
}

/// Pieces that are fetched together, which is one request unless each piece is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The pieces: places in what was planned, neighbours in the order of need.
    pub pieces: Range<usize>,
    /// The ranges that are asked for. Members are places in what was planned.
    pub spans: Vec<Span>,
    /// What lies between two pieces and is not more than this is read with them, in bytes.
    pub max_gap_bytes: u64,
}

/// Cuts what is needed into windows. It is fed in the order of need, a batch at a time, and no window is over two batches.
#[derive(Debug, Clone)]
pub struct Planner {
    style: ReadStyle,
    /// Entries at which clusters end or begin, sorted.
    clusters: Vec<u64>,
    /// First entry after the learning phase, once it has begun.
    learns_until: Option<u64>,
    /// Windows that were cut so far, as long as they are the first.
    n_first: usize,
}

impl Planner {
    /// `clusters`: entries at which clusters begin, sorted; only a tree cache looks at them.
    pub fn new(style: ReadStyle, clusters: &[u64]) -> Self {
        let clusters =
            if matches!(style.grouping, Grouping::TreeCache { .. }) { clusters.to_vec() } else { Vec::new() };
        Planner { style, clusters, learns_until: None, n_first: 0 }
    }

    /// Cuts the next batch into windows. Each piece is in exactly one, and those that are fetched in exactly one span.
    pub fn plan(&mut self, wanted: &[Wanted]) -> Vec<Window> {
        let mut windows = Vec::new();
        let mut start = 0;
        while start < wanted.len() {
            let stop = match self.style.grouping {
                Grouping::Windows => {
                    let bytes = self.next_bytes();
                    self.fill(wanted, start..wanted.len(), bytes)
                }
                Grouping::TreeCache { learn_entries, prefill } => {
                    self.next_of_tree_cache(wanted, start, learn_entries, prefill)
                }
            };
            windows.push(self.window(wanted, start..stop));
            start = stop;
        }
        windows
    }

    /// Payload of the next window, at most. Windows that are on the way share the line: those of one size that were asked for
    /// at the same time come at the same time, and nothing is decoded before. So the first ones grow, up to the full size
    /// where as many are on the way as may be.
    fn next_bytes(&mut self) -> u64 {
        let n_steps = self.style.n_ahead.max(1);
        self.n_first = (self.n_first + 1).min(n_steps);
        (self.style.window_bytes / n_steps as u64).max(1).saturating_mul(self.n_first as u64)
    }

    /// End of a window from the start of `among` on.
    fn fill(&self, wanted: &[Wanted], among: Range<usize>, window_bytes: u64) -> usize {
        let mut filled = size(&wanted[among.start]);
        let mut stop = among.start + 1;
        while stop < among.end && filled.saturating_add(size(&wanted[stop])) <= window_bytes {
            filled = filled.saturating_add(size(&wanted[stop]));
            stop += 1;
        }
        stop
    }

    fn next_of_tree_cache(&mut self, wanted: &[Wanted], start: usize, learn_entries: u64, prefill: bool) -> usize {
        let first_entry = wanted[start].first_entry;
        let learns_until = *self.learns_until.get_or_insert(first_entry.saturating_add(learn_entries));
        if first_entry < learns_until && learn_entries > 0 {
            if !prefill {
                return start + 1;
            }
            let learning = wanted[start..].iter().take_while(|piece| piece.first_entry < learns_until).count();
            return self.fill(wanted, start..start + learning, self.style.window_bytes);
        }
        let cluster_of = |piece: &Wanted| self.clusters.partition_point(|&boundary| boundary <= piece.first_entry);
        let mut stop = start;
        let mut filled = 0_u64;
        while stop < wanted.len() {
            let cluster = cluster_of(&wanted[stop]);
            let whole = wanted[stop..].iter().take_while(|piece| cluster_of(piece) == cluster);
            let (n_pieces, n_bytes) =
                whole.fold((0, 0_u64), |(n, bytes), piece| (n + 1, bytes.saturating_add(size(piece))));
            if filled.saturating_add(n_bytes) > self.style.window_bytes {
                // A cluster that is larger than the cache is cut.
                return if stop == start {
                    self.fill(wanted, start..start + n_pieces, self.style.window_bytes)
                } else {
                    stop
                };
            }
            filled += n_bytes;
            stop += n_pieces;
        }
        stop
    }

    fn window(&self, wanted: &[Wanted], pieces: Range<usize>) -> Window {
        let fetched: Vec<usize> = pieces.clone().filter(|&index| wanted[index].is_fetched).collect();
        let ranges: Vec<Range<u64>> = fetched.iter().map(|&index| wanted[index].range.clone()).collect();
        let (mut spans, max_gap_bytes) = match &self.style.limits {
            Some(merging) => {
                let limits = merging.limits(&ranges);
                (coalesce(&ranges, limits), limits.max_gap_bytes)
            }
            None => {
                (ranges.into_iter().zip(0..).map(|(range, index)| Span { range, members: vec![index] }).collect(), 0)
            }
        };
        for member in spans.iter_mut().flat_map(|span| &mut span.members) {
            *member = fetched[*member];
        }
        Window { pieces, spans, max_gap_bytes }
    }
}

fn size(piece: &Wanted) -> u64 {
    piece.range.end.saturating_sub(piece.range.start)
}

/// Where clusters begin, as far as the pieces tell: at entries at which every branch begins a new piece.
pub fn clusters_of(wanted: &[Wanted]) -> Vec<u64> {
    let mut begins: Vec<(u64, u32)> = wanted.iter().map(|piece| (piece.first_entry, piece.branch)).collect();
    begins.sort_unstable();
    begins.dedup();
    let mut branches: Vec<u32> = wanted.iter().map(|piece| piece.branch).collect();
    branches.sort_unstable();
    branches.dedup();
    let same_entry = begins.chunk_by(|a, b| a.0 == b.0);
    same_entry.filter(|group| group.len() == branches.len()).map(|group| group[0].0).collect()
}

#[cfg(test)]
mod tests;
