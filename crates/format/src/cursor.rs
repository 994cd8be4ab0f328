//! Reading big-endian values from a buffer, never past its end.

use crate::error::{Error, Result};

/// Bit 30 of the word before a version says that the word is a byte count.
/// Source: `TBufferFile::ReadVersion`, `kByteCountMask` (ROOT 6.40).
pub const BYTE_COUNT_MASK: u32 = 0x4000_0000;

/// A position in a buffer of big-endian data, as all of ROOT's containers and trees are.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    data: &'a [u8],
    position: usize,
}

/// The version word of a streamed object, and where the object ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionFrame {
    /// Class version, member-wise bit included (0x4000).
    pub version: u16,
    /// Position after the object; `None` for very old streams that carry no byte count.
    pub end: Option<usize>,
}

macro_rules! big_endian {
    ($($name:ident: $type:ty),* $(,)?) => {$(
        #[doc = concat!("Reads one big-endian `", stringify!($type), "`.")]
        ///
        /// # Errors
        /// [`Error::Truncated`] at the end of the buffer.
        #[inline]
        pub fn $name(&mut self) -> Result<$type> {
            self.array().map(<$type>::from_be_bytes)
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Cursor { data, position: 0 }
    }

    /// A cursor at `position`, which may be anywhere: reading past the end is an error then.
    pub fn at(data: &'a [u8], position: usize) -> Self {
        Cursor { data, position }
    }

    /// The whole buffer.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Bytes from the start of the buffer.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.data.len().saturating_sub(self.position)
    }

    /// Goes to `position`, forwards or backwards.
    pub fn seek(&mut self, position: usize) {
        self.position = position;
    }

    /// Goes to the `end` of an object that was read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if more than the object was read. Going back would have the same bytes read again and again
    /// in a record made to harm.
    #[inline]
    pub fn leave(&mut self, end: usize) -> Result<()> {
        if end < self.position {
            return Err(Error::corrupt(self.position, format!("an object that should have ended at {end}")));
        }
        self.position = end;
        Ok(())
    }

    /// Takes the next `n_bytes`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if there are fewer.
    #[inline]
    pub fn take(&mut self, n_bytes: usize) -> Result<&'a [u8]> {
        let end = self.position.checked_add(n_bytes);
        match end.and_then(|end| self.data.get(self.position..end)) {
            Some(bytes) => {
                self.position += n_bytes;
                Ok(bytes)
            }
            None => {
                Err(Error::truncated(self.position, format!("{n_bytes} bytes expected, {} left", self.remaining())))
            }
        }
    }

    /// Passes over `n_bytes`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if there are fewer.
    #[inline]
    pub fn skip(&mut self, n_bytes: usize) -> Result<()> {
        self.take(n_bytes).map(|_| ())
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.data.get(self.position..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => {
                self.position += N;
                Ok(*bytes)
            }
            None => Err(Error::truncated(self.position, format!("{N} bytes expected, {} left", self.remaining()))),
        }
    }

    big_endian! {
        u8: u8, i8: i8, u16: u16, i16: i16, u32: u32, i32: i32, u64: u64, i64: i64, f32: f32, f64: f64,
    }

    /// Reads a count that must not be negative, nor larger than what is left if each item takes `item_bytes`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is: so no allocation follows a wrong count.
    pub fn count(&mut self, item_bytes: usize) -> Result<usize> {
        let position = self.position;
        let stored = self.i32()?;
        let count = usize::try_from(stored)
            .map_err(|_| Error::corrupt(position, format!("a count cannot be negative, this is {stored}")))?;
        if count.checked_mul(item_bytes).is_none_or(|bytes| bytes > self.remaining()) {
            return Err(Error::corrupt(
                position,
                format!("{count} items of {item_bytes} bytes cannot fit in the {} bytes left", self.remaining()),
            ));
        }
        Ok(count)
    }

    /// Reads a counted string (`TString`): one byte of length, or 255 and four bytes, and the text as raw bytes.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the text does not fit.
    #[inline]
    pub fn string_bytes(&mut self) -> Result<&'a [u8]> {
        let position = self.position;
        let mut n_bytes = u64::from(self.u8()?);
        if n_bytes == 255 {
            n_bytes = u64::from(self.u32()?);
        }
        match usize::try_from(n_bytes) {
            Ok(n_bytes) if n_bytes <= self.remaining() => self.take(n_bytes),
            _ => Err(Error::truncated(position, format!("a string of {n_bytes} bytes, {} left", self.remaining()))),
        }
    }

    /// Reads a counted string as text; what is not UTF-8 is replaced.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the text does not fit.
    pub fn string(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.string_bytes()?).into_owned())
    }

    /// Reads a text that ends with a zero byte (class names in object records).
    ///
    /// # Errors
    /// [`Error::Truncated`] if no zero byte follows.
    pub fn c_string(&mut self) -> Result<&'a [u8]> {
        let rest = self.data.get(self.position..).unwrap_or_default();
        match rest.iter().position(|&byte| byte == 0) {
            Some(n_bytes) => {
                self.position += n_bytes + 1;
                Ok(&rest[..n_bytes])
            }
            None => Err(Error::truncated(self.position, "a text without its final zero byte")),
        }
    }

    /// Reads a byte count and version, as before each streamed object.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the object would end after the buffer.
    #[inline]
    pub fn version(&mut self) -> Result<VersionFrame> {
        let start = self.position;
        let word = self.u32()?;
        if word & BYTE_COUNT_MASK == 0 {
            // Written without a byte count: the version is the first half of that word.
            self.position = start;
            return Ok(VersionFrame { version: self.u16()?, end: None });
        }
        let n_bytes = (word & !BYTE_COUNT_MASK) as usize;
        let end = start + 4 + n_bytes;
        if end > self.data.len() {
            return Err(Error::truncated(start, format!("an object of {n_bytes} bytes, {} left", self.remaining())));
        }
        Ok(VersionFrame { version: self.u16()?, end: Some(end) })
    }

    /// Passes over a streamed object with a byte count.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it carries none: its length is then not known here.
    pub fn skip_object(&mut self) -> Result<()> {
        let start = self.position;
        match self.version()?.end {
            Some(end) => {
                self.position = end;
                Ok(())
            }
            None => Err(Error::unsupported(start, "an object without a byte count cannot be passed over")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_strings_are_read() {
        let mut data = vec![2, b'a', b'b', 255, 0, 0, 1, 44];
        data.extend(std::iter::repeat_n(b'x', 300));
        let mut cursor = Cursor::new(&data);
        assert_eq!(cursor.string().unwrap(), "ab");
        assert_eq!(cursor.string().unwrap().len(), 300);
        assert_eq!(cursor.remaining(), 0);
    }

    #[test]
    fn a_count_larger_than_the_rest_is_corrupt() {
        let mut cursor = Cursor::new(&[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert!(matches!(cursor.count(4), Err(Error::Corrupt(_))));
    }

    #[test]
    fn an_object_is_left_forwards_only() {
        let mut cursor = Cursor::at(&[0; 8], 4);
        assert!(matches!(cursor.leave(3), Err(Error::Corrupt(_))));
        assert!(cursor.leave(4).is_ok() && cursor.leave(8).is_ok());
        assert_eq!(cursor.remaining(), 0);
    }

    #[test]
    fn reading_past_the_end_is_truncated() {
        assert!(matches!(Cursor::at(&[1, 2], 7).u8(), Err(Error::Truncated(_))));
        assert!(matches!(Cursor::new(&[1, 2]).u32(), Err(Error::Truncated(_))));
    }
}
