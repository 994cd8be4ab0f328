"""An HTTP proxy that makes tunnels (RFC 9110, section 9.3.6), and nothing else."""

from __future__ import annotations

import contextlib
import socket
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_PIECE_BYTES = 1 << 16


class ConnectProxy:
    """Runs in threads of this process until its ``with`` block ends; ``asked`` has the places that it was asked for."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.asked: list[str] = []
        Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """As the variables have it that tell clients of a proxy."""
        return f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                byte = client.recv(1)
                if not byte:
                    return
                head += byte
            method, place, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            self.asked.append(f"{method} {place}")
            if method != "CONNECT":
                client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")
                return
            host, _, port = place.rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                up = Thread(target=_move, args=(client, server), daemon=True)
                up.start()
                _move(server, client)
                up.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def _move(source: socket.socket, target: socket.socket) -> None:
    """Bytes in one direction, until either side ends."""
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            target.sendall(piece)
    for side in (source, target):
        with contextlib.suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)
