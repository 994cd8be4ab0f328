import gc
import itertools
import os
import re
import tracemalloc
import weakref
from collections import Counter

import awkward as ak
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import uproot

import arrowroot as ar
from arrowroot._api import members as _members
from arrowroot._api import row as _row
from arrowroot._api.file import File
from arrowroot._api.opened import opened_row
from arrowroot._passes.source import TreeSource
from arrowroot._select.columns import Choice
from arrowroot._storage import readers as _readers
from tests.recorded import session

from .conftest import write_tree

SIZES = [100, 0, 250, 50]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain")
    parts = [write_tree(folder / f"run{8 + i}.root", n, seed=i + 1) for i, n in enumerate(SIZES)]
    run = np.concatenate([part["run"] for part in parts])
    pt = [row for part in parts for row in part["pt"].tolist()]
    return folder, run, pt


def test_files_are_one_stream_in_natural_order(files):
    folder, run, pt = files
    scan = ar.scan(f"{folder}/*.root", tree="Events", columns=["run", "pt"], batch_size="1 kB")
    assert scan.num_entries == sum(SIZES)
    table = scan.read_all()
    assert table["run"].to_pylist() == run.tolist()
    assert table["pt"].to_pylist() == pt
    assert scan.stats.n_entries == sum(SIZES)
    assert pa.table(scan).num_rows == sum(SIZES)
    assert next(iter(scan)).schema == scan.schema


#: What is read in batches of so many entries: a tree alone, and each kind of pass whose own batches end elsewhere.
READS = {
    "a tree": lambda folder, **how: ar.open(folder / "run10.root")["Events"].scan(["run", "pt"], **how),
    "a filtered tree": lambda folder, **how: ar.open(folder / "run10.root")["Events"].scan(
        ["pt"], filter="run % 3 == 0", **how
    ),
    "a chain": lambda folder, **how: ar.scan(f"{folder}/*.root", "Events", ["run", "pt"], **how),
    "entries back and forth": lambda folder, **how: ar.scan(
        f"{folder}/*.root", "Events", ["run", "pt"], entries=[399, 0, 120, 5, 360, 1, 2], **how
    ),
    "a filtered chain": lambda folder, **how: ar.scan(
        f"{folder}/*.root", "Events", ["pt", "run"], filter="run % 2 == 0", **how
    ),
    "friends": lambda folder, **how: ar.scan(
        f"{folder}/*.root", "Events", ["pt", "f.pt"], filter="f.run % 5 != 0", friends=_turned(folder), **how
    ),
    "a partition": lambda folder, **how: ar.partitions(
        f"{folder}/run10.root", "Events", ["pt"], filter="run % 3 == 0"
    )[0].scan(**how),
    "no columns": lambda folder, **how: ar.scan(f"{folder}/*.root", "Events", [], **how),
}


def _turned(folder):
    """The same files in another order, so that they end at other entries."""
    return {"f": ar.Friends([f"{folder}/run{i}.root" for i in (10, 8, 9, 11)], "Events", index=False)}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("n", [1, 7, 60, 10_000])
def test_batches_have_as_many_entries_as_are_asked_for(files, read, n):
    scan = read(files[0], batch_entries=n, n_threads=2)
    expected = read(files[0]).read_all()
    batches = list(scan)
    n_whole, n_rest = divmod(expected.num_rows, n)
    assert [batch.num_rows for batch in batches] == [n] * n_whole + [n_rest] * (n_rest > 0)
    assert scan.stats.n_batches == len(batches)
    assert {batch.schema for batch in batches} == {scan.schema}
    # Batches without columns are no table, but for pyarrow's own.
    if scan.column_names:
        assert pa.Table.from_batches(batches).equals(expected)
        assert pa.table(scan).equals(expected)


def test_no_batch_of_so_many_entries_comes_after_a_scan_was_cancelled(files):
    scan = READS["a chain"](files[0], batch_entries=10)
    batches = iter(scan)
    assert next(batches).num_rows == 10
    scan.cancel()
    with pytest.raises(ar.ArrowrootError, match="cancelled"):
        next(batches)


def test_what_makes_no_sense_of_a_chain_is_refused(files, tmp_path):
    def refused(**options):
        said = set()
        for kind in ("a tree", "a chain", "a partition"):
            with pytest.raises(ar.InvalidRequestError) as caught:
                READS[kind](files[0], **options)
            said.add(str(caught.value))
        return "\n".join(sorted(said))

    write_tree(tmp_path / "two.root", 5, names=("A", "B"))
    names = {"refused": refused, "ar": ar, "np": np}
    session("chains", tmp_path, names, [(re.escape(str(files[0])), "/files")])


def test_the_tree_may_be_named_in_the_path_or_be_the_only_one(files):
    folder, run, _ = files
    paths = [folder / "run8.root", f"{folder}/run10.root:Events"]
    assert ar.scan(paths, columns="run").read_all()["run"].to_pylist() == [*run[:100], *run[100:350]]


@pytest.mark.parametrize(
    "entries",
    [
        slice(90, 120),
        slice(100, 350),
        slice(-5, None),
        slice(350, 350),
        slice(None, None, 33),
        [0, 99, 100, 349, 350, 399],
        [399, 0, 100, 0, 120, 399],
        [],
        np.arange(400) % 7 == 0,
    ],
)
def test_entry_numbers_count_on_from_file_to_file(files, entries):
    folder, run, pt = files
    expected = np.arange(400)[np.array(entries, dtype=int) if isinstance(entries, list) else entries]
    scan = ar.scan(f"{folder}/*.root", "Events", ["pt", "run"], entries=entries, batch_size="200 B")
    table = scan.read_all()
    assert table["run"].to_pylist() == run[expected].tolist()
    assert table["pt"].to_pylist() == [pt[i] for i in expected]
    assert scan.num_entries == len(expected)


def test_the_plan_spans_the_files_and_agrees_with_what_is_read(files):
    folder, _, _ = files
    scan = ar.scan(f"{folder}/*.root", "Events", ["run"], trace=True)
    plan = scan.plan
    assert plan.n_entries == sum(SIZES)
    assert len({window.file for window in plan.windows if window.n_entries}) == 3
    assert max(window.first_entry for window in plan.windows) >= 350
    scan.drain()
    assert scan.stats.read_calls == plan.n_reads == len(scan.trace())
    assert scan.stats.read_bytes == plan.read_bytes


def test_schemas_that_differ_are_refused_by_file_and_column(files, tmp_path):
    folder, _, _ = files
    write_tree(tmp_path / "other.root", 10, weight=np.arange(10, dtype=np.float32))
    paths = [folder / "run8.root", tmp_path / "other.root"]
    with pytest.raises(ar.SchemaMismatchError, match=r"other\.root: column 'weight' has type .*run8\.root"):
        ar.scan(paths, "Events")
    assert ar.scan(paths, "Events", ["run"]).num_entries == 110
    write_tree(tmp_path / "more.root", 10, added=np.arange(10))
    paths[1] = tmp_path / "more.root"
    with pytest.raises(ar.SchemaMismatchError, match=r"more\.root: column 'added' is not in"):
        ar.scan(paths, "Events")
    with pytest.raises(ar.SchemaMismatchError, match="'added' is missing"):
        ar.scan(paths[::-1], "Events")


@pytest.fixture(scope="module")
def triggers(tmp_path_factory):
    """Files by name: "more" has a column that "less" lacks, "none" has no entries, "bare" no branches in common."""
    folder = tmp_path_factory.mktemp("triggers")
    flags = {name: np.arange(10) % 2 == 0 for name in ("HLT_a", "HLT_b")}
    for name, n, chosen in (("less", 10, ["HLT_a"]), ("more", 10, list(flags)), ("none", 0, list(flags))):
        path = folder / f"{name}.root"
        with uproot.recreate(path) as file:
            columns = {"pt": np.arange(10.0), **{flag: flags[flag] for flag in chosen}}
            file.mktree("Events", {column: values.dtype for column, values in columns.items()})
            if n:
                file["Events"].extend(columns)
    with uproot.recreate(folder / "bare.root") as file:
        file.mktree("Events", {"other": np.dtype("int32")})
    return folder


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"columns": "HLT_*"},
        {"columns": ["pt", "HLT_*"]},
        {"columns": ["!pt"]},
        {"columns": ["HLT_b"]},
        {"filter_name": "HLT_*"},
        {"filter_name": "/.*_[ab]/"},
        {"columns": ["pt", "HLT_b"], "filter_name": "*"},
        {"columns": "pt", "filter": "HLT_b"},
        {"assemble": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("other", ["more", "none"])
@pytest.mark.parametrize("beside", [False, True])
def test_columns_that_some_files_lack_are_refused_in_every_order(triggers, choice, other, beside):
    paths = [triggers / "less.root", triggers / f"{other}.root"]
    friends = {}
    if beside:
        if choice.get("assemble"):
            return
        n = 10 if other == "none" else 20
        write_tree(triggers / f"beside{n}.root", n)
        friends = {"friends": {"w": triggers / f"beside{n}.root"}}
    for files in (paths, paths[::-1], [paths[0], paths[0], paths[1]], [paths[1], paths[0], paths[0]]):
        for read in (ar.scan, ar.partitions):
            if beside and len(files) == 3:
                continue
            with pytest.raises(ar.SchemaMismatchError, match=r"\.root: column 'HLT_b' is .*in .*\.root"):
                read(files, "Events", **choice, **friends)


def test_columns_that_all_files_have_are_read_whatever_else_there_is(triggers):
    paths = [triggers / f"{name}.root" for name in ("less", "more", "none", "more")]
    for files in (paths, paths[::-1]):
        for choice in (["pt"], ["HLT_a", "pt"], ["p*"], ["!HLT_*"], ["!HLT_b"], ["pt", "!HLT_b"]):
            assert ar.scan(files, "Events", choice).read_all().num_rows == 30
        assert ar.scan(files, "Events", filter_name="*_a", filter="pt < 2").read_all().num_rows == 6


def test_what_is_left_out_may_be_in_any_file_but_must_be_in_one(triggers, tmp_path):
    with uproot.recreate(tmp_path / "other.root") as file:
        file["Events"] = {"pt": np.arange(3.0), "HLT_a": np.arange(3) == 1, "HLT_c": np.arange(3) == 1}
    less, more, other = triggers / "less.root", triggers / "more.root", tmp_path / "other.root"
    for files in ([less, other], [other, less]):
        assert set(ar.scan(files, "Events", "!HLT_c").read_all().column_names) == {"pt", "HLT_a"}
        with pytest.raises(ar.NoSuchColumnError, match="no branch 'HLT_d'"):
            ar.scan(files, "Events", ["!HLT_c", "!HLT_d"])
    for files in itertools.permutations([less, more, other]):
        both = ar.scan(files, "Events", ["!HLT_b", "!HLT_c"])
        assert both.read_all().num_rows == 23
        with pytest.raises(ar.SchemaMismatchError, match="column 'HLT_c' is "):
            ar.scan(files, "Events", "!HLT_b")


def test_a_friends_column_that_some_of_its_files_lack_is_refused_in_every_order(triggers):
    main = [triggers / "more.root"] * 2
    for name in ("less", "more"):
        other = {"less": "more", "more": "less"}[name]
        friends = {"w": [triggers / f"{name}.root", triggers / f"{other}.root"]}
        assert ar.scan(main, "Events", ["pt", "w.HLT_a"], friends=friends).read_all().num_rows == 20
        for columns in ("w.HLT_*", None):
            with pytest.raises(ar.SchemaMismatchError, match=r"column 'w?\.?HLT_b' is"):
                ar.scan(main, "Events", columns, friends=friends)


def test_a_tree_without_the_columns_is_refused_wherever_it_stands(triggers):
    paths = [triggers / "bare.root", triggers / "more.root"]
    for files in (paths, paths[::-1]):
        for columns in ("pt", "HLT_*", None):
            with pytest.raises(ar.SchemaMismatchError, match=r"column '(pt|HLT_a|other)' is"):
                ar.scan(files, "Events", columns)
    with pytest.raises(ar.NoSuchColumnError):
        ar.scan(paths, "Events", "nowhere*")


N_LINKED = 200


@pytest.fixture(scope="module")
def linked(triggers, tmp_path_factory):
    """So many files of which the third differs: "more" has a column that the others lack, "fewer" lacks one."""
    folder = tmp_path_factory.mktemp("linked")
    for name, (usual, other) in {"more": ("less", "more"), "fewer": ("more", "less")}.items():
        (folder / name).mkdir()
        for number in range(N_LINKED):
            kind = other if number == 2 else usual
            (folder / name / f"f{number:03}.root").hardlink_to(triggers / f"{kind}.root")
    return folder


@pytest.fixture
def opened(monkeypatch):
    """Return the files that were opened by scans, in order."""
    found = []

    def opening(urls, options):
        found.append(urls[0])
        return open_native(urls, options)

    open_native = _readers.open_native
    monkeypatch.setattr(_readers, "open_native", opening)
    return found


def scan_as_dask(*arguments, **options):
    return pytest.importorskip("arrowroot.dask").dataframe(*arguments, **options)


@pytest.mark.parametrize("read", [ar.scan, ar.partitions, scan_as_dask])
@pytest.mark.parametrize("name", ["more", "fewer"])
@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"columns": "HLT_*"},
        {"columns": ["HLT_b"]},
        {"filter_name": "HLT_*"},
        {"columns": "pt", "filter": "HLT_b"},
        {"columns": "pt", "filter": pc.field("HLT_b")},
        {"assemble": True},
    ],
    ids=str,
)
def test_a_file_that_differs_is_refused_when_it_is_opened(linked, opened, read, name, choice):
    with pytest.raises(ar.SchemaMismatchError, match=r"f002\.root: column 'HLT_b' is .*f000\.root"):
        read(f"{linked / name}/*.root", "Events", **choice)
    assert len(opened) == 3


@pytest.mark.parametrize("columns", [None, "w.HLT_*", ["w.HLT_b"]], ids=str)
@pytest.mark.parametrize("read", [ar.scan, ar.partitions])
def test_a_friends_file_that_differs_is_refused_when_it_is_opened(linked, triggers, opened, read, columns):
    main = [triggers / "less.root"] * N_LINKED
    friends = {"w": f"{linked}/fewer/*.root"}
    with pytest.raises(ar.SchemaMismatchError, match=r"f002\.root: column 'w?\.?HLT_b' is missing"):
        read(main, "Events", columns, friends=friends)
    assert len([path for path in opened if "fewer" in path]) == 3


def test_a_file_of_the_main_tree_that_differs_is_refused_before_friends_are_opened(linked, triggers, opened):
    friends = {"w": [triggers / "more.root"] * N_LINKED}
    for columns in (None, ["w.pt", "HLT_b"]):
        with pytest.raises(ar.SchemaMismatchError, match=r"f002\.root: column 'HLT_b' is missing"):
            ar.scan(f"{linked}/fewer/*.root", "Events", columns, friends=friends)
        assert len(opened) == 4
        opened.clear()


def test_a_filter_of_pyarrow_asks_of_other_files_for_its_own_columns_alone(triggers):
    paths = [triggers / "more.root", triggers / "less.root"]
    for files in (paths, paths[::-1]):
        assert ar.scan(files, "Events", "pt", filter=pc.field("pt") < 2).read_all().num_rows == 4


def test_a_row_that_was_refused_gives_nothing(linked):
    row = opened_row([(str(path), "Events") for path in sorted((linked / "more").iterdir())], {})
    row.choose(Choice(["HLT_*"]))
    with pytest.raises(ar.SchemaMismatchError):
        row.open_others()
    with pytest.raises(ar.InvalidRequestError, match="failed before"):
        _ = row.num_entries


def test_a_file_that_was_replaced_since_is_an_error(tmp_path, monkeypatch):
    """Of many files some are opened again when they are read."""
    monkeypatch.setattr(_row, "_N_KEPT_OPEN", 1)
    monkeypatch.setattr(_row, "_COMPACT_BYTES", 0)
    for name, n in (("a", 10), ("b", 20)):
        write_tree(tmp_path / f"{name}.root", n, seed=1)
    scan = ar.scan(f"{tmp_path}/*.root", "Events", ["run"])
    write_tree(tmp_path / "b.root", 30, seed=2)
    with pytest.raises(ar.StorageError, match=r"b\.root: the file changed while it was read: it had"):
        scan.read_all()


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def write_over(path):
    path.write_bytes(path.read_bytes()[::-1])


def write_another(path):
    with uproot.recreate(path) as file:
        file["Other"] = {"run": np.arange(20)}


@pytest.mark.parametrize("room", [(1, 0), (2, 0), (1, 10**6)])
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (cut, "it had .* bytes and has|truncated"),
        (write_over, "it was written to|.*not a ROOT file"),
        (write_another, "it had .* bytes and has|no object 'Events'"),
    ],
)
@pytest.mark.filterwarnings("ignore::arrowroot.RecoveredWarning")
def test_whatever_became_of_a_file_since_the_opening_is_one_kind_of_error(
    tmp_path, monkeypatch, room, change, what
):
    n_kept, compact_bytes = room
    monkeypatch.setattr(_row, "_COMPACT_BYTES", compact_bytes)
    monkeypatch.setattr(_row, "_N_KEPT_OPEN", n_kept)
    for name, n in (("a", 10), ("b", 2000)):
        write_tree(tmp_path / f"{name}.root", n, seed=1)
    scan = ar.scan(f"{tmp_path}/*.root", "Events", ["run"])
    assert scan.num_entries
    change(tmp_path / "b.root")
    with pytest.raises(
        ar.StorageError, match=rf"b\.root: the file changed while it was read: ({what})"
    ) as raised:
        scan.read_all()
    assert str(raised.value).endswith("; open it again")


@pytest.fixture
def open_files(monkeypatch):
    """Return the files that are open, as long as they are; nobody looks for cycles."""
    files = weakref.WeakSet()
    opened = File.__init__

    def note(file, *arguments):
        opened(file, *arguments)
        files.add(file)

    monkeypatch.setattr(File, "__init__", note)
    gc.collect()
    gc.disable()
    yield files
    gc.enable()


@pytest.mark.parametrize("options", [{}, {"filter": "run >= 0"}])
@pytest.mark.parametrize("with_friends", [False, True])
def test_files_are_closed_when_a_scan_is_dropped(files, open_files, options, with_friends):
    pattern = f"{files[0]}/*.root"
    if with_friends:
        options = {**options, "friends": {"f": ar.Friends(pattern, "Events")}}
    scan = ar.scan(pattern, "Events", ["pt"], batch_size="200 B", **options)
    assert len(open_files) >= len(SIZES)
    del scan
    assert len(open_files) == 0
    for batch in ar.scan(pattern, "Events", ["pt"], batch_size="200 B", **options):
        assert batch.num_rows
        break
    assert len(open_files) == 0


def test_files_stay_open_as_far_as_their_metadata_have_room(files, open_files, monkeypatch):
    folder, run, _ = files
    paths = [folder / "run8.root"] * 5
    monkeypatch.setattr(_row, "_COMPACT_BYTES", 0)
    monkeypatch.setattr(_row, "_KEPT_BYTES", 0)
    for n_kept in (1, 3, 5):
        scan = ar.scan(paths, "Events", ["run"])
        assert len(open_files) == n_kept
        assert scan.read_all()["run"].to_pylist() == run[:100].tolist() * 5
        _, metadata_bytes = ar.open(paths[0])["Events"].digest()
        monkeypatch.setattr(_row, "_KEPT_BYTES", (n_kept + 2) * metadata_bytes)
        del scan


def test_files_are_opened_once_as_far_as_little_of_each_has_room(files, monkeypatch):
    folder, run, _ = files
    paths = [folder / "run8.root"] * 5
    _, compact_bytes = ar.open(paths[0])["Events"].compact()
    reopened = []
    open_again = _members.Member.open_again
    monkeypatch.setattr(
        _members.Member, "open_again", lambda one: reopened.append(one.number) or open_again(one)
    )
    monkeypatch.setattr(_row, "_KEPT_BYTES", 0)
    for n_compact in (0, 2, 4):
        monkeypatch.setattr(_row, "_COMPACT_BYTES", n_compact * (compact_bytes + _row._FILE_BYTES))
        reopened.clear()
        scan = ar.scan(paths, "Events", ["run"])
        assert scan.read_all()["run"].to_pylist() == run[:100].tolist() * 5
        assert reopened == list(range(n_compact + 1, 5))


def write_numbers(folder, sizes):
    """Write files of so many entries each, whose ``x`` counts on from file to file."""
    first = 0
    for i, n in enumerate(sizes):
        with uproot.recreate(folder / f"{i}.root") as file:
            file.mktree("T", {"x": "int64", "y": "int64"})
            file["T"].extend({"x": first + np.arange(n), "y": -first - np.arange(n)})
        first += n


@pytest.fixture
def openings(monkeypatch):
    """Return the files that chains open, one after the other; few stay open."""
    opened = []
    open_native = _readers.open_native

    def note(urls, *arguments):
        opened.append(urls)
        return open_native(urls, *arguments)

    monkeypatch.setattr(_readers, "open_native", note)
    monkeypatch.setattr(_row, "_N_KEPT_OPEN", 1)
    monkeypatch.setattr(_row, "_COMPACT_BYTES", 0)
    monkeypatch.setattr(_row, "_N_IN_A_STEP", 2)
    monkeypatch.setattr(_members, "N_REOPENED", 6)
    return opened


@pytest.mark.parametrize("columns", [["y"], ["f.y"], ["y", "f.y", "x"]])
@pytest.mark.parametrize("entries", [None, slice(35, 190), np.arange(200) % 2 == 0])
def test_a_filtered_pass_opens_each_file_once(tmp_path, openings, columns, entries):
    for name, sizes in (("main", [20, 0, 15, 5] * 5), ("friend", [7, 13, 10] * 7)):
        (tmp_path / name).mkdir()
        write_numbers(tmp_path / name, sizes)
    scan = ar.scan(
        f"{tmp_path}/main/*.root",
        "T",
        columns,
        filter="x % 3 == 0",
        entries=entries,
        friends={"f": ar.Friends(f"{tmp_path}/friend/*.root", index=False)},
    )
    openings.clear()
    table = scan.read_all()
    chosen = np.arange(200)[slice(None) if entries is None else entries]
    expected = chosen[chosen % 3 == 0]
    for column in columns:
        assert table[column].to_pylist() == (expected if column == "x" else -expected).tolist()
    assert max(Counter(map(str, openings)).values()) == 1


@pytest.mark.parametrize("condition", ["x >= 0", "x < 20", "x >= 100", "x % 3 == 0", "x > 200"])
def test_stretches_of_trees_open_each_file_once(tmp_path, openings, condition):
    write_numbers(tmp_path, [20, 0, 15, 5] * 5)
    scan = ar.scan(f"{tmp_path}/*.root", "T", filter=condition)
    openings.clear()
    table = scan.read_all()
    x = np.arange(200)
    expected = x[eval(condition, {"x": x})]  # noqa: S307 - a condition written above
    assert (table["x"].to_pylist(), table["y"].to_pylist()) == (expected.tolist(), (-expected).tolist())
    assert max(Counter(map(str, openings)).values()) == 1


def test_trees_of_one_file_are_not_taken_for_each_other_when_they_are_opened_again(tmp_path, openings):
    write_numbers(tmp_path, [5])
    with uproot.recreate(tmp_path / "two.root") as file:
        file["Empty"] = {"x": np.zeros(0, dtype=np.int64)}
        file["Full"] = {"x": np.arange(3)}
    trees = [f"{tmp_path}/0.root:T", f"{tmp_path}/two.root:Empty", f"{tmp_path}/two.root:Full"]
    assert ar.scan(trees, columns=["x"]).read_all()["x"].to_pylist() == [*range(5), *range(3)]
    assert len(openings) == 5


def test_the_index_of_friends_is_looked_at_when_they_are_opened(tmp_path, openings):
    write_numbers(tmp_path, [5] * 4)
    ar.scan(f"{tmp_path}/*.root", "T", friends={"f": f"{tmp_path}/*.root"})
    assert len(openings) == 8


def test_files_of_one_schema_take_some_kilobytes_each(tmp_path, monkeypatch):
    with uproot.recreate(tmp_path / "wide.root") as file:
        file["T"] = {f"column_{i}": np.zeros(3) for i in range(300)}
    monkeypatch.setattr(_row, "_N_KEPT_OPEN", 1)
    monkeypatch.setattr(_row, "_COMPACT_BYTES", 0)
    used = []
    for n in (2, 52):
        gc.collect()
        tracemalloc.start()
        scan = ar.scan([tmp_path / "wide.root"] * n, "T", ["column_7"])
        gc.collect()
        used.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert scan.num_entries == 3 * n
    assert used[1] - used[0] < 50 * 8_000


def test_files_are_closed_when_a_tree_with_friends_is_dropped(files, open_files):
    trees = [ar.open(files[0] / name)["Events"] for name in ("run8.root", "run10.root")]
    trees[0].add_friend(trees[1], "f")
    assert trees[0].to_arrow(["run", "f.pt"]).num_rows == SIZES[0]
    trees.clear()
    assert len(open_files) == 0


def test_a_cancelled_scan_of_files_never_gives_a_part_of_them(tmp_path):
    for name in ("a", "b"):
        write_tree(tmp_path / f"{name}.root", 400, seed=1)
    for entries in (None, [700, 1, 500]):
        scan = ar.scan(f"{tmp_path}/*.root", "Events", ["run"], entries=entries, batch_size="8 B")
        batches = iter(scan)
        next(batches)
        scan.cancel()
        with pytest.raises(ar.ArrowrootError, match="cancelled"):
            list(batches)
        assert scan.read_all().num_rows == (800 if entries is None else 3)


@pytest.mark.parametrize("name", ["stats", "cost", "cancel"])
def test_a_pass_is_looked_at_and_cancelled_while_the_next_file_begins(tmp_path, monkeypatch, name):
    write_numbers(tmp_path, [5, 7, 9])
    scan = ar.scan(f"{tmp_path}/*.root", "T", ["x"])
    batches = iter(scan)
    assert next(batches).num_rows == 5
    real = getattr(TreeSource, name)

    def while_another_thread_goes_on(source):
        found = real(source)
        monkeypatch.setattr(TreeSource, name, real)
        # All drawn: the first files are over, and nothing of them may be counted twice.
        scan._source._is_cancelled = False
        assert [batch.num_rows for batch in batches] == [7, 9]
        return found

    monkeypatch.setattr(TreeSource, name, while_another_thread_goes_on)
    if name == "cancel":
        scan.cancel()
        return
    counted = scan.stats if name == "stats" else scan._source.cost().stats
    assert counted.n_entries == 5
    assert scan.stats.n_entries == 21


def test_without_columns_the_number_of_entries_is_left(tmp_path):
    for name in ("a", "b"):
        write_tree(tmp_path / f"{name}.root", 400, seed=1)
    paths = [tmp_path / "a.root", tmp_path / "b.root"]
    for options, n_entries in (
        ({}, 800),
        ({"entries": [1, 700]}, 2),
        ({"entries": [700, 1, 700]}, 3),
        ({"friends": {"w": paths}}, 800),
    ):
        assert ar.scan(paths, "Events", [], **options).read_all().num_rows == n_entries, options
    with ar.open(paths[0]) as file, ar.open(paths[1]) as other:
        tree = file["Events"]
        tree.add_friend(other["Events"], "w", index=False)
        assert tree.to_arrow([]).num_rows == 400
        assert tree.to_arrow([], entries=[5, 3]).num_rows == 2


def test_whole_objects_whose_members_differ_do_not_go_together(tmp_path):
    for name, dtype in (("a", np.float32), ("b", np.float64)):
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file.mkrntuple("T", {"p": ak.zip({"x": np.array([1.5], dtype), "y": np.array([2])})})
    with pytest.raises(ar.SchemaMismatchError, match=r"b\.root: column 'p.*' has type .*double"):
        ar.scan([tmp_path / "a.root", tmp_path / "b.root"], "T", ["p"], assemble=True)


def test_a_tree_that_is_put_twice_counts_once():
    """Two threads may make the same tree."""
    recent = _members._Recent(3)
    for _ in range(5):
        recent.put(7, "tree", _members.REOPENED_BYTES // 2)
    recent.put(8, "other", _members.REOPENED_BYTES // 2)
    assert (recent.get(7), recent.get(8)) == ("tree", "other")
