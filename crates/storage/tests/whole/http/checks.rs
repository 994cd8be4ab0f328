//! Opening and reading, compared with what the file holds.

use std::sync::Arc;

use arrowroot_storage::{Error, Ledger, Opened, Operation, Options, Part, Source, Speculation};

/// What every test asks for while it opens.
pub(crate) const SPECULATION: Speculation = Speculation { head_bytes: 4096, tail_bytes: 65536 };

/// Bytes that tell where they are from.
pub(crate) fn content(n_bytes: usize) -> Vec<u8> {
    (0..n_bytes).map(|index| u8::try_from((index ^ (index >> 8) ^ (index >> 16)) & 0xff).unwrap()).collect()
}

pub(crate) fn options(settings: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    for (name, value) in [("timeout", "5"), ("deadline", "20")].iter().chain(settings) {
        options.set(name, value, "test").unwrap();
    }
    options
}

pub(crate) fn open(url: &str, settings: &[(&str, &str)]) -> Result<Opened, Error> {
    arrowroot_storage::open(url, &options(settings), SPECULATION)
}

/// Reads ranges in one vector read and compares them with the content.
pub(crate) fn check_vector(source: &Arc<dyn Source>, content: &[u8], ranges: &[(usize, usize)]) -> Result<(), Error> {
    let mut buffers: Vec<_> = ranges.iter().map(|(start, end)| vec![0; end - start]).collect();
    let parts = ranges.iter().zip(&mut buffers);
    let mut parts: Vec<_> = parts.map(|((start, _), buffer)| Part { offset: *start as u64, buffer }).collect();
    source.read_vector(&mut parts)?;
    for ((start, end), buffer) in ranges.iter().zip(buffers) {
        assert!(content[*start..*end] == buffer, "wrong bytes {start} to {end}");
    }
    Ok(())
}

pub(crate) fn check_preloaded(opened: &Opened, content: &[u8]) {
    assert_eq!(opened.source.size_bytes(), content.len() as u64);
    for (offset, bytes) in &opened.preloaded {
        let start = usize::try_from(*offset).unwrap();
        assert!(content[start..start + bytes.len()] == *bytes, "wrong bytes at {start}");
    }
}

pub(crate) fn ledger(opened: &Opened, layer: &str) -> Arc<Ledger> {
    Arc::clone(opened.ledgers.all().iter().find(|ledger| ledger.layer() == layer).unwrap())
}

/// Attempted and successful operations of a kind.
pub(crate) fn counts(ledger: &Ledger, operation: Operation) -> (u64, u64) {
    let totals = ledger.totals(operation);
    (totals.n_attempted, totals.n_successful)
}
