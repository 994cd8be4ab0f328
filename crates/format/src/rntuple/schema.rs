//! The schema: fields and columns, from the header and from the extensions in the footer.

use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::streamer::{ObjectSlot, ObjectSlots, StreamerInfos};

use super::encoding::ColumnType;
use super::envelope::{Kind, open};
use super::reader::Reader;

/// Number of a field in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub u32);

/// Number of a physical column in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

/// What a field is in the tree of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A value of its own, or a wrapper of one (enum, atomic, fixed array).
    Leaf,
    /// A list.
    Collection,
    /// Named members.
    Record,
    /// One of several alternatives.
    Variant,
    /// Bytes of ROOT's streamers.
    Streamer,
    /// A role of a later version.
    Unknown(u16),
}

/// A field.
#[derive(Debug, Clone)]
pub struct NtupleField {
    /// Name.
    pub name: String,
    /// C++ type, normalized; empty for untyped collections and records.
    pub type_name: String,
    /// The name under which the type was used, if that is another.
    pub type_alias: String,
    /// Description.
    pub description: String,
    /// Version of the way in which fields of its kind are stored; 0 is the only one so far.
    pub field_version: u32,
    /// Version of the C++ class.
    pub type_version: u32,
    /// What it is.
    pub role: Role,
    /// The field that it is part of; `None` at the top.
    pub parent: Option<FieldId>,
    /// Values in each value of the field around, if it is a fixed array.
    pub array_size: Option<u64>,
    /// The field of which it shows the data, if it has none of its own.
    pub source: Option<FieldId>,
    /// Whether it is a collection stored as a record of lists (`RFieldSoA`).
    pub is_soa: bool,
    /// Its parts.
    pub children: Vec<FieldId>,
    /// Its columns: one representation after the other.
    pub columns: Vec<ColumnId>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct NtupleColumn {
    /// What an element is.
    pub column_type: ColumnType,
    /// The field.
    pub field: FieldId,
    /// Number of the representation.
    pub representation: u16,
    /// `None` if it is there from the first entry on.
    pub deferred: Option<Deferred>,
}

/// A column that was added while the data were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferred {
    /// Its first element; the elements before are zero.
    pub first_element: u64,
    /// It is suppressed up to there: another representation has the elements.
    pub is_suppressed: bool,
}

/// All fields and columns of an RNTuple.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// Name of the RNTuple.
    pub name: String,
    /// Its description.
    pub description: String,
    /// What wrote it.
    pub writer: String,
    /// Checksum of the header.
    pub header_checksum: u64,
    /// Feature flags of header and footer.
    pub features: u64,
    /// Fields; a field comes after the one that it is part of.
    pub fields: Vec<NtupleField>,
    /// Physical columns.
    pub columns: Vec<NtupleColumn>,
    /// Fields at the top.
    pub top_fields: Vec<FieldId>,
    /// What is said of the classes that streamers wrote: an object with a list of streamer information, or nothing.
    streamer_info: Vec<u8>,
}

const REPETITIVE: u16 = 1;
const PROJECTED: u16 = 2;
const HAS_TYPE_CHECKSUM: u16 = 4;
const SOA: u16 = 8;
const DEFERRED: u16 = 1;
const HAS_RANGE: u16 = 2;
/// Feature bits that are read. Bit 0, nested deferred columns, is declared in 1.0.2.1; ROOT 6.40 neither writes nor reads it.
const KNOWN_FEATURES: u64 = 0;
/// The fewest bytes of the frames of a field, a column and an alias column.
const FIELD_BYTES: usize = 40;
const COLUMN_BYTES: usize = 20;
const ALIAS_BYTES: usize = 16;
const EXTRA_BYTES: usize = 20;
/// The kind of extra type information that is read.
const STREAMER_INFO: u32 = 0;
/// Fields inside each other; C++ types of real data are some ten deep.
const MAX_DEPTH: u32 = 64;

impl Schema {
    /// Reads the header envelope.
    ///
    /// # Errors
    /// Unsupported for unknown feature flags; corrupt if the checksum differs or the schema contradicts itself.
    pub fn parse(header: &[u8]) -> Result<Schema> {
        let (mut reader, header_checksum) = open(header, Kind::Header).within(|| "header")?;
        let mut schema = Schema { header_checksum, ..Schema::default() };
        schema.parse_header(&mut reader).within(|| "header")?;
        Ok(schema)
    }

    fn parse_header(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        self.features = reader.feature_flags(KNOWN_FEATURES)?;
        self.name = reader.name()?;
        self.description = reader.string()?;
        self.writer = reader.string()?;
        self.extend(reader)
    }

    pub(super) fn add_features(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        self.features |= reader.feature_flags(KNOWN_FEATURES)?;
        Ok(())
    }

    /// Reads a schema description: four lists.
    pub(super) fn extend(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let (mut list, n_fields) = reader.list(FIELD_BYTES)?;
        for number in 0..n_fields {
            self.field(&mut list.record()?).within(|| format!("field {number} of {n_fields}"))?;
        }
        let (mut list, n_columns) = reader.list(COLUMN_BYTES)?;
        for number in 0..n_columns {
            self.column(&mut list.record()?).within(|| format!("column {number} of {n_columns}"))?;
        }
        let (mut list, n_aliases) = reader.list(ALIAS_BYTES)?;
        for number in 0..n_aliases {
            self.alias(&mut list.record()?).within(|| format!("alias column {number} of {n_aliases}"))?;
        }
        let (mut list, n_infos) = reader.list(EXTRA_BYTES)?;
        for number in 0..n_infos {
            self.extra_info(&mut list.record()?).within(|| format!("extra type information {number} of {n_infos}"))?;
        }
        Ok(())
    }

    /// Takes streamer information; that of an extension holds all of what came before. Other kinds are passed over.
    fn extra_info(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let content = reader.u32()?;
        reader.u32()?; // version and name of the type: streamer information is of all types
        reader.bytes()?;
        if content == STREAMER_INFO {
            self.streamer_info = reader.bytes()?.to_vec();
        }
        Ok(())
    }

    /// What is said of the classes that streamers wrote; empty if nothing is.
    ///
    /// # Errors
    /// Corrupt if it is no list of streamer information.
    ///
    /// # Source
    /// `RNTupleSerializer::SerializeStreamerInfos` (ROOT 6.40): a `TList` as `TBuffer::WriteObject` writes it.
    pub fn streamer_infos(&self) -> Result<StreamerInfos> {
        if self.streamer_info.is_empty() {
            return Ok(StreamerInfos::default());
        }
        let mut cursor = Cursor::new(&self.streamer_info);
        let within = || "extra type information";
        match ObjectSlots::new(0).read(&mut cursor).within(within)? {
            ObjectSlot::Object { class: b"TList", .. } => {
                let start = cursor.position();
                StreamerInfos::parse(&self.streamer_info[start..], start).within(within)
            }
            _ => Err(Error::corrupt(0, "streamer information that is no list").within(within().to_owned())),
        }
    }

    fn field(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.offset();
        let id = u32::try_from(self.fields.len()).map_err(|_| Error::unsupported(start, "more than 2^32 fields"))?;
        let field_version = reader.u32()?;
        let type_version = reader.u32()?;
        let parent = reader.u32()?;
        let role = match reader.u16()? {
            0 => Role::Leaf,
            1 => Role::Collection,
            2 => Role::Record,
            3 => Role::Variant,
            4 => Role::Streamer,
            other => Role::Unknown(other),
        };
        let flags = reader.u16()?;
        let (name, type_name) = (reader.name()?, reader.string()?);
        let (type_alias, description) = (reader.string()?, reader.string()?);
        let array_size = if flags & REPETITIVE != 0 { Some(reader.u64()?) } else { None };
        let source = if flags & PROJECTED != 0 { Some(FieldId(reader.u32()?)) } else { None };
        if flags & HAS_TYPE_CHECKSUM != 0 {
            reader.u32()?;
        }
        if parent > id {
            return Err(Error::corrupt(
                start,
                format!("field {id} ({name:?}) is part of field {parent}, which comes later"),
            ));
        }
        let parent = (parent != id).then_some(FieldId(parent));
        match parent {
            Some(parent) => {
                if self.depth(parent) >= MAX_DEPTH {
                    return Err(Error::unsupported(start, format!("fields more than {MAX_DEPTH} deep")));
                }
                self.fields[parent.0 as usize].children.push(FieldId(id));
            }
            None => self.top_fields.push(FieldId(id)),
        }
        self.fields.push(NtupleField {
            name,
            type_name,
            type_alias,
            description,
            field_version,
            type_version,
            role,
            parent,
            array_size,
            source,
            is_soa: flags & SOA != 0,
            children: Vec::new(),
            columns: Vec::new(),
        });
        Ok(())
    }

    fn depth(&self, id: FieldId) -> u32 {
        std::iter::successors(Some(id), |&id| self.field_of(id)?.parent).map(|_| 1).sum()
    }

    fn column(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.offset();
        let id = ColumnId(u32::try_from(self.columns.len()).map_err(|_| Error::unsupported(start, "2^32 columns"))?);
        let (code, bits) = (reader.u16()?, reader.u16()?);
        let field = FieldId(reader.u32()?);
        let flags = reader.u16()?;
        let representation = reader.u16()?;
        let deferred = if flags & DEFERRED != 0 {
            let first = reader.i64()?;
            Some(Deferred { first_element: first.unsigned_abs(), is_suppressed: first < 0 })
        } else {
            None
        };
        let range = if flags & HAS_RANGE != 0 { Some((reader.f64()?, reader.f64()?)) } else { None };
        let column_type = ColumnType::new(code, bits, range);
        match self.fields.get_mut(field.0 as usize) {
            Some(owner) => owner.columns.push(id),
            None => return Err(Error::corrupt(start, format!("a column of field {}, which is not there", field.0))),
        }
        self.columns.push(NtupleColumn { column_type, field, representation, deferred });
        Ok(())
    }

    fn alias(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.offset();
        let (physical, field) = (ColumnId(reader.u32()?), reader.u32()?);
        let n_columns = self.columns.len();
        match self.fields.get_mut(field as usize) {
            Some(owner) if (physical.0 as usize) < n_columns && owner.source.is_some() => owner.columns.push(physical),
            _ => {
                let what = format!("an alias of column {} for field {field}, which is no projected field", physical.0);
                return Err(Error::corrupt(start, what));
            }
        }
        Ok(())
    }

    /// A field, if there is one of that number.
    pub fn field_of(&self, id: FieldId) -> Option<&NtupleField> {
        self.fields.get(id.0 as usize)
    }

    /// A column, if there is one of that number.
    pub fn column_of(&self, id: ColumnId) -> Option<&NtupleColumn> {
        self.columns.get(id.0 as usize)
    }
}
