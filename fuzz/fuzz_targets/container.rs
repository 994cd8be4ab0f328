//! The container: headers, keys, directories, free segments, the walk over records, streamer information, codecs.
//!
//! The first byte chooses where the rest goes.
#![no_main]

use arrowroot_format::Cursor;
use arrowroot_format::codec::{Decompressor, check_blocks, first_block};
use arrowroot_format::column::DataType;
use arrowroot_format::container::{
    Directory, FileHeader, HEADER_BYTES, Key, KeyList, RecordWalk, RootRecord, looks_like_directory,
    parse_free_segments, recovered_directory,
};
use arrowroot_format::decode::Values;
use arrowroot_format::streamer::{Primitive, StreamerInfos, TypeName};
use libfuzzer_sys::fuzz_target;

const MAX_OBJECT_BYTES: usize = 1 << 18;

fuzz_target!(|data: &[u8]| {
    let Some((&entry_point, data)) = data.split_first() else { return };
    match entry_point % 6 {
        0 => file(data),
        1 => drop(KeyList::parse(data, 100)),
        2 => streamer_infos(data),
        3 => codec(data),
        4 => keys(data),
        _ => type_name(data),
    }
});

/// As a reader that holds the whole file: by the offsets in it, and by walking its records.
fn file(data: &[u8]) {
    let Ok(header) = FileHeader::parse(&data[..data.len().min(HEADER_BYTES)]) else { return };
    let rest = |offset: u64| usize::try_from(offset).ok().and_then(|offset| data.get(offset..)).unwrap_or_default();
    if let Ok(root) = RootRecord::parse(&header, rest(header.begin)) {
        let list = rest(root.directory.seek_keys);
        let list = list.get(..root.directory.n_bytes_keys as usize).unwrap_or(list);
        let _ = KeyList::parse(list, root.directory.seek_keys);
    }
    let _ = parse_free_segments(rest(header.seek_free), header.end);
    let mut walk = RecordWalk::new(&header, data.len() as u64);
    let mut found = Vec::new();
    while let Some(range) = walk.request() {
        let n_bytes = usize::try_from(range.end - range.start).unwrap();
        walk.feed(&rest(range.start)[..n_bytes], |record| found.push(record));
    }
    assert!(walk.skipped_bytes() + walk.free_bytes() <= data.len() as u64);
    let n_found = found.len();
    assert!(recovered_directory(&header, [], found).keys.len() <= n_found);
}

fn streamer_infos(data: &[u8]) {
    let Some((&key_bytes, object_data)) = data.split_first_chunk::<2>() else { return };
    let Ok(infos) = StreamerInfos::parse(object_data, usize::from(u16::from_be_bytes(key_bytes))) else { return };
    for info in infos.iter().take(50) {
        assert!(infos.get(&info.name, info.version).is_some());
        infos.is_derived_from(&info.name, "TTree");
        for element in &info.elements {
            let _ = (infos.of_base(element), element.primitive(), element.stl_kind());
        }
    }
}

fn codec(data: &[u8]) {
    let Some((&[b0, b1, b2], stored)) = data.split_first_chunk::<3>() else { return };
    let object_bytes = u32::from_be_bytes([0, b0, b1, b2]) as usize % MAX_OBJECT_BYTES;
    let mut out = vec![0; object_bytes];
    let _ = first_block(stored);
    let checked = check_blocks(stored, object_bytes);
    let unpacked = Decompressor::new().decompress(stored, &mut out);
    assert!(checked.is_ok() || unpacked.is_err() || object_bytes <= stored.len(), "{checked:?} refused what is right");
}

fn keys(data: &[u8]) {
    let mut cursor = Cursor::new(data);
    while let Ok(key) = Key::parse(&mut cursor) {
        let _ = (key.payload_range(), key.is_compressed());
        looks_like_directory(&key, &data[cursor.position()..]);
    }
    if let Ok(directory) = Directory::parse(&mut Cursor::new(data)) {
        let _ = (directory.created.to_string(), directory.uuid.map(|uuid| uuid.to_string()));
    }
}

fn type_name(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    Primitive::from_type_name(&text);
    if let Ok(name) = TypeName::parse(&text) {
        // What is shown of nonsense such as "::::<>" need not be a name again.
        let _ = (TypeName::parse(&name.to_string()), name.with_usual_numbers());
    }
    let range = arrowroot_format::streamer::PackingRange::parse_leaf_title(&text);
    let number = arrowroot_format::column::Number::packed(Primitive::Float16, range);
    assert!(Values::empty(&DataType::Primitive(number.in_memory())).is_empty());
}
