//! Moves the bytes of all connections, in one thread: with threads of its own for each, a relay takes as much of the machine's time
//! as the client that is measured.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::net::sockopt::{set_socket_linger, set_tcp_quickack};

use crate::Relay;
use crate::faults::{Direction, OfConnection};
use crate::way::{Step, Way};

/// Pieces of a connection that are on their way, those of a millisecond each, or of 64 KiB at most: a window of TCP of 3 MB at
/// 12 MB/s, and of 16 MiB from 65 MB/s on.
const MAX_PIECES: usize = 256;
/// How often to look whether a connection was cut that waits for nothing else.
const LOOK: Duration = Duration::from_millis(100);
/// News of the listener.
const CALLS: u64 = u64::MAX;

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
///
/// # Errors
/// If the system tells no news of sockets.
pub(crate) fn run(relay: &Relay, listener: &TcpListener, upstream: u16) -> io::Result<()> {
    let news = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&news, listener, epoll::EventData::new_u64(CALLS), epoll::EventFlags::IN)?;
    let mut pairs: Vec<Pair> = Vec::new();
    let mut n_pairs = 0;
    let (mut events, mut buffer) = (Vec::with_capacity(256), Vec::new());
    loop {
        let now = Instant::now();
        let mut wake = now + LOOK;
        pairs.retain_mut(|pair| pair.go_on(now, &mut wake));
        // It waits in whole milliseconds itself.
        let rest = Timespec::try_from(wake.saturating_duration_since(Instant::now()));
        let _ = poll(&mut [PollFd::new(&news, PollFlags::IN)], rest.ok().as_ref());
        events.clear();
        match epoll::wait(&news, spare_capacity(&mut events), Some(&Timespec::default())) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for (data, flags) in events.iter().map(|event| (event.data.u64(), event.flags)) {
            if data == CALLS {
                while let Ok((client, _)) = listener.accept() {
                    if let Some(pair) = accept(relay, client, upstream, n_pairs) {
                        pair.watch(&news)?;
                        pairs.push(pair);
                        n_pairs += 1;
                    }
                }
            } else if let Ok(index) = pairs.binary_search_by_key(&(data / 2), |pair| pair.number) {
                pairs[index].hear(if data % 2 == 0 { Direction::Up } else { Direction::Down }, flags);
            }
        }
        buffer.resize(relay.link.piece_bytes(), 0);
        let now = Instant::now();
        for pair in &mut pairs {
            pair.take(relay, Direction::Up, now, &mut buffer);
            pair.take(relay, Direction::Down, now, &mut buffer);
        }
    }
}

fn accept(relay: &Relay, client: TcpStream, upstream: u16, number: u64) -> Option<Pair> {
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
    Some(Pair::new(connection, &faults, relay.link.handshake(), number))
}

/// A connection with its two directions.
struct Pair {
    /// Counted from 0.
    number: u64,
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
    /// Until there are news, no more can be written.
    is_blocked: bool,
    /// Until it was tried in vain, there may be something to read.
    is_readable: bool,
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
            is_readable: false,
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

    /// When there will be something to do, whatever the sockets tell.
    fn wakes(&self) -> Option<Instant> {
        let hands_on = self.pieces.front().filter(|_| !self.is_blocked).map(|(at, _)| self.not_before.max(*at));
        let reads = (self.is_readable && self.reads()).then_some(self.reads_from);
        hands_on.into_iter().chain(reads).min()
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
        while let Some((at, _)) = self.pieces.front().filter(|_| !self.is_blocked)
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
    fn new(connection: Arc<Connection>, faults: &OfConnection, handshake: Duration, number: u64) -> Pair {
        let now = Instant::now();
        let lane = |direction| Lane::new(faults, direction, now);
        Pair {
            number,
            connection,
            up: lane(Direction::Up),
            down: lane(Direction::Down),
            is_stalled: false,
            opens: now + handshake,
        }
    }

    /// Does what is due. Returns whether there will be more, and lets `wake` be no later than that.
    fn go_on(&mut self, now: Instant, wake: &mut Instant) -> bool {
        // Whoever had it cut may count on it that nothing comes through from then on, however late this thread gets to it.
        if self.connection.is_reset.load(SeqCst) {
            return false;
        }
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
        let wakes = [&self.up, &self.down].into_iter().filter_map(Lane::wakes);
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

    /// Wants to hear of both sides.
    fn watch(&self, news: &OwnedFd) -> io::Result<()> {
        use epoll::EventFlags as Flags;
        let flags = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
        epoll::add(news, &self.connection.client, epoll::EventData::new_u64(2 * self.number), flags)?;
        epoll::add(news, &self.connection.server, epoll::EventData::new_u64(2 * self.number + 1), flags)?;
        Ok(())
    }

    /// There are news of the side that a direction comes from.
    fn hear(&mut self, from: Direction, flags: epoll::EventFlags) {
        let (reads, writes) = match from {
            Direction::Up => (&mut self.up, &mut self.down),
            Direction::Down => (&mut self.down, &mut self.up),
        };
        reads.is_readable |= flags.intersects(!epoll::EventFlags::OUT);
        writes.is_blocked &= !flags.intersects(!epoll::EventFlags::IN);
    }

    /// Reads what has come from one side.
    fn take(&mut self, relay: &Relay, direction: Direction, now: Instant, buffer: &mut [u8]) {
        let (lane, mut socket) = match direction {
            Direction::Up => (&mut self.up, &self.connection.client),
            Direction::Down => (&mut self.down, &self.connection.server),
        };
        if !lane.is_readable || !lane.reads() || lane.reads_from > now {
            return;
        }
        if direction == Direction::Down {
            // What the server sends comes as over a line that acknowledges at once: the line has its own delay.
            let _ = set_tcp_quickack(socket, true);
        }
        let n_bytes = match socket.read(buffer) {
            Ok(n_bytes @ 1..) => n_bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                lane.is_readable = false;
                return;
            }
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
