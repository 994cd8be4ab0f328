"""A connection of XRootD, as far as measuring a line needs it: log in without a proof, ping, read.

Source: the XRootD protocol, version 5 (XProtocol.hh); numbers are big-endian.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

_LOGIN, _OPEN, _PING, _READ = 3007, 3010, 3011, 3013
_OK, _OK_SO_FAR, _ERROR = 0, 4000, 4003
_OPEN_READ = 0x0010
_MOST_ANSWER_BYTES = 1 << 20
_PIECE_BYTES = 1 << 16


class RefusedByServerError(Exception):
    """The server wants something that this connection cannot do: a proof of who asks, another server, a wait."""


class Connection:
    """One connection. Raises: OSError; RefusedByServerError for any answer but a plain one."""

    def __init__(self, host: str, port: int, *, timeout_s: float) -> None:
        self._socket = socket.create_connection((host, port), timeout_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(struct.pack(">5i", 0, 0, 0, 4, 2012))
            self._answer()
            self._log_in()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _log_in(self) -> None:
        self._ask(_LOGIN, struct.pack(">i8s4B", os.getpid() & 0x7FFFFFFF, b"lab", 0, 0, 5, 0))
        # After the session's 16 bytes comes what the server wants to know, if it does.
        if len(self._answer()) > 16:
            raise RefusedByServerError("it wants a proof of who asks")

    def ping(self) -> None:
        """The smallest request and its answer."""
        self._ask(_PING, bytes(16))
        self._answer()

    def stream(self, path: str, n_bytes: int) -> Callable[[], int]:
        """Open a file and ask for bytes from its begin; the result returns how many came, 0 at the end."""
        name = path.encode()
        self._ask(_OPEN, struct.pack(">HH12x", 0, _OPEN_READ), name)
        handle = self._answer()[:4]
        self._ask(_READ, struct.pack(">4sqi", handle, 0, n_bytes))
        left, is_last = 0, False

        def receive() -> int:
            nonlocal left, is_last
            while not left:
                if is_last:
                    return 0
                status, left = self._head()
                is_last = status == _OK
                if status not in (_OK, _OK_SO_FAR):
                    raise RefusedByServerError(f"status {status}")
            piece = self._socket.recv(min(left, _PIECE_BYTES))
            if not piece:
                raise ConnectionResetError("the server ended the connection")
            left -= len(piece)
            return len(piece)

        return receive

    def _ask(self, request: int, arguments: bytes, data: bytes = b"") -> None:
        self._socket.sendall(struct.pack(">HH16si", 1, request, arguments, len(data)) + data)

    def _head(self) -> tuple[int, int]:
        _, status, n_bytes = struct.unpack(">HHi", self._exactly(8))
        return status, n_bytes

    def _answer(self) -> bytes:
        status, n_bytes = self._head()
        if not 0 <= n_bytes <= _MOST_ANSWER_BYTES:
            raise RefusedByServerError(f"an answer of {n_bytes} bytes")
        data = self._exactly(n_bytes)
        if status != _OK:
            said = data[4:].rstrip(b"\0").decode(errors="replace") if status == _ERROR else f"status {status}"
            raise RefusedByServerError(said)
        return data

    def _exactly(self, n_bytes: int) -> bytes:
        data = b""
        while len(data) < n_bytes:
            piece = self._socket.recv(n_bytes - len(data))
            if not piece:
                raise ConnectionResetError("the server ended the connection")
            data += piece
        return data
