//! Names that look like one that is not there.

/// The names most like `name`, the best first, at most three. Case makes no difference; one letter may be wrong, and of both names
/// together one in six.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut scored: Vec<(usize, &str)> = candidates
        .map(|candidate| (distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|&(score, candidate)| score <= 1 + (wanted.len() + candidate.len()) / 6)
        .collect();
    scored.sort();
    scored.dedup();
    scored.truncate(3);
    scored.into_iter().map(|(_, candidate)| candidate.to_owned()).collect()
}

/// Levenshtein distance in bytes; `usize::MAX` for lengths that differ by more than 8, which is spared.
fn distance(left: &str, right: &str) -> usize {
    if left.len().abs_diff(right.len()) > 8 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, to) in right.bytes().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(from != to)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["Muon_pt", "Muon_eta", "nMuon", "Electron_pt"];
        assert_eq!(nearest("muon_pt", names.into_iter()).first().map(String::as_str), Some("Muon_pt"));
        assert_eq!(nearest("retry", ["timeout", "retries", "eta"].into_iter()), ["retries"]);
        assert!(nearest("pt", ["eta"].into_iter()).is_empty());
        assert!(nearest("zzz", names.into_iter()).is_empty());
    }
}
