//! Moves the bytes of all connections, in one thread: with threads of its own for each, a relay takes as much of the machine's time
//! as the client that is measured.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{set_socket_linger, set_tcp_quickack};

use crate::Relay;
use crate::faults::{Direction, OfConnection};
use crate::way::{Step, Way};

/// Pieces of a connection that are on their way: together the window of TCP, 16 MiB and more.
const MAX_PIECES: usize = 256;
/// How often to look whether a connection was cut that waits for nothing else.
const LOOK: Duration = Duration::from_millis(100);

/// Both sides, which are closed when the last one lets go.
pub(crate) struct Connection {
    client: TcpStream,
    server: TcpStream,
    is_reset: AtomicBool,
}

impl Connection {
    /// Readies the sockets; `None` if one of them has failed already.
    fn new(client: TcpStream, server: TcpStream) -> Option<Arc<Self>> {
        for stream in [&client, &server] {
            // Small requests must not wait for company.
            stream.set_nodelay(true).ok()?;
            stream.set_nonblocking(true).ok()?;
        }
        Some(Arc::new(Connection { client, server, is_reset: AtomicBool::new(false) }))
    }

    /// Ends both sides as a crashed host does: they hear RST, not an end in good order.
    pub(crate) fn reset(&self) {
        self.is_reset.store(true, SeqCst);
        for stream in [&self.client, &self.server] {
            // With a linger time of zero closing sends RST. Until then nothing may be sent, so only reading is shut down,
            // which wakes who holds the sockets open. A socket that is gone needs neither.
            let _ = set_socket_linger(stream, Some(Duration::ZERO));
            let _ = stream.shutdown(Shutdown::Read);
        }
    }

    /// Ends both sides in good order. What is gone already is shut.
    fn end(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}

/// Relays the connections that come until the process ends.
pub(crate) fn run(relay: &Relay, listener: &TcpListener, upstream: u16) {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut buffer = Vec::new();
    loop {
        let now = Instant::now();
        let mut wake = now + LOOK;
        pairs.retain_mut(|pair| pair.go_on(now, &mut wake));
        let mut sockets = vec![PollFd::new(listener, PollFlags::IN)];
        let mut asked = Vec::new();
        for (place, pair) in pairs.iter().enumerate() {
            for (direction, socket, flags) in pair.interests(now) {
                sockets.push(PollFd::new(socket, flags));
                asked.push((place, direction));
            }
        }
        let rest = Timespec::try_from(wake.saturating_duration_since(Instant::now()));
        // Where that fails, the next turn shows why.
        let _ = poll(&mut sockets, rest.ok().as_ref());
        let mut is_ready = sockets.iter().map(|socket| !socket.revents().is_empty());
        let is_called = is_ready.next().unwrap_or(false);
        let ready: Vec<_> = asked.into_iter().zip(is_ready).filter(|(_, is_ready)| *is_ready).collect();
        buffer.resize(relay.link.piece_bytes(), 0);
        for ((place, direction), _) in ready {
            pairs[place].take(relay, direction, &mut buffer);
        }
        if is_called && let Ok((client, _)) = listener.accept() {
            pairs.extend(accept(relay, client, upstream));
        }
    }
}

fn accept(relay: &Relay, client: TcpStream, upstream: u16) -> Option<Pair> {
    let faults = relay.plan().connection();
    relay.counts.connections.fetch_add(1, Relaxed);
    if faults.refuses() {
        // With a linger time of zero closing sends RST.
        let _ = set_socket_linger(&client, Some(Duration::ZERO));
        return None;
    }
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, upstream)).ok()?;
    let connection = Connection::new(client, server)?;
    relay.opened(&connection);
    Some(Pair::new(connection, &faults, relay.link.handshake()))
}

/// A connection with its two directions.
struct Pair {
    connection: Arc<Connection>,
    up: Lane,
    down: Lane,
    /// Nothing comes through any more, and nobody says so.
    is_stalled: bool,
    /// Whoever connects hears one round trip later that it worked; here the first bytes wait instead.
    opens: Instant,
}

/// One direction.
struct Lane {
    way: Way,
    /// What is on its way, and when it arrives.
    pieces: VecDeque<(Instant, Step)>,
    /// Bytes of the first piece that were written.
    n_written: usize,
    is_blocked: bool,
    /// Nothing is handed on before.
    not_before: Instant,
    /// Nothing is read before.
    reads_from: Instant,
    /// No more will come.
    has_ended: bool,
    /// What still comes is forgotten.
    is_over: bool,
    /// The other side was told so.
    is_done: bool,
}

impl Lane {
    fn new(faults: &OfConnection, direction: Direction, now: Instant) -> Lane {
        Lane {
            way: Way::new(faults, direction),
            pieces: VecDeque::new(),
            n_written: 0,
            is_blocked: false,
            not_before: now,
            reads_from: now,
            has_ended: false,
            is_over: false,
            is_done: false,
        }
    }

    fn reads(&self) -> bool {
        !self.has_ended && self.pieces.len() < MAX_PIECES
    }

    /// When there will be something to do that no socket tells.
    fn wakes(&self, now: Instant) -> Option<Instant> {
        let hands_on = self.pieces.front().filter(|_| !self.is_blocked).map(|(at, _)| self.not_before.max(*at));
        let reads = self.reads().then_some(self.reads_from);
        hands_on.into_iter().chain(reads).filter(|at| *at > now).min()
    }

    /// Writes of the first piece what can be written; whether that is all of it.
    fn write(&mut self, mut to: &TcpStream) -> io::Result<bool> {
        while let Some((_, Step::Send(bytes))) = self.pieces.front()
            && self.n_written < bytes.len()
        {
            match to.write(&bytes[self.n_written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.n_written += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.n_written = 0;
        Ok(true)
    }

    /// Does what is due, up to what ends the direction, which is returned.
    fn hand_on(&mut self, to: &TcpStream, now: Instant) -> Option<Step> {
        self.is_blocked = false;
        while let Some((at, _)) = self.pieces.front()
            && self.not_before.max(*at) <= now
        {
            match self.write(to) {
                Ok(true) => {}
                Ok(false) => {
                    self.is_blocked = true;
                    return None;
                }
                Err(_) => return Some(Step::Close),
            }
            match self.pieces.pop_front() {
                Some((_, Step::Wait(time))) => self.not_before = now + time,
                Some((_, Step::Send(_))) | None => {}
                Some((_, end)) => return Some(end),
            }
        }
        None
    }

    fn put(&mut self, bytes: &[u8], arrives: Instant) {
        let steps = self.way.pass(bytes);
        self.pieces.extend(steps.into_iter().map(|step| (arrives, step)));
    }
}

impl Pair {
    fn new(connection: Arc<Connection>, faults: &OfConnection, handshake: Duration) -> Pair {
        let now = Instant::now();
        let lane = |direction| Lane::new(faults, direction, now);
        Pair {
            connection,
            up: lane(Direction::Up),
            down: lane(Direction::Down),
            is_stalled: false,
            opens: now + handshake,
        }
    }

    /// Does what is due. Returns whether there will be more, and lets `wake` be no later than that.
    fn go_on(&mut self, now: Instant, wake: &mut Instant) -> bool {
        if let Some(end) = self.up.hand_on(&self.connection.server, now) {
            // Until the client goes.
            self.up.is_over = true;
            self.up.pieces.clear();
            self.finish(&end, Direction::Up);
        }
        if let Some(end) = self.down.hand_on(&self.connection.client, now) {
            self.down.has_ended = true;
            self.down.pieces.clear();
            self.finish(&end, Direction::Down);
        }
        if self.connection.is_reset.load(SeqCst) {
            return false;
        }
        if self.up.has_ended && self.up.pieces.is_empty() && !self.up.is_done {
            self.up.is_done = true;
            if self.is_stalled {
                self.connection.end();
            } else {
                let _ = self.connection.server.shutdown(Shutdown::Write);
            }
        }
        if self.down.has_ended && self.down.pieces.is_empty() && !self.down.is_done {
            self.down.is_done = true;
            if !self.is_stalled {
                self.connection.end();
            }
        }
        if self.up.is_done && self.down.is_done {
            return false;
        }
        let wakes = [&self.up, &self.down].into_iter().filter_map(|lane| lane.wakes(now));
        *wake = wakes.fold(*wake, Instant::min);
        true
    }

    /// What a fault does that ends a direction, or a side that is gone.
    fn finish(&mut self, end: &Step, direction: Direction) {
        match (end, direction) {
            (Step::Reset, _) => self.connection.reset(),
            (Step::Stall, _) => self.is_stalled = true,
            (_, Direction::Up) => drop(self.connection.server.shutdown(Shutdown::Write)),
            (_, Direction::Down) => self.connection.end(),
        }
    }

    /// What to wait for, of each side. A side of which nothing is wanted is left out: it may have news that stay.
    fn interests(&self, now: Instant) -> impl Iterator<Item = (Direction, &TcpStream, PollFlags)> {
        let flags = |reads: &Lane, writes: &Lane| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, reads.reads() && reads.reads_from <= now);
            flags.set(PollFlags::OUT, writes.is_blocked);
            flags
        };
        let client = (Direction::Up, &self.connection.client, flags(&self.up, &self.down));
        let server = (Direction::Down, &self.connection.server, flags(&self.down, &self.up));
        [client, server].into_iter().filter(|(_, _, flags)| !flags.is_empty())
    }

    /// Reads what has come from one side.
    fn take(&mut self, relay: &Relay, direction: Direction, buffer: &mut [u8]) {
        let (lane, mut socket) = match direction {
            Direction::Up => (&mut self.up, &self.connection.client),
            Direction::Down => (&mut self.down, &self.connection.server),
        };
        if !lane.reads() {
            return;
        }
        if direction == Direction::Down {
            // What the server sends comes as over a line that acknowledges at once: the line has its own delay.
            let _ = set_tcp_quickack(socket, true);
        }
        let n_bytes = match socket.read(buffer) {
            Ok(n_bytes @ 1..) => n_bytes,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return,
            Ok(0) | Err(_) => {
                lane.has_ended = true;
                return;
            }
        };
        let counted = match direction {
            Direction::Up => &relay.counts.bytes_up,
            Direction::Down => &relay.counts.bytes_down,
        };
        counted.fetch_add(n_bytes as u64, Relaxed);
        let now = Instant::now();
        let (arrives, wait) = match direction {
            Direction::Up => (self.opens.max(now), Duration::ZERO),
            Direction::Down => relay.link.send(n_bytes),
        };
        lane.reads_from = now + wait;
        if !lane.is_over {
            lane.put(&buffer[..n_bytes], arrives);
        }
    }
}
