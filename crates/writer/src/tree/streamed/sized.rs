//! Objects of fixed size: the places of all of them are known in advance, and each member is written to all in a loop of its own.

use std::ops::Range;

use super::{COUNT_BYTES, HeldNumbers, Lists, Node, Numbers, OBJECT_HEAD_BYTES, Objects, VECTOR_HEAD_BYTES};
use super::{byte_count, object_head, swapped};

impl Node<'_> {
    /// Writes values of [fixed size](Node::fixed_bytes) from `first` on, each `at` bytes behind one of `starts`.
    pub(super) fn scatter(&self, first: usize, starts: impl Iterator<Item = usize> + Clone, at: usize, out: &mut [u8]) {
        match self {
            Node::Numbers(numbers) => numbers.scatter(first, starts, at, out),
            Node::Objects(Objects { version, members, n_bytes: Some(n_bytes) }) => {
                let head = object_head(*version, *n_bytes);
                put_each(std::iter::repeat(head), starts.clone(), at, out);
                scatter_members(members, first, starts, at + OBJECT_HEAD_BYTES, out);
            }
            Node::Objects(_) | Node::Texts(_) | Node::Lists(_) | Node::Pairs(_) | Node::Nothing => {}
        }
    }
}

impl Numbers<'_> {
    fn scatter(&self, first: usize, starts: impl Iterator<Item = usize> + Clone, at: usize, out: &mut [u8]) {
        let first = first * self.each;
        match self.held {
            HeldNumbers::Plain { bytes, width: 1 } => self.scatter_plain::<1>(&bytes[first..], starts, at, out),
            HeldNumbers::Plain { bytes, width: 2 } => self.scatter_plain::<2>(&bytes[first * 2..], starts, at, out),
            HeldNumbers::Plain { bytes, width: 4 } => self.scatter_plain::<4>(&bytes[first * 4..], starts, at, out),
            HeldNumbers::Plain { bytes, .. } => self.scatter_plain::<8>(&bytes[first * 8..], starts, at, out),
            HeldNumbers::Bits(bits) => {
                for index in 0..self.each {
                    let of_place = (first + index..bits.len()).step_by(self.each);
                    let of_place = of_place.map(|index| [u8::from(bits.value(index))]);
                    put_each(of_place, starts.clone(), at + index, out);
                }
            }
            HeldNumbers::Packed { .. } => {}
        }
    }

    fn scatter_plain<const N: usize>(
        &self,
        bytes: &[u8],
        starts: impl Iterator<Item = usize> + Clone,
        at: usize,
        out: &mut [u8],
    ) {
        let numbers = bytes.as_chunks::<N>().0;
        if self.each == 1 {
            return put_each(numbers.iter().map(|number| swapped(*number)), starts, at, out);
        }
        for index in 0..self.each {
            let of_place = numbers.iter().skip(index).step_by(self.each).map(|number| swapped(*number));
            put_each(of_place, starts.clone(), at + index * N, out);
        }
    }
}

/// Lists of objects that all have the same size.
pub(super) struct SizedLists<'n, 'p> {
    pub(super) lists: &'n Lists<'p>,
    /// The version of the class of the objects.
    pub(super) version: u16,
    pub(super) members: &'n [Node<'p>],
    /// Bytes of the members of an object.
    pub(super) n_bytes: usize,
}

/// An object in a list: where the objects of the list begin, how many they are, and which one it is.
#[derive(Clone, Copy)]
struct ItemPlace {
    start: usize,
    n_items: usize,
    index: usize,
}

impl SizedLists<'_, '_> {
    /// Appends entries that are a list each; `begin` is told where each begins.
    pub(super) fn append(&self, entries: Range<usize>, out: &mut Vec<u8>, mut begin: impl FnMut(usize)) {
        let class_version = self.lists.member_wise.map(|item| item.version.to_be_bytes());
        let stride = self.n_bytes + if class_version.is_some() { 0 } else { OBJECT_HEAD_BYTES };
        let items = self.lists.bounds.of(&entries);
        let head_bytes = VECTOR_HEAD_BYTES + class_version.map_or(0, |version| version.len()) + COUNT_BYTES;
        let mut start = out.len();
        out.resize(start + entries.len() * head_bytes + items.len() * stride, 0);
        let mut places = Vec::with_capacity(items.len());
        for entry in entries {
            begin(start);
            let n_items = self.lists.bounds.of(&(entry..entry + 1)).len();
            let n_bytes = head_bytes + n_items * stride;
            let mut head = &mut out[start..start + head_bytes];
            for part in [
                &byte_count(n_bytes - COUNT_BYTES)[..],
                &self.lists.version().to_be_bytes(),
                class_version.as_ref().map_or(&[], |version| version.as_slice()),
                &u32::try_from(n_items).unwrap_or(u32::MAX).to_be_bytes(),
            ] {
                let (to, rest) = head.split_at_mut(part.len());
                to.copy_from_slice(part);
                head = rest;
            }
            places.extend((0..n_items).map(|index| ItemPlace { start: start + head_bytes, n_items, index }));
            start += n_bytes;
        }
        if class_version.is_none() {
            let starts = places.iter().map(|at| at.start + at.index * stride);
            put_each(std::iter::repeat(object_head(self.version, self.n_bytes)), starts.clone(), 0, out);
            return scatter_members(self.members, items.start, starts, OBJECT_HEAD_BYTES, out);
        }
        // The same member of all objects of a list, and then the next one.
        let mut before = 0;
        for member in self.members {
            let n_bytes = member.fixed_bytes().unwrap_or_default();
            let starts = places.iter().map(|at| at.start + at.n_items * before + at.index * n_bytes);
            member.scatter(items.start, starts, 0, out);
            before += n_bytes;
        }
    }
}

/// Writes the members of objects of fixed size.
pub(super) fn scatter_members(
    members: &[Node<'_>],
    first: usize,
    starts: impl Iterator<Item = usize> + Clone,
    mut at: usize,
    out: &mut [u8],
) {
    for member in members {
        member.scatter(first, starts.clone(), at, out);
        at += member.fixed_bytes().unwrap_or_default();
    }
}

/// Writes values of `N` bytes, each `at` bytes behind one of `starts`.
#[inline]
pub(super) fn put_each<const N: usize>(
    values: impl Iterator<Item = [u8; N]>,
    starts: impl Iterator<Item = usize>,
    at: usize,
    out: &mut [u8],
) {
    // The starts end first: there may be more values, of other entries.
    for (start, value) in starts.zip(values) {
        if let Some(to) = out.get_mut(start + at..).and_then(|out| out.first_chunk_mut::<N>()) {
            *to = value;
        }
    }
}
