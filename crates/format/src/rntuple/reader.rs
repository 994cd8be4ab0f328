//! Little-endian values and frames.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// Unknown feature flags that an error names.
const MAX_FLAGS_SHOWN: usize = 8;

/// A position in an envelope.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    data: &'a [u8],
    /// Where `data` begins in the envelope, for errors.
    base: usize,
    position: usize,
}

macro_rules! little_endian {
    ($($name:ident: $type:ty),* $(,)?) => {$(
        #[inline]
        pub(super) fn $name(&mut self) -> Result<$type> {
            self.array().map(<$type>::from_le_bytes)
        }
    )*};
}

impl<'a> Reader<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Reader { data, base: 0, position: 0 }
    }

    /// Bytes from the start of the envelope.
    pub(super) fn offset(&self) -> usize {
        self.base + self.position
    }

    pub(super) fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    #[inline]
    pub(super) fn take(&mut self, n_bytes: usize) -> Result<&'a [u8]> {
        match self.position.checked_add(n_bytes).and_then(|end| self.data.get(self.position..end)) {
            Some(bytes) => {
                self.position += n_bytes;
                Ok(bytes)
            }
            None => {
                Err(Error::truncated(self.offset(), format!("{n_bytes} bytes expected, {} left", self.remaining())))
            }
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.data.get(self.position..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => {
                self.position += N;
                Ok(*bytes)
            }
            None => Err(Error::truncated(self.offset(), format!("{N} bytes expected, {} left", self.remaining()))),
        }
    }

    little_endian! { u16: u16, u32: u32, i32: i32, u64: u64, i64: i64, f64: f64 }

    /// A string of any bytes, behind their number.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let n_bytes = self.u32()? as usize;
        self.take(n_bytes)
    }

    /// A string of UTF-8.
    pub(super) fn text(&mut self) -> Result<&'a str> {
        let offset = self.offset() + 4;
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|error| Error::corrupt(offset, format!("a string: {error}")))
    }

    /// A string that names nothing: what is not UTF-8 is replaced.
    pub(super) fn remark(&mut self) -> Result<Cow<'a, str>> {
        self.bytes().map(String::from_utf8_lossy)
    }

    /// A string that names something: zeros, which no name may have in ROOT, are refused. Arrow's C interface ends there.
    pub(super) fn name(&mut self) -> Result<&'a str> {
        let offset = self.offset() + 4;
        let name = self.text()?;
        if name.contains('\0') {
            return Err(Error::corrupt(offset, format!("a name with a zero byte: {name:?}")));
        }
        Ok(name)
    }

    /// A frame of either kind: its payload, and the number of items of a list. This reader goes on behind the frame,
    /// whatever of its payload is read: later versions may append to it.
    fn frame(&mut self) -> Result<(Reader<'a>, Option<u32>)> {
        let start = self.offset();
        let size = self.i64()?;
        let n_items = if size < 0 { Some(self.u32()?) } else { None };
        let n_bytes = usize::try_from(size.unsigned_abs()).unwrap_or(usize::MAX);
        let preamble = self.offset() - start;
        let Some(payload_bytes) = n_bytes.checked_sub(preamble) else {
            return Err(Error::corrupt(start, format!("a frame of {n_bytes} bytes")));
        };
        let base = self.offset();
        let data = self.take(payload_bytes)?;
        Ok((Reader { data, base, position: 0 }, n_items))
    }

    /// A record frame.
    pub(super) fn record(&mut self) -> Result<Reader<'a>> {
        let start = self.offset();
        match self.frame()? {
            (payload, None) => Ok(payload),
            (_, Some(_)) => Err(Error::corrupt(start, "a list frame where a record is expected")),
        }
    }

    /// A list frame, and its number of items, each of which takes `item_bytes` at least.
    pub(super) fn list(&mut self, item_bytes: usize) -> Result<(Reader<'a>, usize)> {
        let start = self.offset();
        match self.frame()? {
            (payload, Some(n_items)) => {
                let n_items = n_items as usize;
                if n_items.saturating_mul(item_bytes) > payload.remaining() {
                    let what = format!("a list of {n_items} items in {} bytes", payload.remaining());
                    return Err(Error::corrupt(start, what));
                }
                Ok((payload, n_items))
            }
            (_, None) => Err(Error::corrupt(start, "a record frame where a list is expected")),
        }
    }

    /// Feature flags: all words, of which none may have a bit that is not known.
    pub(super) fn feature_flags(&mut self, known: u64) -> Result<u64> {
        const MORE: u64 = 1 << 63;
        // As ROOT 6.40 counts them: the bit that says that more follow has a number, too.
        const BITS: u64 = 64;
        let offset = self.offset();
        let first = self.u64()?;
        let mut unknown = vec![first & !MORE & !known];
        let mut last = first;
        while last & MORE != 0 {
            last = self.u64()?;
            unknown.push(last & !MORE);
        }
        let words = (0_u64..).map(|word| word * BITS).zip(unknown);
        let flags: Vec<String> = words
            .flat_map(|(before, word)| (0..BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| before + bit))
            .take(MAX_FLAGS_SHOWN)
            .map(|flag| if flag == 0 { "0 (nested deferred columns)".to_owned() } else { flag.to_string() })
            .collect();
        if !flags.is_empty() {
            let flags = flags.join(", ");
            let what = format!("an RNTuple with feature flag {flags}, which this version of arrowroot does not know");
            return Err(Error::unsupported(offset, what));
        }
        Ok(first & !MORE)
    }
}
