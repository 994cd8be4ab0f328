//! What an XRootD server may answer: each parser of its words, and a stream of answers to reads.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| arrowroot_storage::xrootd::fuzz::answers(data));
