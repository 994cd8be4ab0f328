"""The relay between a client and a server: crates/storage/examples/relay, which explains its commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .process import STOP_TIMEOUT_S, NotInstalledError, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

#: The program's sources, in a checkout.
SOURCES = Path("crates", "storage", "examples", "relay")


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
    """Return the program, built if it is missing or older than its sources.

    It is looked for in the checkout that this module, or else the current directory, is in; ``ARROWROOT_RELAY`` names
    another one. Raises: NotInstalledError without a checkout, or without cargo to build it.
    """
    if named := os.environ.get("ARROWROOT_RELAY"):
        return Path(named)
    checkout = find_checkout()
    program = (
        Path(os.environ.get("CARGO_TARGET_DIR") or checkout / "target") / "release" / "examples" / "relay"
    )
    newest = max(path.stat().st_mtime for path in (checkout / SOURCES).iterdir())
    if not program.exists() or program.stat().st_mtime < newest:
        cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
        if cargo is None:
            raise NotInstalledError(
                f"the relay is not built, and there is no cargo to build it: {checkout / SOURCES}"
            )
        options = ["--release", "--quiet", "--package", "arrowroot-storage", "--example", "relay"]
        subprocess.run([cargo, "build", *options], cwd=checkout, check=True)
        program.touch()  # cargo may find nothing to do
    return program


def find_checkout() -> Path:
    """Return arrowroot's checkout. Raises: NotInstalledError if there is none."""
    for start in (Path(__file__).resolve(), Path.cwd() / "here"):
        for directory in start.parents:
            if (directory / SOURCES).is_dir():
                return directory
    raise NotInstalledError(
        "the relay, which makes the way to a server a slow line, is built in a checkout of arrowroot: "
        "run this in one, or let ARROWROOT_RELAY name the program"
    )
