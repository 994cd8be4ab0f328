//! What a file says of its classes: its streamer information.

use std::borrow::Cow;
use std::sync::Arc;

use arrowroot_format as format;
use format::container::Key;
use format::streamer::StreamerInfos;

use crate::access::{check_metadata, format_error, read_range};
use crate::described;
use crate::error::{Result, permanent};
use crate::file::File;

impl File {
    /// What the file says about its classes; parsed when first asked for.
    ///
    /// # Errors
    /// [`Error::Format`] if it cannot be read.
    pub fn streamer_infos(&self) -> Result<&StreamerInfos> {
        self.shared_infos().map(|infos| &**infos)
    }

    /// The same: files whose records of them have the very same bytes share it.
    ///
    /// # Errors
    /// As [`File::streamer_infos`].
    pub fn shared_infos(&self) -> Result<&Arc<StreamerInfos>> {
        if let Some(infos) = self.inner.infos.get() {
            return Ok(infos);
        }
        let header = &self.inner.header;
        let infos = if header.has_streamer_info() && self.inner.root_directory.is_some() {
            match self.stated_infos() {
                Err(error) if self.was_not_closed() && error.is_of_format() => {
                    // The header may have been written before the descriptions were written anew, elsewhere.
                    let _ = permanent(self.recover(&[], None))?;
                    return self.inner.infos.get().ok_or(error);
                }
                Err(error) if error.is_damage() => {
                    self.elsewhere("streamer info", error, |twin| twin.shared_infos().cloned())?
                }
                infos => infos?,
            }
        } else {
            Arc::default()
        };
        Ok(self.inner.infos.get_or_init(|| infos))
    }

    /// What the record has that the header names.
    fn stated_infos(&self) -> Result<Arc<StreamerInfos>> {
        let header = &self.inner.header;
        let n_bytes = u64::from(header.n_bytes_info);
        let mut record = match self.inner.info_record.get() {
            Some(record) => Cow::Borrowed(record),
            None => Cow::Owned(read_range(self.source().as_ref(), header.seek_info, n_bytes)?),
        };
        let is_freed = record.first().is_some_and(|byte| byte & 0x80 != 0);
        if is_freed && let Some(start) = record.to_mut().first_chunk_mut() {
            // The writer marks it before it writes the next. What it holds is there still.
            *start = header.n_bytes_info.to_be_bytes();
        }
        let mut cursor = format::Cursor::new(&record);
        let in_record =
            |error: format::Error| format_error(self.source().as_ref(), "streamer info", error.at(header.seek_info));
        let key = Key::parse(&mut cursor).map_err(in_record)?;
        if key.n_bytes == 0 || key.key_bytes == 0 {
            return Err(in_record(format::Error::corrupt(0, "zeros where the descriptions of classes should be")));
        }
        let stored = record.get(usize::from(key.key_bytes)..).unwrap_or_default();
        let stored = stored.get(..key.object_bytes as usize).unwrap_or(stored);
        check_metadata(stored, key.object_bytes as usize).map_err(|error| self.in_stored(&key, error))?;
        self.parse_infos(&key, &self.unpack_object(&key, stored)?)
    }

    /// The same with ROOT's basic classes, where the file does not describe them: one that was not closed has lost its
    /// descriptions.
    ///
    /// # Errors
    /// As [`File::streamer_infos`].
    pub(crate) fn class_infos(&self) -> Result<&StreamerInfos> {
        if let Some(infos) = self.inner.all_infos.get() {
            return Ok(infos);
        }
        let infos = StreamerInfos::clone(self.streamer_infos()?).with_builtin();
        Ok(self.inner.all_infos.get_or_init(|| infos))
    }

    /// Takes the class descriptions from the record of a key that a walk found.
    pub(crate) fn take_infos(&self, key: &Key) -> Result<()> {
        let infos = self.read_metadata(key).and_then(|object| self.parse_infos(key, &object))?;
        let _ = self.inner.infos.set(infos); // another thread has found the same
        Ok(())
    }

    fn parse_infos(&self, key: &Key, object: &[u8]) -> Result<Arc<StreamerInfos>> {
        described::infos(object, usize::from(key.key_bytes), self.inner.header.version)
            .map_err(|error| format_error(self.source().as_ref(), "streamer info", error.placed(key.object_place())))
    }
}
