//! Text that is not UTF-8: ROOT does not say how its strings are encoded, Arrow's must be UTF-8.

use arrow_schema::ArrowError;

/// In which form text is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextForm {
    /// As strings; text that is not UTF-8 is an error.
    #[default]
    Utf8,
    /// As strings, with U+FFFD in the place of bytes that are not UTF-8.
    Replaced,
    /// As bytes.
    Binary,
}

/// Why collected values cannot become an array.
#[derive(Debug)]
pub enum Fault {
    /// Value number `place` has a text in it that is not UTF-8.
    Text {
        /// Number of the value.
        index: usize,
        /// Its text.
        text: Vec<u8>,
    },
    /// The bytes of an object are not what its class says.
    Format(arrowroot_format::Error),
    /// Anything else.
    Arrow(ArrowError),
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Fault::Arrow(error)
    }
}

impl Fault {
    /// The fault of an item as that of the list it is in. `list_of`: from the place of an item to that of its list.
    pub fn in_list(self, list_of: impl FnOnce(usize) -> usize) -> Self {
        match self {
            Fault::Text { index, text } => Fault::Text { index: list_of(index), text },
            other => other,
        }
    }
}

/// The list that an item is in.
pub fn list_of(ends: &[i32], item: usize) -> usize {
    ends.partition_point(|&end| usize::try_from(end).is_ok_and(|end| end <= item))
}

/// The first text that is not UTF-8.
pub fn first_invalid(ends: &[i32], bytes: &[u8]) -> Option<Fault> {
    let (index, text) = texts(ends, bytes).enumerate().find(|(_, text)| std::str::from_utf8(text).is_err())?;
    Some(Fault::Text { index, text: text.to_vec() })
}

/// Puts U+FFFD in the place of what is not UTF-8. `None` if all is UTF-8, or would grow over 2^31 bytes.
pub fn replaced(ends: &[i32], bytes: &[u8]) -> Option<(Vec<i32>, Vec<u8>)> {
    first_invalid(ends, bytes)?;
    let mut new_ends = Vec::with_capacity(ends.len());
    let mut new_bytes = Vec::with_capacity(bytes.len());
    for text in texts(ends, bytes) {
        new_bytes.extend_from_slice(String::from_utf8_lossy(text).as_bytes());
        new_ends.push(i32::try_from(new_bytes.len()).ok()?);
    }
    Some((new_ends, new_bytes))
}

fn texts<'a>(ends: &'a [i32], bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let at = |end: i32| usize::try_from(end).unwrap_or(0);
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(move |(start, &end)| bytes.get(at(start)..at(end)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_text_is_found_with_its_place() {
        assert!(first_invalid(&[1, 3], "aé".as_bytes()).is_none());
        let Some(Fault::Text { index, text }) = first_invalid(&[1, 4, 5], b"a\xe9t\xe9\xff") else { panic!("none") };
        assert_eq!((index, text.as_slice()), (1, b"\xe9t\xe9".as_slice()));
        // A character cut in two by the end of a text is none.
        assert!(matches!(first_invalid(&[2, 3], "aé".as_bytes()), Some(Fault::Text { index: 0, .. })));
    }

    #[test]
    fn empty_lists_own_no_item() {
        assert_eq!([0, 1, 2].map(|item| list_of(&[0, 2, 2, 3], item)), [1, 1, 3]);
    }

    #[test]
    fn wrong_bytes_are_replaced_and_ends_move() {
        let (ends, bytes) = replaced(&[1, 4, 6], b"a\xe9t\xe9\xc3\xa9").unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "a\u{fffd}t\u{fffd}é");
        assert_eq!(ends, [1, 8, 10]);
        assert_eq!(replaced(&[1], b"a"), None);
    }
}
