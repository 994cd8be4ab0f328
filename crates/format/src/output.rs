//! Writing big-endian values into a buffer: the opposite of [`Cursor`](crate::Cursor) and of
//! [`ObjectSlots`](crate::streamer::ObjectSlots).

use std::collections::HashMap;

use crate::cursor::BYTE_COUNT_MASK;
use crate::error::{Error, Result};

/// Tag before the name of a class that occurs for the first time. Source: `kNewClassTag` (ROOT 6.40).
const NEW_CLASS_TAG: u32 = 0xffff_ffff;
/// Set in a tag that refers to a class. Source: `kClassMask`.
const CLASS_MASK: u32 = 0x8000_0000;
/// Positions 0 and 1 mean no object, and the outermost one. Source: `kMapOffset`.
const MAP_OFFSET: usize = 2;
/// Byte counts and references have 30 bits: the next one is a flag.
const MAX_BYTES: usize = 1 << 30;
/// Strings of this length and more have four bytes for it.
const LONG_STRING_BYTES: usize = 255;
/// Bit of a `TObject` that says that two bytes of process identifier follow. Source: `TObject::kIsReferenced`.
const IS_REFERENCED: u32 = 1 << 4;
/// `TObject::kNotDeleted` and `kIsOnHeap`, as ROOT writes them with objects that were made with `new`.
pub const ON_HEAP_BITS: u32 = 0x0300_0000;

/// The object of a record while it is written: big-endian values, byte counts, class tags and references.
///
/// Source: `TBufferFile` (ROOT 6.40).
#[derive(Debug, Clone, Default)]
pub struct Output {
    bytes: Vec<u8>,
    key_bytes: usize,
    classes: HashMap<String, u32>,
}

/// A frame that was begun: its byte count is not known yet.
#[derive(Debug, Clone, Copy)]
#[must_use = "the byte count is written at the end"]
pub struct Frame {
    position: usize,
}

/// The value of references to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference(u32);

impl Reference {
    /// The object of the record itself. Source: `TBufferFile::MapObject`.
    pub const OUTERMOST: Reference = Reference(1);
}

/// Bytes that a counted string of `n_bytes` takes.
pub(crate) fn string_bytes(n_bytes: usize) -> usize {
    n_bytes + if n_bytes < LONG_STRING_BYTES { 1 } else { 5 }
}

macro_rules! big_endian {
    ($($name:ident: $type:ty),* $(,)?) => {$(
        #[doc = concat!("Writes one big-endian `", stringify!($type), "`.")]
        #[inline]
        pub fn $name(&mut self, value: $type) {
            self.bytes.extend_from_slice(&value.to_be_bytes());
        }
    )*};
}

impl Output {
    /// An object of a record whose key is `key_bytes` long: references count from the start of the key.
    pub fn new(key_bytes: usize) -> Self {
        Output { key_bytes, ..Output::default() }
    }

    /// Forgets what was written, and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.classes.clear();
    }

    big_endian! { u8: u8, u16: u16, u32: u32, u64: u64, i8: i8, i16: i16, i32: i32, i64: i64, f32: f32, f64: f64 }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes so many zeros.
    pub fn zeros(&mut self, n_bytes: usize) {
        self.bytes.resize(self.bytes.len() + n_bytes, 0);
    }

    /// Writes the number of items that follow.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if they are too many for any record.
    pub fn count(&mut self, n_items: usize) -> Result<()> {
        self.u32(self.checked(n_items)?);
        Ok(())
    }

    /// Writes bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a counted string: one byte of length, or 255 and four bytes. Source: `TString::FillBuffer`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is too long for any record.
    pub fn string(&mut self, text: &[u8]) -> Result<()> {
        match u8::try_from(text.len()) {
            Ok(n_bytes) if text.len() < LONG_STRING_BYTES => self.u8(n_bytes),
            _ => {
                self.u8(255);
                self.u32(self.checked(text.len())?);
            }
        }
        self.raw(text);
        Ok(())
    }

    /// Writes a name of a class after a tag: bytes that end with a zero.
    fn c_string(&mut self, text: &str) {
        self.raw(text.as_bytes());
        self.u8(0);
    }

    /// Begins an object with a byte count and a class version.
    pub fn begin(&mut self, version: u16) -> Frame {
        let frame = self.begin_counted();
        self.u16(version);
        frame
    }

    /// Begins what has a byte count and no class version.
    pub fn begin_counted(&mut self) -> Frame {
        let frame = Frame { position: self.bytes.len() };
        self.u32(0);
        frame
    }

    /// Ends it: the byte count counts what was written since.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if that is 1 GiB or more.
    pub fn end(&mut self, frame: Frame) -> Result<()> {
        let count = self.checked(self.bytes.len() - frame.position - 4)? | BYTE_COUNT_MASK;
        self.bytes[frame.position..frame.position + 4].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }

    /// Begins an object behind a pointer: byte count and class tag; its own [`Output::begin`] follows. Returns what references
    /// to it say. Source: `TBufferFile::WriteObjectClass`, `WriteClass`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it begins after 1 GiB.
    pub fn begin_object(&mut self, class: &str) -> Result<(Frame, Reference)> {
        let reference = Reference(self.checked(self.bytes.len() + self.key_bytes + MAP_OFFSET)?);
        let frame = self.begin_counted();
        match self.classes.get(class) {
            Some(&position) => self.u32(position | CLASS_MASK),
            None => {
                let position = self.checked(self.bytes.len() + self.key_bytes + MAP_OFFSET)?;
                self.u32(NEW_CLASS_TAG);
                self.c_string(class);
                self.classes.insert(class.to_owned(), position);
            }
        }
        Ok((frame, reference))
    }

    /// Writes a pointer to an object that was written before.
    pub fn reference(&mut self, reference: Reference) {
        self.u32(reference.0);
    }

    /// Writes a pointer to nothing.
    pub fn null(&mut self) {
        self.u32(0);
    }

    /// Writes a `TObject` base with these status bits. What is referred to by `TRef`s is not written as that
    /// (`kIsReferenced`): its number is not known here.
    pub fn object_base(&mut self, bits: u32) {
        self.u16(1);
        self.u32(0); // fUniqueID
        self.u32(bits & !IS_REFERENCED);
    }

    /// Writes a `TNamed` base.
    ///
    /// # Errors
    /// As [`Output::string`].
    pub fn named_base(&mut self, bits: u32, name: &[u8], title: &[u8]) -> Result<()> {
        let frame = self.begin(1);
        self.object_base(bits);
        self.string(name)?;
        self.string(title)?;
        self.end(frame)
    }

    /// Bytes written so far.
    pub fn position(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn checked(&self, n_bytes: usize) -> Result<u32> {
        match u32::try_from(n_bytes) {
            Ok(small) if n_bytes < MAX_BYTES => Ok(small),
            _ => Err(Error::unsupported(self.bytes.len(), format!("{n_bytes} bytes in one object: at most 1 GiB"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Cursor;
    use crate::streamer::{ObjectSlot, ObjectSlots, named_base};

    #[test]
    fn what_is_written_is_read_again() {
        let mut output = Output::new(60);
        let outer = output.begin(5);
        output.named_base(ON_HEAP_BITS, b"name", &[b't'; 300]).unwrap();
        let (frame, first) = output.begin_object("TLeafI").unwrap();
        output.i32(-7);
        output.end(frame).unwrap();
        let (frame, _) = output.begin_object("TLeafI").unwrap();
        output.f64(0.5);
        output.end(frame).unwrap();
        output.reference(first);
        output.null();
        output.end(outer).unwrap();
        let bytes = output.into_bytes();

        let mut cursor = Cursor::new(&bytes);
        let frame = cursor.version().unwrap();
        assert_eq!((frame.version, frame.end), (5, Some(bytes.len())));
        assert_eq!(named_base(&mut cursor).unwrap(), (ON_HEAP_BITS, &b"name"[..], &[b't'; 300][..]));
        let mut slots = ObjectSlots::new(60);
        let ObjectSlot::Object { class: b"TLeafI", position, .. } = slots.read(&mut cursor).unwrap() else { panic!() };
        assert_eq!(cursor.i32().unwrap(), -7);
        assert!(matches!(slots.read(&mut cursor).unwrap(), ObjectSlot::Object { class: b"TLeafI", .. }));
        assert_eq!(cursor.f64().unwrap(), 0.5);
        assert_eq!(slots.read(&mut cursor).unwrap(), ObjectSlot::Reference(position));
        assert_eq!(slots.read(&mut cursor).unwrap(), ObjectSlot::Null);
    }
}
