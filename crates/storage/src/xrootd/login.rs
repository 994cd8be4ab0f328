//! From a server's address to a session: connection, handshake, encryption, login, authentication.

use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connect::connect;
use super::connection::FIRST_STREAM;
use super::credentials::Identity;
use super::failure::{Failure, code};
use super::frame::Incoming;
use super::message::{self, HEADER_BYTES, Header};
use super::tls;
use super::url::FileAddress;
use super::wire::{Line, Patience};
use crate::http::credentials::WITHHELD;
use crate::options::Network;
use crate::secret::scrubbed_of_sent;

/// No answer before the first file is longer.
const MAX_ANSWER_BYTES: usize = 64 << 10;
/// Times that a server may ask to wait before it says whether it believes who is asking.
const MAX_WAITS: usize = 5;

/// Servers that want encryption though their URL does not say so: found out at the first login.
static ENCRYPTING: LazyLock<Mutex<HashSet<Server>>> = LazyLock::new(Mutex::default);
/// How often in a row servers did not take well to what was sent early.
static REBUFFS: LazyLock<Mutex<HashMap<Server, u8>>> = LazyLock::new(Mutex::default);
/// After so many nothing is sent early any more: a connection that breaks for another reason looks the same.
const MAX_REBUFFS: u8 = 3;

/// Host and port.
type Server = (String, u16);

/// A session that has begun.
pub(crate) struct Session {
    pub(crate) line: Line,
    pub(crate) is_encrypted: bool,
    /// Sizes of the requests that went out with the login, in the streams from [`FIRST_STREAM`] on.
    pub(crate) early_bytes: Vec<usize>,
    /// When the first words were sent.
    pub(crate) started: Instant,
    /// From then to having their answers.
    pub(crate) round_trip: Duration,
}

fn encrypting() -> MutexGuard<'static, HashSet<Server>> {
    ENCRYPTING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn rebuffs() -> MutexGuard<'static, HashMap<Server, u8>> {
    REBUFFS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn server_of(target: &FileAddress) -> Server {
    (target.host.clone(), target.port)
}

/// What came with the login was not taken well, or so it seems.
pub(crate) fn note_rebuff(target: &FileAddress) {
    let mut rebuffs = rebuffs();
    let n = rebuffs.entry(server_of(target)).or_default();
    *n = n.saturating_add(1);
}

/// What came with the login was answered.
pub(crate) fn note_welcome(target: &FileAddress) {
    rebuffs().remove(&server_of(target));
}

/// Begins a session.
///
/// Without encryption, handshake, login and the `early` requests go out together: one round trip for all. If the server
/// wants to know who is asking, it refuses what came early: the connection is made again without. With encryption, the
/// server has to agree first: two more round trips.
///
/// Gives up at `until`.
pub(crate) fn begin(
    target: &FileAddress,
    network: &Network,
    identity: &Identity,
    early: &[Vec<u8>],
    until: Instant,
) -> Result<Session, Failure> {
    let patience = Patience { timeout: network.timeout, until };
    let server = server_of(target);
    // Who can prove who they are will probably have to.
    let may_be_early =
        identity.credentials.token(true).is_none() && rebuffs().get(&server).is_none_or(|&n| n < MAX_REBUFFS);
    let mut early = if may_be_early { early } else { &[] };
    let mut broke_early = false;
    // A token that was given is for this server: it is worth the round trips to be able to show it.
    while !(target.is_secure || network.token.is_some() || encrypting().contains(&server)) {
        let line = Line::new(connect(target, patience)?, network.timeout);
        match begin_plain(line, target, identity, early, patience) {
            Ok(Plain::Begun(session)) => {
                if broke_early {
                    note_rebuff(target);
                }
                return Ok(*session);
            }
            Ok(Plain::Encrypts) => drop(encrypting().insert(server.clone())),
            Ok(Plain::IsCeremonious) => {
                rebuffs().insert(server.clone(), MAX_REBUFFS);
                early = &[];
            }
            // It may have hung up on what came early: so it seems if it does not without.
            Err(Failure::Broken(_)) if !early.is_empty() => {
                broke_early = true;
                early = &[];
            }
            Err(failure) => return Err(failure),
        }
    }
    begin_encrypted(target, identity, patience)
}

/// What comes of a login without encryption.
enum Plain {
    Begun(Box<Session>),
    /// The server wants encryption.
    Encrypts,
    /// The server wants to know who is asking before it is asked for anything, and it was.
    IsCeremonious,
}

fn begin_plain(
    mut line: Line,
    target: &FileAddress,
    identity: &Identity,
    early: &[Vec<u8>],
    patience: Patience,
) -> Result<Plain, Failure> {
    let started = Instant::now();
    let mut words = message::handshake().to_vec();
    words.extend(message::protocol(false));
    words.extend(login_request(target, identity));
    for (stream, request) in (FIRST_STREAM..).zip(early) {
        let start = words.len();
        words.extend(request);
        message::set_stream(&mut words[start..], stream);
    }
    line.outbound.send(&words)?;
    read_handshake(&mut line, patience)?;
    let flags = message::parse_protocol(&expect_ok(&mut line, patience)?)?;
    let login = answer(&mut line, patience)?;
    let round_trip = started.elapsed();
    let can_tls = flags & message::HAVE_TLS != 0;
    if can_tls && flags & message::WANTS_TLS != 0 {
        return Ok(Plain::Encrypts);
    }
    let offered = match login {
        (message::OK, body) => message::parse_login(&body)?,
        (message::ERROR, body) if message::parse_error(&body).0 == code::TLS_REQUIRED && can_tls => {
            return Ok(Plain::Encrypts);
        }
        other => return Err(unexpected(other)),
    };
    // Servers that encrypt may be shown a token.
    let token = identity.credentials.token(true);
    if can_tls && token.is_some() && offered.iter().any(|name| name == "ztn") {
        return Ok(Plain::Encrypts);
    }
    if !offered.is_empty() && !early.is_empty() {
        return Ok(Plain::IsCeremonious);
    }
    authenticate(&mut line, &offered, identity, false, patience)?;
    let early_bytes = early.iter().map(Vec::len).collect();
    Ok(Plain::Begun(Box::new(Session { line, is_encrypted: false, early_bytes, started, round_trip })))
}

fn begin_encrypted(target: &FileAddress, identity: &Identity, patience: Patience) -> Result<Session, Failure> {
    let configuration = tls::configuration(&identity.credentials)?;
    let mut line = Line::new(connect(target, patience)?, patience.timeout);
    let started = Instant::now();
    let mut words = message::handshake().to_vec();
    words.extend(message::protocol(true));
    line.outbound.send(&words)?;
    read_handshake(&mut line, patience)?;
    let flags = message::parse_protocol(&expect_ok(&mut line, patience)?)?;
    let round_trip = started.elapsed();
    let is_encrypted = flags & message::GOTO_TLS != 0;
    if is_encrypted {
        line = line.encrypt(tls::session(&configuration, &target.host)?, patience)?;
    } else if target.is_secure {
        let answer = format!("{} does not encrypt", target.server());
        return Err(Failure::Insecure(answer, "use root:// if nobody needs to be kept from reading along".to_owned()));
    }
    line.outbound.send(&login_request(target, identity))?;
    let offered = message::parse_login(&expect_ok(&mut line, patience)?)?;
    authenticate(&mut line, &offered, identity, is_encrypted, patience)?;
    Ok(Session { line, is_encrypted, early_bytes: Vec::new(), started, round_trip })
}

fn login_request(target: &FileAddress, identity: &Identity) -> Vec<u8> {
    message::login(target.user.as_ref().unwrap_or(&identity.account), std::process::id(), &target.login_token)
}

/// The answer to the first bytes: as that to a request of stream 0, of eight bytes.
fn read_handshake(line: &mut Line, patience: Patience) -> Result<(), Failure> {
    let header = next_header(line, patience)?;
    if header != (Header { stream: 0, status: message::OK, n_bytes: HEADER_BYTES }) {
        return Err(Failure::Wrong("this is no XRootD server".to_owned()));
    }
    // Nothing of it is of use; it is passed over.
    Ok(())
}

fn next_header(line: &mut Line, patience: Patience) -> Result<Header, Failure> {
    let started = Instant::now();
    line.inbound.set_deadline(patience.until);
    loop {
        if let Some(header) = line.inbound.header()? {
            return Ok(header);
        }
        patience.check(started.max(line.inbound.last_byte()))?;
    }
}

/// Status and body of the next answer.
fn answer(line: &mut Line, patience: Patience) -> Result<(u16, Vec<u8>), Failure> {
    let header = next_header(line, patience)?;
    if header.n_bytes > MAX_ANSWER_BYTES {
        return Err(Failure::Wrong(format!("{} bytes where words were due", header.n_bytes)));
    }
    let mut body = vec![0; header.n_bytes];
    line.inbound.fill(&mut body)?;
    Ok((header.status, body))
}

fn expect_ok(line: &mut Line, patience: Patience) -> Result<Vec<u8>, Failure> {
    match answer(line, patience)? {
        (message::OK, body) => Ok(body),
        other => Err(unexpected(other)),
    }
}

fn unexpected((status, body): (u16, Vec<u8>)) -> Failure {
    match status {
        message::ERROR => {
            let (number, words) = message::parse_error(&body);
            Failure::Refused(number, words)
        }
        message::REDIRECT => match message::parse_redirect(&body) {
            Ok((port, place)) => Failure::Redirected(port, place),
            Err(what) => Failure::Wrong(what),
        },
        _ => Failure::Wrong(format!("status {status} at the login")),
    }
}

/// Proves who is asking by the first of the offered protocols that works.
fn authenticate(
    line: &mut Line,
    offered: &[String],
    identity: &Identity,
    is_encrypted: bool,
    patience: Patience,
) -> Result<(), Failure> {
    let token = identity.credentials.token(true);
    let mut refusals = Vec::new();
    let mut n_waits = 0;
    for protocol in offered {
        let Some(shown) = identity.proof(protocol, token.as_ref().filter(|_| is_encrypted)) else { continue };
        loop {
            line.outbound.send(&message::auth(protocol, &shown))?;
            match answer(line, patience)? {
                (message::OK, _) => return Ok(()),
                (message::ERROR, body) => {
                    let words = scrubbed_of_sent(&message::parse_error(&body).1, &[], token.as_ref());
                    refusals.push(format!("{protocol}: {words}"));
                }
                (message::AUTH_MORE, _) => refusals.push(format!("{protocol}: the server wants more than was shown")),
                (message::WAIT, body) if n_waits < MAX_WAITS => {
                    n_waits += 1;
                    let pause = Duration::from_secs(message::parse_seconds(&body)?.into()).min(patience.timeout);
                    if pause >= patience.until.saturating_duration_since(Instant::now()) {
                        return Err(Failure::Paused(pause));
                    }
                    std::thread::sleep(pause);
                    continue;
                }
                other => return Err(unexpected(other)),
            }
            break;
        }
    }
    if offered.is_empty() {
        return Ok(());
    }
    let answer = match refusals.as_slice() {
        [] => format!("it wants to know who is asking, by one of: {}", offered.join(", ")),
        refusals => refusals.join("; "),
    };
    let hint = match identity.credentials.are_withheld() {
        true => WITHHELD.to_owned(),
        false => denied_hint(offered, token.is_some(), is_encrypted),
    };
    Err(Failure::Denied(answer, hint))
}

fn denied_hint(offered: &[String], has_token: bool, is_encrypted: bool) -> String {
    let mut hints = Vec::new();
    if offered.iter().any(|name| name == "ztn") {
        match (has_token, is_encrypted) {
            (false, _) => hints.push("give a token (option `token`, BEARER_TOKEN or BEARER_TOKEN_FILE)".to_owned()),
            (true, false) => hints.push("a token is only shown over an encrypted connection: use roots://".to_owned()),
            (true, true) => hints.push("a token was shown: see that it is valid and meant for this server".to_owned()),
        }
    }
    let others: Vec<_> =
        offered.iter().map(String::as_str).filter(|name| !["ztn", "unix", "host"].contains(name)).collect();
    if !others.is_empty() {
        hints.push(format!("for {} install the extra `xrootd`, the official client", others.join(", ")));
    }
    if hints.is_empty() { "see that this account may use the server".to_owned() } else { hints.join("; ") }
}

impl From<String> for Failure {
    /// What a parser found wrong with an answer.
    fn from(what: String) -> Failure {
        Failure::Wrong(what)
    }
}
