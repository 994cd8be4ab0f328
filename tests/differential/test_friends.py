"""Friends as ROOT records them: in no order, with friends of their own, and chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import arrowroot as ar

from .compare import RootFiles, written
from .with_small_trees import N_FRIENDS, write_friends

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa


friends = written(write_friends)


def _pairs(table: pa.Table, names: list[str]) -> list[tuple[float, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def _add_friend(folder: RootFiles, main: str, friend: str, index: Any) -> pa.Table:
    tree = ar.open(folder / main)["T"]
    tree.add_friend(ar.open(folder / friend)["F"], "f", index=index)
    return tree.to_arrow(["event", "f.event"])


def _scan(folder: RootFiles, main: str, friend: str, index: Any) -> pa.Table:
    beside = {"f": ar.Friends(folder / friend, "F", index)}
    return ar.scan(folder / main, "T", ["event", "f.event"], friends=beside).read_all()


def _partitions(folder: RootFiles, main: str, friend: str, index: Any) -> pa.Table:
    beside = {"f": ar.Friends(folder / friend, "F", index)}
    (piece,) = ar.partitions(folder / main, "T", ["event", "f.event"], friends=beside)
    return piece.read()


@pytest.mark.parametrize("read", [_add_friend, _scan, _partitions])
def test_entries_in_no_order_are_not_joined_by_their_numbers(
    friends: RootFiles, read: Callable[[RootFiles, str, str, Any], pa.Table]
) -> None:
    in_order = [(float(i), float(i)) for i in range(N_FRIENDS)]
    for main, friend in (
        ("main", "mixed"),
        ("mixed_main", "plain"),
        ("main", "snapshot"),
        ("mixed_main", "mixed"),
    ):
        files = (friends, f"{main}.root", f"{friend}.root")
        name = main if friend == "plain" else friend
        with pytest.raises(ar.InvalidRequestError, match=rf"{name}\.root:.*kEntriesReshuffled.*index="):
            read(*files, None)
        assert sorted(_pairs(read(*files, "event"), ["event", "f.event"])) == in_order
        assert read(*files, False).num_rows == N_FRIENDS
    for friend in ("plain", "indexed", "mixed_indexed"):
        assert _pairs(read(friends, "main.root", f"{friend}.root", None), ["event", "f.event"]) == in_order
    found = read(friends, "mixed_main.root", "mixed_indexed.root", None)
    assert sorted(_pairs(found, ["event", "f.event"])) == in_order


def test_a_tree_says_whether_its_entries_are_in_no_order(friends: RootFiles) -> None:
    for name, expected in (("plain", False), ("indexed", False), ("mixed", True), ("snapshot", True)):
        assert ar.open(friends / f"{name}.root")["F"].entries_reshuffled is expected


@pytest.mark.parametrize("suffix", ["", "_indexed"])
def test_friends_of_friends_are_followed(friends: RootFiles, suffix: str) -> None:
    tree = ar.open(friends / f"t{suffix}.root")["T"]
    tree.add_recorded_friends()
    assert tree.schema.names == ["event", "x", "F.event", "y", "Z.event", "z"]
    table = tree.to_arrow(["x", "y", "z"])
    assert _pairs(table, ["x", "y", "z"]) == [(10.0 * i,) * 3 for i in range(N_FRIENDS)]
    names = ["F.y", "Z.z", "F.Z.z", "F.z", "Z.event", "F.Z.event"]
    assert [name in tree for name in names] == [True] * len(names)
    some = tree.to_arrow(names, entries=[5, 3, 3], filter="Z.z < 45 && F.Z.z >= 0")
    assert _pairs(some, names) == [(30.0,) * 4 + (3, 3)] * 2
    assert tree.to_arrow("Z.*").column_names == ["Z.event", "Z.z"]
    assert len(list(tree.scan(["x", "z"], batch_size="200 B"))) > 1


def test_a_circle_of_friends_ends_where_it_closes(friends: RootFiles) -> None:
    tree = ar.open(friends / "first.root")["A"]
    tree.add_recorded_friends()
    assert tree.schema.names == ["event", "a", "B.event", "b"]


def test_friends_that_were_given_have_theirs_beside_them(friends: RootFiles) -> None:
    last, middle, tree = (
        ar.open(friends / f"{file}.root")[name] for file, name in (("z", "Z"), ("plain", "F"), ("main", "T"))
    )
    middle.add_friend(last, "last")
    tree.add_friend(middle, "middle")
    read = [tree[name].to_numpy().tolist() for name in ("last.z", "middle.last.z", "z")]
    assert read[0] == read[1] == read[2]
    middle.add_friend(last, "later")
    assert "later.z" not in tree
    with pytest.raises(ar.InvalidRequestError, match="friend 'middle' already"):
        tree.add_friend(last, "middle")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("loaded", r"friend 'w', .*part0\.root:W, has only 20 entries"),
        ("unloaded", "no object 'W'"),
        ("same_name", "its friend 'w' would be the tree itself"),
    ],
)
def test_a_recorded_friend_that_was_a_chain_says_what_to_do(friends: RootFiles, name: str, what: str) -> None:
    tree = ar.open(friends / f"{name}.root")["T"]
    with pytest.raises(ar.ArrowrootError, match=rf"{what}.*if the friend was a TChain.*friends=\{{'w': "):
        tree.add_recorded_friends()
    files = ar.Friends(friends / "part*.root", "W")
    beside = ar.scan(friends / f"{name}.root", "T", ["x", "w.w"], friends={"w": files}).read_all()
    assert beside["x"].to_pylist() == beside["w.w"].to_pylist()
