//! Bytes that are in memory already.

use std::sync::Arc;

use crate::error::Result;
use crate::source::{AccessProfile, Part, Source, check_range, read_each};

/// A file in memory: for tests, fuzzing, and data that came another way.
#[derive(Debug, Clone)]
pub struct MemorySource {
    url: String,
    bytes: Arc<[u8]>,
}

impl MemorySource {
    /// A source of `bytes`, named `url` in messages.
    pub fn new(url: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        MemorySource { url: url.into(), bytes: bytes.into() }
    }
}

impl Source for MemorySource {
    fn url(&self) -> &str {
        &self.url
    }

    fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        buffer.copy_from_slice(&self.bytes[start..start + buffer.len()]);
        Ok(())
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        read_each(self, parts)
    }

    fn access_profile(&self) -> AccessProfile {
        AccessProfile::LOCAL
    }
}
