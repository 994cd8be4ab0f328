"""Pieces take their friends along: together they are the whole, and never with another entry's values."""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

from .test_friends import write

N = 1000
MAIN_ENDS = (0, 450, 450, 1000)
#: They end elsewhere, and the last one goes on.
FRIEND_ENDS = (0, 100, 700, 700, 1100)


def sent(piece):
    return pickle.loads(pickle.dumps(piece))  # noqa: S301 - our own


def read(pieces, columns=None):
    return pa.concat_tables([sent(piece).read(columns) for piece in pieces])


@pytest.fixture
def files(tmp_path):
    """A tree in three files, of entries 0 to 999, and friends: by number, and in another order by (run, event)."""
    for i, (start, end) in enumerate(pairwise(MAIN_ENDS)):
        x = np.arange(start, end)
        write(tmp_path / f"main{i}.root", run=x // 50, event=x % 50, x=x * 1.0, both=x * 3)
    for i, (start, end) in enumerate(pairwise(FRIEND_ENDS)):
        write(tmp_path / f"near{i}.root", "F", y=np.arange(start, end) * 2.0, both=np.arange(start, end) * 5)
    order = np.random.default_rng(5).permutation(N + 200)
    for i, part in enumerate(np.array_split(order, 3)):
        write(tmp_path / f"far{i}.root", "G", run=part // 50, event=part % 50, z=part * 10.0)
    return tmp_path


def arguments(folder, *, index=("run", "event")):
    near = ar.Friends(f"{folder}/near*.root", "F", index=False)  # it has more entries
    friends = {"f": near, "g": ar.Friends(f"{folder}/far*.root", "G", index)}
    return {"paths": f"{folder}/main*.root", "tree": "Events", "friends": friends}


@pytest.mark.parametrize("target", ["1 kB", "18 kB", "1 GB"])
@pytest.mark.parametrize("condition", [None, "x % 7 == 0", "y > 300 && g.z < 8000 && x != 500"])
def test_pieces_with_friends_are_the_whole(files, target, condition):
    columns = ["x", "y", "g.z", "both", "f.both"]
    given = {**arguments(files), "columns": columns, "filter": condition}
    pieces = ar.partitions(**given, target=target)
    whole = ar.scan(**given).read_all()
    assert read(pieces).equals(whole)
    assert whole["y"].to_pylist() == [2 * x for x in whole["x"].to_pylist()]
    assert whole["g.z"].to_pylist() == [10 * x for x in whole["x"].to_pylist()]
    assert whole["f.both"].to_pylist() == [5 * x for x in whole["x"].to_pylist()]
    assert read(pieces, ["g.z", "x"]).equals(whole.select(["g.z", "x"]))
    assert sum(piece.num_entries for piece in pieces) == N
    assert {"1 kB": len(pieces) == 6, "1 GB": len(pieces) == 2}.get(target, 2 < len(pieces) < 6)
    assert all(sent(piece) == piece and hash(sent(piece)) == hash(piece) for piece in pieces)


def test_all_columns_of_all_are_those_of_a_scan(files):
    given = arguments(files)
    del given["friends"]["g"]
    whole = ar.scan(**given).read_all()
    assert whole.column_names == ["run", "event", "x", "both", "y", "f.both"]
    pieces = ar.partitions(**given, target="2 kB")
    assert read(pieces).equals(whole)
    alone = ar.partitions(given["paths"], "Events", target="1 GB")
    assert pieces[0].memory_bytes / pieces[0].num_entries > alone[0].memory_bytes / alone[0].num_entries


def test_a_piece_takes_along_the_files_that_have_its_entries(files):
    pieces = ar.partitions(**arguments(files), columns=["y"], target="1 kB")
    found = [
        (piece.entries, [location.removesuffix(".root")[-1] for location, _, _ in piece.friends[0].files])
        for piece in pieces
    ]
    assert found == [
        ((0, 200), ["0", "1"]),
        ((200, 400), ["1"]),
        ((400, 450), ["1"]),
        ((0, 200), ["1"]),
        ((200, 400), ["1", "3"]),
        ((400, 550), ["3"]),
    ]
    assert all(len(piece.friends[1].files) == 3 for piece in pieces)
    assert repr(pieces[0]).endswith(", friends f, g>")


def test_friends_that_no_column_is_of_are_not_opened(files):
    pieces = ar.partitions(**arguments(files), columns=["x", "y", "z"], target="1 kB")
    filtered = ar.partitions(**arguments(files), columns=["x"], filter="z >= 0", target="1 kB")
    for path in files.glob("far*.root"):
        path.unlink()
    assert read(pieces, ["x"])["x"].to_pylist() == list(range(N))
    assert read(pieces, ["y"])["y"].to_pylist() == [2 * x for x in range(N)]
    for piece, columns in ((pieces[0], ["z"]), (filtered[0], ["x"])):
        with pytest.raises(ar.NoSuchFileError):
            piece.read(columns)


def test_definitions_are_of_friends_too(files):
    given = {
        **arguments(files),
        "columns": ["x", "sum", "f.y / 2"],
        "define": {"double": "2 * g.z", "sum": "double + x", "other": "y + g.z"},
    }
    pieces = ar.partitions(**given, target="1 kB")
    assert read(pieces).equals(ar.scan(**given).read_all())
    alone = ar.partitions(**{**given, "columns": ["x", "f.y / 2"]}, target="1 kB")
    for path in files.glob("far*.root"):
        path.unlink()
    assert read(alone)["f.y / 2"].to_pylist() == list(range(N))
    # A piece checks its definitions, whichever of its columns are read.
    with pytest.raises(ar.NoSuchFileError):
        pieces[0].read(["x"])


def test_entries_without_one_partner_are_errors_of_the_piece_that_has_them(files):
    write(files / "far1.root", "G", run=np.array([9]), event=np.array([0]), z=np.array([1.5]))
    pieces = ar.partitions(**arguments(files), columns=["x", "z"], target="1 kB")
    with pytest.raises(
        ar.InvalidRequestError, match=r"main0.root:Events: .*with no partner in the friend 'g'"
    ):
        pieces[0].read()
    write(files / "far1.root", "G", run=np.array([15, 15]), event=np.array([30, 30]), z=np.array([1.5, 2]))
    lacking = arguments(files)
    lacking["friends"]["g"] = ar.Friends(files / "far1.root", "G", ["run", "event"])
    *_, last = ar.partitions(**lacking, columns=["z"], target="1 kB", filter="x == 780")
    # Numbers are those in the file: the chain's entry 780 is the 330th of the last one.
    assert last.entries == (400, 550)
    assert last.read().num_rows == 0
    middle = ar.partitions(**lacking, columns=["z"], target="1 kB", filter="x == 780")[-2]
    with pytest.raises(
        ar.InvalidRequestError, match=r"main2.root:Events: 1 entry \(330\) with several partners"
    ):
        middle.read()


def test_friends_are_checked_when_pieces_are_made_and_when_they_are_read(files):
    with pytest.raises(ar.InvalidRequestError, match="has only 700 entries"):
        ar.partitions(f"{files}/main*.root", "Events", friends={"f": f"{files}/near[0-2].root:F"})
    with pytest.raises(ar.NoSuchColumnError, match=r"no branch 'f\.nothing'"):
        ar.partitions(**arguments(files), columns=["f.nothing"])
    for index, message in (("both", "no branch 'both'"), ("z", "no branch 'z'")):
        with pytest.raises(ar.NoSuchColumnError, match=message):
            ar.partitions(**arguments(files, index=index), columns=["g.z"])
    with pytest.raises(ar.InvalidRequestError, match="'x' has type double; an index is of integers"):
        ar.partitions(
            files / "main0.root", friends={"g": ar.Friends(files / "main0.root", index="x")}, columns="g.x"
        )
    with pytest.raises(ar.InvalidRequestError, match="nor with friends"):
        ar.partitions(**arguments(files), assemble=True)
    with pytest.raises(ar.InvalidRequestError, match="expected their files by aliases"):
        ar.partitions(f"{files}/main*.root", "Events", friends=[f"{files}/near*.root:F"])
    piece = ar.partitions(**arguments(files), columns=["y"], target="1 kB")[0]
    x = np.arange(100, 700) * 2.0
    write(files / "near1.root", "F", y=x, both=x)
    with pytest.raises(
        ar.InvalidRequestError, match=r"near1.root:F: has changed since its partitions were made"
    ):
        piece.read()


def test_a_column_that_some_files_have_besides_their_friend_is_refused_by_its_short_name(files):
    x = np.arange(450, 1000)
    write(files / "main2.root", run=x // 50, event=x % 50, x=x * 1.0, both=x * 3, y=x * 7.0)
    given = arguments(files)
    for choice in ({"columns": ["y"]}, {"columns": ["x"], "filter": "y > 5"}):
        with pytest.raises(
            ar.SchemaMismatchError, match=r"main2.root: has a column 'y', which is a friend's"
        ):
            ar.partitions(**given, **choice)
    pieces = ar.partitions(**given, columns=["f.y"], filter="f.y >= 10", target="1 kB")
    assert read(pieces)["f.y"].to_pylist() == [2.0 * x for x in range(5, N)]
    write(files / "near3.root", "F", z=np.arange(400) * 2.0)
    with pytest.raises(ar.SchemaMismatchError, match=r"near3.root: column 'y' is missing"):
        ar.partitions(**given, columns=["f.y"])


def test_trees_of_nothing_are_one_empty_piece_with_the_types_of_their_friends(files):
    write(files / "none.root", x=np.zeros(0))
    (piece,) = ar.partitions(f"{files}/none.root", "Events", ["x", "y"], friends=arguments(files)["friends"])
    assert sent(piece).read().num_rows == 0
    assert piece.schema().names == ["x", "y"]


def test_secrets_of_friends_are_not_shown(files):
    urls = [f"file://{files}/near{i}.root?arrowroot.token=verysecret" for i in range(4)]
    friends = {"f": ar.Friends(urls, "F", index=False)}
    given = {"paths": f"{files}/main*.root", "tree": "Events", "columns": ["y"], "target": "1 GB"}
    pieces = ar.partitions(**given, friends=friends)
    assert "verysecret" not in repr(pieces) + str([piece.__dask_tokenize__() for piece in pieces])
    other = ar.partitions(**given, friends={"f": ar.Friends(f"{files}/near*.root", "F", index=False)})
    assert pieces[0] != other[0]
    assert pieces[0].__dask_tokenize__() != other[0].__dask_tokenize__()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_collections_of_dask_have_friends(files):
    pytest.importorskip("dask.dataframe")
    ard = pytest.importorskip("arrowroot.dask")
    frame = ard.dataframe(**arguments(files), columns=["x", "y", "z"], target="2 kB", filter="f.y > 100")
    assert frame.npartitions > 2
    found = frame[["z", "y"]].compute(scheduler="synchronous")
    assert found["z"].tolist() == [10.0 * x for x in range(51, N)]
    assert found["y"].tolist() == [2.0 * x for x in range(51, N)]
