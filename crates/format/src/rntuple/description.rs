//! What a schema description says of fields, columns and types, both ways.

use crate::error::{Error, Result};

use super::encoding::ColumnType;
use super::envelope::Kind;
use super::reader::Reader;
use super::schema::{ColumnId, Counts, Deferred, FieldId, NtupleColumn, Role, Schema};
use super::writer::Writer;

/// Flags of fields.
const REPETITIVE: u16 = 1;
const PROJECTED: u16 = 2;
const HAS_TYPE_CHECKSUM: u16 = 4;
const FIELD_FLAGS: u16 = REPETITIVE | PROJECTED | HAS_TYPE_CHECKSUM;
/// Flags of columns.
const DEFERRED: u16 = 1;
const HAS_RANGE: u16 = 2;
const COLUMN_FLAGS: u16 = DEFERRED | HAS_RANGE;

/// The structural roles by their codes.
const ROLES: [Role; 5] = [Role::Leaf, Role::Collection, Role::Record, Role::Variant, Role::Streamer];

impl Role {
    pub(super) fn of_code(code: u16) -> Self {
        ROLES.get(usize::from(code)).copied().unwrap_or(Role::Unknown(code))
    }

    fn code(self) -> u16 {
        match self {
            Role::Unknown(code) => code,
            known => (0..).zip(ROLES).find_map(|(code, role)| (role == known).then_some(code)).unwrap_or(u16::MAX),
        }
    }
}

/// All that a schema says of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldDescription<'t> {
    /// Name.
    pub name: &'t str,
    /// C++ type, normalized; empty for untyped collections and records.
    pub type_name: &'t str,
    /// The name under which the type was used, where that is another.
    pub type_alias: &'t str,
    /// Description.
    pub description: &'t str,
    /// Version of the way in which fields of its kind are stored; 0 is the only one so far.
    pub field_version: u32,
    /// Version of the C++ type.
    pub type_version: u32,
    /// Checksum of the C++ type.
    pub type_checksum: Option<u32>,
    /// Its kind.
    pub role: Role,
    /// Flags that later versions of the format have brought. 8: the members of the items of a collection lie apart (1.0.2.0).
    pub other_flags: u16,
    /// The field that it is part of; `None` at the top.
    pub parent: Option<FieldId>,
    /// Values in each value of the field around, if it is a fixed array.
    pub array_size: Option<u64>,
    /// The field of which it shows the data, if it has none of its own.
    pub source: Option<FieldId>,
}

impl<'t> FieldDescription<'t> {
    /// A field of a C++ type, of the first version of all.
    pub fn new(name: &'t str, type_name: &'t str, role: Role, parent: Option<FieldId>) -> Self {
        FieldDescription {
            name,
            type_name,
            type_alias: "",
            description: "",
            field_version: 0,
            type_version: 0,
            type_checksum: None,
            role,
            other_flags: 0,
            parent,
            array_size: None,
            source: None,
        }
    }

    /// Reads that of a field for `add`, which alone sees what is replaced in its texts.
    ///
    /// `id`: number of the field; one that is its own parent is at the top.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        id: FieldId,
        add: impl FnOnce(&FieldDescription<'_>) -> Result<()>,
    ) -> Result<()> {
        let (field_version, type_version) = (reader.u32()?, reader.u32()?);
        let parent = FieldId(reader.u32()?);
        let (role, flags) = (Role::of_code(reader.u16()?), reader.u16()?);
        let (name, type_name) = (reader.name()?, reader.text()?);
        let (type_alias, description) = (reader.remark()?, reader.remark()?);
        let array_size = if flags & REPETITIVE != 0 { Some(reader.u64()?) } else { None };
        let source = if flags & PROJECTED != 0 { Some(FieldId(reader.u32()?)) } else { None };
        let type_checksum = if flags & HAS_TYPE_CHECKSUM != 0 { Some(reader.u32()?) } else { None };
        let parent = (parent != id).then_some(parent);
        let other_flags = flags & !FIELD_FLAGS;
        add(&FieldDescription {
            name,
            type_name,
            type_alias: &type_alias,
            description: &description,
            field_version,
            type_version,
            type_checksum,
            role,
            other_flags,
            parent,
            array_size,
            source,
        })
    }

    /// Source: `RNTupleSerializer::SerializeField` (ROOT 6.40).
    fn write(&self, writer: &mut Writer, id: FieldId) -> Result<()> {
        let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
        writer.u32(self.field_version);
        writer.u32(self.type_version);
        writer.u32(self.parent.unwrap_or(id).0);
        writer.u16(self.role.code());
        writer.u16(
            self.other_flags & !FIELD_FLAGS
                | flag(self.array_size.is_some(), REPETITIVE)
                | flag(self.source.is_some(), PROJECTED)
                | flag(self.type_checksum.is_some(), HAS_TYPE_CHECKSUM),
        );
        for text in [self.name, self.type_name, self.type_alias, self.description] {
            writer.counted(text.as_bytes())?;
        }
        self.array_size.into_iter().for_each(|size| writer.u64(size));
        self.source.into_iter().for_each(|source| writer.u32(source.0));
        self.type_checksum.into_iter().for_each(|checksum| writer.u32(checksum));
        Ok(())
    }
}

impl NtupleColumn {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (code, bits) = (reader.u16()?, reader.u16()?);
        let field = FieldId(reader.u32()?);
        let (flags, representation) = (reader.u16()?, reader.u16()?);
        let deferred = if flags & DEFERRED != 0 {
            let first = reader.i64()?;
            Some(Deferred { first_element: first.unsigned_abs(), is_suppressed: first < 0 })
        } else {
            None
        };
        let range = if flags & HAS_RANGE != 0 { Some((reader.f64()?, reader.f64()?)) } else { None };
        let column_type = ColumnType::new(code, bits, range);
        Ok(NtupleColumn { column_type, field, representation, deferred, range, other_flags: flags & !COLUMN_FLAGS })
    }

    /// Source: `RNTupleSerializer::SerializePhysicalColumn` (ROOT 6.40).
    fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.u16(self.column_type.code);
        writer.u16(self.column_type.bits);
        writer.u32(self.field.0);
        let deferred = if self.deferred.is_some() { DEFERRED } else { 0 };
        let range = if self.range.is_some() { HAS_RANGE } else { 0 };
        writer.u16(self.other_flags & !COLUMN_FLAGS | deferred | range);
        writer.u16(self.representation);
        if let Some(Deferred { first_element, is_suppressed }) = self.deferred {
            match (is_suppressed, i64::try_from(first_element)) {
                (true, _) if first_element > 0 && first_element <= 1 << 63 => writer.u64(first_element.wrapping_neg()),
                (false, Ok(first)) => writer.i64(first),
                _ => return Err(Error::unsupported(0, format!("a column deferred to element {first_element}"))),
            }
        }
        if let Some((min, max)) = self.range {
            writer.f64(min);
            writer.f64(max);
        }
        Ok(())
    }
}

/// Other information of a schema about types.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraInfo {
    /// What it is: see [`ExtraInfo::STREAMER_INFO`].
    pub content: u32,
    /// Version of the type that it is of; 0 if it is of all.
    pub type_version: u32,
    /// Name of the type that it is of; empty if it is of all.
    pub type_name: Vec<u8>,
    /// The information.
    pub bytes: Vec<u8>,
}

impl ExtraInfo {
    /// The content of which it is known what it is: the list of streamer information of the classes that streamers wrote.
    pub const STREAMER_INFO: u32 = 0;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(ExtraInfo {
            content: reader.u32()?,
            type_version: reader.u32()?,
            type_name: reader.bytes()?.to_vec(),
            bytes: reader.bytes()?.to_vec(),
        })
    }

    /// Source: `RNTupleSerializer::SerializeExtraTypeInfo` (ROOT 6.40).
    fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.u32(self.content);
        writer.u32(self.type_version);
        writer.counted(&self.type_name)?;
        writer.counted(&self.bytes)
    }
}

impl Schema {
    /// A schema without fields. `writer`: what writes it.
    pub fn new(name: &str, description: &str, writer: &str) -> Self {
        let mut schema = Schema::default();
        schema.name.push_str(name);
        schema.description.push_str(description);
        schema.writer.push_str(writer);
        schema.has_extension = true;
        schema
    }

    /// The fields and columns so far are those of the header: what is added from now on goes to the extension in the footer.
    /// Returns the header envelope, whose checksum footer and page lists repeat.
    ///
    /// # Errors
    /// Unsupported for what the format has no room for.
    pub fn begin(&mut self) -> Result<Vec<u8>> {
        self.index();
        self.in_header = self.counts();
        let (envelope, checksum) = self.header()?;
        self.header_checksum = checksum;
        Ok(envelope)
    }

    /// Writes the header envelope.
    ///
    /// # Errors
    /// Unsupported for what the format has no room for.
    ///
    /// # Source
    /// `RNTupleSerializer::SerializeHeader` (ROOT 6.40).
    pub fn write(&self) -> Result<Vec<u8>> {
        self.header().map(|(envelope, _)| envelope)
    }

    fn header(&self) -> Result<(Vec<u8>, u64)> {
        let mut writer = Writer::new();
        writer.u64(self.features);
        for text in [&self.name, &self.description, &self.writer] {
            writer.counted(text.as_bytes())?;
        }
        self.write_lists(&mut writer, Counts::default(), self.in_header)?;
        writer.envelope(Kind::Header)
    }

    /// Writes what was added after the header: four lists, which ROOT writes if nothing was, too, and uproot expects.
    pub(super) fn write_extension(&self, writer: &mut Writer) -> Result<()> {
        let counts = self.counts();
        if !self.has_extension && counts == self.in_header {
            return Ok(());
        }
        self.write_lists(writer, self.in_header, counts)
    }

    /// Source: `RNTupleSerializer::SerializeSchemaDescription` (ROOT 6.40).
    fn write_lists(&self, writer: &mut Writer, from: Counts, to: Counts) -> Result<()> {
        let list = writer.begin_list(to.fields - from.fields)?;
        for field in self.fields().take(to.fields).skip(from.fields) {
            let record = writer.begin_record();
            field.describe().write(writer, field.id())?;
            writer.end(record);
        }
        writer.end(list);
        let list = writer.begin_list(to.columns - from.columns)?;
        for column in &self.columns[from.columns..to.columns] {
            let record = writer.begin_record();
            column.write(writer)?;
            writer.end(record);
        }
        writer.end(list);
        let list = writer.begin_list(to.aliases - from.aliases)?;
        for (FieldId(field), ColumnId(physical)) in &self.aliases()[from.aliases..to.aliases] {
            let record = writer.begin_record();
            writer.u32(*physical);
            writer.u32(*field);
            writer.end(record);
        }
        writer.end(list);
        let list = writer.begin_list(to.extra_infos - from.extra_infos)?;
        for info in &self.extra_infos()[from.extra_infos..to.extra_infos] {
            let record = writer.begin_record();
            info.write(writer)?;
            writer.end(record);
        }
        writer.end(list);
        Ok(())
    }
}
