//! Connections of this process, shared by all files on the same server that are read by the same user with the same
//! credentials.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::credentials::Identity;
use super::failure::Failure;
use super::login;
use super::url::FileAddress;
use crate::descriptors;
use crate::options::Network;
use crate::shared::Shared;

/// A connection that no open file uses is kept for so long.
const IDLE: Duration = Duration::from_secs(30);
/// How often it is looked after such connections.
const SWEEP: Duration = Duration::from_secs(5);

/// What two files must have in common to share a connection.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    /// A fork makes its own connections.
    process: u32,
    host: String,
    port: u16,
    is_secure: bool,
    user: Option<String>,
    login_token: String,
    identity: Identity,
    timeout: Duration,
    /// Where more than one connection is used, their number.
    lane: usize,
}

impl Key {
    fn new(target: &FileAddress, network: &Network, identity: &Identity, lane: usize) -> Key {
        Key {
            process: std::process::id(),
            host: target.host.clone(),
            port: target.port,
            is_secure: target.is_secure,
            user: target.user.clone(),
            login_token: target.login_token.clone(),
            identity: identity.clone(),
            timeout: network.timeout,
            lane,
        }
    }
}

impl Hash for Key {
    /// Of what mostly differs: secrets need not be hashed.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.process, &self.host, self.port, self.lane).hash(state);
    }
}

type Slot = Arc<Shared<Arc<Connection>, Failure>>;

#[derive(Default)]
struct Pool {
    slots: HashMap<Key, Slot>,
    /// The process whose thread looks after idle connections.
    swept_by: Option<u32>,
}

static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(Mutex::default);

/// How a connection was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It was there.
    Reused,
    /// It was made, and nothing was asked of it.
    New,
    /// It was made, and the early requests are on their way.
    Asked,
}

/// A connection to the server of a target. If it has to be made, which must be done at `until`, the `early` requests may go
/// out with the login.
pub(crate) fn acquire(
    target: &FileAddress,
    network: &Network,
    lane: usize,
    early: &[Vec<u8>],
    until: Instant,
) -> Result<(Arc<Connection>, Arrival), Failure> {
    // Credentials are in files, and one that cannot be opened is taken for none.
    descriptors::spare();
    acquire_as(&Identity::find(network), target, network, lane, early, until)
}

fn acquire_as(
    identity: &Identity,
    target: &FileAddress,
    network: &Network,
    lane: usize,
    early: &[Vec<u8>],
    until: Instant,
) -> Result<(Arc<Connection>, Arrival), Failure> {
    let slot = {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        sweep_from_now_on(&mut pool);
        Arc::clone(pool.slots.entry(Key::new(target, network, identity, lane)).or_default())
    };
    let mut arrival = Arrival::Reused;
    let is_alive = |connection: &Arc<Connection>| connection.is_alive();
    let made = slot.get(until, is_alive, Failure::is_for_want_of_time, |_| {
        let session = login::begin(target, network, identity, early, until)?;
        arrival = if session.early_bytes.is_empty() { Arrival::New } else { Arrival::Asked };
        Ok(Connection::new(session, target, network))
    });
    Ok((made.unwrap_or(Err(Failure::Late))?, arrival))
}

/// Starts the thread that closes idle connections, unless it runs. It ends when there are none.
fn sweep_from_now_on(pool: &mut Pool) {
    let process = std::process::id();
    if pool.swept_by == Some(process) {
        return;
    }
    let sweeper = std::thread::Builder::new().name("arrowroot-xrootd-idle".to_owned());
    // Without it, connections stay until the process ends.
    pool.swept_by = sweeper.spawn(sweep).ok().map(|_| process);
}

fn sweep() {
    loop {
        std::thread::sleep(SWEEP);
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        pool.slots.retain(|_, slot| {
            // In use elsewhere: somebody connects, or is about to.
            if Arc::strong_count(slot) > 1 {
                return true;
            }
            slot.current().is_some_and(|connection| {
                // The slot's own, and this one.
                let is_used = Arc::strong_count(&connection) > 2;
                is_used || connection.idle_for().is_none_or(|time| time < IDLE)
            })
        });
        if pool.slots.is_empty() {
            pool.swept_by = None;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Secret};
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Starts a server that lets everybody in and then says nothing.
    fn start() -> FileAddress {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = FileAddress::parse(&format!("root://{}//f", listener.local_addr().unwrap())).unwrap();
        std::thread::spawn(move || {
            let frame = |body: &[u8]| [[0; 7].as_slice(), &[u8::try_from(body.len()).unwrap()], body].concat();
            let protocol = [0, 0, 5, 0x11, 0, 0, 0, 1];
            for mut client in listener.incoming().flatten() {
                client.write_all(&[frame(&protocol), frame(&protocol), frame(&[7; 16])].concat()).unwrap();
                std::thread::spawn(move || while client.read(&mut [0; 100]).is_ok_and(|n_bytes| n_bytes > 0) {});
            }
        });
        target
    }

    #[test]
    fn a_session_of_one_user_is_not_used_for_another() {
        let (target, network) = (start(), Options::default().network);
        let until = Instant::now() + Duration::from_secs(60);
        let connection = |identity: &Identity| acquire_as(identity, &target, &network, 0, &[], until).unwrap().0;
        let alice = Identity { account: "alice".to_owned(), ..Identity::find(&network) };
        let bob = Identity { account: "bob".to_owned(), ..alice.clone() };
        let with_token = Network { token: Some(Secret::new("t0k3n")), ..network.clone() };
        let with_token = Identity { account: "alice".to_owned(), ..Identity::find(&with_token) };
        let of_alice = connection(&alice);
        assert!(Arc::ptr_eq(&of_alice, &connection(&alice)));
        assert!(!Arc::ptr_eq(&of_alice, &connection(&bob)), "another account");
        assert!(!Arc::ptr_eq(&of_alice, &connection(&with_token)), "another token");
    }
}
