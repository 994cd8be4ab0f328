"""A server of files over XRootD that from some moment on refuses, lets wait, or wants another token.

A real xrootd refuses so only under load, or as plug-ins of a site say. Source: the XRootD protocol, version 5
(XProtocol.hh); numbers are big-endian.
"""

from __future__ import annotations

import socketserver
import struct
import threading
from contextlib import contextmanager, suppress

from arrowroot_servers.process import free_port

QUERY, CLOSE, PROTOCOL, LOGIN, OPEN, PING, READ, STAT, READ_VECTOR = (
    3001, 3003, 3006, 3007, 3010, 3011, 3013, 3017, 3025,
)  # fmt: skip
OK, ERROR, WAIT = 0, 4003, 4005
#: Numbers of errors.
NOT_AUTHORIZED, NOT_FOUND, SERVER_ERROR, UNSUPPORTED, OVER_QUOTA, OVERLOADED = (
    3010, 3011, 3012, 3013, 3021, 3024,
)  # fmt: skip
_VERSION = struct.pack(">ii", 0x511, 1)
_HANDLE = b"\7\0\0\0"


def error(number, words):
    """What refuses with the number and words of an error."""
    return ERROR, struct.pack(">i", number) + words.encode() + b"\0"


def wait(seconds, words=""):
    """What asks to come again after so long."""
    return WAIT, struct.pack(">i", seconds) + words.encode() + b"\0"


class FussyXRootD(socketserver.ThreadingTCPServer):
    """Answers openings and reads of the files of a directory.

    Attributes:
        refusal: status and body that openings and reads are answered with; None: they are done
        n_refusals_left: so many more requests are refused
        n_refused: the number of requests that were refused
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, directory):
        super().__init__(("127.0.0.1", free_port()), _Session)
        self.directory = directory
        self.refusal, self.n_refusals_left, self.n_refused = None, 1 << 60, 0
        self.lock = threading.Lock()

    def refusal_now(self):
        """Return the refusal of a request, and count it."""
        with self.lock:
            if self.refusal is None or not self.n_refusals_left:
                return None
            self.n_refusals_left -= 1
            self.n_refused += 1
            return self.refusal

    def refuse_times(self, refusal, n):
        """Refuse so many requests from the next one on, counted anew."""
        with self.lock:
            self.refusal, self.n_refusals_left, self.n_refused = refusal, n, 0

    def url(self, name):
        """The URL of a file."""
        return f"root://127.0.0.1:{self.server_address[1]}//{name}"

    def storage(self, name="far"):
        """The text of a storage of a campaign."""
        return (
            f'[storage.{name}]\nkind = "url"\nurl = "root://127.0.0.1:{self.server_address[1]}//{{file}}"\n'
        )


class _Session(socketserver.StreamRequestHandler):
    """One connection, which has one file open at most."""

    def handle(self):
        with suppress(ConnectionError):  # a client may go without a word
            self._serve()

    def _serve(self):
        self.rfile.read(20)
        self._answer(b"\0\0", OK, _VERSION)
        content = b""
        while len(head := self.rfile.read(24)) == 24:
            stream, code, body, n_bytes = struct.unpack(">2sH16si", head)
            payload = self.rfile.read(n_bytes)
            if code in (OPEN, READ, READ_VECTOR) and (refusal := self.server.refusal_now()) is not None:
                self._answer(stream, *refusal)
                continue
            if code == OPEN:
                name = payload.decode().partition("?")[0].rpartition("/")[2]
                content = (self.server.directory / name).read_bytes()
            self._answer(stream, *_done(code, body, payload, content))

    def _answer(self, stream, status, body):
        self.wfile.write(struct.pack(">2sHi", stream, status, len(body)) + body)


def _done(code, body, payload, content):
    """Status and body of the right answer."""
    state = f"1 {len(content)} 16 1700000000\0".encode()
    if code == READ:
        offset, n_bytes = struct.unpack_from(">qi", body, 4)
        return OK, content[offset : offset + n_bytes]
    if code == READ_VECTOR:
        elements = (payload[at : at + 16] for at in range(0, len(payload), 16))
        return OK, b"".join(element + _of_element(element, content) for element in elements)
    answers = {
        PROTOCOL: _VERSION, LOGIN: bytes(16), PING: b"", CLOSE: b"", STAT: state, QUERY: b"2097136\n1024\n",
        OPEN: _HANDLE + bytes(8) + state,
    }  # fmt: skip
    return (OK, answers[code]) if code in answers else error(UNSUPPORTED, "no such request")


def _of_element(element, content):
    n_bytes, offset = struct.unpack(">iq", element[4:])
    return content[offset : offset + n_bytes]


@contextmanager
def fussy_xrootd(directory):
    """A server of the files of a directory."""
    with FussyXRootD(directory) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
