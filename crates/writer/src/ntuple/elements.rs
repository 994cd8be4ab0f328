//! The values of a cluster as the elements of columns: where they are in memory, not a copy of them.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use arrowroot_arrow::Stored;
use arrowroot_format::rntuple::ColumnId;
use arrowroot_format::streamer::Primitive;

use super::fields::Node;

/// Bytes of an element of a column of switches: a place of 64 bits and a tag of 32, little-endian.
const SWITCH_BYTES: usize = 12;

/// Elements of a column, in a row.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// Numbers of the machine.
    Numbers {
        /// Their bytes.
        values: Buffer,
        /// Bytes of each.
        width: usize,
    },
    /// Numbers of which only some are there.
    Picked {
        /// Their bytes.
        values: Buffer,
        /// Bytes of each.
        width: usize,
        /// Which of them are elements.
        valid: BooleanBuffer,
    },
    /// Bools.
    Bits(BooleanBuffer),
    /// Ends of lists.
    Ends {
        /// One more than there are lists.
        offsets: ScalarBuffer<i64>,
        /// What makes offsets places in the cluster.
        shift: i64,
    },
    /// Ends of lists of one item or none.
    Valid {
        /// Which have one.
        valid: BooleanBuffer,
        /// Items before in the cluster.
        before: i64,
    },
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Part::Numbers { values, width } => values.len() / width,
            Part::Picked { valid, .. } => valid.count_set_bits(),
            Part::Bits(bits) => bits.len(),
            Part::Ends { offsets, .. } => offsets.len().saturating_sub(1),
            Part::Valid { valid, .. } => valid.len(),
        }
    }
}

/// The elements of a column in a cluster.
#[derive(Debug, Clone, Default)]
pub(super) struct Elements {
    /// Each with the number of its first element in the cluster.
    parts: Vec<(usize, Part)>,
    /// Number of elements.
    pub(super) n_elements: usize,
    /// Items of the lists whose ends they are.
    n_items: i64,
    /// Items of each alternative whose places they are.
    n_of_alternatives: Vec<u64>,
}

impl Elements {
    fn push(&mut self, part: Part) {
        let n_elements = part.len();
        if n_elements > 0 {
            self.parts.push((self.n_elements, part));
            self.n_elements += n_elements;
        }
    }

    /// Where in memory the ends of lists are, how many, and what is added to them; `None` if it has others.
    pub(super) fn ends_in_memory(&self) -> Option<Vec<(*const i64, usize, i64)>> {
        let parts = self.parts.iter().map(|(_, part)| match part {
            Part::Ends { offsets, shift } => Some((offsets.as_ptr(), offsets.len(), *shift)),
            _ => None,
        });
        parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
    }

    /// The parts that have some of these elements, each with those of its own elements, and where in the range they go.
    pub(super) fn parts_in(&self, range: Range<usize>) -> impl Iterator<Item = (&Part, Range<usize>, usize)> {
        let first = self.parts.partition_point(|(start, _)| *start <= range.start).saturating_sub(1);
        let after = |index: usize| self.parts.get(index + 1).map_or(self.n_elements, |(start, _)| *start);
        let parts = (first..).zip(&self.parts[first.min(self.parts.len())..]);
        parts.take_while(move |(_, (start, _))| *start < range.end).map({
            let range = range.clone();
            move |(index, (start, part))| {
                let (from, to) = (range.start.max(*start), range.end.min(after(index)));
                (part, from - start..to - start, from - range.start)
            }
        })
    }
}

/// All columns of an RNTuple in a cluster.
#[derive(Debug)]
pub(super) struct ClusterElements {
    /// By the numbers of the columns.
    pub(super) columns: Vec<Elements>,
    /// Items of the column of the table that is added whose ends another one has: by the columns of these ends.
    beside: Vec<(ColumnId, i64)>,
}

/// The fault of values that are not what [`Stored`] says.
#[derive(Debug)]
pub(super) struct Malformed(pub(super) &'static str);

impl ClusterElements {
    /// Without elements.
    pub(super) fn new(n_columns: usize) -> Self {
        ClusterElements { columns: vec![Elements::default(); n_columns], beside: Vec::new() }
    }

    fn at(&mut self, column: ColumnId) -> &mut Elements {
        &mut self.columns[column.0 as usize]
    }

    /// Adds values of a field. `valid`: which of them are there, if some are not.
    ///
    /// # Errors
    /// If the values are not of the type of the field.
    pub(super) fn add(&mut self, node: &Node, values: &Stored, valid: Option<&BooleanBuffer>) -> Result<(), Malformed> {
        match (node, values) {
            (Node::Numbers { column }, Stored::Numbers { primitive, values }) => {
                let (values, width) = (values.clone(), primitive.stored_bytes());
                self.at(*column).push(match valid.cloned() {
                    Some(valid) => Part::Picked { values, width, valid },
                    None => Part::Numbers { values, width },
                });
            }
            (Node::Narrow { column }, Stored::Numbers { primitive: Primitive::Float64, values }) => {
                let (values, width) = (narrowed(values), size_of::<f32>());
                self.at(*column).push(match valid.cloned() {
                    Some(valid) => Part::Picked { values, width, valid },
                    None => Part::Numbers { values, width },
                });
            }
            (Node::Bits { column }, Stored::Bits(bits))
            | (Node::Validity { column }, Stored::Optional { valid: bits, .. }) => {
                self.at(*column).push(Part::Bits(picked_bits(bits, valid)));
            }
            (Node::Text { ends, bytes: column }, Stored::Text { offsets, bytes }) => {
                let items = self.add_lists(*ends, offsets, valid)?;
                let values = bytes.slice_with_length(items.start, items.len());
                self.at(*column).push(Part::Numbers { values, width: 1 });
            }
            (Node::List { ends, item, .. }, Stored::List { offsets, items }) => {
                let range = self.add_lists(*ends, offsets, valid)?;
                self.add(item, &items.slice(range), None)?;
            }
            // Default values of lists have the length that their field says.
            (Node::Fixed { item } | Node::ListAsFixed { item, .. }, Stored::Fixed { n_items, items, .. }) => {
                self.add(item, items, valid.map(|valid| repeated(valid, *n_items)).as_ref())?;
            }
            // Lists that are not there have no items.
            (Node::ListAsFixed { n_items, item }, Stored::List { offsets, items }) => {
                let range = span(offsets)?;
                let n_lists = valid.map_or(offsets.len().saturating_sub(1), BooleanBuffer::count_set_bits);
                if n_lists.checked_mul(*n_items) != Some(range.len()) {
                    return Err(Malformed("lists of another length than their field has"));
                }
                self.add(item, &items.slice(range), None)?;
            }
            (Node::Present { ends, item }, values) => {
                let present = match values {
                    Stored::Variant { tags, .. } => BooleanBuffer::collect_bool(tags.len(), |index| tags[index] > 0),
                    values => BooleanBuffer::new_set(values.len()),
                };
                self.add_optional(*ends, item, &present, values, valid)?;
            }
            (Node::FixedAsList { ends, item, .. }, Stored::Fixed { len, n_items, items }) => {
                let n_lists = valid.map_or(*len, BooleanBuffer::count_set_bits);
                let n_items_each = i64::try_from(*n_items).map_err(|_| Malformed("lists that are too long"))?;
                let offsets = (0..).map(|index: i64| index.wrapping_mul(n_items_each)).take(n_lists + 1).collect();
                self.add_lists(*ends, &offsets, None)?;
                self.add(item, items, valid.map(|valid| repeated(valid, *n_items)).as_ref())?;
            }
            (Node::Struct { members: nodes }, Stored::Struct { members, .. }) if nodes.len() == members.len() => {
                nodes.iter().zip(members).try_for_each(|(node, member)| self.add(node, member, valid))?;
            }
            (Node::Variant { switch, alternatives: nodes }, Stored::Variant { tags, alternatives })
                if nodes.len() == alternatives.len() =>
            {
                self.add_switches(*switch, tags, nodes.len(), valid)?;
                for (node, of) in nodes.iter().zip(alternatives) {
                    let Stored::List { offsets, items } = of else {
                        return Err(Malformed("an alternative that is no list"));
                    };
                    self.add(node, &items.slice(span(offsets)?), None)?;
                }
            }
            (Node::Optional { ends, item }, Stored::Optional { valid: present, values }) => {
                self.add_optional(*ends, item, present, values, valid)?;
            }
            (Node::Beside { ends, item }, values) => self.add_beside(*ends, item, values, valid)?,
            _ => return Err(Malformed("values that are not of the type of the column")),
        }
        Ok(())
    }

    /// Adds lists of one value or none: of those that are present.
    fn add_optional(
        &mut self,
        ends: ColumnId,
        item: &Node,
        present: &BooleanBuffer,
        values: &Stored,
        valid: Option<&BooleanBuffer>,
    ) -> Result<(), Malformed> {
        let own = picked_bits(present, valid);
        let n_present = own.count_set_bits();
        let n_lists = own.len();
        let before = self.add_items(ends, n_present)?;
        self.at(ends).push(Part::Valid { valid: own, before });
        let both = match valid {
            Some(valid) => Some(valid & present),
            None if n_present == n_lists => None,
            None => Some(present.clone()),
        };
        self.add(item, values, both.as_ref())
    }

    /// Adds the items of lists, and values of optionals, whose ends another column of the table has added.
    fn add_beside(
        &mut self,
        ends: ColumnId,
        item: &Node,
        values: &Stored,
        valid: Option<&BooleanBuffer>,
    ) -> Result<(), Malformed> {
        let (items, n_items, valid) = match values {
            Stored::List { offsets, items } => {
                let range = span(offsets)?;
                (&items.slice(range.clone()), range.len(), None)
            }
            Stored::Optional { valid: present, values } => {
                let both = valid.map_or_else(|| present.clone(), |valid| valid & present);
                (&**values, both.count_set_bits(), Some(both))
            }
            Stored::Fixed { len, n_items, items } => {
                let n_lists = valid.map_or(*len, BooleanBuffer::count_set_bits);
                (&**items, n_lists.saturating_mul(*n_items), valid.map(|valid| repeated(valid, *n_items)))
            }
            _ => return Err(Malformed("values that are not of the type of the column")),
        };
        let n_items = i64::try_from(n_items).map_err(|_| Malformed("too many values"))?;
        match self.beside.last_mut() {
            Some((last, n_before)) if *last == ends => *n_before += n_items,
            _ => self.beside.push((ends, n_items)),
        }
        self.add(item, items, valid.as_ref())
    }

    /// That a column of the table whose items stand beside those of another one has as many as that one.
    ///
    /// # Errors
    /// If it has not.
    pub(super) fn check_beside(&mut self) -> Result<(), Malformed> {
        let mut found = std::mem::take(&mut self.beside);
        found.sort_unstable_by_key(|(ends, _)| ends.0);
        let is_one = |same: &[(ColumnId, i64)]| {
            let n_items: i64 = same.iter().map(|(_, n_items)| n_items).sum();
            n_items == self.columns[same[0].0.0 as usize].n_items
        };
        let is_whole = found.chunk_by(|(one, _), (other, _)| one == other).all(is_one);
        if is_whole { Ok(()) } else { Err(Malformed("a member of other records than there are")) }
    }

    /// Counts items of lists; returns how many there were before.
    fn add_items(&mut self, ends: ColumnId, n_items: usize) -> Result<i64, Malformed> {
        let elements = self.at(ends);
        let before = elements.n_items;
        elements.n_items += i64::try_from(n_items).map_err(|_| Malformed("too many values"))?;
        Ok(before)
    }

    /// Adds which alternative each value is, and its place among all of it in the cluster. What is under a null is none.
    fn add_switches(
        &mut self,
        column: ColumnId,
        tags: &[u8],
        n_alternatives: usize,
        valid: Option<&BooleanBuffer>,
    ) -> Result<(), Malformed> {
        let elements = self.at(column);
        elements.n_of_alternatives.resize(n_alternatives, 0);
        let mut values = Vec::with_capacity(tags.len() * SWITCH_BYTES);
        let is_there = |index: usize| valid.is_none_or(|valid| valid.value(index));
        for &tag in tags.iter().enumerate().filter_map(|(index, tag)| is_there(index).then_some(tag)) {
            let place = match usize::from(tag).checked_sub(1) {
                None => 0,
                Some(alternative) => {
                    let next = elements.n_of_alternatives.get_mut(alternative);
                    let next = next.ok_or(Malformed("a value of an alternative that is not there"))?;
                    *next += 1;
                    *next - 1
                }
            };
            values.extend_from_slice(&place.to_le_bytes());
            values.extend_from_slice(&u32::from(tag).to_le_bytes());
        }
        elements.push(Part::Numbers { values: values.into(), width: SWITCH_BYTES });
        Ok(())
    }

    /// Adds the ends of lists; returns which items they have.
    fn add_lists(
        &mut self,
        column: ColumnId,
        offsets: &ScalarBuffer<i64>,
        valid: Option<&BooleanBuffer>,
    ) -> Result<Range<usize>, Malformed> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else { return Ok(0..0) };
        let offsets = match valid {
            None => offsets.clone(),
            // Lists that are not there have no items, so the items of the others stand in a row.
            Some(valid) => {
                let mut kept = Vec::with_capacity(valid.count_set_bits() + 1);
                kept.push(first);
                kept.extend(valid.set_indices().filter_map(|index| offsets.get(index + 1).copied()));
                if has_items(offsets, valid) {
                    return Err(Malformed("items of lists that are null"));
                }
                kept.into()
            }
        };
        let elements = self.at(column);
        let shift = elements.n_items.wrapping_sub(first);
        elements.n_items = elements.n_items.wrapping_add(last.wrapping_sub(first));
        elements.push(Part::Ends { offsets, shift });
        range_of(first, last)
    }
}

/// Numbers in single precision.
fn narrowed(values: &[u8]) -> Buffer {
    #[expect(clippy::cast_possible_truncation, reason = "that is what Double32_t is")]
    let narrow = |bytes: &[u8; 8]| f64::from_ne_bytes(*bytes) as f32;
    Buffer::from_vec(values.as_chunks::<8>().0.iter().map(narrow).collect::<Vec<f32>>())
}

/// The items that lists with these offsets have.
fn span(offsets: &[i64]) -> Result<Range<usize>, Malformed> {
    offsets.first().zip(offsets.last()).map_or(Ok(0..0), |(&first, &last)| range_of(first, last))
}

fn range_of(first: i64, last: i64) -> Result<Range<usize>, Malformed> {
    let at = |offset: i64| usize::try_from(offset).map_err(|_| Malformed("lists of a negative place"));
    let (first, last) = (at(first)?, at(last)?);
    if first > last { Err(Malformed("lists that run backwards")) } else { Ok(first..last) }
}

/// True if a list that is not valid has items.
fn has_items(offsets: &[i64], valid: &BooleanBuffer) -> bool {
    let of_valid: i64 = valid
        .set_indices()
        .map(|index| match (offsets.get(index), offsets.get(index + 1)) {
            (Some(start), Some(end)) => end.wrapping_sub(*start),
            _ => 0,
        })
        .fold(0, i64::wrapping_add);
    let all = offsets.last().zip(offsets.first()).map_or(0, |(last, first)| last.wrapping_sub(*first));
    of_valid != all
}

/// The bits that are valid.
fn picked_bits(bits: &BooleanBuffer, valid: Option<&BooleanBuffer>) -> BooleanBuffer {
    match valid {
        None => bits.clone(),
        Some(valid) => valid.set_indices().map(|index| index < bits.len() && bits.value(index)).collect(),
    }
}

/// Each bit so many times.
fn repeated(bits: &BooleanBuffer, n_times: usize) -> BooleanBuffer {
    BooleanBuffer::collect_bool(bits.len() * n_times, |place| bits.value(place / n_times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_another_length_than_their_field_has_are_refused() {
        let node = Node::ListAsFixed { n_items: 2, item: Box::new(Node::Bits { column: ColumnId(0) }) };
        let lists = |offsets: Vec<i64>| {
            let n_items = usize::try_from(*offsets.last().unwrap()).unwrap();
            let items = Box::new(Stored::Bits(BooleanBuffer::new_set(n_items)));
            Stored::List { offsets: offsets.into(), items }
        };
        let add = |offsets: Vec<i64>, valid: Option<&BooleanBuffer>| {
            let mut elements = ClusterElements::new(1);
            let added = elements.add(&node, &lists(offsets), valid);
            added.map(|()| elements.columns[0].n_elements).map_err(|fault| fault.0)
        };
        let second = BooleanBuffer::collect_bool(2, |index| index == 1);
        assert_eq!(add(vec![0, 2, 4], None), Ok(4));
        assert_eq!(add(vec![0, 0, 2], Some(&second)), Ok(2));
        for offsets in [vec![0, 0, 2], vec![0, 0], vec![0, 2, 5]] {
            assert_eq!(add(offsets, None), Err("lists of another length than their field has"));
        }
        assert!(add(vec![0, 2, 4], Some(&second)).is_err());
    }
}
