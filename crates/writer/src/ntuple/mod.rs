//! RNTuples: columns become fields, clusters become pages.
//!
//! The records of an RNTuple are, in their order: its header; the pages of each cluster in one record (several if they are
//! longer than a record may be); attribute sets; page lists; footer; and the anchor, which its key in the directory names.
//!
//! Source: `RPageSinkFile`, `RNTupleFileWriter` (ROOT 6.40).

use std::collections::HashMap;
use std::sync::Arc;

use arrowroot_arrow::stored::stored_name;
use arrowroot_format as format;
use format::codec::{CompressionSetting, Compressor};
use format::column::DataType;
use format::container::Datime;
use format::rntuple::{Anchor, Blob, ColumnType, NtupleField, Role, Schema};

use crate::appender::Appender;
use crate::buffers;
use crate::check::Check;
use crate::cluster::Cluster;
use crate::codec::{Codec, SAMPLE_BYTES};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::file::{DirectoryId, FileWriter, ROOT_DIRECTORY};
use crate::packed::{PackedCluster, PackedPage, PackedPieces, StoredAs, of_other_format};
use crate::settings::{self, ColumnCodec, ColumnLayout, Precision, ProjectedField};
use crate::table_format::{EncodeTask, Encoded, Extension, TableFormat};

mod attributes;
mod back_fill;
mod checks;
mod copied;
mod distinct;
mod elements;
mod fields;
mod late;
mod metadata;
mod nullable;
mod pages;
mod projected_types;
mod projections;
mod record;
mod typed;

pub use attributes::AttributeSets;
pub(crate) use attributes::attribute_schema;
use back_fill::BackFill;
use checks::check_of;
pub use copied::CopiedNtuple;
use distinct::Distinct;
use elements::ClusterElements;
use fields::Node;
pub use metadata::{GROUP_BYTES, listed_bytes};
use metadata::{Lists, write_blob};
pub use nullable::nullable_as_typed;
pub use pages::WrittenPage;
use pages::{PageCut, cut, encode_page, write_page};
use record::PagesRecord;

/// The longest page that is written.
pub const MAX_PAGE_BYTES: usize = 512 << 20;
/// Bytes of pages from which on a task is worth a thread's while.
const TASK_BYTES: usize = 64 << 10;
/// The name of the writer that the RNTuple records.
const WRITER: &str = concat!("arrowroot ", env!("CARGO_PKG_VERSION"));

/// A column of a table that is written as a field of an RNTuple.
#[derive(Debug, Clone)]
pub struct NtupleColumn {
    /// Its name in Arrow.
    pub name: String,
    /// Description of its field.
    pub title: String,
    /// Its stored type.
    pub data_type: DataType,
    /// Its layout.
    pub layout: ColumnLayout,
    /// How its pages are compressed.
    pub compression: ColumnCodec,
}

impl From<Column> for NtupleColumn {
    fn from(column: Column) -> Self {
        let Column { name, title, data_type, counter: _, layout, compression } = column;
        NtupleColumn { name, title, data_type, layout, compression }
    }
}

/// The settings of an RNTuple.
#[derive(Debug, Clone)]
pub struct NtupleSettings {
    /// The directory that lists it.
    pub directory: DirectoryId,
    /// Its name.
    pub name: String,
    /// Its description.
    pub title: String,
    /// How header, footer and page lists are compressed.
    pub compression: CompressionSetting,
    /// Longest page in bytes, uncompressed; ROOT's default is 1 MiB.
    pub page_bytes: usize,
    /// Its projected fields.
    pub projections: Vec<ProjectedField>,
    /// The Arrow schema, as `ARROW:schema` has it, if reading would give another one without: in the attribute set `ARROW`.
    pub arrow_schema: Option<String>,
    /// Its attribute sets. They end before it does.
    pub attributes: AttributeSets,
    /// The sets of the RNTuple that it says something of, if it is an attribute set: then no directory lists it.
    pub set_of: Option<AttributeSets>,
}

/// An RNTuple being written.
#[derive(Debug)]
pub struct NtupleFormat {
    settings: NtupleSettings,
    datime: Datime,
    /// Offset of the root directory, which the keys of records name that are in no directory.
    seek_root: u64,
    columns: Arc<Columns>,
    schema: Schema,
    header: Blob,
    lists: Lists,
    /// The cluster that is being placed.
    distinct: Distinct,
    record: PagesRecord,
}

/// The facts about columns that tasks need.
#[derive(Debug, Clone, Default)]
struct Columns {
    /// Name and fields of each column of the table.
    tables: Vec<(String, Node)>,
    /// Type and codec of the columns of the RNTuple.
    types: Vec<(ColumnType, Codec)>,
    /// The column of the table that each of them is of.
    owners: Vec<usize>,
}

impl Columns {
    /// Adds a column of the table, with its fields and columns in the schema.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for one that no RNTuple holds.
    fn add(&mut self, schema: &mut Schema, column: &NtupleColumn) -> Result<()> {
        let invalid = |error: format::Error| Error::InvalidRequest {
            what: format!("column {:?}: {}", column.name, error.fault().what),
        };
        let NtupleColumn { name, title, data_type, layout, compression } = column;
        let is_compressed = match compression {
            ColumnCodec::Set(setting) => setting.algorithm().map_err(invalid)?.is_some(),
            ColumnCodec::Tried => true,
        };
        check_layout(name, layout)?;
        let node = fields::add_column(schema, name, title, data_type, layout, is_compressed);
        let owner = self.tables.len();
        self.tables.push((name.clone(), node.map_err(invalid)?));
        let new = &schema.columns[self.types.len()..];
        self.types.extend(new.iter().map(|found| (found.column_type, Codec::new(*compression))));
        self.owners.resize(self.types.len(), owner);
        Ok(())
    }

    /// An error of a column of the RNTuple, with the name of the table's.
    fn named(&self, column: usize, error: &format::Error) -> Error {
        let name = self.owners.get(column).and_then(|owner| self.tables.get(*owner)).map_or("", |(name, _)| name);
        Error::InvalidRequest { what: format!("column {name}: {}", error.fault().what) }
    }
}

impl NtupleFormat {
    /// Begins an RNTuple: writes its header.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for a column that no RNTuple holds, a compression setting that is not written, a size of
    /// pages that none can have, or a name that ROOT does not take; what the file says.
    pub fn new(file: &FileWriter, columns: &[NtupleColumn], settings: NtupleSettings) -> Result<NtupleFormat> {
        let page_bytes = settings.page_bytes;
        if !(1..=MAX_PAGE_BYTES).contains(&page_bytes) {
            let what = format!("pages of {page_bytes} bytes: they may have 1 to {MAX_PAGE_BYTES}");
            return Err(Error::InvalidRequest { what });
        }
        if let Some(what) = name_fault(&settings.name) {
            return Err(Error::InvalidRequest { what: format!("RNTuple {what}") });
        }
        let mut schema = Schema::new(&settings.name, &settings.title, WRITER);
        let mut all = Columns::default();
        for column in columns {
            all.add(&mut schema, column)?;
        }
        describe_classes(file, &mut schema)?;
        projections::add(&mut schema, columns, &settings.projections)?;
        let envelope = schema.begin()?;
        let seek_root = file.seek_of(ROOT_DIRECTORY);
        let header = write_blob(file, seek_root, settings.compression, &envelope)?;
        let (datime, lists) = (file.datime(), Lists::new(schema.columns.len()));
        let columns = Arc::new(all);
        let (distinct, record) = (Distinct::default(), PagesRecord::default());
        Ok(NtupleFormat { settings, datime, seek_root, columns, schema, header, lists, distinct, record })
    }

    /// That no projected field has the name of a column that comes up later.
    fn check_name(&self, column: &str) -> Result<()> {
        let name = stored_name(column);
        let is_it =
            |field: NtupleField<'_>| field.parent().is_none() && field.source().is_some() && field.name() == name;
        if !self.schema.fields().any(is_it) {
            return Ok(());
        }
        let shown = self.settings.projections.iter().find(|one| one.name == column).map_or("", |one| &one.source);
        let what = format!("column {column:?}: the projected field of {shown:?} has that name (projections)");
        Err(Error::InvalidRequest { what })
    }

    /// Writes attribute sets, page lists and footer, and returns the anchor.
    fn write_metadata(&mut self, file: &FileWriter) -> Result<Anchor> {
        let NtupleSettings { compression, arrow_schema, attributes, .. } = &self.settings;
        let mut sets = attributes.written()?;
        if let Some(schema) = arrow_schema {
            let record = [(attributes::ARROW_SCHEMA, schema.as_str())];
            sets.push(attributes::write_arrow(file, &record, self.lists.n_entries(), *compression)?);
        }
        self.lists.write(file, self.seek_root, *compression, &self.schema, self.header, sets)
    }

    /// The elements of a cluster.
    fn elements(&self, cluster: &Cluster) -> Result<ClusterElements> {
        let mut elements = ClusterElements::new(self.columns.types.len());
        for ((name, node), parts) in self.columns.tables.iter().zip(&cluster.columns) {
            let added = parts.iter().try_for_each(|values| elements.add(node, values, None));
            added.and_then(|()| elements.check_beside()).map_err(|malformed| Error::Value {
                column: name.clone(),
                entry: cluster.first_entry,
                what: malformed.0.to_owned(),
            })?;
        }
        Ok(elements)
    }

    /// Finds the codecs that are found by trial, from the first elements of their columns.
    fn find_codecs(&self, elements: &ClusterElements) -> Result<()> {
        let (mut compressor, mut page) = (Compressor::new(), Vec::new());
        for (column, (elements, (column_type, codec))) in elements.columns.iter().zip(&self.columns.types).enumerate() {
            let first = if codec.is_open() {
                cut(&[column].into(), *column_type, elements.n_elements, SAMPLE_BYTES)
            } else {
                Vec::new()
            };
            if let Some(first) = first.first() {
                page.resize(first.n_bytes, 0);
                encode_page(first, *column_type, elements, &mut page)
                    .map_err(|error| self.columns.named(column, &error))?;
                codec.find(&page, &mut compressor)?;
            }
        }
        Ok(())
    }

    /// The columns in their order, each with those behind it that have the same elements and become the same pages: ends of
    /// lists that are in the same memory. [`Distinct`] finds others, once they are compressed.
    fn equal_columns(&self, elements: &ClusterElements) -> Vec<Arc<[usize]>> {
        let mut found: Vec<Vec<usize>> = Vec::with_capacity(elements.columns.len());
        let mut firsts = HashMap::new();
        for (column, (elements, (column_type, codec))) in elements.columns.iter().zip(&self.columns.types).enumerate() {
            let next = found.len();
            let first = elements
                .ends_in_memory()
                .map_or(next, |ends| *firsts.entry((ends, column_type.code, codec.setting().0)).or_insert(next));
            match found.get_mut(first) {
                Some(columns) => columns.push(column),
                None => found.push(vec![column]),
            }
        }
        found.into_iter().map(Arc::from).collect()
    }
}

/// Why ROOT opens no RNTuple, and no attribute set, of a name; `None` if it does.
///
/// Source: `EnsureValidNameForRNTuple` (ROOT 6.40).
pub fn name_fault(name: &str) -> Option<String> {
    let is_refused = |character: char| character.is_ascii_control() || " ./\\".contains(character);
    let character = name.chars().find(|&character| is_refused(character))?;
    let other = name.replace(is_refused, "_");
    Some(format!("{name:?}: ROOT opens none with {character:?} in its name: {other:?} it takes"))
}

/// Has the file describe the classes of fields, as ROOT does it, and gives these the checksums of their descriptions.
///
/// Source: `RPageSinkFile::UpdateSchema` (ROOT 6.40).
fn describe_classes(file: &FileWriter, schema: &mut Schema) -> Result<()> {
    schema.describe_classes().into_iter().try_for_each(|info| file.add_class(info))
}

/// That the fields of a column may be of these types, which are as those of [`ColumnLayout::types`].
///
/// # Errors
/// [`Error::InvalidRequest`] for types that values of its kind never have, [`Error::Store`] for values that no field holds.
pub fn check_types(field: &arrow_schema::Field, types: Vec<(String, String)>) -> Result<()> {
    let layout = ColumnLayout { types, ..ColumnLayout::default() };
    let data_type = arrowroot_arrow::stored::data_type(field)?;
    let added = fields::add_column(&mut Schema::new("", "", ""), field.name(), "", &data_type, &layout, true);
    let invalid = |error: format::Error| Error::InvalidRequest { what: error.fault().what.clone() };
    added.map(|_| ()).map_err(invalid)
}

/// That a layout has nothing that only trees have.
fn check_layout(name: &str, layout: &ColumnLayout) -> Result<()> {
    let ColumnLayout { split, is_member_wise, lists, class, precision, encoding: _, types: _, record: _ } = layout;
    let of_tree = match precision {
        Precision::Double32(_) | Precision::Float16(_) => Some("Double32_t and Float16_t"),
        _ if split.is_some() || *is_member_wise || class.is_some() => Some("split levels and classes"),
        _ if *lists != settings::Lists::Counted => Some("lists of numbers as vectors or arrays"),
        _ => None,
    };
    of_tree.map_or(Ok(()), |what| {
        Err(Error::InvalidRequest { what: format!("column {name}: {what}: a tree has them, and an RNTuple not") })
    })
}

impl TableFormat for NtupleFormat {
    type Pieces = Vec<WrittenPage>;

    fn tasks(&self, cluster: Arc<Cluster>) -> Result<Vec<EncodeTask<Self::Pieces>>> {
        let elements = Arc::new(self.elements(&cluster)?);
        self.find_codecs(&elements)?;
        let mut groups: Vec<Vec<PageCut>> = Vec::new();
        let mut n_bytes = TASK_BYTES;
        for columns in self.equal_columns(&elements) {
            let (column_type, _) = self.columns.types[columns[0]];
            let n_elements = elements.columns[columns[0]].n_elements;
            for page in cut(&columns, column_type, n_elements, self.settings.page_bytes) {
                if n_bytes >= TASK_BYTES {
                    groups.push(Vec::new());
                    n_bytes = 0;
                }
                n_bytes += page.n_bytes;
                groups.last_mut().into_iter().for_each(|group| group.push(page.clone()));
            }
        }
        let task = |pages: Vec<PageCut>| -> EncodeTask<Self::Pieces> {
            let (elements, columns) = (Arc::clone(&elements), Arc::clone(&self.columns));
            Box::new(move |compressor| {
                let largest = pages.iter().map(|page| page.n_bytes).max().unwrap_or_default();
                let mut scratch = buffers::take(largest);
                let most = |page: &PageCut| page.n_bytes + format::rntuple::PAGE_CHECKSUM_BYTES;
                let mut bytes = buffers::take(pages.iter().map(most).sum());
                let mut pieces = Vec::with_capacity(pages.len());
                for page in &pages {
                    let column = page.columns[0];
                    let (column_type, codec) = &columns.types[page.columns[0]];
                    let found = &elements.columns[page.columns[0]];
                    let setting = codec.setting();
                    let page = write_page(page, *column_type, found, setting, compressor, &mut scratch, &mut bytes);
                    pieces.push(page.map_err(|error| columns.named(column, &error))?);
                }
                buffers::give_back(scratch);
                Ok(Encoded { bytes, pieces })
            })
        };
        Ok(groups.into_iter().map(task).collect())
    }

    /// The bytes that a streamer made say of which version of a class they are, which the footer would have to describe.
    fn stored_as(&self) -> Result<Option<StoredAs>> {
        let has_streamed = self.schema.fields().any(|field| field.role() == Role::Streamer);
        Ok((!has_streamed && self.settings.set_of.is_none()).then(|| StoredAs::Ntuple(self.schema.clone().into())))
    }

    fn packed(&self, PackedCluster { bytes, pieces, .. }: PackedCluster) -> Result<Encoded<Self::Pieces>> {
        let PackedPieces::Pages(pages) = pieces else { return Err(of_other_format()) };
        let page = |page: PackedPage| WrittenPage {
            columns: [page.column].into(),
            n_elements: page.n_elements,
            stored_bytes: page.stored_bytes,
            n_bytes: page.n_bytes,
            checksum: page.checksum,
            setting: page.setting,
        };
        Ok(Encoded { bytes, pieces: pages.into_iter().map(page).collect() })
    }

    fn place(
        &mut self,
        cluster: &Cluster,
        encoded: Vec<Encoded<Self::Pieces>>,
        is_last: bool,
        appender: &mut Appender,
    ) -> Result<()> {
        if cluster.n_entries == 0 {
            return Ok(());
        }
        for encoded in encoded {
            if let Some(part) = self.distinct.add(encoded) {
                let pages: &[&[u8]] = &[&part.bytes];
                part.offset = self.record.append(pages, part.n_bytes, appender, self.datime, self.seek_root)?;
            }
        }
        if is_last {
            self.record.end(appender, self.datime, self.seek_root)?;
            self.lists.begin_cluster(cluster.first_entry, cluster.n_entries as u64);
            for (page, offset) in self.distinct.pages() {
                self.lists.add_page(page, offset);
            }
            self.lists.end_cluster(self.columns.types.iter().map(|(_, codec)| codec));
            self.distinct.clear();
        }
        Ok(())
    }

    fn checks(&self) -> Vec<Option<Check>> {
        self.columns.tables.iter().map(|(_, node)| check_of(node)).collect()
    }

    fn extend(&mut self, file: &FileWriter, extension: Extension<'_>) -> Result<u64> {
        // They are the table's once all of them can be.
        let (mut schema, mut columns) = (self.schema.clone(), Columns::clone(&self.columns));
        let n_known = schema.columns.len();
        for column in &extension.columns[extension.n_known..] {
            if column.layout.record.is_none() {
                self.check_name(&column.name)?;
            }
            columns.add(&mut schema, &NtupleColumn::from(column.clone()))?;
        }
        describe_classes(file, &mut schema)?;
        let behind = back_fill::behind(&columns.tables[extension.n_known..], &schema, extension.columns, n_known)?;
        let is_filled = |column: usize| {
            let of = columns.owners.get(column).and_then(|owner| owner.checked_sub(extension.n_known));
            behind.iter().any(|one| Some(one.of) == of)
        };
        self.lists.extend(late::defer(&mut schema, n_known, extension.first_entry, is_filled)?);
        (self.schema, self.columns) = (schema, Arc::new(columns));
        self.settings.arrow_schema = extension.arrow_schema;
        if behind.is_empty() {
            return Ok(0);
        }
        let filling = BackFill {
            file,
            record: &mut self.record,
            datime: self.datime,
            seek_root: self.seek_root,
            types: &self.columns.types,
            page_bytes: self.settings.page_bytes,
            known: HashMap::new(),
        };
        filling.fill(&behind, &self.schema, n_known, &mut self.lists)
    }

    fn ends_cluster(&self, new: &[Column]) -> Result<bool> {
        late::are_inside(&self.schema, new)
    }

    fn finish(&mut self, file: &FileWriter) -> Result<()> {
        if let Some(sets) = self.settings.set_of.clone() {
            sets.end(self.end_as_set(file)?);
            return Ok(());
        }
        file.need_class(format::rntuple::ANCHOR_CLASS)?;
        let anchor = self.write_metadata(file)?;
        let object = anchor.write()?;
        let (class, name) = (format::rntuple::ANCHOR_CLASS, &self.settings.name);
        file.write_object(self.settings.directory, class, name, "", CompressionSetting::NONE, |output| {
            output.raw(&object);
            Ok(())
        })?;
        Ok(())
    }
}
