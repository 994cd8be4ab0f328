"""Two commits side by side: ``make against COMMIT=...`` says what a change costs, from pairs taken in turns."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaigns.programs.build import prepare

from .paths import CACHE, DEFINITIONS, REPOSITORY

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Makes a file of the data.
MAKER = REPOSITORY / "campaigns" / "reading" / "data.py"
BUILDS = REPOSITORY / "target" / "against"
#: A loss is told if its bound, at this confidence, may exceed this share.
CONFIDENCE, ALLOWED_LOSS = 0.99, 0.03
#: Rounds of pairs at most: a case that the first round leaves open gets another one.
N_ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """One thing that both commits do: a task of ``against_worker.py``, on a file of the data, or a table to write."""

    name: str
    task: str
    #: The arguments of ``MAKER``.
    data: Sequence[str] = ()
    columns: Sequence[str] = ()
    entry_share: float | None = None
    table: str = ""

    def job(self) -> dict[str, Any]:
        """The worker's job; its file is made if it is not there."""
        if not self.data:
            return {"task": self.task, "table": self.table}
        directory = made(self.data)
        about = json.loads((directory / "about" / "columns.json").read_text())
        (path,) = directory.glob("*.root")
        job: dict[str, Any] = {"task": self.task, "file": str(path), "tree": about["tree"], "entries": None}
        names = about["columns"] or about["baskets"]  # objects are one branch each
        job["columns"] = [name for name in names if any(fnmatch(name, glob) for glob in self.columns)]
        if self.entry_share is not None:
            n_entries = about["n_entries"]
            chosen = random.Random(1).sample(  # noqa: S311 - no secret
                range(n_entries), max(1, int(n_entries * self.entry_share))
            )
            listed = directory / "about" / f"{self.entry_share:g}.entries"
            listed.write_text("".join(f"{entry}\n" for entry in sorted(chosen)))
            job["entries"] = str(listed)
        return job


def made(data: Sequence[str]) -> Path:
    """Return the directory of a file of the data; it is made once."""
    key = hashlib.sha256(MAKER.read_bytes() + json.dumps(list(data)).encode()).hexdigest()[:16]
    directory = CACHE / "data" / f"{'-'.join(data)}-{key}"
    if not directory.exists():
        prepare()
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as part:
            made = Path(part) / "made"
            made.mkdir()
            subprocess.run([sys.executable, str(MAKER), str(made), *data], check=True)
            made.rename(directory)
    return directory


def cases(patterns: Sequence[str] = ()) -> tuple[Case, ...]:
    """All that is compared, or the cases whose names match one of the patterns.

    Raises: ValueError for a pattern that no name matches.
    """
    told = tomllib.loads((DEFINITIONS / "against.toml").read_text(encoding="utf-8"))
    found = tuple(Case(**case) for case in told["case"])
    for pattern in patterns:
        if not any(fnmatch(case.name, pattern) for case in found):
            raise ValueError(f"no case matches {pattern}: {'; '.join(case.name for case in found)}")
    return tuple(case for case in found if not patterns or any(fnmatch(case.name, p) for p in patterns))


@dataclass
class Comparison:
    """The ratios of CPU times, now over before, of one case's pairs."""

    case: Case
    ratios: list[float] = field(default_factory=list)
    before_ns: list[int] = field(default_factory=list)

    def bounds(self) -> tuple[float, float]:
        """The bounds of the median, each of them one-sided at CONFIDENCE, from the order of the ratios alone."""
        rank = bound_rank(len(self.ratios))
        ordered = sorted(self.ratios)
        return ordered[rank - 1], ordered[-rank]

    def is_open(self) -> bool:
        """True if the loss may be larger than is allowed."""
        return self.bounds()[1] > 1 + ALLOWED_LOSS

    def verdict(self) -> str:
        """*no loss*, *worse*, or *unclear*: it may be a loss, or none."""
        if not self.is_open():
            return "no loss"
        return "worse" if self.bounds()[0] > 1 else "unclear"


def bound_rank(n: int) -> int:
    """The rank, from either end of ``n`` sorted ratios, of a one-sided bound of their median at CONFIDENCE.

    Raises: ValueError if ``n`` is too small for one.
    """
    tail, rank = 0.0, 0
    while (tail := tail + math.comb(n, rank) / 2**n) <= 1 - CONFIDENCE:
        rank += 1
    if rank == 0:
        raise ValueError(f"{n} pairs are too few: at least 7")
    return rank


def build(commit: str) -> Path:
    """Build a commit's extension in a work tree of its own. Returns the directory to import from."""
    sha = _git("rev-parse", "--verify", f"{commit}^{{commit}}")
    tree = BUILDS / sha[:12]
    package = tree / "python" / "arrowroot"
    extension = package / "_native.abi3.so"
    if not extension.exists():
        if tree.exists():
            _git("worktree", "remove", "--force", str(tree))
        _git("worktree", "add", "--force", "--detach", str(tree), sha)
        environment = os.environ | {"CARGO_TARGET_DIR": str(BUILDS / "cargo")}
        command = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "arrowroot-python"]
        subprocess.run(command, cwd=tree, env=environment, check=True)
        partial = extension.with_suffix(".part")
        shutil.copy2(BUILDS / "cargo" / "release" / "lib_native.so", partial)
        partial.rename(extension)
    return tree / "python"


def write_bytecode(python: Path) -> None:
    """Compile the package of ``python`` where its bytecode is missing or old.

    The interpreter may be told not to (PYTHONDONTWRITEBYTECODE). It would then compile on each import, which takes
    three times as long as the rest of it, and one of the two would pay for that.
    """
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(python / "arrowroot")], check=True)


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(REPOSITORY), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def sample(python: Path, job: dict[str, Any]) -> int:
    """CPU time in ns of one process's case, with the package of ``python``."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.against_worker"],
        input=json.dumps(job), capture_output=True, text=True, check=False, cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(python)},
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{python}: {job['task']} failed:\n{done.stderr}")
    return int(done.stdout)


def take_pairs(comparison: Comparison, job: dict[str, Any], before: Path, now: Path, n_pairs: int) -> None:
    """Measure pairs; who is first changes from pair to pair."""
    for pair in range(n_pairs):
        order = (before, now) if pair % 2 else (now, before)
        times = {python: sample(python, job) for python in order}
        comparison.ratios.append(times[now] / times[before])
        comparison.before_ns.append(times[before])


def row(comparison: Comparison) -> str:
    """One line of the table."""
    low, high = comparison.bounds()
    before_ms = statistics.median(comparison.before_ns) / 1e6
    return (
        f"| {comparison.case.name} | {before_ms:.2f} | {statistics.median(comparison.ratios):.3f} | "
        f"{low:.3f} to {high:.3f} | {len(comparison.ratios)} | {comparison.verdict()} |"
    )


def compare(commit: str, n_pairs: int, patterns: Sequence[str] = ()) -> int:
    """Print one row a case. Returns 1 if a case is worse."""
    try:
        chosen = cases(patterns)
    except ValueError as error:
        sys.exit(str(error))
    jobs = {case.name: case.job() for case in chosen}
    before, now = build(commit), REPOSITORY / "python"
    for python in (before, now):
        write_bytecode(python)
    print(
        f"CPU time of this checkout over {commit}'s, pairs in turns, bounds of the median at {CONFIDENCE:.0%}\n"
    )
    print(
        "| case | before, ms | now / before | bounds | pairs | |\n| --- | ---: | ---: | ---: | ---: | --- |"
    )
    is_worse = False
    for case in chosen:
        comparison, job = Comparison(case), jobs[case.name]
        for python in (before, now):
            sample(python, job)  # page cache
        for _ in range(N_ROUNDS):
            take_pairs(comparison, job, before, now, n_pairs)
            if not comparison.is_open():
                break
        print(row(comparison), flush=True)
        is_worse |= comparison.verdict() == "worse"
    return int(is_worse)


def main() -> int:
    """Return 1 if the checkout is slower than the commit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit", help="what this checkout is compared with")
    parser.add_argument(
        "--cases", nargs="+", default=(), metavar="NAME", help="names or globs (default: all)"
    )
    parser.add_argument("--pairs", type=int, default=11, help="of samples in a round (default 11)")
    options = parser.parse_args()
    return compare(options.commit, options.pairs, options.cases)


if __name__ == "__main__":
    sys.exit(main())
