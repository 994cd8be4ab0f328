"""Entries of friends belong together by number or by an index, and never wrongly."""

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.recorded import session

uproot = pytest.importorskip("uproot")

N = 600


def write(path, name="Events", **columns):
    with uproot.recreate(path) as file:
        tree = file.mktree(name, {key: values.dtype for key, values in columns.items()})
        for start in range(0, len(next(iter(columns.values()))), 200):
            tree.extend({key: values[start : start + 200] for key, values in columns.items()})


@pytest.fixture
def folder(tmp_path):
    """Trees of N entries and friends of these and others in another order, by (run, event), in several files."""
    rng = np.random.default_rng(3)
    event = np.arange(N, dtype=np.int64)
    write(tmp_path / "main.root", run=(event // 50).astype(np.int32), event=event % 50, x=event * 1.0)
    order = rng.permutation(N + 100)
    ids = {"run": (order // 50).astype(np.int32), "event": (order % 50).astype(np.uint64)}
    write(tmp_path / "friend.root", "F", **ids, y=order * 10.0)
    write(tmp_path / "few.root", "F", run=np.array([3, 1]), event=np.array([7, 0]), z=np.array([1.5, 2.5]))
    key = np.array([2**63, 5, 2**64 - 1], dtype=np.uint64)
    write(tmp_path / "a.root", key=key, x=np.arange(3))
    write(tmp_path / "b.root", "F", key=key[::-1].copy(), y=np.arange(3))
    write(tmp_path / "c.root", "F", key=np.array([-1, 5, 7]), y=np.arange(3))
    write(tmp_path / "named.root", **{"Muon.pt": np.arange(5.0), "id": np.arange(5)})
    write(tmp_path / "muon.root", "Muon", pt=np.arange(5.0) * 100)
    write(tmp_path / "other.root", "Other", **{"W.pt": np.arange(5.0) * 7})
    for i, (start, stop) in enumerate([(0, 250), (250, 600)]):
        write(tmp_path / f"main{i}.root", id=np.arange(start, stop), x=np.arange(start, stop) * 1.0)
    for i, (start, stop) in enumerate([(0, 100), (100, 500), (500, 650)]):
        ids = np.arange(start, stop)[::-1].copy()
        write(tmp_path / f"friend{i}.root", "F", id=ids, y=np.arange(start, stop) * 2.0)
    n = np.arange(5, dtype=np.int64)
    write(tmp_path / "atlas.root", runNumber=n * 0 + 3, lumiBlock=n * 0 + 1, eventNumber=n, x=n * 1.5)
    write(tmp_path / "cms.root", "F", run=n, luminosityBlock=n, event=n)
    return tmp_path


def test_entries_of_friends_belong_together_or_are_refused(folder):
    session("friends", folder, {"ar": ar, "pa": pa})


@pytest.fixture
def half(tmp_path):
    """Trees of 40 entries, of run 0 to 3, in two files; a friend has those of run 1 and 2, in another order."""
    run, event = np.arange(40) // 10, np.arange(40) % 10
    write(tmp_path / "all.root", run=run, event=event, x=np.arange(40.0))
    for i in range(2):
        part = slice(20 * i, 20 * i + 20)
        write(tmp_path / f"part{i}.root", run=run[part], event=event[part], x=np.arange(40.0)[part])
    order = np.random.default_rng(1).permutation(np.arange(10, 30))
    write(tmp_path / "half.root", "F", run=order // 10, event=order % 10, y=order * 10.0)
    return tmp_path


def scan_of(folder, condition, *, is_chain):
    if is_chain:
        friends = {"f": ar.Friends(folder / "half.root", "F", ("run", "event"))}
        return ar.scan(
            f"{folder}/part*.root",
            "Events",
            ["x", "f.y"],
            friends=friends,
            filter=condition,
            batch_size="80 B",
        )
    tree = ar.open(folder / "all.root")["Events"]
    tree.add_friend(ar.open(folder / "half.root")["F"], "f", index=("run", "event"))
    return tree.scan(["x", "f.y"], filter=condition)


@pytest.mark.parametrize("is_chain", [False, True])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("run == 1 || run == 2", range(10, 30)),
        ("(run == 1 || run == 2) && event % 3 != 0", [x for x in range(10, 30) if x % 10 % 3]),
        ("x == 11 || x == 28", [11, 28]),
        ("x > 50", []),
    ],
)
def test_entries_that_a_filter_rejects_need_no_partner(half, condition, expected, is_chain):
    scan = scan_of(half, condition, is_chain=is_chain)
    assert scan.plan.at_most.n_entries <= 40
    table = scan.read_all()
    assert table["x"].to_pylist() == list(expected)
    assert table["f.y"].to_pylist() == [10.0 * x for x in expected]


@pytest.mark.parametrize("is_chain", [False, True])
def test_entries_that_a_filter_selects_need_a_partner(half, is_chain):
    with pytest.raises(ar.InvalidRequestError, match=r"1 entry \(30\) with no partner in the friend 'f'"):
        scan_of(half, "run == 1 || x == 30", is_chain=is_chain).read_all()
    with pytest.raises(ar.InvalidRequestError, match=r"20 entries .* all entries that it looks at.*entries="):
        scan_of(half, "run == 1 && f.y > 150", is_chain=is_chain)
