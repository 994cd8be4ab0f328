"""Filters select the entries that ROOT selects, and friends have the partners that ROOT gives them."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest

import arrowroot as ar

from .compare import written
from .with_selections import write

selections = written(write)


@pytest.mark.parametrize("tree", ["T", "N"])
def test_text_selects_what_root_selects(selections, tree):
    expected = selections.expected
    found = ar.open(selections / "selections.root")[tree]
    assert len(expected["drawn"]) > 150
    n_selective = 0
    for text, entries in [*expected["drawn"], *expected["frames"]]:
        assert found.entries_where(text).tolist() == entries, text
        n_selective += 0 < len(entries) < found.num_entries
    # Otherwise the random ones would all be the same.
    assert n_selective > 100


def test_both_formats_deliver_the_same_in_two_passes(selections):
    with ar.open(selections / "selections.root") as file:
        tree, ntuple = file["T"], file["N"]
    for text in ("j == 3 && any(v > 4)", "n == 0", "j == 3 || j == 9"):
        columns = ["i", "v", "y", "w"]
        one, other = tree.scan(columns, filter=text), ntuple.scan(columns, filter=text)
        assert one.read_all().to_pylist() == other.read_all().to_pylist()
        assert one.stats.read_bytes == one.plan.read_bytes
        assert one.stats.n_looked_at == other.stats.n_looked_at == 1200
    condition = (pc.field("j") == 3) & (pc.list_value_length(pc.field("v")) > 4)
    assert tree.entries_where(condition).tolist() == ntuple.entries_where(condition).tolist()
    # One of eight clusters, and of twelve: the pages and baskets of the others stay where they are.
    pages = ntuple.scan(["v", "y"], filter="j == 3")
    pages.drain()
    everything = ntuple.scan(["v", "y", "j"]).plan
    assert pages.stats.n_baskets < everything.n_baskets / 2
    baskets = tree.scan(["y", "x"], filter="j == 3")
    baskets.drain()
    assert baskets.stats.n_baskets == tree.scan("j").plan.n_baskets + 2


@pytest.mark.parametrize("name", ["by_two", "by_one", "plain"])
def test_friends_have_the_partners_that_root_gives_them(selections, name):
    expected = selections.expected
    with ar.open(selections / "friends.root") as file:
        main, friend = file["main"], file[name]
    if name == "by_one":
        # Its index is of a column that means another thing in the main tree.
        assert friend.recorded_index == ("event",)
        main.add_friend(friend, "f")
        found = main.to_arrow("f.value", entries=slice(0, 40))["f.value"].to_pylist()
        assert found == expected["friends"][name][:40]
        return
    assert friend.recorded_index == {"by_two": ("run", "event"), "plain": None}[name]
    main.add_friend(friend, "f")
    assert main.to_arrow("f.value")["f.value"].to_pylist() == expected["friends"][name]
    by_number = ar.open(selections / "friends.root")["main"]
    by_number.add_friend(friend, "f", index=False)
    assert by_number.to_arrow("f.value")["f.value"].to_pylist()[0] == 209.5


def test_an_index_of_a_formula_is_refused_with_what_helps(selections):
    with ar.open(selections / "friends.root") as file:
        main, friend = file["main"], file["by_formula"]
    with pytest.raises(ar.UnsupportedError, match=r"index of run \* 1000 \+ event and 0.*say index="):
        main.add_friend(friend)
    main.add_friend(friend, "f", index=("run", "event"))
    assert main.to_arrow("f.value", entries=[399])["f.value"].to_pylist() == [199.5]
