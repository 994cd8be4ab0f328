//! The one owner of the bytes of the file.

use std::fmt;
use std::sync::Arc;

use arrowroot_storage::Sink;

use crate::error::Result;

/// Appended bytes are collected up to this number.
const WRITE_BYTES: usize = 1 << 20;
/// So many bytes at once are not collected: a write costs less than the copy.
const DIRECT_BYTES: usize = 128 << 10;

/// Appends to a file, and writes over what was appended. Nothing else writes to its sink.
///
/// Small parts are collected up to 1 MiB; large ones are written at once, with what was collected before, without a copy.
pub struct Appender {
    sink: Arc<dyn Sink>,
    position: u64,
    /// The end of the file, not written yet.
    collected: Vec<u8>,
}

impl fmt::Debug for Appender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Appender")
            .field("url", &self.sink.url())
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Appender {
    /// Begins at byte 0 of a file that is empty.
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Appender { sink, position: 0, collected: Vec::new() }
    }

    /// Where the next byte goes.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends parts one after the other. Returns where the first one begins.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if they, or others before, cannot be written. The file can then only be given
    /// up.
    pub fn append(&mut self, parts: &[&[u8]]) -> Result<u64> {
        let offset = self.position;
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        if n_bytes < DIRECT_BYTES && self.collected.len() + n_bytes <= WRITE_BYTES {
            self.collected.reserve_exact(WRITE_BYTES - self.collected.len());
            parts.iter().for_each(|part| self.collected.extend_from_slice(part));
        } else {
            let start = self.written_bytes();
            let all: Vec<&[u8]> = std::iter::once(self.collected.as_slice()).chain(parts.iter().copied()).collect();
            self.sink.write_vector(start, &all)?;
            self.collected.clear();
        }
        self.position += n_bytes as u64;
        Ok(offset)
    }

    /// Writes over bytes that were appended.
    ///
    /// # Errors
    /// As [`Appender::append`].
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let start = self.written_bytes();
        let n_written = usize::try_from(start.saturating_sub(offset)).map_or(bytes.len(), |n| n.min(bytes.len()));
        let (written, collected) = bytes.split_at(n_written);
        if !written.is_empty() {
            self.sink.write_at(offset, written)?;
        }
        if let Ok(index) = usize::try_from((offset + n_written as u64).saturating_sub(start)) {
            let n_bytes = collected.len().min(self.collected.len().saturating_sub(index));
            debug_assert_eq!(n_bytes, collected.len(), "bytes that were not appended");
            self.collected[index..index + n_bytes].copy_from_slice(&collected[..n_bytes]);
        }
        Ok(())
    }

    /// Waits until all of it would survive a loss of power.
    ///
    /// # Errors
    /// As [`Appender::append`].
    pub fn sync(&mut self) -> Result<()> {
        self.flush()?;
        Ok(self.sink.sync()?)
    }

    /// Publishes the file under its name, as long as it is now.
    ///
    /// # Errors
    /// As [`Appender::append`].
    pub fn publish(&mut self) -> Result<()> {
        self.flush()?;
        Ok(self.sink.publish(self.position)?)
    }

    /// Gives the file up.
    pub fn abort(&self) {
        self.sink.abort();
    }

    /// Hands all that was appended to the sink.
    ///
    /// # Errors
    /// As [`Appender::append`].
    pub fn flush(&mut self) -> Result<()> {
        if !self.collected.is_empty() {
            self.sink.write_at(self.written_bytes(), &self.collected)?;
            self.collected.clear();
        }
        Ok(())
    }

    fn written_bytes(&self) -> u64 {
        self.position - self.collected.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrowroot_storage::testing::{FullDisk, content};
    use arrowroot_storage::{AccountedSink, Ledger, MemoryFile, MemorySink, Operation};
    use proptest::prelude::*;

    fn accounted() -> (MemoryFile, Arc<Ledger>, Appender) {
        let (place, ledger) = (MemoryFile::default(), Arc::new(Ledger::new("store", true)));
        let sink = AccountedSink::new(Arc::new(MemorySink::create("m", &place)), Arc::clone(&ledger));
        (place, ledger, Appender::new(Arc::new(sink)))
    }

    #[test]
    fn small_parts_are_written_together_and_large_ones_with_them() {
        let (place, ledger, mut appender) = accounted();
        let bytes = content(3 << 20);
        let (small, large) = bytes.split_at(1000);
        for part in small.chunks(10) {
            appender.append(&[part]).unwrap();
        }
        assert_eq!(ledger.totals(Operation::Write).n_attempted, 0);
        assert_eq!(appender.append(&[large, b"end"]).unwrap(), 1000);
        appender.append(&[b"behind"]).unwrap();
        appender.publish().unwrap();
        let ranges: Vec<_> = ledger.events().iter().map(|event| (event.offset, event.n_bytes)).collect();
        assert_eq!(ranges, [(0, (3 << 20) + 3), ((3 << 20) + 3, 6)]);
        assert_eq!(*place.bytes().unwrap(), [&bytes[..], b"end", b"behind"].concat());
    }

    #[test]
    fn a_full_disk_is_told_by_what_is_written_then() {
        let memory = Arc::new(MemorySink::create("m", &MemoryFile::default()));
        let mut appender = Appender::new(Arc::new(FullDisk::new(memory, 100)));
        appender.append(&[&[1; 200]]).unwrap();
        let error = appender.publish().unwrap_err().to_string();
        assert!(error.contains("the disk is full; make room"), "{error}");
    }

    proptest! {
        #[test]
        fn the_file_is_what_was_appended_and_written_over(
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 0_usize..1_500_000), 1..12),
        ) {
            let (place, _, mut appender) = accounted();
            let mut twin: Vec<u8> = Vec::new();
            for (number, (is_over, at, n_bytes)) in steps.into_iter().enumerate() {
                let bytes = content(n_bytes + number)[number..].to_vec();
                if is_over && !twin.is_empty() {
                    let start = at.index(twin.len());
                    let n_bytes = bytes.len().min(twin.len() - start);
                    appender.write_at(start as u64, &bytes[..n_bytes]).unwrap();
                    twin[start..start + n_bytes].copy_from_slice(&bytes[..n_bytes]);
                } else {
                    let (first, second) = bytes.split_at(at.index(bytes.len() + 1));
                    prop_assert_eq!(appender.append(&[first, second]).unwrap(), twin.len() as u64);
                    twin.extend_from_slice(&bytes);
                }
                prop_assert_eq!(appender.position(), twin.len() as u64);
            }
            appender.publish().unwrap();
            prop_assert!(*place.bytes().unwrap() == twin[..]);
        }
    }
}
