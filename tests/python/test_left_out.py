"""Files of a scan that cannot be read: left out with a report, where the user wants that, and an error otherwise."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowroot as ar
from tests.python.conftest import write_signed

N_ENTRIES = 300
N_FILES = int(os.environ.get("ARROWROOT_FILES", "60"))


pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.CutShortWarning")


def others_of(number):
    """Return numbers that compress: what is stored as it is has no checksum in a tree."""
    return np.random.default_rng(number).integers(0, 4, N_ENTRIES).astype(np.float64)


def write(path, number, layout="ttree"):
    """Write entries that know their file, several clusters of them."""
    first = number * N_ENTRIES
    table = pa.table(
        {
            "x": np.arange(first, first + N_ENTRIES),
            "y": [np.arange(i % 3, dtype=np.float32) for i in range(N_ENTRIES)],
            "other": others_of(number),
        }
    )
    with ar.create(path) as file:
        # Checksums of RNTuples and of blocks of LZ4 tell damage.
        file.tree("T", table.schema, flush=100, layout=layout, compression="lz4:1").append(table)


def spoil(path, column, tree="T"):
    """Spoil the last basket, or page, of a column."""
    with ar.open(path) as file:
        scan = file[tree].scan([column], trace=True, n_threads=1)
        scan.drain()
        last = max(scan.physical_reads(), key=lambda read: read.offset)
    content = bytearray(path.read_bytes())
    at = last.offset + last.n_bytes - 20
    content[at : at + 10] = bytes(255 - byte for byte in content[at : at + 10])
    path.write_bytes(content)


@pytest.fixture(params=["ttree", "rntuple"])
def layout(request):
    return request.param


@pytest.fixture
def files(tmp_path, layout):
    """Return sound files among such as cannot be read, each for another reason, and the numbers of the sound ones."""
    paths = [tmp_path / f"{number}.root" for number in range(9)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    paths[0].unlink()
    paths[2].write_bytes(paths[2].read_bytes()[:500])
    paths[4].write_bytes(b"no ROOT file at all" * 9)
    with ar.create(paths[6]) as file:
        file["something"] = "else"
    return paths, [1, 3, 5, 7, 8]


def entries_of(numbers):
    return [x for number in numbers for x in range(number * N_ENTRIES, (number + 1) * N_ENTRIES)]


@pytest.mark.parametrize("condition", [None, "x % 2 == 0", "other >= 0 && x % 2 == 0"])
@pytest.mark.parametrize("batch_entries", [None, 70])
def test_sound_files_are_read_and_the_others_reported(files, condition, batch_entries):
    paths, sound = files
    options = {} if batch_entries is None else {"batch_entries": batch_entries}
    with pytest.warns(ar.LeftOutWarning, match="left out: "):
        scan = ar.scan(paths, "T", ["x", "y"], filter=condition, on_error="skip", **options)
    table = scan.to_arrow()
    expected = [x for x in entries_of(sound) if condition is None or x % 2 == 0]
    assert table["x"].to_pylist() == expected
    assert table["y"].to_pylist() == [list(map(float, range(x % N_ENTRIES % 3))) for x in expected]
    assert scan.num_entries == len(sound) * N_ENTRIES
    found = [(Path(one.url).name, one.reason, one.n_delivered) for one in scan.left_out]
    assert found == [
        ("0.root", "missing", 0),
        ("2.root", "damaged", 0),
        ("4.root", "damaged", 0),
        ("6.root", "no tree", 0),
    ]
    assert all(isinstance(one.error, ar.ArrowrootError) for one in scan.left_out)
    assert scan.stats.n_entries == len(expected)


@pytest.mark.parametrize("condition", [None, "x >= 0", "other >= 0"])
@pytest.mark.parametrize("spoilt", ["x", "y", "other"])
def test_damage_that_shows_later_ends_one_file_alone(tmp_path, layout, condition, spoilt):
    paths = [tmp_path / f"{number}.root" for number in range(4)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    spoil(paths[0], spoilt)
    spoil(paths[2], spoilt)
    told = []
    scan = ar.scan(paths, "T", ["x", "y", "other"], filter=condition, on_error=told.append, batch_entries=50)
    for _ in range(2):  # each pass has a report of its own
        told.clear()
        table = scan.to_arrow()
        assert [Path(one.url).name for one in told] == ["0.root", "2.root"]
        assert scan.left_out == told
        assert {one.reason for one in told} == {"damaged"}
        first, third = (one.n_delivered for one in told)
        assert first < N_ENTRIES
        assert third < N_ENTRIES
        numbers = [range(first), range(300, 600), range(600, 600 + third), range(900, 1200)]
        assert table["x"].to_pylist() == [x for part in numbers for x in part]
        expected = [others_of(number) for number in range(4)]
        kept = zip(expected, (first, N_ENTRIES, third, N_ENTRIES), strict=True)
        assert table["other"].to_pylist() == [value for values, n in kept for value in values[:n]]
    with pytest.raises(ar.CorruptFileError):
        ar.scan(paths, "T", ["x", "y", "other"], filter=condition).to_arrow()


def test_a_function_may_stop_the_scan(files):
    paths, _ = files

    def refuse(one):
        if one.reason == "no tree":
            raise one.error

    with pytest.raises(ar.NoSuchKeyError, match=r"6\.root"):
        ar.scan(paths, "T", ["x"], on_error=refuse).to_arrow()


def test_without_a_word_the_first_fault_is_an_error(files):
    paths, _ = files
    with pytest.raises(ar.NoSuchFileError):
        ar.scan(paths, "T", ["x"])
    with pytest.raises(ar.CorruptFileError):
        ar.scan(paths[1:], "T", ["x"]).to_arrow()


def test_if_no_file_can_be_read_the_first_error_is_raised(tmp_path):
    paths = [tmp_path / "a.root", tmp_path / "b.root"]
    told = []
    with pytest.raises(ar.NoSuchFileError, match=r"a\.root"):
        ar.scan(paths, "T", ["x"], on_error=told.append)
    assert [Path(one.url).name for one in told] == ["a.root", "b.root"]


def test_if_none_of_several_files_can_be_read_the_error_says_why_of_each(tmp_path):
    (tmp_path / "text.root").write_text("no file of ROOT")
    names = [f"{tmp_path}/gone.root", f"{tmp_path}/text.root"]
    with pytest.raises(ar.CorruptFileError, match=r"no file can be read: .*gone\.root: .*; .*text\.root: "):
        ar.scan(names, "t", on_error=lambda _: None)


def test_files_that_differ_are_no_files_to_leave_out(tmp_path):
    write(tmp_path / "a.root", 1)
    ar.write(f"{tmp_path}/b.root:T", {"x": np.arange(3, dtype=np.float32)})
    with pytest.raises(ar.SchemaMismatchError, match=r"b\.root"):
        ar.scan(tmp_path / "*.root", "T", ["x"], on_error="skip").to_arrow()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "ignore"}, "on_error: expected"),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path, options, message):
    write(tmp_path / "a.root", 1)
    with pytest.raises(ar.InvalidRequestError, match=message):
        ar.scan(tmp_path / "a.root", "T", ["x"], **options)


@pytest.mark.parametrize("condition", [None, "x % 2 == 0", "other >= 0 && x % 2 == 0"])
@pytest.mark.parametrize(
    "chosen", [slice(100, 700), slice(-350, None), slice(450), slice(0, 1500, 7)], ids=str
)
def test_a_slice_is_of_the_entries_that_are_there(files, chosen, condition):
    paths, sound = files
    scan = ar.scan(
        paths, "T", ["x"], entries=chosen, filter=condition, on_error=lambda _: None, origin="entry"
    )
    expected = [x for x in entries_of(sound)[chosen] if condition is None or x % 2 == 0]
    table = scan.to_arrow()
    assert table["x"].to_pylist() == expected
    assert table["entry"].to_pylist() == [x % N_ENTRIES for x in expected]
    assert [one.reason for one in scan.left_out] == ["missing", "damaged", "damaged", "no tree"]
    assert scan.num_entries == len(entries_of(sound)[chosen])


@pytest.mark.parametrize("chosen", [[1, 2], range(5, 9), np.arange(4), [1499, 3]], ids=str)
def test_numbers_of_entries_are_refused_where_a_file_could_not_be_opened(files, chosen):
    paths, sound = files
    with pytest.raises(ar.InvalidRequestError, match=r"0\.root, and 3 more cannot be read.*: give a slice"):
        ar.scan(paths, "T", ["x"], entries=chosen, on_error=lambda _: None)
    whole = [paths[number] for number in sound]
    found = ar.scan(whole, "T", ["x"], entries=chosen, on_error="skip").to_arrow()["x"].to_pylist()
    assert found == [entries_of(sound)[number] for number in chosen]


@pytest.mark.parametrize("chosen", [[2000], np.arange(9 * N_ENTRIES) % 2 == 0], ids=["number", "mask"])
def test_numbers_of_all_files_name_the_file_that_could_not_be_opened(files, chosen):
    paths, _ = files
    with pytest.raises(ar.InvalidRequestError, match=r"0\.root, and 3 more cannot be read.*: give a slice"):
        ar.scan(paths, "T", ["x"], entries=chosen, on_error=lambda _: None)


def test_events_are_found_in_the_files_that_can_be_read(files):
    paths, sound = files
    wanted = [x for x in entries_of(range(9)) if x % 50 == 7]
    there = [x for x in wanted if x // N_ENTRIES in sound]
    events = ar.EventList([(x,) for x in wanted], columns=["x"], missing="ignore")
    scan = ar.scan(paths, "T", ["x"], entries=events, on_error=lambda _: None)
    assert scan.to_arrow()["x"].to_pylist() == there
    with pytest.raises(ar.MissingEventsError):
        ar.scan(paths, "T", ["x"], entries=ar.EventList([(0,)], columns=["x"]), on_error=lambda _: None)


def test_events_are_not_looked_for_in_a_file_whose_ids_are_damaged(tmp_path, layout):
    paths = [tmp_path / f"{number}.root" for number in range(4)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    spoil(paths[1], "x")
    told = []
    wanted = ar.EventList([(x,) for x in range(0, 4 * N_ENTRIES, 50)], columns=["x"], missing="ignore")
    scan = ar.scan(paths, "T", ["x", "other"], entries=wanted, on_error=told.append)
    table = scan.to_arrow()
    assert table["x"].to_pylist() == [x for x in range(0, 4 * N_ENTRIES, 50) if x // N_ENTRIES != 1]
    assert table["other"].to_pylist() == [
        others_of(x // N_ENTRIES)[x % N_ENTRIES] for x in table["x"].to_pylist()
    ]
    assert [(Path(one.url).name, one.reason, one.n_delivered) for one in scan.left_out] == [
        ("1.root", "damaged", 0)
    ]
    assert [(Path(one.url).name, one.n_delivered) for one in told] == [("1.root", 0)]


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("damaged", [0, 1, 3])
def test_an_index_is_compared_with_the_files_whose_ids_can_be_read(tmp_path, layout, damaged, step):
    paths = [tmp_path / f"{number}.root" for number in range(4)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    ar.index(paths, f"{tmp_path}/ids.parquet", "T", columns=["x"])
    spoil(paths[damaged], "x")
    ids = range(7, 4 * N_ENTRIES, 50)[::step]

    def scanned(index, told, missing="ignore"):
        events = ar.EventList([(x,) for x in ids], index=index, missing=missing)
        return ar.scan(paths, "T", ["x"], entries=events, on_error=told.append)

    told = []
    scan = scanned(f"{tmp_path}/ids.parquet", told)
    assert scan.to_arrow()["x"].to_pylist() == [x for x in ids if x // N_ENTRIES != damaged]
    assert scan.left_out == told
    assert [(Path(one.url).name, one.reason, one.n_delivered) for one in told] == [
        (f"{damaged}.root", "damaged", 0)
    ]
    with pytest.raises(ar.MissingEventsError, match="6 of 24 events are not there"):
        scanned(f"{tmp_path}/ids.parquet", [], missing="error")
    # One that gives another event in a sound file is found out, whichever file is damaged.
    wrong = pq.read_table(tmp_path / "ids.parquet")
    x = wrong["x"].to_numpy().copy()
    x[[607, 608]] = x[[608, 607]]
    wrong = wrong.set_column(wrong.column_names.index("x"), wrong.schema.field("x"), [x])
    text = pq.read_metadata(tmp_path / "ids.parquet").metadata[b"arrowroot.index"]
    write_signed(tmp_path / "wrong.parquet", wrong, text, N_ENTRIES)
    with pytest.raises(ar.CorruptFileError, match=r"gives entry 608 of .* for \(607,\), which is \(608,\)"):
        scanned(f"{tmp_path}/wrong.parquet", [])


def test_sound_trees_of_a_file_keep_their_events(tmp_path, layout):
    path = tmp_path / "two.root"
    with ar.create(path) as file:
        for number, name in enumerate(("A1", "A2", "A3")):
            table = pa.table({"x": np.arange(number * N_ENTRIES, (number + 1) * N_ENTRIES)})
            file.tree(name, table.schema, flush=100, layout=layout, compression="lz4:1").append(table)
    spoil(path, "x", "A2")
    events = ar.EventList([(5,), (305,), (605,)], columns=["x"], missing="ignore")
    for condition in (None, "x > 0"):
        scan = ar.scan([path], "A*", ["x"], entries=events, filter=condition, on_error=lambda _: None)
        assert scan.to_arrow()["x"].to_pylist() == [5, 605]
        assert [(Path(one.url).name, one.n_delivered) for one in scan.left_out] == [("two.root", 0)]


@pytest.mark.parametrize("spoilt", ["x", "other"])
@pytest.mark.parametrize("step", [1, -1, 7])
def test_entries_back_and_forth_are_those_before_the_damage(tmp_path, layout, spoilt, step):
    paths = [tmp_path / f"{number}.root" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    spoil(paths[1], spoilt)
    wanted = list(range(3 * N_ENTRIES))[::step]
    wanted = [*wanted[1::2], *wanted[::2]]
    options = {"on_error": lambda _: None, "origin": ["entry"]}
    scan = ar.scan(paths, "T", ["x", "other"], entries=wanted, **options)
    for _ in range(2):
        table = scan.to_arrow()
        (one,) = scan.left_out
        assert Path(one.url).name == "1.root"
        in_file = sorted({x for x in wanted if x // N_ENTRIES == 1})
        assert table["x"].to_pylist() == [
            x for x in wanted if x // N_ENTRIES != 1 or x in in_file[: one.n_delivered]
        ]
        assert table["entry"].to_pylist() == [x % N_ENTRIES for x in table["x"].to_pylist()]


ORDERS = {
    "numbers": [700, 5, 899, 5, 300, 5, 700],
    "slice": slice(None, None, -7),
    "events": ar.EventList([(x,) for x in (898, 4, 301, 5, 600)], columns=["x"]),
}


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("condition", [None, "x % 2 == 0", "other >= 0", "x < 0"])
@pytest.mark.parametrize("chosen", ORDERS.values(), ids=ORDERS)
def test_files_that_are_read_by_themselves_give_entries_in_any_order(tmp_path, beside, condition, chosen):
    paths = [tmp_path / f"{number}.root" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, number)
    order = np.random.default_rng(3).permutation(3 * N_ENTRIES)
    ar.write(f"{tmp_path}/friend.root:W", {"x": order, "z": order * 10})
    options = {"entries": chosen, "filter": condition}
    columns = ["x", "y", "other", "s"]
    if beside:
        options["friends"] = {"f": ar.Friends(tmp_path / "friend.root", "W", "x")}
        columns.append("f.z")
    more = {"define": {"s": "x + 1"}, "origin": ["file", "entry"], **options}
    expected = ar.scan(paths, "T", columns, **more).to_arrow()
    scan = ar.scan(paths, "T", columns, on_error="skip", **more)
    for _ in range(2):
        assert scan.to_arrow().equals(expected)
    n_rows = [
        batch.num_rows for batch in ar.scan(paths, "T", [], on_error="skip", batch_entries=2, **options)
    ]
    assert sum(n_rows) == expected.num_rows
    assert expected.num_rows or condition == "x < 0"


@pytest.mark.parametrize("condition", [None, "x >= 0", "other >= 0"])
@pytest.mark.parametrize("step", [-1, 7])
def test_what_is_in_any_order_is_what_comes_before_the_damage_in_its_file(tmp_path, layout, condition, step):
    paths = [tmp_path / f"{number}.root" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    spoil(paths[1], "other")
    ar.write(f"{tmp_path}/friend.root:W", {"z": np.arange(900) * 10})
    wanted = list(range(3 * N_ENTRIES))[::step]
    wanted = [*wanted[1::2], *wanted[::2]]
    friends = {"f": ar.Friends(tmp_path / "friend.root", "W", False)}
    options = {"entries": wanted, "filter": condition, "friends": friends, "on_error": lambda _: None}
    scan = ar.scan(paths, "T", ["x", "other", "f.z"], origin="entry", **options)
    for _ in range(2):
        table = scan.to_arrow()
        (one,) = scan.left_out
        assert Path(one.url).name == "1.root"
        in_file = [x for x in wanted if x // N_ENTRIES == 1]
        # Within a file entries are read in the order of the list, or in theirs.
        found = [x for x in table["x"].to_pylist() if x // N_ENTRIES == 1]
        assert len(found) == one.n_delivered < len(in_file)
        lacking = set(in_file) - set(found)
        assert table["x"].to_pylist() == [x for x in wanted if x not in lacking]
        assert table["entry"].to_pylist() == [x % N_ENTRIES for x in table["x"].to_pylist()]
        assert table["f.z"].to_pylist() == [x * 10 for x in table["x"].to_pylist()]


@pytest.fixture
def friend(tmp_path):
    """A friend with the entries of nine files, in another order, in two files, and its index."""
    (tmp_path / "friends").mkdir()
    order = np.random.default_rng(3).permutation(9 * N_ENTRIES)
    for number, part in enumerate(np.split(order, [1000])):
        table = {"x": part, "z": part * 10}
        ar.write(f"{tmp_path}/friends/{number}.root:W", table)
    return [tmp_path / "friends" / f"{number}.root" for number in range(2)]


@pytest.mark.parametrize("condition", [None, "x % 2 == 0", "f.z % 20 == 0", "f.z >= 0 && other >= 0"])
@pytest.mark.parametrize(
    "options", [{}, {"batch_entries": 70}, {"entries": slice(100, 800)}, {"missing": "null"}], ids=str
)
def test_friends_by_an_index_are_read_beside_the_sound_files(files, friend, condition, options):
    paths, sound = files
    friends = {"f": ar.Friends(friend, "W", "x")}
    columns = ["x", "f.z", "s"]
    define = {"s": "x + f.z"}
    scan = ar.scan(
        paths,
        "T",
        columns,
        friends=friends,
        define=define,
        filter=condition,
        on_error=lambda _: None,
        **options,
    )
    entries = entries_of(sound)[options.get("entries", slice(None))]
    expected = [x for x in entries if condition is None or "%" not in condition or x % 2 == 0]
    assert scan.to_arrow().to_pydict() == {
        "x": expected, "f.z": [10 * x for x in expected], "s": [11 * x for x in expected]
    }  # fmt: skip
    assert [one.reason for one in scan.left_out] == ["missing", "damaged", "damaged", "no tree"]


@pytest.mark.parametrize("condition", [None, "x >= 0", "f.z >= 0"])
@pytest.mark.parametrize("index", ["x", False])
@pytest.mark.parametrize("spoilt", ["x", "other"])
def test_damage_ends_a_file_and_its_friend_alike(tmp_path, layout, condition, index, spoilt):
    paths = [tmp_path / f"{number}.root" for number in range(4)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    n = 4 * N_ENTRIES
    ar.write(f"{tmp_path}/friend.root:W", {"x": np.arange(n), "z": np.arange(n) * 10})
    spoil(paths[2], spoilt)
    friends = {"f": ar.Friends(tmp_path / "friend.root", "W", index)}
    scan = ar.scan(
        paths, "T", ["x", "other", "f.z"], friends=friends, filter=condition, on_error=lambda _: None
    )
    for _ in range(2):
        table = scan.to_arrow()
        (one,) = scan.left_out
        assert (Path(one.url).name, one.reason) == ("2.root", "damaged")
        assert one.n_delivered < N_ENTRIES
        expected = [x for x in range(n) if x // N_ENTRIES != 2 or x % N_ENTRIES < one.n_delivered]
        assert table["x"].to_pylist() == expected
        assert table["f.z"].to_pylist() == [10 * x for x in expected]


def second_with_nulls(folder):
    """Write three files of three entries, of which only the second says that "v" may be missing."""
    paths = [folder / f"{number}.root" for number in range(3)]
    for number, path in enumerate(paths):
        fields = [pa.field("x", pa.int64(), nullable=False), pa.field("v", pa.int64(), nullable=number == 1)]
        values = [5, None, 7] if number == 1 else [5, 6, 7]
        table = pa.table({"x": np.arange(3) + 3 * number, "v": values}, schema=pa.schema(fields))
        ar.write(f"{path}:T", table, layout="rntuple")
    return paths


@pytest.mark.parametrize("condition", [None, "x >= 0"])
@pytest.mark.parametrize("chosen", [slice(3, 6), slice(3, None), [4, 7, 3]], ids=str)
def test_beside_friends_the_first_file_that_is_read_says_what_may_be_missing(tmp_path, condition, chosen):
    paths = second_with_nulls(tmp_path)
    ar.write(f"{tmp_path}/friend.root:W", {"x": np.arange(9), "z": np.arange(9) * 10})
    friends = {"f": ar.Friends(tmp_path / "friend.root", "W", "x")}
    scan = ar.scan(
        paths, "T", ["v", "f.z"], entries=chosen, filter=condition, friends=friends, on_error="skip"
    )
    table = scan.to_arrow()
    numbers = np.arange(9)[chosen].tolist()
    assert table.to_pydict() == {
        "v": [None if x == 4 else 5 + x % 3 for x in numbers], "f.z": [10 * x for x in numbers]
    }  # fmt: skip
    assert table.schema == scan.schema
    assert scan.schema.field("v").nullable


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("condition", [None, "x >= 0", "v > 0 or is_null(v)"])
def test_what_is_missing_is_of_a_schema_that_says_so(tmp_path, condition, on_error):
    paths = second_with_nulls(tmp_path)
    for chosen in (slice(3, 6), slice(4, None), [7, 4]):
        found = ar.scan(paths, "T", entries=chosen, filter=condition, on_error=on_error).to_arrow()
        assert found["v"].to_pylist() == [
            None if x == 4 else 5 + x % 3 for x in np.arange(9)[chosen].tolist()
        ]
        assert found.schema.field("v").nullable
    with pytest.raises(ar.SchemaMismatchError, match="'v' has missing values"):
        ar.scan(paths, "T", filter=condition, on_error=on_error).to_arrow()


@pytest.mark.parametrize("condition", [None, "other >= 0", "f.z >= 0"])
@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_damage_of_the_index_in_a_file_leaves_that_out(tmp_path, layout, damaged, condition):
    paths = [tmp_path / f"{number}.root" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    ar.write(f"{tmp_path}/friend.root:W", {"x": np.arange(900), "z": np.arange(900) * 10})
    spoil(paths[damaged], "x")
    friends = {"f": ar.Friends(tmp_path / "friend.root", "W", "x")}
    scan = ar.scan(paths, "T", ["other", "f.z"], friends=friends, filter=condition, on_error=lambda _: None)
    assert scan.to_arrow()["f.z"].to_pylist() == [10 * x for x in range(900) if x // N_ENTRIES != damaged]
    assert [(Path(one.url).name, one.n_delivered) for one in scan.left_out] == [(f"{damaged}.root", 0)]


@pytest.mark.parametrize("condition", [None, "other >= 0", "f.z >= 0"])
@pytest.mark.parametrize("spoilt", ["x", "z"])
def test_damage_of_a_friend_leaves_out_the_files_that_need_it(tmp_path, layout, spoilt, condition):
    """Values end the files that they are beside; without the index nobody knows which entries belong together."""
    paths = [tmp_path / f"{number}.root" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    table = pa.table({"x": np.arange(900), "z": np.arange(900) // 2})
    with ar.create(tmp_path / "friend.root") as file:
        file.tree("T", table.schema, flush=100, layout=layout, compression="lz4:1").append(table)
    spoil(tmp_path / "friend.root", spoilt)
    friends = {"f": ar.Friends(tmp_path / "friend.root", "T", "x")}
    scan = ar.scan(paths, "T", ["other", "f.z"], friends=friends, filter=condition, on_error=lambda _: None)
    assert scan.schema.names == ["other", "f.z"]
    table = scan.to_arrow()
    files = {"x": ["0.root", "1.root", "2.root"], "z": ["2.root"]}[spoilt]
    assert [(Path(one.url).name, one.reason) for one in scan.left_out] == [
        (name, "damaged") for name in files
    ]
    assert all("friend.root" in str(one.error) for one in scan.left_out)
    # It is looked for once.
    assert len({id(one.error) for one in scan.left_out}) == 1
    n_rows = (3 - len(files)) * N_ENTRIES + sum(one.n_delivered for one in scan.left_out)
    assert table["f.z"].to_pylist() == [x // 2 for x in range(n_rows)]


def test_friends_by_number_are_refused_where_a_file_could_not_be_opened(files, tmp_path):
    paths, sound = files
    for n, index in itertools.product((len(sound), len(paths), 1), (None, False)):
        ar.write(f"{tmp_path}/friend.root:W", {"z": np.arange(n * N_ENTRIES)})
        friends = {"f": ar.Friends([tmp_path / "friend.root"], "W", index)}
        with pytest.raises(
            ar.InvalidRequestError, match=r"0\.root, and 3 more cannot be read.*give it an index"
        ):
            ar.scan(paths, "T", ["x", "f.z"], friends=friends, on_error=lambda _: None).to_arrow()


def test_friends_by_number_go_with_events_though_some_ids_are_damaged(tmp_path, layout):
    paths = [tmp_path / f"{number}.root" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, number, layout)
    spoil(paths[1], "x")
    ar.write(f"{tmp_path}/friend.root:W", {"z": np.arange(900) * 10})
    friends = {"f": ar.Friends([tmp_path / "friend.root"], "W")}
    ids = [5, 305, 605, 899]
    events = ar.EventList([(x,) for x in ids], columns=["x"], missing="ignore")
    scan = ar.scan(paths, "T", ["f.z"], friends=friends, entries=events, on_error=lambda _: None)
    for _ in range(2):
        assert scan.to_arrow()["f.z"].to_pylist() == [50, 6050, 8990]
        assert [Path(one.url).name for one in scan.left_out] == ["1.root"]


def test_of_many_files_one_in_twenty_is_broken(tmp_path):
    """A soak has 2,000, of which 20 are broken: make soak-files."""
    write(tmp_path / "sound", 0)
    content = (tmp_path / "sound").read_bytes()
    every = 100 if N_FILES >= 1000 else 20
    paths = [tmp_path / f"{number:05}.root" for number in range(N_FILES)]
    broken = paths[::every]
    for number, path in enumerate(paths):
        if number % every:
            os.link(tmp_path / "sound", path)
        else:
            path.write_bytes(content[: 100 * (number // every % 7)])
    told = []
    scan = ar.scan(paths, "T", ["x"], on_error=told.append)
    assert scan.drain().n_entries == (len(paths) - len(broken)) * N_ENTRIES
    assert [one.url.rpartition("/")[2] for one in told] == [path.name for path in broken]
