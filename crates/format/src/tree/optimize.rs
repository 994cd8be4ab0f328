//! How large the baskets of a tree should be by ROOT's own rule.
//!
//! Source: `TTree::OptimizeBaskets`, `TBranch::SetBasketSize`, `TTree::Fill` (ROOT 6.40).

use super::record::TreeRecord;

/// Smallest and largest size of a basket before memory is shared out.
const FIRST_LIMITS: (u32, u32) = (512, 256_000);
/// Sizes are rounded up to more than this, and a multiple of it.
const STEP_BYTES: u32 = 512;
/// A basket that would be larger than this gets the largest size instead.
const TOO_LARGE_BYTES: u32 = 10_000_000;
/// The limits stay between these, whatever the memory is.
const HARD_LIMITS: (u32, u32) = (8, 1 << 30);
/// Memory is shared out in at most so many times the sizes that the first pass found.
const MAX_FACTOR: f64 = 100.0;
/// Two numbers of 4 bytes for each entry: the offsets of a basket, and room for them.
const OFFSET_BYTES: u64 = 8;
/// No basket is smaller than this, the name of its branch and the number of its offsets together.
const KEY_BYTES: i32 = 100;

/// A branch as the rule looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchBuffers {
    /// `fTotBytes`: its uncompressed baskets and their keys, in bytes.
    pub memory_bytes: i64,
    /// `fZipBytes`: its baskets in the file, in bytes.
    pub stored_bytes: i64,
    /// `fEntries`.
    pub n_entries: i64,
    /// `fBasketSize`, in bytes.
    pub basket_bytes: i32,
    /// `fEntryOffsetLen`: not 0 if its baskets store where entries begin.
    pub n_entry_offsets: i32,
    /// Bytes of its name.
    pub name_bytes: i32,
    /// True if it has branches inside: its size then stays.
    pub has_branches: bool,
}

/// The arguments of `TTree::OptimizeBaskets`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BasketRule {
    /// Bytes for the baskets of all branches together.
    pub max_memory_bytes: u64,
    /// Branches that compression makes smaller, but not so many times, are no longer compressed.
    pub min_compression: f32,
}

impl Default for BasketRule {
    /// As `TTree::OptimizeBaskets` without arguments.
    fn default() -> Self {
        BasketRule { max_memory_bytes: 10_000_000, min_compression: 1.1 }
    }
}

impl BasketRule {
    /// As ROOT calls it while it writes, once: after the baskets of the first cluster. `memory_bytes`: `fTotBytes` of the tree
    /// then. No compression is ended.
    pub fn of_first_flush(memory_bytes: u64) -> Self {
        BasketRule { max_memory_bytes: memory_bytes, min_compression: 1.0 }
    }
}

/// The answer of the rule for a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptimizedBaskets {
    /// One for each branch.
    pub branches: Vec<OptimizedBranch>,
    /// Bytes of one basket of each leaf's branch: with the old sizes, and with the new ones.
    pub memory_bytes: [i64; 2],
    /// Baskets that the entries so far take, roughly: with the old sizes, and with the new ones.
    pub n_baskets: [i64; 2],
}

/// The answer of the rule for a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptimizedBranch {
    /// `fBasketSize`, in bytes.
    pub basket_bytes: i32,
    /// True if compressing gains too little, and ROOT would end it.
    pub ends_compression: bool,
}

/// Sizes of baskets as `TTree::OptimizeBaskets` chooses them.
///
/// `leaves` has the place in `branches` of the branch of each leaf, in the order of the tree's leaves (`fLeaves`): the rule goes
/// over these, so it looks several times at a branch with several. `memory_bytes` and `auto_flush` are those of the tree; entries
/// in a cluster count only if `auto_flush` is positive, else the entries of each branch do. Without leaves or bytes, nothing changes.
///
/// Sizes and sums wrap where ROOT's do (above 2 GiB of baskets in memory). Takes some 20 ns for each leaf.
pub fn optimize_baskets(
    branches: &[BranchBuffers],
    leaves: &[usize],
    memory_bytes: i64,
    auto_flush: i64,
    rule: BasketRule,
) -> OptimizedBaskets {
    let unchanged =
        |branch: &BranchBuffers| OptimizedBranch { basket_bytes: branch.basket_bytes, ends_compression: false };
    let mut optimized = OptimizedBaskets {
        branches: branches.iter().map(unchanged).collect(),
        memory_bytes: [0; 2],
        n_baskets: [0; 2],
    };
    if leaves.is_empty() || memory_bytes == 0 {
        return optimized;
    }
    let average_bytes = double(memory_bytes) / leaves.len() as f64;
    let mut sharing = Sharing { limits: FIRST_LIMITS, factor: 1.0 };
    for is_last in [false, true] {
        (optimized.memory_bytes, optimized.n_baskets) = ([0; 2], [0; 2]);
        for &index in leaves {
            let (Some(branch), Some(found)) = (branches.get(index), optimized.branches.get_mut(index)) else {
                continue;
            };
            // The second pass sees the size that it gave for an earlier leaf of the branch.
            let old_bytes = found.basket_bytes;
            optimized.memory_bytes[0] += i64::from(old_bytes);
            let n_old = truncated(double(branch.memory_bytes) / f64::from(old_bytes)).saturating_add(1);
            optimized.n_baskets[0] = optimized.n_baskets[0].saturating_add(n_old);
            if branch.has_branches {
                optimized.n_baskets[1] = optimized.n_baskets[1].saturating_add(n_old);
                continue;
            }
            let cluster_entries = if auto_flush > 0 { auto_flush } else { branch.n_entries };
            let cluster_entries = is_last.then_some(cluster_entries);
            let new_bytes = sharing.basket_bytes(branch, old_bytes, average_bytes, cluster_entries);
            optimized.memory_bytes[1] += i64::from(new_bytes);
            let n_new = truncated(double(branch.memory_bytes) / f64::from(new_bytes)).saturating_add(1);
            optimized.n_baskets[1] = optimized.n_baskets[1].saturating_add(n_new);
            if is_last {
                found.basket_bytes = branch.least_bytes().max(new_bytes.cast_signed());
                let compression = match branch.stored_bytes {
                    1.. => double(branch.memory_bytes) / double(branch.stored_bytes),
                    _ => 1.0,
                };
                found.ends_compression |= compression > 1.0 && compression < f64::from(rule.min_compression);
            }
        }
        sharing = Sharing::after(sharing.limits, rule.max_memory_bytes, optimized.memory_bytes[1]);
    }
    optimized
}

/// How a pass shares memory out.
struct Sharing {
    /// Smallest and largest size of a basket.
    limits: (u32, u32),
    factor: f64,
}

impl Sharing {
    /// For the pass after one that had these limits, and gave so many bytes.
    fn after(limits: (u32, u32), max_memory_bytes: u64, given_bytes: i64) -> Sharing {
        let factor = (max_memory_bytes as f64 / f64::from(wrapped(given_bytes))).min(MAX_FACTOR);
        let (least, most) = (f64::from(limits.0) * factor, f64::from(limits.1) * factor);
        let (hard_least, hard_most) = HARD_LIMITS;
        let new_least = match least {
            _ if least > f64::from(hard_most) => hard_most,
            _ if least < f64::from(hard_least) => hard_least,
            _ => unsigned(least),
        };
        let new_most = if most > f64::from(hard_most) { new_least } else { unsigned(most) };
        Sharing { limits: (new_least, new_most), factor }
    }

    /// `cluster_entries`: known in the last pass.
    fn basket_bytes(
        &self,
        branch: &BranchBuffers,
        old_bytes: i32,
        average_bytes: f64,
        cluster_entries: Option<i64>,
    ) -> u32 {
        let (least, most) = self.limits;
        let memory_bytes = double(branch.memory_bytes);
        let entry_bytes = match branch.n_entries {
            0 => unsigned(average_bytes),
            n_entries => unsigned(memory_bytes / double(n_entries)).wrapping_add(1),
        };
        let ideal = f64::from(old_bytes) * (memory_bytes / average_bytes) * self.factor;
        let mut bytes = if ideal < 0.0 || ideal > f64::from(most) { most } else { unsigned(ideal) };
        if let Some(n_entries) = cluster_entries {
            if branch.n_entry_offsets != 0 {
                bytes = low_word(u64::from(bytes).wrapping_add(n_entries.cast_unsigned().wrapping_mul(OFFSET_BYTES)));
            }
            bytes = (bytes - bytes % STEP_BYTES).wrapping_add(STEP_BYTES);
        }
        let bytes = bytes.max(entry_bytes).max(least);
        if bytes > TOO_LARGE_BYTES { most } else { bytes }
    }
}

impl BranchBuffers {
    /// The size that `TBranch::SetBasketSize` makes of a smaller one.
    fn least_bytes(&self) -> i32 {
        KEY_BYTES.saturating_add(self.name_bytes).saturating_add(self.n_entry_offsets)
    }
}

impl TreeRecord {
    /// The answer of [`optimize_baskets`] for the tree: one for each of its branches, in their order. Needs nothing but the record.
    pub fn optimized_baskets(&self, rule: BasketRule) -> OptimizedBaskets {
        let buffers = self.branches.iter().map(|branch| BranchBuffers {
            memory_bytes: branch.memory_bytes,
            stored_bytes: branch.stored_bytes,
            n_entries: branch.n_entries,
            basket_bytes: branch.basket_bytes,
            n_entry_offsets: branch.n_entry_offsets,
            name_bytes: i32::try_from(branch.name.len()).unwrap_or(i32::MAX),
            has_branches: !branch.branches.is_empty(),
        });
        let branch_of = |leaf| self.branch_of_leaf(leaf).map(|branch| branch.0 as usize);
        let leaves: Vec<usize> = self.listed_leaves.iter().copied().filter_map(branch_of).collect();
        optimize_baskets(&buffers.collect::<Vec<_>>(), &leaves, self.memory_bytes, self.auto_flush, rule)
    }
}

/// ROOT takes counts of bytes and entries as doubles.
fn double(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, reason = "a count of baskets; it saturates")]
fn truncated(number: f64) -> i64 {
    number as i64
}

/// A double as the unsigned word of 32 bits that a C++ compiler makes of it: the low half of the signed word of 64.
fn unsigned(number: f64) -> u32 {
    low_word(truncated(number).cast_unsigned())
}

#[expect(clippy::cast_possible_truncation, reason = "ROOT's sizes have 32 bits and wrap")]
fn low_word(number: u64) -> u32 {
    number as u32
}

/// A sum as ROOT's `Int_t` has it.
fn wrapped(sum: i64) -> i32 {
    low_word(sum.cast_unsigned()).cast_signed()
}

#[cfg(test)]
mod tests;
