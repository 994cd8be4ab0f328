use super::*;
use crate::tree::BasketHead;

fn words(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// A branch of `n_baskets` baskets, and the object data with its arrays: of each basket 10 bytes at offset 100.
pub(in crate::tree) fn branch(n_baskets: usize, first_entries: &[i64]) -> (Branch, Vec<u8>) {
    let bytes: Vec<u8> = [10_i32.to_be_bytes()].repeat(n_baskets).concat();
    let parts = [bytes, words(first_entries), words(&[100].repeat(n_baskets))];
    let ends = parts.each_ref().map(Vec::len);
    let baskets = BasketTable {
        n_baskets,
        bytes: 0..ends[0],
        entries: (ends[0]..ends[0] + ends[1], true),
        seeks: (ends[0] + ends[1]..ends.iter().sum(), true),
        ..BasketTable::default()
    };
    let branch = Branch { baskets, ..Branch::new("x", "x/I") };
    (branch, parts.concat())
}

impl BasketTable {
    /// The same as it is where its baskets were placed and not read.
    pub(in crate::tree) fn placed(&self, object_data: &[u8]) -> Self {
        let item = |array: &(Range<usize>, bool), index| wide_item(object_data, array, index).unwrap().unsigned_abs();
        let bytes = (self.bytes.clone(), false);
        let basket = |index| PlacedBasket {
            offset: item(&self.seeks, index),
            stored_bytes: u32::try_from(item(&bytes, index)).unwrap(),
            n_entries: u32::try_from(item(&self.entries, index + 1) - item(&self.entries, index)).unwrap(),
        };
        let placed = (self.n_items > 0).then(|| PlacedBaskets {
            first_entry: item(&self.entries, 0),
            baskets: Baskets::Own((0..self.n_baskets).map(basket).collect()),
        });
        let BasketTable { n_baskets, n_written, n_pointers, pointers_bits, n_items, .. } = *self;
        BasketTable { n_baskets, n_written, n_pointers, pointers_bits, n_items, placed, ..BasketTable::default() }
    }
}

fn embedded(index: usize, n_entries: u32) -> EmbeddedBasket {
    let mut head = BasketHead::new("x", "tree").unwrap();
    (head.payload_bytes, head.data_bytes, head.n_entries, head.entry_bytes) =
        (4 * n_entries, 4 * n_entries, n_entries, 4);
    EmbeddedBasket::new(index, head)
}

#[test]
fn baskets_are_known_without_the_object_data_if_nothing_is_odd_about_them() {
    for (first_entries, is_placed) in [
        ([0, 10, 30].as_slice(), true),
        (&[5, 10, 30], true),
        (&[0, 10, 10], false),
        (&[0, 40, 30], false),
        (&[0], false),
    ] {
        let (mut branch, object_data) = branch(2, first_entries);
        branch.baskets.n_items = 3;
        let expected = branch.baskets(&object_data);
        let placed = branch.placed_baskets(&object_data);
        assert_eq!(placed.is_some(), is_placed, "{first_entries:?}");
        branch.baskets.placed = placed;
        assert_eq!(branch.baskets(if is_placed { &[] } else { &object_data }), expected);
    }
    let (mut branch, object_data) = branch(2, &[0, 10, 30]);
    branch.baskets.n_items = 4;
    branch.embedded = vec![embedded(2, 5)];
    assert_eq!(branch.placed_baskets(&object_data), None);
}

#[test]
fn baskets_follow_each_other_and_the_embedded_one_comes_last() {
    let (mut branch, object_data) = branch(2, &[0, 10, 30]);
    branch.embedded = vec![embedded(2, 5)];
    let baskets = branch.baskets(&object_data).unwrap();
    let entries: Vec<_> = baskets.iter().map(|basket| basket.first_entry..basket.entry_end).collect();
    assert_eq!(entries, [0..10, 10..30, 30..35]);
    assert_eq!(baskets[2].embedded, Some(0));
}

#[test]
fn entries_after_the_last_number_do_not_come_round() {
    let (mut branch, object_data) = branch(0, &[i64::MAX - 2]);
    branch.embedded = vec![embedded(0, 5)];
    let baskets = branch.baskets(&object_data).unwrap();
    assert_eq!(baskets.iter().map(|basket| basket.entry_end).collect::<Vec<_>>(), [i64::MAX.unsigned_abs()]);
}

#[test]
fn more_entries_than_a_basket_can_hold_are_corrupt() {
    let most = i64::from(i32::MAX);
    for (n_entries, is_possible) in [(most, true), (most + 1, false), (i64::MAX, false)] {
        let (branch, object_data) = branch(1, &[0, n_entries]);
        assert_eq!(branch.baskets(&object_data).is_ok(), is_possible, "{n_entries}");
    }
}

#[test]
fn entries_that_run_backwards_or_below_0_are_corrupt() {
    for first_entries in [[0, 10, 5].as_slice(), &[-5, 10, 20], &[0, i64::MIN, 20]] {
        let (branch, object_data) = branch(2, first_entries);
        branch.baskets(&object_data).unwrap_err();
    }
}
