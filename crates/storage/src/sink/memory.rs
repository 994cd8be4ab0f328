//! Files that are written in memory.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Ending, Error, Result};
use crate::sink::Sink;

/// A place in memory where files are published, as a name of a directory is one on a disk.
#[derive(Debug, Clone, Default)]
pub struct MemoryFile(Arc<Mutex<Option<Arc<[u8]>>>>);

impl MemoryFile {
    /// The bytes of the file that was published last; `None` if none was.
    pub fn bytes(&self) -> Option<Arc<[u8]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A file that is written in memory.
#[derive(Debug)]
pub struct MemorySink {
    url: String,
    place: MemoryFile,
    state: Mutex<MemoryState>,
}

#[derive(Debug)]
enum MemoryState {
    Open(Vec<u8>),
    Ended(Ending),
}

impl MemorySink {
    /// A file that is published in `place`, named `url` in messages.
    pub fn create(url: impl Into<String>, place: &MemoryFile) -> Self {
        MemorySink { url: url.into(), place: place.clone(), state: Mutex::new(MemoryState::Open(Vec::new())) }
    }

    fn with<T>(&self, doing: &str, work: impl FnOnce(&mut Vec<u8>) -> std::io::Result<T>) -> Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.with_state(&mut state, doing, work)
    }

    fn with_state<T>(
        &self,
        state: &mut MemoryState,
        doing: &str,
        work: impl FnOnce(&mut Vec<u8>) -> std::io::Result<T>,
    ) -> Result<T> {
        match state {
            MemoryState::Ended(ending) => Err(Error::Ended { url: self.url.clone(), ending: *ending }),
            MemoryState::Open(bytes) => work(bytes).map_err(|source| Error::Io {
                url: self.url.clone(),
                doing: doing.to_owned(),
                source: Arc::new(source),
            }),
        }
    }
}

/// Makes room up to `end`.
fn grow(bytes: &mut Vec<u8>, end: Option<u64>) -> std::io::Result<()> {
    let out_of_memory = || std::io::Error::from(std::io::ErrorKind::OutOfMemory);
    let end = end.and_then(|end| usize::try_from(end).ok()).ok_or_else(out_of_memory)?;
    if let Some(more) = end.checked_sub(bytes.len()) {
        bytes.try_reserve(more).map_err(|_| out_of_memory())?;
        bytes.resize(end, 0);
    }
    Ok(())
}

impl Sink for MemorySink {
    fn url(&self) -> &str {
        &self.url
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.write_vector(offset, &[bytes])
    }

    fn write_vector(&self, offset: u64, parts: &[&[u8]]) -> Result<()> {
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        if n_bytes == 0 {
            return self.with("cannot be written to", |_| Ok(()));
        }
        self.with(&format!("cannot write {n_bytes} bytes at {offset}"), |bytes| {
            grow(bytes, offset.checked_add(n_bytes as u64))?;
            let mut rest = &mut bytes[usize::try_from(offset).unwrap_or(usize::MAX)..];
            for part in parts {
                let (here, behind) = rest.split_at_mut(part.len());
                here.copy_from_slice(part);
                rest = behind;
            }
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.with("cannot be synced", |_| Ok(()))
    }

    fn publish(&self, size_bytes: u64) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.with_state(&mut state, "cannot be published", |bytes| {
            grow(bytes, Some(size_bytes))?;
            bytes.truncate(usize::try_from(size_bytes).unwrap_or(usize::MAX));
            Ok(std::mem::take(bytes))
        })?;
        *state = MemoryState::Ended(Ending::Published);
        *self.place.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes.into());
        Ok(())
    }

    fn abort(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, MemoryState::Open(_)) {
            *state = MemoryState::Ended(Ending::Aborted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_what_every_sink_must() {
        let place = MemoryFile::default();
        let create = || -> Result<Arc<dyn Sink>> { Ok(Arc::new(MemorySink::create("m", &place))) };
        crate::testing::check_sink(&create, &|| place.bytes().map(|bytes| bytes.to_vec())).unwrap();
    }

    #[test]
    fn more_than_there_is_memory_is_an_error() {
        let sink = MemorySink::create("m", &MemoryFile::default());
        let error = sink.write_at(1 << 60, &[1]).unwrap_err().to_string();
        assert!(error.contains("m: cannot write 1 bytes at 1152921504606846976: out of memory"), "{error}");
        sink.write_at(u64::MAX, &[1]).unwrap_err();
        sink.publish(1 << 60).unwrap_err();
        sink.publish(1).unwrap();
    }
}
