//! Schemas of RNTuples, which all files that record the very same bytes of them share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrowroot_format as format;
use format::rntuple::{Footer, Schema, Slots};

use super::index::Index;
use crate::table::ColumnTypes;

/// Schemas that are kept, those that were met last, and bytes of headers and extensions that they were met in.
const MAX_SCHEMAS: usize = 16;
const MAX_BYTES: usize = 16 << 20;

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

    fn n_bytes(&self) -> usize {
        self.header.len() + self.extension.len()
    }
}

/// The envelope in which a fault is.
pub(super) enum Envelope {
    Header,
    Footer,
}

/// The schemas that were met last, the latest first.
static KNOWN: Mutex<VecDeque<Arc<SharedSchema>>> = Mutex::new(VecDeque::new());
static N_MET: AtomicU64 = AtomicU64::new(0);

fn locked() -> MutexGuard<'static, VecDeque<Arc<SharedSchema>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many were met, and how many, of how many bytes, are kept.
pub(crate) fn counts() -> (u64, usize, usize) {
    let known = locked();
    (N_MET.load(Ordering::Relaxed), known.len(), known.iter().map(|shared| shared.n_bytes()).sum())
}

/// The schema in a header and a footer, and the rest of the footer.
///
/// # Errors
/// Those of the format, with the envelope.
pub(super) fn parse(header: &[u8], footer: &[u8]) -> Result<(Arc<SharedSchema>, Footer), (Envelope, format::Error)> {
    let in_header = |error| (Envelope::Header, error);
    let in_footer = |error| (Envelope::Footer, error);
    let extension = Footer::schema_bytes(footer);
    if let Some(extension) = extension
        && let Some(known) = known(header, extension)
    {
        let footer = Footer::parse_of_known(footer, extension).map_err(in_footer)?;
        return Ok((known, footer));
    }
    N_MET.fetch_add(1, Ordering::Relaxed);
    let mut schema = Schema::parse(header).map_err(in_header)?;
    let rest = Footer::parse(footer, &mut schema).map_err(in_footer)?;
    let mut shared = SharedSchema::of(schema).map_err(in_header)?;
    let Some(extension) = extension.filter(|extension| header.len() + extension.len() <= MAX_BYTES) else {
        return Ok((Arc::new(shared), rest));
    };
    (shared.header, shared.extension) = (header.to_vec(), extension.to_vec());
    let shared = Arc::new(shared);
    keep(&shared);
    Ok((shared, rest))
}

fn known(header: &[u8], extension: &[u8]) -> Option<Arc<SharedSchema>> {
    let mut known = locked();
    let index = known.iter().position(|shared| shared.header == header && shared.extension == extension)?;
    let found = known.remove(index)?;
    known.push_front(Arc::clone(&found));
    Some(found)
}

fn keep(shared: &Arc<SharedSchema>) {
    let mut known = locked();
    known.push_front(Arc::clone(shared));
    known.truncate(MAX_SCHEMAS);
    while known.iter().map(|shared| shared.n_bytes()).sum::<usize>() > MAX_BYTES {
        known.pop_back();
    }
}
