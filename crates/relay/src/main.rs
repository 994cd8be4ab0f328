//! relay UPSTREAM_PORT: a TCP relay on the loopback interface that makes a network of it, and breaks it on demand.
//!
//! For tests and benchmarks. It listens on a free port of 127.0.0.1, connects to UPSTREAM_PORT there, and answers each line
//! on stdin with one line of JSON. It ends when stdin ends.
//!
//! | line | does |
//! |---|---|
//! | (at the start) | `{"port": ..}`: where it listens |
//! | `link LATENCY_MS MB_PER_S HANDSHAKE` | the network from now on: round trip, rate shared by all connections (0: no limit), and whether a new connection costs a round trip (1) or none (0) |
//! | `faults FAULT;FAULT;...` | what will go wrong, see `faults.rs`; connections count from 0 again |
//! | `cut` | resets all connections, and answers when both sides of each have been told |
//! | `counts` | connections and bytes since the last time, and the positions of the faults that have happened |
//!
//! What the server sends is delayed by the whole round trip, what the client sends by nothing, so a client sees the same
//! times as with half of it each way. There is no TCP slow start and no loss. The relay is honest about the rate: the time
//! at which a byte leaves the link is computed, not slept, so that a late wake-up costs no bandwidth.

#![expect(clippy::disallowed_types, reason = "a program of its own, not part of the crate")]
#![expect(clippy::expect_used, reason = "a program for tests says what is wrong and ends")]

mod faults;
mod link;
mod pump;
mod way;

use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use faults::Plan;
use link::Link;
use pump::Connection;

/// What all connections share.
pub(crate) struct Relay {
    pub(crate) link: Link,
    plan: Mutex<Arc<Plan>>,
    pub(crate) counts: Counts,
    open: Mutex<Vec<Weak<Connection>>>,
}

/// Since the last time they were asked for.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) connections: AtomicU64,
    pub(crate) bytes_up: AtomicU64,
    pub(crate) bytes_down: AtomicU64,
}

fn main() {
    let upstream: u16 = std::env::args().nth(1).and_then(|port| port.parse().ok()).expect("usage: relay UPSTREAM_PORT");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let relay = Arc::new(Relay {
        link: Link::default(),
        plan: Mutex::default(),
        counts: Counts::default(),
        open: Mutex::default(),
    });
    say(&format!("{{\"port\": {}}}", listener.local_addr().expect("it is bound").port()));

    listener.set_nonblocking(true).expect("a socket that need not be waited for");
    let moving = Arc::clone(&relay);
    std::thread::spawn(move || pump::run(&moving, &listener, upstream).expect("news of sockets"));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        say(&relay.obey(line.trim()).unwrap_or_else(|wrong| format!("{{\"error\": {wrong:?}}}")));
    }
}

impl Relay {
    /// What goes wrong now.
    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps a connection in mind that may be cut.
    pub(crate) fn opened(&self, connection: &Arc<Connection>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|connection| connection.strong_count() > 0);
        open.push(Arc::downgrade(connection));
    }

    fn obey(&self, line: &str) -> Result<String, String> {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "link" => self.link.set(rest)?,
            "faults" => {
                *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(Plan::parse(rest)?);
            }
            "cut" => {
                let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
                open.iter().filter_map(Weak::upgrade).for_each(|connection| connection.reset());
                // Closing is what both sides hear. The thread that holds the sockets lets go of them as soon as it has its turn.
                while open.iter().any(|connection| connection.strong_count() > 0) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            "counts" => {
                let plan = self.plan();
                return Ok(format!(
                    "{{\"connections\": {}, \"bytes_up\": {}, \"bytes_down\": {}, \"faults\": {:?}}}",
                    self.counts.connections.swap(0, Relaxed),
                    self.counts.bytes_up.swap(0, Relaxed),
                    self.counts.bytes_down.swap(0, Relaxed),
                    plan.met(),
                ));
            }
            _ => return Err(format!("no command {command:?}")),
        }
        Ok("{}".to_owned())
    }
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // Whoever started the relay may have gone; stdin ends then, too.
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
