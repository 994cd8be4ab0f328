//! A sink for measuring: no disk, no page cache and no fresh page is in the figure.

use std::sync::{Mutex, MutexGuard, PoisonError};

use arrowroot_storage::Sink;

/// Memory that is there before, and may be written again and again; by default none: then what is written is gone.
#[derive(Default)]
pub(crate) struct Memory(Option<Mutex<Vec<u8>>>);

impl Memory {
    /// So many bytes that are touched, and more if more are written.
    pub(crate) fn touched(n_bytes: usize) -> Self {
        Self(Some(Mutex::new(vec![1; n_bytes])))
    }

    /// All of the memory, if there is any.
    pub(crate) fn bytes(&self) -> Option<MutexGuard<'_, Vec<u8>>> {
        self.0.as_ref().map(|memory| memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sink for Memory {
    fn url(&self) -> &'static str {
        "memory"
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> arrowroot_storage::Result<()> {
        self.write_vector(offset, &[bytes])
    }

    fn write_vector(&self, offset: u64, parts: &[&[u8]]) -> arrowroot_storage::Result<()> {
        let Some(mut memory) = self.bytes() else { return Ok(()) };
        let mut start = usize::try_from(offset).unwrap_or(usize::MAX);
        for part in parts {
            let end = start.saturating_add(part.len());
            if end > memory.len() {
                memory.resize(end, 0);
            }
            memory[start..end].copy_from_slice(part);
            start = end;
        }
        Ok(())
    }

    fn sync(&self) -> arrowroot_storage::Result<()> {
        Ok(())
    }

    fn publish(&self, _size_bytes: u64) -> arrowroot_storage::Result<()> {
        Ok(())
    }

    fn abort(&self) {}
}
