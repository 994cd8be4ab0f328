//! From the name of a file to a handle on a server, wherever redirections lead.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::failure::{Failure, code};
use super::flight::Request;
use super::message::{self, Handle, Stat};
use super::pool::Arrival;
use super::url::FileAddress;
use super::{login, pool};
use crate::account::{Ledger, Operation};
use crate::error::Result;
use crate::logged::LOG;
use crate::options::Network;
use crate::percent;
use crate::requests::xrootd::VectorLimits;

/// Servers on the way to a file, at most: redirections, and tries of other servers.
const MAX_HOPS: usize = 16;
/// With a read the state of the file is asked for if the last time is so long ago: it tells the time in whole seconds.
const STATE_EVERY: Duration = Duration::from_secs(1);

/// A file that is open on a server.
pub(super) struct OpenFile {
    pub(super) connection: Arc<Connection>,
    pub(super) handle: Handle,
    /// Where it was found.
    pub(super) target: FileAddress,
    /// The server knows its handle no more.
    pub(super) is_lost: AtomicBool,
    pub(super) ledger: Arc<Ledger>,
    /// Time of its last change, when it was opened there.
    pub(super) modified_s: i64,
    /// When its state was last asked for.
    asked: Mutex<Instant>,
}

impl OpenFile {
    /// Whether the next read should ask for the state, too; if so, others need not.
    pub(super) fn is_state_due(&self) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = asked.elapsed() >= STATE_EVERY;
        if is_due {
            *asked = Instant::now();
        }
        is_due
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.is_lost.load(Ordering::Relaxed) && self.connection.is_alive()
    }

    pub(super) fn limits(&self) -> VectorLimits {
        self.connection.vectors.within(self.connection.limits().unwrap_or(VectorLimits::DEFAULT))
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.connection.close(self.handle, &self.ledger);
    }
}

/// Opens the file, wherever redirections lead, which must be done at `until`.
pub(super) fn open_at(
    origin: &FileAddress,
    url: &str,
    network: &Network,
    lane: usize,
    ledger: &Arc<Ledger>,
    until: Instant,
) -> Result<(OpenFile, Stat)> {
    let mut way = Way { target: origin.clone(), manager: None, tried: Vec::new(), is_second_try: false };
    for _ in 0..MAX_HOPS {
        let (arrival, result) = ask(&way.target, network, lane, ledger, until);
        let failure = match result {
            Ok(opened) => return Ok(opened),
            Err(failure) => failure,
        };
        let is_redirected = matches!(failure, Failure::Redirected(..));
        let gone_on = way.go_on(failure, arrival);
        gone_on.map_err(|failure| failure.into_error(url, &way.target, "opening"))?;
        if is_redirected {
            log::info!(target: LOG, "{url}: opening is redirected to {}", way.target.shown_server());
        }
    }
    Err(Failure::Wrong(format!("{MAX_HOPS} redirections")).into_error(url, &way.target, "opening"))
}

/// The way to a file.
struct Way {
    /// Where it is asked for next.
    target: FileAddress,
    /// Who sent there, and whom they should not send to again.
    manager: Option<FileAddress>,
    tried: Vec<String>,
    /// A session that was there already has failed.
    is_second_try: bool,
}

impl Way {
    /// Where to ask after a failure; the failure itself if nowhere.
    fn go_on(&mut self, failure: Failure, arrival: Arrival) -> Result<(), Failure> {
        match failure {
            Failure::Redirected(port, place) => {
                let next = self.target.redirected(port, &place)?;
                self.manager = Some(std::mem::replace(&mut self.target, next));
            }
            // The server may have ended the session long ago.
            Failure::Broken(_) if arrival == Arrival::Reused && !self.is_second_try => self.is_second_try = true,
            // Or it was asked too early.
            Failure::Broken(_) | Failure::Refused(code::INVALID_REQUEST | code::NOT_AUTHORIZED, _)
                if arrival == Arrival::Asked =>
            {
                login::note_rebuff(&self.target);
            }
            failure if failure.is_of_server() && !self.tried.contains(&self.target.host) => {
                let Some(manager) = self.manager.take() else { return Err(failure) };
                self.tried.push(self.target.host.clone());
                self.target = manager.without_servers(&self.tried);
            }
            failure => return Err(failure),
        }
        Ok(())
    }
}

/// Opens the file on the server of the target. How its connection was come by is told, too: new if there is none.
fn ask(
    target: &FileAddress,
    network: &Network,
    lane: usize,
    ledger: &Arc<Ledger>,
    until: Instant,
) -> (Arrival, Result<(OpenFile, Stat), Failure>) {
    // A token waits until the server has said whether it encrypts.
    let early = if target.may_tell_secrets() {
        Vec::new()
    } else {
        vec![message::open(&target.path_and_opaque()), message::query_limits()]
    };
    let start = Instant::now(); // the opening goes out with the login
    match pool::acquire(target, network, lane, &early, until) {
        Ok((connection, arrival)) => (arrival, open_on(connection, arrival, target, network, (start, ledger), until)),
        Err(failure) => (Arrival::New, entered(ledger, start, Err(failure))),
    }
}

/// Enters what was done to open a file since `start`, whether there was a connection to do it on or not.
fn entered<T>(ledger: &Ledger, start: Instant, result: Result<T, Failure>) -> Result<T, Failure> {
    let none = std::iter::empty();
    match result {
        Err(Failure::Redirected(..)) => ledger.enter_since(start, Operation::Redirect, none, Ok(())).and(result),
        result => ledger.enter_since(start, Operation::Open, none, result),
    }
}

/// Opens the file on a server, and asks for its limits in the same flight.
fn open_on(
    connection: Arc<Connection>,
    arrival: Arrival,
    target: &FileAddress,
    network: &Network,
    (start, ledger): (Instant, &Arc<Ledger>),
    until: Instant,
) -> Result<(OpenFile, Stat), Failure> {
    let shown = match &network.token {
        Some(token) if connection.is_encrypted() && !target.has_opaque("authz") => {
            target.with_opaque(&format!("authz={}", percent::encoded(&format!("Bearer {}", token.expose()))))
        }
        _ => target.clone(),
    };
    let mut requests = vec![Request::control(message::open(&shown.path_and_opaque()))];
    if connection.limits().is_none() {
        requests.push(Request::control(message::query_limits()).optional());
    }
    let done = match arrival {
        Arrival::Asked => connection.run_early(&mut requests, until).inspect(|()| login::note_welcome(target)),
        Arrival::Reused | Arrival::New => connection.run(&mut requests, until),
    };
    entered(ledger, start, done).map_err(|failure| failure.without_secrets(&shown))?;
    if let Some(limits) = requests.get(1) {
        // A server that does not answer the question has the usual ones.
        let said = if limits.outcome.is_ok() { VectorLimits::parse(limits.words()) } else { VectorLimits::DEFAULT };
        connection.set_limits(said);
    }
    let (handle, stat) = message::parse_open(requests[0].words())?;
    let ledger = Arc::clone(ledger);
    let (target, is_lost, asked) = (target.clone(), AtomicBool::new(false), Mutex::new(Instant::now()));
    let mut file = OpenFile { connection, handle, target, is_lost, ledger, modified_s: 0, asked };
    let stat = match stat {
        Some(stat) => stat,
        None => stat_of(&file, until)?,
    };
    file.modified_s = stat.modified_s;
    Ok((file, stat))
}

/// Asks for the state of a file.
pub(super) fn stat_of(file: &OpenFile, deadline: Instant) -> Result<Stat, Failure> {
    file.ledger.enter(Operation::Stat, std::iter::empty(), || {
        let mut request = [Request::control(message::stat(file.handle))];
        file.connection.run(&mut request, deadline)?;
        Ok(message::parse_stat(request[0].words())?)
    })
}
