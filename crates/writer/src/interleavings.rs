//! Every order in which threads can take their steps, for small cases.

use std::collections::HashSet;
use std::hash::Hash;

/// Visits all that can become of a state. `steps` gives, for each thread that can go on, what its next step makes of a state;
/// `check_end` looks at states in which none can: all is done there, or nobody goes on ever. Returns the number of states.
pub(crate) fn visit<S: Clone + Eq + Hash>(start: S, steps: impl Fn(&S) -> Vec<S>, check_end: impl Fn(&S)) -> usize {
    let mut seen = HashSet::from([start.clone()]);
    let mut left = vec![start];
    while let Some(state) = left.pop() {
        let next = steps(&state);
        if next.is_empty() {
            check_end(&state);
        }
        left.extend(next.into_iter().filter(|state| seen.insert(state.clone())));
    }
    seen.len()
}
