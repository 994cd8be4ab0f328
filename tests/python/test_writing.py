"""Files that are written through the API come back as they were; what goes wrong leaves nothing."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.recorded import session

LAYOUTS = ["ttree", "rntuple"]
layouts = pytest.mark.parametrize("layout", LAYOUTS)


def table_of(n=1000, seed=3):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, n)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    total = int(offsets[-1])

    def jagged(values):
        kind = pa.list_(pa.field("item", pa.from_numpy_dtype(values.dtype), nullable=False))
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), type=kind)

    columns = {
        "event": pa.array(np.arange(n, dtype=np.uint64)),
        "nMuon": pa.array(counts.astype(np.int32)),
        "Muon_pt": jagged(rng.exponential(20, total).astype(np.float32)),
        "Muon_charge": jagged(rng.choice([-1, 1], total).astype(np.int32)),
        "MET_pt": pa.array(rng.exponential(30, n).astype(np.float32)),
        "good": pa.array(rng.random(n) < 0.5),
        # Not empty at the end of a basket: uproot 5.7 reads none that is, not of ROOT's files either.
        "word": pa.array([f"word {i % 7}" * (i % 3) or "?" for i in range(n)]),
    }
    schema = pa.schema([pa.field(name, array.type, nullable=False) for name, array in columns.items()])
    return pa.table(list(columns.values()), schema=schema)


def only_file(directory):
    """Return the names in a directory: nothing may be left beside a file."""
    return sorted(path.name for path in directory.iterdir())


@layouts
def test_in_steps_with_directories_and_several_tables(tmp_path, layout):
    table = table_of(300)
    with ar.create(tmp_path / "out.root") as f:
        events = f.tree("Events", layout=layout, title="all of them")
        other = f.directory("cuts").tree("deep/Events", layout=layout)
        for batch in table.to_batches(max_chunksize=70):
            events.append(batch)
            other.append(batch.slice(0, 10))
        assert events.num_entries == 300
        assert (events.path, other.path) == ("Events", "cuts/deep/Events")
        assert not (tmp_path / "out.root").exists()
    assert f.is_closed
    with ar.open(tmp_path / "out.root") as back:
        assert back["Events"].to_arrow().equals(table)
        assert back["Events"].class_name == {"ttree": "TTree", "rntuple": "ROOT::RNTuple"}[layout]
        assert back["Events"].title == "all of them"
        assert back["cuts/deep/Events"].num_entries == 50
        assert sorted(back.trees) == ["Events", "cuts/deep/Events"]


@layouts
def test_a_schema_without_entries_is_an_empty_table(tmp_path, layout):
    with ar.create(tmp_path / "out.root") as f:
        f.tree("t", {"x": "float32", "v": pa.list_(pa.int16()), "s": pa.string()}, layout=layout)
    tree = ar.open(tmp_path / "out.root")["t"]
    assert tree.num_entries == 0
    assert tree.to_arrow().schema.types == [pa.float32(), pa.list_(pa.int16()), pa.string()]


def missing(good, bad):
    """What is said of the same data in both formats."""
    said = set()
    for layout in LAYOUTS:
        with ar.create("out.root") as f:
            table = f.tree("Events", layout=layout)
            table.append({"x": pa.array(good)})
            with pytest.raises(ar.InvalidRequestError) as caught:
                table.append({"x": pa.array(bad)})
            f.abort()
        said.add(str(caught.value))
    return "\n".join(sorted(said))


@layouts
def test_settings_by_column_are_in_the_file(tmp_path, layout):
    ar.write(
        f"{tmp_path}/out.root:Events",
        table_of(20_000),
        layout=layout,
        compression={"Muon_*": "lz4", "MET_pt": None, "*": "zstd:3"},
        flush=4000,
    )
    tree = ar.open(tmp_path / "out.root")["Events"]
    found = {column.name: column.compression for column in tree.columns}
    assert found["Muon_pt"].startswith("lz4")
    assert found["event"].startswith("zstd")
    assert "none" in found["MET_pt"]
    assert tree.clusters == [0, 4000, 8000, 12000, 16000, 20000]


@pytest.mark.parametrize(
    ("given", "told"), [("zstd:5", "zstd 5"), ("none", "none"), ({"*": "lz4"}, "zlib 1")]
)
def test_a_file_tells_the_codec_that_was_asked_for(tmp_path, given, told):
    ar.write(f"{tmp_path}/out.root:Events", {"x": [1, 2]}, compression=given)
    assert ar.open(tmp_path / "out.root").compression == told


@layouts
def test_a_cluster_is_as_large_as_was_asked_for_or_fits_the_buffers(tmp_path, layout):
    data = {"x": np.arange(12_500_000, dtype=np.float64)}  # 100 MB

    def largest(**options):
        ar.write(f"{tmp_path}/out.root:t", data, layout=layout, compression=None, **options)
        return 8e-6 * max(np.diff(ar.open(tmp_path / "out.root")["t"].clusters))

    # The first one is taken to compress to a half.
    assert largest(flush="40 MB") == pytest.approx(80, rel=0.01)
    assert 50 <= largest() <= 64
    assert 6 <= largest(buffers="32 MB") <= 8


def test_two_files_are_told_apart_unless_reproducible(tmp_path):
    for name in ("a", "b"):
        ar.write(f"{tmp_path}/{name}.root:t", {"x": [1]})
    a, b = (ar.open(tmp_path / f"{name}.root").uuid for name in ("a", "b"))
    assert a != b
    ar.write(f"{tmp_path}/a.root:t", {"x": [1]}, reproducible=True)
    assert ar.open(tmp_path / "a.root").uuid == ""


def fail_after(table):
    table.append(table_of())
    raise ZeroDivisionError


@layouts
def test_what_is_refused_leaves_nothing_and_an_older_file_as_it_was(tmp_path, layout):
    (tmp_path / "out.root").write_bytes(b"older")
    with pytest.raises(ZeroDivisionError), ar.create(tmp_path / "out.root") as f:
        fail_after(f.tree("t", layout=layout))
    for data in ({"x": np.array([1j])}, {"x": np.zeros(2, "V3")}):
        with pytest.raises(ar.UnsupportedError, match="'x'"):
            ar.write(f"{tmp_path}/out.root:t", data, layout=layout)
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.nulls(1)])
    with pytest.raises(ar.UnsupportedError, match=r"x"):
        ar.write(f"{tmp_path}/out.root:t", pa.table({"x": union}), layout=layout)
    assert only_file(tmp_path) == ["out.root"]
    assert (tmp_path / "out.root").read_bytes() == b"older"


def test_a_table_that_an_exception_left_spoils_the_file(tmp_path):
    def half(f):
        with f.tree("t") as t:
            t.append({"x": [1]})
            raise ZeroDivisionError

    with (
        pytest.raises(ar.ArrowrootError, match="'t'"),
        ar.create(tmp_path / "out.root") as f,
        pytest.raises(ZeroDivisionError),
    ):
        half(f)
    assert only_file(tmp_path) == []


@pytest.mark.parametrize("layout", ["ttree", "rntuple", "aod-2011"])
def test_refused_data_can_be_followed_by_others(tmp_path, layout):
    """Also where first entries are looked at."""
    with ar.create(tmp_path / "out.root") as f:
        t = f.tree("t", layout=layout)
        t.append({"x": np.arange(3, dtype=np.int32)})
        assert t.schema.field("x").type == pa.int32()
        for wrong in ({"y": [1]}, {"x": ["a"]}, {"x": [1 << 40]}, {"x": [1.5]}, {"x": [None]}, 5):
            with pytest.raises(ar.ArrowrootError):
                t.append(wrong)
        t.append({"x": [3]})
        assert t.num_entries == 4
    assert ar.open(tmp_path / "out.root")["t"].to_numpy()["x"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("n_more", [0, 2000])
def test_entries_that_waited_and_are_refused_give_the_file_up(tmp_path, n_more):
    schema = pa.schema([pa.field("x", pa.string(), nullable=False)])
    f = ar.create(tmp_path / "out.root")
    t = f.tree("t", schema, layout="aod-2011")
    ends = pa.array([0, 1], pa.int32()).buffers()[1]
    for text in (b"a", b"\xff", b"c"):
        t.append({"x": pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(text)])})
    with pytest.raises(ar.InvalidRequestError, match="entry 1 has a text that is not UTF-8"):
        t.append({"x": [""] * n_more}) if n_more else t.close()
    with pytest.raises(ar.ArrowrootError, match="'t'"):
        f.close()
    assert only_file(tmp_path) == []


@layouts
@pytest.mark.parametrize("is_nested", [False, True], ids=["numbers", "lists"])
def test_many_entries_of_which_one_is_refused_leave_nothing(tmp_path, layout, is_nested):
    values = np.arange(3_000_000.0)
    mask = np.zeros(len(values), bool)
    mask[-1] = True
    kind = pa.list_(pa.field("item", pa.float64(), nullable=False)) if is_nested else pa.float64()
    schema = pa.schema([pa.field("x", kind, nullable=False)])

    def column(array):
        return (
            pa.ListArray.from_arrays(np.arange(len(array) + 1, dtype=np.int32), array) if is_nested else array
        )

    good, bad = column(pa.array(values[:5])), column(pa.array(values, mask=mask))
    chunks = pa.chunked_array([good, good, bad.slice(len(bad) - 1)])
    batches = pa.RecordBatchReader.from_batches(pa.schema([("x", bad.type)]), [pa.record_batch({"x": bad})])
    with ar.create(tmp_path / "out.root") as f:
        t = f.tree("t", schema, layout=layout)
        for wrong, entry in (({"x": bad}, 2_999_999), (batches, 2_999_999), ({"x": chunks}, 10)):
            with pytest.raises(ar.InvalidRequestError, match=f"column .x.: entry {entry} is null"):
                t.append(wrong)
        t.append({"x": good})
        with pytest.raises(ar.InvalidRequestError, match=r"column .x.: entry 3000004 is null"):
            t.append({"x": bad})
    assert ar.open(tmp_path / "out.root")["t"].to_arrow()["x"].to_pylist() == good.to_pylist()


@layouts
@pytest.mark.parametrize("way", ["stream", "generator", "append", "fill"])
def test_what_has_no_entries_says_nothing_of_those_that_follow(tmp_path, layout, way):
    some = pa.record_batch({"nx": pa.array([7, 8], pa.int32()), "x": [[1.0], []], "y": [1, None]})
    batches = [some.slice(0, 0), some.slice(0, 0), some]
    with ar.create(tmp_path / "out.root") as f, f.tree("t", layout=layout) as t:
        if way == "stream":
            t.append(pa.RecordBatchReader.from_batches(some.schema, batches))
        elif way == "generator":
            t.append(iter(batches))
        elif way == "append":
            for batch in batches:
                t.append(batch)
        else:
            with t.context() as context:
                for batch in batches:
                    context.fill(batch)
    assert ar.open(tmp_path / "out.root")["t"].to_arrow().to_pydict() == some.to_pydict()


def test_without_any_entry_the_first_data_say_the_columns(tmp_path):
    empty = pa.record_batch({"x": pa.array([], pa.int32())})
    with ar.create(tmp_path / "out.root") as f:
        f.tree("t").append(empty)
        with f.tree("u") as u, u.context() as context:
            context.fill(empty)
    with ar.open(tmp_path / "out.root") as f:
        assert [f[name].to_arrow().schema.types for name in "tu"] == [[pa.int32()]] * 2


def test_a_file_that_is_forgotten_is_told_and_not_kept(tmp_path):
    f = ar.create(tmp_path / "out.root")
    with pytest.warns(RuntimeWarning, match="not closed, and is not kept"):
        del f
    assert only_file(tmp_path) == []


def test_what_makes_no_sense_is_refused_and_leaves_nothing(tmp_path):
    session("written-files", tmp_path, globals(), [(r"value 1\.5\d*", "value 1.5")])


@pytest.mark.skipif(not os.geteuid(), reason="root may write everywhere")
def test_a_directory_where_nothing_may_be_written_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ar.AccessDeniedError):
        ar.create(tmp_path / "out.root")
    tmp_path.chmod(0o700)


WRITER = """
    import resource, signal, sys
    import numpy as np
    import arrowroot as ar
    path, what, layout = sys.argv[1:]
    if what == "limit":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
    rng = np.random.default_rng(1)
    try:
        with ar.create(path, compression=None) as f:
            t = f.tree("t", flush=10_000, layout=layout)
            for i in range(20 if what == "limit" else 1_000_000):
                t.append({"x": rng.integers(0, 1 << 60, 50_000)})
                if i == 3:
                    print("begun", flush=True)
    except ar.StorageError as error:
        print(error)
        sys.exit(7)
"""


def start_writer(path, what, layout):
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path), what, layout]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@layouts
def test_a_full_disk_leaves_an_older_file_as_it_was(tmp_path, layout):
    path = tmp_path / "out.root"
    path.write_bytes(b"older")
    process = start_writer(path, "limit", layout)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 7, err
    assert str(path) in out
    assert path.read_bytes() == b"older"
    assert only_file(tmp_path) == ["out.root"]


@layouts
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_in_the_middle_leaves_an_older_file_as_it_was(tmp_path, number, layout):
    path = tmp_path / "out.root"
    path.write_bytes(b"older")
    process = start_writer(path, "", layout)
    assert process.stdout.readline() == "begun\n", process.communicate()
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert path.read_bytes() == b"older"
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in err
        assert only_file(tmp_path) == ["out.root"]
    else:
        assert only_file(tmp_path) == ["out.root", "out.root.part"]
        # What a killed process left is in nobody's way.
        ar.write(f"{path}:t", {"x": [1]}, layout="rntuple")
        assert only_file(tmp_path) == ["out.root"]
        assert ar.open(path)["t"].num_entries == 1


def test_a_file_that_is_replaced_stays_readable_for_those_who_have_it_open(tmp_path):
    path = tmp_path / "out.root"
    ar.write(f"{path}:t", {"x": [1]}, layout="rntuple")
    with ar.open(path) as older:
        ar.write(f"{path}:t", {"x": [2]}, layout="rntuple")
        assert older["t"].to_numpy()["x"].tolist() == [1]
    assert ar.open(path)["t"].to_numpy()["x"].tolist() == [2]


def test_waiting_for_the_writer_keeps_other_threads_running(tmp_path):
    import threading

    ticks = []
    is_over = threading.Event()

    def tick():
        while not is_over.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        ar.write(f"{tmp_path}/out.root:t", table_of(200_000), layout="rntuple", compression="zstd:9")
    finally:  # or the process would never end
        is_over.set()
    thread.join()
    assert len(ticks) > 5


def test_paths_of_all_kinds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (Path("a.root"), "b.root", f"file://{tmp_path}/c.root", "no suffix"):
        with ar.create(path) as f:
            f.tree("t", layout="rntuple").append({"x": [1]})
    assert only_file(tmp_path) == ["a.root", "b.root", "c.root", "no suffix"]
    (tmp_path / "link.root").symlink_to("a.root")
    ar.write("link.root:t", {"x": [5, 6]}, layout="rntuple")
    assert (tmp_path / "link.root").is_symlink()
    assert ar.open("a.root")["t"].num_entries == 2


def lists_of(*values, of=None):
    return pa.array(values, pa.list_(pa.field("item", of or pa.float32(), nullable=False)))


def counters_of(path):
    tree = ar.open(path)["t"]
    return {name for name in ("nM", "nM_a", "nM_b") if name in tree}


AGREE = {"M_a": lists_of([1], [2, 3]), "M_b": lists_of([1], [2, 3])}
DIFFER = {"M_a": lists_of([4]), "M_b": lists_of([])}


def in_a_list(path):
    ar.write(f"{path}:t", [AGREE, DIFFER])


def of_a_reader(path):
    batches = [pa.table(part).to_batches()[0] for part in (AGREE, DIFFER)]
    ar.write(f"{path}:t", pa.RecordBatchReader.from_batches(batches[0].schema, batches))


def appended(path):
    with ar.create(path) as file:
        tree = file.tree("t")
        tree.append(AGREE)
        tree.append(DIFFER)


def filled(path):
    with ar.create(path) as file:
        tree = file.tree("t")
        with tree.context() as context:
            context.fill(AGREE)
            context.fill(DIFFER)


@pytest.mark.parametrize("write", [in_a_list, of_a_reader, appended, filled])
def test_lists_whose_first_entries_happened_to_agree_may_differ_later(tmp_path, write):
    write(tmp_path / "t.root")
    read = ar.open(tmp_path / "t.root")["t"].to_arrow().to_pydict()
    assert read == {"M_a": [[1], [2, 3], [4]], "M_b": [[1], [2, 3], []]}


def test_all_entries_in_hand_say_whether_lists_share_a_counter(tmp_path):
    both = pa.concat_tables([pa.table(AGREE), pa.table(DIFFER)])
    for data, counters in ((pa.table(AGREE), {"nM"}), (both, {"nM_a", "nM_b"})):
        ar.write(f"{tmp_path}/w.root:t", data)
        with ar.create(tmp_path / "s.root") as file:
            file["t"] = data
        for path in ("w.root", "s.root"):
            assert counters_of(tmp_path / path) == counters
        planned = ar.Layout().plan(data, name="t").branches
        assert {branch.name for branch in planned if branch.name[0] == "n"} == counters


@pytest.mark.parametrize("how", ["append", "fill", "layout"])
def test_an_entry_that_differs_from_a_shared_counter_is_refused_and_those_before_are_kept(tmp_path, how):
    def numbered(part):
        return pa.table({"nM": pa.array([len(one) for one in part["M_a"]], pa.int32()), **part})

    good, bad = numbered(AGREE), pa.concat_tables([numbered(AGREE), numbered(DIFFER)])
    if how == "layout":
        good, bad = good.drop_columns("nM"), bad.drop_columns("nM")
    with ar.create(tmp_path / "t.root") as file:
        tree = file.tree("t", layout=ar.Layout(counters={"M_*": "nM"} if how == "layout" else {}))
        context = tree.context() if how == "fill" else None
        add = tree.append if context is None else context.fill
        add(good)
        with pytest.raises(ar.InvalidRequestError) as refused:
            add(bad)
        add(good)
        if context is not None:
            context.close()
    entry = 2 if how == "fill" else 4
    assert f"t.root:t: column M_b, entry {entry}: 0 items, but nM says another number" in str(refused.value)
    assert 'counters={"M_b": "own"}' in str(refused.value)
    assert counters_of(tmp_path / "t.root") == {"nM"}
    assert ar.open(tmp_path / "t.root")["t"].to_arrow(["M_a", "M_b"]).to_pydict() == {
        name: [[1], [2, 3]] * 2 for name in AGREE
    }


@pytest.mark.parametrize("how", ["append", "free", "filled", "numbered"])
@layouts
def test_entries_without_a_type_wait_for_those_that_have_one(tmp_path, layout, how):
    parts = [
        {"n": [1, 2], "x": [[], []], "u": [None, None]},
        {"n": [3], "x": [[]], "u": ["word"]},
        {"n": [4], "x": [[1.5]], "u": [None]},
        {"n": [5], "x": [[2.5, 3.5]], "u": ["last"]},
    ]
    with ar.create(tmp_path / "t.root") as file:
        tree = file.tree("t", layout=layout, **({} if how == "append" else {"producers": {"order": how}}))
        contexts = [] if how == "append" else [tree.context(), tree.context()]
        first = 0
        for place, part in enumerate(parts):
            if contexts:
                contexts[place % 2].fill(part, **({"first_entry": first} if how == "numbered" else {}))
            else:
                tree.append(part)
            first += len(part["n"])
            assert tree.num_entries == first
        for context in contexts:
            context.close()
    table = ar.open(tmp_path / "t.root")["t"].to_arrow()
    assert table.sort_by("n").to_pydict() == {
        "n": [1, 2, 3, 4, 5],
        "x": [[], [], [], [1.5], [2.5, 3.5]],
        "u": [None, None, "word", None, "last"],
    }
    assert (table.schema.field("x").type.value_type, table.schema.field("u").type) == (
        pa.float64(),
        pa.string(),
    )


@pytest.mark.parametrize("through", ["append", "fill"])
def test_entries_without_a_type_are_written_if_no_others_come(tmp_path, through):
    with ar.create(tmp_path / "t.root") as file:
        tree = file.tree("t")
        if through == "append":
            tree.append({"x": [[], []]})
            with pytest.raises(ar.NoSuchColumnError, match="no column 'y'"):
                tree.append({"x": [[]], "y": [1]})
        else:
            with tree.context() as context:
                context.fill({"x": [[], []]})
    assert ar.open(tmp_path / "t.root")["t"].to_arrow().to_pydict() == {"x": [[], []]}


#: The most bytes of a name: in the key of a basket, of an object with its directories, of a class.
MOST = {"branch": 32_698, "tree": 2047, "directory": 2045, "member": 32_696, "class": 7168}


def with_long_name(path, kind, n_bytes):
    """Write something whose name has so many bytes in the file; return what reads it."""
    letters, rest = divmod(n_bytes, 7)
    name = "é" * letters + "a" * rest
    text = "é" * (n_bytes // 2) + "a" * (n_bytes % 2)
    column, tree, layout = "x", "t", "ttree"
    values = [1.0]
    if kind == "branch":
        column = name
    elif kind == "tree":
        tree = text
    elif kind == "member":
        values, layout = pa.array([{name: 1.0}]), ar.Layout(split=99)
    elif kind == "class":
        values, layout = pa.array([{"m": 1.0}]), ar.Layout(split=1, classes={"x": "C" + "a" * (n_bytes - 1)})
    else:
        tree = f"{text}/t"
    ar.write(f"{path}:{tree}", {column: values}, layout=layout)
    return tree, column


@pytest.mark.parametrize("kind", MOST)
def test_the_longest_names_come_back_and_longer_ones_are_refused(tmp_path, kind):
    uproot = pytest.importorskip("uproot")
    tree, column = with_long_name(tmp_path / "t.root", kind, MOST[kind])
    with ar.open(tmp_path / "t.root") as file:
        read = file[tree].to_arrow()
    assert read.column_names == [column]
    assert read[column].to_pylist() in ([1.0], [{"m": 1.0}]) or kind == "member"
    with uproot.open(tmp_path / "t.root") as file:
        found = file[tree]
        assert found.num_entries == 1
        assert len(found.keys()) == (2 if kind in {"member", "class"} else 1)
    with pytest.raises(ar.ArrowrootError, match=r"7168 at most|at most 32767|2,047 bytes at most") as refused:
        with_long_name(tmp_path / "u.root", kind, MOST[kind] + 1)
    assert len(str(refused.value)) < 1000
    assert only_file(tmp_path) == ["t.root"]


def test_long_names_that_no_key_has_come_back(tmp_path):
    long = "é" * 40_000
    ar.write(f"{tmp_path}/n.root:t", {long: [1]}, layout="rntuple", title=long, titles={long: long})
    with ar.create(tmp_path / "t.root") as file:
        notes = {"aliases": {"a": long, long: "x"}, "user_info": {long: long}}
        with file.tree("t", titles={"x": long}, **notes) as tree:
            tree.append({"x": [1]})
    with ar.open(tmp_path / "n.root") as file:
        found = file["t"]
        assert (found.column_names, found.title, found.columns[0].title) == ([long], long, long)
    with ar.open(tmp_path / "t.root") as file:
        found = file["t"]
        assert (found.aliases, dict(found.user_info)) == (notes["aliases"], notes["user_info"])
        assert found.columns[0].title == long
