//! What is logged, and for whom.

/// The target of all that is logged: the name of a logger in Python. Requests are of level debug; retries, and what else costs
/// time, are warnings. URLs in it hold no credentials.
pub const LOG: &str = "arrowroot.storage";
