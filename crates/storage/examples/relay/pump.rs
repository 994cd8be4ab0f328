//! Moves the bytes of one connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_linger, set_tcp_quickack};

use crate::Relay;
use crate::faults::{Direction, Kind, Next, OfConnection};

/// Pieces of a connection that are on their way: together the window of TCP, 16 MiB and more.
const MAX_PIECES: usize = 256;
/// How often a blocked write looks whether the connection has been reset.
const LOOK: Duration = Duration::from_millis(100);

/// Both sides. The sockets are closed when the last thread lets go.
pub(crate) struct Connection {
    client: TcpStream,
    server: TcpStream,
    is_reset: AtomicBool,
    is_stalled: AtomicBool,
}

impl Connection {
    /// Readies the sockets; `None` if one of them has failed already.
    pub(crate) fn new(client: TcpStream, server: TcpStream) -> Option<Arc<Self>> {
        for stream in [&client, &server] {
            // Small requests must not wait for company.
            stream.set_nodelay(true).ok()?;
            stream.set_write_timeout(Some(LOOK)).ok()?;
        }
        Some(Arc::new(Connection {
            client,
            server,
            is_reset: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
        }))
    }

    /// Ends both sides as a crashed host does: they hear RST, not an end in good order.
    pub(crate) fn reset(&self) {
        self.is_reset.store(true, SeqCst);
        for stream in [&self.client, &self.server] {
            // With a linger time of zero closing sends RST. Until then nothing may be sent, so only reading is shut down,
            // which wakes the threads that hold the sockets open. A socket that is gone needs neither.
            let _ = set_socket_linger(stream, Some(Duration::ZERO));
            let _ = stream.shutdown(Shutdown::Read);
        }
    }

    /// Shuts a side down in good order, unless it is to be reset. A side that is gone already is shut.
    fn end(&self, stream: &TcpStream, how: Shutdown) {
        if !self.is_reset.load(SeqCst) {
            let _ = stream.shutdown(how);
        }
    }

    /// Returns whether all was written.
    fn write(&self, mut to: &TcpStream, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.is_reset.load(SeqCst) {
                return false;
            }
            match to.write(bytes) {
                Ok(0) => return false,
                Ok(n) => bytes = &bytes[n..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// Refuses a connection: with a linger time of zero closing sends RST.
pub(crate) fn refuse(client: &TcpStream) {
    let _ = set_socket_linger(client, Some(Duration::ZERO));
}

/// Relays in both directions until either ends.
pub(crate) fn start(relay: &Arc<Relay>, faults: OfConnection, connection: &Arc<Connection>) {
    let (up_way, down_way) = (Way::new(&faults, Direction::Up), Way::new(&faults, Direction::Down));
    let (up_relay, up_connection) = (Arc::clone(relay), Arc::clone(connection));
    thread::spawn(move || up(&up_relay, up_way, &up_connection));
    let (down_relay, down_connection) = (Arc::clone(relay), Arc::clone(connection));
    thread::spawn(move || down(down_relay, down_way, &down_connection));
}

fn up(relay: &Relay, mut way: Way, connection: &Connection) {
    let opened = Instant::now();
    let handshake = relay.link.handshake();
    let mut buffer = vec![0_u8; 1 << 16];
    let mut goes_on = true;
    while let Ok(n @ 1..) = (&connection.client).read(&mut buffer) {
        // Whoever connects hears one round trip later that it worked; here the first bytes wait instead.
        thread::sleep(handshake.saturating_sub(opened.elapsed()));
        relay.counts.bytes_up.fetch_add(n as u64, Relaxed);
        // After a fault that ends the direction, bytes are read and forgotten until the client goes.
        goes_on = goes_on
            && way.pass(&buffer[..n]).iter().all(|step| act(step, connection, &connection.server, Shutdown::Write));
    }
    connection.end(&connection.server, Shutdown::Write);
    if connection.is_stalled.load(SeqCst) {
        connection.end(&connection.client, Shutdown::Both);
        connection.end(&connection.server, Shutdown::Both);
    }
}

fn down(relay: Arc<Relay>, mut way: Way, connection: &Arc<Connection>) {
    let (queue, arriving) = mpsc::sync_channel::<(Instant, Vec<Step>)>(MAX_PIECES);
    let reading = Arc::clone(connection);
    thread::spawn(move || {
        loop {
            let mut buffer = vec![0_u8; relay.link.piece_bytes()];
            // What the server sends comes as over a line that acknowledges at once: the line has its own delay.
            let _ = set_tcp_quickack(&reading.server, true);
            let Ok(n @ 1..) = (&reading.server).read(&mut buffer) else { break };
            relay.counts.bytes_down.fetch_add(n as u64, Relaxed);
            let (arrives, wait) = relay.link.send(n);
            buffer.truncate(n);
            if queue.send((arrives, way.pass(&buffer))).is_err() {
                break;
            }
            thread::sleep(wait);
        }
    });
    while let Ok((arrives, steps)) = arriving.recv() {
        thread::sleep(arrives.saturating_duration_since(Instant::now()));
        if !steps.iter().all(|step| act(step, connection, &connection.client, Shutdown::Both)) {
            break;
        }
    }
    if !connection.is_stalled.load(SeqCst) {
        connection.end(&connection.client, Shutdown::Both);
        connection.end(&connection.server, Shutdown::Both);
    }
}

/// What becomes of some bytes.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    Reset,
    Close,
    Stall,
}

/// Returns whether the direction goes on.
fn act(step: &Step, connection: &Connection, to: &TcpStream, end: Shutdown) -> bool {
    match step {
        Step::Send(bytes) => return connection.write(to, bytes),
        Step::Wait(time) => {
            thread::sleep(*time);
            return true;
        }
        Step::Reset => connection.reset(),
        Step::Close => connection.end(to, end),
        Step::Stall => connection.is_stalled.store(true, SeqCst),
    }
    false
}

/// One direction of a connection with what will go wrong in it.
struct Way {
    faults: OfConnection,
    /// The next one last.
    next: Vec<Next>,
    /// Bytes that have come so far.
    at: u64,
    /// Of those to come, how many to leave out.
    n_dropped: usize,
}

impl Way {
    fn new(faults: &OfConnection, direction: Direction) -> Self {
        Way { next: faults.queue(direction), faults: faults.clone(), at: 0, n_dropped: 0 }
    }

    /// Applies the faults that lie in the next `bytes`.
    fn pass(&mut self, bytes: &[u8]) -> Vec<Step> {
        let mut steps = Vec::new();
        let (mut rest, mut sent) = (bytes, 0);
        while let Some(next) = self.next.pop_if(|next| next.offset < self.at + rest.len() as u64) {
            let (before, after) = rest.split_at(usize::try_from(next.offset - self.at).unwrap_or(usize::MAX));
            self.forward(before, &mut steps);
            sent += before.len();
            rest = after;
            self.at = next.offset;
            self.faults.mark_met(&next);
            match next.kind {
                Kind::Refuse => {}
                Kind::Delay(time) => steps.push(Step::Wait(time)),
                Kind::Reset => steps.push(Step::Reset),
                Kind::Close => steps.push(Step::Close),
                Kind::Stall => steps.push(Step::Stall),
                Kind::Flip(mask) => {
                    if let Some((first, after)) = rest.split_first() {
                        self.forward(&[first ^ mask], &mut steps);
                        (rest, sent, self.at) = (after, sent + 1, self.at + 1);
                    }
                }
                Kind::Drop(n) => self.n_dropped += n,
                Kind::Repeat(n) => steps.push(Step::Send(bytes[sent.saturating_sub(n)..sent].to_vec())),
            }
        }
        self.forward(rest, &mut steps);
        self.at += rest.len() as u64;
        steps
    }

    fn forward(&mut self, bytes: &[u8], steps: &mut Vec<Step>) {
        let n = self.n_dropped.min(bytes.len());
        self.n_dropped -= n;
        if n < bytes.len() {
            steps.push(Step::Send(bytes[n..].to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Plan;

    /// What a client receives of the numbers from 0 to 99, in pieces of `piece` bytes, and how it ends.
    fn received(plan: &str, piece: usize) -> (Vec<u8>, Vec<Step>) {
        let plan = Arc::new(Plan::parse(plan).unwrap());
        let mut way = Way::new(&plan.connection(), Direction::Down);
        let content: Vec<u8> = (0..100).collect();
        let (mut bytes, mut other) = (Vec::new(), Vec::new());
        for step in content.chunks(piece).flat_map(|piece| way.pass(piece)) {
            match step {
                Step::Send(part) if other.is_empty() => bytes.extend(part),
                Step::Send(_) => {}
                step => other.push(step),
            }
        }
        (bytes, other)
    }

    #[test]
    fn faults_happen_at_their_byte_whatever_the_pieces() {
        for piece in [1, 7, 50, 100] {
            assert_eq!(received("", piece).0, (0..100).collect::<Vec<u8>>());
            assert_eq!(received("*:down:50:close", piece), ((0..50).collect(), vec![Step::Close]));
            assert_eq!(received("0:down:0:reset", piece), (vec![], vec![Step::Reset]));
            assert_eq!(received("1:down:0:reset;0:up:0:reset", piece).1, []);
            let flipped = received("0:down:99:flip:255;0:down:3:flip:1", piece).0;
            assert_eq!((flipped[3], flipped[4], flipped[99], flipped.len()), (2, 4, 99 ^ 255, 100));
            let dropped = received("0:down:10:drop:20", piece).0;
            assert_eq!(dropped, (0..10).chain(30..100).collect::<Vec<u8>>());
        }
        let repeated = received("0:down:10:repeat:3", 100).0;
        assert_eq!(repeated, (0..10).chain(7..100).collect::<Vec<u8>>());
    }

    #[test]
    fn a_plan_that_means_nothing_is_refused() {
        for wrong in ["x", "0:down:1", "0:down:1:flip:0", "0:left:1:reset", "0:down:1:delay", "0:down:1:reset:5"] {
            assert!(Plan::parse(wrong).is_err(), "{wrong}");
        }
    }
}
