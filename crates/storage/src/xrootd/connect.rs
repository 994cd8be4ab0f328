//! From the name of a server to a connection.

#![expect(clippy::disallowed_types, reason = "this is where connections to XRootD servers are made")]

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::failure::Failure;
use super::url::FileAddress;
use super::wire::{Patience, TICK, reason};
use crate::connect::{connect_to_any, within};
use crate::descriptors::{HeldDescriptor, held};

#[cfg(target_os = "linux")]
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Names that are looked up at the same time, at most: a resolver that hangs keeps its threads.
const MAX_LOOKUPS: usize = 64;
/// By which process, as a forked one has none of them, and how many.
static LOOKUPS: Mutex<(u32, usize)> = Mutex::new((0, 0));

/// Connects to the server of a target, by the first of its addresses that answers.
pub(crate) fn connect(target: &FileAddress, patience: Patience) -> Result<HeldDescriptor<TcpStream>, Failure> {
    let addresses = addresses(&target.host, target.port, patience)?;
    let rest = patience.rest()?;
    let stream = held(|| connect_to_any(&addresses, rest)).map_err(|error| Failure::Broken(reason(&error)))?;
    prepare(&stream, patience.timeout).map_err(|error| Failure::Broken(reason(&error)))?;
    Ok(stream)
}

fn addresses(host: &str, port: u16, patience: Patience) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let name = host.to_owned();
    let found = look_up(patience, move || (name.as_str(), port).to_socket_addrs().map(Iterator::collect))?;
    found.map_err(|error| Failure::Broken(reason(&error)))
}

/// One of the threads that look up a name.
struct Lookup;

impl Lookup {
    fn begin() -> Result<Lookup, Failure> {
        let mut lookups = LOOKUPS.lock().unwrap_or_else(PoisonError::into_inner);
        if lookups.0 != std::process::id() {
            *lookups = (std::process::id(), 0);
        }
        if lookups.1 >= MAX_LOOKUPS {
            return Err(Failure::Broken(format!("{MAX_LOOKUPS} names are being looked up already")));
        }
        lookups.1 += 1;
        Ok(Lookup)
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        LOOKUPS.lock().unwrap_or_else(PoisonError::into_inner).1 -= 1;
    }
}

/// Asks for addresses, for a time.
fn look_up<T: Send + 'static>(patience: Patience, ask: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let rest = patience.rest()?;
    let lookup = Lookup::begin()?;
    let found = within(rest, move || {
        let found = ask();
        drop(lookup);
        found
    });
    found.map_err(|error| match patience.rest() {
        Err(late) => late,
        Ok(_) => Failure::Broken(reason(&error)),
    })
}

fn prepare(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TICK.min(timeout)))?;
    stream.set_write_timeout(Some(timeout))?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_keepidle(stream, KEEPALIVE)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_name_that_is_not_resolved_in_time_is_given_up() {
        let (short, long) = (Duration::from_millis(200), Duration::from_secs(60));
        for (timeout, deadline) in [(short, long), (long, short)] {
            let started = Instant::now();
            let patience = Patience { timeout, until: started + deadline };
            let failure = look_up(patience, move || std::thread::sleep(long)).unwrap_err();
            assert!(started.elapsed() < long / 2, "{:?}", started.elapsed());
            assert_eq!(matches!(failure, Failure::Late), deadline == short, "{failure:?}");
        }
        let patience = Patience { timeout: long, until: Instant::now() + long };
        assert!(addresses("localhost", 1094, patience).is_ok_and(|addresses| !addresses.is_empty()));
        assert!(addresses("::1", 1094, patience).is_ok_and(|addresses| addresses[0].is_ipv6()));
    }
}
