//! What can go wrong while bytes are turned into types.

use std::fmt;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A format error; the variant says what the caller can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes contradict the format: nothing but another copy of the file helps.
    #[error("corrupt data: {0}")]
    Corrupt(Fault),
    /// Fewer bytes than the structure needs: the file is cut short, or more of it must be fetched.
    #[error("data ends too early: {0}")]
    Truncated(Fault),
    /// The bytes may well be right, but this version of arrowroot does not read them.
    #[error("unsupported: {0}")]
    Unsupported(Fault),
}

/// Where in which structure something is wrong, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Offset in bytes, in the buffer that was read or, once placed by [`Error::at`], in the file.
    pub offset: u64,
    /// What was expected and what was found.
    pub what: String,
    /// The structures being read, outermost first.
    pub within: Vec<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        write!(f, " (at byte {}", self.offset)?;
        if !self.within.is_empty() {
            write!(f, " of {}", self.within.join(" > "))?;
        }
        f.write_str(")")
    }
}

impl Error {
    /// The bytes at `offset` contradict the format.
    pub fn corrupt(offset: usize, what: impl Into<String>) -> Self {
        Error::Corrupt(Fault::new(offset, what))
    }

    /// A structure at `offset` needs more bytes than there are.
    pub fn truncated(offset: usize, what: impl Into<String>) -> Self {
        Error::Truncated(Fault::new(offset, what))
    }

    /// The bytes at `offset` are of a kind that is not read yet.
    pub fn unsupported(offset: usize, what: impl Into<String>) -> Self {
        Error::Unsupported(Fault::new(offset, what))
    }

    /// Where it went wrong and what was expected.
    pub fn fault(&self) -> &Fault {
        match self {
            Error::Corrupt(fault) | Error::Truncated(fault) | Error::Unsupported(fault) => fault,
        }
    }

    fn fault_mut(&mut self) -> &mut Fault {
        match self {
            Error::Corrupt(fault) | Error::Truncated(fault) | Error::Unsupported(fault) => fault,
        }
    }

    /// Names the structure that was being read; call it from the inside out.
    #[must_use]
    pub fn within(mut self, structure: impl Into<String>) -> Self {
        self.fault_mut().within.insert(0, structure.into());
        self
    }

    /// Moves the offset from the start of a buffer to the place of that buffer in the file.
    #[must_use]
    pub fn at(mut self, buffer_offset: u64) -> Self {
        let fault = self.fault_mut();
        fault.offset = fault.offset.saturating_add(buffer_offset);
        self
    }
}

impl Fault {
    fn new(offset: usize, what: impl Into<String>) -> Self {
        Fault { offset: offset as u64, what: what.into(), within: Vec::new() }
    }
}

/// Adds the name of the structure being read to an error on its way out.
pub trait Within<T> {
    /// Names the structure; `name` is called for errors only.
    ///
    /// # Errors
    /// The same as before, and where it happened.
    fn within<S: Into<String>>(self, name: impl FnOnce() -> S) -> Result<T>;
}

impl<T> Within<T> for Result<T> {
    #[inline]
    fn within<S: Into<String>>(self, name: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| error.within(name()))
    }
}
