//! Pages that several batches need: whoever needs one first decompresses it for all, so that no thread does it for others.

use std::sync::{Arc, Mutex, PoisonError};

use arrowroot_file::Result;
use arrowroot_format as format;

use crate::memory::{HeldBytes, HeldMemory};
use crate::scan::{Keeping, Payload, PayloadBytes};

/// Where the bytes of a page are.
#[derive(Clone)]
pub(crate) enum PagePayload {
    /// For one batch, as they are in the file.
    Own(Payload),
    /// For several.
    Shared(Arc<SharedPage>),
}

impl PagePayload {
    /// The part of it that the next batch gets; `None`: nothing.
    pub(super) fn kept(&self, keeping: Keeping, held: &Arc<HeldMemory>) -> Result<Option<PagePayload>> {
        match (self, keeping) {
            (PagePayload::Shared(_), Keeping::Unpacked) => Ok(Some(self.clone())),
            (PagePayload::Shared(_), _) => Ok(None),
            (PagePayload::Own(stored), keeping) => Ok(stored.kept(keeping, held)?.map(PagePayload::Own)),
        }
    }
}

/// A page for several batches.
pub(crate) struct SharedPage(Mutex<PageBytes>);

struct PageBytes {
    /// As it is in the file, until it is decompressed.
    stored: Option<Payload>,
    plain: Arc<HeldBytes>,
}

impl SharedPage {
    /// A page that will be decompressed to `n_bytes`.
    pub(super) fn new(stored: Payload, n_bytes: usize, held: &Arc<HeldMemory>) -> Result<Arc<SharedPage>> {
        let plain = Arc::new(HeldBytes::new(n_bytes, held)?);
        Ok(Arc::new(SharedPage(Mutex::new(PageBytes { stored: Some(stored), plain }))))
    }

    /// The bytes, decompressed. `unpack` is asked to do that by the first who comes; all others wait for it.
    pub(super) fn plain(
        &self,
        unpack: impl FnOnce(&[u8], &mut [u8]) -> format::Result<()>,
    ) -> format::Result<Arc<HeldBytes>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let PageBytes { stored, plain } = &mut *state;
        if let Some(PayloadBytes::Stored(bytes)) = stored.as_ref().map(Payload::bytes)
            && let Some(place) = Arc::get_mut(plain)
        {
            unpack(bytes, place)?;
            *stored = None;
        }
        Ok(Arc::clone(plain))
    }
}
