//! Defaults: the baskets of a branch for entries of inputs that lack it.

use arrowroot::format::streamer::Primitive;
use arrowroot::format::tree::{BasketHead, Branch, BranchId, Leaf, LeafKind, TreeRecord, append_entry_offsets};

use super::copy::MadeBasket;

/// The most bytes of values, and of offsets, of a basket of defaults.
const MAX_BASKET_BYTES: usize = 256 << 10;
/// An empty vector: byte count, version, and the number of items. Source: `TStreamerInfo::WriteBuffer` (ROOT 6.40).
const EMPTY_VECTOR: [u8; 10] = [0x40, 0, 0, 6, 0, 10, 0, 0, 0, 0];
/// `fType` of branches that count the items of a split collection, and of those that hold their members.
const COUNTS: [i32; 2] = [3, 4];
const MEMBERS: [i32; 2] = [31, 41];

/// An entry of a branch in which nothing is: zeros, an empty text, an empty list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Default {
    /// It has no values of its own.
    Nothing,
    /// The same bytes in each entry, whose offsets are not stored.
    Fixed(Vec<u8>),
    /// The same bytes in each entry, whose offsets are stored.
    Offset(Vec<u8>),
}

impl Default {
    /// That of a branch, or why it has none.
    pub(crate) fn of(record: &TreeRecord, branch: &Branch) -> Result<Default, String> {
        let none = |what: &str| Err(format!("branch {:?} has no default: {what}", branch.name));
        let leaves: Vec<&Leaf> = branch.leaves.iter().map(|leaf| record.leaf(*leaf)).collect();
        let zeros = |leaves: &[&Leaf]| {
            let sizes = leaves.iter().map(|leaf| Some(stored_bytes(leaf)? * usize::try_from(leaf.n_items()).ok()?));
            sizes.sum::<Option<usize>>().map(|n_bytes| vec![0; n_bytes])
        };
        match (&branch.element, leaves.as_slice()) {
            (None, [leaf]) if leaf.kind == LeafKind::Text => Ok(Default::Offset(vec![0])),
            (None, [leaf]) if leaf.counter.is_some() => Ok(Default::Offset(Vec::new())),
            (None, [_, ..]) => match zeros(&leaves) {
                Some(zeros) if leaves.iter().all(|leaf| leaf.counter.is_none()) => Ok(Default::Fixed(zeros)),
                _ => none("it holds other things than numbers, or packed ones of a range"),
            },
            (Some(element), _) if COUNTS.contains(&element.node_type) => Ok(Default::Fixed(vec![0; 4])),
            (Some(element), _) if MEMBERS.contains(&element.node_type) => Ok(Default::Offset(Vec::new())),
            (Some(element), [_]) if element.id < 0 && element.class_name == "string" => Ok(Default::Offset(vec![0])),
            (Some(element), [_]) if element.id == -1 && is_vector_of_numbers(&element.class_name) => {
                Ok(Default::Offset(EMPTY_VECTOR.to_vec()))
            }
            (Some(_), _) if !branch.branches.is_empty() => Ok(Default::Nothing),
            (Some(element), [leaf]) if element.node_type == 0 && element.id >= 0 => match zeros(&[leaf]) {
                Some(zeros) => Ok(Default::Fixed(zeros)),
                None => none("its objects may be anything"),
            },
            _ if branch.leaves.is_empty() => Ok(Default::Nothing),
            _ => none("its objects may be anything"),
        }
    }

    /// Baskets of so many entries.
    pub(crate) fn baskets(
        &self,
        record: &TreeRecord,
        id: BranchId,
        n_entries: u64,
    ) -> arrowroot::format::Result<Vec<MadeBasket>> {
        let branch = record.branch(id);
        let (entry, has_offsets) = match self {
            Default::Nothing => return Ok(Vec::new()),
            Default::Fixed(entry) => (entry, false),
            Default::Offset(entry) => (entry, true),
        };
        let bytes_of_entry = entry.len() + if has_offsets { 4 } else { 0 };
        let most = (MAX_BASKET_BYTES / bytes_of_entry.max(1)).max(1) as u64;
        let mut baskets = Vec::new();
        let mut rest = n_entries;
        while rest > 0 {
            let n_in_basket = rest.min(most);
            rest -= n_in_basket;
            let head = BasketHead::new(&branch.name, &record.name)?;
            let n = usize::try_from(n_in_basket).unwrap_or(usize::MAX);
            let mut payload = entry.repeat(n);
            let size = |n_bytes: usize| u32::try_from(n_bytes).unwrap_or(u32::MAX);
            let data_bytes = size(payload.len());
            if has_offsets {
                let starts: Vec<u32> = (0..n).map(|i| head.key_bytes + size(i * entry.len())).collect();
                append_entry_offsets(&mut payload, &starts)?;
            }
            let head = BasketHead {
                buffer_bytes: branch.basket_bytes.max(i32::try_from(data_bytes).unwrap_or(i32::MAX)),
                data_bytes,
                n_entries: size(n),
                entry_bytes: if has_offsets { size(n) } else { size(entry.len()) },
                ..head
            };
            let (branch, tree, compression) = (branch.name.clone(), record.name.clone(), branch.compression);
            baskets.push(MadeBasket { head, branch, tree, compression, payload });
        }
        Ok(baskets)
    }
}

/// Bytes of a value of a leaf of numbers, in the file; `None` if zeros do not stand for the number 0.
fn stored_bytes(leaf: &Leaf) -> Option<usize> {
    let has_range = leaf.title.rsplit_once('[').is_some_and(|(_, inside)| inside.contains(','));
    Some(match &leaf.kind {
        LeafKind::Number(primitive) => match primitive {
            Primitive::Bool | Primitive::Int8 | Primitive::UInt8 => 1,
            Primitive::Int16 | Primitive::UInt16 => 2,
            Primitive::Int32 | Primitive::UInt32 | Primitive::Float32 => 4,
            Primitive::Int64 | Primitive::UInt64 | Primitive::Float64 => 8,
            Primitive::Float16 if !has_range => 3,
            Primitive::Double32 if !has_range => 4,
            _ => return None,
        },
        // Source: `TVirtualStreamerInfo::EReadWrite`.
        LeafKind::Element { type_code, .. } => match type_code {
            1 | 11 | 18 => 1,
            2 | 12 => 2,
            3 | 5 | 6 | 13 => 4,
            4 | 8 | 14 | 16 | 17 => 8,
            _ => return None,
        },
        _ => return None,
    })
}

fn is_vector_of_numbers(class: &str) -> bool {
    let item = class.strip_prefix("vector<").and_then(|rest| rest.strip_suffix('>'));
    item.is_some_and(|item| Primitive::from_type_name(item.trim()).is_some())
}
