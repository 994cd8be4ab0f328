//! From addresses to a connection.

#![expect(clippy::disallowed_types, reason = "this is where connections to servers are made")]

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Connects to the first of some addresses that answers. Each gets its share of the time that is left, so that one which
/// does not answer leaves some to the others.
///
/// # Errors
/// What came of the last address that was tried.
pub(crate) fn connect_to_any(addresses: &[SocketAddr], timeout: Duration) -> io::Result<TcpStream> {
    let started = Instant::now();
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for (address, n_left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let share = timeout.saturating_sub(started.elapsed()) / u32::try_from(n_left).unwrap_or(u32::MAX);
        if share.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(address, share) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn an_address_that_does_not_answer_leaves_time_for_the_next() {
        let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&deaf, 0).unwrap();
        let address = deaf.local_addr().unwrap();
        // Nobody accepts: once its queue is full it lets everybody wait.
        let attempts = (0..16).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(100)));
        let queue: Vec<_> = attempts.map_while(Result::ok).collect();
        assert!(queue.len() < 16, "it answers");
        let refusing = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = [address, refusing, server.local_addr().unwrap()];
        let started = Instant::now();
        let connected =
            connect_to_any(&addresses, Duration::from_millis(1500)).map(|stream| stream.peer_addr().unwrap());
        assert_eq!(connected.ok(), Some(addresses[2]));
        assert!(started.elapsed() >= Duration::from_millis(400), "the first got its share");
        let late = connect_to_any(&[address], Duration::from_millis(50)).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert_eq!(
            connect_to_any(&[refusing], Duration::from_secs(9)).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
        assert!(connect_to_any(&[], Duration::from_secs(9)).unwrap_err().to_string().contains("no address"));
    }
}
