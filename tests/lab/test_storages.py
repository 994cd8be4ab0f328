"""Storages: real servers behind real lines, and nothing of them left afterwards."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import arrowroot
from arrowroot_lab.campaign.model import Line, Storage
from arrowroot_lab.errors import LabError, RefusedError, SkippedError
from arrowroot_lab.location import Location
from arrowroot_lab.machine import cold, proc
from arrowroot_lab.storages import local, measure_line, opened, xrootd_line
from arrowroot_servers import Nginx, NotInstalledError, Relay, XCache, XRootD, relay_program
from arrowroot_servers.process import find_program, free_port
from tests.command import done_here
from tests.servers.fixtures import installed

FAR = Line(30_000_000, 0.0)
N_BYTES = 3_000_000


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A small file of ours, in a directory with a space."""
    path = tmp_path_factory.mktemp("with space") / "s.root"
    done_here("sample", "nanoaod", f"{path}:Events", "--size", "3 MB")
    return path


@contextmanager
def place_of(storage, *files):
    with ExitStack() as stack:

        def enter():
            try:
                return stack.enter_context(opened(storage, files))
            except SkippedError as error:
                raise NotInstalledError(str(error)) from None

        yield installed(enter)


def read(place, n=0):
    """Read a file of a place as its users do; return the number of entries, and a sum of what came."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in place.environment.items():
            patch.setenv(name, value)
        with arrowroot.open(place.urls[n]) as file:
            tree = file["Events"]
            return tree.num_entries, int(tree.to_arrow(["event"])["event"].to_numpy().astype("u8").sum())


def children():
    """Numbers of the processes that this one has started and not waited for."""
    me = os.getpid()
    return set((proc.text(f"/proc/{me}/task/{me}/children") or "").split())


SERVED = [
    Storage("x", "xrootd"),
    Storage("x far", "xrootd", line=FAR),
    Storage("h", "http"),
    Storage("h far", "http", line=FAR),
    Storage("s", "s3"),
    Storage("s far", "s3", line=FAR),
    Storage("c", "xcache", origin_line=FAR),
    Storage("c warm", "xcache", origin_line=FAR, line=Line(5_000_000, 0.0), is_cache_warm=True),
]


@pytest.fixture
def temporaries(monkeypatch):
    """Where temporary directories are made; its path is short, for the names of the servers' sockets."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setattr("tempfile.tempdir", directory)
        yield Path(directory)


@pytest.mark.parametrize("storage", SERVED, ids=lambda storage: storage.name)
def test_a_served_place_gives_the_files_and_nothing_is_left_of_it(storage, sample, temporaries):
    before = children()
    wanted = read(local.Local(Storage("l", "local"), [sample]))
    with place_of(storage, sample) as place:
        assert all("://" in url for url in place.urls)
        assert place.versions
        assert not place.is_virtual
        line = place.line_figures()
        place.prepare_sample()
        assert read(place) == wanted
        counters = place.counters()
        started = children() - before
        assert started
    assert children() == before
    assert list(temporaries.iterdir()) == []
    told = (storage.line or Line(0, 0.0)).latency_ns
    assert line["latency_ns"] >= told
    if storage.line:
        assert counters["line"]["n_bytes"] > 1000
        assert counters["line"]["n_connections"] >= 1
    if storage.kind == "xcache":
        assert line["origin_latency_ns"] >= FAR.latency_ns


@pytest.mark.parametrize("kind", ["xrootd", "http", "s3"])
def test_requests_of_a_server_that_keeps_a_log_are_counted(kind, sample):
    with place_of(Storage("x", kind, options={"log": True}), sample) as place:
        counted = []
        for _ in range(2):
            place.prepare_sample()
            read(place)
            counted.append(place.counters()["server"]["n_requests"])
        place.prepare_sample()
        assert place.counters()["server"]["n_requests"] == 0
    assert 1 <= counted[1] <= counted[0] + 1


def test_an_xcache_that_is_warm_asks_its_origin_for_nothing_and_a_cold_one_does(sample):
    n_bytes = {}
    for is_warm in (False, True):
        storage = Storage("c", "xcache", origin_line=FAR, is_cache_warm=is_warm)
        with place_of(storage, sample) as place:
            for _ in range(2):
                place.prepare_sample()
                read(place)
                n_bytes.setdefault(is_warm, []).append(place.counters()["origin_line"]["n_bytes"])
    assert n_bytes[True] == [0, 0]
    # Emptied before each sample: the second one is as cold as the first.
    assert min(n_bytes[False]) > 100_000


def test_an_xcache_asks_its_origin_in_blocks(sample, tmp_path):
    shutil.copy(sample, tmp_path / "s.root")
    copier = installed(lambda: find_program("xrdcp", "xrootd-client"))
    with (
        installed(lambda: XRootD(tmp_path)) as origin,
        installed(lambda: XCache(origin.port, block_bytes=1 << 18)) as cache,
    ):
        command = [copier, "--force", "--nopbar", "--silent", cache.url("s.root"), str(tmp_path / "copy")]
        subprocess.run(command, check=True, timeout=120)
        asked = [request for request in origin.requests() if request.method in ("read", "readv", "pgread")]
        assert sum(request.n_bytes for request in asked) >= sample.stat().st_size
        assert max(request.n_bytes for request in asked if request.n_ranges == 1) <= 1 << 18
        assert (tmp_path / "copy").read_bytes() == sample.read_bytes()


def test_two_files_of_one_name_are_two(sample, tmp_path):
    other = tmp_path / "s.root"
    done_here("sample", "nanoaod", f"{other}:Events", "--entries", "7")
    for kind in ("http", "s3"):
        with place_of(Storage(kind, kind), sample, other) as place:
            assert len(set(place.urls)) == 2
            assert read(place, 1)[0] == 7


def test_a_place_ends_with_its_servers_when_its_block_is_left_by_an_error(sample, temporaries):
    before = children()

    def use_it():
        with place_of(SERVED[-1], sample):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use_it()
    assert children() == before
    assert list(temporaries.iterdir()) == []


def test_a_server_that_is_not_installed_is_a_reason_to_skip(sample, monkeypatch):
    def not_here(name, package):
        raise NotInstalledError(f"{name} is not installed: apt install {package}")

    monkeypatch.setattr("arrowroot_servers.nginx.find_program", not_here)
    with (
        pytest.raises(SkippedError, match="storage h: nginx is not installed: apt install nginx-light"),
        opened(Storage("h", "http"), [sample]),
    ):
        pass


def test_the_relay_is_the_installed_one_where_there_is_no_checkout_and_without_it_lines_are_skipped(
    sample, monkeypatch, tmp_path
):
    built = relay_program()
    monkeypatch.setattr("arrowroot_servers.relay.SOURCES", tmp_path / "no checkout")
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:{os.environ['PATH']}")
    installed(lambda: find_program("nginx", "nginx-light"))
    with (
        pytest.raises(
            SkippedError, match=r"storage h far: the relay, .* is not installed: install the wheel"
        ),
        opened(Storage("h far", "http", line=FAR), [sample]),
    ):
        pass
    for directory in ("path", "bin"):  # beside this Python comes first
        (tmp_path / directory).mkdir()
        program = tmp_path / directory / "arrowroot-relay"
        program.symlink_to(built)
        assert relay_program() == program
    with place_of(Storage("h far", "http", line=FAR), sample) as place:
        assert place.line_figures()["latency_ns"] >= FAR.latency_ns


def test_a_relay_that_cannot_be_built_is_a_reason_to_skip(sample, monkeypatch, tmp_path):
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho 'error: no default toolchain is set' >&2\nexit 1\n")
    cargo.chmod(0o755)
    monkeypatch.delenv("ARROWROOT_RELAY", raising=False)
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "nothing built"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    installed(lambda: find_program("nginx", "nginx-light"))
    with (
        pytest.raises(SkippedError, match=r"storage h far: the relay cannot be built \(error: no default"),
        opened(Storage("h far", "http", line=FAR), [sample]),
    ):
        pass


def test_a_server_that_does_not_start_is_told(sample, monkeypatch):
    monkeypatch.setattr("arrowroot_servers.nginx.CONFIGURATION", "nonsense {port};")
    installed(lambda: find_program("nginx", "nginx-light"))
    with (
        pytest.raises(LabError, match=r"storage h: Nginx did not start:[\s\S]*nonsense"),
        opened(Storage("h", "http"), [sample]),
    ):
        pass


# Places without a server.


def test_a_local_place_is_warm_or_cold_as_it_is_called(sample):
    if proc.storage_kind(sample) == "memory":
        pytest.skip(f"{sample} is on a tmpfs")
    with opened(Storage("l", "local"), [sample]) as place:
        cold.evict(sample)
        assert place.prepare_sample() == {}
        assert cold.cached_share(sample) == 1
        assert place.line_figures()["bytes_per_s"] > 0
    with opened(Storage("l", "local", is_cold=True), [sample]) as place:
        assert place.prepare_sample()["cached_share_before"] <= cold.MAX_SHARE
        # Measuring the disk leaves nothing of it in the page cache.
        place.line_figures()
        assert cold.cached_share(sample) <= cold.MAX_SHARE


def test_a_local_directory_gets_copies_that_are_gone_afterwards(sample, tmp_path):
    with opened(Storage("l", "local", options={"directory": str(tmp_path)}), [sample]) as place:
        (copy,) = place.files
        assert tmp_path in copy.parents
        assert place.urls == [str(copy)]
        assert copy.read_bytes() == sample.read_bytes()
    assert list(tmp_path.iterdir()) == []
    with (
        pytest.raises(LabError, match="storage l: the files cannot be copied to /nowhere"),
        opened(Storage("l", "local", options={"directory": "/nowhere"}), [sample]),
    ):
        pass


def test_a_cold_place_in_memory_is_refused():
    shm = Path("/dev/shm")  # noqa: S108 - a tmpfs is what is wanted
    if not shm.is_dir() or proc.storage_kind(shm) != "memory":
        pytest.skip("no tmpfs at /dev/shm")
    path = shm / f"arrowroot-lab-{os.getpid()}"
    path.write_bytes(bytes(5000))
    try:
        with (
            opened(Storage("l", "local", is_cold=True), [path]) as place,
            pytest.raises(RefusedError, match="no read from a tmpfs is cold"),
        ):
            place.prepare_sample()
    finally:
        path.unlink()


def test_a_simulated_place_is_what_the_campaign_says(sample):
    storage = Storage("v", "simulated", line=Line(8_000_000, 1e8), disk_read_ahead_bytes=131072)
    with opened(storage, [sample]) as place:
        assert place.is_virtual
        assert place.line_figures() == {
            "latency_ns": 8_000_000.0, "bytes_per_s": 1e8, "disk_read_ahead_bytes": 131072.0,
        }  # fmt: skip


def test_a_place_of_others_has_their_urls(sample):
    with opened(Storage("u", "url", url=Location("root://host.invalid//a/{file}")), [sample]) as place:
        assert place.urls == ["root://host.invalid//a/s.root"]
        assert place.line_figures() == {}


# Lines.


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    directory = tmp_path_factory.mktemp("data")
    (directory / "d.root").write_bytes(os.urandom(N_BYTES))
    return directory


@pytest.mark.parametrize("kind", [XRootD, Nginx])
def test_a_shaped_line_is_measured_as_it_was_shaped(kind, data):
    with installed(lambda: kind(data)) as server, Relay(server.port) as relay:
        relay.link(20, 10)
        found = measure_line.of_url(server.url("d.root", relay.port))
        # A busy machine makes lines worse, never better.
        assert found["latency_ns"] >= 20e6
        assert 0 < found["bytes_per_s"] <= 1.2 * 10e6
        relay.link(0)
        near = measure_line.of_url(server.url("d.root"))
        assert near["latency_ns"] < found["latency_ns"]
        assert near["bytes_per_s"] > found["bytes_per_s"]


def test_of_a_server_that_wants_a_proof_the_time_to_connect_is_known(data):
    with installed(lambda: XRootD(data, security="unix")) as server:
        with pytest.raises(xrootd_line.RefusedByServerError, match="proof"):
            xrootd_line.Connection("127.0.0.1", server.port, timeout_s=30)
        assert set(measure_line.of_url(server.url("d.root"))) == {"latency_ns"}


def test_nobody_there_and_no_file_there_are_no_figures_and_no_error(data):
    assert measure_line.of_url("http://127.0.0.1:1/x") == {}
    assert measure_line.of_url("root://127.0.0.1:1//x") == {}
    assert measure_line.of_url("gsiftp://127.0.0.1/x") == {}
    with installed(lambda: XRootD(data)) as server:
        assert set(measure_line.of_url(server.url("none.root"))) == {"latency_ns"}


class Endless(BaseHTTPRequestHandler):
    """Sends a byte that was asked for, and more."""

    n_pieces = 0

    def do_GET(self) -> None:
        self.send_response(206)
        self.end_headers()
        with suppress(OSError):
            while type(self).n_pieces < 1000:
                self.wfile.write(bytes(1 << 16))
                type(self).n_pieces += 1

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def test_an_answer_that_goes_on_and_on_is_no_round_trip():
    server = ThreadingHTTPServer(("127.0.0.1", free_port()), Endless)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(http.client.HTTPException, match="more than the byte"):
            measure_line.of_http("127.0.0.1", server.server_port, "/", {})
    finally:
        server.shutdown()
        server.server_close()
    assert Endless.n_pieces < 1000
