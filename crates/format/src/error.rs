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
    Corrupt(Box<Fault>),
    /// Fewer bytes than the structure needs: the file is cut short, or more of it must be fetched.
    #[error("data ends too early: {0}")]
    Truncated(Box<Fault>),
    /// The bytes may well be right, but this version of arrowroot does not read them.
    #[error("unsupported: {0}")]
    Unsupported(Box<Fault>),
    /// More items than the lists of one batch can number: fewer entries at a time can be read.
    #[error("{0}")]
    BatchTooLong(Box<Fault>),
}

/// Where in which structure something is wrong, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The byte at which it is wrong.
    pub place: Place,
    /// What was expected and what was found.
    pub what: String,
    /// The structures being read, outermost first.
    pub within: Vec<String>,
    /// What was done about it in vain; mostly nothing.
    pub besides: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        write!(f, " (at {}", self.place)?;
        if !self.within.is_empty() {
            write!(f, ", in {}", self.within.join(" > "))?;
        }
        f.write_str(")")?;
        if !self.besides.is_empty() {
            write!(f, "; {}", self.besides)?;
        }
        Ok(())
    }
}

/// A byte of a file, or of what a part of it holds once it is uncompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// This byte of the buffer that was decoded; where that is from was not said.
    Buffer(u64),
    /// This byte of the file.
    File(u64),
    /// A byte that has no offset in the file: it is uncompressed first.
    Payload {
        /// Offset in the uncompressed payload.
        offset: u64,
        /// What the payload is that of: `"record"`, `"page"` or `"envelope"`.
        of: &'static str,
        /// Where that begins in the file; a record begins with its key.
        at: u64,
    },
}

impl Place {
    /// The byte so many bytes further on.
    #[must_use]
    pub fn plus(self, n_bytes: u64) -> Self {
        match self {
            Place::Buffer(offset) => Place::Buffer(offset.saturating_add(n_bytes)),
            Place::File(offset) => Place::File(offset.saturating_add(n_bytes)),
            Place::Payload { offset, of, at } => Place::Payload { offset: offset.saturating_add(n_bytes), of, at },
        }
    }

    /// Where the payload of a record begins. `at`: offset of the record; `key_bytes`: size of its key.
    pub fn of_payload(is_compressed: bool, at: u64, key_bytes: u64) -> Self {
        if is_compressed {
            Place::Payload { offset: 0, of: "record", at }
        } else {
            Place::File(at.saturating_add(key_bytes))
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Buffer(offset) => write!(f, "byte {offset}"),
            Place::File(offset) => write!(f, "byte {offset} of the file"),
            Place::Payload { offset, of, at } => {
                write!(f, "byte {offset} of the uncompressed payload of the {of} at byte {at} of the file")
            }
        }
    }
}

impl Error {
    /// The bytes at `offset` contradict the format.
    pub fn corrupt(offset: usize, what: impl Into<String>) -> Self {
        Error::Corrupt(Fault::boxed(offset, what))
    }

    /// A structure at `offset` needs more bytes than there are.
    pub fn truncated(offset: usize, what: impl Into<String>) -> Self {
        Error::Truncated(Fault::boxed(offset, what))
    }

    /// The bytes at `offset` are of a kind that is not read yet.
    pub fn unsupported(offset: usize, what: impl Into<String>) -> Self {
        Error::Unsupported(Fault::boxed(offset, what))
    }

    /// A batch has more items in its lists, or bytes in its texts, than 32 bits number.
    pub fn batch_too_long() -> Self {
        Error::BatchTooLong(Fault::boxed(
            0,
            format!("more than {} items in one batch: set a smaller batch size", i32::MAX),
        ))
    }

    /// Where it went wrong and what was expected.
    pub fn fault(&self) -> &Fault {
        let (Error::Corrupt(fault) | Error::Truncated(fault) | Error::Unsupported(fault) | Error::BatchTooLong(fault)) =
            self;
        fault
    }

    fn fault_mut(&mut self) -> &mut Fault {
        let (Error::Corrupt(fault) | Error::Truncated(fault) | Error::Unsupported(fault) | Error::BatchTooLong(fault)) =
            self;
        fault
    }

    /// Whether the bytes, as far as they were read, may be other than the format says.
    pub fn is_doubtful(&self) -> bool {
        matches!(self, Error::Corrupt(_) | Error::Truncated(_))
    }

    /// Names the structure that was being read; call it from the inside out.
    #[must_use]
    pub fn within(mut self, structure: impl Into<String>) -> Self {
        self.fault_mut().within.insert(0, structure.into());
        self
    }

    /// Adds what else may be the reason.
    #[must_use]
    pub fn or(mut self, reason: &str) -> Self {
        let what = &mut self.fault_mut().what;
        what.push_str(", or ");
        what.push_str(reason);
        self
    }

    /// Adds what can be done, if it is unsupported.
    #[must_use]
    pub fn remedied(mut self, remedy: impl FnOnce() -> String) -> Self {
        if let Error::Unsupported(fault) = &mut self {
            fault.what.push_str(": ");
            fault.what.push_str(&remedy());
        }
        self
    }

    /// Adds what was done about it in vain.
    #[must_use]
    pub fn besides(mut self, text: String) -> Self {
        self.fault_mut().besides = text;
        self
    }

    /// The same bytes, if they are more likely right than not, for a reason that is said first.
    #[must_use]
    pub fn as_unsupported(self, reason: &str) -> Self {
        match self {
            Error::Corrupt(mut fault) | Error::Truncated(mut fault) | Error::Unsupported(mut fault) => {
                fault.what = format!("{reason}: {}", fault.what);
                Error::Unsupported(fault)
            }
            Error::BatchTooLong(_) => self,
        }
    }

    /// Says where the buffer that was decoded begins. An error that knows its place in the file keeps it.
    #[must_use]
    pub fn placed(mut self, start: Place) -> Self {
        let fault = self.fault_mut();
        if let Place::Buffer(offset) = fault.place {
            fault.place = start.plus(offset);
        }
        self
    }

    /// The same for a buffer that is in the file as it is, from `file_offset` on.
    #[must_use]
    pub fn at(self, file_offset: u64) -> Self {
        self.placed(Place::File(file_offset))
    }

    /// The same for a buffer that is a part of another, from `offset` on.
    #[must_use]
    pub fn inside(self, offset: usize) -> Self {
        self.placed(Place::Buffer(offset as u64))
    }
}

impl Fault {
    /// In a box, which keeps results small where all is well.
    fn boxed(offset: usize, what: impl Into<String>) -> Box<Self> {
        Box::new(Fault {
            place: Place::Buffer(offset as u64),
            what: what.into(),
            within: Vec::new(),
            besides: String::new(),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_its_byte_in_the_file_or_in_an_uncompressed_payload() {
        let error = || Error::corrupt(7, "no such thing").within("entry 3").within("basket");
        assert_eq!(error().to_string(), "corrupt data: no such thing (at byte 7, in basket > entry 3)");
        assert_eq!(
            error().at(100).to_string(),
            "corrupt data: no such thing (at byte 107 of the file, in basket > entry 3)"
        );
        let in_record = |is_compressed| error().inside(20).placed(Place::of_payload(is_compressed, 1000, 60));
        assert_eq!(in_record(false).fault().place, Place::File(1087));
        assert_eq!(in_record(true).fault().place, Place::Payload { offset: 27, of: "record", at: 1000 });
        assert_eq!(
            in_record(true).to_string(),
            "corrupt data: no such thing (at byte 27 of the uncompressed payload of the record at byte 1000 of the file, \
             in basket > entry 3)"
        );
    }

    #[test]
    fn an_error_is_placed_once() {
        let placed = Error::corrupt(7, "wrong").at(100);
        assert_eq!(placed.clone().at(1000), placed);
        assert_eq!(placed.clone().inside(5), placed);
        assert_eq!(placed.clone().placed(Place::of_payload(true, 1000, 60)), placed);
    }
}
