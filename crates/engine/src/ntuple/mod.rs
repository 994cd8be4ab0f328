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
use std::sync::{Arc, Mutex, OnceLock};

use arrow_schema::Field;
use arrowroot_format as format;
use format::column::EntryForm;
use format::rntuple::{
    ANCHOR_CLASS, Anchor, AttributeSet, Blob, FieldId, Footer, Member, Members, NtupleField, OLD_ANCHOR_CLASS, Schema,
    SlotId, Slots,
};
use format::streamer::StreamerInfos;

use arrowroot_arrow::TextForm;
use arrowroot_file::{Envelopes, Error, File, Result, check_page_lists, check_schema, format_error, nearest};

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
        let envelopes = Envelopes::read(file, &path, &[anchor.header, anchor.footer])?;
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
        let objects = Envelopes::read(file, path, &[blob])?;
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
