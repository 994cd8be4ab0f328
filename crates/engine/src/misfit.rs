//! Neighbours that are not what the file says of their class: damage, or a class that is written by code of its own?

use std::ops::Range;

use arrowroot_format as format;
use format::column::EntryForm;
use format::decode::{Misfit, Trace, trace};
use format::streamer::StreamerInfos;

/// So many other entries of a basket are looked at.
const MAX_COMPARED: usize = 32;

/// The entries of a basket, or the objects of a field.
pub(crate) struct Neighbours<'a> {
    pub(crate) data: &'a [u8],
    /// How many there are.
    pub(crate) n_entries: usize,
    /// Where each is in the data.
    pub(crate) range: &'a dyn Fn(usize) -> Option<Range<usize>>,
    /// How far what begins at a place in the data is from where references in it count.
    pub(crate) origin: &'a dyn Fn(usize) -> usize,
    /// Items of the arrays in each, or its objects, if only that tells how it is read.
    pub(crate) counts: &'a dyn Fn(usize) -> Option<&'a [i64]>,
    /// How to have the bytes, or nothing.
    pub(crate) hint: &'static str,
}

impl Neighbours<'_> {
    fn trace(&self, form: &EntryForm, entry: usize) -> Trace {
        let Some(range) = (self.range)(entry) else { return Trace::default() };
        let bytes = self.data.get(range.clone()).unwrap_or_default();
        trace(form, bytes, (self.counts)(entry), (self.origin)(range.start))
    }

    fn is_zero(&self, entry: usize) -> bool {
        let bytes = (self.range)(entry).and_then(|range| self.data.get(range)).unwrap_or_default();
        bytes.iter().all(|&byte| byte == 0)
    }

    /// Says of an error in an entry whether its class may be written by code of its own, and takes it for unsupported where
    /// that is more likely than damage: the objects of an entry do not begin with byte counts, or no object of the class is
    /// as described in several entries. A class of which others can be read, and one of ROOT's own, is as described.
    pub(crate) fn judge(&self, error: format::Error, form: &EntryForm, entry: usize) -> format::Error {
        if !error.is_doubtful() {
            return error;
        }
        let found = self.trace(form, entry);
        let Some(Misfit { class, has_byte_count, is_inside }) = found.misfit() else { return error };
        let others = (0..self.n_entries).filter(|&other| other != entry).take(MAX_COMPARED);
        let mut n_failed = 0_usize;
        let mut has_read = found.has_read(class) || StreamerInfos::is_of_root(class);
        for other in others {
            let other = self.trace(form, other);
            has_read |= other.has_read(class);
            n_failed += usize::from(other.misfit().is_some_and(|misfit| misfit.class == *class));
        }
        let is_likely = n_failed > 0 || (!has_byte_count && !is_inside && !self.is_zero(entry));
        match (has_read, is_likely) {
            (true, _) => error,
            (false, true) => {
                let reason = "is most likely written by code of its own, and not as the file describes it";
                error.as_unsupported(&format!("{class} {reason}{}", self.hint))
            }
            (false, false) => error.or(&format!("{class} is written by code of its own{}", self.hint)),
        }
    }
}
