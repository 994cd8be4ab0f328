//! Objects of any class: streamer information, types compiled against it, and entries of these types.
//!
//! Input: two bytes for the size of the streamer information, that, a counted string with a type, a byte of choices, the
//! entry. Several types are tried: those that the streamer information names, too.
#![no_main]

use std::sync::Arc;

use arrowroot_format::Cursor;
use arrowroot_format::column::{SeenClasses, column_of_type};
use arrowroot_format::decode::{Reader, Values, meet};
use arrowroot_format::streamer::StreamerInfos;
use arrowroot_fuzz::MAX_BYTES;
use libfuzzer_sys::fuzz_target;

/// Classes tried in one run.
const MAX_CLASSES: usize = 8;

fuzz_target!(|data: &[u8]| {
    if data.len() > MAX_BYTES {
        return;
    }
    let mut input = Cursor::new(data);
    let Ok(record) = input.u16().and_then(|n_bytes| input.take(usize::from(n_bytes))) else { return };
    let Ok(infos) = StreamerInfos::parse(record, 64) else { return };
    let Ok(type_name) = input.string() else { return };
    let Ok(choices) = input.u8() else { return };
    let entry = &data[input.position()..];
    let described = infos.iter().take(MAX_CLASSES).map(|info| info.name.clone());
    for name in std::iter::once(type_name).chain(described) {
        let compile = |seen: &SeenClasses| column_of_type(&name, choices & 1 != 0, &infos, &Arc::new(seen.clone()));
        let Ok(column) = compile(&SeenClasses::new()) else { continue };
        let Some(form) = &column.form else { continue };
        let mut seen = SeenClasses::new();
        meet(form, entry, usize::from(choices), &mut seen);
        seen.settle();
        let Ok(column) = compile(&seen) else { continue };
        let Some(form) = &column.form else { continue };
        let mut values = Values::empty(&form.data_type());
        let decoded = form.decode_entry(&mut Reader::default(), entry, usize::from(choices), &mut values);
        // As two entries, or as none.
        let mut together = Values::empty(&form.data_type());
        let (twice, bounds) = (entry.repeat(2), [0, entry.len(), 2 * entry.len()]);
        if form.decode_entries(&twice, &bounds, &mut together).is_ok_and(|is_read| is_read) {
            decoded.unwrap();
            form.decode_entry(&mut Reader::default(), entry, usize::from(choices), &mut values).unwrap();
            assert_eq!(together, values);
        }
        // Empty lists and nulls are larger than their bytes, by no more than so much.
        assert!(values.n_bytes() <= 4096 * (1 + data.len()) + (1 << 20));
    }
});
