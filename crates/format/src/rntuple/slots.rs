//! Slots: the columns of fields, whatever representation of them a cluster has.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::error::{Error, Result};

use super::schema::{ColumnId, FieldId, NtupleField, Role, Schema};

/// Number of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub u32);

/// One column of a field in all its representations: of these, each cluster has one.
#[derive(Debug, Clone)]
pub struct Slot {
    /// The field that has it.
    pub field: FieldId,
    /// Where its physical columns are among all of [`Slots::columns_of`].
    columns: Range<u32>,
    /// What an element of it belongs to.
    pub domain: usize,
    /// Elements for each item of the domain: the product of the fixed arrays around.
    pub factor: u64,
    /// The first of the domains whose items it counts.
    items: Option<u32>,
}

/// Items that are counted together: the entries, or the items of all lists of one collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Domain {
    /// The slot that says where items begin and end; `None` for the entries.
    pub by: Option<SlotId>,
    /// The alternative, if the slot is that of a variant.
    pub tag: Option<u32>,
    /// The domain of that slot; smaller than the number of this one.
    pub parent: usize,
}

/// All slots and domains of a schema.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    /// The slots.
    pub slots: Vec<Slot>,
    /// The domains; the first is that of the entries.
    pub domains: Vec<Domain>,
    /// The physical columns of all slots: one slot after the other, by representation.
    columns: Vec<ColumnId>,
    /// For each physical column its slot.
    by_column: Vec<Option<SlotId>>,
    /// For each domain a slot whose elements tell how many items it has.
    witnesses: Vec<Option<SlotId>>,
    /// The fields in whose field at the top there is something that a later version of the format has brought.
    pub(super) strange: HashSet<FieldId>,
}

impl Slots {
    /// The slots of a schema.
    ///
    /// # Errors
    /// Corrupt if the representations of a field have different numbers of columns.
    pub fn new(schema: &Schema) -> Result<Slots> {
        let mut slots = Slots {
            strange: strange_fields(schema),
            domains: vec![Domain { by: None, tag: None, parent: 0 }],
            by_column: vec![None; schema.columns.len()],
            ..Slots::default()
        };
        for &top in &schema.top_fields {
            slots.add_field(schema, top, 0, 1)?;
        }
        slots.witnesses = vec![None; slots.domains.len()];
        for (id, slot) in (0..).map(SlotId).zip(&slots.slots).filter(|(_, slot)| slot.factor > 0) {
            slots.witnesses[slot.domain].get_or_insert(id);
        }
        Ok(slots)
    }

    fn add_field(&mut self, schema: &Schema, id: FieldId, domain: usize, factor: u64) -> Result<()> {
        let Some(field) = schema.field_of(id) else { return Ok(()) };
        // Those of projected fields are columns of other fields.
        if field.source().is_some() {
            return Ok(());
        }
        let factor = factor.saturating_mul(field.array_size().unwrap_or(1));
        let mut own = self.add_slots(schema, field, domain, factor)?;
        let first = own.next();
        let below = |slots: &mut Slots, by: SlotId, tag| {
            let number = slots.domains.len();
            slots.domains.push(Domain { by: Some(by), tag, parent: domain });
            slots.slots[by.0 as usize].items.get_or_insert(narrow(number));
            number
        };
        match (field.role(), first.map(SlotId)) {
            (Role::Collection | Role::Streamer, Some(ends)) => {
                let items = below(self, ends, None);
                self.put_in(items, own);
                field.children().iter().try_for_each(|&child| self.add_field(schema, child, items, 1))
            }
            (Role::Leaf, Some(ends)) if !own.is_empty() => {
                let items = below(self, ends, None);
                self.put_in(items, own);
                Ok(())
            }
            (Role::Variant, Some(switch)) => (1..).zip(field.children()).try_for_each(|(tag, &child)| {
                let items = below(self, switch, Some(tag));
                self.add_field(schema, child, items, 1)
            }),
            _ => field.children().iter().try_for_each(|&child| self.add_field(schema, child, domain, factor)),
        }
    }

    /// Makes slots those of the items of lists.
    fn put_in(&mut self, items: usize, slots: Range<u32>) {
        for slot in &mut self.slots[slots.start as usize..slots.end as usize] {
            (slot.domain, slot.factor) = (items, 1);
        }
    }

    /// Returns the numbers of the field's own.
    fn add_slots(&mut self, schema: &Schema, field: NtupleField<'_>, domain: usize, factor: u64) -> Result<Range<u32>> {
        let number = |column: &ColumnId| schema.column_of(*column).map_or(0, |found| usize::from(found.representation));
        let mut columns = Cow::Borrowed(field.columns());
        if !columns.is_sorted_by_key(number) {
            columns.to_mut().sort_by_key(number);
        }
        let n_slots = columns.iter().take_while(|&column| number(column) == 0).count();
        for (index, representation) in columns.iter().map(number).enumerate() {
            if n_slots == 0 || representation > index / n_slots {
                let what = format!("field {:?} has a representation {representation} and not all before", field.name());
                return Err(Error::corrupt(0, what));
            }
            if representation < index / n_slots {
                return Err(uneven(field));
            }
        }
        if n_slots > 0 && !columns.len().is_multiple_of(n_slots) {
            return Err(uneven(field));
        }
        let first = narrow(self.slots.len());
        for (index, slot) in (0..n_slots).zip(first..) {
            let start = narrow(self.columns.len());
            for &column in columns.iter().skip(index).step_by(n_slots) {
                self.by_column[column.0 as usize] = Some(SlotId(slot));
                self.columns.push(column);
            }
            let columns = start..narrow(self.columns.len());
            self.slots.push(Slot { field: field.id(), columns, domain, factor, items: None });
        }
        Ok(first..narrow(self.slots.len()))
    }

    /// The physical columns of a slot, by representation.
    pub fn columns_of(&self, slot: &Slot) -> &[ColumnId] {
        &self.columns[slot.columns.start as usize..slot.columns.end as usize]
    }

    /// A slot whose elements tell how many items a domain has.
    pub fn witness_of(&self, domain: usize) -> Option<SlotId> {
        self.witnesses.get(domain).copied().flatten()
    }

    /// The number of the domain of the items that a slot counts, or of an alternative of a variant.
    pub fn domain_of(&self, by: SlotId, tag: Option<u32>) -> Option<usize> {
        let first = self.slot(by).items? as usize;
        let is_it = |domain: &Domain| domain.by == Some(by) && domain.tag == tag;
        Some(first + self.domains[first..].iter().position(is_it)?)
    }

    /// A slot.
    pub fn slot(&self, id: SlotId) -> &Slot {
        &self.slots[id.0 as usize]
    }

    /// The slots of a field, its own or those of the field that it shows.
    pub(super) fn of_field(&self, field: NtupleField<'_>) -> Vec<SlotId> {
        let mut found: Vec<SlotId> = Vec::new();
        for column in field.columns() {
            if let Some(slot) = self.by_column.get(column.0 as usize).copied().flatten()
                && !found.contains(&slot)
            {
                found.push(slot);
            }
        }
        found
    }
}

/// A number of columns, slots or domains: none is larger than that of the columns, fewer than 2^32, plus one.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn uneven(field: NtupleField<'_>) -> Error {
    let what = format!("representations of field {:?} have different numbers of columns", field.name());
    Error::corrupt(0, what)
}

/// All fields inside the fields at the top of which any part is of a later version.
///
/// Source: "Notes on Backward and Forward Compatibility" of the specification.
fn strange_fields(schema: &Schema) -> HashSet<FieldId> {
    let unknown =
        |column: &ColumnId| schema.column_of(*column).is_some_and(|column| column.column_type.encoding.is_none());
    let is_strange = |field: NtupleField<'_>| {
        matches!(field.role(), Role::Unknown(_)) || field.field_version() > 0 || field.columns().iter().any(unknown)
    };
    if !schema.fields().any(is_strange) {
        return HashSet::new();
    }
    let mut tops: Vec<FieldId> = Vec::new();
    for field in schema.fields() {
        // The field around comes first.
        tops.push(field.parent().map_or(field.id(), |parent| tops[parent.0 as usize]));
    }
    let top_of = |field: NtupleField<'_>| tops[field.id().0 as usize];
    let strange_tops: HashSet<FieldId> = schema.fields().filter(|field| is_strange(*field)).map(top_of).collect();
    schema.fields().filter(|field| strange_tops.contains(&top_of(*field))).map(NtupleField::id).collect()
}
