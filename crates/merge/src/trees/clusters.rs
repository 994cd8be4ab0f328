//! Clusters of trees in a row.

use arrowroot::format::tree::TreeRecord;

/// Ranges of entries whose clusters are of one size, the last of each range perhaps smaller: the end of the range, and that size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clusters(Vec<(i64, i64)>);

impl Clusters {
    /// Appends the clusters of a tree. One that records none is one cluster.
    pub(crate) fn join(&mut self, record: &TreeRecord) {
        let n_entries = i64::try_from(record.n_entries).unwrap_or(i64::MAX);
        let first = self.0.last().map_or(0, |range| range.0);
        let last = (n_entries - 1, record.auto_flush);
        let mut ranges: Vec<(i64, i64)> = record.cluster_ranges.iter().copied().chain([last]).collect();
        if ranges.iter().any(|&(_, size)| size <= 0) {
            ranges = vec![(n_entries - 1, n_entries)];
        }
        for (inclusive_end, size) in ranges {
            self.go_on(first.saturating_add(inclusive_end.saturating_add(1).min(n_entries)), size);
        }
    }

    /// Appends clusters of a size, up to an entry.
    fn go_on(&mut self, end: i64, size: i64) {
        let start = self.0.last().map_or(0, |range| range.0);
        if end <= start {
            return;
        }
        // A range may stand for many entries and has one cluster then.
        let size = size.min(end - start);
        let begin = self.0.len().checked_sub(2).map_or(0, |index| self.0[index].0);
        match self.0.last_mut() {
            // Clusters of that size go on only where the last one is full.
            Some(range) if range.1 == size && (start - begin) % size == 0 => range.0 = end,
            _ => self.0.push((end, size)),
        }
    }

    /// Appends a cluster of so many entries.
    pub(crate) fn push(&mut self, n_entries: u64) {
        let n_entries = i64::try_from(n_entries).unwrap_or(i64::MAX);
        let end = self.0.last().map_or(0, |range| range.0).saturating_add(n_entries);
        self.go_on(end, n_entries);
    }

    /// `fAutoFlush`, and the closed ranges: the last entry and the cluster size of each but the last one.
    pub(crate) fn recorded(mut self) -> Option<(i64, Vec<(i64, i64)>)> {
        let (_, size) = self.0.pop()?;
        Some((size, self.0.into_iter().map(|(end, size)| (end - 1, size)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(n_entries: u64, auto_flush: i64, ranges: &[(i64, i64)]) -> TreeRecord {
        let mut record = TreeRecord::new("t", "");
        (record.n_entries, record.auto_flush, record.cluster_ranges) = (n_entries, auto_flush, ranges.to_vec());
        record
    }

    /// The first entries of clusters, and the end.
    fn joined(trees: &[TreeRecord]) -> (Vec<u64>, usize) {
        let mut clusters = Clusters::default();
        trees.iter().for_each(|tree| clusters.join(tree));
        let n_entries = trees.iter().map(|tree| tree.n_entries).sum();
        let (size, ranges) = clusters.recorded().unwrap();
        let n_ranges = ranges.len();
        (tree(n_entries, size, &ranges).clusters(1000), n_ranges)
    }

    #[test]
    fn clusters_are_those_of_the_trees_one_after_another() {
        let trees = [
            tree(300, 100, &[]),
            tree(200, 100, &[]),
            tree(150, 100, &[]),
            tree(100, 100, &[]),
            tree(0, 100, &[]),
            tree(70, 30, &[(9, 5), (39, 20)]),
            tree(7, -30_000_000, &[]),
        ];
        let mut expected = Vec::new();
        let mut first = 0;
        for tree in &trees {
            let own = tree.clusters(1000);
            let own = if own.is_empty() { vec![0, tree.n_entries] } else { own };
            expected.extend(own[..own.len() - 1].iter().map(|start| first + start));
            first += tree.n_entries;
        }
        expected.push(first);
        let (clusters, n_ranges) = joined(&trees);
        assert_eq!(clusters, expected);
        assert_eq!(n_ranges, 5, "equal ones in a row are one range");
    }

    #[test]
    fn a_tree_without_entries_has_none() {
        let mut clusters = Clusters::default();
        clusters.join(&tree(0, 100, &[]));
        assert_eq!(clusters.recorded(), None);
    }
}
