"""What cannot be written leaves what was there."""

import errno
import os
import resource
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import arrowroot as ar
from arrowroot._saving.replacing import replacing
from arrowroot._sizes import format_bytes

FIXTURE = Path(__file__).parents[1] / "fixtures" / "events.root"
OLD = b"what was there"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_on_the_disk_before_it_takes_the_place(tmp_path, monkeypatch):
    done = []
    synced, replaced = os.fsync, os.replace

    def fsync(descriptor):
        done.append(os.fstat(descriptor).st_ino)
        synced(descriptor)

    def replace(*paths):
        done.append("replaced")
        replaced(*paths)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    with replacing(tmp_path / "x") as beside:
        Path(beside).write_text("new")
    assert done == [(tmp_path / "x").stat().st_ino, "replaced"]


def test_a_file_is_replaced_when_it_is_whole_and_not_before(tmp_path):
    path = tmp_path / "a.png"
    for before in (None, OLD):
        with replacing(path) as beside:
            assert beside.endswith(".png")
            assert Path(beside).parent == tmp_path
            with Path(beside).open("wb") as file:
                file.write(b"new")
            assert (path.read_bytes() if path.exists() else None) == (before and b"new")
        assert path.read_bytes() == b"new"
        assert names(tmp_path) == ["a.png"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), ValueError("drawing"), KeyboardInterrupt()])
@pytest.mark.parametrize("is_there", [False, True])
def test_an_error_leaves_what_was_there(tmp_path, error, is_there):
    path = tmp_path / "a.xml"
    if is_there:
        path.write_bytes(OLD)

    def failing():
        with replacing(path) as beside:
            Path(beside).write_bytes(b"half")
            raise error

    with pytest.raises(type(error)) as caught:
        failing()
    assert names(tmp_path) == (["a.xml"] if is_there else [])
    if is_there:
        assert path.read_bytes() == OLD
    if isinstance(error, OSError):
        assert caught.value.filename == str(path)
        assert ".arrowroot-" not in str(caught.value)


def test_a_directory_where_nothing_can_be_made_is_named(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(OLD)
    opened = os.open

    def refusing(name, flags, *arguments):
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "no", name)
        return opened(name, flags, *arguments)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(PermissionError) as caught, replacing(path):
        raise AssertionError("there is nothing to write to")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == OLD


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "deep" / "a.csv", tmp_path / "link.csv"
    path.parent.mkdir()
    path.write_bytes(OLD)
    path.chmod(0o604)
    link.symlink_to(path)
    with replacing(link) as beside, Path(beside).open("wb") as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "fresh"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


def test_a_name_may_be_as_long_as_one_can_be(tmp_path):
    path = tmp_path / ("x" * 250 + ".csv")
    with replacing(path):
        pass
    assert path.exists()


def test_pipes_and_devices_are_written_themselves(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    heard = []
    listener = threading.Thread(target=lambda: heard.append(path.read_bytes()))
    listener.start()
    with replacing(path) as beside, Path(beside).open("wb") as file:
        file.write(b"new")
    listener.join(60)
    assert heard == [b"new"]
    with replacing("/dev/null") as beside:
        assert beside == "/dev/null"
    with pytest.raises(ar.InvalidRequestError, match=r"pipe: no regular file"):
        ar.index(FIXTURE, path)
    assert path.is_fifo()


OUTPUT = """
import os, sys
from arrowroot._saving.replacing import replacing
from arrowroot._sizes import format_bytes
sys.stdout.write("before ")
with replacing(sys.argv[1]) as beside:
    with open(beside, "w") as file:
        file.write("made")
    if sys.argv[2:] == ["fail"]:
        raise SystemExit(3)
    if sys.argv[2:] == ["killed"]:
        os.kill(os.getpid(), 9)
sys.stdout.write(" after")
"""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *[("/dev/stdout", kind) for kind in ("file", "pipe", "socket", "deleted")],
        *[(name, "file") for name in ("/dev/fd/1", "/proc/thread-self/fd/1", "link")],
    ],
)
def test_an_open_file_is_written_where_it_is_and_behind_what_it_has(tmp_path, name, kind):
    """As ``program /dev/stdout >> FILE`` has it: what others write to it stays, in its order."""
    if name == "link":
        name = str(tmp_path / "link")
        Path(name).symlink_to("/dev/stdout")
    path = tmp_path / "out"
    path.write_bytes(OLD)

    def run(*arguments):
        code = [sys.executable, "-c", OUTPUT, name, *arguments]
        if kind == "pipe":
            return subprocess.run(code, stdout=subprocess.PIPE, check=False).stdout
        if kind == "socket":
            one, other = socket.socketpair()
            with one, other:
                subprocess.run(code, stdout=one, check=False)
                one.close()
                return other.makefile("rb").read()
        with path.open("r+b") as file:
            file.seek(0, os.SEEK_END)
            if kind == "deleted":
                path.unlink()
            subprocess.run(code, stdout=file, check=False)
            file.seek(0)
            found = file.read()
        assert found.startswith(OLD)
        assert kind == "deleted" or path.read_bytes() == found
        return found[len(OLD) :]

    assert run() == b"before made after"
    if kind == "file":
        path.write_bytes(OLD)
        assert run("killed") == b"before "
        path.write_bytes(OLD)
        assert run("fail") == b"before "


@pytest.fixture
def in_memory():
    """A directory below /dev, which is not of devices."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield Path(directory)


@pytest.mark.parametrize("how", ["raise ValueError", "os.kill(os.getpid(), 9)"])
@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_below_dev_is_what_it_was_after_an_end_in_the_middle(in_memory, tmp_path, how, is_link):
    path = in_memory / "t.parquet"
    path.write_bytes(OLD)
    named = path
    if is_link:
        named = tmp_path / "link.parquet"
        named.symlink_to(path)
    code = (
        "import os, sys\nfrom arrowroot._saving.replacing import replacing\n"
        f"with replacing(sys.argv[1]) as beside: open(beside, 'wb').write(b'half'); {how}"
    )
    assert subprocess.run([sys.executable, "-c", code, named], capture_output=True, check=False).returncode
    assert path.read_bytes() == OLD


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_a_conversion_that_fails_leaves_what_was_below_dev(in_memory, tmp_path, name):
    ar.write(f"{tmp_path}/in.root:t", {"x": np.arange(100_000)})
    path = in_memory / name
    path.write_bytes(OLD)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    for options in ({"preexec_fn": limit}, {}):
        command = [sys.executable, "-m", "arrowroot", "convert", f"{tmp_path}/in.root:t", path]
        done = subprocess.run(command, capture_output=True, check=False, **options)
        assert (done.returncode == 0) == (options == {})
        assert (path.read_bytes() == OLD) == (options != {})
        assert names(in_memory) == [name]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
@pytest.mark.parametrize("is_stdout", [False, True])
def test_a_conversion_goes_into_a_pipe(tmp_path, name, is_stdout):
    """All of it or, if it fails, nothing: who reads does not wait for ever."""
    ar.write(f"{tmp_path}/in.root:t", {"x": np.arange(1000)})
    path = tmp_path / name
    command = [sys.executable, "-m", "arrowroot", "convert", "--verify", f"{tmp_path}/in.root:t", path]
    if is_stdout:
        path.symlink_to("/dev/stdout")
    else:
        os.mkfifo(path)

    def run(**options):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if is_stdout:
            done = subprocess.run(command, check=False, timeout=120, **streams, **options)
            return done.returncode, done.stdout, done.stderr.decode()
        with (
            subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as reader,
            (tmp_path / "heard").open("w+b") as heard,
        ):
            listener = threading.Thread(target=lambda: heard.write(reader.stdout.read()))
            listener.start()
            try:
                done = subprocess.run(command, check=False, timeout=120, **streams, **options)
                listener.join(60)
            finally:
                reader.kill()
            heard.seek(0)
            return done.returncode, heard.read(), done.stderr.decode()

    code, heard, said = run()
    assert code == 0, said
    report = f"{path}: 1,000 entries, {format_bytes(len(heard))}, "
    assert said.startswith(report if is_stdout else "")
    source = pa.BufferReader(heard)
    assert heard.endswith(b"PAR1" if name == "t.parquet" else b"ARROW1")
    read = pq.read_table if name == "t.parquet" else feather.read_table
    assert read(source)["x"].to_pylist() == list(range(1000))

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    code, heard, said = run(preexec_fn=limit)
    assert (code, heard) == (1, b"")
    assert str(path) in said


def perf(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "arrowroot", "perf", str(FIXTURE), *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=120, **options,
    )  # fmt: skip


OUTPUTS = [
    ("--fjr", "a.xml"),
    ("--trace", "a.csv"),
    ("--trace", "a.parquet"),
    ("--trace", "a.arrow"),
    ("--plot", "a.png"),
]


@pytest.mark.parametrize(("option", "name"), OUTPUTS)
def test_a_full_disk_leaves_what_perf_wrote_before(tmp_path, option, name):
    """A limit on the size of files stands for the disk: writing fails after the first bytes."""
    if option == "--plot":
        pytest.importorskip("matplotlib")
    path = tmp_path / name

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    done = perf(option, path, preexec_fn=limit)
    assert done.returncode == 1, done.stderr
    assert name in done.stderr
    assert names(tmp_path) == []
    path.write_bytes(OLD)
    done = perf(option, path, preexec_fn=limit)
    assert done.returncode == 1, done.stderr
    assert path.read_bytes() == OLD
    assert names(tmp_path) == [name]
    assert perf(option, path).returncode == 0
    assert len(path.read_bytes()) > len(OLD)
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("option", ["--trace", "--fjr"])
def test_the_standard_output_is_written_behind_the_report(option):
    done = perf(option, "/dev/stdout")
    assert done.returncode == 0, done.stderr
    assert "offset,n_bytes" in done.stdout or "<FrameworkJobReport" in done.stdout
    assert "of 350 entries" in done.stdout


def test_the_standard_output_that_is_a_file_keeps_the_report(tmp_path):
    with (tmp_path / "out").open("w") as out:
        command = [sys.executable, "-m", "arrowroot", "perf", FIXTURE, "--trace", "/dev/stdout"]
        assert subprocess.run(command, stdout=out, check=False).returncode == 0
    text = (tmp_path / "out").read_text()
    assert text.index("of 350 entries") < text.index("offset,n_bytes")


def test_an_index_that_is_made_again_keeps_its_permissions_and_link(tmp_path):
    path, link = tmp_path / "index.parquet", tmp_path / "link.parquet"
    ar.index(FIXTURE, path, columns=["number"])
    path.chmod(0o640)
    link.symlink_to(path)
    ar.index(FIXTURE, link, columns=["number"])
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["index.parquet", "link.parquet"]
