//! Baskets: head (written again), payload, entry offsets, and values of any form; the fast kernels beside the plain way.
//!
//! Input: a byte for the size of the form's script, the script (`arrowroot_fuzz::form`), the record.
#![no_main]

use arrowroot_format::codec::{Decompressor, check_blocks};
use arrowroot_format::column::{EntryForm, Header, Number};
use arrowroot_format::container::Key;
use arrowroot_format::decode::{Reader, Values, Writes, kernels};
use arrowroot_format::tree::BasketHead;
use arrowroot_format::{Cursor, Output};
use arrowroot_fuzz::{MAX_BYTES, form};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = Cursor::new(data);
    let Ok(script) = input.u8().and_then(|n_bytes| input.take(usize::from(n_bytes))) else { return };
    let form = form(&mut Cursor::new(script));
    let record = &data[input.position()..];
    let Ok(head) = BasketHead::parse(record) else { return };
    let key = Key::parse(&mut Cursor::new(record)).expect("the key of a basket");
    let mut output = Output::new(0);
    if head.write(&key.name, &key.title, &mut output).is_ok() {
        assert_eq!(BasketHead::parse(&output.into_bytes()).expect("a head just written"), head);
    }
    let stored = record.get(head.key_bytes as usize..).unwrap_or_default();
    let payload_bytes = head.payload_bytes as usize;
    if payload_bytes > MAX_BYTES || (head.is_compressed() && check_blocks(stored, payload_bytes).is_err()) {
        return;
    }
    let mut payload = vec![0; payload_bytes];
    if Decompressor::new().decompress(stored, &mut payload).is_err() {
        return;
    }
    let data = &payload[..head.data_bytes as usize];
    let mut values = Values::empty(&form.data_type());
    match head.stored_offsets(&payload) {
        Ok(Some(words)) => entries(&head, &form, data, words, &mut values),
        _ if head.n_entries > 0 => {
            let entry_bytes = (data.len() / head.n_entries as usize).max(1);
            let _ = data
                .chunks(entry_bytes)
                .try_for_each(|entry| form.decode_entry(&mut Reader::default(), entry, 0, &mut values));
        }
        _ => {}
    }
    assert!(values.n_bytes() <= 64 * (1 + MAX_BYTES));
});

fn entries(head: &BasketHead, form: &EntryForm, data: &[u8], words: &[u8], values: &mut Values) {
    let starts = words.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word));
    let ends = starts.clone().skip(1).chain(std::iter::once(head.key_bytes + head.data_bytes));
    let plain = starts.zip(ends).try_for_each(|(start, end)| {
        let local = |offset: u32| offset.checked_sub(head.key_bytes).map(|offset| offset as usize);
        let entry = local(start).zip(local(end)).and_then(|(start, end)| data.get(start..end));
        entry.and_then(|entry| form.decode_entry(&mut Reader::default(), entry, 0, values).ok())
    });
    if let EntryForm::Jagged { header: header @ (Header::Nothing | Header::Vector), number, dims } = form
        && dims.is_empty()
        && !number.is_packed()
        && words.first_chunk::<4>() == Some(&head.key_bytes.to_be_bytes())
    {
        kernels_agree(head, *header, *number, data, words, plain.and(Some(&*values)));
    }
}

/// What the kernels take for right is what the plain way finds.
fn kernels_agree(head: &BasketHead, header: Header, number: Number, data: &[u8], words: &[u8], plain: Option<&Values>) {
    let width = number.stored_bytes();
    let (item_bytes, header_bytes) = (u32::try_from(width).unwrap(), u32::try_from(header.n_bytes()).unwrap());
    let mut ends = vec![0; words.len()];
    let record_end = head.key_bytes + head.data_bytes;
    let is_whole = kernels::list_ends(words, record_end, header_bytes, item_bytes, 0, &mut ends);
    let n_bytes = data.len().saturating_sub(head.n_entries as usize * header.n_bytes());
    let mut out = vec![0; n_bytes / width * width];
    let writes = if data.len().is_multiple_of(2) { Writes::Streamed } else { Writes::Cached };
    let is_copied = match header {
        Header::Nothing => kernels::copy_numbers(data, number.primitive, &mut out, writes).is_ok(),
        _ => kernels::copy_vectors(data, &ends, 0, &mut out, width),
    };
    let mut bits = vec![0; out.len().div_ceil(8)];
    kernels::pack_bools(&out, &mut bits);
    let mut swapped = vec![0; data.len()];
    kernels::copy_swapped(data, &mut swapped, width, writes);
    if !is_whole || !is_copied {
        return;
    }
    let Some(Values::List(list_ends, items)) = plain else { panic!("the kernels took what the plain way refuses") };
    let list_ends: Vec<u8> = list_ends.iter().flat_map(|end| end.to_ne_bytes()).collect();
    assert_eq!(ends, list_ends);
    if number.primitive == arrowroot_format::streamer::Primitive::Bool {
        out.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    assert_eq!(Some(out), items.clone().into_number_bytes());
}
