//! Ports of the loopback interface for servers of tests. None is given twice in a process: what the clients remember of a
//! server, for all files that come from it, would be held against the next one there.

use std::collections::HashSet;
use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

/// Listens on a port that no server of this process had.
pub(crate) fn listen() -> TcpListener {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let given = given.get_or_insert_default();
    // Those that are not taken stay bound until another is found, so that they do not come again.
    let mut not_taken = Vec::new();
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        if given.insert(listener.local_addr().unwrap().port()) {
            return listener;
        }
        not_taken.push(listener);
    }
}

/// A port that nobody listens on now, and that no server of this process had.
pub(crate) fn free_port() -> u16 {
    listen().local_addr().unwrap().port()
}
