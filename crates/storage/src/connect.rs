//! From addresses to a connection.

#![expect(clippy::disallowed_types, reason = "this is where connections to servers are made")]

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::descriptors;

/// How long an address has for itself before the next is tried beside it (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to whichever of some addresses answers first; each gets a head start on the next. So a host whose IPv6
/// does not work costs a quarter of a second and not half of the timeout.
///
/// # Errors
/// What came of the last address that failed; that time is up.
pub(crate) fn connect_to_any(addresses: &[SocketAddr], timeout: Duration) -> io::Result<TcpStream> {
    if let [address] = addresses {
        return TcpStream::connect_timeout(address, timeout);
    }
    let deadline = Instant::now() + timeout;
    let (sender, outcomes) = mpsc::channel();
    let mut error = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    let mut untried = in_turns(addresses).into_iter();
    let mut n_trying = 0;
    while n_trying > 0 || untried.len() > 0 {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if let Some(address) = untried.next() {
            let sender = sender.clone();
            let attempt = move || drop(sender.send(TcpStream::connect_timeout(&address, rest)));
            match std::thread::Builder::new().name("arrowroot-connect".to_owned()).spawn(attempt) {
                Ok(_) => n_trying += 1,
                // Those that were begun may succeed.
                Err(failure) => {
                    error = failure;
                    continue;
                }
            }
        }
        let patience = if untried.len() > 0 { rest.min(HEAD_START) } else { rest };
        match outcomes.recv_timeout(patience) {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(failure)) => {
                n_trying -= 1;
                error = failure;
            }
            Err(_) => {}
        }
    }
    Err(error)
}

/// Asks in a thread that is left alone if it takes too long: nothing else bounds the time of the system's resolver.
///
/// # Errors
/// If there is no answer within `rest` (`TimedOut`), or no thread to be had.
pub(crate) fn within<T: Send + 'static>(rest: Duration, ask: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    // The resolver opens files and sockets, and where it cannot says something else.
    descriptors::spare();
    let (answer, answered) = mpsc::channel();
    // Who asked may have given up.
    let ask = move || drop(answer.send(ask()));
    std::thread::Builder::new().name("arrowroot-name".to_owned()).spawn(ask)?;
    let late = || format!("no address for the name after {:.1} s", rest.as_secs_f64());
    answered.recv_timeout(rest).map_err(|_| io::Error::new(io::ErrorKind::TimedOut, late()))
}

/// One family after the other, beginning with that of the first address, whose order is the resolver's (RFC 8305,
/// section 4): aliases of many machines have many addresses of each.
fn in_turns(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let prefers_ipv6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (preferred, others): (Vec<SocketAddr>, Vec<SocketAddr>) =
        addresses.iter().partition(|address| address.is_ipv6() == prefers_ipv6);
    let mut places: Vec<(usize, SocketAddr)> =
        preferred.into_iter().enumerate().chain(others.into_iter().enumerate()).collect();
    places.sort_by_key(|(place, _)| *place);
    places.into_iter().map(|(_, address)| address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A listener that lets everybody wait: nobody accepts, and its queue is full as long as the streams live.
    fn deaf() -> (SocketAddr, (TcpListener, Vec<TcpStream>)) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let attempts = (0..16).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(100)));
        let queue: Vec<_> = attempts.map_while(Result::ok).collect();
        assert!(queue.len() < 16, "it answers");
        (address, (listener, queue))
    }

    #[test]
    fn an_address_that_does_not_answer_has_a_head_start_only() {
        let (silent, _queue) = deaf();
        let refusing = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = [silent, refusing, server.local_addr().unwrap()];
        let started = Instant::now();
        let connected = connect_to_any(&addresses, Duration::from_secs(60)).map(|stream| stream.peer_addr().unwrap());
        assert_eq!(connected.ok(), Some(addresses[2]));
        assert!(started.elapsed() >= HEAD_START, "the first got it");
        assert!(started.elapsed() < Duration::from_secs(30), "and no share of the timeout");
    }

    #[test]
    fn without_an_answer_it_ends_in_time_and_says_why() {
        let (silent, _queue) = deaf();
        let refusing = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let kind = |addresses: &[SocketAddr], millis| {
            connect_to_any(addresses, Duration::from_millis(millis)).unwrap_err().kind()
        };
        assert_eq!(kind(&[silent], 50), io::ErrorKind::TimedOut);
        assert_eq!(kind(&[silent, silent], 50), io::ErrorKind::TimedOut);
        assert_eq!(kind(&[refusing, silent], 50), io::ErrorKind::TimedOut);
        assert_eq!(kind(&[refusing], 9000), io::ErrorKind::ConnectionRefused);
        assert_eq!(kind(&[refusing, refusing], 9000), io::ErrorKind::ConnectionRefused);
        assert!(connect_to_any(&[], Duration::from_secs(9)).unwrap_err().to_string().contains("no address"));
    }

    #[test]
    fn families_take_turns() {
        let addresses = |text: &str| -> Vec<SocketAddr> { text.split(' ').map(|word| word.parse().unwrap()).collect() };
        let given = addresses("[::1]:1 [::2]:1 [::3]:1 1.0.0.1:1 1.0.0.2:1");
        assert_eq!(in_turns(&given), addresses("[::1]:1 1.0.0.1:1 [::2]:1 1.0.0.2:1 [::3]:1"));
        let given = addresses("1.0.0.1:1 [::1]:1 [::2]:1");
        assert_eq!(in_turns(&given), addresses("1.0.0.1:1 [::1]:1 [::2]:1"));
        assert_eq!(in_turns(&[]), []);
    }

    #[test]
    fn an_answer_that_takes_too_long_is_not_waited_for() {
        let start = Instant::now();
        let late = within(Duration::from_millis(100), || std::thread::sleep(Duration::from_secs(60))).unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(30));
        assert_eq!(
            (late.kind(), late.to_string().as_str()),
            (io::ErrorKind::TimedOut, "no address for the name after 0.1 s")
        );
        assert_eq!(within(Duration::from_secs(60), || 7).unwrap(), 7);
    }
}
