//! Counting and timing what is written.

use std::sync::Arc;

use crate::account::{Ledger, Operation};
use crate::error::Result;
use crate::sink::Sink;

/// A layer that enters in a ledger what is asked of the sink below it.
pub struct AccountedSink {
    inner: Arc<dyn Sink>,
    ledger: Arc<Ledger>,
}

impl AccountedSink {
    /// Accounts for what is written to `inner`.
    pub fn new(inner: Arc<dyn Sink>, ledger: Arc<Ledger>) -> Self {
        AccountedSink { inner, ledger }
    }

    /// The ledger.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }
}

#[deny(clippy::missing_trait_methods)]
impl Sink for AccountedSink {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let range = std::iter::once((offset, bytes.len() as u64));
        self.ledger.enter(Operation::Write, range, || self.inner.write_at(offset, bytes))
    }

    fn write_vector(&self, offset: u64, parts: &[&[u8]]) -> Result<()> {
        // Its parts are neighbours: one range.
        let range = std::iter::once((offset, parts.iter().map(|part| part.len() as u64).sum()));
        self.ledger.enter(Operation::Write, range, || self.inner.write_vector(offset, parts))
    }

    fn sync(&self) -> Result<()> {
        self.ledger.enter(Operation::Sync, std::iter::empty(), || self.inner.sync())
    }

    fn publish(&self, size_bytes: u64) -> Result<()> {
        self.ledger.enter(Operation::Publish, std::iter::empty(), || self.inner.publish(size_bytes))
    }

    fn abort(&self) {
        self.inner.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::{MemoryFile, MemorySink};
    use crate::testing::FullDisk;

    #[test]
    fn what_is_written_synced_and_published_is_counted_and_what_fails_apart() {
        let memory = Arc::new(MemorySink::create("m", &MemoryFile::default()));
        let ledger = Arc::new(Ledger::new("store", true));
        let sink = AccountedSink::new(Arc::new(FullDisk::new(memory, 10)), ledger);
        sink.write_at(0, &[1; 4]).unwrap();
        sink.write_vector(4, &[&[2; 2], &[3; 3]]).unwrap();
        sink.write_at(9, &[4; 2]).unwrap_err();
        sink.sync().unwrap();
        sink.publish(9).unwrap();
        let totals = |operation| sink.ledger().totals(operation);
        let written = totals(Operation::Write);
        assert_eq!((written.n_attempted, written.n_successful, written.bytes), (3, 2, 9));
        assert_eq!((totals(Operation::Sync).n_successful, totals(Operation::Publish).n_successful), (1, 1));
        let events: Vec<_> = sink.ledger().events().iter().map(|event| (event.offset, event.n_bytes)).collect();
        assert_eq!(events, [(0, 4), (4, 5)]);
        assert_eq!(sink.ledger().read_totals().n_reads, 0);
    }
}
