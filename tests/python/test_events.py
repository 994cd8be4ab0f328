"""Events are found by their ids, in the trees or in an index that is made once."""

import errno
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import arrowroot as ar
from arrowroot._api.tree import Tree
from arrowroot._select import events
from arrowroot._select.ids import SortedIds
from tests.command import run_here
from tests.python.conftest import write_signed
from tests.recorded import session

uproot = pytest.importorskip("uproot")

N = 500


def write_events(path, first, n=N, *, seed=1):
    """Write events in a random order; event numbers above 2^63 among them."""
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.arange(first, first + n))
    columns = {
        "run": (numbers // 100).astype(np.uint32),
        "luminosityBlock": (numbers // 10).astype(np.uint32),
        "event": numbers.astype(np.uint64) + np.uint64(2**63),
        "x": numbers * 0.5,
    }
    with uproot.recreate(path) as file:
        tree = file.mktree("Events", {name: values.dtype for name, values in columns.items()})
        for start in range(0, n, 100):
            tree.extend({name: values[start : start + 100] for name, values in columns.items()})
    return numbers


def id_of(number):
    return (int(number) // 100, int(number) // 10, int(number) + 2**63)


@pytest.fixture
def files(tmp_path):
    for i in range(3):
        write_events(tmp_path / f"run{i}.root", 1000 * i, seed=i)
    return tmp_path


def test_events_are_found_by_their_ids_with_an_index_and_without(files, conformance):
    (files / "bools.root").write_bytes(
        (conformance / "gohep/stdvec-bool-fullsplit-6.10.08.root").read_bytes()
    )
    made = {"ids": lambda *numbers: [*map(id_of, numbers)], "write_events": write_events}
    names = {"ar": ar, "np": np, "pa": pa, "pc": pc, "pq": pq, "os": os, "Path": Path, **made}
    numbers = [(r"[\d.]+ kB", "N kB"), (r"of \d+ bytes", "of N bytes")]
    varying = [*numbers, (r'("(?:bytes|size_bytes|mtime_ns|uuid)"): [^,]+', r"\1: ...")]
    session("indices", files, names, varying)


@pytest.mark.parametrize("form", ["EventInfoAux.", "EventInfoAuxDyn."])
def test_ids_of_xaod_are_found(tmp_path, form):
    numbers = np.arange(5, dtype=np.uint64)
    with uproot.recreate(tmp_path / "xaod.root") as file:
        file["CollectionTree"] = {f"{form}runNumber": numbers // 2, f"{form}eventNumber": numbers}
    tree = ar.open(tmp_path / "xaod.root")["CollectionTree"]
    assert tree.pick([(1, 3), (0, 1)], f"{form}eventNumber").to_pylist() == [
        {f"{form}eventNumber": 3},
        {f"{form}eventNumber": 1},
    ]


def test_ids_are_looked_up_with_the_resources_that_were_given(files, monkeypatch):
    ar.index(files / "run*.root", files / "index.parquet")
    asked = []
    source = Tree.source

    def record(tree, paths, entries, options):
        if "event" in paths:
            asked.append((options.n_threads, options.memory_budget_bytes))
        return source(tree, paths, entries, options)

    monkeypatch.setattr(Tree, "source", record)
    given = {"n_threads": 1, "memory_budget": "40 MB"}
    ids = [id_of(1001)]
    paths, friends = files / "run1.root", {"f": ar.Friends(files / "run1.root", index="event")}
    for read in (
        lambda: ar.open(paths)["Events"].pick(ids, "x", **given),
        lambda: ar.open(paths)["Events"].entries_where("x > 0", entries=ar.EventList(ids), **given),
        lambda: ar.pick(files / "index.parquet", ids, "x", **given),
        lambda: ar.scan(paths, columns="f.x", friends=friends, **given).drain(),
        lambda: ar.scan(paths, columns="f.x", friends=friends, filter="x > 0", **given).drain(),
    ):
        asked.clear()
        read()
        # The passes of a filter share them.
        assert asked
        assert set(asked) <= {(1, 40_000_000), (1, 20_000_000)}


def test_a_list_reads_the_baskets_of_its_events_only(files):
    tree = ar.open(files / "run1.root")["Events"]
    numbers = tree.to_numpy("x")["x"] * 2
    near = [id_of(number) for number in numbers[210:215]]
    assert tree.scan("x", entries=ar.EventList(near)).plan.n_baskets == 1


def as_pandas(table):
    pytest.importorskip("pandas")
    return table.to_pandas()


def as_polars(table):
    return pytest.importorskip("polars").from_arrow(table)


@pytest.mark.parametrize("form", [pa.table, as_pandas, as_polars, lambda table: table.to_batches()[0]])
def test_ids_come_as_a_table_of_any_library(files, form):
    tree = ar.open(files / "run1.root")["Events"]
    # As many rows as columns: one that is read the wrong way would not show by its shape.
    numbers = [1499, 1000, 1234]
    rows = [id_of(number) for number in numbers]
    names = ("run", "luminosityBlock", "event")
    table = pa.table([pa.array(values, pa.uint64()) for values in zip(*rows, strict=True)], names)
    events = ar.EventList(form(table))
    assert events.ids == rows
    assert tree.to_arrow("x", entries=events)["x"].to_pylist() == [number / 2 for number in numbers]
    turned = ar.EventList(form(table), columns=["event", "run"])
    assert turned.ids == [(event, run) for run, _, event in rows]
    with pytest.raises(ar.InvalidRequestError, match="no column 'lumi'"):
        ar.EventList(form(table), columns=["run", "lumi", "event"])


def test_the_path_of_a_text_is_answered_with_the_line_that_reads_it(tmp_path):
    path = tmp_path / "events.txt"
    path.write_text("1:2:3\n4:5:6\n")
    with pytest.raises(
        ar.InvalidRequestError, match=r'events\.txt.*numpy\.loadtxt\(.*delimiter=":"\)'
    ) as caught:
        ar.EventList(str(path))
    line = str(caught.value).partition("numpy.")[2]
    assert ar.EventList(eval(f"np.{line}")).ids == [(1, 2, 3), (4, 5, 6)]  # noqa: S307 - the line that is told


def test_ids_come_as_what_was_read_before(files):
    tree = ar.open(files / "run1.root")["Events"]
    columns = ["run", "luminosityBlock", "event"]
    read = tree.to_arrow(columns, filter="x > 749")
    assert tree.pick(read, "x")["x"].to_pylist() == tree.to_arrow("x", filter="x > 749")["x"].to_pylist()
    assert ar.EventList(tree.to_pandas(columns).set_index("run"), columns=["event"]).columns == ("event",)
    assert len(ar.EventList(tree.scan("event"), columns="event")) == N


def test_a_killed_process_leaves_what_it_had_done(files):
    script = """
        import os, sys, arrowroot as ar
        ar.index("run*.root", "index.parquet", progress=lambda done, n, url: done == 2 and os.kill(os.getpid(), 9))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=files, check=False, timeout=120)
    assert not (files / "index.parquet").exists()
    made = ar.index(files / "run*.root", files / "index.parquet")
    assert (made.n_read, made.n_reused) == (1, 2)


#: Makes an index, and waits for its input before the second file.
WAITING = """
import sys, arrowroot as ar
def pause(done, n, url):
    if done == 1:
        print("half", flush=True)
        sys.stdin.readline()
ar.index("run*.root", "index.parquet", progress=pause)
"""


def test_an_index_is_made_by_one_process_at_a_time(files, arrowroot_command):
    index, parts = files / "index.parquet", files / "index.parquet.parts"
    waiting = [sys.executable, "-c", WAITING]
    with subprocess.Popen(waiting, cwd=files, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout.readline() == b"half\n"
        before = sorted(parts.iterdir())
        with pytest.raises(ar.StorageError, match=f"making .*index.parquet: process {first.pid} on "):
            ar.index(files / "run*.root", index)
        refused = arrowroot_command("index", "run*.root", "-o", "index.parquet", cwd=files, check=False)
        assert refused.returncode != 0
        assert f"process {first.pid}" in refused.stderr
        assert sorted(parts.iterdir()) == before
        first.communicate(b"\n")
    assert (first.returncode, parts.exists()) == (0, False)
    again = ar.index(files / "run*.root", index)
    assert (again.n_read, again.n_reused) == (0, 3)
    assert not parts.exists()


def test_a_killed_process_holds_up_nobody(files):
    waiting = [sys.executable, "-c", WAITING]
    with subprocess.Popen(waiting, cwd=files, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout.readline() == b"half\n"
        first.kill()
    parts = files / "index.parquet.parts"
    (parts / "index.parquet.new").write_bytes(b"half of it")
    assert sorted(path.name for path in files.iterdir() if "index" in path.name) == [parts.name]
    made = ar.index(files / "run*.root", files / "index.parquet")
    assert (made.n_read, made.n_reused) == (2, 1)
    assert not parts.exists()


def test_many_processes_at_once_make_one_whole_index(files):
    command = [sys.executable, "-m", "arrowroot", "index", "run*.root", "-o", "index.parquet"]
    for _ in range(3):
        (files / "index.parquet").unlink(missing_ok=True)
        at_once = [
            subprocess.Popen(command, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(4)
        ]
        ended = [(process.communicate(), process.returncode) for process in at_once]
        assert any(code == 0 for _, code in ended)
        assert all(code == 0 or "does the same" in errors for (_, errors), code in ended), ended
        assert not (files / "index.parquet.parts").exists()
        assert ar.pick(files / "index.parquet", [id_of(2000)], "x")["x"].to_pylist() == [1000.0]


@pytest.mark.parametrize("method", ["write_table", "close"])
def test_an_index_on_a_full_disk_names_the_file_and_leaves_none(files, monkeypatch, method):
    whole = getattr(pq.ParquetWriter, method)

    def full(*arguments, **options):
        whole(*arguments, **options)
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, method, full)
    with pytest.raises(ar.StorageError, match=r"\.parquet\.new: cannot be written: No space left on device"):
        ar.index(files / "run*.root", files / "full.parquet")
    assert not (files / "full.parquet").exists()
    assert not list(files.glob("full.parquet.parts/*.new"))


def test_a_damaged_index_is_refused_before_parquet_sees_it(files, monkeypatch):
    index = files / "index.parquet"
    ar.index(files / "run*.root", index)
    whole = index.read_bytes()
    rng = np.random.default_rng(11)
    damaged = []
    for bit in rng.choice(8 * len(whole), 500, replace=False).tolist():
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    damaged += [whole[:n] for n in [0, 1, 8, len(whole) - 1, *rng.integers(0, len(whole), 60).tolist()]]
    damaged += [whole + b"x", bytes(len(whole)), whole[:100] + bytes(300) + whole[400:]]
    seen = []
    monkeypatch.setattr(pq, "ParquetFile", seen.append)
    for content in damaged:
        index.write_bytes(content)
        with pytest.raises(ar.CorruptFileError, match=r"index\.parquet: .*make it again by arrowroot index"):
            ar.pick(index, [id_of(1001)], "x")
    assert seen == []


def test_an_index_that_is_damaged_while_it_is_open_is_refused(files):
    index = files / "index.parquet"
    events = ar.index(files / "run*.root", index).events
    assert ar.pick(events, [id_of(1001)], "x").num_rows == 1
    content = bytearray(index.read_bytes())
    content[len(content) // 2] ^= 1
    index.write_bytes(content)
    with pytest.raises(ar.CorruptFileError, match="does not fit its checksum"):
        ar.pick(events, [id_of(1001)], "x")
    index.unlink()
    ar.index(files / "run*.root", index)
    assert ar.pick(index, [id_of(1001)], "x").num_rows == 1


def test_an_index_of_files_whose_names_take_much_room_is_made(tmp_path):
    folder = tmp_path.joinpath(*["d" * 240] * 14)
    folder.mkdir(parents=True)
    write_events(folder / "run0.root", 0, 20)
    for i in range(1, 25):
        os.link(folder / "run0.root", folder / f"run{i}.root")
    index = ar.index(folder / "run*.root", tmp_path / "index.parquet").events
    assert pq.read_metadata(index.path).serialized_size > 80_000
    assert len(ar.EventIndex(index.path).files) == 25
    assert ar.pick(index, [id_of(7)], "x").num_rows == 25


@pytest.fixture(scope="module")
def an_index(tmp_path_factory):
    """An index of one file."""
    folder = tmp_path_factory.mktemp("index")
    write_events(folder / "run0.root", 0)
    ar.index(folder / "run0.root", folder / "index.parquet")
    return folder / "index.parquet"


OF_FILES = ["url", "tree", "num_entries", "size_bytes", "uuid", "first_row_group", "n_row_groups"]


@pytest.mark.parametrize(
    "change",
    [
        *({"files": [{key: value}]} for key in OF_FILES for value in (None, [], -1, 1.5, True)),
        {"files": [{"url": "\ud800"}]},
        {"files": [{"mtime_ns": "x"}]},
        {"files": [{"more": 1}]},
        {"files": [{"first_row_group": 0, "n_row_groups": 5}, {"n_row_groups": -4}]},
        {"files": [{"n_row_groups": 2**70}]},
        {"files": None},
        {"columns": ["run", "luminosityBlock", "nothing"]},
        {"columns": ["run", "run", "event"]},
        {"columns": [None] * 3},
        {"form": "x" * 1_000_000},
        {"deep": "["},
    ],
)
def test_a_signed_index_that_makes_no_sense_is_refused(an_index, tmp_path, change):
    description = json.loads(pq.read_metadata(an_index).metadata[b"arrowroot.index"])
    file = description["files"][0]
    text = json.dumps({**description, **change})
    if isinstance(change.get("files"), list):
        text = json.dumps({**description, "files": [{**file, **one} for one in change["files"]]})
    elif "deep" in change:
        text = "[" * 100_000
    index = tmp_path / "index.parquet"
    write_signed(index, pq.read_table(an_index), text)
    with pytest.raises(ar.CorruptFileError, match=r"index\.parquet: .{0,250}$"):
        ar.pick(index, [id_of(7)], "x")


DAMAGED = """
import json, random, sys
import arrowroot as ar
from arrowroot._saving import checksum
from arrowroot._select import events
from pathlib import Path
path, first, stop = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
right, n_errors = path.read_bytes(), 0
for seed in range(first, stop):
    chance, damaged = random.Random(seed), bytearray(right)
    for _ in range(chance.choice([1, 2, 4])):
        place, n_bytes = chance.randrange(4, len(damaged) - 8), chance.choice([1, 1, 2, 4, 8])
        kinds = [bytes(n_bytes), b"\\xff" * n_bytes, chance.randbytes(n_bytes)]
        damaged[place : place + n_bytes] = chance.choice(kinds)
    path.write_bytes(damaged)
    try:
        checksum.sign(path)
    except ValueError:
        continue
    try:
        ar.EventIndex(path).find([(0, 0, 2**63 + 7), (1, 2, 3)])
    except ar.ArrowrootError:
        n_errors += 1
    except BaseException as error:
        sys.exit(f"{seed}: {error!r}")
print(n_errors)
"""


def test_a_signed_index_that_is_damaged_gives_events_or_our_errors(an_index, tmp_path):
    """pyarrow raises errors of many kinds, and at statistics of another type it aborts."""
    index = tmp_path / "index.parquet"
    index.write_bytes(an_index.read_bytes())
    last = 5000 if os.environ.get("ARROWROOT_SOAK") else 120
    command = [sys.executable, "-c", DAMAGED, str(index), "0", str(last)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > last // 4


def test_a_row_group_of_many_rows_is_read_in_small_batches(tmp_path):
    index, n = tmp_path / "index.parquet", 300_000
    table = pa.table({"event": np.zeros(n, np.int64)})
    file = {
        "url": "/f",
        "tree": "T",
        "num_entries": n,
        "size_bytes": 1,
        "uuid": "",
        "mtime_ns": 0,
        "n_row_groups": 1,
    }
    text = json.dumps({"form": "arrowroot.index/1", "columns": ["event"], "files": [file]})
    write_signed(index, table, text)
    assert index.stat().st_size < 3000
    found = ar.EventIndex(index)
    with pq.ParquetFile(index) as parquet:
        sizes = [
            batch.num_rows
            for _, batch in found._batches(parquet, SortedIds([[np.zeros(1, dtype=np.int64)]], 1, 1))
        ]
    assert sum(sizes) == n
    assert max(sizes) < n / 4


def test_the_ids_of_what_is_read_are_compared_with_those_asked_for(files):
    index = files / "index.parquet"
    ar.index(files / "run0.root", index)
    table = pq.read_table(index)
    # An index as whole as any, of the same file, whose events are at other entries.
    turned = table.set_column(4, table.field(4), table["event"].take(pa.array(range(N - 1, -1, -1))))
    write_signed(index, turned, pq.read_metadata(index).metadata[b"arrowroot.index"])
    row = turned.slice(7, 1).to_pylist()[0]
    one = (row["run"], row["luminosityBlock"], row["event"])
    tree = ar.open(files / "run0.root")["Events"]
    events = ar.EventList([one], index=index)
    for read in (
        lambda: ar.pick(index, [one], "x"),
        lambda: tree.to_arrow("x", entries=events),
        lambda: ar.scan(files / "run0.root", columns="x", entries=events),
    ):
        with pytest.raises(
            ar.CorruptFileError, match=r"gives entry 7 of .*run0\.root.* for \(.*make it again"
        ):
            read()


def test_a_device_without_an_end_is_no_index():
    # Reading all of it would take all memory.
    code = (
        "import resource, arrowroot\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "arrowroot.EventIndex('/dev/zero')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "/dev/zero: no index of arrowroot" in done.stderr


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64, np.uint16])
def test_ids_that_no_column_can_have_hide_no_others(tmp_path, kind):
    """A list says nothing of the type of a column: numbers below 0 and above 2**63 may be in it."""
    info = np.iinfo(kind)
    there = sorted({int(info.min), int(info.max), 0 if info.min == 0 else -3, 5, 7})
    ar.write(f"{tmp_path}/a.root:E", {"event": np.array(there, dtype=kind)})
    odd = [-(2**63), -1, 2**63, 2**64 - 1, 2**70, -(2**64)]
    wanted = [number for pair in zip(there, [*odd, *odd], strict=False) for number in pair]
    wanted += [number for number in odd if number not in wanted]
    events = ar.EventList([(number,) for number in wanted], columns=("event",), missing="ignore")
    found = ar.scan(f"{tmp_path}/a.root", "E", entries=events).to_arrow()["event"].to_pylist()
    assert found == [number for number in wanted if number in there]
    strict = ar.EventList([(number,) for number in wanted], columns=("event",))
    with pytest.raises(ar.MissingEventsError) as error:
        ar.scan(f"{tmp_path}/a.root", "E", entries=strict)
    assert {one[0] for one in error.value.missing} == {number for number in wanted if number not in there}


@pytest.mark.parametrize("seen", [1 << 16, 7])
def test_an_index_of_good_runs_has_their_events_alone(files, monkeypatch, seen):
    """Whatever the number of rows that are looked at together."""
    monkeypatch.setattr(events, "_BATCH_ROWS", seen)
    index, urls = files / "good.parquet", [files / f"run{i}.root" for i in range(3)]
    mask = {"1": [[10, 12], [15, 15]], "20": [[0, 203]], "22": [[220, 500]]}
    made = ar.index(urls, index, lumi_mask=mask)
    expected = ar.scan(urls, "Events", ["event"], lumi_mask=mask, origin=["file", "entry"]).to_arrow()
    assert len(made.events) == expected.num_rows == 40 + 40 + 100
    assert [file.num_entries for file in made.events.files] == [N] * 3
    rows = pq.read_table(index).to_pydict()
    assert rows["entry"] == expected["entry"].to_pylist()
    assert [str(urls[tree]) for tree in rows["tree"]] == expected["file"].to_pylist()
    good = [2299, 100, 2000, 154, 2039, 129]
    found = ar.pick(index, map(id_of, good), "event")
    assert found["event"].to_pylist() == [2**63 + number for number in good]
    entries = ar.EventList([*map(id_of, good)], index=index)
    assert ar.scan(urls, "Events", "event", entries=entries).to_arrow().equals(found)
    with pytest.raises(ar.MissingEventsError, match="1 of 2 events is not there"):
        ar.pick(index, [id_of(100), id_of(130)])


def test_an_index_of_other_good_runs_is_made_anew(files):
    index, urls = files / "i.parquet", files / "run*.root"

    def made(mask):
        found = ar.index(urls, index, lumi_mask=mask)
        return len(found.events), found.n_read, found.n_reused

    assert made(None) == (1500, 3, 0)
    assert made({"1": [[10, 12]]}) == (30, 3, 0)
    assert made({1: [[10, 11], [12, 12]]}) == (30, 0, 3)
    assert made({"1": [[10, 11]]}) == (20, 3, 0)
    assert made({"77": []}) == (0, 3, 0)
    assert ar.EventIndex(index).find([id_of(100)]).entries.tolist() == []
    assert made(None) == (1500, 3, 0)


def test_an_index_of_good_runs_gives_no_entry_that_is_not_there(files):
    index = files / "i.parquet"
    ar.index(files / "run0.root", index, lumi_mask={"1": [[10, 12]]})
    table = pq.read_table(index)
    description = pq.read_metadata(index).metadata[b"arrowroot.index"]
    for entry in (-1, N):
        wrong = table.set_column(1, table.field(1), pa.array([entry] * 30))
        write_signed(index, wrong, description)
        with pytest.raises(ar.CorruptFileError, match="entries that its trees do not have"):
            ar.EventIndex(index).find([id_of(100)])


def test_the_command_makes_an_index_of_good_runs(files):
    (files / "Cert.json").write_text('{"1": [[10, 12]]}')
    command = ["index", f"{files}/run0.root", "-o", f"{files}/i.parquet", "--lumi-mask", f"{files}/Cert.json"]
    done = run_here(*command, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["num_entries"] == 30
