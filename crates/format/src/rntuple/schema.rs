//! The schema: fields and columns, from the header and from the extensions in the footer.

use crate::MAX_PATH_BYTES;
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::streamer::{ObjectSlot, ObjectSlots, StreamerInfos};

use super::description::{ExtraInfo, FieldDescription};
use super::encoding::ColumnType;
use super::envelope::{Kind, open};
use super::reader::Reader;
use super::tables::{OfFields, Text, Texts};

/// Number of a field in the schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub u32);

/// Number of a physical column in the schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
#[derive(Debug, Clone, Copy)]
pub struct NtupleField<'s> {
    schema: &'s Schema,
    id: FieldId,
    record: &'s FieldRecord,
}

/// What the schema says of a field; texts and lists are among those of all fields.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FieldRecord {
    name: Text,
    type_name: Text,
    type_alias: Text,
    description: Text,
    field_version: u32,
    type_version: u32,
    type_checksum: Option<u32>,
    role: Role,
    other_flags: u16,
    parent: Option<FieldId>,
    array_size: Option<u64>,
    source: Option<FieldId>,
    /// Fields around it.
    depth: u8,
    /// Bytes of the names of the fields around it and its own, and of what is between them.
    path_bytes: u32,
}

impl<'s> NtupleField<'s> {
    /// Its number.
    pub fn id(self) -> FieldId {
        self.id
    }

    /// Name.
    pub fn name(self) -> &'s str {
        self.schema.texts.get(self.record.name)
    }

    /// C++ type, normalized; empty for untyped collections and records.
    pub fn type_name(self) -> &'s str {
        self.schema.texts.get(self.record.type_name)
    }

    /// The name under which the type was used, where that is another.
    pub fn type_alias(self) -> &'s str {
        self.schema.texts.get(self.record.type_alias)
    }

    /// Version of the C++ type.
    pub fn type_version(self) -> u32 {
        self.record.type_version
    }

    /// Checksum of the C++ type, if it is a class.
    pub fn type_checksum(self) -> Option<u32> {
        self.record.type_checksum
    }

    /// All that the schema says of it.
    pub fn describe(self) -> FieldDescription<'s> {
        FieldDescription {
            name: self.name(),
            type_name: self.type_name(),
            type_alias: self.type_alias(),
            description: self.description(),
            field_version: self.field_version(),
            type_version: self.type_version(),
            type_checksum: self.type_checksum(),
            role: self.role(),
            other_flags: self.record.other_flags,
            parent: self.parent(),
            array_size: self.array_size(),
            source: self.source(),
        }
    }

    /// Description.
    pub fn description(self) -> &'s str {
        self.schema.texts.get(self.record.description)
    }

    /// Version of the way in which fields of its kind are stored; 0 is the only one so far.
    pub fn field_version(self) -> u32 {
        self.record.field_version
    }

    /// What it is.
    pub fn role(self) -> Role {
        self.record.role
    }

    /// The field that it is part of; `None` at the top.
    pub fn parent(self) -> Option<FieldId> {
        self.record.parent
    }

    /// Values in each value of the field around, if it is a fixed array.
    pub fn array_size(self) -> Option<u64> {
        self.record.array_size
    }

    /// The field of which it shows the data, if it has none of its own.
    pub fn source(self) -> Option<FieldId> {
        self.record.source
    }

    /// Its parts.
    pub fn children(self) -> &'s [FieldId] {
        self.schema.children.of(self.id)
    }

    /// Its columns: one representation after the other.
    pub fn columns(self) -> &'s [ColumnId] {
        self.schema.columns_of_fields.of(self.id)
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct NtupleColumn {
    /// What an element is.
    pub column_type: ColumnType,
    /// The field.
    pub field: FieldId,
    /// Number of the representation.
    pub representation: u16,
    /// `None` if it is there from the first entry on.
    pub deferred: Option<Deferred>,
    /// Smallest and largest value.
    pub range: Option<(f64, f64)>,
    /// Flags that later versions of the format have brought.
    pub other_flags: u16,
}

impl NtupleColumn {
    /// A column of the only representation of a field, from the first entry on.
    pub fn new(column_type: ColumnType, field: FieldId) -> Self {
        NtupleColumn { column_type, field, representation: 0, deferred: None, range: None, other_flags: 0 }
    }
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
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Physical columns.
    pub columns: Vec<NtupleColumn>,
    /// Fields at the top.
    pub top_fields: Vec<FieldId>,
    /// A field comes after the one that it is part of.
    fields: Vec<FieldRecord>,
    texts: Texts,
    children: OfFields<FieldId>,
    columns_of_fields: OfFields<ColumnId>,
    /// Columns of other fields that projected fields show.
    aliases: Vec<(FieldId, ColumnId)>,
    /// Bytes of the paths of all fields.
    path_bytes: u32,
    /// Other information about types.
    extra_infos: Vec<ExtraInfo>,
    /// What of all this the header has; the rest is in the extension.
    pub(super) in_header: Counts,
    /// The extension has its four lists, be they empty.
    pub(super) has_extension: bool,
}

/// Numbers of what a schema description lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) fields: usize,
    pub(super) columns: usize,
    pub(super) aliases: usize,
    pub(super) extra_infos: usize,
}

/// Feature bits that are read. Bit 0, nested deferred columns, is declared in 1.0.2.1; ROOT 6.40 neither writes nor reads it.
const KNOWN_FEATURES: u64 = 0;
/// The fewest bytes of the frames of a field, a column and an alias column.
const FIELD_BYTES: usize = 40;
const COLUMN_BYTES: usize = 20;
const ALIAS_BYTES: usize = 16;
const EXTRA_BYTES: usize = 20;
/// Fields inside each other; C++ types of real data are some ten deep.
const MAX_DEPTH: u8 = 64;

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
        self.name = reader.name()?.to_owned();
        self.description = reader.remark()?.into_owned();
        self.writer = reader.remark()?.into_owned();
        self.extend(reader)?;
        self.in_header = self.counts();
        Ok(())
    }

    pub(super) fn add_features(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        self.features |= reader.feature_flags(KNOWN_FEATURES)?;
        Ok(())
    }

    /// Reads a schema description: four lists.
    pub(super) fn extend(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let (mut list, n_fields) = reader.list(FIELD_BYTES)?;
        self.fields.reserve(n_fields);
        self.texts.reserve(list.remaining() - n_fields * FIELD_BYTES);
        for number in 0..n_fields {
            self.field(&mut list.record()?).within(|| format!("field {number} of {n_fields}"))?;
        }
        let (mut list, n_columns) = reader.list(COLUMN_BYTES)?;
        self.columns.reserve(n_columns);
        for number in 0..n_columns {
            self.column(&mut list.record()?).within(|| format!("column {number} of {n_columns}"))?;
        }
        let (mut list, n_aliases) = reader.list(ALIAS_BYTES)?;
        for number in 0..n_aliases {
            self.alias(&mut list.record()?).within(|| format!("alias column {number} of {n_aliases}"))?;
        }
        let (mut list, n_infos) = reader.list(EXTRA_BYTES)?;
        for number in 0..n_infos {
            let info = ExtraInfo::read(&mut list.record()?);
            self.add_extra_info(info.within(|| format!("extra type information {number} of {n_infos}"))?);
        }
        self.index();
        Ok(())
    }

    /// Notes what belongs to each field: after fields or columns were added, and before somebody asks for those of a field.
    pub fn index(&mut self) {
        let numbered = || (0..).map(FieldId).zip(&self.fields);
        let parts = || numbered().filter_map(|(id, field)| Some((field.parent?, id)));
        self.children = OfFields::new(self.fields.len(), parts);
        let own = || (0..).map(ColumnId).zip(&self.columns).map(|(id, column)| (column.field, id));
        self.columns_of_fields = OfFields::new(self.fields.len(), || own().chain(self.aliases.iter().copied()));
    }

    /// Says the checksum of the C++ type of a field.
    pub(super) fn set_type_checksum(&mut self, id: FieldId, checksum: u32) {
        if let Some(field) = self.fields.get_mut(id.0 as usize) {
            field.type_checksum = Some(checksum);
        }
    }

    /// Says another C++ type of a field, of the same structure: as `ROOT::VecOps::RVec<T>` where lists are projected.
    ///
    /// `type_alias`: the name under which it is used; empty if that is its own.
    ///
    /// # Errors
    /// Unsupported if the texts of the schema take more than 4 GiB.
    pub fn set_type(&mut self, id: FieldId, type_name: &str, type_alias: &str) -> Result<()> {
        let (type_name, type_alias) = (self.texts.add(type_name)?, self.texts.add(type_alias)?);
        if let Some(field) = self.fields.get_mut(id.0 as usize) {
            (field.type_name, field.type_alias) = (type_name, type_alias);
        }
        Ok(())
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            fields: self.fields.len(),
            columns: self.columns.len(),
            aliases: self.aliases.len(),
            extra_infos: self.extra_infos.len(),
        }
    }

    /// Adds what is said of types besides. Streamer information holds all of what came before.
    pub fn add_extra_info(&mut self, info: ExtraInfo) {
        self.extra_infos.push(info);
    }

    /// Other information about types.
    pub fn extra_infos(&self) -> &[ExtraInfo] {
        &self.extra_infos
    }

    /// Columns of other fields that projected fields show.
    pub(super) fn aliases(&self) -> &[(FieldId, ColumnId)] {
        &self.aliases
    }

    /// What is said of the classes that streamers wrote; empty if nothing is.
    ///
    /// # Errors
    /// Corrupt if it is no list of streamer information.
    ///
    /// # Source
    /// `RNTupleSerializer::SerializeStreamerInfos` (ROOT 6.40): a `TList` as `TBuffer::WriteObject` writes it.
    pub fn streamer_infos(&self) -> Result<StreamerInfos> {
        let found = self.extra_infos.iter().rfind(|info| info.content == ExtraInfo::STREAMER_INFO);
        let Some(info) = found.filter(|info| !info.bytes.is_empty()) else {
            return Ok(StreamerInfos::default());
        };
        let mut cursor = Cursor::new(&info.bytes);
        let within = || "extra type information";
        match ObjectSlots::new(0).read(&mut cursor).within(within)? {
            ObjectSlot::Object { class: b"TList", .. } => {
                let start = cursor.position();
                StreamerInfos::parse(&info.bytes[start..], start).within(within)
            }
            _ => Err(Error::corrupt(0, "streamer information that is no list").within(within().to_owned())),
        }
    }

    fn field(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.offset();
        let id = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        FieldDescription::read(reader, FieldId(id), |description| {
            self.add_field(description).map(|_| ()).map_err(|error| error.inside(start))
        })
    }

    /// Adds a field, behind the one that it is part of.
    ///
    /// # Errors
    /// Corrupt if that one is not there; unsupported for more, deeper or longer than are read.
    pub fn add_field(&mut self, description: &FieldDescription<'_>) -> Result<FieldId> {
        let FieldDescription { name, parent, .. } = *description;
        let id = u32::try_from(self.fields.len()).map_err(|_| Error::unsupported(0, "more than 2^32 fields"))?;
        if let Some(parent) = parent.filter(|parent| parent.0 >= id) {
            let what = format!("field {id} ({name:?}) is part of field {}, which comes later", parent.0);
            return Err(Error::corrupt(0, what));
        }
        let (depth, around_bytes) = match parent.and_then(|parent| self.fields.get(parent.0 as usize)) {
            Some(around) => (around.depth + 1, around.path_bytes + 1),
            None => (0, 0),
        };
        if depth >= MAX_DEPTH {
            return Err(Error::unsupported(0, format!("fields more than {MAX_DEPTH} deep")));
        }
        let path_bytes = u32::try_from(name.len()).unwrap_or(u32::MAX).saturating_add(around_bytes);
        self.path_bytes = self.path_bytes.saturating_add(path_bytes);
        if self.path_bytes() > MAX_PATH_BYTES {
            let what = format!("fields whose paths take more than {} MiB", MAX_PATH_BYTES >> 20);
            return Err(Error::unsupported(0, what));
        }
        self.fields.push(FieldRecord {
            name: self.texts.add(name)?,
            type_name: self.texts.add(description.type_name)?,
            type_alias: self.texts.add(description.type_alias)?,
            description: self.texts.add(description.description)?,
            field_version: description.field_version,
            type_version: description.type_version,
            type_checksum: description.type_checksum,
            role: description.role,
            other_flags: description.other_flags,
            parent,
            array_size: description.array_size,
            source: description.source,
            depth,
            path_bytes,
        });
        if parent.is_none() {
            self.top_fields.push(FieldId(id));
        }
        Ok(FieldId(id))
    }

    fn column(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.offset();
        let column = NtupleColumn::read(reader)?;
        self.add_column(column).map(|_| ()).map_err(|error| error.inside(start))
    }

    /// Adds a column of a field that is there.
    ///
    /// # Errors
    /// Corrupt if it is not; unsupported for 2^32 columns.
    pub fn add_column(&mut self, column: NtupleColumn) -> Result<ColumnId> {
        let id = u32::try_from(self.columns.len()).map_err(|_| Error::unsupported(0, "2^32 columns"))?;
        let field = column.field.0;
        if field as usize >= self.fields.len() {
            return Err(Error::corrupt(0, format!("a column of field {field}, which is not there")));
        }
        self.columns.push(column);
        Ok(ColumnId(id))
    }

    fn alias(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.offset();
        let (physical, field) = (ColumnId(reader.u32()?), FieldId(reader.u32()?));
        self.add_alias(field, physical).map_err(|error| error.inside(start))
    }

    /// Adds a column of another field that a projected field shows.
    ///
    /// # Errors
    /// Corrupt if one of them is not there.
    pub fn add_alias(&mut self, field: FieldId, physical: ColumnId) -> Result<()> {
        let is_projected = self.fields.get(field.0 as usize).is_some_and(|field| field.source.is_some());
        if !is_projected || self.column_of(physical).is_none() {
            let what = format!("an alias of column {} for field {}, which is no projected field", physical.0, field.0);
            return Err(Error::corrupt(0, what));
        }
        self.aliases.push((field, physical));
        Ok(())
    }

    /// Bytes of the paths of all fields, from the top down.
    pub(super) fn path_bytes(&self) -> usize {
        self.path_bytes as usize
    }

    /// All fields, by their numbers.
    pub fn fields(&self) -> impl Iterator<Item = NtupleField<'_>> {
        (0..).map(FieldId).zip(&self.fields).map(|(id, record)| NtupleField { schema: self, id, record })
    }

    /// A field.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn at(&self, id: FieldId) -> NtupleField<'_> {
        NtupleField { schema: self, id, record: &self.fields[id.0 as usize] }
    }

    /// A field, if there is one of that number.
    pub fn field_of(&self, id: FieldId) -> Option<NtupleField<'_>> {
        let record = self.fields.get(id.0 as usize)?;
        Some(NtupleField { schema: self, id, record })
    }

    /// A column, if there is one of that number.
    pub fn column_of(&self, id: ColumnId) -> Option<&NtupleColumn> {
        self.columns.get(id.0 as usize)
    }
}
