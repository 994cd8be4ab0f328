//! What a replica of a file is good for.

use std::sync::Arc;

use arrowroot_format::container::{FileHeader, HEADER_BYTES, KeyList, RootRecord};
use arrowroot_storage::{Fitness, Ledger, Opened, Preloaded, Source};

use crate::access::{read_range, root_record};

/// What a replica is good for, by its beginning, its size, and what is there of its metadata without a request: it may be a
/// login page, cut short, or have blocks that were never written.
pub(crate) fn fitness(opened: &Opened, head: &[u8]) -> Fitness {
    match FileHeader::parse(&head[..head.len().min(HEADER_BYTES)]) {
        Err(_) => Fitness::Useless,
        Ok(header) if header.end > opened.source.size_bytes() || has_gap(opened, &header, head) => Fitness::Partial,
        Ok(_) => Fitness::Whole,
    }
}

/// Whether metadata are not where header and root directory say that they are.
fn has_gap(opened: &Opened, header: &FileHeader, head: &[u8]) -> bool {
    let ledger = Arc::new(Ledger::new("fitness", false));
    let source = Preloaded::new(Arc::clone(&opened.source), opened.preloaded.clone(), ledger);
    let is_near = !source.access_profile().is_remote;
    let record = |offset: u64, n_bytes: u64| {
        let is_free = is_near || source.holds(offset, n_bytes);
        is_free.then(|| read_range(&source, offset, n_bytes).map_err(|error| error.is_of_format()))
    };
    let starts_with_zeros = |offset: u64, n_bytes: u32| {
        let word = if n_bytes > 0 && offset > header.begin { record(offset, 4) } else { None };
        word.is_some_and(|word| word.is_ok_and(|word| word == [0; 4]))
    };
    if starts_with_zeros(header.seek_info, header.n_bytes_info)
        || starts_with_zeros(header.seek_free, header.n_bytes_free)
    {
        return true;
    }
    let Ok(RootRecord { directory: root, .. }) = root_record(&source, head, header) else { return true };
    if !root.has_keys() {
        return false;
    }
    match record(root.seek_keys, root.n_bytes_keys.into()) {
        None | Some(Err(false)) => false,
        Some(Err(true)) => true,
        Some(Ok(list)) => KeyList::parse(&list, root.seek_keys).is_err(),
    }
}
