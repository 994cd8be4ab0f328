//! Which credentials a request may show to which server, and what messages say of them.

use std::sync::Arc;

use url::Url;

use super::address::{Address, origin_of};
use super::credentials::Credentials;
use crate::secret::{Secret, basic_authorization, scrubbed_of_sent};

/// The credentials of one request, and the server that it goes to.
pub(super) struct CredentialScope {
    /// What the request has in its head.
    pub(super) token: Option<Secret>,
    /// The same, of a URL that has user and password.
    pub(super) basic: Option<Secret>,
    credentials: Arc<Credentials>,
    is_encrypted: bool,
    /// What signed the request, which has no other credentials then.
    signed: Option<String>,
    /// The server that the one of the URL sent to.
    elsewhere: Option<String>,
}

impl CredentialScope {
    /// For a request to `url`, where the file's own `address` led.
    pub(super) fn new(credentials: &Arc<Credentials>, address: &Address, url: &Url) -> CredentialScope {
        let is_encrypted = url.scheme() == "https";
        let is_elsewhere = !is_same_server(&address.original(), url);
        let signed = address.hint().map(str::to_owned);
        let may_have_token = !is_elsewhere && signed.is_none();
        let token = if may_have_token { credentials.token(is_encrypted) } else { None };
        let has_user = token.is_none() && (!url.username().is_empty() || url.password().is_some());
        CredentialScope {
            basic: has_user.then(|| basic_authorization(url.username(), url.password().unwrap_or_default())),
            token,
            credentials: Arc::clone(credentials),
            is_encrypted,
            signed,
            elsewhere: is_elsewhere.then(|| shown_origin(url, address, credentials)),
        }
    }

    /// How long the token is, or user and password.
    pub(super) fn credential_bytes(&self) -> Option<usize> {
        self.token.as_ref().or(self.basic.as_ref()).map(|secret| secret.expose().len())
    }

    /// Which credentials the request had.
    pub(super) fn hint(&self) -> String {
        match &self.signed {
            Some(signed) => signed.clone(),
            None if self.basic.is_some() => "user and password of the URL were sent".to_owned(),
            None => self.credentials.hint(self.is_encrypted, self.token.is_some()),
        }
    }

    /// Whose answer it is, if not that of the server in the URL.
    pub(super) fn led_to(&self) -> String {
        self.elsewhere.as_ref().map_or_else(String::new, |place| format!(" (by {place}, where it was redirected to)"))
    }
}

/// A place that a server sent to, unless it repeats there what it was asked with: names of hosts have no case.
pub(super) fn shown_origin(url: &Url, address: &Address, credentials: &Credentials) -> String {
    let origin = origin_of(url);
    let asked = address.original().as_str().to_ascii_lowercase();
    let token = credentials.token(true).map(|token| Secret::new(token.expose().to_ascii_lowercase()));
    if scrubbed_of_sent(&origin, &[&asked], token.as_ref()) == origin { origin } else { "another server".to_owned() }
}

/// Whether what is for one server is for another: they are the same, or the second is the first's encrypted side.
fn is_same_server(one: &Url, other: &Url) -> bool {
    let becomes_encrypted = || {
        let is_usual = |url: &Url| url.port().is_none();
        (one.scheme(), other.scheme()) == ("http", "https") && is_usual(one) && is_usual(other)
    };
    one.host_str() == other.host_str() && (origin_of(one) == origin_of(other) || becomes_encrypted())
}

/// User and password go on to another place on the same server, which need not repeat them.
pub(super) fn carry_user(from: &Url, to: &mut Url) {
    if is_same_server(from, to) && to.username().is_empty() && to.password().is_none() {
        // It fails for URLs without a host only.
        let _ = to.set_username(from.username());
        let _ = to.set_password(from.password());
    }
}
