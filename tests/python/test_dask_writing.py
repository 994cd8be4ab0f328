"""Dask collections as files: one for each partition, kept if it is there whole and of the same input."""

from __future__ import annotations

import os
import signal

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.recorded import session

from .conftest import write_tree

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
dak = pytest.importorskip("dask_awkward")
uproot = pytest.importorskip("uproot")
pd = pytest.importorskip("pandas")

ard = pytest.importorskip("arrowroot.dask")

pytestmark = [
    # Dask's own, of its imports.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    for i, n in enumerate((900, 350)):
        write_tree(folder / f"run{i}.root", n_entries=n, seed=i)
    return str(folder / "run*.root")


@pytest.fixture
def ran():
    """The numbers that :func:`part` was called with."""
    part_calls.clear()
    return part_calls


part_calls = []


def part(i, n=10):
    part_calls.append(i)
    return pa.table({"i": np.full(n, i), "x": np.arange(n, dtype=float)})


def delayed_parts(n_parts, **options):
    return [dask.delayed(part, pure=True)(i, **options) for i in range(n_parts)]


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="sync"):
        yield


def test_a_frame_becomes_a_file_for_each_partition(files, tmp_path):
    frame = ard.dataframe(files, "Events", ["run", "weight"], target="10 kB")
    frame = frame[frame.weight > 0]
    written = ard.write(frame, tmp_path / "out", tree="T", layout="rntuple", compression="zstd:3")
    assert [part.path for part in written] == [
        str(tmp_path / "out" / f"part-{i:05}.root") for i in range(frame.npartitions)
    ]
    assert frame.npartitions > 2
    assert not any(part.was_kept for part in written)
    whole = frame.compute()
    assert sum(part.num_entries for part in written) == len(whole)
    again = ar.scan(str(tmp_path / "out" / "*.root"), tree="T").read_all()
    np.testing.assert_array_equal(again["weight"].to_numpy(), whole.weight.to_numpy())
    np.testing.assert_array_equal(again["run"].to_numpy(), whole.run.to_numpy())
    with uproot.open(written[0].path) as file:
        assert file["T"].classname == "ROOT::RNTuple" or "RNTuple" in type(file["T"]).__name__
    # The same once more: nothing is computed.
    assert [
        part.was_kept
        for part in ard.write(frame, tmp_path / "out", tree="T", layout="rntuple", compression="zstd:3")
    ] == [True] * frame.npartitions


def test_arrays_of_dask_awkward_are_written(files, tmp_path):
    array = ard.awkward(files, "Events", target="10 kB")
    written = ard.write(array, tmp_path / "out", flush=50)
    whole = array.compute()
    again = ar.scan(str(tmp_path / "out" / "*.root"), tree="Events").read_all()
    assert again.num_rows == len(whole) == sum(part.num_entries for part in written)
    assert again["pt"].to_pylist() == whole.pt.tolist()
    with ar.open(written[0].path) as file:
        assert file["Events"].auto_flush == 50
    assert all(part.was_kept for part in ard.write(array, tmp_path / "out", flush=50))


def test_what_is_there_is_kept_and_the_rest_is_written(tmp_path, ran):
    target = tmp_path / "out"
    first = ard.write(delayed_parts(4), target)
    assert (sorted(ran), [part.num_entries for part in first]) == ([0, 1, 2, 3], [10] * 4)
    stamps = [(target / f"part-0000{i}.root").stat().st_mtime_ns for i in range(4)]
    (target / "part-00001.root").unlink()
    # One that was cut short is not whole.
    cut = target / "part-00002.root"
    cut.write_bytes(cut.read_bytes()[:-200])
    ran.clear()
    second = ard.write(delayed_parts(4), target)
    assert sorted(ran) == [1, 2]
    assert [part.was_kept for part in second] == [True, False, False, True]
    assert (target / "part-00000.root").stat().st_mtime_ns == stamps[0]
    with ar.open(cut) as file:
        assert file["Events"].to_numpy(["i"])["i"].tolist() == [2] * 10
    # Another input, another layout, another name of the tree: nothing is kept.
    for options, parts in (
        ({}, {"n": 11}),
        ({"layout": "rntuple"}, {"n": 11}),
        ({"tree": "T", "layout": "rntuple"}, {"n": 11}),
    ):
        ran.clear()
        assert not any(part.was_kept for part in ard.write(delayed_parts(4, **parts), target, **options))
        assert sorted(ran) == [0, 1, 2, 3]


def test_the_file_of_a_partition_that_fails_is_not_there(tmp_path, ran):
    def fails(i):
        if i == 1:
            raise OSError("no such input")
        return part(i)

    target = tmp_path / "out"
    # A file of an earlier input must not look like one of this.
    ard.write(delayed_parts(3, n=7), target)
    parts = [dask.delayed(fails, pure=True)(i) for i in range(3)]
    with pytest.raises(OSError, match="no such input"):
        ard.write(parts, target)
    there = {path.name for path in target.iterdir()}
    assert "part-00001.root" not in there
    assert there <= {"part-00000.root", "part-00002.root"}
    for name in there:
        with ar.open(target / name) as file:
            assert file["Events"].num_entries == 10
    ran.clear()
    written = ard.write([*parts[:1], delayed_parts(2)[1], *parts[2:]], target)
    assert [part.num_entries for part in written] == [10, 10, 10]
    # A partition that cannot be written leaves nothing, either.
    with pytest.raises(ar.ArrowrootError):
        ard.write([dask.delayed(lambda: "text", pure=True)()], tmp_path / "text")
    assert list((tmp_path / "text").iterdir()) == []


def fail(_):
    raise OSError("no such input")


def listed(directory):
    return {one.name: (one.lstat().st_ino, one.lstat().st_mtime_ns) for one in directory.iterdir()}


def test_a_file_that_dask_write_did_not_make_is_no_partition_and_is_left(tmp_path):
    """Other files of these names, whole, damaged, of text, or behind a link; directories; of all nothing is removed."""
    others = {
        "root": lambda path: ar.write(f"{path}:Events", pa.table({"precious": [1, 2, 3]})),
        "cut": lambda path: (ar.write(f"{path}:Events", {"x": np.arange(9.0)}), os.truncate(path, 300)),
        "text": lambda path: path.write_text("my notes"),
        "link": lambda path: (path.with_name("notes").write_text("mine"), path.symlink_to("notes")),
        "directory": lambda path: path.mkdir(),
        "pipe": os.mkfifo,
    }
    for name, make in others.items():
        target = tmp_path / name
        ard.write(delayed_parts(3, n=7), target)
        path = target / "part-00001.root"
        path.unlink()
        make(path)
        before = listed(target)
        # The first would be written, and the last is of another input.
        with pytest.raises((ar.InvalidRequestError, ar.StorageError), match=r"part-00001\.root"):
            ard.write([*delayed_parts(2), dask.delayed(fail, pure=True)(2)], target)
        assert listed(target) == before, name


def test_a_file_that_cannot_be_read_now_is_not_taken_for_a_damaged_one(tmp_path, monkeypatch):
    from arrowroot import _dask_writing

    ard.write(delayed_parts(2), tmp_path / "out")

    def open_file(path):
        raise ar.StorageError(f"{path}: Too many open files")

    monkeypatch.setattr(_dask_writing, "open_file", open_file)
    with pytest.raises(ar.StorageError, match="Too many open files"):
        ard.write([dask.delayed(fail, pure=True)(0), *delayed_parts(1)], tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 2


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere", "x" * 300, "dangling"])
def test_a_directory_that_cannot_be_made_is_our_error(tmp_path, place, ran):
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(ar.StorageError, match="no directory to write to"):
        ard.write(delayed_parts(1), tmp_path / place)
    with pytest.raises(ar.InvalidRequestError, match="NUL"):
        ard.write(delayed_parts(1), f"{tmp_path}/a\0b")
    assert not ran
    assert {one.name for one in tmp_path.iterdir()} == {"file", "dangling"}


def test_one_process_at_a_time_writes_to_a_directory(tmp_path, ran):
    target = tmp_path / "out"

    def within(i):
        # Another run, while this one has a partition under way.
        with pytest.raises(ar.StorageError, match=r"writing to .*out: process \d+ on .*does the same"):
            ard.write(delayed_parts(2, n=3), target)
        return part(i)

    written = ard.write([dask.delayed(within, pure=True)(i) for i in range(2)], target)
    assert [one.num_entries for one in written] == [10, 10]
    assert sorted(ran) == [0, 1]
    assert sorted(one.name for one in target.iterdir()) == ["part-00000.root", "part-00001.root"]


def test_an_input_without_a_uuid_is_another_once_it_is_changed(tmp_path):
    source, target = tmp_path / "in.root", tmp_path / "out"
    for first in (0, 1000):
        # They are of the same size, as nothing is compressed.
        data = {"x": np.arange(100) + first}
        ar.write(f"{source}:Events", data, reproducible=True, compression=None)
        os.utime(source, ns=(first, first))
        (one,) = ard.write(ard.dataframe(str(source), "Events"), target)
        assert not one.was_kept
        assert ar.open(one.path)["Events"]["x"].to_numpy()[0] == first
    assert ard.write(ard.dataframe(str(source), "Events"), target)[0].was_kept


def test_other_metadata_of_a_schema_are_another_input(tmp_path):
    fields = [pa.field("i", pa.int64(), nullable=False), pa.field("x", pa.float64(), nullable=False)]
    for end in ("1", "2"):
        schema = pa.schema(fields, metadata={"about": "x" * 5000 + end})
        (one,) = ard.write(delayed_parts(1), tmp_path / "out", schema=schema)
        assert not one.was_kept
        assert ar.open(one.path)["Events"].schema.metadata == schema.metadata


def test_bags_single_delayed_tables_and_a_schema(tmp_path):
    import dask.bag

    bag = dask.bag.from_sequence([{"x": i, "y": i / 2} for i in range(10)], npartitions=3)
    written = ard.write(bag, tmp_path / "bag", schema={"x": "int16", "y": "float32"})
    again = ar.scan(str(tmp_path / "bag" / "*.root"), tree="Events").read_all()
    assert again["x"].to_pylist() == list(range(10))
    assert again.schema.field("x").type == pa.int16()
    assert len(written) == 3
    (one,) = ard.write(dask.delayed(part, pure=True)(5), tmp_path / "one", aliases={"twice": "2*x"})
    with ar.open(one.path) as file:
        assert file["Events"].aliases == {"twice": "2*x"}


def test_entries_of_a_bag_may_lack_a_column_and_none_is_lost(tmp_path):
    import dask.bag

    rows = [{"x": 1}, {"x": 2, "y": 3.5}, {"y": 4.5}]
    bag = dask.bag.from_sequence(rows, npartitions=1)
    ard.write(bag, tmp_path / "bag")
    again = ar.scan(str(tmp_path / "bag" / "*.root"), tree="Events").read_all()
    assert again.to_pylist() == [{"x": 1, "y": None}, {"x": 2, "y": 3.5}, {"x": None, "y": 4.5}]
    with pytest.raises(ar.InvalidRequestError, match="dictionaries by column, not int"):
        ard.write(dask.bag.from_sequence([1, 2], npartitions=1), tmp_path / "numbers")
    none_there = dask.bag.from_sequence(rows, npartitions=1).filter(lambda row: not row)
    with pytest.raises(ar.InvalidRequestError, match="give a schema"):
        ard.write(none_there, tmp_path / "none")
    ard.write(none_there, tmp_path / "none", schema={"x": "int64"})


def test_partitions_are_stored_alike_whatever_lists_each_has(tmp_path):
    no_items = pa.array([[]], pa.list_(pa.float64()))
    parts = [
        pa.table({"nM": [1, 2], "M_a": [[1.0], [2.0, 3.0]], "K_a": [[1.0], []], "K_b": [[1.0], []]}),
        pa.table({"nM": [3], "M_a": [[4.0, 5.0, 6.0]], "K_a": [[1.0]], "K_b": no_items}),
        pa.table({"nM": [0], "M_a": no_items, "K_a": [[1.0]], "K_b": [[1.0]]}),
    ]
    parts = [one.set_column(0, "nM", one["nM"].cast(pa.int32())) for one in parts]
    written = ard.write([dask.delayed(one) for one in parts], tmp_path / "alike")
    names = ("nM", "nM_a", "nK", "nK_a", "nK_b")
    for one in written:
        with ar.open(one.path) as file:
            tree = file["Events"]
            assert {name for name in names if name in tree} == {"nM", "nK_a", "nK_b"}
    # The type of such lists is that of the others.
    with pytest.raises(ar.InvalidRequestError, match="column 'x': all lists are empty here"):
        ard.write([dask.delayed(pa.table)({"x": [[], []]})], tmp_path / "empty")
    (one,) = ard.write(
        [dask.delayed(pa.table)({"x": [[], []]})], tmp_path / "said", schema={"x": pa.list_(pa.int32())}
    )
    with ar.open(one.path) as file:
        assert file["Events"].schema.field("x").type.value_type == pa.int32()


def test_another_precision_is_another_input_however_little_it_differs(tmp_path, ran):
    for end in ("3.14159265", "3.14159300"):
        ran.clear()
        layout = ar.Layout(precision={"x": "Double32[0,9]", "*": f"Double32[0,{end}]"})
        assert not any(part.was_kept for part in ard.write(delayed_parts(1), tmp_path, layout=layout))
        assert ran == [0]


def test_what_is_no_collection_and_what_is_in_the_way_are_said(tmp_path):
    ard.write(delayed_parts(3), tmp_path / "y")
    session("dask", tmp_path, globals())
    assert not (tmp_path / "x").exists()
    assert len(list((tmp_path / "y").iterdir())) == 3


def killed(place, i):
    """Return batches, in the midst of which the process is killed the first time."""
    yield part(i, 1000)
    if i == 1 and not place.exists():
        place.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    yield part(i, 1000)


@pytest.mark.skipif("ARROWROOT_SOAK" not in os.environ, reason="takes seconds: ARROWROOT_SOAK=1 runs it")
def test_what_a_killed_worker_leaves_is_no_partition_and_goes_with_the_next_run(tmp_path):
    target, place = tmp_path / "out", tmp_path / "was-killed"
    for is_second in (False, True):
        parts = [dask.delayed(killed, pure=True)(place, i) for i in range(4)]
        with dask.config.set(scheduler="processes", num_workers=2):
            if not is_second:
                with pytest.raises(Exception, match=r"(?i)terminated|broken"):
                    ard.write(parts, target, flush=100)
                assert {"part-00001.root", "lock", ".writing"}.isdisjoint(listed(target))
            else:
                written = ard.write(parts, target, flush=100)
    assert [one.num_entries for one in written] == [2000] * 4
    assert sorted(listed(target)) == [f"part-0000{i}.root" for i in range(4)]


@pytest.mark.skipif("ARROWROOT_SOAK" not in os.environ, reason="takes seconds: ARROWROOT_SOAK=1 runs it")
def test_workers_of_other_processes_write_too(files, tmp_path):
    distributed = pytest.importorskip("distributed")
    frame = ard.dataframe(files, "Events", ["run"], target="10 kB")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster),
        dask.config.set(scheduler="dask.distributed"),
    ):
        written = ard.write(frame, tmp_path / "out")
        assert all(part.was_kept for part in ard.write(frame, tmp_path / "out"))
    assert sum(part.num_entries for part in written) == 1250
