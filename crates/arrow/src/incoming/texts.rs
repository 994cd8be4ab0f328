//! Texts: UTF-8 between offsets, and views.

use arrow_array::OffsetSizeTrait;
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ByteView;

use super::{Result, fault};

pub(super) const NO_TEXT: &str = "a text that is not UTF-8";
/// Texts of so many bytes are in their view.
const MAX_INLINE_BYTES: usize = 12;
const PREFIX_BYTES: usize = 4;
/// Of texts that views lead to: their places have 32 bits, and in other libraries a sign.
const MAX_BUFFER_BYTES: usize = i32::MAX as usize;

/// Returns the first text that is none, of those that are there. `offsets` do not run backwards, and end in `bytes`.
pub fn check_texts<O: OffsetSizeTrait>(offsets: &[O], bytes: &[u8], present: Option<&NullBuffer>) -> Option<usize> {
    let text = |index: usize| bytes.get(offsets[index].as_usize()..offsets[index + 1].as_usize());
    let all = bytes.get(offsets.first()?.as_usize()..offsets.last()?.as_usize())?;
    if all.is_ascii() {
        return None;
    }
    // No text begins within a character of a text of all.
    let is_between = |offset: &O| bytes.get(offset.as_usize()).is_none_or(|&byte| byte & 0xc0 != 0x80);
    if std::str::from_utf8(all).is_ok() && offsets[1..].iter().all(is_between) {
        return None;
    }
    let is_there = |index: &usize| present.is_none_or(|present| present.is_valid(*index));
    let is_text = |index: usize| text(index).is_some_and(|text| std::str::from_utf8(text).is_ok());
    (0..offsets.len() - 1).filter(is_there).find(|&index| !is_text(index))
}

/// Views that are within their buffers and begin as they say; those of what is missing are empty.
pub(super) fn checked_views(
    views: &[u128],
    buffers: &[Buffer],
    present: Option<&NullBuffer>,
    are_texts: bool,
) -> Result<Vec<u128>> {
    let mut checked = Vec::with_capacity(views.len());
    for (index, &raw) in views.iter().enumerate() {
        if present.is_some_and(|present| present.is_null(index)) {
            checked.push(0);
            continue;
        }
        let bytes = raw.to_le_bytes();
        let view = ByteView::from(raw);
        let n_bytes = view.length as usize;
        let text = if n_bytes <= MAX_INLINE_BYTES {
            let (text, rest) = bytes[PREFIX_BYTES..].split_at(n_bytes);
            if rest.iter().any(|&byte| byte != 0) {
                return fault(index, "a short view with bytes behind its text");
            }
            text
        } else {
            let (number, start) = (view.buffer_index as usize, view.offset as usize);
            let Some(buffer) = buffers.get(number) else {
                return fault(index, format!("a view of buffer {number}, of {}", buffers.len()));
            };
            let Some(text) = start.checked_add(n_bytes).and_then(|end| buffer.get(start..end)) else {
                let n_there = buffer.len();
                return fault(index, format!("a view of {n_bytes} bytes from {start} on, in a buffer of {n_there}"));
            };
            if text[..PREFIX_BYTES] != bytes[PREFIX_BYTES..2 * PREFIX_BYTES] {
                return fault(index, "a view that begins otherwise than its text");
            }
            text
        };
        if are_texts && std::str::from_utf8(text).is_err() {
            return fault(index, NO_TEXT);
        }
        checked.push(raw);
    }
    Ok(checked)
}

/// Checked views, and a copy of what they lead to: of all buffers, or of the texts one by one where these are less.
pub(super) fn copied(mut views: Vec<u128>, buffers: &[Buffer]) -> (Vec<u128>, Vec<Buffer>) {
    let n_long = |raw: &u128| Some(ByteView::from(*raw).length as usize).filter(|&n_bytes| n_bytes > MAX_INLINE_BYTES);
    let n_bytes: usize = views.iter().filter_map(n_long).sum();
    if n_bytes >= buffers.iter().map(Buffer::len).sum() {
        return (views, buffers.iter().map(|buffer| Buffer::from_slice_ref(buffer.as_slice())).collect());
    }
    let (mut made, mut texts) = (Vec::new(), Vec::with_capacity(n_bytes.min(MAX_BUFFER_BYTES)));
    for raw in &mut views {
        let Some(n_bytes) = n_long(raw) else { continue };
        if texts.len() + n_bytes > MAX_BUFFER_BYTES {
            made.push(Buffer::from_vec(std::mem::take(&mut texts)));
        }
        let view = ByteView::from(*raw);
        let start = view.offset as usize;
        let (Ok(buffer_index), Ok(offset)) = (u32::try_from(made.len()), u32::try_from(texts.len())) else { continue };
        texts.extend_from_slice(&buffers[view.buffer_index as usize][start..start + n_bytes]);
        *raw = ByteView { buffer_index, offset, ..view }.as_u128();
    }
    made.push(Buffer::from_vec(texts));
    (views, made)
}
