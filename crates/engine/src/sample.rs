//! The first objects of a column whose classes its metadata do not name.

use std::ops::Range;
use std::sync::Arc;

use arrowroot_format as format;
use format::Within;
use format::column::{Column, SeenClasses};
use format::decode::meet;

/// Objects in objects are looked at so many levels deep.
const MAX_ROUNDS: usize = 8;
/// So many bytes of entries are looked at, and at least one entry.
pub(crate) const MAX_SAMPLE_BYTES: usize = 4 << 20;
/// What takes more when it is unpacked is not looked at, be it the first: a few bytes in a file may become gigabytes.
pub(crate) const MAX_UNPACKED_BYTES: usize = 128 << 20;

/// Some entries, or objects.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) payload: Vec<u8>,
    /// Where each is in the payload, and how far its bytes are from where what it points to is counted from.
    pub(crate) entries: Vec<(Range<usize>, usize)>,
    /// Bytes of these. Where the file is wrong they overlap.
    n_bytes: usize,
}

impl Sample {
    /// Of a payload no entry of which is looked at yet.
    pub(crate) fn of(payload: Vec<u8>) -> Self {
        Sample { payload, ..Sample::default() }
    }

    /// Whether an entry of so many bytes is to be looked at too.
    pub(crate) fn has_room_for(&self, n_bytes: usize) -> bool {
        self.entries.is_empty() || self.n_bytes.saturating_add(n_bytes) <= MAX_SAMPLE_BYTES
    }

    pub(crate) fn push(&mut self, entry: Range<usize>, origin: usize) {
        self.n_bytes = self.n_bytes.saturating_add(entry.len());
        self.entries.push((entry, origin));
    }
}

/// Compiles a column. Where it holds objects of any class, a sample is read to learn of which.
pub(crate) fn resolve_by_sample(
    compile: &dyn Fn(&Arc<SeenClasses>) -> format::Result<Column>,
    read: &dyn Fn() -> format::Result<Sample>,
) -> format::Result<Column> {
    let mut seen = Arc::new(SeenClasses::new());
    let mut column = compile(&seen)?;
    if !column.holds_objects() {
        return Ok(column);
    }
    let sample = read().within(|| "first entries")?;
    for _ in 0..MAX_ROUNDS {
        let Some(form) = column.form.as_ref() else { break };
        let mut more = SeenClasses::clone(&seen);
        for (range, origin) in &sample.entries {
            meet(form, sample.payload.get(range.clone()).unwrap_or_default(), *origin, &mut more);
        }
        if more.len() == seen.len() {
            break;
        }
        seen = Arc::new(more);
        // Too many members of too many classes: what was compiled before reads the rest as bytes.
        let Ok(known) = compile(&seen) else { return Ok(column) };
        column = known;
    }
    Arc::make_mut(&mut seen).settle();
    compile(&seen)
}
