//! What objects inherit from `TObject`, of which nothing is stored where their class says so.
//!
//! Source: `TObject::Streamer` and `TClass::IgnoreTObjectStreamer` (ROOT 6.40).

use super::objects::{Reader, push_absent};
use super::values::{Values, misfit};
use crate::column::{Class, Name, Step};
use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// Set in `TObject::fBits` when two bytes of process identifier follow.
pub(super) const IS_REFERENCED: u32 = 1 << 4;
/// Of the highest byte of `fBits` those that are never set.
pub(super) const NO_BITS: u8 = 0xF0;
/// So many values of which nothing is stored may come out of an entry for each of its bytes and one more.
const MAX_FREE: usize = 64;
/// So many classes of an entry are doubted.
const MAX_DOUBTFUL: usize = 8;

/// Classes of which it is not sure whether their objects have what they inherit from `TObject`: where they have not, what
/// follows may look like it. Classes go by where they are in memory.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// The class that is read.
    class: usize,
    /// Those that seemed to have it.
    seeming: Vec<usize>,
    /// Those that are taken to have none.
    without: Vec<usize>,
    /// Values of which nothing is stored that may still come out.
    n_free_left: usize,
}

impl Doubts {
    /// Forgets what was found in the entry before.
    pub(super) fn begin(&mut self, entry_bytes: usize) {
        self.class = 0;
        self.seeming.clear();
        self.without.clear();
        self.n_free_left = entry_bytes.saturating_add(1).saturating_mul(MAX_FREE);
    }
}

/// Appends an entry, by a function that says how. If that fails, and what seemed to be a `TObject` may have been something
/// else, it is tried again with each class in doubt as one without, and with all of them.
///
/// The error is that of the first try.
pub(super) fn read_entry<'a>(
    reader: &mut Reader<'a>,
    entry: &'a [u8],
    origin: usize,
    out: &mut Values,
    read: impl Fn(&mut Reader<'a>, &mut Values) -> Result<()>,
) -> Result<()> {
    let n_before = out.len();
    reader.begin(entry.len(), origin);
    let Err(error) = read(reader, out) else { return Ok(()) };
    let seeming = std::mem::take(&mut reader.doubts.seeming);
    let all = (seeming.len() > 1).then(|| seeming.clone());
    for without in seeming.iter().map(|&class| vec![class]).chain(all) {
        out.truncate(n_before);
        reader.begin(entry.len(), origin);
        reader.doubts.without = without;
        if read(reader, out).is_ok() {
            return Ok(());
        }
    }
    Err(error)
}

impl<'a> Reader<'a> {
    /// Says which class the objects are of that are read next; returns which it was before.
    pub(super) fn begin_class(&mut self, class: &Class) -> usize {
        std::mem::replace(&mut self.doubts.class, std::ptr::from_ref(class).addr())
    }

    /// Goes back to the class of before.
    pub(super) fn end_class(&mut self, before: usize) {
        self.doubts.class = before;
    }

    /// Reads what an object inherits from `TObject`, or zeros where it is not stored.
    pub(super) fn t_object(
        &mut self,
        cursor: &mut Cursor<'a>,
        step: &Step,
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        let Step::TObject { unique_id, bits, may_lack } = *step else { return Err(misfit(cursor)) };
        if may_lack && !self.has_object(cursor) {
            return self.no_object(cursor, step, columns);
        }
        cursor.version()?;
        let (unique_value, bits_value) = (cursor.u32()?, cursor.u32()?);
        if bits_value & IS_REFERENCED != 0 {
            cursor.skip(2)?;
        }
        for (index, value) in [(unique_id, unique_value), (bits, bits_value)] {
            let column = columns.get_mut(index).map(|(_, column)| column);
            push_u32(column, value).ok_or_else(|| misfit(cursor))?;
        }
        Ok(())
    }

    /// Appends what comes out where it is not stored: zeros.
    pub(super) fn no_object(&mut self, cursor: &Cursor<'_>, step: &Step, columns: &mut [(Name, Values)]) -> Result<()> {
        let Step::TObject { unique_id, bits, .. } = *step else { return Err(misfit(cursor)) };
        self.take_free(cursor, 2)?;
        for index in [unique_id, bits] {
            push_u32(columns.get_mut(index).map(|(_, column)| column), 0).ok_or_else(|| misfit(cursor))?;
        }
        Ok(())
    }

    /// Whether a `TObject` is stored here that may not be.
    fn has_object(&mut self, cursor: &Cursor<'_>) -> bool {
        let Doubts { class, seeming, without, .. } = &mut self.doubts;
        if !looks_like_object(cursor) || without.contains(class) {
            return false;
        }
        if !seeming.contains(class) && seeming.len() < MAX_DOUBTFUL {
            seeming.push(*class);
        }
        true
    }

    /// Appends absent values to a column of what may be there, of which nothing is stored.
    pub(super) fn absent(
        &mut self,
        cursor: &Cursor<'_>,
        index: usize,
        n_values: usize,
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        self.take_free(cursor, n_values)?;
        push_absent(&[index], n_values, columns);
        Ok(())
    }

    /// Counts values of which nothing is stored.
    pub(super) fn take_free(&mut self, cursor: &Cursor<'_>, n_values: usize) -> Result<()> {
        self.doubts.n_free_left = self.doubts.n_free_left.checked_sub(n_values).ok_or_else(|| {
            let what = format!("an entry of more than {MAX_FREE} values for each byte that is stored");
            Error::unsupported(cursor.position(), what)
        })?;
        Ok(())
    }
}

/// Whether what is here can be a `TObject`. Its version has always been 1, and of the upper bits of `fBits` only
/// `kIsOnHeap`, `kNotDeleted`, `kZombie` and `kInconsistent` mean something.
pub(super) fn looks_like_object(cursor: &Cursor<'_>) -> bool {
    let rest = &cursor.data()[cursor.position()..];
    let is_version = rest.starts_with(&[0, 1]) && rest.get(6).is_some_and(|bits| bits & NO_BITS == 0);
    is_version || rest.starts_with(&[0x40, 0, 0, 10]) || rest.starts_with(&[0x40, 0, 0, 12])
}

fn push_u32(column: Option<&mut Values>, value: u32) -> Option<()> {
    match column? {
        Values::Primitive(_, bytes) => bytes.extend_from_slice(&value.to_ne_bytes()),
        Values::Optional(is_there, values) => {
            push_u32(Some(values), value)?;
            is_there.push(1);
        }
        _ => return None,
    }
    Some(())
}
