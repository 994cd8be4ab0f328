//! Where a file is: its URL, and where the server redirected to.

use std::sync::{Mutex, MutexGuard, PoisonError};

use twox_hash::XxHash64;
use url::Url;

use crate::error::{Error, Result};
use crate::secret::{hidden_distinction, redacted};

/// So many places in a row that were good for one request are no chance: each is then asked for anew.
const MAX_USED_UP: u32 = 3;

/// A file's place. URLs may hold credentials: only [`Address::name`] is for showing.
pub(crate) struct Address {
    name: String,
    locate: Box<dyn Fn() -> Url + Send + Sync>,
    redirected: Mutex<Redirected>,
    /// Besides what the HTTP store knows, which credentials are in use.
    hint: Option<String>,
    /// What tells the file from others that are shown by the same name; empty if none are.
    distinction: String,
}

/// Where redirects lead to.
#[derive(Default)]
struct Redirected {
    /// Where the last one did, if that may be good for more than one request.
    to: Option<Url>,
    /// Such places in a row that were good for one.
    n_used_up: u32,
}

impl Address {
    /// An `http://` or `https://` URL.
    pub(crate) fn parse(url: &str) -> Result<Address> {
        let name = redacted(url);
        let mut parsed = Url::parse(url)
            .map_err(|error| Error::Option { option: "URL".to_owned(), what: format!("{name}: {error}") })?;
        parsed.set_fragment(None);
        let distinction = hidden_distinction(url).map_or_else(String::new, |hidden| format!(" {hidden:016x}"));
        let locate = Box::new(move || parsed.clone());
        Ok(Address { name, locate, redirected: Mutex::default(), hint: None, distinction })
    }

    /// A URL that is made anew for each request. The name does not say at which endpoint it is, nor what
    /// it hides of the URL.
    pub(crate) fn signed(
        name: String,
        (endpoint, hidden): (&Url, Option<u64>),
        hint: String,
        locate: impl Fn() -> Url + Send + Sync + 'static,
    ) -> Address {
        let hidden = hidden.map_or_else(String::new, |hidden| format!(" {hidden:016x}"));
        let distinction = format!(" {}{}{hidden}", origin_of(endpoint), endpoint.path());
        Address { name, locate: Box::new(locate), redirected: Mutex::default(), hint: Some(hint), distinction }
    }

    /// A version of the file, as one that no other file has which is shown by the same name.
    pub(super) fn own_version(&self, version: &str) -> String {
        // As a number: it is kept on disks, and what servers say may repeat what they were asked with.
        format!("{:016x}{}", XxHash64::oneshot(0, version.as_bytes()), self.distinction)
    }

    /// For messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What to say about credentials when access is denied.
    pub(super) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The URL that was given.
    pub(crate) fn original(&self) -> Url {
        (self.locate)()
    }

    fn locked(&self) -> MutexGuard<'_, Redirected> {
        self.redirected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a redirect led to, if there was one.
    pub(super) fn redirected(&self) -> Option<Url> {
        self.locked().to.clone()
    }

    /// A request was answered there: later ones go there, too.
    pub(super) fn redirect(&self, to: Url) {
        let mut redirected = self.locked();
        if redirected.to.as_ref() == Some(&to) {
            redirected.n_used_up = 0;
        } else if redirected.n_used_up < MAX_USED_UP {
            redirected.to = Some(to);
        }
    }

    /// It is good no more: later requests go to the given URL again.
    pub(super) fn forget(&self, to: &Url) {
        let mut redirected = self.locked();
        if redirected.to.as_ref() == Some(to) {
            redirected.to = None;
            redirected.n_used_up += 1;
        }
    }
}

/// Scheme, host and port.
pub(super) fn origin_of(url: &Url) -> String {
    format!("{}://{}:{}", url.scheme(), url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(0))
}
