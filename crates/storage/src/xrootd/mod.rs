//! Files on XRootD servers: `root://` and `roots://`, without the official client.
//!
//! From the bottom up: `message` and `frame` know the protocol and do no I/O; `connect` makes connections and `wire` moves
//! their bytes; `login` begins a session; `connection` shares it among threads, each with requests in `flight`; `pool` keeps
//! sessions, each made by one thread for all who wait; `opening` finds the way to a file; `plan` makes requests of ranges;
//! `store` is the source.

mod connect;
mod connection;
mod credentials;
mod failure;
mod flight;
mod frame;
#[cfg(fuzzing)]
pub mod fuzz;
mod login;
mod message;
mod meter;
mod opening;
mod plan;
mod pool;
mod store;
mod tls;
mod url;
mod vectors;
mod wire;

pub use store::{open_xrootd, open_xrootd_once};
pub(crate) use url::FileAddress;
