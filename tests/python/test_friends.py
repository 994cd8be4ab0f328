"""Entries of friends belong together by number or by an index, and never wrongly."""

import numpy as np
import pytest

import arrowroot as ar

uproot = pytest.importorskip("uproot")

N = 600


def write(path, name="Events", **columns):
    with uproot.recreate(path) as file:
        tree = file.mktree(name, {key: values.dtype for key, values in columns.items()})
        for start in range(0, len(next(iter(columns.values()))), 200):
            tree.extend({key: values[start : start + 200] for key, values in columns.items()})


@pytest.fixture
def main(tmp_path):
    """A tree of N entries and a friend of these and others in another order, by (run, event)."""
    rng = np.random.default_rng(3)
    event = np.arange(N, dtype=np.int64)
    write(tmp_path / "main.root", run=(event // 50).astype(np.int32), event=event % 50, x=event * 1.0)
    order = rng.permutation(N + 100)
    write(
        tmp_path / "friend.root",
        "F",
        run=(order // 50).astype(np.int32),
        event=(order % 50).astype(np.uint64),
        y=order * 10.0,
    )
    tree = ar.open(tmp_path / "main.root")["Events"]
    return tree, ar.open(tmp_path / "friend.root")["F"], tmp_path


def test_entries_with_the_same_index_belong_together(main):
    tree, friend, _ = main
    tree.add_friend(friend, "f", index=("run", "event"))
    table = tree.to_arrow(["x", "y"])
    assert table["y"].to_pylist() == [10 * x for x in table["x"].to_pylist()]
    some = tree.to_arrow(["f.y"], entries=[500, 3, 3])
    assert some["f.y"].to_pylist() == [5000.0, 30.0, 30.0]
    chosen = tree.to_arrow(["y", "x"], filter="y > 5900 && x < 595", entries=slice(300, None))
    assert chosen["x"].to_pylist() == [591.0, 592.0, 593.0, 594.0]
    assert chosen["y"].to_pylist() == [5910.0, 5920.0, 5930.0, 5940.0]
    streamed = list(tree.scan(["y"], batch_size="900 B"))
    assert len(streamed) > 2
    assert [y for batch in streamed for y in batch["y"].to_pylist()] == table["y"].to_pylist()


def test_an_entry_without_one_partner_is_an_error_when_it_is_read(main):
    tree, friend, folder = main
    tree.add_friend(friend, "f", index="event")
    assert tree.to_arrow("x").num_rows == N
    with pytest.raises(
        ar.InvalidRequestError, match=r"600 entries \(0, 1, 2, \.\.\.\) with several partners"
    ):
        tree.to_arrow(["x", "y"])
    # There are fewer entries here, but those asked for have their partners.
    write(folder / "few.root", "F", run=np.array([3, 1]), event=np.array([7, 0]), z=np.array([1.5, 2.5]))
    tree.add_friend(ar.open(folder / "few.root")["F"], "g", index=["run", "event"])
    assert tree.to_arrow("z", entries=[157, 50])["z"].to_pylist() == [1.5, 2.5]
    with pytest.raises(ar.InvalidRequestError, match=r"2 entries \(0, 2\) with no partner .* by run, event"):
        tree.to_arrow("z", entries=[0, 50, 2])


def test_an_index_of_what_is_no_integer_or_not_there_is_an_error(main):
    tree, friend, folder = main
    tree.add_friend(friend, "f", index="y")
    with pytest.raises(ar.NoSuchColumnError, match="'y'"):
        tree.to_arrow("f.y")
    tree.add_friend(ar.open(folder / "main.root")["Events"], "itself", index="x")
    with pytest.raises(ar.InvalidRequestError, match="an index is of integers"):
        tree.to_arrow("itself.run")
    with pytest.raises(ar.InvalidRequestError, match="index"):
        tree.add_friend(friend, "g", index=[])
    with pytest.raises(ar.InvalidRequestError, match=r"expected a tree, .* got 'a.root:T'"):
        tree.add_friend("a.root:T", "g")


def test_large_and_negative_keys_do_not_meet_as_one(tmp_path):
    key = np.array([2**63, 5, 2**64 - 1], dtype=np.uint64)
    write(tmp_path / "a.root", key=key, x=np.arange(3))
    write(tmp_path / "b.root", "F", key=key[::-1].copy(), y=np.arange(3))
    write(tmp_path / "c.root", "F", key=np.array([-1, 5, 7]), y=np.arange(3))
    tree = ar.open(tmp_path / "a.root")["Events"]
    tree.add_friend(ar.open(tmp_path / "b.root")["F"], "b", index="key")
    assert tree.to_arrow("b.y")["b.y"].to_pylist() == [2, 1, 0]
    tree.add_friend(ar.open(tmp_path / "c.root")["F"], "c", index="key")
    with pytest.raises(ar.InvalidRequestError, match="below 0 on one side"):
        tree.to_arrow("c.y")


@pytest.fixture
def chains(tmp_path):
    """Main files and friends of the same entries, that end elsewhere."""
    for i, (start, stop) in enumerate([(0, 250), (250, 600)]):
        write(tmp_path / f"main{i}.root", id=np.arange(start, stop), x=np.arange(start, stop) * 1.0)
    for i, (start, stop) in enumerate([(0, 100), (100, 500), (500, 650)]):
        write(
            tmp_path / f"friend{i}.root",
            "F",
            id=np.arange(start, stop)[::-1].copy(),
            y=np.arange(start, stop) * 2.0,
        )
    return tmp_path


def test_chains_have_friends_whose_files_end_elsewhere(chains):
    friends = {"f": ar.Friends(f"{chains}/friend*.root", "F", index=False)}
    scan = ar.scan(f"{chains}/main*.root", "Events", ["x", "y", "f.id"], friends=friends, batch_size="2000 B")
    table = scan.read_all()
    assert table["y"].to_pylist() == [2 * x for x in table["x"].to_pylist()] == [2.0 * i for i in range(600)]
    assert scan.stats.n_entries == 600
    filtered = ar.scan(
        f"{chains}/main*.root", "Events", ["y"], friends=friends, filter="f.y >= 1000 && x < 503"
    )
    assert filtered.read_all()["y"].to_pylist() == [1000.0, 1002.0, 1004.0]
    mixed = ar.scan(f"{chains}/main*.root", "Events", ["x", "y"], friends=friends, entries=[599, 0, 300])
    assert mixed.read_all()["y"].to_pylist() == [1198.0, 0.0, 600.0]


def test_no_column_of_a_friend_takes_the_name_of_another(tmp_path):
    write(tmp_path / "main.root", **{"Muon.pt": np.arange(5.0), "id": np.arange(5)})
    write(tmp_path / "friend.root", "Muon", pt=np.arange(5.0) * 100)
    write(tmp_path / "other.root", "Other", **{"W.pt": np.arange(5.0) * 7})
    tree = ar.open(tmp_path / "main.root")["Events"]
    friend = ar.open(tmp_path / "friend.root")["Muon"]
    with pytest.raises(
        ar.InvalidRequestError, match=r"main\.root:Events has a column 'Muon\.pt'.* another alias"
    ):
        tree.add_friend(friend)
    assert tree.to_arrow("Muon.pt")["Muon.pt"].to_pylist() == [0, 1, 2, 3, 4]
    tree.add_friend(friend, "W")
    assert tree.to_arrow("W.pt")["W.pt"].to_pylist() == [0, 100, 200, 300, 400]
    with pytest.raises(ar.InvalidRequestError, match=r"Other has a column 'W\.pt'"):
        tree.add_friend(ar.open(tmp_path / "other.root")["Other"])
    with pytest.raises(ar.InvalidRequestError, match="another alias"):
        ar.scan(tmp_path / "main.root", friends={"Muon": f"{tmp_path}/friend.root:Muon"})


def test_chains_have_friends_by_an_index(chains):
    friends = {"f": ar.Friends(f"{chains}/friend*.root", "F", "id")}
    table = ar.scan(f"{chains}/main*.root", "Events", ["id", "f.id", "y"], friends=friends).read_all()
    assert table["f.id"].to_pylist() == table["id"].to_pylist()
    assert table["y"].to_pylist()[:2] == [198.0, 196.0]


def test_chains_whose_friends_are_too_short_are_refused(chains):
    with pytest.raises(ar.InvalidRequestError, match=r"has only 500 entries, but .* has 600"):
        ar.scan(
            f"{chains}/main*.root", "Events", friends={"f": [f"{chains}/friend{i}.root:F" for i in (0, 1)]}
        )
    with pytest.raises(ar.NoSuchColumnError, match="did you mean 'x'"):
        ar.scan(f"{chains}/main*.root", "Events", ["xx"], friends={"f": f"{chains}/friend*.root:F"})


def test_chains_whose_friends_are_too_long_are_refused_unless_they_go_by_number(chains):
    for main, n_entries in (("main1", 350), ("main*", 600)):
        given = {"paths": f"{chains}/{main}.root", "tree": "Events", "columns": ["x", "y"]}
        for read in (ar.scan, ar.partitions):
            with pytest.raises(
                ar.InvalidRequestError,
                match=rf"has 650 entries, but .*{main[:4]}.* has {n_entries}; name the files.*index=False",
            ):
                read(**given, friends={"f": f"{chains}/friend*.root:F"})
        friends = {"f": ar.Friends(f"{chains}/friend*.root", "F", index=False)}
        whole = ar.scan(**given, friends=friends).read_all()
        assert whole["y"].to_pylist() == [2.0 * i for i in range(n_entries)]
        assert ar.partitions(**given, friends=friends)[0].read().num_rows == (350 if main == "main1" else 250)


def test_events_are_picked_by_the_columns_of_the_tree_itself(tmp_path):
    n = np.arange(5, dtype=np.int64)
    write(tmp_path / "main.root", runNumber=n * 0 + 3, lumiBlock=n * 0 + 1, eventNumber=n, x=n * 1.5)
    write(tmp_path / "friend.root", "F", run=n, luminosityBlock=n, event=n)
    tree = ar.open(tmp_path / "main.root")["Events"]
    tree.add_friend(ar.open(tmp_path / "friend.root")["F"], "f")
    assert tree.pick([(3, 1, 2)], "x")["x"].to_pylist() == [3.0]


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
