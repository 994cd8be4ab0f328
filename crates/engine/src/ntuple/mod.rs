//! RNTuples: opened, planned, decoded and made into batches.

mod assemble;
mod builder;
mod clusters;
mod index;
mod look_up;
mod page;
mod pass;
mod plan;
mod runs;
mod schemas;
mod shared;
mod streamed;
mod table;
mod types;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use arrow_schema::Field;
use arrowroot_format as format;
use arrowroot_storage::Part;
use format::column::EntryForm;
use format::rntuple::{
    ANCHOR_CLASS, Anchor, AttributeSet, Blob, FieldId, Footer, Member, Members, NtupleField, OLD_ANCHOR_CLASS, Schema,
    SlotId, Slots,
};
use format::streamer::StreamerInfos;

use arrowroot_arrow::TextForm;
use arrowroot_file::{
    Error, File, PooledScratch, Result, Scratch, check_metadata, check_metadata_bytes, format_error, nearest,
    read_parts, read_range, unpack_at,
};

use crate::scan::ColumnId;
use crate::table::Table;
use clusters::Groups;
use index::Index;
pub(crate) use schemas::counts as schema_counts;
use schemas::{Envelope, SharedSchema};

/// The major version of the schema of attribute sets that is read.
const ATTRIBUTES_MAJOR: u16 = 1;

/// An RNTuple. Cheap to clone.
#[derive(Clone)]
pub struct Ntuple {
    inner: Arc<Inner>,
    /// The ends of collections of at most one item that are read as optional values, as a record of the schema says.
    optionals: Arc<HashSet<SlotId>>,
}

struct Inner {
    file: File,
    path: String,
    cycle: u16,
    anchor: Anchor,
    shared: Arc<SharedSchema>,
    footer: Footer,
    groups: Groups,
    infos: OnceLock<format::Result<StreamerInfos>>,
    /// How the objects of fields that ROOT's streamers wrote are read, as far as that was found out.
    streamed: Mutex<HashMap<FieldId, format::Result<Arc<EntryForm>>>>,
}

/// Fields and columns that become so many bytes are read however well they compress: some 50,000 of them. Beyond, so many
/// bytes for each of the file: each field takes ten times as much in memory. Fields that are all alike compress to nearly
/// nothing, but those of real data have pages.
const MAX_SCHEMA_BYTES: u64 = 4 << 20;
const MAX_SCHEMA_RATIO: u64 = 4;

/// Refuses a header or footer of very many fields in a small file.
fn check_schema(blob: Blob, file_bytes: u64) -> format::Result<()> {
    let most = file_bytes.saturating_mul(MAX_SCHEMA_RATIO).saturating_add(MAX_SCHEMA_BYTES);
    let n_bytes = blob.uncompressed_bytes;
    if n_bytes > most {
        let what =
            format!("metadata of {n_bytes} bytes in a file of {file_bytes}: more than {most} bytes are not unpacked");
        return Err(format::Error::unsupported(0, what));
    }
    Ok(())
}

/// Refuses page lists that are few bytes in the file and very many together: groups may name one and the same.
fn check_page_lists(footer: &Footer) -> format::Result<()> {
    let mut places = HashSet::new();
    let (mut stored_bytes, mut n_bytes) = (0_u64, 0_u64);
    for list in footer.groups.iter().map(|group| &group.page_list) {
        n_bytes = n_bytes.saturating_add(list.uncompressed_bytes);
        if let Some(locator) = list.locator.filter(|locator| places.insert(locator.offset)) {
            stored_bytes = stored_bytes.saturating_add(locator.n_bytes);
        }
    }
    check_metadata_bytes(stored_bytes, n_bytes)
}

/// What the pages of a field and its parts take.
#[derive(Debug, Clone, Copy, Default)]
struct PageSizes {
    n_pages: u64,
    /// Bytes in the file.
    stored_bytes: u64,
    /// Bytes of the pages when uncompressed.
    memory_bytes: u64,
    /// How they were compressed; that of the first cluster.
    compression: Option<u32>,
}

impl Ntuple {
    /// Opens an RNTuple by its path in the file; where the bytes of it are wrong, that of another replica.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key; [`Error::Format`] if it is no RNTuple or cannot be read.
    pub fn open(file: &File, path: &str) -> Result<Ntuple> {
        file.or_elsewhere(path, |file| Ntuple::of_replica(file, path))
    }

    fn of_replica(file: &File, path: &str) -> Result<Ntuple> {
        let found = file.find(path)?;
        let (source, path, key) = (file.source().as_ref(), found.path(), &found.key);
        let in_key = |error: format::Error| format_error(source, &path, error.placed(key.object_place()));
        let object = if key.class_name == OLD_ANCHOR_CLASS { Vec::new() } else { file.read_metadata(key)? };
        let anchor = Anchor::parse(&object, &key.class_name).map_err(in_key)?;
        Self::at(file, path, key.cycle, anchor)
    }

    fn at(file: &File, path: String, cycle: u16, anchor: Anchor) -> Result<Ntuple> {
        let source = file.source().as_ref();
        let in_envelope = |blob: Blob| {
            let path = &path;
            move |error: format::Error| format_error(source, path, error.placed(blob.envelope_place()))
        };
        for blob in [anchor.header, anchor.footer] {
            check_schema(blob, file.size_bytes()).map_err(in_envelope(blob))?;
        }
        let envelopes = read_blobs(file, &path, &[anchor.header, anchor.footer])?;
        let (shared, footer) =
            schemas::parse(envelopes.at(0), envelopes.at(1)).map_err(|(envelope, error)| match envelope {
                Envelope::Header => in_envelope(anchor.header)(error),
                Envelope::Footer => in_envelope(anchor.footer)(error),
            })?;
        check_page_lists(&footer).map_err(in_envelope(anchor.footer))?;
        let groups = Groups::new(&footer);
        let (file, infos, streamed) = (file.clone(), OnceLock::new(), Mutex::default());
        let inner = Inner { file, path, cycle, anchor, shared, footer, groups, infos, streamed };
        Ok(Ntuple { inner: Arc::new(inner), optionals: Arc::default() })
    }

    /// Opens an attribute set: an RNTuple whose entries say something about ranges of this one's entries. Its path is
    /// this one's, a colon and its name.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the names there are; [`Error::Format`] if it cannot be read.
    pub fn attribute_set(&self, name: &str) -> Result<Ntuple> {
        let sets = &self.inner.footer.attributes;
        let set = sets.iter().find(|set| set.name == name).ok_or_else(|| Error::NotFound {
            url: self.file().url().to_owned(),
            kind: "attribute set",
            name: name.to_owned(),
            near: nearest(name, sets.iter().map(|set| set.name.as_str())),
        })?;
        let path = format!("{}:{name}", self.path());
        self.file().or_elsewhere(&path, |file| self.attribute_set_in(file, &path, set))
    }

    fn attribute_set_in(&self, file: &File, path: &str, set: &AttributeSet) -> Result<Ntuple> {
        let source = file.source().as_ref();
        let in_set = |error| format_error(source, path, error);
        if set.version[0] > ATTRIBUTES_MAJOR {
            let [major, minor] = set.version;
            let what = format!("an attribute set of schema {major}.{minor}");
            return Err(in_set(format::Error::unsupported(0, what)));
        }
        let blob = set.anchor.blob(0).map_err(in_set)?;
        let objects = read_blobs(file, path, &[blob])?;
        let in_object = |error: format::Error| in_set(error.placed(blob.envelope_place()));
        let anchor = Anchor::parse(objects.at(0), ANCHOR_CLASS).map_err(in_object)?;
        Self::at(file, path.to_owned(), self.inner.cycle, anchor)
    }

    /// The same RNTuple, of which collections with these ends are read as optional values.
    pub(crate) fn with_optionals(self, optionals: HashSet<SlotId>) -> Ntuple {
        Ntuple { optionals: Arc::new(optionals), ..self }
    }

    /// Cycle of the key that it was opened by.
    pub fn cycle(&self) -> u16 {
        self.inner.cycle
    }

    /// Version of the format.
    pub fn version(&self) -> [u16; 4] {
        self.inner.anchor.version
    }

    /// Fields and columns.
    pub fn schema(&self) -> &Schema {
        &self.inner.shared.schema
    }

    /// What the footer says of clusters and attributes.
    pub fn footer(&self) -> &Footer {
        &self.inner.footer
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.inner.shared.slots
    }

    fn groups(&self) -> &Groups {
        &self.inner.groups
    }

    fn index(&self) -> &Index {
        self.inner.shared.index()
    }

    /// All fields that can be asked for, depth first: those at the top, and the members of records in them.
    pub fn members(&self) -> &Members {
        &self.index().members
    }

    /// The numbers of all of [`Ntuple::members`], and of those at the top.
    pub fn top_members(&self) -> Vec<ColumnId> {
        (0..).zip(self.members().iter()).filter(|(_, member)| member.depth() == 0).map(|(id, _)| ColumnId(id)).collect()
    }

    /// A field that can be asked for.
    ///
    /// # Panics
    /// If the number is not one of this RNTuple's.
    pub fn member(&self, id: ColumnId) -> Member<'_> {
        self.members().at(id.0 as usize)
    }

    /// Its field.
    pub fn field(&self, id: ColumnId) -> NtupleField<'_> {
        self.inner.shared.schema.at(self.member(id).field())
    }

    /// The Arrow field of a readable field, by a name of the caller's choice.
    ///
    /// # Errors
    /// [`Error::Format`] if it cannot be read.
    pub fn arrow_field(&self, id: ColumnId, name: &str, text: TextForm) -> Result<Field> {
        Ok(types::arrow_field(name, &self.shape(id)?, text))
    }
}

/// What was in some blobs, uncompressed, in memory that the process lends: a wide schema takes hundreds of KB of it.
struct Envelopes {
    scratch: PooledScratch,
    ranges: Vec<Range<usize>>,
}

impl Envelopes {
    /// That of a blob, by its number among those that were read.
    fn at(&self, number: usize) -> &[u8] {
        &self.scratch.unpacked()[self.ranges[number].clone()]
    }
}

/// Reads the envelopes in some blobs, all in one vector read.
fn read_blobs(file: &File, object: &str, blobs: &[Blob]) -> Result<Envelopes> {
    let source = file.source().as_ref();
    let mut buffers: Vec<Vec<u8>> = Vec::with_capacity(blobs.len());
    for blob in blobs {
        let (first, _) = blob.first_part().map_err(|error| format_error(source, object, error))?;
        let n_bytes = first.end - first.start;
        if first.end > source.size_bytes() || blob.stored_bytes > source.size_bytes() {
            // The error of the read says what is wrong.
            read_range(source, first.start, n_bytes.max(blob.stored_bytes))?;
        }
        buffers.push(vec![0; usize::try_from(n_bytes).unwrap_or(usize::MAX)]);
    }
    let mut parts: Vec<Part<'_>> =
        blobs.iter().zip(&mut buffers).map(|(blob, buffer)| Part { offset: blob.offset, buffer }).collect();
    read_parts(source, &mut parts)?;
    let mut scratch = PooledScratch::default();
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(blobs.len());
    for (blob, mut stored) in blobs.iter().zip(buffers) {
        let in_blob = |error: format::Error| format_error(source, object, error.at(blob.offset));
        let (_, offsets) = blob.first_part().map_err(in_blob)?;
        if offsets.start < offsets.end {
            let offsets = read_range(source, offsets.start, offsets.end - offsets.start)?;
            for part in blob.further_parts(&offsets) {
                stored.extend_from_slice(&read_range(source, part.start, part.end - part.start)?);
            }
        }
        let n_bytes = usize::try_from(blob.uncompressed_bytes).unwrap_or(usize::MAX);
        if stored.len() > n_bytes {
            let what = format!("{} bytes for an envelope of {n_bytes}", stored.len());
            return Err(in_blob(format::Error::corrupt(0, what)));
        }
        let start = ranges.last().map_or(0, |before| before.end);
        let Scratch { decompressor, unpacked, .. } = scratch.get();
        check_metadata(&stored, n_bytes).map_err(in_blob)?;
        ranges.push(unpack_at(start, decompressor, &stored, n_bytes, unpacked).map_err(in_blob)?);
    }
    Ok(Envelopes { scratch, ranges })
}
