//! Unions of others: ids of members, and where in them values are.

use std::ops::Range;

use arrow_buffer::Buffer;
use arrow_data::ArrayDataBuilder;
use arrow_schema::{UnionFields, UnionMode};

use super::{Foreign, Incoming, Result, fault};

impl Incoming {
    /// A union of a range of rows. Each id is that of a member, each offset within it, and none before another of its member.
    pub(super) fn union(
        &mut self,
        node: Foreign,
        rows: Range<usize>,
        fields: &UnionFields,
        mode: UnionMode,
        builder: ArrayDataBuilder,
    ) -> Result<ArrayDataBuilder> {
        let ids = node.copied::<i8>(0, rows.clone())?;
        if let Some(index) = ids.iter().position(|id| !fields.iter().any(|(of, _)| of == *id)) {
            return fault(index, format!("it is of member {}, which its union has not", ids[index]));
        }
        let mut builder = builder.add_buffer(ids.inner().clone());
        let mut offsets = match mode {
            UnionMode::Sparse => None,
            UnionMode::Dense => Some(node.copied::<i32>(1, rows.clone())?.to_vec()),
        };
        let mut children = node.children.into_iter();
        for (id, field) in fields.iter() {
            let Some(child) = children.next() else { return fault(0, "a member is missing") };
            let own = ids.iter().enumerate().filter(|(_, of)| **of == id).map(|(index, _)| index);
            let inside = match &mut offsets {
                // Members of a sparse union have values for all rows, counted from before its first.
                None => rows.clone(),
                Some(offsets) => moved(offsets, own.clone(), child.len)?,
            };
            let place = |value: usize| match &offsets {
                None => Some(value),
                Some(offsets) => {
                    let is_at = |index: &usize| usize::try_from(offsets[*index]) == Ok(value);
                    own.clone().find(is_at)
                }
            };
            let member = self.inside(field.name(), |own| own.own(child, field.data_type(), inside));
            let member = member.map_err(|fault| fault.at(|value| place(value).unwrap_or_default()));
            builder = builder.add_child_data(member.map_err(|fault| fault.of_member(field.name()))?);
        }
        Ok(match offsets {
            Some(offsets) => builder.add_buffer(Buffer::from_vec(offsets)),
            None => builder,
        })
    }
}

/// Makes the offsets of one member count from its first value that is asked for; returns which values are.
fn moved(offsets: &mut [i32], own: impl Iterator<Item = usize> + Clone, n_values: usize) -> Result<Range<usize>> {
    let mut before = 0;
    let mut inside: Option<Range<usize>> = None;
    for index in own.clone() {
        let Some(value) = usize::try_from(offsets[index]).ok().filter(|&value| value < n_values) else {
            return fault(index, format!("it is value {} of a member that has {n_values}", offsets[index]));
        };
        if value < before {
            return fault(index, format!("it is value {value} of a member, after value {before}"));
        }
        before = value;
        inside = Some(inside.map_or(value..value + 1, |range| range.start..value + 1));
    }
    let inside = inside.unwrap_or(0..0);
    let start = i32::try_from(inside.start).unwrap_or_default();
    own.for_each(|index| offsets[index] -= start);
    Ok(inside)
}
