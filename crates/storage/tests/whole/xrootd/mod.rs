//! The XRootD client against real servers, and against one that does what real ones should not.
//!
//! Real servers are started on free loopback ports (Debian: `xrootd-server`, `xrootd-server-plugins`); where they are not
//! installed this is said, and an error if `CI` is set.

mod answers;
mod deadlines;
pub(crate) mod fake;
mod ledgers;
mod liars;
mod real;
mod redirections;
mod refusals;
mod relay;
mod secure;
mod server;
mod sharing;

use std::time::Duration;

use arrowroot_storage::{Network, Opened, Options, Part, Result, Source, Speculation, open_xrootd_once};

const SPECULATION: Speculation = Speculation { head_bytes: 4096, tail_bytes: 65_536 };
const NONE: Speculation = Speculation { head_bytes: 0, tail_bytes: 0 };

/// A file on a scripted server.
fn url(port: u16) -> String {
    format!("root://127.0.0.1:{port}//f")
}

fn network() -> Network {
    Network { timeout: Duration::from_secs(20), deadline: Duration::from_secs(60), ..Options::default().network }
}

/// One whose requests fail soon.
fn hasty() -> Network {
    Network { timeout: Duration::from_millis(700), deadline: Duration::from_secs(4), ..network() }
}

fn open(url: &str) -> Result<Opened> {
    open_xrootd_once(url, &network(), SPECULATION)
}

/// The message of a failed opening.
fn refusal(result: Result<Opened>) -> arrowroot_storage::Error {
    match result {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

/// Reads ranges in one vector read.
fn read_ranges(source: &dyn Source, ranges: &[(usize, usize)]) -> Result<Vec<Vec<u8>>> {
    let mut buffers: Vec<_> = ranges.iter().map(|&(_, n_bytes)| vec![0; n_bytes]).collect();
    let parts = ranges.iter().zip(&mut buffers);
    let mut parts: Vec<_> = parts.map(|(&(offset, _), buffer)| Part { offset: offset as u64, buffer }).collect();
    source.read_vector(&mut parts)?;
    Ok(buffers)
}

/// Reads ranges and compares them with what should be there.
fn check_ranges(source: &dyn Source, ranges: &[(usize, usize)], content: &[u8]) {
    let found = read_ranges(source, ranges).unwrap();
    for (&(offset, n_bytes), found) in ranges.iter().zip(&found) {
        assert!(found == &content[offset..offset + n_bytes], "{n_bytes} bytes at {offset}");
    }
}

/// Ranges somewhere in a file, from a seed.
fn some_ranges(n_ranges: usize, max_bytes: usize, file_bytes: usize, seed: u64) -> Vec<(usize, usize)> {
    let random = server::content(n_ranges * 16, seed);
    let number = |bytes: &[u8]| bytes.iter().fold(0_usize, |sum, &byte| (sum << 7) ^ usize::from(byte)) >> 3;
    let range = |bytes: &[u8]| {
        let n_bytes = 1 + number(&bytes[..8]) % max_bytes;
        (number(&bytes[8..]) % (file_bytes - n_bytes), n_bytes)
    };
    random.chunks(16).map(range).collect()
}
