"""What goes wrong while a file is read is an error at once, or is mended; it is never garbage and never a hang."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest

import arrowroot
from arrowroot_servers import Certificates, ConnectProxy, Nginx

from . import data, places
from .conftest import EVENTS

KINDS = [kind for kind in places.KINDS if kind != "http-0-ranges"]
#: Less than any timeout of the options; what it takes is the turn of a busy machine.
AT_ONCE_S = 15.0


@pytest.fixture
def changing(place, served, tmp_path):
    """Return a file of its own that a test may change, and another of the same size."""
    name = f"changing-{place.kind}.root"
    shutil.copy(served / EVENTS, served / name)
    place.publish(name)
    other = tmp_path / "other.root"
    data.write(other, codec="none", seed=2)
    return name, other


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_a_file_that_changes_is_an_error_not_garbage(place, changing, local_tables):
    name, other = changing
    with arrowroot.open(place.url(name), **place.options) as file:
        tree = file[data.TREE]
        assert tree.to_arrow(["x001"])["x001"].equals(local_tables["all"]["x001"])
        place.replace(name, other)
        # Whoever holds the old file open on the server reads it to its end; not over a new connection.
        place.relay.cut()
        with pytest.raises(arrowroot.StorageError, match="changed"):
            tree.to_arrow()


@pytest.mark.parametrize("place", ["http", "http-1-range", "root"], indirect=True)
def test_a_file_that_is_overwritten_in_place_is_an_error_not_garbage(place, tmp_path):
    # Neither is compressed: no checksum of the format tells them apart.
    name = f"overwritten-{place.kind}.root"
    other = tmp_path / name
    data.write(place.directory / name, codec="none")
    # Servers tell the time in seconds: it is written again in another one.
    os.utime(place.directory / name, (1_700_000_000, 1_700_000_000))
    data.write(other, codec="none", seed=2)
    assert other.stat().st_size == (place.directory / name).stat().st_size
    with arrowroot.open(place.url(name), **place.options) as file:
        tree = file[data.TREE]
        assert tree.to_arrow(["x001"]).num_rows > 0
        if place.kind == "root":
            time.sleep(1.1)  # the state of the file is asked for once a second
        with (place.directory / name).open("r+b") as written:
            written.write(other.read_bytes())
        with pytest.raises(arrowroot.StorageError, match="changed"):
            tree.to_arrow()


def test_a_local_file_that_is_overwritten_in_place_is_an_error_not_garbage(tmp_path):
    path, other = tmp_path / "file1.root", tmp_path / "file2.root"
    data.write(path, codec="none")
    data.write(other, codec="none", seed=2)
    with arrowroot.open(path) as file:
        tree = file[data.TREE]
        tree.to_arrow(["x001"])
        shutil.copyfile(other, path)
        with pytest.raises(arrowroot.StorageError, match="changed"):
            tree.to_arrow()


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_a_scan_survives_broken_connections(place, local_tables):
    size = (place.directory / EVENTS).stat().st_size
    place.relay.faults([f"{k}:down:{size // 5}:{kind}" for k, kind in enumerate(("reset", "close", "reset"))])
    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        assert file[data.TREE].to_arrow().equals(local_tables["all"])
    assert place.relay.counts().faults


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_a_second_replica_is_taken_when_the_first_breaks(place, local_tables, start, served):
    # The second one is behind a relay of its own.
    spare = start(lambda: places.place("http", served))
    urls = [place.url(EVENTS), spare.url(EVENTS)]
    options = {**place.options, "retries": 1, "timeout": 0.5, "deadline": 20}
    with arrowroot.open(urls[0], replicas=urls[1:], **options) as file:
        tree = file[data.TREE]
        place.relay.faults(["*:down:0:stall"])
        place.relay.cut()
        spare.relay.counts()
        assert tree.to_arrow().equals(local_tables["all"])
    assert spare.relay.counts().bytes_down > (served / EVENTS).stat().st_size / 2
    place.relay.faults(["*:down:0:refuse"])
    with arrowroot.open(urls[0], replicas=urls[1:], **options) as file:
        assert file[data.TREE].to_arrow(["x007"])["x007"].equals(local_tables["all"]["x007"])


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_a_stalled_read_ends_with_the_deadline(place):
    with arrowroot.open(place.url(EVENTS), **place.options, timeout=0.5, deadline=1.5, retries=100) as file:
        tree = file[data.TREE]
        place.relay.faults(["*:down:0:stall"])
        place.relay.cut()
        start = time.monotonic()
        with pytest.raises(arrowroot.StorageError):
            tree.to_arrow()
        assert time.monotonic() - start < 1.5 + AT_ONCE_S


PROGRAM = """
import ast, sys, time, arrowroot
with arrowroot.open(sys.argv[1], **ast.literal_eval(sys.argv[2])) as file:
    tree = file["Events"]
    print("open", flush=True)
    sys.stdin.readline()
    try:
        tree.to_arrow()
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
"""


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_an_interrupt_ends_a_stalled_read_at_once(place):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, place.url(EVENTS), repr(place.options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout.readline() == "open\n"
            place.relay.faults(["*:down:0:stall"])
            place.relay.cut()
            process.stdin.write("\n")
            process.stdin.flush()
            while not place.relay.counts().faults:
                assert process.poll() is None
                time.sleep(0.02)
            sent = time.monotonic()
            os.kill(process.pid, signal.SIGINT)
            stopped = float(process.stdout.readline())
            assert stopped - sent < AT_ONCE_S
            # The process ends, too: no thread of ours holds it.
            assert process.wait(timeout=AT_ONCE_S) == 0
        finally:
            process.kill()


def test_https_through_a_proxy(start, served, tmp_path, monkeypatch, local_tables):
    certificates = start(lambda: contextlib.nullcontext(Certificates(tmp_path)))
    options = {"token": "t", "authorities": str(certificates.authority), "retries": 0}
    proxy = start(ConnectProxy)
    monkeypatch.setenv("https_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "")
    served_by = {"certificates": certificates, "token": options["token"]}
    for server in (
        start(lambda: Nginx(served, **served_by)),
        start(lambda: Nginx(served, max_ranges=1, **served_by)),
    ):
        # What TLS sends is different each time, and one wrong byte of it ends a connection.
        for _ in range(5):
            with arrowroot.open(server.url(EVENTS), **options) as file:
                assert pa.table(file[data.TREE].to_arrow()).equals(pa.table(local_tables["all"]))
        assert proxy.asked[-1] == f"CONNECT 127.0.0.1:{server.port}"
    assert all(asked.startswith("CONNECT ") for asked in proxy.asked)


FORKED = """
import gc, os, sys
import arrowroot

url, tree, directory = sys.argv[1:]
file = arrowroot.open(url, strategy="lazy-download", download_dir=directory)
file[tree].scan(["x000"]).drain()
names = sorted(os.listdir(directory))
assert names
child = os.fork()
if child == 0:
    del file
    gc.collect()
    os._exit(0)
os.waitpid(child, 0)
assert sorted(os.listdir(directory)) == names, os.listdir(directory)
del file
gc.collect()
assert not os.listdir(directory), os.listdir(directory)
"""


@pytest.mark.parametrize("place", ["http"], indirect=True)
def test_a_forked_process_that_lets_a_file_go_leaves_the_copy_to_its_parent(place, tmp_path):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    arguments = [place.url(EVENTS), data.TREE, str(tmp_path)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
