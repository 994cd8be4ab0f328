"""Far-away files are opened ahead of their turn: a server that holds its answers back counts the round trips."""

from __future__ import annotations

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import arrowroot as ar
from arrowroot._api import members as _members
from arrowroot._api import row as _row

PATIENCE_S = 60
N_FILES = 24
N_ENTRIES = 200
BOUNDARY = "between-parts"


class Holding(BaseHTTPRequestHandler):
    """Answers several ranges of a file, once the server lets go of the request. Connections stay."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Hold, read and answer."""
        server = self.server
        asked = self.headers["Range"].removeprefix("bytes=")
        is_opening = ",-" in asked
        with server.lock:
            server.asked.append((self.path, is_opening))
        server.hold(self.path, is_opening)
        path = server.directory / self.path.lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        parts = []
        for one in asked.split(","):
            first, _, last = one.strip().partition("-")
            start = int(first) if first else max(0, len(content) - int(last))
            stop = min(len(content), int(last) + 1) if first else len(content)
            parts.append((start, stop))
        self.send_response(206)
        if len(parts) == 1:
            start, stop = parts[0]
            body = content[start:stop]
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(content)}")
        else:
            self.send_header("Content-Type", f"multipart/byteranges; boundary={BOUNDARY}")
            body = b"".join(
                b"\r\n--%s\r\nContent-Range: bytes %d-%d/%d\r\n\r\n%s"
                % (BOUNDARY.encode(), start, stop - 1, len(content), content[start:stop])
                for start, stop in parts
            )
            body += f"\r\n--{BOUNDARY}--\r\n".encode()
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Keep quiet."""


class Server(ThreadingHTTPServer):
    """``hold``: takes a path and whether it is opened, and waits until the request may be answered."""

    request_queue_size = 64
    daemon_threads = True

    def __init__(self, directory):
        super().__init__(("127.0.0.1", 0), Holding)
        self.directory, self.lock = directory, threading.Lock()
        self.hold = lambda _path, _is_opening: None
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def urls(self, n):
        return [f"http://127.0.0.1:{self.server_port}/f{i:02}.root" for i in range(n)]

    def handle_error(self, *_):
        """A client that goes away while its answer is held back is none."""


@pytest.fixture
def server(tmp_path):
    rng = np.random.default_rng(5)
    with ar.create(tmp_path / "f00.root", compression="none") as file:
        # What is between head and tail does not come with the opening.
        long = rng.random((N_ENTRIES, 250))
        file["T"] = {"a": long, "x": np.arange(N_ENTRIES), "y": np.arange(N_ENTRIES), "b": long}
    for i in range(1, N_FILES):
        (tmp_path / f"f{i:02}.root").write_bytes((tmp_path / "f00.root").read_bytes())
    server = Server(tmp_path)
    yield server
    server.shutdown()
    server.server_close()


def opened_at_once(n):
    """Return what holds openings back until so many are asked for, and data of others until the first file's are."""
    all_here = threading.Barrier(n)
    first_data = threading.Event()
    met = set()

    def hold(path, is_opening):
        if path == "/f00.root":
            if not is_opening:
                first_data.set()
        elif is_opening and path not in met and len(met) < n:
            met.add(path)
            all_here.wait(PATIENCE_S)
        elif not is_opening:
            assert first_data.wait(PATIENCE_S)

    return hold


@pytest.mark.parametrize(
    ("options", "n_reads"), [({}, 1), ({"filter": "x >= 0"}, 2)], ids=["plain", "filter"]
)
def test_the_first_batch_of_many_files_takes_five_round_trips(server, options, n_reads):
    # A connection and an opening; 23 of each at once; the first file's data, in two passes with a filter. It says that
    # all columns of the others are needed.
    server.hold = opened_at_once(N_FILES - 1)
    scan = ar.scan(server.urls(N_FILES), "T", ["x", "y"], timeout=f"{PATIENCE_S} s", **options)
    assert scan.num_entries == N_FILES * N_ENTRIES
    batches = iter(scan)
    first = next(batches)
    assert first["x"].to_pylist()[:N_ENTRIES] == list(range(N_ENTRIES))
    assert first.num_rows + sum(batch.num_rows for batch in batches) == N_FILES * N_ENTRIES
    expected = Counter((f"/f{i:02}.root", is_opening) for i in range(N_FILES) for is_opening in (True, False))
    expected["/f00.root", False] = n_reads
    assert Counter(server.asked) == expected


def test_files_that_were_not_kept_are_opened_again_ahead_of_their_turn(server, monkeypatch):
    monkeypatch.setattr(_row, "_N_KEPT_OPEN", 1)
    monkeypatch.setattr(_row, "_COMPACT_BYTES", 0)
    n = 13
    scan = ar.scan(server.urls(n), "T", ["x"], timeout=f"{PATIENCE_S} s")
    n_opened = len(server.asked)
    server.hold = opened_at_once(n - 1)
    assert sum(batch.num_rows for batch in scan) == n * N_ENTRIES
    again = Counter(server.asked[n_opened:])
    assert again == Counter({(f"/f{i:02}.root", True): 1 for i in range(1, n)}) + Counter(
        (f"/f{i:02}.root", False) for i in range(n)
    )


def test_an_error_of_a_file_that_was_opened_ahead_comes_in_its_turn(server, monkeypatch):
    monkeypatch.setattr(_row, "_N_KEPT_OPEN", 1)
    monkeypatch.setattr(_row, "_COMPACT_BYTES", 0)
    n, missing = 8, 5
    scan = ar.scan(server.urls(n), "T", ["x"], retries=0)
    (server.directory / f"f{missing:02}.root").unlink()
    batches = iter(scan)
    assert sum(next(batches).num_rows for _ in range(missing)) == missing * N_ENTRIES
    with pytest.raises(ar.StorageError, match=f"f{missing:02}.root"):
        next(batches)


def test_a_scan_that_is_left_early_opens_a_bounded_number_of_files(server, monkeypatch):
    monkeypatch.setattr(_row, "_N_KEPT_OPEN", 1)
    monkeypatch.setattr(_row, "_COMPACT_BYTES", 0)
    monkeypatch.setattr(_members, "N_REOPENED", 8)
    scan = ar.scan(server.urls(N_FILES), "T", ["x"])
    n_opened = len(server.asked)
    batches = iter(scan)
    next(batches)
    batches.close()
    again = {path for path, is_opening in server.asked[n_opened:] if is_opening}
    assert len(again) <= 4, again
