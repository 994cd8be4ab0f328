#![expect(clippy::cast_possible_truncation, reason = "the numbers of these tests are small")]

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use arrowroot_arrow::Stored;
use arrowroot_format::codec::{Algorithm, Compressor, Decompressor};
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;
use arrowroot_format::tree::{BasketHead, PlacedBasket};
use arrowroot_storage::{MemoryFile, MemorySink};
use proptest::prelude::*;

use super::*;
use crate::file::{FileSettings, ROOT_DIRECTORY};
use crate::settings::{ColumnCodec, ColumnLayout};

fn file() -> Arc<FileWriter> {
    let settings = FileSettings {
        name: "t.root".to_owned(),
        compression: CompressionSetting::NONE,
        is_reproducible: true,
        n_threads: 1,
        buffer_bytes: 1 << 20,
    };
    FileWriter::create(Arc::new(MemorySink::create("m", &MemoryFile::default())), settings).unwrap()
}

fn settings(flush: Flush, basket_bytes: Option<u32>) -> TreeSettings {
    TreeSettings {
        directory: ROOT_DIRECTORY,
        name: "T".to_owned(),
        title: String::new(),
        compression: CompressionSetting::NONE,
        flush,
        baskets: basket_bytes.map_or(Baskets::Fitted, Baskets::Fixed),
        autosave_bytes: crate::settings::TREE_AUTOSAVE_BYTES,
        generates_offsets: false,
        arrow_schema: None,
        notes: TreeNotes::default(),
        index: None,
        max_record_bytes: MAX_RECORD_BYTES,
    }
}

fn column(name: &str, data_type: DataType, compression: CompressionSetting) -> TreeColumn {
    let layout = ColumnLayout::default();
    TreeColumn {
        name: name.to_owned(),
        title: String::new(),
        data_type,
        counter: None,
        layout,
        compression: ColumnCodec::Set(compression),
    }
}

fn list(of: DataType) -> DataType {
    DataType::List(Box::new(of))
}

const SHORT: DataType = DataType::Primitive(Primitive::Int16);

/// One of each kind: numbers, bools, lists, texts, vectors, optional ones.
fn columns(compression: CompressionSetting) -> Vec<TreeColumn> {
    let optional = DataType::Optional(Box::new(list(SHORT)));
    let types =
        [SHORT, DataType::Primitive(Primitive::Bool), list(SHORT), DataType::Text, list(DataType::Text), optional];
    let names = ["i", "b", "l", "s", "v", "o"];
    names.into_iter().zip(types).map(|(name, data_type)| column(name, data_type, compression)).collect()
}

/// Entry `i` has the number `i`, lists of `lengths[i]` of them, and texts of so many letters.
fn stored(lengths: &[usize], entries: Range<usize>) -> Vec<Stored> {
    let shorts = |values: Vec<i16>| Stored::Numbers { primitive: Primitive::Int16, values: Buffer::from_vec(values) };
    let number = |entry: usize| entry as i16;
    let mut offsets = vec![3_i64];
    let mut items = vec![-1; 3];
    for entry in entries.clone() {
        offsets.push(offsets.last().unwrap() + lengths[entry] as i64);
        items.extend(std::iter::repeat_n(number(entry), lengths[entry]));
    }
    let offsets = ScalarBuffer::from(offsets);
    let letters: Vec<u8> = items.iter().map(|item| b'a' + item.unsigned_abs().to_be_bytes()[1] % 26).collect();
    let n_items = letters.len() as i64;
    let one_each = Stored::Text {
        offsets: ScalarBuffer::from((0..=n_items).collect::<Vec<_>>()),
        bytes: Buffer::from_slice_ref(&letters),
    };
    let lists = Stored::List { offsets: offsets.clone(), items: Box::new(shorts(items)) };
    vec![
        shorts(entries.clone().map(number).collect()),
        Stored::Bits(entries.clone().map(|entry| entry % 3 == 0).collect::<BooleanBuffer>()),
        lists.clone(),
        Stored::Text { offsets: offsets.clone(), bytes: Buffer::from_vec(letters) },
        Stored::List { offsets, items: Box::new(one_each) },
        Stored::Optional {
            valid: entries.map(|entry| lengths[entry] > 0).collect::<BooleanBuffer>(),
            values: Box::new(lists),
        },
    ]
}

/// A cluster of entries in parts that begin at `starts`.
fn cluster(lengths: &[usize], entries: Range<usize>, starts: &[usize]) -> Arc<Cluster> {
    let mut borders: Vec<usize> = starts.iter().copied().filter(|start| entries.contains(start)).collect();
    borders.extend([entries.start, entries.end]);
    borders.sort_unstable();
    borders.dedup();
    let mut columns = vec![Vec::new(); 6];
    for pair in borders.windows(2) {
        for (parts, part) in columns.iter_mut().zip(stored(lengths, pair[0]..pair[1])) {
            parts.push(part);
        }
    }
    Arc::new(Cluster { first_entry: entries.start as u64, n_entries: entries.len(), columns })
}

/// Writes clusters from offset 1000 on. Returns the bytes.
fn write(format: &mut TreeFormat, clusters: &[Arc<Cluster>]) -> Result<Vec<u8>> {
    let mut compressor = Compressor::new();
    let written = MemoryFile::default();
    let mut appender = Appender::new(Arc::new(MemorySink::create("m", &written)));
    appender.append(&[&[0; 1000]])?;
    let mut place = |format: &mut TreeFormat, cluster: &Cluster, tasks: Vec<EncodeTask<Vec<Basket>>>| {
        let mut encoded = tasks.into_iter().map(|task| task(&mut compressor)).collect::<Result<Vec<_>>>()?;
        let later = encoded.split_off(encoded.len() / 2);
        format.place(cluster, encoded, false, &mut appender)?;
        format.place(cluster, later, true, &mut appender)
    };
    for cluster in clusters {
        let tasks = format.tasks(Arc::clone(cluster))?;
        place(format, cluster, tasks)?;
    }
    let rest = format.rest()?;
    let end = Cluster { first_entry: 0, n_entries: 0, columns: vec![Vec::new(); 6] };
    place(format, &end, rest)?;
    appender.publish()?;
    Ok(written.bytes().unwrap_or_default()[1000..].to_vec())
}

/// The entries of a branch as they are in its baskets, and the numbers of these.
fn read(format: &TreeFormat, bytes: &[u8], branch: &str) -> (Vec<Vec<u8>>, Vec<usize>) {
    let number = format.branches.iter().position(|of| of.planned.name == branch).unwrap();
    let placed = &format.placed[number];
    let (mut entries, mut sizes) = (Vec::new(), Vec::new());
    for (index, &PlacedBasket { offset, stored_bytes: n_bytes, .. }) in placed.baskets.iter().enumerate() {
        let start = (offset - 1000) as usize;
        let record = &bytes[start..start + n_bytes as usize];
        let head = BasketHead::parse(record).unwrap();
        assert_eq!(head.stored_bytes, n_bytes);
        assert_eq!((head.seek_key, head.cycle), (offset, index as i16));
        let stored = &record[head.key_bytes as usize..];
        let mut payload = vec![0; head.payload_bytes as usize];
        if head.is_compressed() {
            Decompressor::new().decompress(stored, &mut payload).unwrap();
        } else {
            payload.copy_from_slice(stored);
        }
        let n_entries = head.n_entries as usize;
        let mut starts: Vec<usize> = match head.stored_offsets(&payload).unwrap() {
            Some(offsets) => {
                let words = offsets.as_chunks::<4>().0;
                words.iter().map(|word| (u32::from_be_bytes(*word) - head.key_bytes) as usize).collect()
            }
            None => (0..n_entries).map(|entry| entry * head.entry_bytes as usize).collect(),
        };
        starts.push(head.data_bytes as usize);
        entries.extend(starts.windows(2).map(|pair| payload[pair[0]..pair[1]].to_vec()));
        sizes.push(n_entries);
    }
    (entries, sizes)
}

/// The expected value of each entry.
fn expected(lengths: &[usize], branch: &str) -> Vec<Vec<u8>> {
    let letter = |entry: usize| b'a' + (entry as i16).to_be_bytes()[1] % 26;
    let entry = |(entry, &length): (usize, &usize)| match branch {
        "i" => (entry as i16).to_be_bytes().to_vec(),
        "b" => vec![u8::from(entry % 3 == 0)],
        "nl" | "no" => (length as i32).to_be_bytes().to_vec(),
        "l" | "o" => (entry as i16).to_be_bytes().repeat(length),
        "o_isvalid" => vec![u8::from(length > 0)],
        "s" => [vec![length as u8], vec![letter(entry); length]].concat(),
        "v" => {
            let n_bytes = 6 + 2 * length as u32;
            let head = [&(n_bytes | 0x4000_0000).to_be_bytes()[..], &[0, 10], &(length as u32).to_be_bytes()].concat();
            [head, [1, letter(entry)].repeat(length)].concat()
        }
        other => panic!("{other}"),
    };
    lengths.iter().enumerate().map(entry).collect()
}

const BRANCHES: [&str; 9] = ["i", "b", "nl", "l", "s", "v", "o_isvalid", "no", "o"];

/// After which entry of consecutive ones ROOT would close a basket: as `TBranch::FillImpl` says it, entry by entry.
fn root_baskets(entries: &[Vec<u8>], has_offsets: bool, key_bytes: usize, basket_bytes: usize) -> Vec<usize> {
    let (mut baskets, mut n_entries, mut n_bytes) = (Vec::new(), 0, key_bytes);
    for entry in entries {
        n_entries += 1;
        n_bytes += entry.len();
        let offset_bytes = if has_offsets { 4 * n_entries } else { 0 };
        if n_bytes + 2 * offset_bytes + entry.len() >= basket_bytes {
            baskets.push(n_entries);
            (n_entries, n_bytes) = (0, key_bytes);
        }
    }
    if n_entries > 0 {
        baskets.push(n_entries);
    }
    baskets
}

/// True if the last of these entries fills a basket of them.
fn root_is_full(entries: &[Vec<u8>], has_offsets: bool, key_bytes: usize, basket_bytes: usize) -> bool {
    let n_bytes = key_bytes + entries.iter().map(Vec::len).sum::<usize>();
    let offset_bytes = if has_offsets { 8 * entries.len() } else { 0 };
    entries.last().is_some_and(|last| n_bytes + offset_bytes + last.len() >= basket_bytes)
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![0_usize..4, 0_usize..60], 0..120)
}

fn sorted(mut borders: Vec<usize>, n_entries: usize) -> Vec<usize> {
    borders.retain(|border| *border < n_entries);
    borders.extend([0, n_entries]);
    borders.sort_unstable();
    borders.dedup();
    borders
}

proptest! {
    #[test]
    fn baskets_hold_the_entries(
        lengths in lengths(), starts in prop::collection::vec(0_usize..120, 0..5), is_packed in any::<bool>(),
    ) {
        let zlib = CompressionSetting::new(Algorithm::Zlib, 1).unwrap();
        let compression = if is_packed { zlib } else { CompressionSetting::NONE };
        let mut format = TreeFormat::new(&file(), &columns(compression), settings(Flush::Bytes(1), None)).unwrap();
        let borders = sorted(starts.clone(), lengths.len());
        let clusters: Vec<_> = borders.windows(2).map(|pair| cluster(&lengths, pair[0]..pair[1], &starts)).collect();
        let bytes = write(&mut format, &clusters).unwrap();
        for branch in BRANCHES {
            prop_assert_eq!(read(&format, &bytes, branch).0, expected(&lengths, branch), "{}", branch);
        }
        let largest = |branch: usize| format.placed[branch].largest as usize;
        let longest = lengths.iter().copied().max().unwrap_or_default();
        prop_assert_eq!([largest(2), largest(4), largest(7)], [longest; 3]);
    }

    #[test]
    fn full_baskets_end_where_those_of_root_do(
        lengths in lengths(), starts in prop::collection::vec(0_usize..120, 0..5), basket_bytes in 100_u32..900,
    ) {
        let columns = columns(CompressionSetting::NONE);
        let n_entries = lengths.len();
        let with = settings(Flush::Entries(n_entries as u64), Some(basket_bytes));
        let mut format = TreeFormat::new(&file(), &columns, with).unwrap();
        let bytes = write(&mut format, &[cluster(&lengths, 0..n_entries, &starts)]).unwrap();
        for (number, branch) in BRANCHES.into_iter().enumerate() {
            let entries = expected(&lengths, branch);
            let has_offsets = format.branches[number].has_offsets;
            let key_bytes = format.branches[number].basket_head.key_bytes as usize;
            let baskets = root_baskets(&entries, has_offsets, key_bytes, basket_bytes as usize);
            prop_assert_eq!(read(&format, &bytes, branch), (entries, baskets), "{}", branch);
        }
        // Those that are full come as they became so, and then those that the flush ended; of one entry, by branch.
        let (format, lengths) = (&format, &lengths);
        let closed = |number: usize| {
            let baskets = &format.placed[number].baskets;
            let n_baskets = baskets.len();
            let mut entry_end = 0;
            let place = move |(place, basket): (usize, &PlacedBasket)| {
                let first_entry = entry_end;
                entry_end += basket.n_entries;
                let is_last = place + 1 == n_baskets;
                let entries = expected(lengths, BRANCHES[number]);
                let has_offsets = format.branches[number].has_offsets;
                let key_bytes = format.branches[number].basket_head.key_bytes as usize;
                let of_last = &entries[first_entry as usize..];
                let is_full = root_is_full(of_last, has_offsets, key_bytes, basket_bytes as usize);
                (entry_end, is_last && !is_full, number, basket.offset)
            };
            baskets.iter().enumerate().map(place).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = (0..BRANCHES.len()).flat_map(closed).collect();
        all.sort_unstable();
        prop_assert!(all.is_sorted_by_key(|(.., offset)| *offset), "{:?}", all);
    }

    #[test]
    fn without_flushes_clusters_leave_no_trace(
        lengths in lengths(), borders in prop::collection::vec(0_usize..120, 0..6), basket_bytes in 100_u32..900,
    ) {
        let n_entries = lengths.len();
        let write_in = |borders: Vec<usize>| {
            let columns = columns(CompressionSetting::NONE);
            let mut format = TreeFormat::new(&file(), &columns, settings(Flush::Never, Some(basket_bytes))).unwrap();
            let pieces = sorted(borders, n_entries);
            let clusters: Vec<_> = pieces.windows(2).map(|pair| cluster(&lengths, pair[0]..pair[1], &[])).collect();
            let bytes = write(&mut format, &clusters).unwrap();
            let all = BRANCHES.map(|branch| read(&format, &bytes, branch));
            (bytes, all)
        };
        let (bytes, all) = write_in(borders);
        let (of_one, _) = write_in(vec![]);
        prop_assert!(bytes == of_one);
        for (branch, (entries, _)) in BRANCHES.into_iter().zip(all) {
            prop_assert_eq!(entries, expected(&lengths, branch), "{}", branch);
        }
    }
}

#[test]
fn large_baskets_are_about_equal_and_not_too_large() {
    let n_entries = 300_000;
    let mut lengths = vec![1; n_entries];
    lengths[7] = 1_500_000; // 3 MB in one entry
    let mut format =
        TreeFormat::new(&file(), &columns(CompressionSetting::NONE), settings(Flush::Bytes(1), None)).unwrap();
    let cluster = cluster(&lengths, 0..n_entries, &[1000]);
    let bytes = write(&mut format, &[cluster]).unwrap();
    let (entries, sizes) = read(&format, &bytes, "i");
    assert_eq!((entries.len(), sizes), (n_entries, vec![150_000; 2]));
    let (entries, sizes) = read(&format, &bytes, "l");
    assert_eq!(entries.len(), n_entries);
    assert!(sizes.len() > 8 && sizes.contains(&1), "{sizes:?}");
}

#[test]
fn a_zero_in_a_text_is_refused_by_column_and_entry() {
    let columns = [column("s", DataType::Text, CompressionSetting::NONE)];
    let mut format = TreeFormat::new(&file(), &columns, settings(Flush::Bytes(1), None)).unwrap();
    let text = |texts: [&str; 2]| Stored::Text {
        offsets: ScalarBuffer::from(vec![0, texts[0].len() as i64, (texts[0].len() + texts[1].len()) as i64]),
        bytes: Buffer::from_slice_ref(texts.concat().as_bytes()),
    };
    let parts = vec![text(["a", "b"]), text(["", "c\0d"])];
    let cluster = Cluster { first_entry: 100, n_entries: 4, columns: vec![parts] };
    let error = write(&mut format, &[Arc::new(cluster)]).unwrap_err().to_string();
    assert!(error.contains("column s, entry 103") && error.contains("binary"), "{error}");
}

#[test]
fn a_counter_that_does_not_count_the_lists_of_another_is_refused() {
    let shared = |name: &str| TreeColumn {
        counter: Some("nMuon".to_owned()),
        ..column(name, list(SHORT), CompressionSetting::NONE)
    };
    let lists = |lengths: [usize; 3]| stored(&lengths, 0..3)[2].clone();
    let write_columns = |columns: &[TreeColumn], values: Vec<Stored>| {
        let mut format = TreeFormat::new(&file(), columns, settings(Flush::Bytes(1), None)).unwrap();
        let columns = values.into_iter().map(|part| vec![part]).collect();
        write(&mut format, &[Arc::new(Cluster { first_entry: 10, n_entries: 3, columns })])
    };
    let columns = [shared("Muon_pt"), shared("Muon_eta")];
    assert!(write_columns(&columns, vec![lists([1, 2, 0]), lists([1, 2, 0])]).is_ok());
    let error = write_columns(&columns, vec![lists([1, 2, 0]), lists([1, 1, 1])]).unwrap_err().to_string();
    assert!(error.contains("column Muon_eta, entry 11: 1 items, but nMuon"), "{error}");

    let counter = column("nMuon", DataType::Primitive(Primitive::UInt32), CompressionSetting::NONE);
    let numbers =
        |values: [u32; 3]| Stored::Numbers { primitive: Primitive::UInt32, values: Buffer::from_slice_ref(values) };
    let columns = [counter, shared("Muon_pt")];
    assert!(write_columns(&columns, vec![numbers([1, 2, 0]), lists([1, 2, 0])]).is_ok());
    let error = write_columns(&columns, vec![numbers([1, 2, 1]), lists([1, 2, 0])]).unwrap_err().to_string();
    assert!(error.contains("column Muon_pt, entry 12: 0 items, but nMuon"), "{error}");
}

#[test]
fn tasks_are_worth_a_threads_while() {
    let lengths = vec![2; 20_000];
    let format =
        TreeFormat::new(&file(), &columns(CompressionSetting::NONE), settings(Flush::Bytes(1), Some(2000))).unwrap();
    let mut compressor = Compressor::new();
    let tasks = format.tasks(cluster(&lengths, 0..lengths.len(), &[])).unwrap();
    let sizes: Vec<usize> = tasks.into_iter().map(|task| task(&mut compressor).unwrap().bytes.len()).collect();
    assert!(sizes.len() > 5 && sizes[..sizes.len() - 1].iter().all(|n_bytes| *n_bytes >= TASK_BYTES), "{sizes:?}");
}
