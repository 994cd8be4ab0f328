use super::*;
use arrow_buffer::{Buffer, ScalarBuffer};
use arrowroot_format::streamer::Primitive;
use proptest::prelude::*;

/// A column of texts of such lengths, and one of numbers.
fn columns(lengths: &[usize]) -> Vec<Stored> {
    let mut next = 0;
    let ends = lengths.iter().map(|&length| {
        next += i64::try_from(length).unwrap();
        next
    });
    let offsets: ScalarBuffer<i64> = std::iter::once(0).chain(ends).collect();
    let n_bytes: usize = lengths.iter().sum();
    let bytes: Vec<u8> = (0..n_bytes).map(|index| u8::try_from(index % 251).unwrap()).collect();
    let values: Vec<u16> = (0..lengths.len()).map(|index| u16::try_from(index % 60_000).unwrap()).collect();
    vec![
        Stored::Text { offsets, bytes: bytes.into() },
        Stored::Numbers { primitive: Primitive::UInt16, values: Buffer::from_vec(values) },
    ]
}

/// All values of a column, whatever memory they are in.
fn values(column: &Stored) -> String {
    match column {
        Stored::Text { offsets, bytes } => format!("{:?} {:?}", offsets.as_ref(), bytes.as_slice()),
        Stored::Numbers { values, .. } => format!("{:?}", values.as_slice()),
        other => panic!("{other:?}"),
    }
}

/// The clusters of entries that come in batches of such sizes: where they begin, and their values.
fn clusters(columns: &[Stored], batches: &[usize], border: Border) -> Vec<(u64, usize, Vec<String>)> {
    let mut cutter = Cutter::new(columns.len());
    let mut clusters = Vec::new();
    let mut end = |cutter: &mut Cutter| {
        let Cluster { first_entry, n_entries, columns } = cutter.end();
        let parts: usize = columns.iter().map(Vec::len).max().unwrap_or_default();
        assert!(columns.iter().all(|column| column.iter().map(Stored::len).sum::<usize>() == n_entries));
        assert!(parts <= 3 * N_SMALL);
        let together = columns.iter().map(|parts| concat(&parts.iter().collect::<Vec<_>>()));
        clusters.push((first_entry, n_entries, together.map(|column| values(&column.unwrap())).collect()));
    };
    let n_entries = columns[0].len();
    let mut start = 0;
    for &size in batches.iter().cycle() {
        if start == n_entries {
            break;
        }
        let stop = (start + size).min(n_entries);
        let mut batch: Vec<Stored> = columns.iter().map(|column| column.slice(start..stop)).collect();
        let mut taken = 0;
        while taken < stop - start {
            let (n_taken, is_end) = cutter.take(&mut batch, taken..stop - start, border);
            assert!(n_taken > 0);
            taken += n_taken;
            if is_end {
                end(&mut cutter);
            }
        }
        start = stop;
    }
    if cutter.n_entries() > 0 {
        end(&mut cutter);
    }
    clusters
}

proptest! {
    #[test]
    fn borders_do_not_depend_on_how_values_come(
        lengths in prop::collection::vec(prop_oneof![9 => 0_usize..20, 1 => 200_usize..2000], 1..400),
        batches in prop::collection::vec(1_usize..50, 1..10),
        n_bytes in 1_u64..5000,
        n_entries in prop_oneof![1_u64..100, Just(u64::MAX)],
    ) {
        let columns = columns(&lengths);
        let border = Border { n_bytes, n_entries };
        let at_once = clusters(&columns, &[lengths.len()], border);
        prop_assert_eq!(&clusters(&columns, &batches, border), &at_once);
        prop_assert_eq!(&clusters(&columns, &[1], border), &at_once);
        // Each but the last ends with the first entry that makes it large enough.
        let bytes = |range: Range<usize>| columns.iter().map(|column| column.stored_bytes(range.clone())).sum::<u64>();
        for (index, (first, n, _)) in at_once.iter().enumerate() {
            let start = usize::try_from(*first).unwrap();
            prop_assert!(bytes(start..start + n - 1) < n_bytes && *n as u64 <= n_entries);
            let is_full = bytes(start..start + n) >= n_bytes || *n as u64 == n_entries;
            prop_assert!(is_full || index + 1 == at_once.len());
        }
    }
}

#[test]
fn entries_that_come_one_by_one_are_put_together() {
    let mut columns = columns(&[3; 20_000]);
    let mut cutter = Cutter::new(2);
    for entry in 0..20_000 {
        cutter.take(&mut columns, entry..entry + 1, Border { n_bytes: u64::MAX, n_entries: u64::MAX });
    }
    let cluster = cutter.end();
    assert!(cluster.columns[0].len() <= N_SMALL + 4, "{} parts", cluster.columns[0].len());
    assert_eq!(cluster.columns[1].iter().map(Stored::len).sum::<usize>(), 20_000);
}

#[test]
fn the_parts_of_a_wide_table_are_few_and_what_is_around_them_is_counted() {
    let columns = columns(&[1; 600]);
    let wide: Vec<Stored> = columns.iter().cycle().take(16_000).cloned().collect();
    let mut cutter = Cutter::new(wide.len());
    let mut most = 0;
    for entry in 0..600 {
        let entry = entry..entry + 1;
        let mut entries: Vec<Stored> = wide.iter().map(|column| column.slice(entry.clone())).collect();
        cutter.take(&mut entries, 0..1, Border { n_bytes: u64::MAX, n_entries: u64::MAX });
        most = most.max(cutter.columns[0].len());
        let around = PART_BYTES * (cutter.columns[0].len() * wide.len()) as u64;
        assert_eq!(cutter.held_bytes() - around, 16_000 * 11 * (entry.end as u64) / 2);
    }
    assert!(most < 40, "{most} parts");
    let cluster = cutter.end();
    assert!(cluster.columns.iter().all(|column| column.iter().map(Stored::len).sum::<usize>() == 600));
    let together = concat(&cluster.columns[1].iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(values(&together), values(&columns[1]));
}

#[test]
fn irregular_clusters_follow_the_compression_of_one_a_fixed_number_before() {
    let mut borders = Borders::new(Flush::Bytes(1000), 10_000, false);
    assert_eq!(
        (0..7).map(|cluster| borders.depends_on(cluster)).collect::<Vec<_>>(),
        [None, None, None, None, Some(0), Some(1), Some(2)]
    );
    assert_eq!(borders.border(None).n_bytes, 2000);
    let after = |encoded_bytes| Some(Compressed { n_bytes: 2000, encoded_bytes });
    assert_eq!(borders.border(after(400)).n_bytes, 5000);
    assert_eq!(borders.border(after(2000)).n_bytes, 1000);
    assert_eq!(borders.border(after(2100)).n_bytes, 1000);
    // Never more than is allowed before compression.
    assert_eq!(borders.border(after(1)).n_bytes, 10_000);
    assert_eq!(borders.border(after(0)).n_bytes, 10_000);
    let borders = Borders::new(Flush::Bytes(10_000), 10_000, false);
    assert_eq!(borders.depends_on(100), None);
}

#[test]
fn regular_clusters_have_the_entries_of_the_first_unless_it_was_far_off() {
    let regular = |n_bytes, encoded_bytes| {
        let mut borders = Borders::new(Flush::Bytes(1000), 16_000, true);
        assert_eq!(borders.border(None), Border { n_bytes: 2000, n_entries: MAX_ENTRIES });
        borders.ended(80);
        assert_eq!(borders.border(None), Border { n_bytes: 16_000, n_entries: 80 });
        assert_eq!((borders.depends_on(3), borders.depends_on(4), borders.depends_on(5)), (None, Some(0), None));
        let fourth = borders.border(Some(Compressed { n_bytes, encoded_bytes }));
        borders.ended(fourth.n_entries);
        assert_eq!(borders.border(None), fourth);
        fourth.n_entries
    };
    assert_eq!(regular(2000, 1000), 80);
    assert_eq!(regular(2000, 950), 80);
    assert_eq!(regular(2000, 500), 160);
    assert_eq!(regular(2000, 2000), 40);
    // An eighth of what is allowed is left for entries that are larger than the first.
    assert_eq!(regular(2000, 10), 80 * 14_000 / 2000);
    let mut borders = Borders::new(Flush::Bytes(1 << 40), 16_000, true);
    assert_eq!(borders.border(None), Border { n_bytes: 14_000, n_entries: MAX_ENTRIES });
    borders.ended(80);
    assert_eq!(borders.depends_on(4), None);
    assert_eq!(borders.border(None), Border { n_bytes: 16_000, n_entries: 80 });
}

#[test]
fn entries_and_no_flushes_ask_for_no_compression() {
    let mut borders = Borders::new(Flush::Entries(7), 100, true);
    assert_eq!(borders.border(None), Border { n_bytes: u64::MAX, n_entries: 7 });
    assert_eq!(borders.depends_on(10), None);
    let mut borders = Borders::new(Flush::Never, 100, true);
    assert_eq!(borders.border(None), Border { n_bytes: 100, n_entries: MAX_ENTRIES });
}

#[test]
fn columns_that_are_added_have_default_values_for_the_entries_so_far() {
    let all = columns(&[3; 10]);
    let mut cutter = Cutter::new(2);
    let border = Border { n_bytes: u64::MAX, n_entries: 100 };
    for range in [0..4, 4..10] {
        let mut batch: Vec<Stored> = all.iter().map(|column| column.slice(range.clone())).collect();
        assert_eq!(cutter.take(&mut batch, 0..range.len(), border), (range.len(), false));
    }
    let (n_bytes, held_bytes) = (cutter.n_bytes(), cutter.held_bytes());
    cutter.extend([DataType::Primitive(Primitive::Int32), DataType::Text].iter());
    assert_eq!(cutter.n_columns(), 4);
    assert_eq!(cutter.n_bytes() - n_bytes, 10 * (4 + 4));
    assert_eq!(cutter.held_bytes() - held_bytes, 10 * (4 + 8) + 2 * 2 * PART_BYTES);
    let lengths = |parts: &Vec<Stored>| parts.iter().map(Stored::len).collect::<Vec<_>>();
    assert!(cutter.end().columns.iter().all(|parts| lengths(parts) == [4, 6]));
    assert_eq!(cutter.n_columns(), 4);
}
