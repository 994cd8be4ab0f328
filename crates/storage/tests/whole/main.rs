//! Stores and layers as their users see them: against servers, disks, and other processes.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests are the servers, and spoil files")]
#![expect(clippy::cast_possible_truncation, reason = "small numbers of tests")]
#![expect(unreachable_pub, reason = "modules of one test program")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod children;
mod conformance;
mod descriptors;
mod http;
mod local_copies;
mod ports;
mod replay;
mod scratch;
mod xrootd;
