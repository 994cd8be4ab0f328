"""A server of files over HTTP that counts, and from some request on refuses, is silent, or wants another token."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from arrowroot_servers.process import free_port


class Fussy(ThreadingHTTPServer):
    """Answers ranges of the files of a directory.

    Attributes:
        refuses_from: the number of the first request that is refused
        status: of a refusal; None: it is silent, and the connection stays
        headers: of a refusal
        token: that is wanted; None: none is
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, directory):
        super().__init__(("127.0.0.1", free_port()), _Handler)
        self.directory = directory
        self.refuses_from, self.status, self.headers = 1 << 60, None, {}
        self.token = None
        self.n_requests = self.n_open = self.most_open = 0
        self.lock, self.ends = threading.Lock(), threading.Event()

    @property
    def n_refused(self):
        """The number of requests from the first refusal on."""
        return max(0, self.n_requests - self.refuses_from + 1)

    def refuse_now(self, status, **headers):
        """Refuse from the next request on."""
        self.status, self.headers = status, headers
        self.refuses_from = self.n_requests + 1

    def storage(self, name="far", limits=""):
        """The text of a storage of a campaign."""
        told = f"limits = {{ {limits} }}\n" if limits else ""
        url = f"http://127.0.0.1:{self.server_port}/{{file}}"
        return f'[storage.{name}]\nkind = "url"\nurl = "{url}"\n{told}'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.n_open += 1
            self.server.most_open = max(self.server.most_open, self.server.n_open)

    def finish(self):
        super().finish()
        with self.server.lock:
            self.server.n_open -= 1

    def do_HEAD(self):
        """A storage that files are pushed to is asked so whether they are there; none is."""
        self.do_GET()

    def do_GET(self):
        server = self.server
        with server.lock:
            server.n_requests += 1
            is_refused = server.n_requests >= server.refuses_from
        if is_refused and server.status is None:
            server.ends.wait()
            self.close_connection = True
            return
        if is_refused:
            self._answer(server.status, server.headers, b"")
            return
        if server.token is not None and self.headers["Authorization"] != f"Bearer {server.token}":
            self._answer(401, {}, b"")
            return
        if not (server.directory / self.path.rpartition("/")[2]).exists():
            self._answer(404, {}, b"")
            return
        content = (server.directory / self.path.rpartition("/")[2]).read_bytes()
        if "Range" not in self.headers:
            self._answer(200, {}, content)
            return
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition(",")[0].partition("-")
        start = int(first) if first else max(0, len(content) - int(last))
        stop = min(len(content), int(last) + 1) if first and last else len(content)
        self._answer(206, {"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}"}, content[start:stop])

    def _answer(self, status, headers, body):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """Keep quiet."""


@contextmanager
def fussy(directory):
    """A server of the files of a directory."""
    server = Fussy(directory)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ends.set()
        server.shutdown()
        server.server_close()
