"""One child process in a directory of its own, on a free port of the loopback interface."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from .access import Request

#: They end what hangs. Where the machine does much else, good servers take their time.
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
#: Somebody else may take a free port before the server does, and XRootD 6 crashes now and then as it starts.
N_STARTS = 3
#: Where Debian keeps servers, and Go itself: not on everybody's PATH.
MORE_PATHS = "/usr/sbin:/usr/local/sbin:/usr/local/go/bin"


def home() -> Path:
    """Return the user's home; where temporary files are, for one who has none, as in some batch jobs and containers."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())


#: Programs that were built for these servers: versitygw, libraries for LD_PRELOAD.
CACHE = Path(os.environ.get("ARROWROOT_TEST_TOOLS") or home() / ".cache" / "arrowroot-test")
#: Ports that servers of this process had, each with the descriptor of a socket whose name tells other processes so.
_GIVEN: dict[int, int] = {}


class NotInstalledError(RuntimeError):
    """A program that is not on this machine. The message says how to get it."""


def find_program(name: str, package: str) -> str:
    """Return the path of a program. Raises: NotInstalledError, naming Debian's package."""
    path = shutil.which(name) or shutil.which(name, path=MORE_PATHS)
    if path is None:
        raise NotInstalledError(f"{name} is not installed: apt install {package}")
    return path


def free_port() -> int:
    """Return a port that nobody listens on now, that no server of this process had, and none of another has.

    The engine remembers things of a server for all files that come from it, and would hold them against the next one
    there. A server about to lose its port to that of another process would seem to answer when the other one does.
    """
    with contextlib.ExitStack() as not_taken:
        while True:
            sock = not_taken.enter_context(socket.socket())
            sock.bind(("127.0.0.1", 0))
            port = int(sock.getsockname()[1])
            if take(port):
                return port


def take(port: int) -> bool:
    """Return whether no server of this process had the port, and no other process holds it; from now on one has.

    The name is that of a socket of Linux's without a file, which ends with the process.
    """
    if port in _GIVEN:
        return False
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0arrowroot-port-{port}")
    except OSError as error:
        name.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    _GIVEN[port] = name.detach()
    return True


class Server:
    """A server; it ends, and its directory goes, with its ``with`` block."""

    #: The scheme of its URLs.
    scheme = "http"

    def __init__(self, name: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=f"arrowroot-{name}-"))
        self.output = self.directory / "output"
        self.port = 0
        self.process: subprocess.Popen[Any] | None = None

    def start(self, command: Callable[[], list[str]], **options: Any) -> None:
        """Start it and wait until it accepts connections. ``command`` writes the configuration for ``port``.

        Raises: RuntimeError with what it said, if it ends or does not answer.
        """
        status: int | None = None
        try:
            for _ in range(N_STARTS):
                self.port = free_port()
                with self.output.open("w") as output:
                    self.process = subprocess.Popen(
                        command(),
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        **options,
                    )
                if self._answers():
                    return
                status = self.process.poll()
                self._end_process()
                is_crashed = status is not None and status < 0
                if "in use" not in self.said() and not is_crashed:
                    break
        except BaseException:
            self.stop()
            raise
        said = self.said()
        self.stop()
        how = (
            f"did not answer within {START_TIMEOUT_S} s" if status is None else f"ended with status {status}"
        )
        raise RuntimeError(f"{type(self).__name__} did not start: it {how}\n{said[-3000:]}")

    def _answers(self) -> bool:
        assert self.process is not None
        end = time.monotonic() + START_TIMEOUT_S
        silent = self.ports()
        while time.monotonic() < end and self.process.poll() is None:
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", silent[0])) == 0:
                    silent = silent[1:]
            if not silent:
                return True
            time.sleep(0.02)
        return False

    def requests(self) -> list[Request]:
        """All requests that have been answered, by its own log; one under way may be there, too.

        Raises: NotImplementedError for a server that keeps none.
        """
        raise NotImplementedError

    def ports(self) -> list[int]:
        """Where it answers once it has started."""
        return [self.port]

    def said(self) -> str:
        """All that the server wrote to its output and logs."""
        texts = [path.read_text(errors="replace") for path in self.logs() if path.exists()]
        return "\n".join(texts)

    def logs(self) -> list[Path]:
        """Files that it writes to."""
        return [self.output]

    def _end_process(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def stop(self) -> None:
        """End it, and only it."""
        self._end_process()
        shutil.rmtree(self.directory, ignore_errors=True)

    def url(self, path: str, port: int | None = None) -> str:
        """Return the URL of a file below the root; ``port`` is that of a relay before it."""
        return f"{self.scheme}://127.0.0.1:{port or self.port}/{path}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a log; the last one may be half written, and is left out then."""
    return path.read_text(errors="replace").rpartition("\n")[0].splitlines()
