//! Tree metadata: the object data of a tree's record, and the streamer information that explains it. What was read is written,
//! and read again.
//!
//! Input: flags (1: class is TNtuple; 2: streamer information follows; 4: the class is the first that it describes; 8: the
//! tree begins at the byte that a byte says), fKeylen in 2 bytes; if there is streamer information its size in 2 bytes, its
//! fKeylen in 2 bytes and itself; the object data.
#![no_main]

use std::sync::Arc;

use arrowroot_format::column::{SeenClasses, resolve};
use arrowroot_format::decode::{Reader, Values, meet};
use arrowroot_format::streamer::StreamerInfos;
use arrowroot_format::tree::{BranchId, TreeRecord, TreeSchema};
use arrowroot_format::{Cursor, Output};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = Cursor::new(data);
    let (Ok(flags), Ok(key_bytes)) = (input.u8(), input.u16()) else { return };
    let infos = if flags & 2 == 0 { Some(StreamerInfos::default()) } else { streamer_infos(&mut input) };
    let Some(infos) = infos else { return };
    let derived = infos.iter().next().filter(|_| flags & 4 != 0).map(|info| info.name.clone());
    let plain = if flags & 1 == 0 { "TTree" } else { "TNtuple" };
    let class = derived.as_deref().unwrap_or(plain);
    let start = if flags & 8 == 0 { 0 } else { usize::from(input.u8().unwrap_or(0)) };
    let object_data = &data[input.position()..];
    let _ = TreeRecord::name_from(start, object_data, class, &|| Ok(&infos));
    let Ok(tree) = TreeRecord::parse_from(start, object_data, class, usize::from(key_bytes), &|| Ok(&infos)) else {
        return;
    };
    tree.clusters(1000);
    let schema = TreeSchema::of(&tree);
    let known =
        TreeRecord::parse_known(Some(&schema), start, object_data, class, usize::from(key_bytes), &|| Ok(&infos));
    let (known, is_known) = known.expect("it was read before");
    assert!(is_known && known.branches == tree.branches && known.leaves == tree.leaves);
    written_again(&tree, object_data, class, usize::from(key_bytes), &infos);
    let mut kept = tree.clone();
    let ids = kept.keep(&[BranchId(u32::from(flags) >> 4), BranchId(0)]);
    assert!(ids.len() == tree.branches.len() && ids.iter().flatten().count() == kept.branches.len());
    written_again(&kept, object_data, class, usize::from(key_bytes), &infos);
    for (index, branch) in tree.branches.iter().enumerate().take(200) {
        if let Ok(baskets) = branch.baskets(object_data) {
            assert!(baskets.len() <= branch.n_baskets());
            assert!(baskets.windows(2).all(|pair| pair[0].entry_end <= pair[1].first_entry));
            assert!(baskets.iter().all(|basket| basket.offset.checked_add(basket.stored_bytes.into()).is_some()));
        }
        let id = BranchId(u32::try_from(index).unwrap());
        let mut seen = Arc::new(SeenClasses::new());
        let Ok(mut column) = resolve(&schema, id, &|| Ok(&infos), &seen) else { continue };
        if let (true, Some(form)) = (column.holds_objects(), &column.form) {
            for basket in &branch.embedded {
                let entry = &object_data[basket.data.clone()];
                meet(form, entry, usize::from(key_bytes), Arc::make_mut(&mut seen));
            }
            column = resolve(&schema, id, &|| Ok(&infos), &seen).unwrap_or(column);
        }
        let Some(form) = &column.form else { continue };
        let mut values = Values::empty(&form.data_type());
        for basket in &branch.embedded {
            let _ = form.decode_entry(
                &mut Reader::default(),
                &object_data[basket.data.clone()],
                usize::from(key_bytes),
                &mut values,
            );
        }
        let _ = form.decode_entry(&mut Reader::default(), &[], 0, &mut values);
    }
});

/// What can be written of it is read again, and is then written as it is.
fn written_again(tree: &TreeRecord, object_data: &[u8], class: &str, key_bytes: usize, infos: &StreamerInfos) {
    let mut output = Output::new(key_bytes);
    if tree.write(object_data, &mut output).is_err() {
        return;
    }
    let written = output.into_bytes();
    let again = TreeRecord::parse(&written, class, key_bytes, &|| Ok(infos)).expect("a record just written");
    let mut output = Output::new(key_bytes);
    again.write(&written, &mut output).expect("a record that was written before");
    assert_eq!(output.into_bytes(), written);
}

fn streamer_infos(input: &mut Cursor<'_>) -> Option<StreamerInfos> {
    let (n_bytes, key_bytes) = (input.u16().ok()?, input.u16().ok()?);
    StreamerInfos::parse(input.take(usize::from(n_bytes)).ok()?, usize::from(key_bytes)).ok()
}
