//! What a scan cost: exact counts, and times of named things.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters that many threads add to.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        /// The state of a scan's counters. Times are sums over threads, in ns.
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
            /// Reads that succeeded.
            pub read_calls: u64,
            /// Bytes that were read.
            pub read_bytes: u64,
            /// Bytes of them that no piece needed, or that were read again. What came with the opening or was in a cache
            /// was not read.
            pub overhead_bytes: u64,
            /// Time in reads.
            pub read_ns: u64,
            /// Part of it in threads that decode; none where windows are fetched by threads of their own.
            pub decoder_read_ns: u64,
            /// The most threads that worked at a time, in placing, decoding or making columns: no more than there are cores, and
            /// one where it was done before another would have begun.
            pub n_threads: u64,
        }

        impl Counters {
            pub(crate) fn snapshot(&self) -> Stats {
                Stats { $($name: self.$name.load(Relaxed),)* ..Stats::default() }
            }
        }

        impl Stats {
            /// All counters with their names.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![
                    $((stringify!($name), self.$name),)*
                    ("read_calls", self.read_calls),
                    ("read_bytes", self.read_bytes),
                    ("overhead_bytes", self.overhead_bytes),
                    ("read_ns", self.read_ns),
                    ("decoder_read_ns", self.decoder_read_ns),
                    ("n_threads", self.n_threads),
                ]
            }
        }
    };
}

counters! {
    /// Bytes of pieces among those read.
    payload_bytes,
    /// Bytes of pieces that were decoded, as in the file, keys included.
    stored_bytes,
    /// Bytes of the same pieces uncompressed, keys included, as trees count them (`fTotBytes`).
    memory_bytes,
    /// Bytes of the same pieces, and of those in a tree's record, uncompressed, keys not included.
    unzip_bytes,
    /// Time in decompression.
    decompress_ns,
    /// Time between decompression and the Arrow buffers.
    decode_ns,
    /// Time that threads waited for a window, a free buffer or the consumer.
    wait_ns,
    /// CPU time of giving pieces their places, which one thread does at a time.
    place_ns,
    /// Time that the lock of the scan's threads was held.
    lock_ns,
    /// Pieces decoded.
    n_pieces,
    /// Entries delivered.
    n_entries,
    /// Batches delivered.
    n_batches,
    /// Bytes of Arrow buffers delivered.
    values_bytes,
    /// Wall time that the caller spent in the scan.
    wall_ns,
    /// CPU time of the scan in all its threads.
    cpu_ns,
    /// Most bytes held at a time by windows and undelivered batches.
    peak_buffer_bytes,
}

/// Adds a time to a counter.
pub(crate) fn add_ns(counter: &AtomicU64, time: Duration) {
    counter.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
}
