"""xrootd: files over root://, roots:// and, through its plug-in, HTTP."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from .access import Request, range_text
from .process import CACHE, NotInstalledError, Server, find_program, free_port, whole_lines

if TYPE_CHECKING:
    from .certificates import Certificates

CONFIGURATION = """
xrd.port {port}
xrd.network nodnr
all.export / {access}
oss.localroot {root}
all.adminpath {run}
all.pidpath {run}
"""
TRACE = """
xrootd.trace login request fs fsio
xrd.trace conn
"""
HTTP_PLUGIN = "libXrdHttp-5.so"
HERE = Path(__file__).resolve().parent
#: Longest path of its directory: with the names of its sockets it is 108 bytes at most.
MAX_PATH = 90

_LINE = re.compile(
    r"^\d{6} \d\d:\d\d:\d\d \d+ (?P<who>\S+?:(?P<connection>\d+)@\S+) Xrootd_?Protocol: (?P<text>.*)$"
)
_REQUEST = re.compile(r"^(?P<stream>[0-9a-f]{4}) req=(?P<method>\w+)")
_BRIDGED = re.compile(r"^(?P<stream>[0-9a-f]{4}) Bridge req=")
_RANGE = re.compile(r"(?:read|readV|pgread) (?P<length>\d+)@(?P<offset>\d+)")
_OPEN = re.compile(r" open \S+ (?P<path>/\S*)")


class XRootD(Server):
    """Serves the files below a directory, reading only unless it is ``writable``.

    certificates: TLS for who asks for it (roots://). security: the one protocol of authentication, such as ``unix``
    (Debian's packages have no validation of tokens). grid: demands X.509 proxies of the authority. redirect_to: sends
    every client to this port of the same host instead. http: also serves HTTP, on ``http_port``. trace: logs all
    requests, which ``requests`` needs; it costs time. checksums: tells adler32 of files. configuration: more lines.
    """

    scheme = "root"

    def __init__(
        self,
        root: Path,
        *,
        certificates: Certificates | None = None,
        security: str | None = None,
        grid: Certificates | None = None,
        redirect_to: int | None = None,
        http: bool = False,
        trace: bool = True,
        writable: bool = False,
        checksums: bool = False,
        configuration: str = "",
    ) -> None:
        super().__init__("xrootd")
        if len(str(self.directory)) > MAX_PATH:
            # Its sockets are there, and their names are bounded by the kernel.
            self.stop()
            raise RuntimeError(
                f"{self.directory}: this path is too long for xrootd; let TMPDIR name a shorter one"
            )
        self.http_port = 0
        if trace:
            configuration += TRACE
        if checksums:
            configuration += "\nxrootd.chksum max 2 adler32\n"
        if writable and os.geteuid() == 0:
            shutil.chown(root, "nobody")
        if certificates:
            self.scheme = "roots"
            key = self.directory / "server.key"
            shutil.copy(certificates.server_key, key)
            configuration += (
                f"\nxrd.tls {certificates.server} {key}\nxrd.tlsca certfile {certificates.authority}\n"
            )
        if grid:
            shutil.copytree(grid.hashed(), self.directory / "authorities", symlinks=True)
            certificate, key = self.directory / "grid.pem", self.directory / "grid.key"
            shutil.copy(grid.server, certificate)
            shutil.copy(grid.server_key, key)
            security = (
                f"gsi -crl:0 -gmapopt:0 -certdir:{self.directory}/authorities -cert:{certificate} -key:{key}"
            )
        if security:
            name = security.split()[0]
            configuration += (
                f"\nxrootd.seclib libXrdSec.so\nsec.protocol {security}\nsec.protbind * only {name}\n"
            )
        if redirect_to:
            configuration += f"\nxrootd.redirect 127.0.0.1:{redirect_to} /\n"
        program = self.program()
        path = self.directory / "xrootd.cfg"

        def command() -> list[str]:
            access = "r/w" if writable else "r/o"
            text = CONFIGURATION.format(port=self.port, root=root, run=self.directory, access=access)
            text += configuration
            if http:  # another one for each start: this one may be taken, too
                self.http_port = free_port()
                text += f"\nxrd.protocol http:{self.http_port} {HTTP_PLUGIN}\n"
            path.write_text(text)
            command = [program, "-c", str(path), "-I", "v4", "-l", str(self.directory / "xrootd.log")]
            return as_nobody(self.directory, command) if os.geteuid() == 0 else command

        self.start(command, env=os.environ | {"LD_PRELOAD": str(preloaded("loopback"))}, cwd=self.directory)

    @staticmethod
    def program() -> str:
        """Return its program. Raises: NotInstalledError."""
        return find_program("xrootd", "xrootd-server")

    def url(self, path: str, port: int | None = None) -> str:
        """Return the URL of a file; the second slash makes the path absolute."""
        return super().url(f"/{path}", port)

    def http_url(self, path: str, port: int | None = None) -> str:
        """Return the URL of a file over HTTP."""
        return f"http://127.0.0.1:{port or self.http_port}/{path}"

    def ports(self) -> list[int]:
        """Where it answers: its own protocol, and HTTP if asked for."""
        return [self.port, self.http_port] if self.http_port else [self.port]

    def logs(self) -> list[Path]:
        """Its log, with every request."""
        return [self.output, self.directory / "xrootd.log"]

    def requests(self) -> list[Request]:
        """All requests so far, as they began: their lines come before the answers. HTTP's as it sees them itself."""
        return parse_log(whole_lines(self.directory / "xrootd.log"))


def parse_log(lines: list[str]) -> list[Request]:
    """Requests in a log with the traces ``request`` and ``fsio``.

    A request's ranges come in lines of their own after it, those of a vector read one by one.
    """
    found: list[tuple[str, int, list[tuple[int, int]], list[str]]] = []
    latest: dict[tuple[int, str], int] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        connection, said = int(match["connection"]), match["text"]
        key = (connection, said[:4])
        if request := _REQUEST.match(said):
            latest[key] = len(found)
            found.append((request["method"], connection, [], []))
        elif _BRIDGED.match(said):
            latest[key] = len(found)
            found.append(("http", connection, [], []))
        elif key in latest:
            request_ = found[latest[key]]
            request_[2].extend((int(part["offset"]), int(part["length"])) for part in _RANGE.finditer(said))
            request_[3].extend(part["path"] for part in _OPEN.finditer(said))
    return [
        Request(method, paths[0] if paths else None, range_text(parts), sum(n for _, n in parts), connection)
        for method, connection, parts, paths in found
    ]


def as_nobody(directory: Path, command: list[str]) -> list[str]:
    """Return a command that runs as nobody, as xrootd refuses to be root; it may read, and only read, what root may."""
    for path in (directory, *directory.iterdir()):
        shutil.chown(path, "nobody")
    return [
        find_program("setpriv", "util-linux"), "--reuid=nobody", "--clear-groups",
        "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search", *command,
    ]  # fmt: skip


def find_plugin(name: str) -> Path:
    """Return the path of one of xrootd's plug-ins. Raises: NotInstalledError if it is nowhere beside its program."""
    prefix = Path(XRootD.program()).resolve().parents[1]
    for directory in (prefix / "lib64", *sorted((prefix / "lib").glob("*-linux-gnu")), prefix / "lib"):
        if (directory / name).exists():
            return directory / name
    raise NotInstalledError(f"xrootd's plug-in {name} is not installed: apt install xrootd-server-plugins")


def preloaded(name: str) -> Path:
    """Build ``name``.c for LD_PRELOAD, once. Raises: NotInstalledError without a compiler."""
    source = HERE / f"{name}.c"
    library = CACHE / f"{name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        compiler = find_program(os.environ.get("CC", "cc"), "gcc libc6-dev")
        made = library.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"], check=True
        )
        made.replace(library)
    return library
