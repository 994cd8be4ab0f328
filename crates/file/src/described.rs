//! Class descriptions that were parsed: files whose records have the very same bytes share them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrowroot_format as format;
use format::streamer::StreamerInfos;

/// Records that are kept, those that were met last, and their bytes.
const MAX_RECORDS: usize = 16;
const MAX_BYTES: usize = 4 << 20;

/// All that decides what is parsed.
struct Record {
    object: Vec<u8>,
    key_bytes: usize,
    version: u32,
}

static KNOWN: Mutex<VecDeque<(Record, Arc<StreamerInfos>)>> = Mutex::new(VecDeque::new());

/// The class descriptions of a record's object, whose key is so long, in a file of this version.
///
/// # Errors
/// As [`StreamerInfos::parse`].
pub(crate) fn infos(object: &[u8], key_bytes: usize, version: u32) -> format::Result<Arc<StreamerInfos>> {
    let is_same =
        |record: &Record| (record.key_bytes, record.version) == (key_bytes, version) && record.object == object;
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    {
        let mut known = known();
        if let Some(index) = known.iter().position(|(record, _)| is_same(record))
            && let Some(found) = known.remove(index)
        {
            let infos = Arc::clone(&found.1);
            known.push_front(found);
            return Ok(infos);
        }
    }
    let infos = Arc::new(StreamerInfos::parse(object, key_bytes)?.written_by(version));
    let mut known = known();
    known.push_front((Record { object: object.to_vec(), key_bytes, version }, Arc::clone(&infos)));
    known.truncate(MAX_RECORDS);
    let mut left_bytes = MAX_BYTES;
    known.retain(|(record, _)| {
        let left = left_bytes.checked_sub(record.object.len());
        left_bytes = left.unwrap_or(left_bytes);
        left.is_some()
    });
    Ok(infos)
}
