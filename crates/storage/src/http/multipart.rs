//! Answers in several parts (`multipart/byteranges`, RFC 9110 section 14.6), read as they come, without I/O.
//!
//! The length of a part is that of its `Content-Range`; its bytes are never searched for the boundary, go to their place
//! at once and may contain anything. Whoever takes the bytes decides which parts are welcome: the parser only insists
//! that delimiters stand where they must, that every part says what it is, and that the last delimiter comes. A part that
//! is shorter than it says would have taken what begins the line of its delimiter for data: that line has to be there.

use super::range::ContentRange;

/// Longest line of a part's head, and most bytes of a head or of text before the first part.
const MAX_HEAD_BYTES: usize = 8 << 10;

/// Why an answer is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(pub String);

/// Who takes the bytes of an answer.
pub trait Receiver {
    /// A part begins.
    ///
    /// # Errors
    /// If it is not welcome.
    fn part(&mut self, content: &ContentRange) -> Result<(), Wrong>;

    /// Bytes of the part that began last, from `offset` of the file on.
    ///
    /// # Errors
    /// If they were there already.
    fn bytes(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Wrong>;

    /// Where bytes from `offset` on can be put without a copy, if there is such a place. [`Receiver::filled`] follows.
    fn space(&mut self, offset: u64) -> Option<&mut [u8]>;

    /// `n_bytes` were put into the space at `offset`.
    fn filled(&mut self, offset: u64, n_bytes: usize);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MultipartState {
    /// Before a delimiter; what is before the first one is ignored.
    Delimiter {
        is_first: bool,
    },
    /// Behind a part: the end of the line comes that its delimiter begins with.
    Break,
    Head,
    Body {
        offset: u64,
        n_left: u64,
    },
    Closed,
}

/// The parser. Feed it what comes, in pieces of any size.
#[derive(Debug)]
pub struct Multipart {
    delimiter: Vec<u8>,
    state: MultipartState,
    /// A line that is not whole yet.
    line: Vec<u8>,
    /// Bytes of lines since the last part.
    n_head_bytes: usize,
    /// How lines of the last head ended: some servers leave out the `\r`.
    line_break: &'static [u8],
    content_range: Option<ContentRange>,
}

impl Multipart {
    /// A parser for an answer of this `Content-Type`; `None` if that is not in several parts.
    pub fn new(content_type: &str) -> Option<Multipart> {
        let mut fields = content_type.split(';');
        let kind = fields.next()?.trim();
        if !kind.eq_ignore_ascii_case("multipart/byteranges") && !kind.eq_ignore_ascii_case("multipart/x-byteranges") {
            return None;
        }
        let boundary = fields.find_map(|field| {
            let (name, value) = field.split_once('=')?;
            name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
        })?;
        // RFC 2046 allows 70 characters.
        if boundary.is_empty() || boundary.len() > 200 {
            return None;
        }
        Some(Multipart {
            delimiter: format!("--{boundary}").into_bytes(),
            state: MultipartState::Delimiter { is_first: true },
            line: Vec::new(),
            n_head_bytes: 0,
            line_break: b"\r\n",
            content_range: None,
        })
    }

    /// Takes the next bytes of the answer.
    ///
    /// # Errors
    /// If they cannot follow, or if the receiver refuses them.
    pub fn push(&mut self, mut input: &[u8], receiver: &mut impl Receiver) -> Result<(), Wrong> {
        while !input.is_empty() {
            match self.state {
                MultipartState::Body { offset, n_left } => {
                    let n_bytes = usize::try_from(n_left).unwrap_or(usize::MAX).min(input.len());
                    let (bytes, rest) = input.split_at(n_bytes);
                    receiver.bytes(offset, bytes)?;
                    self.advance(n_bytes);
                    input = rest;
                }
                MultipartState::Closed => return Ok(()),
                MultipartState::Break | MultipartState::Delimiter { .. } | MultipartState::Head => {
                    let n_bytes = input.iter().position(|byte| *byte == b'\n').map_or(input.len(), |place| place + 1);
                    let (piece, rest) = input.split_at(n_bytes);
                    self.n_head_bytes += piece.len();
                    if self.n_head_bytes > MAX_HEAD_BYTES {
                        return Err(Wrong(format!("more than {MAX_HEAD_BYTES} bytes without a part")));
                    }
                    self.line.extend_from_slice(piece);
                    input = rest;
                    if self.line.ends_with(b"\n") {
                        let line = std::mem::take(&mut self.line);
                        self.line(&line, receiver)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The last delimiter came.
    pub fn is_closed(&self) -> bool {
        self.state == MultipartState::Closed
    }

    /// Offset in the file and number of the bytes that come next, if the middle of a part comes next: they may be put
    /// straight into their place. [`Multipart::advance`] follows.
    pub fn body(&self) -> Option<(u64, u64)> {
        match self.state {
            MultipartState::Body { offset, n_left } => Some((offset, n_left)),
            _ => None,
        }
    }

    /// `n_bytes` of the part were taken.
    pub fn advance(&mut self, n_bytes: usize) {
        if let MultipartState::Body { offset, n_left } = self.state {
            let n_left = n_left.saturating_sub(n_bytes as u64);
            self.state = if n_left == 0 {
                MultipartState::Break
            } else {
                MultipartState::Body { offset: offset + n_bytes as u64, n_left }
            };
        }
    }

    /// The answer ended.
    ///
    /// # Errors
    /// If it must not end here.
    pub fn finish(&self) -> Result<(), Wrong> {
        match self.state {
            MultipartState::Closed => Ok(()),
            // The last line need not end.
            MultipartState::Delimiter { is_first: false } if self.is_closing(self.line.trim_ascii_end()) => Ok(()),
            MultipartState::Body { n_left, .. } => Err(Wrong(format!("it ends {n_left} bytes before its part does"))),
            _ => Err(Wrong("it ends without its last delimiter".to_owned())),
        }
    }

    fn is_closing(&self, line: &[u8]) -> bool {
        line.strip_prefix(self.delimiter.as_slice()) == Some(b"--")
    }

    fn line(&mut self, whole: &[u8], receiver: &mut impl Receiver) -> Result<(), Wrong> {
        let line = whole.trim_ascii_end();
        match self.state {
            MultipartState::Break if whole == self.line_break => {
                self.state = MultipartState::Delimiter { is_first: false }
            }
            MultipartState::Break => return Err(Wrong("a part is not followed by a delimiter".to_owned())),
            MultipartState::Delimiter { is_first } => {
                if line == self.delimiter {
                    self.state = MultipartState::Head;
                } else if self.is_closing(line) {
                    self.state = MultipartState::Closed;
                } else if !is_first && !line.is_empty() {
                    return Err(Wrong("a part is not followed by a delimiter".to_owned()));
                }
            }
            MultipartState::Head if line.is_empty() => {
                let Some(content) = self.content_range.take() else {
                    return Err(Wrong("a part without a Content-Range".to_owned()));
                };
                receiver.part(&content)?;
                self.n_head_bytes = 0;
                self.line_break = if whole.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
                self.state = MultipartState::Body {
                    offset: content.range.start,
                    n_left: content.range.end - content.range.start,
                };
            }
            MultipartState::Head => {
                let text = String::from_utf8_lossy(line);
                if let Some((name, value)) = text.split_once(':')
                    && name.trim().eq_ignore_ascii_case("content-range")
                {
                    let content = ContentRange::parse(value);
                    self.content_range =
                        Some(content.ok_or_else(|| Wrong("a part whose Content-Range is none".to_owned()))?);
                }
            }
            MultipartState::Body { .. } | MultipartState::Closed => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;
    use crate::http::slots::Slots;
    use proptest::prelude::*;

    fn content() -> Vec<u8> {
        // Full of what looks like delimiters.
        b"\r\n--b\r\nContent-Range: bytes 0-1/2\r\n\r\n--b--\r\n".iter().copied().cycle().take(300).collect()
    }

    fn answer(ranges: &[(usize, usize)]) -> Vec<u8> {
        let mut answer = Vec::new();
        for &(start, end) in ranges {
            answer.extend_from_slice(b"\r\n--b\r\nContent-Type: application/octet-stream\r\n");
            answer.extend_from_slice(format!("content-range: bytes {start}-{}/300\r\n\r\n", end - 1).as_bytes());
            answer.extend_from_slice(&content()[start..end]);
        }
        answer.extend_from_slice(b"\r\n--b--\r\n");
        answer
    }

    fn parse(answer: &[u8], chunk_bytes: usize, asked: &[(usize, usize)]) -> Result<Vec<Vec<u8>>, Wrong> {
        let mut buffers: Vec<_> = asked.iter().map(|(start, end)| vec![0; end - start]).collect();
        let parts = asked.iter().zip(&mut buffers);
        let parts = parts.map(|((start, _), buffer)| Part { offset: *start as u64, buffer }).collect();
        let mut slots = Slots::new(parts, 300);
        let mut parser = Multipart::new("multipart/byteranges; boundary=b").unwrap();
        for chunk in answer.chunks(chunk_bytes) {
            parser.push(chunk, &mut slots)?;
        }
        parser.finish()?;
        let missing = slots.into_missing();
        if !missing.is_empty() {
            return Err(Wrong(format!("{} bytes are missing", missing.iter().map(|p| p.buffer.len()).sum::<usize>())));
        }
        Ok(buffers)
    }

    #[test]
    fn types_with_a_boundary_are_in_parts() {
        for right in [
            "multipart/byteranges; boundary=x",
            "Multipart/ByteRanges;a=b; Boundary=\"x y\"",
            "multipart/x-byteranges;boundary=1",
        ] {
            assert!(Multipart::new(right).is_some(), "{right}");
        }
        for wrong in
            ["", "text/html", "multipart/byteranges", "multipart/byteranges; boundary=", "multipart/mixed; boundary=x"]
        {
            assert!(Multipart::new(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn parts_may_come_in_another_order_and_merged() {
        let asked = [(10, 20), (30, 40), (41, 50)];
        let expected: Vec<_> = asked.iter().map(|&(start, end)| content()[start..end].to_vec()).collect();
        assert_eq!(parse(&answer(&asked), 7, &asked), Ok(expected.clone()));
        assert_eq!(parse(&answer(&[(41, 50), (10, 20), (30, 40)]), 7, &asked), Ok(expected.clone()));
        assert_eq!(parse(&answer(&[(30, 50), (10, 20)]), 7, &asked), Ok(expected.clone()));
        assert_eq!(parse(&answer(&[(0, 60)]), 7, &asked), Ok(expected));
    }

    #[test]
    fn hostile_answers_are_refused() {
        let asked = [(10, 20), (30, 40)];
        let wrong = |answer: &[u8]| parse(answer, 5, &asked).unwrap_err().0;
        assert!(wrong(&answer(&[(10, 20), (30, 40), (10, 20)])).contains("twice"));
        assert!(wrong(&answer(&[(10, 20)])).contains("10 bytes are missing"));
        assert!(wrong(&answer(&[(10, 20), (30, 39)])).contains("1 bytes are missing"));
        let whole = answer(&asked);
        for cut in 0..whole.len() - 2 {
            assert!(parse(&whole[..cut], 9, &asked).is_err(), "{cut}");
        }
        assert!(wrong(b"\r\n--b\r\nContent-Type: x\r\n\r\nabc").contains("without a Content-Range"));
        assert!(wrong(b"--b\r\nContent-Range: bytes 5-4/300\r\n\r\n").contains("Content-Range is none"));
        assert!(wrong(b"--b\r\nContent-Range: bytes 10-19/299\r\n\r\n").contains("299"));
        assert!(
            wrong(b"--b\r\nContent-Range: bytes 10-11/300\r\n\r\nabc\r\n--b--").contains("not followed by a delimiter")
        );
        for line_break in ["\r\n", "\n"] {
            // A part that brings fewer bytes than it says.
            for n_missing in 0..6 {
                let body = &content()[10..20 - n_missing];
                let mut answer =
                    format!("--b{line_break}Content-Range: bytes 10-19/300{line_break}{line_break}").into_bytes();
                answer.extend_from_slice(body);
                answer.extend_from_slice(format!("{line_break}--b--{line_break}").as_bytes());
                assert_eq!(parse(&answer, 3, &[(10, 20)]).is_ok(), n_missing == 0, "{n_missing}");
            }
        }
        assert!(wrong(&vec![b'x'; 100_000]).contains("without a part"));
        assert!(wrong(&b"\r\n".repeat(100_000)).contains("without a part"));
    }

    proptest! {
        #[test]
        fn how_the_bytes_arrive_does_not_matter(
            starts in prop::collection::btree_set(0_usize..30, 1..8), n_bytes in 1_usize..10, chunk_bytes in 1_usize..80,
            rotation in 0_usize..8,
        ) {
            let asked: Vec<_> = starts.into_iter().map(|start| (start * 10, start * 10 + n_bytes)).collect();
            let mut sent = asked.clone();
            let middle = rotation % sent.len();
            sent.rotate_left(middle);
            let expected: Vec<_> = asked.iter().map(|&(start, end)| content()[start..end].to_vec()).collect();
            prop_assert_eq!(parse(&answer(&sent), chunk_bytes, &asked), Ok(expected));
        }

        #[test]
        fn any_bytes_in_between_end_in_the_right_answer_or_an_error(
            mut bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..400, chunk_bytes in 1_usize..50,
        ) {
            let asked = [(10, 20), (30, 40)];
            let mut hostile = answer(&asked);
            let at = at.min(hostile.len());
            let tail = hostile.split_off(at);
            hostile.append(&mut bytes);
            hostile.extend(tail);
            let result = parse(&hostile, chunk_bytes, &asked);
            prop_assert_eq!(result.is_ok(), parse(&hostile, hostile.len(), &asked).is_ok());
            if let Ok(buffers) = result {
                prop_assert_eq!(buffers, asked.map(|(start, end)| content()[start..end].to_vec()));
            }
        }
    }
}
