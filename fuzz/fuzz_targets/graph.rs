//! Object graphs: an object of a key and all that its pointers lead to.
//!
//! Input: the length of the object's key, two bytes for the size of the streamer information and two for the length of
//! its key, that, a counted string with the class, the object. Without streamer information the classes that are built
//! in are tried.
#![no_main]

use arrowroot_format::Cursor;
use arrowroot_format::decode::{Content, read_graph};
use arrowroot_format::streamer::StreamerInfos;
use arrowroot_format::tree::TreeRecord;
use arrowroot_fuzz::MAX_BYTES;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if data.len() > MAX_BYTES {
        return;
    }
    let mut input = Cursor::new(data);
    let (Ok(key_bytes), Ok(info_bytes), Ok(info_key_bytes)) = (input.u8(), input.u16(), input.u16()) else { return };
    let Ok(record) = input.take(usize::from(info_bytes)) else { return };
    let infos = match record {
        [] => StreamerInfos::default().with_builtin(),
        _ => match StreamerInfos::parse(record, usize::from(info_key_bytes)) {
            Ok(infos) => infos,
            Err(_) => return,
        },
    };
    let Ok(class) = input.string() else { return };
    let object = &data[input.position()..];
    let Ok(graph) = read_graph(&class, object, usize::from(key_bytes), &infos) else { return };
    let mut n_bytes = 0;
    for found in graph.objects.values() {
        assert!(found.range.end <= object.len());
        match &found.content {
            Ok(Content::Value(_, values)) => n_bytes += values.n_bytes(),
            Ok(Content::Tree) => {
                let (start, end) = (found.range.start, found.range.end);
                let infos = || Ok(&infos);
                let _ = TreeRecord::parse_from(start, &object[..end], &found.class, usize::from(key_bytes), &infos);
            }
            Err(_) => {}
        }
    }
    // Each byte is read once; empty lists are larger than their bytes.
    assert!(n_bytes <= 4096 * (1 + data.len()) + (1 << 20));
});
