"""A server of files that notes what it was shown."""

from __future__ import annotations

import ssl
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from .conftest import EVENTS


class Listening(BaseHTTPRequestHandler):
    """Answers ranges of files, and notes what it was shown. Connections stay."""

    protocol_version = "HTTP/1.1"

    def __init__(self, server, *arguments):
        self.directory, self.seen, self.redirect = server.directory, server.seen, server.redirect
        self.asked, self.answer, self.proved = server.asked, server.answer, server.proved
        super().__init__(*arguments)

    def do_GET(self):
        self.seen.append(self.headers["Authorization"])
        if isinstance(self.connection, ssl.SSLSocket):
            self.proved.append(bool(self.connection.getpeercert()))
        self.asked.append(self.path)
        if self.answer is not None:
            status, headers, body = self.answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        if self.redirect:
            self.send_response(307)
            self.send_header("Location", self.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        name = self.path.partition("?")[0].rpartition("/")[2]
        if not (self.directory / name).is_file():
            self.send_error(404)
            return
        content = (self.directory / name).read_bytes()
        # Of several ranges the first, as a server may.
        asked = (self.headers["Range"] or "bytes=0-").removeprefix("bytes=").partition(",")[0]
        first, _, last = asked.partition("-")
        start = int(first) if first else max(0, len(content) - int(last))
        stop = min(len(content), int(last) + 1) if first and last else len(content)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(content)}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(content[start:stop])

    def log_message(self, *_):
        """Keep quiet."""


class Server:
    """What a server was shown, and where it is.

    redirect: where it sends everybody. answer: what it answers whatever it is asked, as status, headers and body.
    certificates: it speaks TLS, and asks for a certificate. proved: whether there was one, for each request.
    """

    def __init__(self, directory, redirect="", answer=None, certificates=None):
        self.seen, self.asked, self.proved = [], [], []
        self.directory = directory
        self.redirect, self.answer = redirect, answer
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Listening, self))
        self.scheme = "https" if certificates else "http"
        if certificates:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates.server, certificates.server_key)
            context.load_verify_locations(certificates.authority)
            context.verify_mode = ssl.CERT_OPTIONAL
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.place = f"127.0.0.1:{self._server.server_port}"

    def url(self, name=EVENTS):
        return f"{self.scheme}://{self.place}/d/{name}"

    def was_shown(self):
        """Say whether some request had credentials; there must have been one."""
        assert self.seen
        return any(self.seen)

    def close(self):
        self._server.shutdown()
        self._server.server_close()
