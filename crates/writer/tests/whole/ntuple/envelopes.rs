//! Writes again what was read, and compares the bytes.

use super::*;
use arrowroot::storage::Source;
use arrowroot_file::{read_range, unpack};
use arrowroot_format::rntuple::{ANCHOR_CLASS, PAGE_CHECKSUM_BYTES, Schema as NtupleSchema, check_page};

/// The uncompressed envelope of a blob.
fn envelope(source: &dyn Source, blob: Blob) -> Vec<u8> {
    let stored = read_range(source, blob.offset, blob.stored_bytes).unwrap();
    let mut out = Vec::new();
    unpack(&mut Decompressor::new(), &stored, usize::try_from(blob.uncompressed_bytes).unwrap(), &mut out).unwrap();
    out
}

/// Checks that the metadata of an RNTuple, and of its attribute sets, are written as they were read. Returns its source and
/// anchor.
pub(crate) fn check(file: &File, path: &str) -> (Arc<dyn Source>, Anchor) {
    let key = file.find(path).unwrap().key;
    let source = Arc::clone(file.source());
    let object = file.read_metadata(&key).unwrap();
    let anchor = check_object(source.as_ref(), &object, path);
    (source, anchor)
}

fn check_object(source: &dyn Source, object: &[u8], path: &str) -> Anchor {
    let anchor = Anchor::parse(object, ANCHOR_CLASS).unwrap();
    assert!(anchor.write().unwrap() == object, "{path}: the anchor");
    let header = envelope(source, anchor.header);
    let mut schema = NtupleSchema::parse(&header).unwrap();
    assert!(schema.write().unwrap() == header, "{path}: the header");
    let bytes = envelope(source, anchor.footer);
    let footer = Footer::parse(&bytes, &mut schema).unwrap();
    assert!(footer.write(&schema).unwrap() == bytes, "{path}: the footer");
    assert!(schema.write().unwrap() == header, "{path}: the header, once the extension is known");
    for group in &footer.groups {
        let bytes = envelope(source, group.page_list.blob(anchor.max_key_bytes()).unwrap());
        let list = PageList::parse(&bytes, &schema).unwrap();
        assert!(list.write(&schema).unwrap() == bytes, "{path}: a page list");
    }
    for set in &footer.attributes {
        let object = envelope(source, set.anchor.blob(0).unwrap());
        check_object(source, &object, &format!("{path}: {}", set.name));
    }
    anchor
}

/// Checks that pages are full, but for the last of a column in a cluster, and have their checksums.
pub(crate) fn check_pages(source: &Arc<dyn Source>, anchor: &Anchor, page_bytes: u32) {
    let mut schema = NtupleSchema::parse(&envelope(source.as_ref(), anchor.header)).unwrap();
    let footer = Footer::parse(&envelope(source.as_ref(), anchor.footer), &mut schema).unwrap();
    for group in &footer.groups {
        let bytes = envelope(source.as_ref(), group.page_list.blob(anchor.max_key_bytes()).unwrap());
        let list = PageList::parse(&bytes, &schema).unwrap();
        for (column, pages) in list.columns.iter().flat_map(|columns| schema.columns.iter().zip(columns)) {
            let pages = list.pages(pages);
            let most = (u64::from(page_bytes) * 8 / u64::from(column.column_type.bits)).max(1);
            assert!(pages.iter().rev().skip(1).all(|page| u64::from(page.n_elements) == most));
            for page in pages {
                let n_bytes = column.column_type.page_bytes(page.n_elements.into()).unwrap();
                assert!(n_bytes <= page_bytes as usize || page.n_elements == 1);
                let n_bytes = page.stored_bytes + PAGE_CHECKSUM_BYTES as u64;
                assert!(page.has_checksum);
                check_page(&read_range(source.as_ref(), page.offset, n_bytes).unwrap()).unwrap();
            }
        }
    }
}

#[test]
fn metadata_of_other_writers_are_written_as_they_were_read() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut n_checked = 0;
    for folder in ["../shared/conformance/data/skhep", "tests/fixtures"] {
        let Ok(entries) = root.join(folder).read_dir() else {
            eprintln!("skipped: {folder} is not there");
            continue;
        };
        for path in
            entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|ext| ext == "root"))
        {
            let Ok(file) = File::open_path(&path, &arrowroot::storage::Options::default()) else { continue };
            let Ok(keys) = file.keys() else { continue };
            for key in keys.iter().filter(|key| key.key.class_name == ANCHOR_CLASS) {
                let name = format!("{}:{}", path.display(), key.path());
                // Written before the attribute sets; its anchor is of a class version that has more members.
                let object = file.read_metadata(&key.key).unwrap();
                if Anchor::parse(&object, ANCHOR_CLASS).is_err() {
                    continue;
                }
                check_object(file.source().as_ref(), &object, &name);
                n_checked += 1;
            }
        }
    }
    eprintln!("{n_checked} RNTuples");
    assert!(n_checked > 0);
}
