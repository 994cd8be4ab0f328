use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// A file of clusters of 100 entries; in each, branch a has one basket, b two. Written cluster after cluster, each basket
/// of 1000 bytes, with 50 bytes of something else before it.
fn events(n_clusters: u64) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for cluster in 0..n_clusters {
        let entry = cluster * 100;
        for (index, (first_entry, branch)) in [(entry, 0), (entry, 1), (entry + 50, 1)].into_iter().enumerate() {
            let offset = (cluster * 3 + index as u64) * 1050 + 50;
            wanted.push(Wanted { range: offset..offset + 1000, first_entry, branch, is_fetched: true });
        }
    }
    wanted
}

/// The requests as names: `a@0` is the basket of branch a from entry 0, `+` is in the same range, `|` another range.
fn pattern(wanted: &[Wanted], style: ReadStyle) -> Vec<String> {
    let name = |&index: &usize| format!("{}@{}", ["a", "b"][wanted[index].branch as usize], wanted[index].first_entry);
    let windows = Planner::new(style, &clusters_of(wanted)).plan(wanted);
    let span = |span: &Span| span.members.iter().map(name).collect::<Vec<_>>().join("+");
    windows.iter().map(|window| window.spans.iter().map(span).collect::<Vec<_>>().join(" | ")).collect()
}

/// Each piece is a request; as many as fit are handed on together.
fn each(window_bytes: u64) -> ReadStyle {
    ReadStyle { grouping: Grouping::Windows, window_bytes, limits: None, n_ahead: 0 }
}

fn windows(window_bytes: u64, max_gap_bytes: u64) -> ReadStyle {
    let limits = CoalesceLimits { max_gap_bytes, max_span_bytes: u64::MAX };
    ReadStyle {
        grouping: Grouping::Windows,
        window_bytes,
        limits: Some(Merging::Fixed { limits, gap_sum_bytes: u64::MAX }),
        n_ahead: 0,
    }
}

fn tree_cache(learn_entries: u64, prefill: bool, cache_bytes: u64) -> ReadStyle {
    let grouping = Grouping::TreeCache { learn_entries, prefill };
    ReadStyle { grouping, window_bytes: cache_bytes, limits: Some(Merging::Touching), n_ahead: 0 }
}

#[test]
fn each_piece_is_a_request() {
    assert_eq!(pattern(&events(1), each(1)), ["a@0", "b@0", "b@50"]);
    // Also where they touch, and in the order of need.
    let mut wanted = events(2);
    wanted[1].range.start = wanted[0].range.end;
    wanted.swap(0, 2);
    assert_eq!(pattern(&wanted, each(4000)), ["b@50 | b@0 | a@0", "a@100 | b@100 | b@150"]);
}

#[test]
fn windows_hold_what_fits_and_merge_what_is_near() {
    assert_eq!(pattern(&events(2), windows(4000, 50)), ["a@0+b@0+b@50+a@100", "b@100+b@150"]);
    assert_eq!(pattern(&events(1), windows(2000, 49)), ["a@0 | b@0", "b@50"]);
    assert_eq!(pattern(&events(1), windows(10, 1000)), ["a@0", "b@0", "b@50"]);
}

#[test]
fn the_first_windows_grow_to_the_full_size_whatever_batch_they_are_of() {
    let wanted = events(8);
    let style = ReadStyle { n_ahead: 3, ..windows(6000, 0) };
    let mut planner = Planner::new(style, &[]);
    let mut cut = |wanted: &[Wanted]| planner.plan(wanted).iter().map(|window| window.pieces.len()).collect::<Vec<_>>();
    assert_eq!((cut(&wanted[..5]), cut(&wanted[5..])), (vec![2, 3], vec![6, 6, 6, 1]));
    // Where one is on the way, or none, they have nothing to share the line with.
    for n_ahead in [0, 1] {
        assert_eq!(Planner::new(ReadStyle { n_ahead, ..style }, &[]).plan(&wanted[..13]).len(), 3);
    }
}

#[test]
fn what_is_in_memory_is_in_a_window_but_in_no_span() {
    let mut wanted = events(1);
    wanted[1].is_fetched = false;
    let planned = Planner::new(windows(4000, 0), &[]).plan(&wanted);
    assert_eq!(planned.len(), 1);
    assert_eq!(planned[0].pieces, 0..3);
    assert_eq!(pattern(&wanted, windows(4000, 0)), ["a@0 | b@50"]);
    assert_eq!(pattern(&wanted, each(4000)), ["a@0 | b@50"]);
}

#[test]
fn a_tree_cache_learns_and_then_reads_clusters() {
    // ROOT 6: the baskets of the first 60 entries at once, then the clusters that fit in the cache.
    assert_eq!(
        pattern(&events(4), tree_cache(60, true, 6000)),
        ["a@0 | b@0 | b@50", "a@100 | b@100 | b@150 | a@200 | b@200 | b@250", "a@300 | b@300 | b@350"]
    );
    // ROOT 5: one by one while it learns, which is for 100 entries all of the first cluster.
    assert_eq!(pattern(&events(2), tree_cache(100, false, 6000)), ["a@0", "b@0", "b@50", "a@100 | b@100 | b@150"]);
    // Told: clusters from the first on.
    assert_eq!(pattern(&events(2), tree_cache(0, true, 3000)), ["a@0 | b@0 | b@50", "a@100 | b@100 | b@150"]);
    // A cluster that does not fit is cut.
    assert_eq!(pattern(&events(1), tree_cache(0, true, 2000)), ["a@0 | b@0", "b@50"]);
    // What touches is one range.
    let mut touching = events(1);
    touching[1].range = touching[0].range.end..touching[0].range.end + 10;
    assert_eq!(pattern(&touching, tree_cache(0, true, 3000)), ["a@0+b@0 | b@50"]);
}

#[test]
fn learning_ends_once_however_many_batches_there_are() {
    let wanted = events(2);
    let mut planner = Planner::new(tree_cache(100, false, 1 << 20), &clusters_of(&wanted));
    assert_eq!(planner.plan(&wanted[..3]).len(), 3);
    assert_eq!(planner.plan(&wanted[3..]).len(), 1);
}

#[test]
fn clusters_begin_where_all_branches_do() {
    assert_eq!(clusters_of(&events(3)), [0, 100, 200]);
    assert_eq!(clusters_of(&events(3)[1..]), [100, 200]);
    assert!(clusters_of(&[]).is_empty());
}

#[test]
fn a_budget_bounds_the_windows_and_their_number() {
    let style = ReadStyle { n_ahead: 8, ..windows(8 << 20, 0) };
    let bounded = style.within(32 << 20);
    assert_eq!((bounded.window_bytes, bounded.n_ahead), (4 << 20, 3));
    let unbounded = style.within(1 << 30);
    assert_eq!((unbounded.window_bytes, unbounded.n_ahead), (8 << 20, 8));
    let small = style.within(0);
    assert_eq!((small.window_bytes, small.n_ahead), (1, 1));
    assert_eq!(windows(8 << 20, 0).within(0).n_ahead, 0);
}

#[test]
fn a_gap_that_somebody_set_stays_within_the_memory_budget() {
    // Ten pieces of 1000 bytes, a gigabyte apart: a span over all of them is ten gigabytes.
    let wanted: Vec<Wanted> = (0..10)
        .map(|n: u64| Wanted { range: n << 30..(n << 30) + 1000, first_entry: n, branch: 0, is_fetched: true })
        .collect();
    let style = ReadStyle { n_ahead: 3, ..windows(1 << 20, u64::MAX) }.within(64 << 20);
    let read_bytes = |style| {
        let planned = Planner::new(style, &[]).plan(&wanted);
        planned.iter().flat_map(|window| &window.spans).map(|span| span.range.end - span.range.start).sum::<u64>()
    };
    assert_eq!(read_bytes(style), 10_000);
    assert!(read_bytes(windows(1 << 20, u64::MAX)) > 9 << 30);
    // A gap that fits is as it was set, whatever lies between the pieces.
    let near: Vec<Wanted> = (0..10)
        .map(|n| Wanted { range: n * 5000..n * 5000 + 1000, first_entry: n, branch: 0, is_fetched: true })
        .collect();
    let windows = Planner::new(style, &[]).plan(&near);
    assert_eq!((windows[0].spans.len(), windows[0].max_gap_bytes), (1, u64::MAX));
}

proptest! {
    #[test]
    fn every_piece_is_in_one_window_and_one_span(
        pieces in prop::collection::vec((0_u64..100_000, 0_u64..3000, 0_u64..500, 0_u32..4, any::<bool>()), 0..60),
        window_bytes in 1_u64..20_000,
        learn_entries in 0_u64..200,
        kind in 0_u8..5,
        n_ahead in 0_usize..9,
    ) {
        let mut wanted: Vec<Wanted> = pieces
            .iter()
            .map(|&(start, n, first_entry, branch, is_fetched)| Wanted { range: start..start + n, first_entry, branch, is_fetched })
            .collect();
        wanted.sort_by_key(|piece| piece.first_entry);
        let profile =
            AccessProfile { is_remote: true, latency: Duration::from_millis(5), bytes_per_second: 1e7, max_parallel: 4, max_ranges: 1 };
        let style = match kind {
            0 => each(window_bytes),
            1 => windows(window_bytes, 100),
            2 => ReadStyle { limits: Some(Merging::For(profile)), ..windows(window_bytes, 0) },
            _ => tree_cache(learn_entries, kind == 3, window_bytes),
        };
        let style = ReadStyle { n_ahead, ..style };
        let planned = Planner::new(style, &clusters_of(&wanted)).plan(&wanted);
        let mut next = 0;
        for window in &planned {
            prop_assert_eq!(window.pieces.start, next);
            prop_assert!(!window.pieces.is_empty());
            next = window.pieces.end;
            let mut members: Vec<usize> = window.spans.iter().flat_map(|span| span.members.clone()).collect();
            members.sort_unstable();
            let fetched: Vec<usize> = window.pieces.clone().filter(|&index| wanted[index].is_fetched).collect();
            prop_assert_eq!(members, fetched);
            let bytes: u64 = window.pieces.clone().map(|index| size(&wanted[index])).sum();
            prop_assert!(window.pieces.len() == 1 || bytes <= window_bytes);
            for span in &window.spans {
                for &member in &span.members {
                    let range = &wanted[member].range;
                    prop_assert!(span.range.start <= range.start && range.end <= span.range.end);
                }
            }
        }
        prop_assert_eq!(next, wanted.len());
    }
}
