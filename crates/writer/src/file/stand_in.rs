//! Until the sink and the appender are there.

use std::sync::{Arc, Mutex};

use arrowroot_format as format;

/// What cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What the format has no room for.
    #[error(transparent)]
    Format(#[from] format::Error),
    /// A name that no key can have, or that is taken.
    #[error("name {name:?} {what}")]
    Name {
        /// The name.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// A class that is not known here.
    #[error("class {name:?} is not described here: describe it first")]
    UnknownClass {
        /// The class.
        name: String,
    },
    /// The file is closed, or was given up.
    #[error("{url}: the file is closed: nothing can be written to it")]
    Closed {
        /// The file.
        url: String,
    },
    /// The system gives no random bytes.
    #[error("no random bytes for an identifier: {what}")]
    Random {
        /// What the system said.
        what: String,
    },
}

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn name(name: &str, what: &'static str) -> Self {
        Error::Name { name: name.to_owned(), what }
    }
}

/// What bytes are written to.
pub trait Sink: Send + Sync {
    /// Where.
    fn url(&self) -> &str;
}

/// Appends.
pub struct Appender {
    position: u64,
    /// What was written.
    pub written: Arc<Mutex<Vec<(u64, Vec<u8>)>>>,
}

impl Appender {
    /// To a sink.
    pub fn new(_: Arc<dyn Sink>) -> Self {
        Appender { position: 0, written: Arc::default() }
    }

    /// Appends the parts one after the other; returns the offset of the first.
    ///
    /// # Errors
    /// None.
    pub fn append(&mut self, parts: &[&[u8]]) -> Result<u64> {
        let bytes = parts.concat();
        let offset = self.position;
        self.position += bytes.len() as u64;
        self.write_at(offset, &bytes)?;
        Ok(offset)
    }

    /// Rewrites.
    ///
    /// # Errors
    /// None.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.written.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((offset, bytes.to_vec()));
        Ok(())
    }

    /// Where the next goes.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Syncs.
    ///
    /// # Errors
    /// None.
    pub fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Publishes.
    ///
    /// # Errors
    /// None.
    pub fn publish(self) -> Result<()> {
        Ok(())
    }

    /// Gives up.
    pub fn abort(self) {}
}
