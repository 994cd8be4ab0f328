//! From the body of an answer to where its bytes belong. No input or output of its own: bytes come from an [`Incoming`].

use super::failure::Failure;
use super::message::{self, ELEMENT_BYTES, Handle};
use crate::source::Part;

/// No answer but of data is larger than this.
const MAX_CONTROL_BYTES: usize = 64 << 10;

/// Where the bytes of an answer come from.
pub(crate) trait Incoming {
    /// Puts the next bytes into `buffer`, which is not empty: at least one, as many as there are. Returns how many.
    fn some(&mut self, buffer: &mut [u8]) -> Result<usize, Failure>;

    /// Fills `buffer` with the next bytes.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        let mut n_filled = 0;
        while n_filled < buffer.len() {
            n_filled += self.some(&mut buffer[n_filled..])?;
        }
        Ok(())
    }
}

/// The rest of a part, behind its first bytes.
fn after(part: Part<'_>, n_bytes: usize) -> Part<'_> {
    Part { offset: part.offset + n_bytes as u64, buffer: &mut part.buffer[n_bytes..] }
}

/// What a request waits for, as far as it is there. An answer may come in parts, cut anywhere.
#[derive(Debug)]
pub(crate) enum Answer<'b> {
    /// Words.
    Control(Vec<u8>),
    /// One range, and how much of it is there.
    Read(Part<'b>, usize),
    /// Several ranges.
    Vector(VectorAnswer<'b>),
}

impl<'b> Answer<'b> {
    /// Offsets and lengths in bytes of what it is to bring.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + Clone {
        let parts = match self {
            Answer::Control(_) => &[],
            Answer::Read(part, _) => std::slice::from_ref(part),
            Answer::Vector(vector) => vector.parts.as_slice(),
        };
        parts.iter().map(|part| (part.offset, part.buffer.len() as u64))
    }

    /// What of the memory is not filled; with `none_counts`, all of it.
    pub(crate) fn unfilled(self, none_counts: bool) -> Vec<Part<'b>> {
        match self {
            Answer::Control(_) => Vec::new(),
            Answer::Read(part, n_filled) => vec![after(part, if none_counts { 0 } else { n_filled })],
            Answer::Vector(vector) if none_counts => vector.parts,
            Answer::Vector(vector) => {
                let mut rest = vector.parts.into_iter().skip(vector.n_complete);
                let first = rest.next().map(|part| after(part, vector.n_filled));
                first.into_iter().chain(rest).collect()
            }
        }
    }

    /// Takes the next `n_bytes` of the answer.
    pub(crate) fn take(&mut self, n_bytes: usize, incoming: &mut impl Incoming) -> Result<(), Failure> {
        match self {
            Answer::Control(words) => {
                let total_bytes = words.len().saturating_add(n_bytes);
                if total_bytes > MAX_CONTROL_BYTES {
                    return Err(Failure::Wrong(format!("{total_bytes} bytes where words were due")));
                }
                let start = words.len();
                words.resize(total_bytes, 0);
                incoming.fill(&mut words[start..])
            }
            Answer::Read(part, n_filled) => {
                let end = n_filled.saturating_add(n_bytes);
                if end > part.buffer.len() {
                    return Err(Failure::Wrong(format!("{} bytes more than asked for", end - part.buffer.len())));
                }
                // Counted as it comes: what is there when the connection breaks need not come again.
                while *n_filled < end {
                    *n_filled += incoming.some(&mut part.buffer[*n_filled..end])?;
                }
                Ok(())
            }
            Answer::Vector(vector) => vector.take(n_bytes, incoming),
        }
    }

    /// After the last part: whether all came.
    pub(crate) fn check_complete(&self) -> Result<(), Failure> {
        match self {
            Answer::Control(_) => Ok(()),
            Answer::Read(part, n_filled) if *n_filled == part.buffer.len() => Ok(()),
            Answer::Read(part, n_filled) => {
                Err(Failure::Short(format!("{n_filled} of {} bytes at {}", part.buffer.len(), part.offset)))
            }
            Answer::Vector(vector) => vector.check_complete(),
        }
    }

    /// Bytes that came, of an answer of one range that is not complete.
    pub(crate) fn n_so_far(&self) -> Option<usize> {
        match self {
            Answer::Read(part, n_filled) if *n_filled < part.buffer.len() => Some(*n_filled),
            _ => None,
        }
    }

    /// Forgets what came, but for the first `n_kept` bytes of one range: the request is made again.
    pub(crate) fn reset(&mut self, n_kept: usize) {
        match self {
            Answer::Control(words) => words.clear(),
            Answer::Read(_, n_filled) => *n_filled = n_kept,
            Answer::Vector(vector) => vector.reset(),
        }
    }
}

/// The answer to a vector read: for each range, in the order in which they were asked for, an element that repeats
/// the question, then its bytes.
#[derive(Debug)]
pub(crate) struct VectorAnswer<'b> {
    handle: Handle,
    parts: Vec<Part<'b>>,
    /// Pieces that are complete.
    n_complete: usize,
    /// The element before the next one, as far as it came.
    element: [u8; ELEMENT_BYTES],
    n_element: usize,
    /// Bytes that came after it.
    n_filled: usize,
}

impl<'b> VectorAnswer<'b> {
    /// Waits for `parts`, none of which is empty.
    pub(crate) fn new(handle: Handle, parts: Vec<Part<'b>>) -> Self {
        VectorAnswer { handle, parts, n_complete: 0, element: [0; ELEMENT_BYTES], n_element: 0, n_filled: 0 }
    }

    /// The ranges that were asked for.
    #[cfg(test)]
    pub(crate) fn parts(&self) -> &[Part<'b>] {
        &self.parts
    }

    fn take(&mut self, mut n_bytes: usize, incoming: &mut impl Incoming) -> Result<(), Failure> {
        while n_bytes > 0 {
            let Some(part) = self.parts.get_mut(self.n_complete) else {
                return Err(Failure::Wrong(format!("{n_bytes} bytes after the last range")));
            };
            if self.n_element < ELEMENT_BYTES {
                let n_next = n_bytes.min(ELEMENT_BYTES - self.n_element);
                incoming.fill(&mut self.element[self.n_element..self.n_element + n_next])?;
                self.n_element += n_next;
                n_bytes -= n_next;
                if self.n_element == ELEMENT_BYTES {
                    check_element(self.element, self.handle, part)?;
                }
            } else {
                let free = &mut part.buffer[self.n_filled..];
                let n_next = n_bytes.min(free.len());
                let n_next = incoming.some(&mut free[..n_next])?;
                self.n_filled += n_next;
                n_bytes -= n_next;
                if self.n_filled == part.buffer.len() {
                    (self.n_complete, self.n_element, self.n_filled) = (self.n_complete + 1, 0, 0);
                }
            }
        }
        Ok(())
    }

    fn check_complete(&self) -> Result<(), Failure> {
        match self.parts.get(self.n_complete) {
            None => Ok(()),
            Some(part) => Err(Failure::Short(format!(
                "{} of {} ranges, and {} of {} bytes at {}",
                self.n_complete,
                self.parts.len(),
                self.n_filled,
                part.buffer.len(),
                part.offset
            ))),
        }
    }

    fn reset(&mut self) {
        (self.n_complete, self.n_element, self.n_filled) = (0, 0, 0);
    }
}

fn check_element(element: [u8; ELEMENT_BYTES], handle: Handle, part: &Part<'_>) -> Result<(), Failure> {
    let n_bytes = u32::try_from(part.buffer.len()).unwrap_or(u32::MAX);
    if element == message::element(handle, part.offset, n_bytes) {
        return Ok(());
    }
    let [_, _, _, _, n0, n1, n2, n3, o0, o1, o2, o3, o4, o5, o6, o7] = element;
    Err(Failure::Wrong(format!(
        "a range of {} bytes at {} where {n_bytes} at {} were due",
        i32::from_be_bytes([n0, n1, n2, n3]),
        i64::from_be_bytes([o0, o1, o2, o3, o4, o5, o6, o7]),
        part.offset
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Slice<'a>(&'a [u8]);

    impl Incoming for Slice<'_> {
        fn some(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
            // Never all at once.
            let n_bytes = buffer.len().min(self.0.len()).min(7);
            let (now, later) = self.0.split_at(n_bytes);
            buffer[..n_bytes].copy_from_slice(now);
            self.0 = later;
            if n_bytes == 0 { Err(Failure::Broken("the end".to_owned())) } else { Ok(n_bytes) }
        }
    }

    const HANDLE: Handle = [0, 1, 2, 3];

    /// What a server sends for ranges of a file whose byte at n is n modulo 256.
    fn wire(ranges: &[(u64, usize)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &(offset, n_bytes) in ranges {
            bytes.extend(message::element(HANDLE, offset, u32::try_from(n_bytes).unwrap()));
            bytes.extend((0..n_bytes).map(|index| ((offset + index as u64) & 0xff) as u8));
        }
        bytes
    }

    fn taken(ranges: &[(u64, usize)], wire: &[u8], cuts: &[usize]) -> Result<Vec<Vec<u8>>, Failure> {
        let mut buffers: Vec<_> = ranges.iter().map(|&(_, n_bytes)| vec![0; n_bytes]).collect();
        let parts = ranges.iter().zip(&mut buffers).map(|(&(offset, _), buffer)| Part { offset, buffer }).collect();
        let mut answer = Answer::Vector(VectorAnswer::new(HANDLE, parts));
        let mut incoming = Slice(wire);
        for &cut in cuts {
            answer.take(cut.min(incoming.0.len()), &mut incoming)?;
        }
        answer.take(incoming.0.len(), &mut incoming)?;
        answer.check_complete()?;
        Ok(buffers)
    }

    #[test]
    fn what_came_before_the_end_is_not_missing() {
        let ranges = [(0_u64, 10_usize), (100, 20), (200, 5)];
        for n_came in 0..wire(&ranges).len() {
            let mut buffers = ranges.map(|(_, n_bytes)| vec![0; n_bytes]);
            let parts = ranges.iter().zip(&mut buffers).map(|(&(offset, _), buffer)| Part { offset, buffer });
            let mut answer = Answer::Vector(VectorAnswer::new(HANDLE, parts.collect()));
            answer.take(1000, &mut Slice(&wire(&ranges)[..n_came])).unwrap_err();
            for part in answer.unfilled(false) {
                let expected = wire(&[(part.offset, part.buffer.len())]);
                part.buffer.copy_from_slice(&expected[ELEMENT_BYTES..]);
            }
            for (&range, buffer) in ranges.iter().zip(&buffers) {
                assert_eq!(buffer.as_slice(), &wire(&[range])[ELEMENT_BYTES..], "{n_came}");
            }
        }
    }

    #[test]
    fn more_than_was_asked_for_is_refused() {
        let mut buffer = [0; 4];
        let mut answer = Answer::Read(Part { offset: 0, buffer: &mut buffer }, 0);
        answer.take(3, &mut Slice(b"abc")).unwrap();
        assert!(matches!(answer.check_complete(), Err(Failure::Short(_))));
        assert!(matches!(answer.take(2, &mut Slice(b"de")), Err(Failure::Wrong(_))));
        answer.take(1, &mut Slice(b"d")).unwrap();
        answer.check_complete().unwrap();
        let mut words = Answer::Control(Vec::new());
        assert!(matches!(words.take(MAX_CONTROL_BYTES + 1, &mut Slice(b"")), Err(Failure::Wrong(_))));
    }

    proptest! {
        #[test]
        fn ranges_arrive_wherever_the_answer_is_cut(
            ranges in prop::collection::vec((0_u64..10_000, 1_usize..100), 1..20),
            cuts in prop::collection::vec(0_usize..60, 0..30),
        ) {
            let expected: Vec<Vec<u8>> = ranges.iter().map(|&range| wire(&[range])[ELEMENT_BYTES..].to_vec()).collect();
            prop_assert_eq!(taken(&ranges, &wire(&ranges), &cuts).unwrap(), expected);
        }

        #[test]
        fn no_wrong_answer_is_taken_for_a_right_one(
            ranges in prop::collection::vec((0_u64..10_000, 1_usize..100), 1..10),
            index: prop::sample::Index, flip in 1_u8..=255, n_cut in 1_usize..50,
        ) {
            let right = wire(&ranges);
            let is_element = |index: usize| {
                let mut start = 0;
                ranges.iter().any(|&(_, n_bytes)| {
                    let is_here = (start..start + ELEMENT_BYTES).contains(&index);
                    start += ELEMENT_BYTES + n_bytes;
                    is_here
                })
            };
            let mut wrong = right.clone();
            let index = index.index(right.len());
            wrong[index] ^= flip;
            prop_assert!(taken(&ranges, &wrong, &[]).is_err() == is_element(index));
            prop_assert!(taken(&ranges, &right[..right.len().saturating_sub(n_cut)], &[]).is_err());
            let longer = [right.as_slice(), &[0; 50][..n_cut]].concat();
            prop_assert!(taken(&ranges, &longer, &[]).is_err());
            let swapped: Vec<_> = ranges.iter().rev().copied().collect();
            prop_assert!(swapped == ranges || taken(&ranges, &wire(&swapped), &[]).is_err());
        }
    }
}
