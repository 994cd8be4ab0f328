//! A file on an XRootD server as a source.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::connection::{Connection, Request};
use super::credentials::percent_encoded;
use super::failure::{Failure, code};
use super::message::{self, Handle, Stat, VectorLimits};
use super::url::Target;
use super::{plan, pool};
use crate::error::{Error, Result};
use crate::options::Network;
use crate::secret::redacted;
use crate::source::{Nature, Opened, Part, Source, Speculation, check_range};

/// Servers on the way to a file, at most: redirections, and tries of other servers.
const MAX_HOPS: usize = 16;
/// Redirections of one read.
const MAX_READ_HOPS: usize = 4;

/// Opens a file of a `root://` or `roots://` URL.
///
/// After the connection this takes two round trips: opening, which brings size and time of the last change (and the
/// server's limits), and one vector read of what the speculation names. Each redirection adds the connection to another
/// server and its opening.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Denied`] and [`Error::Server`] as the server answers; [`Error::Connection`] if it cannot
/// be reached; [`Error::WrongAnswer`] if it does not speak the protocol; [`Error::Option`] if the URL is malformed.
pub fn open_xrootd(url: &str, network: &Network, speculation: Speculation) -> Result<Opened> {
    let origin = Target::parse(url)?;
    let url = redacted(url);
    let (file, stat) = open_at(&origin, &url, network)?;
    let source = XrootdFile {
        size_bytes: stat.size_bytes,
        modified_s: stat.modified_s,
        url,
        origin,
        network: network.clone(),
        current: Mutex::new(Arc::new(file)),
    };
    let known = source.speculate(speculation)?;
    Ok(Opened { source: Arc::new(source), known, ledgers: Vec::new() })
}

struct XrootdFile {
    url: String,
    size_bytes: u64,
    modified_s: i64,
    origin: Target,
    network: Network,
    current: Mutex<Arc<OpenFile>>,
}

/// A file that is open on a server.
struct OpenFile {
    connection: Arc<Connection>,
    handle: Handle,
    /// Where it was found.
    target: Target,
    /// The server knows its handle no more.
    is_lost: AtomicBool,
}

impl OpenFile {
    fn is_usable(&self) -> bool {
        !self.is_lost.load(Ordering::Relaxed) && self.connection.is_alive()
    }

    fn limits(&self) -> VectorLimits {
        self.connection.limits().unwrap_or(VectorLimits::DEFAULT)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.connection.close(self.handle);
    }
}

/// Opens the file, wherever redirections lead.
fn open_at(origin: &Target, url: &str, network: &Network) -> Result<(OpenFile, Stat)> {
    let mut target = origin.clone();
    // Who sent here, and whom they should not send to again.
    let mut manager: Option<Target> = None;
    let mut tried: Vec<String> = Vec::new();
    let mut is_second_try = false;
    for _ in 0..MAX_HOPS {
        let mut is_reused = false;
        let result = pool::acquire(&target, network)?.and_then(|(connection, was_there)| {
            is_reused = was_there;
            open_on(connection, &target, network)
        });
        let failure = match result {
            Ok(opened) => return Ok(opened),
            Err(failure) => failure,
        };
        match failure {
            Failure::Redirected(port, place) => {
                let next = target.redirected(port, &place);
                let next = next.map_err(|what| Failure::Wrong(what).into_error(url, &target, "opening"))?;
                manager = Some(std::mem::replace(&mut target, next));
            }
            // The server may have ended the session long ago.
            Failure::Broken(_) if is_reused && !is_second_try => is_second_try = true,
            failure if failure.is_of_server() && manager.as_ref().is_some_and(|_| !tried.contains(&target.host)) => {
                tried.push(target.host.clone());
                let Some(from) = manager.take() else { return Err(failure.into_error(url, &target, "opening")) };
                target = from.with_opaque(&format!("tried={}", tried.join(",")));
            }
            failure => return Err(failure.into_error(url, &target, "opening")),
        }
    }
    Err(Failure::Wrong(format!("{MAX_HOPS} redirections")).into_error(url, &target, "opening"))
}

/// Opens the file on a server, and asks for its limits in the same flight.
fn open_on(connection: Arc<Connection>, target: &Target, network: &Network) -> Result<(OpenFile, Stat), Failure> {
    let shown = match &network.token {
        Some(token) if connection.is_encrypted() && !target.has_opaque("authz") => {
            target.with_opaque(&format!("authz={}", percent_encoded(&format!("Bearer {}", token.expose()))))
        }
        _ => target.clone(),
    };
    let mut requests = vec![Request::control(message::open(&shown.path_and_opaque()))];
    if connection.limits().is_none() {
        requests.push(Request::control(message::query_limits()).optional());
    }
    connection.run(&mut requests)?;
    if let Some(limits) = requests.get(1) {
        // A server that does not answer the question has the usual ones.
        let said = if limits.outcome.is_ok() { VectorLimits::parse(limits.words()) } else { VectorLimits::DEFAULT };
        connection.set_limits(said);
    }
    let (handle, stat) = message::parse_open(requests[0].words())?;
    let file = OpenFile { connection, handle, target: target.clone(), is_lost: AtomicBool::new(false) };
    let stat = match stat {
        Some(stat) => stat,
        None => stat_of(&file)?,
    };
    Ok((file, stat))
}

fn stat_of(file: &OpenFile) -> Result<Stat, Failure> {
    let mut request = [Request::control(message::stat(file.handle))];
    file.connection.run(&mut request)?;
    Ok(message::parse_stat(request[0].words())?)
}

impl XrootdFile {
    /// Head and tail in one request.
    fn speculate(&self, speculation: Speculation) -> Result<Vec<(u64, Vec<u8>)>> {
        let head_end = speculation.head_bytes.min(self.size_bytes);
        let tail_start = self.size_bytes.saturating_sub(speculation.tail_bytes).max(head_end);
        let ranges = if tail_start == head_end {
            vec![(0, self.size_bytes)]
        } else {
            vec![(0, head_end), (tail_start, self.size_bytes)]
        };
        let buffer = |(start, end): (u64, u64)| (start, vec![0; usize::try_from(end - start).unwrap_or(0)]);
        let is_wanted = |(start, end): &(u64, u64)| {
            end > start && (end - start <= speculation.head_bytes.saturating_add(speculation.tail_bytes))
        };
        let mut known: Vec<_> = ranges.into_iter().filter(is_wanted).map(buffer).collect();
        let mut parts: Vec<_> = known.iter_mut().map(|(offset, buffer)| Part { offset: *offset, buffer }).collect();
        self.read_parts(&mut parts)?;
        Ok(known)
    }

    /// The open file; opened again if its connection broke.
    fn file(&self) -> Result<Arc<OpenFile>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if !current.is_usable() {
            // Where it was, if it is still there; otherwise from the beginning.
            let again = open_at(&current.target, &self.url, &self.network);
            let again = if again.is_err() && current.target != self.origin {
                open_at(&self.origin, &self.url, &self.network)
            } else {
                again
            };
            *current = self.checked(again?, &current.target)?;
        }
        Ok(Arc::clone(&current))
    }

    /// Follows a redirection of a read, unless another thread did.
    fn follow(&self, from: &Arc<OpenFile>, port: i32, place: &str) -> Result<()> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, from) {
            let next = from.target.redirected(port, place);
            let next = next.map_err(|what| Failure::Wrong(what).into_error(&self.url, &from.target, "reading"))?;
            *current = self.checked(open_at(&next, &self.url, &self.network)?, &from.target)?;
        }
        Ok(())
    }

    /// The file must be the one that was opened first. On another server the same content may have another time.
    fn checked(&self, (file, stat): (OpenFile, Stat), before: &Target) -> Result<Arc<OpenFile>> {
        let is_same_server = (&file.target.host, file.target.port) == (&before.host, before.port);
        self.check_stat(stat, is_same_server)?;
        Ok(Arc::new(file))
    }

    fn check_stat(&self, stat: Stat, is_same_server: bool) -> Result<()> {
        let changed = |what: String| Err(Error::Changed { url: self.url.clone(), what });
        if stat.size_bytes != self.size_bytes {
            return changed(format!("it had {} bytes and has {}", self.size_bytes, stat.size_bytes));
        }
        if is_same_server && stat.modified_s != self.modified_s {
            return changed(format!("it was last changed at {} s and now at {} s", self.modified_s, stat.modified_s));
        }
        Ok(())
    }

    fn read_parts(&self, parts: &mut [Part<'_>]) -> Result<()> {
        for part in &*parts {
            check_range(self, part.offset, part.buffer.len())?;
        }
        if parts.iter().all(|part| part.buffer.is_empty()) {
            return Ok(());
        }
        for _ in 0..MAX_READ_HOPS {
            let file = self.file()?;
            let mut requests = plan::requests(file.handle, file.limits(), parts);
            let Err(failure) = file.connection.run(&mut requests) else { return Ok(()) };
            match failure {
                Failure::Redirected(port, place) => self.follow(&file, port, &place)?,
                failure => return Err(self.explained(failure, &file, parts)),
            }
        }
        let wrong = Failure::Wrong(format!("{MAX_READ_HOPS} redirections of one read"));
        Err(wrong.into_error(&self.url, &self.file()?.target, &doing(parts)))
    }

    /// What a failed read means: perhaps that the file became another one.
    fn explained(&self, failure: Failure, file: &OpenFile, parts: &[Part<'_>]) -> Error {
        if let Failure::Refused(code::FILE_NOT_OPEN, _) = failure {
            file.is_lost.store(true, Ordering::Relaxed);
        }
        let may_be_changed =
            matches!(failure, Failure::Short(_) | Failure::Refused(code::FS_ERROR | code::IO_ERROR, _));
        if may_be_changed
            && let Ok(stat) = stat_of(file)
            && let Err(changed) = self.check_stat(stat, true)
        {
            return changed;
        }
        failure.into_error(&self.url, &file.target, &doing(parts))
    }
}

fn doing(parts: &[Part<'_>]) -> String {
    match parts {
        [part] => format!("reading {} bytes at {}", part.buffer.len(), part.offset),
        parts => {
            let n_bytes: usize = parts.iter().map(|part| part.buffer.len()).sum();
            let first = parts.iter().map(|part| part.offset).min().unwrap_or(0);
            format!("reading {} ranges of {n_bytes} bytes from {first} on", parts.len())
        }
    }
}

impl Source for XrootdFile {
    fn url(&self) -> &str {
        &self.url
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_parts(&mut [Part { offset, buffer }])
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        self.read_parts(parts)
    }

    fn version(&self) -> Option<String> {
        Some(self.modified_s.to_string())
    }

    fn nature(&self) -> Nature {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.connection.nature()
    }
}
