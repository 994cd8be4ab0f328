//! Schemas of RNTuples, which all files that record the very same bytes of them share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrowroot_format as format;
use format::rntuple::{Footer, Schema, Slots};

use super::index::Index;
use crate::recent::{Recent, Shareable};
use crate::table::ColumnTypes;

/// The common part of RNTuples of one schema.
pub(super) struct SharedSchema {
    /// The header, and what of the footer adds to it: every byte that was read to know the schema.
    header: Vec<u8>,
    extension: Vec<u8>,
    pub(super) schema: Schema,
    pub(super) slots: Slots,
    index: OnceLock<Index>,
    /// The types of all columns, where no file needs to be asked for them.
    pub(super) types: OnceLock<Arc<ColumnTypes>>,
}

impl SharedSchema {
    fn of(schema: Schema) -> format::Result<SharedSchema> {
        let slots = Slots::new(&schema)?;
        let (header, extension, index, types) = (Vec::new(), Vec::new(), OnceLock::new(), OnceLock::new());
        Ok(SharedSchema { header, extension, schema, slots, index, types })
    }

    pub(super) fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(self.schema.members()))
    }
}

impl Shareable for SharedSchema {
    fn n_bytes(&self) -> usize {
        self.header.len() + self.extension.len()
    }
}

/// The envelope in which a fault is.
pub(super) enum Envelope {
    Header,
    Footer,
}

static KNOWN: Recent<SharedSchema> = Recent::new();
static N_MET: AtomicU64 = AtomicU64::new(0);

/// How many were met, and how many, of how many bytes, are kept.
pub(crate) fn counts() -> (u64, usize, usize) {
    let (n_kept, n_bytes) = KNOWN.counts();
    (N_MET.load(Ordering::Relaxed), n_kept, n_bytes)
}

/// The schema in a header and a footer, and the rest of the footer.
///
/// # Errors
/// The fault, with the envelope that has it.
pub(super) fn parse(header: &[u8], footer: &[u8]) -> Result<(Arc<SharedSchema>, Footer), (Envelope, format::Error)> {
    let in_header = |error| (Envelope::Header, error);
    let in_footer = |error| (Envelope::Footer, error);
    let extension = Footer::schema_bytes(footer);
    let is_meant = |shared: &SharedSchema| shared.header == header && extension == Some(shared.extension.as_slice());
    if let Some(extension) = extension
        && let Some(known) = KNOWN.find(is_meant)
    {
        let footer = Footer::parse_of_known(footer, extension).map_err(in_footer)?;
        KNOWN.keep(&known);
        return Ok((known, footer));
    }
    N_MET.fetch_add(1, Ordering::Relaxed);
    let mut schema = Schema::parse(header).map_err(in_header)?;
    let rest = Footer::parse(footer, &mut schema).map_err(in_footer)?;
    let mut shared = SharedSchema::of(schema).map_err(in_header)?;
    let Some(extension) = extension else { return Ok((Arc::new(shared), rest)) };
    (shared.header, shared.extension) = (header.to_vec(), extension.to_vec());
    let shared = Arc::new(shared);
    KNOWN.keep(&shared);
    Ok((shared, rest))
}
