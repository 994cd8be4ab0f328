"""Many runs under seeded faults: each is the right table or a clear error in time, never a hang, never wrong values.

    python -m tests.remote.faults --n 1000 --seed 1

What no checksum can reveal is counted apart: a changed byte in the payload of a codec without one (fault_plans.py). For
a codec with a checksum any wrong value is a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import selectors
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot_servers import NotInstalledError

from . import data, fault_plans, places
from .fault_plans import MOST_S, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .places import Place

#: A run that has not answered by then never will.
HANG_S = 40.0


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    run: Run
    #: ``right``, ``wrong``, ``error``, ``crash``, ``hang``, ``died``.
    outcome: str
    message: str
    seconds: float
    #: Faults that happened.
    met: tuple[str, ...]

    @property
    def complaint(self) -> str | None:
        """Why it is a failure, or None."""
        if self.outcome in ("crash", "hang", "died"):
            return self.outcome
        if self.outcome == "wrong" and not self.is_undetectable:
            return "wrong values"
        if self.outcome == "error" and not self.message.partition(": ")[2].strip():
            return "an error that says nothing"
        if self.seconds > MOST_S:
            return f"took {self.seconds:.1f} s"
        return None

    @property
    def is_undetectable(self) -> bool:
        """Whether the values are wrong because of bytes that no checksum of the format protects."""
        changed = any(fault.split(":")[3] in fault_plans.CHANGES_BYTES for fault in self.met)
        return self.outcome == "wrong" and changed and self.run.may_be_wrong

    def __str__(self) -> str:
        run = self.run
        return (
            f"seed {run.seed}: {run.kind}, {run.codec}, {run.read}, {run.strategy}, {' '.join(run.faults)} "
            f"(met: {' '.join(self.met) or 'none'}): {self.outcome} in {self.seconds:.2f} s: {self.message}"
        )


class Worker:
    """The process that reads. One that hangs is killed and replaced."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return its answer, or the outcome ``hang`` or ``died``."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.remote.fault_worker", str(self._directory)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(job) + "\n")
        stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if not selector.select(HANG_S):
                self.stop()
                return {"outcome": "hang", "message": f"no answer in {HANG_S} s", "seconds": HANG_S}
        line = stdout.readline()
        if not line.startswith("{"):
            rest = line + stdout.read()
            self.stop()
            return {"outcome": "died", "message": rest[-2000:], "seconds": 0.0}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
            self._process = None


class Campaign(contextlib.AbstractContextManager["Campaign"]):
    """Servers with the files, and the worker. ``start``: how a place is started, so that a test may skip."""

    def __init__(self, directory: Path, start: Callable[[str], Place], kinds: Sequence[str]) -> None:
        self._worker = Worker(directory)
        self._sizes = {}
        for codec in dict.fromkeys(fault_plans.CODECS):
            path = directory / f"faults-{codec}.root"
            data.write(path, codec=codec, n_branches=fault_plans.N_BRANCHES)
            self._sizes[codec] = path.stat().st_size
        self._places = {kind: start(kind) for kind in kinds}
        for place in self._places.values():
            for codec in self._sizes:
                place.publish(f"faults-{codec}.root")

    def run(self, seed: int) -> Result:
        """One run."""
        run = fault_plans.draw(seed, list(self._places), self._sizes)
        place = self._places[run.kind]
        # Connections that are kept open would take no part in the plan.
        place.relay.cut()
        place.relay.faults(run.faults)
        place.relay.counts()
        with tempfile.TemporaryDirectory() as downloads:
            options = {**place.options, **run.options(), "download_dir": downloads}
            job = {"url": place.url(run.file), "file": run.file, "read": run.read, "options": options}
            answer = self._worker.ask(job)
        met = tuple(run.faults[k] for k in place.relay.counts().faults)
        return Result(run, answer["outcome"], answer["message"], answer["seconds"], met)

    def __exit__(self, *_: object) -> None:
        self._worker.stop()


def summary(results: Sequence[Result]) -> str:
    """Counts of outcomes, and each failure."""
    outcomes = Counter("wrong, undetectable" if r.is_undetectable else r.outcome for r in results)
    lines = [f"{len(results)} runs: " + ", ".join(f"{n} {name}" for name, n in outcomes.most_common())]
    met = Counter(fault.split(":")[3] for r in results for fault in r.met)
    lines.append("faults that happened: " + ", ".join(f"{n} {kind}" for kind, n in met.most_common()))
    errors = Counter(r.message.partition(":")[0] for r in results if r.outcome == "error")
    lines.append("errors: " + (", ".join(f"{n} {kind}" for kind, n in errors.most_common()) or "none"))
    undetected = Counter(r.run.codec for r in results if r.is_undetectable)
    exposed = Counter(
        r.run.codec for r in results if any(f.split(":")[3] in fault_plans.CHANGES_BYTES for f in r.met)
    )
    lines += [
        f"bytes changed in {n} runs of {codec}: {undetected[codec]} gave wrong values unnoticed"
        for codec, n in sorted(exposed.items())
    ]
    seconds = sorted(r.seconds for r in results)
    lines.append(f"longest run {seconds[-1]:.1f} s, median {seconds[len(seconds) // 2]:.2f} s")
    lines += [f"FAILED ({r.complaint}): {r}" for r in results if r.complaint]
    return "\n".join(lines)


@contextlib.contextmanager
def campaign(kinds: Sequence[str]) -> Iterator[Campaign]:
    """Start everything. Raises: NotInstalledError."""
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arrowroot-faults-")))

        def start(kind: str) -> places.Place:
            return stack.enter_context(places.place(kind, directory))

        yield stack.enter_context(Campaign(directory, start, kinds))


def main() -> int:
    """Return 1 if a run failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=1000, help="number of runs (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the first one; the others follow (default 1)")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=fault_plans.KINDS)
    parser.add_argument("--verbose", action="store_true", help="print every run")
    arguments = parser.parse_args()
    results = []
    try:
        with campaign(arguments.kinds) as runs:
            for seed in range(arguments.seed, arguments.seed + arguments.n):
                results.append(runs.run(seed))
                if arguments.verbose or results[-1].complaint:
                    print(results[-1], flush=True)
    except NotInstalledError as lack:
        sys.exit(f"not run: {lack}")
    print(summary(results))
    return 1 if any(r.complaint for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
