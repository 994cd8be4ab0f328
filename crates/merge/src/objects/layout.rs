//! Where the numbers of a histogram, graph or parameter lie in its bytes.

use std::ops::Range;
use std::sync::Arc;

use ahash::HashMap;
use arrowroot::format::Result;
use arrowroot::format::streamer::StreamerInfos;

use super::means::Mean;
use super::references::Pointer;
use super::walk;

/// Bits of a `TObject` that say how it is stored and merged: it is referenced (4), averaged or not added (16 to 20).
const BITS: u32 = 1 << 4 | 0b1_1111 << 16;
const SIGN: u32 = 1 << 31;
/// Byte counts have this bit, and 30 bits of a number.
const BYTE_COUNT: u32 = 1 << 30;
/// So many layouts of a class are kept.
const MAX_KNOWN: usize = 16;

/// The rule for the numbers of a span when an object is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Byte counts, versions, lengths: they say what follows.
    Structure,
    /// The same in all, or they cannot be added: axes.
    Same,
    /// That of the first is kept: names, colours.
    Keep,
    /// Numbers that are added.
    Add(Number),
    /// The value of a parameter that says how values become one.
    Joined(Number, Manner),
    /// A sum that is below 0 where none is counted: then it adds nothing (`THnBase::fTsumw2`).
    Marked,
    /// A weight: the inverses are added.
    Weight,
    /// The points of a graph.
    Points,
}

/// The way in which values of a parameter become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Multiply,
    Largest,
    Smallest,
    First,
    Last,
}

impl Manner {
    /// That of the bits of a `TParameter`, if it is another than a sum.
    ///
    /// Source: `TParameter::Merge` (ROOT 6.40). Of bools the largest is what any of them is, the smallest what all are.
    pub(crate) fn of_bits(bits: u32, number: Number) -> Option<Manner> {
        // The first of these that is set holds.
        const OF_NUMBERS: [(u32, Manner); 5] = [
            (16, Manner::Multiply),
            (17, Manner::Largest),
            (18, Manner::Smallest),
            (20, Manner::Last),
            (19, Manner::First),
        ];
        const OF_BOOLS: [(u32, Manner); 5] = [
            (16, Manner::Smallest),
            (18, Manner::Smallest),
            (20, Manner::Last),
            (17, Manner::Largest),
            (19, Manner::First),
        ];
        let manners = if number == Number::Bool { OF_BOOLS } else { OF_NUMBERS };
        manners.into_iter().find(|(bit, _)| bits & (1 << bit) != 0).map(|(_, manner)| manner)
    }
}

/// A type of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// True if any is.
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
}

impl Number {
    pub(crate) fn n_bytes(self) -> usize {
        match self {
            Number::Bool | Number::Int8 => 1,
            Number::Int16 => 2,
            Number::Int32 | Number::Float32 => 4,
            Number::Int64 | Number::Float64 => 8,
        }
    }
}

/// Bytes of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberSpan {
    pub(crate) range: Range<usize>,
    pub(crate) role: Role,
    /// Members from the object to these bytes, as `fXaxis.fNbins`; empty for [`Role::Structure`].
    pub(crate) path: String,
}

/// The numbers of one histogram, or of what is around histograms.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    /// Places in [`Layout::spans`] of what is added.
    pub(crate) sums: Vec<usize>,
    /// Which of them is the number of entries, and the sum of the weights, of a histogram.
    pub(crate) n_entries: Option<usize>,
    pub(crate) sum_of_weights: Option<usize>,
}

/// An object in bytes: where the parts of it are.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// One behind the other, all of its bytes.
    pub(crate) spans: Vec<MemberSpan>,
    /// Byte counts, and the end of what they count.
    pub(crate) counts: Vec<Range<usize>>,
    /// The first is that of the object itself; a histogram has one of its own.
    pub(crate) groups: Vec<Group>,
    /// Bytes that say where others are, beside [`Role::Structure`].
    pub(crate) lengths: Vec<Range<usize>>,
    /// Where bits of `TObject`s are.
    pub(crate) bits: Vec<usize>,
    /// Arrays without numbers, by their paths: where those would be.
    pub(crate) empty: Vec<(String, usize)>,
    /// Path and class of each object whose numbers are added, or their bins.
    pub(crate) members: Vec<(String, String)>,
    pub(crate) pointers: Vec<Pointer>,
    /// Where histograms have the number of fills in their buffer, below 0 as the bins have them, too (`TH1::BufferEmpty`).
    pub(crate) copied_fills: Vec<usize>,
    /// The bins of profiles whose means follow from sums.
    pub(crate) means: Vec<Mean>,
    /// Where the numbers of [`Role::Marked`] are.
    marked: Vec<usize>,
    /// The spans with a path, in the order of their paths.
    by_path: Vec<usize>,
    /// Structure and lengths, in few ranges.
    fixed: Vec<Range<usize>>,
    /// The spans of [`Role::Same`].
    same: Vec<Range<usize>>,
}

impl Layout {
    pub(crate) fn span(&self, path: &str) -> Option<&MemberSpan> {
        let index = self.by_path.partition_point(|&index| *self.spans[index].path < *path);
        self.by_path.get(index).map(|&index| &self.spans[index]).filter(|span| span.path == path)
    }

    /// True if an object as long as one of this layout, `model`, has it, too.
    pub(crate) fn fits(&self, model: &[u8], object: &[u8]) -> bool {
        model.len() == object.len()
            && self.fixed.iter().all(|range| model[range.clone()] == object[range.clone()])
            && self.bits.iter().all(|&at| (word(model, at) ^ word(object, at)) & BITS == 0)
            && self.marked.iter().all(|&at| (word(model, at) ^ word(object, at)) & SIGN == 0)
    }

    /// True if objects of this layout have the same axes.
    pub(crate) fn is_same(&self, one: &[u8], other: &[u8]) -> bool {
        self.same.iter().all(|range| one[range.clone()] == other[range.clone()])
    }

    /// An object of this layout with other bytes in place of some, which are in structure or whole spans. Byte counts say what
    /// is there then, and so do the `references`, which are places and to what they refer; `None` if that is 1 GiB or more.
    pub(crate) fn spliced(
        &self,
        object: &[u8],
        mut replaced: Vec<(Range<usize>, Vec<u8>)>,
        references: &[(usize, usize)],
    ) -> Option<Vec<u8>> {
        replaced.sort_by_key(|(range, _)| range.start);
        let (mut bytes, mut at) = (Vec::new(), 0);
        // Where what is behind a replaced range was, and is.
        let mut moved = vec![(0, 0)];
        for (range, by) in &replaced {
            bytes.extend_from_slice(object.get(at..range.start)?);
            bytes.extend_from_slice(by);
            at = range.end;
            moved.push((at, bytes.len()));
        }
        bytes.extend_from_slice(object.get(at..)?);
        let now = |position: usize| {
            let (was, is) = moved[moved.partition_point(|(was, _)| *was <= position) - 1];
            is + (position - was)
        };
        let is_replaced = |count: &&Range<usize>| {
            let behind = replaced.partition_point(|(range, _)| range.start <= count.start);
            replaced[..behind].last().is_some_and(|(range, _)| range.contains(&count.start))
        };
        for count in self.counts.iter().filter(|count| !is_replaced(count)) {
            let (start, end) = (now(count.start), now(count.end));
            let n_bytes = u32::try_from(end.checked_sub(start + 4)?).ok().filter(|n_bytes| *n_bytes < BYTE_COUNT)?;
            bytes.get_mut(start..start + 4)?.copy_from_slice(&(n_bytes | BYTE_COUNT).to_be_bytes());
        }
        for &(at, target) in references {
            let by = u32::try_from(now(target).checked_sub(target)?).ok()?;
            let reference = word(object, at).checked_add(by)?;
            bytes.get_mut(now(at)..now(at) + 4)?.copy_from_slice(&reference.to_be_bytes());
        }
        Some(bytes)
    }

    /// Sums up what is compared.
    fn complete(mut self) -> Layout {
        let of_role =
            |role: Role| self.spans.iter().filter(move |span| span.role == role).map(|span| span.range.clone());
        self.fixed = joined(of_role(Role::Structure).chain(self.lengths.iter().cloned()).collect());
        self.same = joined(of_role(Role::Same).collect());
        self.marked = of_role(Role::Marked).map(|range| range.start).collect();
        self.by_path = (0..self.spans.len()).filter(|&index| !self.spans[index].path.is_empty()).collect();
        self.by_path.sort_by(|&one, &other| self.spans[one].path.cmp(&self.spans[other].path));
        self
    }
}

/// Ranges in order, those that touch as one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    ranges
}

fn word(object: &[u8], at: usize) -> u32 {
    object.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// The layouts that were met: most objects of a class have one of a few.
#[derive(Default)]
pub(crate) struct Layouts(HashMap<String, Vec<KnownLayout>>);

/// A layout, and an object that has it.
type KnownLayout = (Arc<Layout>, Vec<u8>);

impl Layouts {
    /// The layout of an object. `key_bytes`: of its key, from whose start references count.
    ///
    /// # Errors
    /// If the bytes are not those of the class, or its numbers would not be right if they were added: fills that are in its
    /// buffer, averages, products.
    pub(crate) fn of(
        &mut self,
        class: &str,
        object: &[u8],
        key_bytes: usize,
        infos: &StreamerInfos,
    ) -> Result<Arc<Layout>> {
        if let Some(known) = self.0.get(class)
            && let Some((layout, _)) = known.iter().find(|(layout, model)| layout.fits(model, object))
        {
            return Ok(Arc::clone(layout));
        }
        let layout = Arc::new(walk::walked(class, object, key_bytes, infos)?.complete());
        let known = self.0.entry(class.to_owned()).or_default();
        if known.len() == MAX_KNOWN {
            known.remove(0);
        }
        known.push((Arc::clone(&layout), object.to_vec()));
        Ok(layout)
    }
}
