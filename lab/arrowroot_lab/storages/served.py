"""Places behind servers that are started for them: xrootd, nginx, S3, and a file cache before an xrootd."""

from __future__ import annotations

import http.client
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.errors import LabError, MissingError
from arrowroot_servers import S3, Nginx, NotInstalledError, Relay, Server, XCache, XRootD, relay_program
from arrowroot_servers.process import find_program
from arrowroot_servers.s3 import VERSION as S3_VERSION
from arrowroot_servers.s3 import signed

from . import measure_line
from .local import warm
from .place import Place
from .xrootd_line import RefusedByServerError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from arrowroot_lab.campaign.model import Line, Storage

#: A whole file goes through a cache in this time, or the storage is not to be had.
FILL_TIMEOUT_S = 600.0
#: The program of the server of each kind of storage.
_PROGRAMS = {"http": Nginx.program, "s3": S3.program, "xcache": XCache.program, "xrootd": XRootD.program}
#: Requests for a file in the log of a server; of XRootD those that open or read.
_REQUESTS = ("GET", "HEAD", "open", "stat", "read", "readv", "pgread")
#: So long the cache may take to write to its disk what it has in memory.
_SETTLE_S = 30.0


def check_here(storage: Storage) -> None:
    """Raise MissingError if a program that a storage needs is not on this machine."""
    try:
        _PROGRAMS[storage.kind]()
        if storage.line or storage.origin_line:
            relay_program()
        if storage.is_cache_warm:
            _copier()
    except NotInstalledError as error:
        raise MissingError(f"storage {storage.name}: {error}") from None


def _copier() -> str:
    return find_program("xrdcp", "xrootd-client")


def serve(storage: Storage, files: Sequence[Path], stack: ExitStack) -> Place:
    """Start what a storage needs; ``stack`` ends it. Raises: MissingError without a program; LabError."""
    try:
        offered = _offered(files, stack)
        root = offered[0].parents[1]
        has_log = bool(storage.options.get("log"))
        if storage.kind == "xcache":
            return _Cached(storage, files, offered, stack)
        if storage.kind == "s3":
            server: Server = stack.enter_context(S3(trace=has_log))
        elif storage.kind == "xrootd":
            server = stack.enter_context(XRootD(root, trace=has_log))
        else:
            server = stack.enter_context(Nginx(root, long_headers=True))
        return _Served(storage, files, offered, server, _relay_of(storage.line, server.port, stack))
    except NotInstalledError as error:
        raise MissingError(f"storage {storage.name}: {error}") from None
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        raise LabError(f"storage {storage.name}: {error}") from error


def _offered(files: Sequence[Path], stack: ExitStack) -> list[Path]:
    """Links to the files in a directory that a server can show: ``0/name``, ``1/name``, as two may have one name."""
    root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arrowroot-lab-")))
    root.chmod(0o755)  # servers may be other users
    offered = []
    for n, path in enumerate(files):
        directory = root / str(n)
        directory.mkdir()
        link = directory / path.name
        link.symlink_to(path.resolve())
        offered.append(link)
    return offered


def _relay_of(line: Line | None, port: int, stack: ExitStack) -> Relay | None:
    return None if line is None else _relay(line, port, stack)


def _relay(line: Line, port: int, stack: ExitStack) -> Relay:
    relay = stack.enter_context(Relay(port))
    relay.link(line.latency_ns / 1e6, line.bytes_per_s / 1e6, handshake=line.has_handshake)
    return relay


class _Served(Place):
    """One server, behind a relay if the storage has a line."""

    def __init__(
        self,
        storage: Storage,
        files: Sequence[Path],
        offered: Sequence[Path],
        server: Server,
        relay: Relay | None,
    ) -> None:
        super().__init__([], list(files))
        self._storage, self._server, self._relay = storage, server, relay
        self._paths = [f"{path.parent.name}/{path.name}" for path in offered]
        if isinstance(server, S3):
            self._fill_bucket(server, offered)
            endpoint = server.endpoint(self._port)
            self.environment = {
                **server.environment,
                "AWS_ENDPOINT_URL": endpoint,
                "ARROWROOT_S3_ENDPOINT": endpoint,
            }
        self.versions = _versions(storage.kind)
        self._relays = {"line": relay} if relay else {}
        self._n_requests = 0
        self._renew_urls()

    @property
    def _port(self) -> int:
        return self._relay.port if self._relay else self._server.port

    def _fill_bucket(self, server: S3, offered: Sequence[Path]) -> None:
        for n, path in enumerate(offered):
            self._paths[n] = f"{n}-{path.name}"
            server.link(self._paths[n], path.resolve())

    def _renew_urls(self) -> None:
        self.urls = [self._server.url(path, self._port) for path in self._paths]

    def prepare_sample(self) -> dict[str, float]:
        """See that the server has the files in its page cache; connections of before are ended, counts begin anew."""
        warm(self.files)
        self._begin_counts()
        return {}

    def _begin_counts(self) -> None:
        for relay in self._relays.values():
            relay.cut()
            relay.counts()
        self._n_requests = self._logged()

    def _logged(self) -> int:
        """The requests so far by the server's log; 0 without one."""
        if not self._storage.options.get("log"):
            return 0
        return sum(request.method in _REQUESTS for request in self._server.requests())

    def line_figures(self) -> dict[str, float]:
        """Measure the way to the server, by the server's own protocol."""
        with suppress(OSError, http.client.HTTPException, RefusedByServerError):
            if isinstance(self._server, S3):
                return self._of_s3(self._server)
            return measure_line.of_url(self.urls[0])
        return {}

    def _of_s3(self, server: S3) -> dict[str, float]:
        path = server.path(self._paths[0])
        headers = signed(
            "GET", path, b"", host=f"127.0.0.1:{self._port}", access_key=server.access_key,
            secret_key=server.secret_key,
        )  # fmt: skip
        return measure_line.of_http("127.0.0.1", self._port, path, headers)

    def counters(self) -> dict[str, dict[str, int]]:
        """Counts of the relays and of the server's log since the sample was prepared; without a line nobody counts."""
        found = {}
        if self._storage.options.get("log"):
            found["server"] = {"n_requests": self._logged() - self._n_requests}
        for name, relay in self._relays.items():
            counts = relay.counts()
            found[name] = {
                "n_connections": counts.connections,
                "n_bytes": counts.bytes_down,
                "n_bytes_up": counts.bytes_up,
            }
        return found


class _Cached(_Served):
    """A file cache before an xrootd, which is behind a relay of its own."""

    def __init__(
        self, storage: Storage, files: Sequence[Path], offered: Sequence[Path], stack: ExitStack
    ) -> None:
        origin = stack.enter_context(XRootD(offered[0].parents[1], trace=False))
        self._origin = origin
        self._origin_relay = _relay_of(storage.origin_line, origin.port, stack)
        self._copier = _copier() if storage.is_cache_warm else ""
        self._stack = stack
        self._cache = stack.enter_context(
            XCache(
                self._origin_relay.port if self._origin_relay else origin.port,
                block_bytes=storage.options.get("block_bytes", 1 << 20),
                prefetch=storage.options.get("prefetch", 0),
            )
        )
        super().__init__(
            storage, files, offered, self._cache, _relay_of(storage.line, self._cache.port, stack)
        )
        self._is_filled = False
        if self._origin_relay:
            self._relays["origin_line"] = self._origin_relay

    def prepare_sample(self) -> dict[str, float]:
        """Fill the cache, once, if it is to be warm; else empty it: it starts anew, and may have another URL."""
        warm(self.files)
        if self._storage.is_cache_warm:
            self._fill()
            # The copies on the cache's disk are in the page cache, too, as the files are.
            warm([self._cache.data / path for path in self._paths])
        else:
            self._cache.empty()
            if self._relay is not None and self._storage.line is not None:
                # A relay has one server: the cache is on another port now.
                self._relay.stop()
                self._relay = self._relays["line"] = _relay(self._storage.line, self._cache.port, self._stack)
            self._renew_urls()
        self._begin_counts()
        return {}

    def _begin_counts(self) -> None:
        # The cache keeps its connection to the origin: one that is cut would cost it a wait before the next one.
        for relay in self._relays.values():
            relay.counts()

    def _fill(self) -> None:
        if self._is_filled:
            return
        for path in self._paths:
            command = [self._copier, "--force", "--nopbar", self._cache.url(path), "-"]
            try:
                done = subprocess.run(
                    command,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    check=False,
                    timeout=FILL_TIMEOUT_S,
                )
            except subprocess.TimeoutExpired:
                raise LabError(
                    f"storage {self._storage.name}: the cache was not full in {FILL_TIMEOUT_S:g} s"
                ) from None
            if done.returncode:
                said = done.stderr.decode(errors="replace").strip()[-500:]
                raise LabError(f"storage {self._storage.name}: {path} does not go through the cache: {said}")
            self._wait_until_kept(path)
        self._is_filled = True

    def _wait_until_kept(self, path: str) -> None:
        size = self.files[self._paths.index(path)].stat().st_size
        end = time.monotonic() + _SETTLE_S
        while self._cache.cached_bytes(path) < size and time.monotonic() < end:
            time.sleep(0.05)
        if (kept := self._cache.cached_bytes(path)) < size:
            problem = f"the cache has kept {kept} of the {size} bytes of {path}: is the disk full?"
            raise LabError(f"storage {self._storage.name}: {problem}")

    def line_figures(self) -> dict[str, float]:
        """Measure the way to the cache, and as ``origin_`` that to the origin.

        A stream through a cold cache would be one from the origin, and fill it: it is left out.
        """
        if self._storage.is_cache_warm:
            self._fill()
        found = measure_line.of_url(self.urls[0], has_stream=self._storage.is_cache_warm)
        port = self._origin_relay.port if self._origin_relay else self._origin.port
        origin = measure_line.of_url(self._origin.url(self._paths[0], port))
        return found | {f"origin_{key}": value for key, value in origin.items()}


def _versions(kind: str) -> dict[str, str]:
    """The versions of the servers as they tell them."""
    if kind == "s3":
        return {"versitygw": S3_VERSION.removeprefix("v")}
    name = "nginx" if kind == "http" else "xrootd"
    done = subprocess.run(
        [find_program(name, name), "-v"], capture_output=True, text=True, check=False, timeout=30
    )
    said = (done.stdout + done.stderr).strip().splitlines()
    return {name: said[-1].rpartition("/")[2].removeprefix("v")} if said else {}
