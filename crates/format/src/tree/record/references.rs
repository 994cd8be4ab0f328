//! `fBranchRef`: which branches hold the objects that `TRef`s of the tree refer to.
//!
//! Source: `TBranchRef`, `TRefTable` (ROOT 6.40).

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::output::{Output, Reference};
use crate::streamer::object_base;
use crate::tree::branch::{Branch, read_base};
use crate::tree::ids::BranchId;
use crate::tree::objects::{Object, Slot, begin_array, read_array_head};
use crate::tree::reading::Reading;

/// The `TBranchRef` of a tree: a branch that is in no list, and whose baskets only ROOT's `TRef`s look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchReferences {
    /// Version of `TBranchRef`.
    pub version: u16,
    /// Its members as a branch.
    pub branch: Branch,
    /// `fRefTable`.
    pub table: Option<ReferenceTable>,
}

/// A `TRefTable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceTable {
    /// Its version.
    pub version: u16,
    /// `fBits` as a `TObject`.
    pub bits: u32,
    /// `fSize`, which means nothing.
    pub size: i32,
    /// `fParents`: the branches that its numbers stand for.
    pub parents: Option<Vec<Option<BranchId>>>,
    /// `fBits` of that array.
    pub parents_bits: u32,
    /// True if `fOwner` is the `TBranchRef`; else it is null.
    pub is_owned: bool,
    /// `fProcessGUIDs`: the processes whose objects are referred to.
    pub processes: Vec<String>,
}

/// Version of `TRefTable` from which on it has the identifiers of processes.
const HAS_PROCESSES: u16 = 3;

/// The result of reading a pointer to a `TBranchRef`.
pub(super) enum FoundReferences {
    Nothing,
    Here(Box<BranchReferences>),
    /// One with parts that are not kept.
    InPart,
}

/// Reads the pointer `fBranchRef`.
pub(super) fn read_references<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<FoundReferences> {
    let (position, end) = match reading.objects.slot(cursor)? {
        Slot::Null => return Ok(FoundReferences::Nothing),
        Slot::New { class: "TBranchRef", position, end: Some(end) } => (position, end),
        _ => return Ok(FoundReferences::InPart),
    };
    reading.objects.remember(position, Object::References);
    let version = cursor.version()?.version;
    let base = cursor.version()?;
    let branch = read_base(cursor, reading, base.version, base.end, None, 0)?.described(None);
    let table = match reading.objects.slot(cursor)? {
        Slot::Null => None,
        Slot::New { class: "TRefTable", end: Some(_), .. } => match read_table(cursor, reading)? {
            Some(table) => Some(table),
            None => return Ok(FoundReferences::InPart),
        },
        _ => return Ok(FoundReferences::InPart),
    };
    if cursor.position() != end || !branch.branches.is_empty() {
        return Ok(FoundReferences::InPart);
    }
    Ok(FoundReferences::Here(Box::new(BranchReferences { version, branch, table })))
}

/// Reads a table; `None` if it points to something else than branches.
fn read_table<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<Option<ReferenceTable>> {
    let frame = cursor.version()?;
    let version = frame.version;
    let mut table = ReferenceTable {
        version,
        bits: object_base(cursor)?,
        size: cursor.i32()?,
        parents: None,
        parents_bits: 0,
        is_owned: false,
        processes: Vec::new(),
    };
    match reading.objects.slot(cursor)? {
        Slot::Null => {}
        Slot::New { class: "TObjArray", .. } => {
            let head = read_array_head(cursor)?;
            let mut parents = Vec::with_capacity(head.n_objects);
            for _ in 0..head.n_objects {
                parents.push(match reading.objects.slot(cursor)? {
                    Slot::Null => None,
                    Slot::Seen(Some(Object::Branch(id))) => Some(id),
                    _ => return Ok(None),
                });
            }
            (table.parents, table.parents_bits) = (Some(parents), head.bits);
        }
        _ => return Ok(None),
    }
    match reading.objects.slot(cursor)? {
        Slot::Null => {}
        Slot::Seen(Some(Object::References)) => table.is_owned = true,
        _ => return Ok(None),
    }
    if version >= HAS_PROCESSES {
        let container = cursor.version()?;
        let n_processes = cursor.count(1)?;
        for _ in 0..n_processes {
            table.processes.push(cursor.string()?);
        }
        if container.end != Some(cursor.position()) {
            return Ok(None);
        }
    }
    Ok((frame.end == Some(cursor.position())).then_some(table))
}

impl ReferenceTable {
    /// Writes a pointer to it; `owner`: the reference to its `TBranchRef`.
    pub(super) fn write(
        &self,
        owner: Reference,
        reference: impl Fn(BranchId) -> Option<Reference>,
        output: &mut Output,
    ) -> Result<()> {
        let (pointer, _) = output.begin_object("TRefTable")?;
        let frame = output.begin(self.version);
        output.object_base(self.bits);
        output.i32(self.size);
        match &self.parents {
            None => output.null(),
            Some(parents) => {
                let (pointer, _) = output.begin_object("TObjArray")?;
                let array = begin_array(output, self.parents_bits, parents.len())?;
                for parent in parents {
                    match parent {
                        None => output.null(),
                        Some(id) => output.reference(reference(*id).ok_or_else(|| {
                            Error::unsupported(
                                output.position(),
                                format!("references to branch {}, where none is", id.0),
                            )
                        })?),
                    }
                }
                output.end(array)?;
                output.end(pointer)?;
            }
        }
        if self.is_owned {
            output.reference(owner)
        } else {
            output.null()
        }
        if self.version >= HAS_PROCESSES {
            let container = output.begin(crate::encode::CONTAINER_VERSION);
            output.count(self.processes.len())?;
            for process in &self.processes {
                output.string(process.as_bytes())?;
            }
            output.end(container)?;
        }
        output.end(frame)?;
        output.end(pointer)
    }
}
