"""Files that are read through Python, by fsspec."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot import _native

if TYPE_CHECKING:
    from collections.abc import Callable

fsspec = pytest.importorskip("fsspec")
EVENTS = Path(__file__).parents[1] / "fixtures" / "events.root"
OBJECTS = EVENTS.with_name("objects.root")


@pytest.fixture
def url() -> str:
    files = fsspec.filesystem("memory")
    files.pipe_file("/data/events.root", EVENTS.read_bytes())
    return "memory://data/events.root"


def test_any_file_system_of_fsspec_gives_the_same_table(url: str) -> None:
    with ar.open(EVENTS) as local, ar.open(url) as far:
        assert far.url == url
        assert far.size_bytes == EVENTS.stat().st_size
        expected = pa.table(local["events"].to_arrow())
        assert pa.table(far["events"].to_arrow()).equals(expected)
        assert pa.table(far["events"].to_arrow(n_threads=3, entries=slice(17, 240))).equals(
            expected.slice(17, 223)
        )


def test_chains_take_such_files_too(url: str) -> None:
    scan = ar.scan([url, str(EVENTS)], tree="events", columns=["number"])
    assert pa.table(scan).column("number").to_pylist() == 2 * list(range(350))


def test_a_file_that_is_not_there_is_an_error_of_storage() -> None:
    with pytest.raises(FileNotFoundError, match="nothing") as caught:
        ar.open("memory://nothing.root")
    assert isinstance(caught.value, ar.NoSuchFileError)
    with pytest.raises(ar.NoSuchFileError, match=r"nothing\.root"):
        ar.open("nothing.root")


class Broken(fsspec.AbstractFileSystem):
    """A file system whose server cannot be reached, or asked."""

    protocol = "broken"
    cachable = False

    def __init__(self, *, at_once: bool) -> None:
        super().__init__()
        if at_once:
            raise RuntimeError("no route to the server")

    def size(self, path: str) -> int:
        raise RuntimeError(f"no answer about {path}")


@pytest.mark.parametrize(("at_once", "reason"), [(True, "no route"), (False, "no answer")])
def test_what_a_library_raises_while_opening_is_an_error_of_storage_that_names_the_file(
    monkeypatch: pytest.MonkeyPatch, at_once: bool, reason: str
) -> None:
    fsspec.register_implementation("broken", Broken, clobber=True)
    made = Broken.__init__
    monkeypatch.setattr(Broken, "__init__", lambda self: made(self, at_once=at_once))
    with pytest.raises(ar.StorageError, match=f"^broken://host/f.root: cannot be opened: {reason}"):
        ar.open("broken://host/f.root")


class Talkative(fsspec.AbstractFileSystem):
    """A file system that repeats what it was given, and where it was sent on to, when reading fails."""

    protocol = "talkative"
    cachable = False

    def size(self, _path: str) -> int:
        return 1000

    def cat_ranges(self, paths: list[str], *_: object, **__: object) -> list[bytes]:
        kind = PermissionError if "denied" in paths[0] else RuntimeError
        raise kind(f"403: {paths[0]}, sent on to 'https://me:pass@cdn/f?key=1'")


@pytest.mark.parametrize(("name", "kind"), [("denied", PermissionError), ("f", ar.StorageError)])
def test_what_a_library_repeats_of_credentials_is_not_shown(name: str, kind: type[Exception]) -> None:
    fsspec.register_implementation("talkative", Talkative, clobber=True)
    url = f"talkative://me:password@h/{name}?sig=signature"
    with pytest.raises(kind) as caught:
        ar.open(url)
    text = "".join(traceback.format_exception(caught.value))
    assert f"talkative://h/{name}?sig=...: " in text
    assert "sent on to 'https://cdn/f?key=...'" in text
    assert not any(secret in text for secret in ("password", "signature", "pass@", "key=1"))


def test_an_unknown_scheme_says_so() -> None:
    with pytest.raises(ar.UnsupportedError, match="gopher"):
        ar.open("gopher://host/file.root")
    with pytest.raises(ar.UnsupportedError, match=r"davs.*https://$"):
        ar.open("davs://host/file.root")


def test_a_file_that_became_shorter_is_an_error(url: str) -> None:
    with ar.open(url) as far:
        tree = far["events"]
        fsspec.filesystem("memory").pipe_file("/data/events.root", EVENTS.read_bytes()[:5000])
        with pytest.raises(ar.StorageError, match=r"instead of \d+"):
            tree.to_arrow()


class Reader:
    """What a Python object reads of objects.root; it notes the threads that ask, and can be told to fail."""

    url = "python://objects.root"
    hint = "ask the warden"

    def __init__(self) -> None:
        self.content = OBJECTS.read_bytes()
        self.size_bytes = len(self.content)
        self.threads: set[int] = set()
        self.n_failures = 0
        self.failure = OSError("the line was cut")

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        self.threads.add(threading.get_ident())
        if self.n_failures > 0:
            self.n_failures -= 1
            raise self.failure
        return [self.content[offset : offset + n_bytes] for offset, n_bytes in ranges]


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "schema": lambda table: pa.schema(table).field("objects"),
    "branch": lambda table: table.branch("objects").arrow_type,
    "columns": lambda table: table.columns_named(["objects"]),
    "scan": lambda table: table.scan().column_names,
}


def opened(reader: Reader, name: str, retries: int = 0) -> Any:
    options = [("cache_size", "0", "test"), ("retries", str(retries), "test")]
    return _native.open_reader(reader, options).table(name)


@pytest.mark.parametrize("name", ["tree", "ntuple"])
def test_reads_of_a_python_object_are_tried_again_as_often_as_options_say(name: str) -> None:
    reader = Reader()
    ask = QUESTIONS["branch"]
    table = opened(reader, name, retries=2)
    reader.n_failures = 2
    assert ask(table) == ask(opened(Reader(), name))
    assert reader.n_failures == 0
    table = opened(reader, name, retries=1)
    reader.n_failures = 3
    with pytest.raises(ar.StorageError, match="the line was cut"):
        ask(table)
    assert reader.n_failures == 1
    # A refusal is final, and says what this kind of reader needs.
    reader.n_failures, reader.failure = 2, PermissionError("no entry")
    with pytest.raises(ar.AccessDeniedError, match="no entry; ask the warden"):
        ask(table)
    assert reader.n_failures == 1


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["tree", "ntuple"])
def test_who_asks_for_a_type_does_not_wait_in_a_read(name: str, question: str) -> None:
    """In the thread that asks, no signal would be looked at, and perhaps no other thread go on."""
    reader = Reader()
    table = opened(reader, name)
    reader.threads.clear()
    assert QUESTIONS[question](table)
    assert reader.threads
    assert threading.get_ident() not in reader.threads


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["tree", "ntuple"])
def test_a_type_that_a_failed_read_would_have_told_is_asked_for_again(name: str, question: str) -> None:
    expected = QUESTIONS[question](opened(Reader(), name))
    reader = Reader()
    table = opened(reader, name)
    reader.n_failures = 1
    with pytest.raises(ar.StorageError, match="the line was cut"):
        QUESTIONS[question](table)
    assert QUESTIONS[question](table) == expected
    assert "objects" in pa.schema(table).names


def test_threads_that_do_not_start_are_no_lack_of_memory(tmp_path: Path) -> None:
    path = f"{tmp_path}/so_much_that_one_thread_gets_help.root"
    ar.write(f"{path}:t", {"x": pa.array(range(1_000_000))})
    code = f"import arrowroot; arrowroot.open({path!r})['t'].to_arrow(n_threads=2)"
    # No thread gets so large a stack.
    environment = {**os.environ, "RUST_MIN_STACK": str(10**15)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert "ArrowrootError: a thread could not be started" in done.stderr


def alone(code: str, path: Path) -> None:
    """Runs a program that would hang, not fail."""
    subprocess.run([sys.executable, "-c", READ_BY_PYTHON + code, str(path)], check=True, timeout=300)


READ_BY_PYTHON = """
import contextlib, ctypes, os, sys, threading, time
from pathlib import Path
import arrowroot as ar
from arrowroot import _native

def names_of_threads(numbers):
    for number in numbers:
        with contextlib.suppress(OSError):  # it has just ended
            yield Path(f"/proc/self/task/{number}/comm").read_text().strip()

class Reader:
    url = "python://file.root"
    hint = ""

    def __init__(self, path):
        self.content = path.read_bytes()
        self.size_bytes = len(self.content)
        self.is_held = threading.Event()
        self.may_go_on = threading.Event()

    def read_ranges(self, ranges):
        if "arrowroot-1" in names_of_threads([threading.get_native_id()]):
            self.is_held.set()
            self.may_go_on.wait()
        return [self.content[offset : offset + n_bytes] for offset, n_bytes in ranges]

reader = Reader(Path(sys.argv[1]))
file = _native.open_reader(reader, [])
"""

END = """
class Slow(Reader):
    is_slow = False

    def read_ranges(self, ranges):
        # It comes back while the interpreter ends, if that does not wait for it.
        until = time.monotonic() + 0.3
        while self.is_slow and not sys.is_finalizing() and time.monotonic() < until:
            time.sleep(0.001)
        return super().read_ranges(ranges)

slow = Slow(Path(sys.argv[1]))
scan = _native.open_reader(slow, []).table("t").scan(["x"], batch_bytes=50_000, n_threads=2)
slow.is_slow = True
assert scan.next_batch() is not None
"""

DROP = """
def draw(scan):
    try:
        while scan.next_batch() is not None:
            pass
    except ar.ArrowrootError:
        assert reader.is_held.is_set()

while not reader.is_held.is_set():
    scan = file.table("t").scan(["l"], batch_bytes=20_000, n_threads=2)
    drawing = threading.Thread(target=draw, args=(scan,))
    drawing.start()
    while drawing.is_alive() and not reader.is_held.wait(0.01):
        pass
    scan.cancel()
    drawing.join()
del scan, drawing
assert not reader.may_go_on.is_set()
reader.may_go_on.set()
while "arrowroot-1" in names_of_threads(os.listdir("/proc/self/task")):
    time.sleep(0.01)  # it has to come back from Python before that ends
"""

DRAW_AT_C = """
class Stream(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("schema", "next", "error", "release", "private")]

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
scan = file.table("events").scan(["number"], n_threads=1)
capsule = scan.__arrow_c_stream__()
stream = Stream.from_address(pointer_of(capsule, b"arrow_array_stream"))
array = (ctypes.c_int64 * 10)()
keeping_the_lock = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
assert keeping_the_lock(stream.next)(ctypes.addressof(stream), ctypes.addressof(array)) == 0
assert array[0] == 350
"""


def test_a_scan_is_dropped_while_a_helper_of_it_is_in_a_read(tmp_path: Path) -> None:
    lists = pa.array([[float(i)] * (i % 7) for i in range(40_000)])
    layout = ar.Layout("ttree", io_features="kGenerateOffsetMap", flush=1000, compression=None)
    with pytest.warns(ar.FewReadersWarning):
        ar.write(f"{tmp_path}/lists.root:t", pa.table({"l": lists}), layout=layout)
    alone(DROP, tmp_path / "lists.root")


def test_a_program_ends_while_threads_of_a_scan_are_in_reads(tmp_path: Path) -> None:
    ar.write(
        f"{tmp_path}/numbers.root:t",
        {"x": pa.array(map(float, range(400_000)))},
        compression=None,
        flush=4000,
    )
    alone(END, tmp_path / "numbers.root")


def test_a_consumer_of_a_stream_may_keep_the_lock_of_the_interpreter() -> None:
    alone(DRAW_AT_C, EVENTS)


def test_who_asks_for_what_was_recovered_does_not_wait_in_a_read() -> None:
    reader = Reader()
    file = _native.open_reader(reader, [("cache_size", "0", "test")])
    reader.threads.clear()
    assert not file.was_recovered
    assert reader.threads
    assert threading.get_ident() not in reader.threads
