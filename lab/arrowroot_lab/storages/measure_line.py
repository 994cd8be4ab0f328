"""Measures a line: the round trip of the smallest request, and the rate of a stream, in about a second."""

from __future__ import annotations

import contextlib
import http.client
import mmap
import os
import random
import socket
import ssl
import statistics
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from . import xrootd_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

#: Round trips of which the least counts: all else is waiting for somebody.
N_ROUND_TRIPS = 7
#: A stream is measured for so long, or so many bytes, whatever ends first.
STREAM_S, STREAM_BYTES = 0.6, 64 << 20
#: Nobody waits longer for an answer.
TIMEOUT_S = 30.0
#: Statuses that say that a server is there, and cannot do anything.
_EXCUSES = (429, 502, 503, 504)
_PIECE_BYTES = 1 << 16
_PORTS = {"http": 80, "https": 443, "root": 1094, "roots": 1094, "xroot": 1094, "dav": 80, "davs": 443}


def of_url(url: str, *, has_stream: bool = True) -> dict[str, float]:
    """Return ``latency_ns`` and ``bytes_per_s`` of the way to a file; what cannot be measured is left out.

    has_stream: measure the rate of a stream, too

    Of servers that want to know who asks, or encrypt, the time of a connection is the round trip.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    with contextlib.suppress(
        OSError, http.client.HTTPException, xrootd_line.RefusedByServerError, ValueError
    ):
        if parts.scheme == "http":
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            return of_http(host, port, path, {}, has_stream=has_stream)
        if parts.scheme in ("root", "xroot"):
            return of_xrootd(host, port, (parts.path[1:] or "/") if has_stream else None)
    with contextlib.suppress(OSError):
        return {"latency_ns": float(_least(lambda: _connect(host, port)))} if port else {}
    return {}


def answers(url: str) -> bool:
    """Ask a server for one byte of a file, without credentials, or for a ping: any answer is one, but for an excuse.

    What speaks another protocol has answered if it takes a connection.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    try:
        if parts.scheme in ("http", "https", "dav", "davs"):
            return _status(parts.scheme in ("http", "dav"), host, port, parts.path or "/") not in _EXCUSES
        if parts.scheme in ("root", "xroot"):
            xrootd_line.Connection(host, port, timeout_s=TIMEOUT_S).close()
        elif port:
            _connect(host, port)
    except xrootd_line.RefusedByServerError:
        return True
    except (OSError, http.client.HTTPException):
        return False
    return True


def _status(is_plain: bool, host: str, port: int, path: str) -> int:
    if is_plain:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    else:
        # Nothing is shown to it, and nothing that it says is believed: it may have an authority of the grid.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)
    try:
        connection.request("GET", path, headers={"Range": "bytes=0-0"})
        return connection.getresponse().status
    finally:
        connection.close()


def of_http(
    host: str, port: int, path: str, headers: Mapping[str, str], *, has_stream: bool = True
) -> dict[str, float]:
    """Measure one kept connection of HTTP: requests for one byte, then, for a stream, the whole file.

    Raises: OSError, http.client.HTTPException
    """
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:

        def ask() -> None:
            connection.request("GET", path, headers={**headers, "Range": "bytes=0-0"})
            answer = connection.getresponse()
            if answer.status != http.client.PARTIAL_CONTENT:
                raise http.client.HTTPException(f"status {answer.status}")
            if len(answer.read(2)) != 1:  # it may go on and on
                raise http.client.HTTPException("more than the byte that was asked for")

        ask()  # it connects
        latency_ns = _least(ask)
        if not has_stream:
            return {"latency_ns": float(latency_ns)}
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        rate = stream_rate(lambda: len(answer.read1(_PIECE_BYTES)))
    finally:
        connection.close()
    return {"latency_ns": float(latency_ns), **rate}


def of_xrootd(host: str, port: int, path: str | None) -> dict[str, float]:
    """Measure one connection of XRootD: pings, then a read of the file, if one is told.

    Raises: OSError, RefusedByServerError.
    """
    with xrootd_line.Connection(host, port, timeout_s=TIMEOUT_S) as connection:
        connection.ping()
        latency_ns = _least(connection.ping)
        rate = {}
        if path is not None:
            with contextlib.suppress(xrootd_line.RefusedByServerError):
                rate = stream_rate(connection.stream(path, STREAM_BYTES))
    return {"latency_ns": float(latency_ns), **rate}


def of_file(path: Path, *, is_cold: bool) -> dict[str, float]:
    """Measure a local file: reads of a page at random places, then a stream; past the page cache if it is cold.

    Where the file system has no such reads (O_DIRECT) nothing is known of a cold file.
    """
    size = path.stat().st_size
    page = mmap.PAGESIZE
    if size < page:
        return {}
    try:
        descriptor = os.open(path, os.O_RDONLY | (os.O_DIRECT if is_cold else 0))
    except OSError:
        return {}
    # A mapping is aligned, as reads past the page cache want their memory.
    buffer = mmap.mmap(-1, 1 << 20)
    try:
        draw = random.Random(1)  # noqa: S311 - nothing is secret
        small = memoryview(buffer)[:page]

        def seek() -> None:
            os.preadv(descriptor, [small], draw.randrange(size // page) * page)

        times = [_timed(seek) for _ in range(32)]
        begin_ns, at = time.perf_counter_ns(), 0
        while at < min(size, STREAM_BYTES) and time.perf_counter_ns() - begin_ns < STREAM_S * 1e9:
            at += os.preadv(descriptor, [buffer], at)
            if at % page:
                break
        elapsed_ns = time.perf_counter_ns() - begin_ns
        small.release()
    except OSError:
        return {}
    finally:
        os.close(descriptor)
    return {"latency_ns": float(statistics.median(times)), "bytes_per_s": at / elapsed_ns * 1e9}


def stream_rate(receive: Callable[[], int]) -> dict[str, float]:
    """Return the rate of what comes, from the first bytes on; ``receive`` returns how many came, 0 at the end."""
    receive()
    begin_ns, n_bytes, end_ns = time.perf_counter_ns(), 0, 0
    while n_bytes < STREAM_BYTES and (not end_ns or end_ns - begin_ns < STREAM_S * 1e9):
        n = receive()
        if not n:
            break
        n_bytes, end_ns = n_bytes + n, time.perf_counter_ns()
    # A few pieces have been under way together, and say nothing.
    return {"bytes_per_s": n_bytes / (end_ns - begin_ns) * 1e9} if n_bytes > 8 * _PIECE_BYTES else {}


def _connect(host: str, port: int) -> None:
    socket.create_connection((host, port), TIMEOUT_S).close()


def _least(ask: Callable[[], None]) -> int:
    return min(_timed(ask) for _ in range(N_ROUND_TRIPS))


def _timed(ask: Callable[[], None]) -> int:
    begin_ns = time.perf_counter_ns()
    ask()
    return time.perf_counter_ns() - begin_ns
