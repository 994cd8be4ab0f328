//! RNTuple metadata and pages.
//!
//! Input: a byte that chooses, and what it chooses. 0: the object of an anchor; 1: the payloads of header, footer and page
//! list, each behind its size in 2 bytes; 2: a page, behind its encoding and number of elements. Envelopes get the type,
//! length and checksum that they should have, so that what is inside them is reached. What was read is written and read again:
//! it is the same, and so are then the bytes.
#![no_main]

use std::sync::Arc;

use arrowroot_format::Cursor;
use arrowroot_format::column::{Column, SeenClasses, column_of_streamed_field};
use arrowroot_format::rntuple::{
    ANCHOR_CLASS, Anchor, Footer, PageList, Schema, Slots, StreamedField, checksum, kernels,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = Cursor::new(data);
    let Ok(chosen) = input.u8() else { return };
    match chosen {
        0 => {
            if let Ok(anchor) = Anchor::parse(&data[1..], ANCHOR_CLASS) {
                assert_eq!(Anchor::parse(&anchor.write().unwrap(), ANCHOR_CLASS).unwrap(), anchor);
            }
        }
        1 => {
            let _ = metadata(&mut input);
        }
        _ => page(&mut input),
    }
});

/// An envelope around a payload.
fn envelope(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (kind | ((payload.len() as u64 + 16) << 16)).to_le_bytes().to_vec();
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
    bytes
}

fn metadata(input: &mut Cursor<'_>) -> Option<()> {
    let mut part = || {
        let n_bytes = input.u16().ok()?;
        input.take(usize::from(n_bytes)).ok()
    };
    let (header, footer, page_list) = (part()?, part()?, part()?);
    let header = envelope(1, header);
    let mut schema = Schema::parse(&header).ok()?;
    // Footer and page list name their header by its checksum: feature flags, checksum, rest; checksum, rest.
    let named = schema.header_checksum.to_le_bytes();
    let footer = envelope(2, &[&[0; 8], &named[..], footer].concat());
    let footer = Footer::parse(&footer, &mut schema);
    if let Ok(footer) = &footer {
        written_again(&header, &schema, footer);
    }
    let slots = Slots::new(&schema).ok()?;
    let infos = schema.streamer_infos();
    let form_of = |field: StreamedField<'_>| {
        let infos = infos.as_ref().map_err(Clone::clone)?;
        let column = column_of_streamed_field(field.type_name, field.checksum, infos, &Arc::new(SeenClasses::new()))?;
        Ok(Arc::new(column.form.unwrap_or_else(|| Column::of_bytes("").form.unwrap())))
    };
    for member in schema.members().iter().take(1000) {
        let _ = slots.shape(&schema, &schema.chain(member.field()), &form_of);
    }
    if let Ok(footer) = footer {
        assert!(footer.n_entries() <= i64::MAX as u64);
    }
    let page_list = envelope(3, &[&named[..], page_list].concat());
    let list = PageList::parse(&page_list, &schema).ok()?;
    assert_eq!(list.clusters.len(), list.columns.len());
    if let Ok(written) = list.write(&schema) {
        let found = PageList::parse(&written, &schema).unwrap();
        assert_eq!(found, list);
        assert!(found.write(&schema).unwrap() == written);
    }
    Some(())
}

/// Header and footer, but what may be refused: links out of the file, and what was appended by later versions is lost.
fn written_again(header: &[u8], schema: &Schema, footer: &Footer) {
    let (Ok(new_header), Ok(new_footer)) = (schema.write(), footer.write(schema)) else { return };
    let mut found = Schema::parse(&new_header).unwrap();
    // Only a header that is the same has the checksum that the footer names.
    if new_header == header {
        assert_eq!(Footer::parse(&new_footer, &mut found).unwrap(), *footer);
        assert!(found.write().unwrap() == new_header && footer.write(&found).unwrap() == new_footer);
    } else {
        assert!(found.write().unwrap() == new_header);
    }
}

fn page(input: &mut Cursor<'_>) {
    let (Ok(kind), Ok(bits), Ok(n), Ok(start), Ok(end)) =
        (input.u8(), input.u8(), input.u16(), input.u16(), input.u16())
    else {
        return;
    };
    let (n, range) = (usize::from(n), usize::from(start.min(end))..usize::from(start.max(end)));
    let page = &input.data()[input.position()..];
    let mut out = vec![0; range.len() * 8];
    match kind % 8 {
        0 => kernels::copy_bits(page, &range, &mut out, usize::from(bits)),
        1 => kernels::copy_plain(page, &range, 8, &mut out),
        2 => kernels::unsplit(page, n, &range, 1 << (bits % 4), &mut out),
        3 => kernels::unsplit_zigzag(page, n, &range, 1 << (bits % 4), &mut out),
        4 => kernels::halves(page, n, &range, bits % 2 == 1, &mut out),
        5 => kernels::truncated(page, &range, bits, &mut out),
        6 => kernels::quantized(page, &range, bits, (-1.0, 1.0), &mut out),
        _ => {
            let mut values = Vec::new();
            kernels::index_values(page, if bits % 2 == 1 { 4 } else { 8 }, bits % 3 == 0, &mut values);
            let mut ends = vec![0; values.len() * 4];
            let (low, high) = (u64::from(start), u64::from(end));
            if kernels::shifted_ends(&values, low, high, -i64::from(start), &mut ends) {
                assert!(ends.as_chunks::<4>().0.is_sorted_by_key(|end| u32::from_ne_bytes(*end)));
                assert!(values.iter().all(|value| (low..=high).contains(value)));
            }
        }
    }
}
