//! Vector reads of a server: how large they may be, as far as it says so or has shown.
//!
//! Servers have limits that they do not tell, know no vector reads at all, or have a plugin that gets them wrong. What they
//! refuse is asked for in smaller ones, and then range by range; this is remembered for all connections to the server.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::failure::code;
use super::url::FileAddress;
use crate::requests::xrootd::VectorLimits;

/// By host and port.
type Servers = HashMap<(String, u16), Arc<Vectors>>;

static SERVERS: LazyLock<Mutex<Servers>> = LazyLock::new(Mutex::default);
/// A vector read that is refused for its size is tried once more in parts of this share.
const SMALLER: usize = 8;
/// Vector reads in a row that went wrong for a reason that may be another one.
const MAX_FAULTS: u8 = 2;
/// For so long none is made then.
const REST: Duration = Duration::from_secs(600);

/// What is known of the vector reads of one server.
#[derive(Debug, Default)]
pub(super) struct Vectors(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// It refused what was larger.
    limits: Option<VectorLimits>,
    n_faults: u8,
    /// None is made before.
    rests_until: Option<Instant>,
}

/// What to do after a vector read was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback {
    /// To ask again: the limits are other ones now.
    Smaller,
    /// To ask for single ranges, this time. If that succeeds, vector reads are at fault ([`Vectors::note_fault`]).
    Single,
    /// Nothing: the server would refuse any read.
    Nothing,
}

impl Vectors {
    /// Those of the server of a target.
    pub(super) fn of(target: &FileAddress) -> Arc<Vectors> {
        let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(servers.entry((target.host.clone(), target.port)).or_default())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The limits of a server that says these.
    pub(super) fn within(&self, said: VectorLimits) -> VectorLimits {
        let known = self.known();
        if known.rests_until.is_some_and(|until| Instant::now() < until) {
            return VectorLimits { max_ranges: 1, ..said };
        }
        known.limits.map_or(said, |shown| said.and(shown))
    }

    /// A vector read of so many ranges and bytes was refused, with this number.
    pub(super) fn note_refusal(&self, number: u32, n_ranges: usize, n_bytes: usize) -> Fallback {
        let mut known = self.known();
        match number {
            code::UNSUPPORTED => known.limits = Some(VectorLimits::NONE),
            code::ARGUMENT_INVALID
            | code::ARGUMENT_MISSING
            | code::ARGUMENT_TOO_LONG
            | code::INVALID_REQUEST
            | code::NO_MEMORY => {
                let smaller = VectorLimits {
                    max_ranges: n_ranges / SMALLER,
                    max_bytes: n_bytes / SMALLER,
                    ..VectorLimits::DEFAULT
                };
                let may_be_smaller = known.limits.is_none() && smaller.max_ranges > 1;
                known.limits = Some(if may_be_smaller { smaller } else { VectorLimits::NONE });
            }
            code::FS_ERROR | code::IO_ERROR | code::SERVER_ERROR => return Fallback::Single,
            _ => return Fallback::Nothing,
        }
        Fallback::Smaller
    }

    /// The answer to a vector read was wrong or short, or single reads brought what a vector read did not.
    pub(super) fn note_fault(&self) {
        let mut known = self.known();
        known.n_faults = known.n_faults.saturating_add(1);
        if known.n_faults >= MAX_FAULTS {
            (known.n_faults, known.rests_until) = (0, Some(Instant::now() + REST));
        }
    }

    /// A vector read brought what it should.
    pub(super) fn note_success(&self) {
        self.known().n_faults = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: VectorLimits = VectorLimits::DEFAULT;

    #[test]
    fn what_is_too_large_becomes_smaller_and_then_single_reads() {
        let vectors = Vectors::default();
        assert_eq!(vectors.within(SAID), SAID);
        assert_eq!(vectors.note_refusal(code::NO_MEMORY, 800, 8_000_000), Fallback::Smaller);
        let smaller = vectors.within(SAID);
        assert_eq!((smaller.max_ranges, smaller.max_bytes), (100, 1_000_000));
        assert_eq!(vectors.note_refusal(code::NO_MEMORY, 100, 900_000), Fallback::Smaller);
        assert_eq!(vectors.within(SAID).max_ranges, 1);
        // Of few ranges there is no smaller vector read.
        let vectors = Vectors::default();
        vectors.note_refusal(code::ARGUMENT_TOO_LONG, 2, 340_000);
        assert_eq!(vectors.within(SAID).max_ranges, 1);
    }

    #[test]
    fn what_is_not_supported_is_not_asked_for_again_and_a_refused_file_is_no_matter_of_vector_reads() {
        let vectors = Vectors::default();
        assert_eq!(vectors.note_refusal(code::NOT_AUTHORIZED, 800, 8_000_000), Fallback::Nothing);
        assert_eq!(vectors.within(SAID), SAID);
        assert_eq!(vectors.note_refusal(code::UNSUPPORTED, 800, 8_000_000), Fallback::Smaller);
        assert_eq!(vectors.within(SAID).max_ranges, 1);
    }

    #[test]
    fn faults_in_a_row_count_and_others_do_not() {
        let vectors = Vectors::default();
        assert_eq!(vectors.note_refusal(code::FS_ERROR, 800, 8_000_000), Fallback::Single);
        vectors.note_fault();
        vectors.note_success();
        vectors.note_fault();
        assert_eq!(vectors.within(SAID), SAID);
        vectors.note_fault();
        assert_eq!(vectors.within(SAID).max_ranges, 1);
        vectors.known().rests_until = Some(Instant::now());
        assert_eq!(vectors.within(SAID), SAID, "it had its rest");
    }
}
