//! A relay that delays what the server says and counts how often the client waited for it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Counts {
    n_connections: AtomicU32,
    /// Flights of requests: those that follow something the server said, and the first.
    n_flights: AtomicU32,
}

pub struct Relay {
    pub port: u16,
    counts: Arc<Counts>,
}

impl Relay {
    pub fn start(upstream: u16, latency: Duration) -> Relay {
        let listener = crate::ports::listen();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::new(Counts::default());
        let for_thread = Arc::clone(&counts);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                for_thread.n_connections.fetch_add(1, SeqCst);
                relay(client, TcpStream::connect(("127.0.0.1", upstream)).unwrap(), latency, &for_thread);
            }
        });
        Relay { port, counts }
    }

    /// Connections and flights since the last call.
    pub fn counts(&self) -> (u32, u32) {
        (self.counts.n_connections.swap(0, SeqCst), self.counts.n_flights.swap(0, SeqCst))
    }
}

fn relay(client: TcpStream, server: TcpStream, latency: Duration, counts: &Arc<Counts>) {
    let has_heard = Arc::new(AtomicBool::new(true));
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (counts, heard) = (Arc::clone(counts), Arc::clone(&has_heard));
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65536];
        while let Ok(n_bytes @ 1..) = from_client.read(&mut buffer) {
            if heard.swap(false, SeqCst) {
                counts.n_flights.fetch_add(1, SeqCst);
            }
            if to_server.write_all(&buffer[..n_bytes]).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (queue, delayed) = mpsc::channel::<(Instant, Vec<u8>)>();
    let mut from_server = server;
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65536];
        while let Ok(n_bytes @ 1..) = from_server.read(&mut buffer) {
            if queue.send((Instant::now() + latency, buffer[..n_bytes].to_vec())).is_err() {
                break;
            }
        }
    });
    let mut to_client = client;
    std::thread::spawn(move || {
        while let Ok((due, bytes)) = delayed.recv() {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            has_heard.store(true, SeqCst);
            if to_client.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
}
