//! Whole scans of sources in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fetching;
mod read_patterns;
mod samples;
mod strategies;
