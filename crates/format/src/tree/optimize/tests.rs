use super::*;
use crate::streamer::Primitive;
use crate::tree::{Branch, Leaf};

fn buffers(memory_bytes: i64, basket_bytes: i32, n_entry_offsets: i32) -> BranchBuffers {
    BranchBuffers {
        memory_bytes,
        stored_bytes: memory_bytes / 4,
        n_entries: 1000,
        basket_bytes,
        n_entry_offsets,
        name_bytes: 1,
        has_branches: false,
    }
}

fn sizes(branches: &[BranchBuffers], leaves: &[usize], rule: BasketRule) -> Vec<i32> {
    let total = branches.iter().map(|branch| branch.memory_bytes).sum();
    optimize_baskets(branches, leaves, total, 0, rule).branches.iter().map(|branch| branch.basket_bytes).collect()
}

#[test]
fn memory_is_shared_out_by_the_bytes_of_branches() {
    let branches = [buffers(8_000_000, 32_000, 0), buffers(2_000_000, 32_000, 0)];
    // Pass one gives 51,200 and 12,800 bytes, so the memory is shared out in 10,000,000 / 64,000 times that, at most 100 times.
    let rule = BasketRule { max_memory_bytes: 640_000, min_compression: 1.1 };
    assert_eq!(sizes(&branches, &[0, 1], rule), [512_000, 128_000].map(|bytes| bytes + 512));
    let capped = optimize_baskets(&branches, &[0, 1], 10_000_000, 0, BasketRule::default());
    assert_eq!(capped.branches[1].basket_bytes, 1_280_000 + 512);
    assert_eq!(capped.memory_bytes, [64_000, 5_120_512 + 1_280_512]);
    assert_eq!(capped.n_baskets, [1 + 250 + 1 + 62, 1 + 1 + 1 + 1]);
}

#[test]
fn offsets_take_eight_bytes_for_each_entry_of_a_cluster() {
    let branches = [buffers(1_000_000, 32_000, 0), buffers(1_000_000, 32_000, 1000)];
    let rule = BasketRule { max_memory_bytes: 64_000, min_compression: 1.1 };
    let of = |auto_flush| {
        let optimized = optimize_baskets(&branches, &[0, 1], 2_000_000, auto_flush, rule);
        optimized.branches.iter().map(|branch| branch.basket_bytes).collect::<Vec<_>>()
    };
    assert_eq!(of(100), [32_256, 33_280], "as many as are in a cluster");
    assert_eq!(of(-30_000_000), [32_256, 40_448], "or in the branch, if the tree does not say");
}

#[test]
fn a_branch_of_several_leaves_grows_with_each() {
    let branches = [buffers(1_000_000, 32_000, 0)];
    let rule = BasketRule { max_memory_bytes: 1 << 20, min_compression: 1.1 };
    // A third of the memory would be each leaf's share; then the size counts that an earlier leaf was given.
    assert_eq!(sizes(&branches, &[0], rule), [(1 << 20) + 512]);
    assert_eq!(sizes(&branches, &[0, 0, 0], rule), [932_352]);
}

#[test]
fn groups_keep_their_size_and_nothing_is_too_small_for_its_key() {
    let group = BranchBuffers { has_branches: true, ..buffers(0, 77, 0) };
    let named = BranchBuffers { name_bytes: 600, ..buffers(100, 32_000, 50) };
    let rule = BasketRule { max_memory_bytes: 1000, min_compression: 1.1 };
    assert_eq!(sizes(&[group, named], &[0, 1], rule)[0], 77);
    assert!(sizes(&[group, named], &[0, 1], rule)[1] >= 100 + 600 + 50);
}

#[test]
fn compression_that_gains_little_is_ended_but_not_at_the_first_flush() {
    let little = BranchBuffers { stored_bytes: 950_000, ..buffers(1_000_000, 32_000, 0) };
    let much = buffers(1_000_000, 32_000, 0);
    let none = BranchBuffers { stored_bytes: 1_000_000, ..little };
    let ends = |rule| {
        let optimized = optimize_baskets(&[little, much, none], &[0, 1, 2], 3_000_000, 0, rule);
        optimized.branches.iter().map(|branch| branch.ends_compression).collect::<Vec<_>>()
    };
    assert_eq!(ends(BasketRule::default()), [true, false, false]);
    assert_eq!(ends(BasketRule::of_first_flush(3_000_000)), [false; 3]);
}

#[test]
fn nothing_changes_without_leaves_or_bytes() {
    let branches = [buffers(0, 123, 0)];
    assert_eq!(sizes(&branches, &[0], BasketRule::default()), [123]);
    assert_eq!(sizes(&[buffers(10, 123, 0)], &[], BasketRule::default()), [123]);
}

#[test]
fn numbers_that_make_no_sense_end_without_a_panic() {
    for hostile in [i64::MIN, -1, 0, 1, i64::MAX] {
        for basket_bytes in [i32::MIN, -1, 0, 1, i32::MAX] {
            let branch = BranchBuffers {
                memory_bytes: hostile,
                stored_bytes: hostile,
                n_entries: hostile,
                basket_bytes,
                n_entry_offsets: basket_bytes,
                name_bytes: i32::MAX,
                has_branches: false,
            };
            for max_memory_bytes in [0, 1, u64::MAX] {
                let rule = BasketRule { max_memory_bytes, min_compression: f32::NAN };
                optimize_baskets(&[branch; 3], &[0, 1, 2, 9], hostile, hostile, rule);
            }
        }
    }
}

#[test]
fn a_record_says_what_the_rule_needs() {
    let mut record = TreeRecord::new("t", "");
    for (name, memory_bytes) in [("x", 8_000_000), ("y", 2_000_000)] {
        let id = record.add_branch(None, Branch::new(name, name)).unwrap();
        record.add_leaf(id, Leaf::number(name, Primitive::Float32, &[]).unwrap(), None).unwrap();
        let branch = &mut record.branches[id.0 as usize];
        (branch.memory_bytes, branch.stored_bytes, branch.n_entries) = (memory_bytes, memory_bytes / 4, 1000);
    }
    record.set_totals();
    let rule = BasketRule { max_memory_bytes: 640_000, min_compression: 1.1 };
    let sizes = record.optimized_baskets(rule).branches;
    assert_eq!(sizes.iter().map(|branch| branch.basket_bytes).collect::<Vec<_>>(), [512_512, 128_512]);
}
