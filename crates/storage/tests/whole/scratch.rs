//! Directories and sources for tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrowroot_storage::testing::Disguised;
use arrowroot_storage::{AccessProfile, MemorySource, Source};

/// A directory that is gone after the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("arrowroot-test-{}-{number}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// All files in it, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.0.clone()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { open.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) const FAR: AccessProfile = AccessProfile {
    is_remote: true,
    latency: Duration::from_millis(50),
    bytes_per_second: 1e8,
    max_parallel: 8,
    max_ranges: 1024,
};

/// Content that says it is far away.
pub(crate) fn far_away(content: &[u8]) -> Arc<dyn Source> {
    far_away_version(content, "1")
}

pub(crate) fn far_away_version(content: &[u8], version: &str) -> Arc<dyn Source> {
    let inner = MemorySource::new("far://away/f.root", content.to_vec());
    Arc::new(Disguised { inner, profile: FAR, version: Some(version.to_owned()) })
}
