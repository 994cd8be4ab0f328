//! One request and the head of its answer: connections, redirects, credentials.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use ureq::unversioned::transport::Connector as _;
use ureq::{Agent, Proxy};
use url::Url;

use super::address::{Address, origin_of};
use super::answer::{Answer, Version};
use super::credential_scope::{CredentialScope, carry_user, shown_origin};
use super::credentials::Credentials;
use super::lookup::AtConnecting;
use super::names::NamesAsWritten;
use super::origin::{Busy, Origin};
use super::proxy::{Proxies, ThroughProxy, place_of};
use super::tcp::Tcp;
use super::thread_pool::ThreadPool;
use super::transport::{Tls, take_connecting};
use super::trial::Trial;
use crate::account::{Ledger, Operation};
use crate::descriptors;
use crate::error::{Error, Result, reason};
use crate::logged::LOG;
use crate::options::{NOT_SENDABLE, Network, is_sendable};
use crate::tls_failure;

const MAX_REDIRECTS: usize = 10;
/// Clients that are kept for later files; each has other credentials.
const MAX_CLIENTS: usize = 16;
/// Certificates are renewed hours before they expire.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);
/// Idle connections are closed after this; many servers close theirs sooner, which is noticed.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// Buffers of each connection, which are cleared when it is made: with 256 and 128 KiB that took half of the time of the threads
/// that read ten columns from S3 over fifty connections.
const INPUT_BYTES: usize = 64 << 10;
/// The head of a request: ranges of 4,000 characters at most, and a token or a signed URL.
const OUTPUT_BYTES: usize = 32 << 10;
/// New connections that one request is given up on where others work, and that an opening is: some servers take long to find a file.
const MOST_GIVEN_UP: u32 = 3;
const MOST_GIVEN_UP_OPENING: u32 = 1;
/// Longer credentials are not sent: they would not fit, and servers refuse heads of more than 8 to 64 KiB.
const MAX_CREDENTIAL_BYTES: usize = 24 << 10;

/// What distinguishes two clients. Connections of one are never used by another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    /// A forked process must not use its parent's connections.
    process: u32,
    credentials: Arc<Credentials>,
    proxies: Proxies,
    timeout: Duration,
    max_connections: usize,
}

/// Connections to any number of servers, with the same credentials.
pub(super) struct Client {
    key: Key,
    agent: Agent,
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
    renewal: Mutex<Renewal>,
    origins: Mutex<HashMap<String, Arc<Origin>>>,
    /// Who makes requests besides those that want the bytes.
    pool: Arc<ThreadPool>,
}

/// Whether the files of a client's credentials are those that it was made with.
struct Renewal {
    looked_at: Instant,
    /// Who has the new ones, for all that used the old.
    successor: Option<Arc<Client>>,
}

/// One question about a file.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub address: &'a Address,
    /// Value of the `Range` header; empty: without one.
    pub range: &'a str,
    /// As what a request that got no answer and is sent again is entered.
    pub operation: Operation,
    /// For messages: what is being done.
    pub doing: &'a str,
    /// The file must still be this one.
    pub version: Option<&'a Version>,
    /// Whether the server may be asked for several ranges.
    pub is_multi_range: bool,
    /// Where redirects are entered, and what is sent again; who asks enters the rest.
    pub ledger: &'a Ledger,
    /// When to give up waiting for the head of the answer.
    pub head_until: Instant,
    /// When to give up.
    pub until: Instant,
}

static CLIENTS: Mutex<Vec<Arc<Client>>> = Mutex::new(Vec::new());

impl Client {
    /// The process's client for these settings.
    pub(super) fn shared(network: &Network) -> Arc<Client> {
        // Credentials are in files, and one that cannot be opened is taken for none.
        descriptors::spare();
        let key = Key {
            process: std::process::id(),
            credentials: Arc::new(Credentials::find(network)),
            proxies: Proxies::of_environment(),
            timeout: network.timeout,
            max_connections: network.max_connections,
        };
        Self::of(key)
    }

    fn of(key: Key) -> Arc<Client> {
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = clients.iter().position(|client| client.key == key) {
            let client = clients.remove(index);
            clients.push(Arc::clone(&client));
            return client;
        }
        let client = Arc::new(Client::new(key));
        if clients.len() >= MAX_CLIENTS {
            clients.remove(0);
        }
        clients.push(Arc::clone(&client));
        client
    }

    fn new(key: Key) -> Client {
        let tls = Arc::new(OnceLock::new());
        let encrypted = Tls(Arc::clone(&tls));
        let through_proxy = ThroughProxy::new(encrypted.clone());
        let connector = ().chain(through_proxy).chain(Tcp).chain(encrypted).chain(NamesAsWritten);
        let config = Agent::config_builder()
            .proxy(None) // which one is told with each request
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .accept("*/*")
            .accept_encoding("identity")
            .user_agent(concat!("arrowroot/", env!("CARGO_PKG_VERSION")))
            .timeout_per_read(Some(key.timeout))
            .timeout_per_write(Some(key.timeout))
            .timeout_connect(Some(key.timeout))
            .input_buffer_size(INPUT_BYTES)
            .output_buffer_size(OUTPUT_BYTES)
            .max_idle_connections(512)
            .max_idle_connections_per_host(256)
            .max_idle_age(MAX_IDLE)
            .build();
        let renewal = Mutex::new(Renewal { looked_at: Instant::now(), successor: None });
        let agent = Agent::with_parts(config, connector, AtConnecting);
        Client { key, agent, tls, renewal, origins: Mutex::new(HashMap::new()), pool: Arc::default() }
    }

    pub(super) fn pool(&self) -> &Arc<ThreadPool> {
        &self.pool
    }

    /// Another one, if this is of another process or if its certificates have been renewed, which is looked for now and
    /// then: connections are what they were when they were made.
    pub(super) fn successor(&self, network: &Network) -> Option<Arc<Client>> {
        if self.key.process != std::process::id() {
            return Some(Client::shared(network));
        }
        let renewal = || self.renewal.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut renewal = renewal();
            if renewal.successor.is_some() || renewal.looked_at.elapsed() < BETWEEN_LOOKS {
                return renewal.successor.clone();
            }
            renewal.looked_at = Instant::now();
        }
        let credentials = self.key.credentials.renewed();
        // What is not there at this moment is perhaps being written.
        if credentials == *self.key.credentials || credentials.lacks_what(&self.key.credentials) {
            return None;
        }
        let successor = Client::of(Key { credentials: Arc::new(credentials), ..self.key.clone() });
        renewal().successor = Some(Arc::clone(&successor));
        Some(successor)
    }

    /// What is known of the server of a URL.
    pub(super) fn origin(&self, url: &Url, is_multi_range: bool) -> Arc<Origin> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{}{}", origin_of(url), if is_multi_range { "" } else { " single" });
        let new = || Arc::new(Origin::new(self.key.max_connections, is_multi_range));
        Arc::clone(origins.entry(name).or_insert_with(new))
    }

    /// Asks, follows redirects, and returns the head of the answer, whatever its status is.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn ask(&self, question: Question<'_>) -> Result<Answer> {
        let Question { address, .. } = question;
        let redirected = address.redirected();
        if let Some(url) = redirected {
            // That address may have been good for some time only, which servers say in any way (dCache with 400).
            let start = Instant::now();
            match self.follow(url.clone(), true, question) {
                Ok(answer) if answer.is_of_file() => return Ok(answer),
                // Nobody else can be asked any more.
                answer if Instant::now() >= question.head_until => {
                    let _ =
                        question.ledger.enter_since(start, Operation::Redirect, std::iter::empty(), Err::<(), ()>(()));
                    return answer;
                }
                answer => {
                    // What the door says counts; but a server that wants a pause gets it.
                    drop(answer.map(Answer::into_error));
                    address.forget(&url);
                }
            }
            let _ = question.ledger.enter_since(start, Operation::Redirect, std::iter::empty(), Err::<(), ()>(()));
        }
        self.follow(address.original(), false, question)
    }

    fn follow(&self, mut url: Url, mut is_redirected: bool, question: Question<'_>) -> Result<Answer> {
        let server = |answer: &str| Error::Server {
            url: question.address.name().to_owned(),
            doing: question.doing.to_owned(),
            answer: answer.to_owned(),
            is_transient: false,
        };
        for _ in 0..=MAX_REDIRECTS {
            let start = Instant::now();
            let answer = self.ask_one(&url, question)?;
            let location = answer.location().filter(|_| matches!(answer.status, 301 | 302 | 303 | 307 | 308));
            let Some(next) = location.map(|location| url.join(&location)) else {
                if is_redirected && answer.is_of_file() {
                    question.address.redirect(url);
                }
                return Ok(answer);
            };
            let next = next.ok().filter(|next| matches!(next.scheme(), "http" | "https"));
            let mut next = next.ok_or_else(|| server("to go to another place, which is no HTTP URL"))?;
            carry_user(&url, &mut next);
            let place = shown_origin(&next, question.address, &self.key.credentials);
            log::info!(target: LOG, "{}: {} redirects to {place}", question.address.name(), question.doing);
            url = next;
            is_redirected = true;
            answer.discard();
            question.ledger.enter_since(start, Operation::Redirect, std::iter::empty(), Ok(()))?;
        }
        Err(server("to go to another place, more than ten times in a row"))
    }

    fn ask_one(&self, url: &Url, question: Question<'_>) -> Result<Answer> {
        let Question { address, head_until, until, .. } = question;
        if url.scheme() == "https" && self.tls.get().is_none() {
            // Two threads may make the same; one of them wins.
            let _ = self.tls.set(self.key.credentials.tls()?);
        }
        let scope = CredentialScope::new(&self.key.credentials, address, url);
        if let Some(n_bytes) = scope.credential_bytes().filter(|n_bytes| *n_bytes > MAX_CREDENTIAL_BYTES) {
            let answer = format!("a bearer token or password of {n_bytes} bytes was not sent");
            let hint = "servers take no request with so long a head".to_owned();
            return Err(Error::Denied { url: address.name().to_owned(), answer, hint });
        }
        if scope.token.as_ref().is_some_and(|token| !is_sendable(token.expose())) {
            let option = format!("token ({})", self.key.credentials.origin_of_token());
            return Err(Error::Option { option, what: NOT_SENDABLE.to_owned() });
        }
        let proxy = self.key.proxies.of(url).map_err(|variable| Error::Option {
            option: variable.to_owned(),
            what: "it names no HTTP proxy: http://HOST:PORT is one".to_owned(),
        })?;
        let origin = self.origin(url, question.is_multi_range);
        let mut permit = origin.enter(head_until).map_err(|busy| too_busy(busy, question))?;
        // A user in it would be sent as it is encoded there.
        let mut bare = url.clone();
        let _ = bare.set_username("").and_then(|()| bare.set_password(None));
        let mut tries_left = 2;
        let mut n_given_up = 0;
        let most_given_up = if question.operation == Operation::Open { MOST_GIVEN_UP_OPENING } else { MOST_GIVEN_UP };
        loop {
            let start = Instant::now();
            let left = until.saturating_duration_since(start);
            let head_left = head_until.saturating_duration_since(start);
            let config = self.agent.get(bare.as_str()).config().timeout_global(Some(left));
            let mut request = config.timeout_recv_response(Some(head_left)).proxy(proxy.cloned()).build();
            if !question.range.is_empty() {
                request = request.header("range", question.range);
            }
            if let Some(token) = &scope.token {
                request = request.header("authorization", format!("Bearer {}", token.expose()));
            } else if let Some(basic) = &scope.basic {
                request = request.header("authorization", basic.expose());
            }
            if let Some((name, value)) = question.version.and_then(Version::condition) {
                request = request.header(name, value);
            }
            take_connecting();
            let may_give_up = (n_given_up < most_given_up).then_some(n_given_up);
            let (response, is_given_up) = Trial::of(&origin, may_give_up, || request.call());
            let connecting = take_connecting();
            match response {
                Ok(response) => {
                    origin.answered_after(start.elapsed().saturating_sub(connecting.unwrap_or_default()));
                    return Ok(Answer::new(response, origin, start, permit, question, self.key.timeout, scope));
                }
                // An idle connection that the server closes at this moment fails like this.
                Err(ureq::Error::Io(error)) if connecting.is_none() && tries_left > 0 && is_closing(&error) => {
                    tries_left -= 1;
                    let none = std::iter::empty();
                    let _ = question.ledger.enter_since(start, question.operation, none, Err::<(), ()>(()));
                }
                Err(_) if is_given_up => {
                    n_given_up += 1;
                    let none = std::iter::empty();
                    let _ = question.ledger.enter_since(start, question.operation, none, Err::<(), ()>(()));
                    origin.give_up();
                    drop(permit);
                    permit = origin.enter(head_until).map_err(|busy| too_busy(busy, question))?;
                }
                Err(error) => return Err(self.refused(error, question, &scope, proxy)),
            }
        }
    }

    fn refused(
        &self,
        error: ureq::Error,
        question: Question<'_>,
        scope: &CredentialScope,
        proxy: Option<&Proxy>,
    ) -> Error {
        let url = question.address.name().to_owned();
        let failed = match &error {
            ureq::Error::Io(error) => tls_failure::of_io(error),
            _ => None,
        };
        if let Some(failed) = failed {
            return match tls_failure::hint(failed) {
                Some(hint) => Error::Insecure { url, what: failed.to_string(), hint: hint.to_owned() },
                None if tls_failure::is_refusal(failed) => {
                    Error::Denied { url, answer: format!("TLS: {failed}{}", scope.led_to()), hint: scope.hint() }
                }
                None => {
                    let what = format!("TLS: {failed}{}", scope.led_to());
                    Error::Connection { url, doing: question.doing.to_owned(), what }
                }
            };
        }
        let mut what = format!("{}{}", what_failed(&error, self.key.timeout), scope.led_to());
        // The name of an object does not say where it was looked for.
        if question.address.hint().is_some() {
            what = format!("{what} ({})", origin_of(&question.address.original()));
        }
        if let Some(proxy) = proxy {
            what = format!("{what} (through the proxy {})", place_of(proxy));
        }
        Error::Connection { url, doing: question.doing.to_owned(), what }
    }
}

fn too_busy(busy: Busy, question: Question<'_>) -> Error {
    let (url, doing) = (question.address.name().to_owned(), question.doing.to_owned());
    match busy {
        Busy::NoConnection => Error::Connection { url, doing, what: "no connection was free in time".to_owned() },
        Busy::Paused(pause) => Error::Paused { url, doing, pause },
    }
}

fn is_closing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// What happened to a connection, without its URL.
pub(super) fn what_failed(error: &ureq::Error, timeout: Duration) -> String {
    match error {
        ureq::Error::Timeout(ureq::Timeout::PerRead | ureq::Timeout::PerWrite) => {
            format!("nothing came for {} s", timeout.as_secs_f64())
        }
        ureq::Error::Timeout(ureq::Timeout::Connect) => format!("no connection within {} s", timeout.as_secs_f64()),
        ureq::Error::Timeout(_) => "the deadline is over".to_owned(),
        ureq::Error::HostNotFound => "there is no host of that name".to_owned(),
        ureq::Error::Io(error) => reason(error),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => "the URL or a credential is none that can be sent".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_succeeded_when_its_certificate_is_renewed_and_not_before() {
        let directory = tempfile::tempdir().unwrap();
        let certificate = directory.path().join("proxy");
        std::fs::write(&certificate, "one").unwrap();
        let network = Network { certificate: Some(certificate.clone()), ..crate::Options::default().network };
        let client = Client::shared(&network);
        let long_ago = || client.renewal.lock().unwrap().looked_at = Instant::now() - 2 * BETWEEN_LOOKS;
        long_ago();
        assert!(client.successor(&network).is_none());
        std::fs::write(&certificate, "another").unwrap();
        assert!(client.successor(&network).is_none(), "it was looked at a moment ago");
        long_ago();
        std::fs::remove_file(&certificate).unwrap();
        assert!(client.successor(&network).is_none(), "it is perhaps being written");
        std::fs::write(&certificate, "yet another").unwrap();
        long_ago();
        let successor = client.successor(&network).unwrap();
        assert!(Arc::ptr_eq(&successor, &Client::shared(&network)));
        assert!(Arc::ptr_eq(&successor, &client.successor(&network).unwrap()), "for all files at once");
    }
}
