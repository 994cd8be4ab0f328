//! Trees and baskets of real files, read and written again: the bytes are the same.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use arrowroot_file::{File, FileKey, read_range};
use arrowroot_format as format;
use arrowroot_storage::Options;
use format::codec::{CompressionSetting, Decompressor};
use format::container::Key;
use format::streamer::Primitive;
use format::tree::{
    BasketHead, Branch, BranchId, ElementPart, Leaf, LeafId, PlacedBasket, TreeRecord, append_entry_offsets,
};
use format::{Cursor, Output};

/// Baskets of a branch that are written again.
const N_BASKETS: usize = 3;

/// Files whose trees come out otherwise, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("g4-like.root", "TTree of version 5 is not written"), // Geant4's own writer; ROOT has not written it since 2002
    ("uproot-issue-1070.root", "other bytes"),             // uproot names the class of each object in full
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of this repository, and those of the conformance suite if they are here: `ARROWROOT_CONFORMANCE`, or beside it.
fn files() -> Vec<PathBuf> {
    let beside = || repository().join("../shared/conformance");
    let conformance = std::env::var_os("ARROWROOT_CONFORMANCE").map_or_else(beside, PathBuf::from).join("data");
    let mut files = Vec::new();
    let mut waiting = vec![repository().join("tests/fixtures"), conformance];
    while let Some(directory) = waiting.pop() {
        for entry in directory.read_dir().into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("root") => files.push(path),
                _ if path.is_dir() => waiting.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// What is found of one tree: nothing, or why its record is another one.
fn tree_again(file: &File, key: &FileKey) -> Result<(), String> {
    let key = &key.key;
    let object_data = file.read_metadata(key).map_err(|error| error.to_string())?;
    let infos = || Ok(file.streamer_infos().unwrap());
    let key_bytes = usize::from(key.key_bytes);
    let record = TreeRecord::parse(&object_data, &key.class_name, key_bytes, &infos).map_err(|e| e.to_string())?;
    for branch in &record.branches {
        baskets_again(file, &record, branch, &object_data);
    }
    let written = written(&record, &object_data, key_bytes).map_err(|error| error.to_string())?;
    if written == object_data {
        return Ok(());
    }
    let again = TreeRecord::parse(&written, &key.class_name, key_bytes, &infos).map_err(|e| e.to_string())?;
    let [text, text_again] = [&record, &again].map(|record| format!("{:?} {:?}", record.leaves, record.top_branches));
    assert_eq!(text, text_again, "{}", file.url());
    for (branch, branch_again) in record.branches.iter().zip(&again.branches) {
        assert_eq!(branch.baskets(&object_data).unwrap(), branch_again.baskets(&written).unwrap(), "{}", file.url());
    }
    Err("other bytes".to_owned())
}

fn written(record: &TreeRecord, object_data: &[u8], key_bytes: usize) -> format::Result<Vec<u8>> {
    let mut output = Output::new(key_bytes);
    record.write(object_data, &mut output)?;
    Ok(output.into_bytes())
}

/// The heads of a branch's baskets, and their entry offsets.
fn baskets_again(file: &File, record: &TreeRecord, branch: &Branch, object_data: &[u8]) {
    let Ok(baskets) = branch.baskets(object_data) else { return };
    if !branch.file_name.is_empty() {
        return;
    }
    for basket in baskets.iter().filter(|basket| basket.embedded.is_none()).take(N_BASKETS) {
        let Ok(bytes) = read_range(&**file.source(), basket.offset, basket.stored_bytes.into()) else { continue };
        let what = format!("{}: {} {} at {}", file.url(), record.name, branch.name, basket.offset);
        let Ok(head) = BasketHead::parse(&bytes) else { continue };
        let key = Key::parse(&mut Cursor::new(&bytes)).unwrap();
        let mut output = Output::new(0);
        head.write(&key.name, &key.title, &mut output).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(output.into_bytes(), bytes[..head.key_bytes as usize], "{what}");

        let mut payload = vec![0; head.payload_bytes as usize];
        let stored = &bytes[head.key_bytes as usize..];
        Decompressor::new().decompress(stored, &mut payload).unwrap_or_else(|error| panic!("{what}: {error}"));
        if let Some(offsets) = head.stored_offsets(&payload).unwrap() {
            let mut again = payload[..head.data_bytes as usize].to_vec();
            let words: Vec<u32> = offsets.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
            append_entry_offsets(&mut again, &words).unwrap();
            // The last word means nothing, and is not always 0.
            let n_bytes = again.len() - 4;
            assert_eq!(again[..n_bytes], payload[..n_bytes], "{what}");
            assert_eq!(again.len(), payload.len(), "{what}");
        }
    }
}

#[test]
fn records_of_trees_and_heads_of_baskets_are_the_same() {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut n_trees = 0;
    for path in files() {
        let Ok(file) = File::open_path(&path, &Options::default()) else { continue };
        let Ok(keys) = file.keys() else { continue };
        for key in keys {
            if !file.is_tree_class(&key.key.class_name).unwrap_or(false) {
                continue;
            }
            n_trees += 1;
            if let Err(why) = tree_again(&file, key) {
                found.push((path.file_name().unwrap().to_string_lossy().into_owned(), why));
            }
        }
    }
    assert!(n_trees >= 3, "the files of this repository have trees");
    found.retain(|(file, why)| !OTHERWISE.iter().any(|(name, reason)| file == name && why.contains(reason)));
    assert!(found.is_empty(), "of {n_trees} trees: {found:#?}");
}

/// A branch of the tree of `events.root` as the writer makes it, and what of it depends on the run: buffer sizes, baskets.
fn add_branch(made: &mut TreeRecord, real: &TreeRecord, object_data: &[u8], mut branch: Branch) -> BranchId {
    let of_run = real.branches.iter().find(|of_run| of_run.name == branch.name).unwrap();
    branch.compression = CompressionSetting(505);
    branch.basket_bytes = of_run.basket_bytes;
    branch.n_entry_offsets = of_run.n_entry_offsets;
    branch.memory_bytes = of_run.memory_bytes;
    let baskets = of_run.baskets(object_data).unwrap().into_iter().map(|basket| PlacedBasket {
        offset: basket.offset,
        stored_bytes: basket.stored_bytes,
        n_entries: u32::try_from(basket.entry_end - basket.first_entry).unwrap(),
    });
    branch.set_baskets(0, baskets.collect()).unwrap();
    made.add_branch(None, branch).unwrap()
}

#[test]
fn a_tree_that_is_made_here_is_that_of_root() {
    let file = File::open_path(repository().join("tests/fixtures/events.root"), &Options::default()).unwrap();
    let key = &file.find("events").unwrap().key;
    let (object_data, key_bytes) = (file.read_metadata(key).unwrap(), usize::from(key.key_bytes));
    let real = TreeRecord::parse(&object_data, "TTree", key_bytes, &|| panic!("a tree of ROOT 6")).unwrap();

    let mut made = TreeRecord::new("events", "four clusters of 100 entries");
    let number = |made: &mut TreeRecord, name: &str, primitive, counter: Option<LeafId>| {
        let leaf = Leaf::number(name, primitive, &[]).unwrap();
        let dims = counter.map_or_else(String::new, |counter| format!("[{}]", made.leaf(counter).name));
        let title = format!("{name}{dims}/{}", leaf.code().unwrap());
        let branch = add_branch(made, &real, &object_data, Branch::new(name, &title));
        made.add_leaf(branch, leaf, counter).unwrap()
    };
    number(&mut made, "number", Primitive::Int32, None);
    number(&mut made, "even", Primitive::Bool, None);
    let n = number(&mut made, "n", Primitive::Int32, None);
    number(&mut made, "values", Primitive::Float32, Some(n));
    number(&mut made, "squares", Primitive::Float32, Some(n));
    number(&mut made, "price", Primitive::Float64, None);
    made.leaves[n.0 as usize].set_maximum(3).unwrap();
    for (name, class, version, node_type, checksum, split_level) in
        [("list", "vector<float>", 6, 0, 0x055a_169b, 99), ("text", "string", 2, -1, 0x6e6f_1604, 0)]
    {
        let element = ElementPart {
            class_name: class.to_owned(),
            class_version: version,
            node_type,
            checksum,
            ..ElementPart::default()
        };
        let mut branch = Branch::of_class(name, name, element);
        branch.split_level = split_level; // as it was asked for
        let branch = add_branch(&mut made, &real, &object_data, branch);
        made.add_leaf(branch, Leaf::element(name, name, -1, -1), None).unwrap();
    }
    made.n_entries = 350;
    made.auto_flush = 100;
    (made.auto_save, made.flushed_bytes) = (real.auto_save, real.flushed_bytes);
    made.set_totals();

    let written = written(&made, &[], key_bytes).unwrap();
    let made = TreeRecord::parse(&written, "TTree", key_bytes, &|| panic!("a tree of ROOT 6")).unwrap();
    let [made, real] = [made, real].map(|record| format!("{record:#?}"));
    let other: Vec<_> = made.lines().zip(real.lines()).filter(|(made, real)| made != real).collect();
    assert_eq!(other, []);
    assert_eq!(written, object_data);
}
