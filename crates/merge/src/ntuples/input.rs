//! The metadata of an RNTuple in an input: anchor, header, footer and page lists.

use std::borrow::Borrow;
use std::sync::Arc;

use arrowroot::{File, FileKey};
use arrowroot_file::{Envelopes, check_page_lists, check_schema, format_error, read_blobs};
use arrowroot_format as format;
use format::rntuple::{Anchor, Blob, Footer, OLD_ANCHOR_CLASS, PageList, Schema, Slots};

use super::union::Mapping;
use crate::error::Result;

/// An RNTuple of an input.
#[derive(Debug)]
pub(super) struct InputTable {
    /// Its path, for errors.
    pub(super) path: String,
    pub(super) described: Arc<Described>,
    pub(super) footer: Footer,
    /// The page lists of all cluster groups.
    pub(super) lists: Vec<PageList>,
    /// List and number of each cluster, in the order of the entries; nothing is missing between them.
    pub(super) clusters: Vec<(usize, usize)>,
    pub(super) n_entries: u64,
}

/// Fields and columns. Inputs of one production have the very same bytes of them, which are read once.
#[derive(Debug)]
pub(super) struct Described {
    /// The header as it is stored.
    stored: Vec<u8>,
    /// The fields of the header alone.
    header: Schema,
    /// The same with what the footer adds.
    pub(super) schema: Schema,
    pub(super) slots: Slots,
    /// Its slots in the output.
    pub(super) mapping: Arc<Mapping>,
}

/// Reads the anchor that a key holds.
///
/// # Errors
/// If it cannot be read.
pub(super) fn anchor(input: &File, key: &FileKey) -> Result<Anchor> {
    let (path, key) = (key.path(), &key.key);
    let in_key = |error: format::Error| format_error(input.source().as_ref(), &path, error.placed(key.object_place()));
    let object = if key.class_name == OLD_ANCHOR_CLASS { Vec::new() } else { input.read_metadata(key)? };
    Ok(Anchor::parse(&object, &key.class_name).map_err(in_key)?)
}

impl InputTable {
    /// Reads what an input says of an RNTuple. `known`: the fields of an input before. `join` joins fields that are other ones to
    /// those of the output.
    ///
    /// # Errors
    /// The errors of reading, and of `join`.
    pub(super) fn read(
        input: &File,
        path: &str,
        anchor: Anchor,
        known: Option<&Arc<Described>>,
        join: impl FnOnce(&Schema, &Slots) -> Result<Mapping>,
    ) -> Result<InputTable> {
        let source = input.source().as_ref();
        let in_envelope =
            |blob: Blob| move |error: format::Error| format_error(source, path, error.placed(blob.envelope_place()));
        let blobs = [anchor.header, anchor.footer];
        for blob in blobs {
            check_schema(blob, input.size_bytes()).map_err(in_envelope(blob))?;
        }
        let mut stored = read_blobs(input, path, &blobs)?;
        let known = known.filter(|known| known.stored == stored[0]);
        let header = match known {
            Some(known) => known.header.clone(),
            None => {
                let envelopes = Envelopes::unpack(input, path, &blobs[..1], &stored[..1])?;
                Schema::parse(envelopes.at(0)).map_err(in_envelope(anchor.header))?
            }
        };
        let mut schema = header.clone();
        let envelopes = Envelopes::unpack(input, path, &blobs[1..], &stored[1..])?;
        let footer = Footer::parse(envelopes.at(0), &mut schema).map_err(in_envelope(anchor.footer))?;
        check_page_lists(&footer).map_err(in_envelope(anchor.footer))?;
        drop(envelopes);
        let described = match known.filter(|known| known.schema == schema) {
            Some(known) => Arc::clone(known),
            None => {
                let slots = Slots::new(&schema).map_err(in_envelope(anchor.header))?;
                let mapping = Arc::new(join(&schema, &slots)?);
                Arc::new(Described { stored: stored.swap_remove(0), header, schema, slots, mapping })
            }
        };
        let lists = read_lists(input, path, &anchor, &footer, &described.schema)?;
        let clusters =
            in_order(&lists, &footer).map_err(|what| format_error(source, path, format::Error::corrupt(0, what)))?;
        let n_entries = footer.n_entries();
        Ok(InputTable { path: path.to_owned(), described, footer, lists, clusters, n_entries })
    }
}

fn read_lists(input: &File, path: &str, anchor: &Anchor, footer: &Footer, schema: &Schema) -> Result<Vec<PageList>> {
    let in_list = |error| format_error(input.source().as_ref(), path, error);
    let max_key_bytes = anchor.max_key_bytes();
    let blobs = footer.groups.iter().map(|group| group.page_list.blob(max_key_bytes).map_err(in_list));
    let blobs: Vec<Blob> = blobs.collect::<Result<_, _>>()?;
    let envelopes = Envelopes::read(input, path, &blobs)?;
    let parsed = blobs.iter().enumerate().map(|(number, blob)| {
        PageList::parse(envelopes.at(number), schema).map_err(|error| in_list(error.placed(blob.envelope_place())))
    });
    Ok(parsed.collect::<Result<_, _>>()?)
}

/// The clusters in the order of their entries. `Err`: what is missing.
pub(super) fn in_order(lists: &[impl Borrow<PageList>], footer: &Footer) -> Result<Vec<(usize, usize)>, String> {
    let mut clusters: Vec<(usize, usize)> = Vec::new();
    for (number, list) in lists.iter().map(Borrow::borrow).enumerate() {
        let with_entries = (0..list.clusters.len()).filter(|&cluster| list.clusters[cluster].n_entries > 0);
        clusters.extend(with_entries.map(|cluster| (number, cluster)));
    }
    clusters.sort_by_key(|&(list, cluster)| lists[list].borrow().clusters[cluster].first_entry);
    let mut next = 0;
    for &(list, cluster) in &clusters {
        let summary = lists[list].borrow().clusters[cluster];
        if summary.first_entry != next {
            return Err(format!("a cluster that begins at entry {}, where {next} is next", summary.first_entry));
        }
        next += summary.n_entries;
    }
    if next != footer.n_entries() {
        return Err(format!("clusters of {next} entries, where there are {}", footer.n_entries()));
    }
    Ok(clusters)
}
