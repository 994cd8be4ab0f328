//! Where clusters end.

/// Where clusters end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// When they have so many bytes.
    Bytes(u64),
    /// When they have so many entries.
    Entries(u64),
    /// Never.
    Never,
}
