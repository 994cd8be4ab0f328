//! Whole files, written to memory and read back.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod any_array;
mod conformance;
mod contexts;
mod limits;
mod ntuple;
mod numbered;
mod objects;
mod reading;
mod saving;
