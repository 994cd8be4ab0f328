//! Records of pages: those of a cluster are in one, or in several if they are longer than a record may be.

use arrowroot_format::container::Datime;

use super::metadata::{self, MAX_KEY_BYTES};
use crate::appender::Appender;
use crate::error::Result;

/// A record of pages that are appended to it. Its key is written over once all of them are there.
#[derive(Debug, Default)]
pub(super) struct PagesRecord {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    offset: u64,
    /// Bytes of its pages before they were compressed, and after.
    n_bytes: usize,
    stored_bytes: usize,
}

impl PagesRecord {
    /// Appends pages, to this record or to the next one. `n_bytes`: before they were compressed. Returns where they begin.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn append(
        &mut self,
        pages: &[&[u8]],
        n_bytes: usize,
        appender: &mut Appender,
        datime: Datime,
        seek_root: u64,
    ) -> Result<u64> {
        let stored_bytes: usize = pages.iter().map(|page| page.len()).sum();
        let is_full = self.open.as_ref().is_some_and(|open| {
            open.n_bytes.saturating_add(n_bytes).max(open.stored_bytes + stored_bytes) as u64 > MAX_KEY_BYTES
        });
        if is_full {
            self.end(appender, datime, seek_root)?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let offset = appender.position();
                appender.append(&[&metadata::blob_key(datime, seek_root, offset, 0, 0)?])?;
                none.insert(Open { offset, n_bytes: 0, stored_bytes: 0 })
            }
        };
        open.n_bytes = open.n_bytes.saturating_add(n_bytes);
        open.stored_bytes += stored_bytes;
        appender.append(pages)
    }

    /// Ends the record, if there is one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn end(&mut self, appender: &mut Appender, datime: Datime, seek_root: u64) -> Result<()> {
        let Some(Open { offset, n_bytes, stored_bytes }) = self.open.take() else { return Ok(()) };
        appender.write_at(offset, &metadata::blob_key(datime, seek_root, offset, n_bytes, stored_bytes)?)
    }
}
