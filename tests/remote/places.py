"""The same directory behind each kind of server, with a relay before it."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arrowroot_servers import S3, Nginx, Relay, XRootD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arrowroot_servers import Request

#: How a file is reached. The suffix says what is special about the server.
KINDS = ("http", "http-1-range", "http-0-ranges", "xrootd-http", "s3", "root")
#: Credentials of the S3 server, for who reads in this process.
S3_ENVIRONMENT = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@dataclass
class Place:
    """A server and the relay before it."""

    kind: str
    directory: Path
    server: Any
    relay: Relay
    #: Of ``arrowroot.open``.
    options: dict[str, Any] = field(default_factory=dict)

    def url(self, name: str) -> str:
        """URL of a file, through the relay."""
        if self.kind == "xrootd-http":
            return str(self.server.http_url(name, self.relay.port))
        return str(self.server.url(name, self.relay.port))

    def replace(self, name: str, other: Path) -> None:
        """Put another file in the place of one."""
        if self.kind == "s3":
            self.server.put(name, other.read_bytes())
            return
        new = self.directory / f"{name}.new"
        new.write_bytes(other.read_bytes())
        new.replace(self.directory / name)

    def publish(self, name: str) -> None:
        """Make a file of the directory known to the server; most look for themselves."""
        if self.kind == "s3":
            self.server.put(name, (self.directory / name).read_bytes())

    def requests(self) -> list[Request]:
        """What the server's log has of requests for files."""
        return list(self.server.requests())


def make_server(kind: str, directory: Path) -> Any:
    """Start the server of a kind. Raises: NotInstalledError."""
    if kind == "s3":
        return S3()
    if kind == "root":
        return XRootD(directory)
    if kind == "xrootd-http":
        return XRootD(directory, http=True)
    max_ranges = {"http": None, "http-1-range": 1, "http-0-ranges": 0}[kind]
    return Nginx(directory, max_ranges=max_ranges)


@contextmanager
def place(kind: str, directory: Path) -> Iterator[Place]:
    """Start a server and its relay; they end with the block. Raises: NotInstalledError."""
    with ExitStack() as stack:
        server = stack.enter_context(make_server(kind, directory))
        relay = stack.enter_context(Relay(server.http_port if kind == "xrootd-http" else server.port))
        options: dict[str, Any] = {}
        if kind == "s3":
            options = {
                "s3_endpoint": server.endpoint(relay.port),
                "s3_region": server.environment["AWS_REGION"],
            }
            before = {name: os.environ.get(name) for name in S3_ENVIRONMENT}
            stack.callback(_restore, before)
            os.environ.update({name: server.environment[name] for name in S3_ENVIRONMENT})
        yield Place(kind, directory, server, relay, options)


def _restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
