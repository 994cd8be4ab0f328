//! Members that come up in items that clusters have already: they are zero there.
//!
//! The format has no deferred columns inside of collections: version 1.0.2.1 declares a feature flag for them, and nobody reads it.
//! Such columns have pages of zeros in the clusters before, which are stored once for each size. So have lists of one length that
//! are stored as any: deferred, they would be empty.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use arrowroot_arrow::stored::{default_bytes, defaults};
use arrowroot_format as format;
use format::codec::Compressor;
use format::column::DataType;
use format::container::Datime;
use format::rntuple::{ColumnType, FieldId, NtupleColumn, Page, Role, Schema};

use super::checks::check_of;
use super::elements::ClusterElements;
use super::fields::Node;
use super::late::invalid;
use super::metadata::Lists;
use super::pages::{cut, write_page};
use super::record::PagesRecord;
use crate::codec::Codec;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::file::FileWriter;

/// Default values are made for so many bytes of items at once, or for one item.
const FILLED_BYTES: u64 = 4 << 20;

/// Entries or items that clusters have already, and values that they get.
#[derive(Debug)]
pub(super) struct Behind {
    /// The column of the table that has them, by its number among the new ones.
    pub(super) of: usize,
    node: Node,
    /// The type whose default values they are.
    data_type: DataType,
    /// A column that has as many elements for each item, and how many.
    witness: (usize, u64),
}

/// The elements before the values of new columns that are in collections of known fields, or cannot be deferred. `n_known`: number
/// of known physical columns.
///
/// # Errors
/// [`Error::InvalidRequest`] for records without members, of which nothing says how many there are, and for default values that
/// a field does not hold.
pub(super) fn behind(
    new: &[(String, Node)],
    schema: &Schema,
    columns: &[Column],
    n_known: usize,
) -> Result<Vec<Behind>> {
    let mut found = Vec::new();
    let types = columns[columns.len() - new.len()..].iter().map(|column| &column.data_type);
    for (of, ((name, node), data_type)) in new.iter().zip(types).enumerate() {
        let (mut ends, mut inner, mut at) = (None, (node, data_type), (node, data_type));
        loop {
            at = match at {
                (
                    Node::Beside { ends: of_items, item },
                    DataType::List(data_type) | DataType::FixedList(data_type, _) | DataType::Optional(data_type),
                ) => {
                    inner = (item, data_type);
                    ends = Some(*of_items);
                    inner
                }
                (Node::Struct { members: nodes }, DataType::Struct(members))
                    if nodes.len() == 1 && members.len() == 1 =>
                {
                    (&nodes[0], &members[0].1)
                }
                _ => break,
            };
        }
        if ends.is_none() && !has_ends_by_default(node) {
            continue;
        }
        let (node, data_type) = (inner.0.clone(), with_lengths(inner.0, inner.1));
        if let Some(Err((_, what))) = check_of(&node).map(|check| check.look_at(&defaults(&data_type, 1))) {
            return Err(invalid(
                name,
                &format!("a column that comes up later is 0 in the entries before, which is {what}"),
            ));
        }
        let collection = ends.and_then(|ends| schema.column_of(ends)).map(|column| column.field);
        let of_items = |&column: &usize| match counted(schema, column) {
            Some((around, n_each)) if around == collection && n_each > 0 => Some((column, n_each)),
            _ => None,
        };
        let is_stored = |column: &usize| schema.columns[*column].deferred.is_none();
        let witness = (0..n_known).filter(is_stored).find_map(|column| of_items(&column));
        let witness = witness.ok_or_else(|| invalid(name, "its record has no members"))?;
        found.push(Behind { of, node, data_type, witness });
    }
    Ok(found)
}

/// True if a default value has items of lists whose ends are stored.
fn has_ends_by_default(node: &Node) -> bool {
    match node {
        Node::FixedAsList { .. } => true,
        Node::Fixed { item } | Node::ListAsFixed { item, .. } => has_ends_by_default(item),
        Node::Struct { members } => members.iter().any(has_ends_by_default),
        _ => false,
    }
}

/// A type whose default values have the lengths of lists that their fields say.
fn with_lengths(node: &Node, data_type: &DataType) -> DataType {
    let item_of = |node: &Node, item: &DataType| Box::new(with_lengths(node, item));
    match (node, data_type) {
        (Node::ListAsFixed { n_items, item }, DataType::List(of)) => {
            DataType::FixedList(item_of(item, of), u32::try_from(*n_items).unwrap_or(u32::MAX))
        }
        (Node::Fixed { item } | Node::FixedAsList { item, .. }, DataType::FixedList(of, n_items)) => {
            DataType::FixedList(item_of(item, of), *n_items)
        }
        (Node::Struct { members: nodes }, DataType::Struct(members)) if nodes.len() == members.len() => {
            let members = nodes.iter().zip(members.iter());
            DataType::Struct(members.map(|(node, (name, of))| (name.clone(), with_lengths(node, of))).collect())
        }
        _ => data_type.clone(),
    }
}

/// The collection of whose items a column has elements, and how many for each; `None` if others than these count them.
fn counted(schema: &Schema, column: usize) -> Option<(Option<FieldId>, u64)> {
    let id = schema.columns[column].field;
    if column > 0 && schema.columns[column - 1].field == id {
        return None;
    }
    let mut field = schema.at(id);
    let mut n_each = field.array_size().unwrap_or(1);
    while let Some(parent) = field.parent() {
        field = schema.at(parent);
        match field.role() {
            Role::Collection => return Some((Some(parent), n_each)),
            Role::Variant => return None,
            _ => n_each = n_each.checked_mul(field.array_size().unwrap_or(1).max(1))?,
        }
    }
    Some((None, n_each))
}

/// The clusters of an RNTuple that are written, in which pages are added.
pub(super) struct BackFill<'f> {
    pub(super) file: &'f FileWriter,
    pub(super) record: &'f mut PagesRecord,
    pub(super) datime: Datime,
    pub(super) seek_root: u64,
    /// Type and codec of all columns.
    pub(super) types: &'f [(ColumnType, Codec)],
    pub(super) page_bytes: usize,
    /// The pages that were written, by column and number of elements: all of them are zeros.
    pub(super) known: HashMap<(usize, usize), Page>,
}

impl BackFill<'_> {
    /// Gives clusters the pages of members that come up in their items: of zeros. Returns their bytes.
    ///
    /// Columns from `n_known` on are new. Deferred ones are listed without pages where others behind them have some.
    pub(super) fn fill(mut self, behind: &[Behind], schema: &Schema, n_known: usize, lists: &mut Lists) -> Result<u64> {
        let mut n_bytes = 0;
        let mut pages = vec![vec![Vec::new(); self.types.len() - n_known]; lists.n_clusters()];
        for Behind { of: _, node, data_type, witness: (witness, n_each) } in behind {
            let n_most = (FILLED_BYTES / default_bytes(data_type).max(1)).max(1);
            let mut known: HashMap<u64, Vec<(usize, Page)>> = HashMap::new();
            for (cluster, n_elements) in lists.n_elements_of(*witness).into_iter().enumerate() {
                let mut n_left = n_elements / n_each;
                while n_left > 0 {
                    let n_items = n_left.min(n_most);
                    n_left -= n_items;
                    let made = match known.entry(n_items) {
                        Entry::Occupied(made) => made.into_mut(),
                        Entry::Vacant(none) => {
                            let (made, n_more) = self.zeros(node, data_type, n_items)?;
                            n_bytes += n_more;
                            none.insert(made)
                        }
                    };
                    made.iter().for_each(|(column, page)| pages[cluster][column - n_known].push(*page));
                }
            }
        }
        self.file.with_appender(|appender| self.record.end(appender, self.datime, self.seek_root))?;
        let of_column = |column: &NtupleColumn| column.deferred.map(|deferred| deferred.first_element);
        let deferred: Vec<_> = schema.columns.iter().map(of_column).collect();
        let settings: Vec<_> = self.types.iter().map(|(_, codec)| codec.before_trial()).collect();
        lists.fill(n_known, pages, &deferred, &settings);
        Ok(n_bytes)
    }

    /// Writes pages of default values for so many items. Returns them with their columns, and their bytes.
    fn zeros(&mut self, node: &Node, data_type: &DataType, n_items: u64) -> Result<(Vec<(usize, Page)>, u64)> {
        let n_items = usize::try_from(n_items).unwrap_or(usize::MAX);
        let mut elements = ClusterElements::new(self.types.len());
        let added = elements.add(node, &defaults(data_type, n_items), None);
        added.map_err(|malformed| Error::InvalidRequest { what: malformed.0.to_owned() })?;
        let (mut compressor, mut scratch) = (Compressor::new(), Vec::new());
        let (mut made, mut n_bytes) = (Vec::new(), 0);
        for (column, (of_column, (column_type, codec))) in elements.columns.iter().zip(self.types).enumerate() {
            for page in cut(&[column].into(), *column_type, of_column.n_elements, self.page_bytes) {
                let alike = (column, page.elements.len());
                if let Some(known) = self.known.get(&alike) {
                    made.push((column, *known));
                    continue;
                }
                let (mut bytes, setting) = (Vec::new(), codec.before_trial());
                let page =
                    write_page(&page, *column_type, of_column, setting, &mut compressor, &mut scratch, &mut bytes)?;
                let offset = self.file.with_appender(|appender| {
                    self.record.append(&[&bytes], page.n_bytes, appender, self.datime, self.seek_root)
                })?;
                n_bytes += bytes.len() as u64;
                let (stored_bytes, n_elements) = (page.stored_bytes as u64, page.n_elements);
                let page = Page { offset, stored_bytes, n_elements, has_checksum: true, is_elsewhere: false };
                self.known.insert(alike, page);
                made.push((column, page));
            }
        }
        Ok((made, n_bytes))
    }
}
