"""Places of files: names that are not text, files in hand, and what is no place."""

import contextlib
import gzip
import io
import os
import tarfile
import tracemalloc
from array import array
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.recorded import session

from .conftest import N_ENTRIES, write_tree


@pytest.fixture
def odd_name(tmp_path):
    write_tree(tmp_path / "text.root")
    named = tmp_path / os.fsdecode(b"caf\xe9.root")
    try:
        (tmp_path / "text.root").rename(named)
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    return named


def test_a_name_of_any_bytes_is_opened(odd_name):
    for location in (odd_name, str(odd_name), bytes(odd_name)):
        with ar.open(location) as file:
            assert file["Events"].num_entries == N_ENTRIES
            assert "caf\ufffd.root" in file.url
            repr(file).encode()  # may be printed


def test_chains_and_globs_find_it(odd_name):
    pattern = str(odd_name.parent / "*.root")
    for location in (odd_name, bytes(odd_name), pattern, [odd_name, f"{odd_name}:Events"]):
        scan = ar.scan(location, columns=["run"])
        assert scan.num_entries in (N_ENTRIES, 2 * N_ENTRIES)
        assert scan.read_all().num_rows == scan.num_entries


def test_the_command_opens_it(odd_name, arrowroot_command):
    assert "caf\ufffd.root" in arrowroot_command("ls", odd_name).stdout


def test_what_is_a_location_is_opened_and_what_is_none_is_refused(sample, tmp_path, monkeypatch):
    path, spaced = tmp_path / "sample.root", tmp_path / "with space, 100%25 ä.root"
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for copy in (path, spaced, home / "x1.root"):
        copy.write_bytes(sample[0].read_bytes())
    (tmp_path / "text").write_text("text")
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        tar.add(path, "x.root")
    ends = os.pipe()
    with os.fdopen(ends[0], "rb") as pipe, os.fdopen(ends[1], "wb"), (tmp_path / "text").open() as text:
        given = {"path": path, "spaced": spaced, "pipe": pipe, "text": text}
        names = {"ar": ar, "np": np, "io": io, "array": array, "Path": Path}
        varying = [(r" at 0x[0-9a-f]+>", " at 0x...>"), (r"reading \d+ bytes", "reading N bytes")]
        session("locations", tmp_path, names | given, varying)


class ShortReads(io.BytesIO):
    """Gives three bytes at most of what is asked for, as pipes and sockets may."""

    def read(self, size=-1, /):
        return super().read(min(size, 300) if size > 0 else size)


def zipped(path):
    target = path.with_suffix(".gz")
    target.write_bytes(gzip.compress(path.read_bytes(), 1))
    return gzip.open(target)


IN_HAND = {
    "bytes": lambda path: path.read_bytes(),
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "an array": lambda path: np.fromfile(path, np.uint8),
    "signed bytes": lambda path: np.fromfile(path, np.int8),
    "a buffer of Arrow": lambda path: pa.py_buffer(path.read_bytes()),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "short reads": lambda path: ShortReads(path.read_bytes()),
    "a file": lambda path: path.open("rb"),
    "a raw file": lambda path: path.open("rb", buffering=0),
    "gzip": zipped,
    "fsspec": lambda path: pytest.importorskip("fsspec").filesystem("local").open(str(path)),
}


@pytest.mark.parametrize("make", IN_HAND.values(), ids=IN_HAND)
def test_a_file_in_hand_is_read_as_one_at_a_path(sample, monkeypatch, make):
    monkeypatch.setenv("ARROWROOT_STRATEGY", "lazy-download")  # which would keep a copy under its name
    given = make(sample[0])
    with contextlib.closing(given) if hasattr(given, "close") else contextlib.nullcontext():
        with ar.open(given) as file, ar.open(sample[0]) as plain:
            tree = file["Events"]
            assert file.size_bytes == plain.size_bytes
            assert file.keys() == plain.keys()
        # The tree keeps it for itself; it is not closed.
        assert tree.to_arrow().equals(ar.open(sample[0])["Events"].to_arrow())
        found = list(tree.scan(["run"], batch_entries=100, n_threads=3))
        assert [batch.num_rows for batch in found] == [100] * 10


def test_a_file_in_hand_is_not_copied(tmp_path):
    path = tmp_path / "large.root"
    ar.write(f"{path}:T", {"x": np.random.default_rng(1).random(300_000), "n": np.arange(300_000)})
    content = path.read_bytes()
    for given in (content, memoryview(content), io.BytesIO(content)):
        tracemalloc.start()
        with ar.open(given) as file:
            assert file["T"].to_arrow("x", entries=slice(0, 1000))["x"].null_count == 0
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < len(content) // 4


def test_the_position_of_a_file_in_hand_is_what_it_was(sample):
    with sample[0].open("rb") as buffered, sample[0].open("rb", buffering=0) as raw:
        for given in (io.BytesIO(sample[0].read_bytes()), buffered, raw):
            given.seek(17)
            tree = ar.open(given)["Events"]
            assert given.tell() == 17
            given.seek(23)
            assert tree.to_arrow("run").num_rows == tree.num_entries
            assert given.tell() == 23


def test_a_file_in_hand_lies_beside_no_other(tmp_path):
    with ar.create(tmp_path / "main.root") as file:
        file["F"] = {"y": [1.5]}
        with file.tree("T", friends=["F", "other.root:G"]) as table:
            table.append({"x": [1]})
    file = ar.open((tmp_path / "main.root").read_bytes())
    with pytest.raises(ar.InvalidRequestError, match=r"names a friend in 'other\.root'"):
        file["T"].add_recorded_friends()
    tree = file["T"]
    with contextlib.suppress(ar.InvalidRequestError):
        tree.add_recorded_friends()
    assert tree.to_arrow().to_pydict() == {"x": [1], "y": [1.5]}


HUGE = {
    "bytes": b"root" + bytes(1_000_000),
    "a path": "x" * 1_000_000,
    "a tree": "f.root:" + "x" * 100_000,
    "a list": ["x" * 100] * 10_000,
    "nested": [["x" * 100_000]],
    "numbers": (5,) * 20_000,
    "a set": frozenset(range(20_000)),
    "names": {f"{n:0100}": n for n in range(1000)},
    "an integer": 10**5000,
    "integers": [10**5000, 1],
    "a range": range(10**5000),
}


@pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE)
def test_no_error_echoes_what_it_was_given(sample, tmp_path, monkeypatch, huge):
    monkeypatch.chdir(tmp_path)
    tree, n_raised = ar.open(sample[0])["Events"], 0
    text = huge if isinstance(huge, str) else "9" * 5000
    with contextlib.suppress(ValueError):  # Python writes no integer of thousands of digits
        text = huge if isinstance(huge, str) else repr(huge)
    calls = [
        *(
            partial(call, huge)
            for call in (ar.open, ar.scan, ar.partitions, ar.create, tree.to_arrow, tree.pick)
        ),
        *(
            partial(getattr(one, name), huge)
            for one in (tree, ar.open(sample[0]))
            for name in ("__getitem__",)
        ),
        *(
            partial(tree.scan, **{name: huge})
            for name in ("entries", "filter", "batch_size", "batch_entries")
        ),
        *(partial(tree.scan, **{name: huge}) for name in ("memory_budget", "n_threads", "strings", "order")),
        *(partial(tree.scan, filter=f"{begin}{text[:90_000]}") for begin in ("", "run == ", "`")),
        partial(tree.scan, **{text: 1}),
        partial(ar.open, "f.root", **{text: 1}),
        partial(ar.open, "f.root", strategy=text),
        partial(ar.open, "f.root", replicas=huge),
        partial(ar.open, "f.root", retries=huge),
        partial(ar.write, huge, {"x": [1]}),
        partial(ar.write, "o.root:T", huge),
        partial(ar.write, "o.root:T", {"x": [1]}, schema=huge),
        partial(ar.write, "o.root:T", {"x": [1]}, layout=huge),
        partial(ar.write, "o.root:T", {"x": [1]}, compression=huge),
        partial(ar.write, "o.root:T", {"x": [1]}, flush=huge),
        partial(ar.write, "o.root:T", {"x": [1]}, basket_size=huge),
        partial(ar.write, "o.root:T", {"x": [1]}, user_info={"x": huge}),
        partial(ar.Layout, split=huge),
        partial(tree.add_friend, huge),
        partial(tree.attribute_set, huge),
        partial(getattr, tree, text),
        partial(getattr, ar, text),
    ]
    for call in calls:
        try:
            call()
        except Exception as raised:  # noqa: BLE001 - any
            error = raised
        else:
            continue
        n_raised += 1
        assert "Exceeds the limit" not in str(error)
        assert len(str(error)) < 2000, (str(error)[:300], len(str(error)))
    assert n_raised > len(calls) // 2


def test_a_url_is_no_pattern_and_says_so() -> None:
    for call in (ar.open, lambda url, **options: ar.scan(url, "t", **options)):
        with pytest.raises(ar.StorageError, match="so a URL is no pattern: name each file"):
            call("http://127.0.0.1:1/*.root", retries=0)
        with pytest.raises(ar.StorageError) as raised:
            call("http://127.0.0.1:1/a.root", retries=0)
        assert "pattern" not in str(raised.value)
