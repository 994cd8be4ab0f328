//! The rules for every sink, and a sink that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::content;
use crate::error::{Error, Result};
use crate::sink::Sink;

/// A sink on a disk that is soon full.
pub struct FullDisk {
    inner: Arc<dyn Sink>,
    left_bytes: AtomicU64,
}

impl FullDisk {
    /// Takes so many bytes for `inner`. The write that exceeds them fails, and those after it.
    pub fn new(inner: Arc<dyn Sink>, n_bytes: u64) -> Self {
        FullDisk { inner, left_bytes: AtomicU64::new(n_bytes) }
    }

    fn take(&self, n_bytes: u64) -> Result<()> {
        let taken = self.left_bytes.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(n_bytes));
        taken.map(drop).map_err(|left| {
            self.left_bytes.fetch_min(left.min(n_bytes.saturating_sub(1)), Relaxed);
            Error::Io {
                url: self.url().to_owned(),
                doing: format!("cannot write {n_bytes} bytes"),
                source: Arc::new(std::io::ErrorKind::StorageFull.into()),
            }
        })
    }
}

#[deny(clippy::missing_trait_methods)]
impl Sink for FullDisk {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.take(bytes.len() as u64)?;
        self.inner.write_at(offset, bytes)
    }

    fn write_vector(&self, offset: u64, parts: &[&[u8]]) -> Result<()> {
        self.take(parts.iter().map(|part| part.len() as u64).sum())?;
        self.inner.write_vector(offset, parts)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn publish(&self, size_bytes: u64) -> Result<()> {
        self.inner.publish(size_bytes)
    }

    fn abort(&self) {
        self.inner.abort();
    }
}

/// Makes sinks that have the same name.
pub type CreateSink<'a> = &'a dyn Fn() -> Result<Arc<dyn Sink>>;
/// The thing under that name.
pub type Published<'a> = &'a dyn Fn() -> Option<Vec<u8>>;

/// Checks a kind of sink: writes in any order, over each other, with gaps, in parts, by eight threads; nothing there before it
/// is published, all of it afterwards, and what was there before if it is aborted or dropped; and no writing after the end.
/// Nothing must be there at first.
///
/// # Errors
/// Its fault, in words for the message of a test.
pub fn check_sink(create: CreateSink<'_>, published: Published<'_>) -> Result<(), String> {
    check_absence(create, published)?;
    check_orders(create, published)?;
    check_vectors(create, published)?;
    check_lengths(create, published)?;
    check_end(create, published)?;
    check_older_file(create, published)?;
    check_threads(create, published)
}

fn open(create: CreateSink<'_>) -> Result<Arc<dyn Sink>, String> {
    create().map_err(|error| format!("it cannot be created: {error}"))
}

fn must<T>(what: &str, result: Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}

fn same(what: &str, published: Published<'_>, expected: Option<&[u8]>) -> Result<(), String> {
    let found = published();
    if found.as_deref() == expected {
        return Ok(());
    }
    let sized = |bytes: Option<&[u8]>| bytes.map_or("nothing".to_owned(), |bytes| format!("{} bytes", bytes.len()));
    let index = match (&found, expected) {
        (Some(found), Some(expected)) => found.iter().zip(expected).position(|(found, expected)| found != expected),
        _ => None,
    };
    let index = index.map_or(String::new(), |index| format!(", wrong at byte {index}"));
    Err(format!("{what}: {} there instead of {}{index}", sized(found.as_deref()), sized(expected)))
}

fn check_absence(create: CreateSink<'_>, published: Published<'_>) -> Result<(), String> {
    same("before it is created", published, None)?;
    for is_dropped in [true, false] {
        let sink = open(create)?;
        must("a write", sink.write_at(0, b"given up"))?;
        must("a sync", sink.sync())?;
        same("before it is published", published, None)?;
        if !is_dropped {
            sink.abort();
            same("after it was aborted", published, None)?;
        }
        drop(sink);
        same("after it was dropped", published, None)?;
    }
    Ok(())
}

fn check_orders(create: CreateSink<'_>, published: Published<'_>) -> Result<(), String> {
    let bytes = content(10_000);
    let blocks: Vec<usize> = (0..10).map(|block| block * 1000).collect();
    let backwards = blocks.iter().rev().copied().collect();
    let mixed = (0..10).map(|block| block * 7 % 10 * 1000).collect();
    for order in [blocks, backwards, mixed] {
        let sink = open(create)?;
        for offset in order {
            must("a write", sink.write_at(offset as u64, &bytes[offset..offset + 1000]))?;
        }
        must("a write of nothing", sink.write_at(20_000, &[]))?;
        must("publishing", sink.publish(10_000))?;
        same("blocks in some order", published, Some(&bytes))?;
    }
    let sink = open(create)?;
    must("a write", sink.write_at(0, &[0xa5; 5000]))?;
    must("a write over another", sink.write_at(0, &bytes[..4000]))?;
    must("a write over the end of another", sink.write_at(4000, &bytes[4000..]))?;
    must("publishing", sink.publish(10_000))?;
    same("writes over each other", published, Some(&bytes))?;
    let sink = open(create)?;
    must("a write behind a gap", sink.write_at(70_000, &bytes[..100]))?;
    must("a write in the gap", sink.write_at(10, &bytes[..20]))?;
    must("publishing", sink.publish(70_100))?;
    let mut expected = vec![0; 70_100];
    expected[70_000..].copy_from_slice(&bytes[..100]);
    expected[10..30].copy_from_slice(&bytes[..20]);
    same("writes with gaps", published, Some(&expected))
}

fn check_vectors(create: CreateSink<'_>, published: Published<'_>) -> Result<(), String> {
    // More parts than most systems take at once, empty ones among them, and a large one.
    let bytes = content(200_000);
    let sink = open(create)?;
    let (small, large) = bytes.split_at(12_000);
    let mut parts: Vec<&[u8]> = vec![&[]];
    for (index, part) in small.chunks(4).enumerate() {
        parts.push(part);
        if index % 5 == 0 {
            parts.push(&[]);
        }
    }
    parts.push(large);
    must("a vector write", sink.write_vector(100, &parts))?;
    must("a vector write of nothing", sink.write_vector(100, &[]))?;
    must("a vector write of nothing", sink.write_vector(7, &[&[], &[]]))?;
    must("a vector write", sink.write_vector(0, &[&[1; 60], &[2; 40]]))?;
    must("publishing", sink.publish(200_100))?;
    let expected = [&[1_u8; 60][..], &[2; 40], &bytes].concat();
    same("parts", published, Some(&expected))
}

fn check_lengths(create: CreateSink<'_>, published: Published<'_>) -> Result<(), String> {
    for (size, what) in
        [(0, "a file of nothing"), (40, "a file that is cut"), (100, "a file"), (300, "a file that is extended")]
    {
        let sink = open(create)?;
        must("a write", sink.write_at(0, &[7; 100]))?;
        must("publishing", sink.publish(size))?;
        let mut expected = vec![7; 100];
        expected.resize(usize::try_from(size).unwrap_or_default(), 0);
        same(what, published, Some(&expected))?;
    }
    let sink = open(create)?;
    must("publishing what was never written to", sink.publish(0))?;
    same("an empty file", published, Some(&[]))
}

fn check_end(create: CreateSink<'_>, published: Published<'_>) -> Result<(), String> {
    for is_published in [true, false] {
        let sink = open(create)?;
        must("a write", sink.write_at(0, b"first"))?;
        if is_published {
            must("publishing", sink.publish(5))?;
        } else {
            sink.abort();
        }
        let after = if is_published { "after it was published" } else { "after it was aborted" };
        for (what, result) in [
            ("a write", sink.write_at(0, b"later")),
            ("a vector write", sink.write_vector(0, &[b"later"])),
            ("a sync", sink.sync()),
            ("publishing", sink.publish(3)),
        ] {
            match result {
                Err(Error::Ended { .. }) => {}
                Err(error) => return Err(format!("{what} {after} is the wrong error: {error}")),
                Ok(()) => return Err(format!("{what} succeeds {after}")),
            }
        }
        sink.abort();
        drop(sink);
        same(&format!("an end again {after}"), published, Some(b"first"))?;
    }
    Ok(())
}

fn check_older_file(create: CreateSink<'_>, published: Published<'_>) -> Result<(), String> {
    let older = content(3000);
    let sink = open(create)?;
    must("a write", sink.write_at(0, &older))?;
    must("publishing", sink.publish(3000))?;
    drop(sink);
    for is_dropped in [true, false] {
        let sink = open(create)?;
        same("an older file, while another is created", published, Some(&older))?;
        must("a write", sink.write_at(0, &[0xa5; 5000]))?;
        must("a sync", sink.sync())?;
        same("an older file, while another is written", published, Some(&older))?;
        if !is_dropped {
            sink.abort();
        }
        drop(sink);
        same("an older file, when another was given up", published, Some(&older))?;
    }
    let sink = open(create)?;
    must("a write", sink.write_at(0, b"newer"))?;
    must("publishing", sink.publish(5))?;
    same("a newer file", published, Some(b"newer"))
}

fn check_threads(create: CreateSink<'_>, published: Published<'_>) -> Result<(), String> {
    let bytes = content(160_000);
    let sink = open(create)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = bytes
            .chunks(20_000)
            .enumerate()
            .map(|(thread, part)| {
                let sink = &sink;
                scope.spawn(move || {
                    part.chunks(1000).enumerate().rev().try_for_each(|(block, bytes)| {
                        must("a write", sink.write_at((thread * 20_000 + block * 1000) as u64, bytes))
                    })
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("it panicked".to_owned())))
    })?;
    must("publishing", sink.publish(160_000))?;
    same("what eight threads wrote", published, Some(&bytes))
}
