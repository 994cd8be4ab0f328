//! What every source and every sink must do, whatever its store and layers: for the tests of this crate and of those that add
//! one.

use std::sync::Arc;

use crate::error::Error;
use crate::requests::Protocol;
use crate::source::{AccessProfile, Part, Source};

mod sinks;

pub use sinks::{CreateSink, FullDisk, Published, check_sink};

/// Bytes that differ from place to place, so that a wrong offset shows.
pub fn content(n_bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..n_bytes).map(|_| next()).collect()
}

/// A source that says it is of another profile or version than it is.
pub struct Disguised<S> {
    /// What is read.
    pub inner: S,
    /// What it says.
    pub profile: AccessProfile,
    /// What it says.
    pub version: Option<String>,
}

#[deny(clippy::missing_trait_methods)]
impl<S: Source> Source for Disguised<S> {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> crate::Result<()> {
        self.inner.read_at(offset, buffer)
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> crate::Result<()> {
        self.inner.read_vector(parts)
    }

    fn access_profile(&self) -> AccessProfile {
        self.profile
    }

    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn version(&self) -> Option<String> {
        self.version.clone()
    }
}

/// Checks that a source answers like `content`, of at least 64 bytes: ranges of all kinds, empty ones and those after the
/// end, vector reads in any order with overlaps and repeats, and eight threads at once.
///
/// # Errors
/// What it did wrong, in words for the message of a test.
pub fn check_source(source: &Arc<dyn Source>, content: &[u8]) -> Result<(), String> {
    let size = content.len();
    if size < 64 {
        return Err(format!("the content has {size} bytes, and the checks need 64"));
    }
    if source.size_bytes() != size as u64 {
        return Err(format!("its size is {size} bytes, and it says {}", source.size_bytes()));
    }
    let ranges = [
        (0, 1),
        (0, size),
        (size - 1, 1),
        (size / 2, 1),
        (size / 3, size / 3),
        (1, size - 2),
        (0, 0),
        (size, 0),
        (size / 2, 0),
        (size / 2, size - size / 2),
        (7, 13),
    ];
    for (offset, n_bytes) in ranges {
        check_read(source.as_ref(), content, offset, n_bytes)?;
    }
    check_vectors(source.as_ref(), content, &ranges)?;
    check_past_end(source.as_ref(), size)?;
    // After errors it must still answer.
    check_read(source.as_ref(), content, 0, size)?;
    check_threads(source, content)
}

fn check_read(source: &dyn Source, content: &[u8], offset: usize, n_bytes: usize) -> Result<(), String> {
    let mut buffer = vec![0xa5; n_bytes];
    let result = source.read_at(offset as u64, &mut buffer);
    result.map_err(|error| format!("a read of {n_bytes} bytes at {offset}: {error}"))?;
    same(&buffer, content, offset)
}

fn same(buffer: &[u8], content: &[u8], offset: usize) -> Result<(), String> {
    match buffer.iter().zip(&content[offset..]).position(|(found, right)| found != right) {
        None => Ok(()),
        Some(place) => Err(format!("wrong at byte {place} of {} read at {offset}", buffer.len())),
    }
}

fn check_vector(source: &dyn Source, content: &[u8], ranges: &[(usize, usize)]) -> Result<(), String> {
    let mut buffers: Vec<(usize, Vec<u8>)> =
        ranges.iter().map(|&(offset, n_bytes)| (offset, vec![0xa5; n_bytes])).collect();
    let mut parts: Vec<Part<'_>> =
        buffers.iter_mut().map(|(offset, buffer)| Part { offset: *offset as u64, buffer }).collect();
    source.read_vector(&mut parts).map_err(|error| format!("a vector read of {ranges:?}: {error}"))?;
    buffers.iter().try_for_each(|(offset, buffer)| same(buffer, content, *offset))
}

fn check_vectors(source: &dyn Source, content: &[u8], ranges: &[(usize, usize)]) -> Result<(), String> {
    let size = content.len();
    check_vector(source, content, &[])?;
    check_vector(source, content, &[(size / 2, 0)])?;
    check_vector(source, content, &[(3, 5)])?;
    // In any order, with overlaps and repeats.
    let mut mixed = ranges.to_vec();
    mixed.extend_from_slice(ranges);
    mixed.reverse();
    check_vector(source, content, &mixed)?;
    // Many, backwards, and more than most stores take at a time.
    let many: Vec<_> = (0..1500).map(|index| (index * 7919 % (size - 8), 1 + index % 8)).collect();
    check_vector(source, content, &many)?;
    // Neighbours without a gap.
    let neighbours: Vec<_> = (0..8).map(|index| (index * (size / 8), size / 8)).collect();
    check_vector(source, content, &neighbours)
}

fn check_past_end(source: &dyn Source, size: usize) -> Result<(), String> {
    let size = size as u64;
    for (offset, n_bytes) in
        [(size, 1), (size - 1, 2), (size + 1, 0), (size + 1000, 10), (u64::MAX, 1), (u64::MAX - 1, 2)]
    {
        let mut buffer = vec![0; n_bytes];
        let what = format!("a read of {n_bytes} bytes at {offset} of {size}");
        match source.read_at(offset, &mut buffer) {
            Err(Error::PastEnd { .. }) => {}
            Err(error) => return Err(format!("{what} is the wrong error: {error}")),
            Ok(()) => return Err(format!("{what} succeeds")),
        }
        let mut first = [0; 4];
        let mut parts = [Part { offset: 0, buffer: &mut first }, Part { offset, buffer: &mut buffer }];
        match source.read_vector(&mut parts) {
            Err(Error::PastEnd { .. }) => {}
            Err(error) => return Err(format!("{what} in a vector read is the wrong error: {error}")),
            Ok(()) => return Err(format!("{what} in a vector read succeeds")),
        }
    }
    Ok(())
}

fn check_threads(source: &Arc<dyn Source>, content: &[u8]) -> Result<(), String> {
    let size = content.len();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8_usize)
            .map(|thread| {
                scope.spawn(move || {
                    (0..20).try_for_each(|turn| {
                        let offset = (thread * 7919 + turn * 104_729) % (size - 16);
                        check_read(source.as_ref(), content, offset, 1 + (size - offset - 1) / 4)?;
                        let ranges = [(offset, 16), (0, 9), (size - 8, 8), (offset, 3)];
                        check_vector(source.as_ref(), content, &ranges)
                    })
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("it panicked".to_owned())))
    })
}
