"""The relay between a client and a server: crates/relay, which explains its commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .process import STOP_TIMEOUT_S, NotInstalledError, home, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

#: The program and its package.
NAME = "arrowroot-relay"
#: The checkout that this module is in, and the program's sources there; a wheel has none.
CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = CHECKOUT / "crates" / "relay" / "src"
#: Characters of what cargo says last.
_MOST_SAID = 300


@dataclass(frozen=True)
class Counts:
    """The traffic since the last time."""

    connections: int
    bytes_up: int
    bytes_down: int
    #: Positions in the plan of the faults that have happened since it was set.
    faults: list[int]


class Relay:
    """Listens on ``port`` and hands on to a server's; at first as fast as it can, without faults."""

    def __init__(self, upstream_port: int) -> None:
        self._start(upstream_port)
        while not take(self.port):
            self.stop()
            self._start(upstream_port)

    def _start(self, upstream_port: int) -> None:
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [str(relay_program()), str(upstream_port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port: int = self._answer()["port"]

    def link(self, latency_ms: float, mb_per_s: float = 0, *, handshake: bool = False) -> None:
        """Set the round trip, and the rate that all connections share (0: no limit).

        handshake: a new connection costs a round trip, too.
        """
        self._say(f"link {latency_ms} {mb_per_s} {int(handshake)}")

    def faults(self, plan: Sequence[str]) -> None:
        """Set what will go wrong; connections count from 0 again."""
        self._say(f"faults {';'.join(plan)}")

    def cut(self) -> None:
        """Reset all connections."""
        self._say("cut")

    def counts(self) -> Counts:
        """Return the traffic since the last call."""
        return Counts(**self._say("counts"))

    def _say(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the relay ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def stop(self) -> None:
        """End it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def relay_program() -> Path:
    """Return the program: of a checkout, built if it is missing or older than its sources; else the installed one.

    ``ARROWROOT_RELAY`` names another one. Raises: NotInstalledError.
    """
    if named := os.environ.get("ARROWROOT_RELAY"):
        return Path(named)
    if SOURCES.is_dir():
        return _built()
    beside = str(Path(sys.executable).parent)
    if found := shutil.which(NAME, path=beside) or shutil.which(NAME):
        return Path(found)
    raise NotInstalledError(
        f"the relay, which makes the way to a server a slow line, is not installed: install the wheel of {NAME} for "
        f"{sys.executable}, in a clone of arrowroot pip install ./crates/relay; or let ARROWROOT_RELAY name the program"
    )


def _built() -> Path:
    program = Path(os.environ.get("CARGO_TARGET_DIR") or CHECKOUT / "target") / "release" / NAME
    newest = max(path.stat().st_mtime for path in SOURCES.iterdir())
    if not program.exists() or program.stat().st_mtime < newest:
        cargo = shutil.which("cargo") or shutil.which("cargo", path=str(home() / ".cargo" / "bin"))
        if cargo is None:
            raise NotInstalledError(f"the relay is not built, and there is no cargo to build it: {SOURCES}")
        options = ["--release", "--quiet", "--package", NAME]
        done = subprocess.run(
            [cargo, "build", *options], cwd=CHECKOUT, check=False, stderr=subprocess.PIPE, text=True
        )
        if done.returncode:
            said = " ".join(done.stderr.split())[-_MOST_SAID:]
            raise NotInstalledError(
                f"the relay cannot be built ({said}): let ARROWROOT_RELAY name the program, or see what cargo lacks"
            )
        program.touch()  # cargo may find nothing to do
    return program
