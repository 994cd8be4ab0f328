"""Writes the schemas of seeds with ROOT, some at a time, and compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.judge import root

from . import compare, generate, ntuple_compare, ntuple_generate
from .write import write_seeds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .compare import Finding

#: For trees and for RNTuples: what makes schemas, and what compares.
KINDS: dict[str, tuple[Any, Any]] = {
    "tree": (generate.Generator, compare.findings),
    "ntuple": (ntuple_generate.Generator, ntuple_compare.findings),
}

#: ROOT 6.40 writes memory that is no object's where an unordered_multimap holds containers: many MB for a few entries.
MAX_FILE_BYTES = 4_000_000
#: ROOT keeps all classes: a job that made many is slow.
PER_JOB = 50
#: A job, and each schema beside, have so long: ROOT 6.40 does not come back from some.
TIMEOUT_S, TIMEOUT_OF_SCHEMA_S = 60, 4


@dataclass
class Result:
    """What came out."""

    n_schemas: int = 0
    n_columns: int = 0
    findings: list[Finding] = field(default_factory=list)
    #: Seeds that ROOT has errors about, and what it says.
    refused: dict[int, str] = field(default_factory=dict)


def run_seeds(
    n_schemas: int,
    seed: int,
    directory: Path,
    *,
    kind: str = "tree",
    keep: bool = False,
    say: Callable[[str], None] | None = None,
    result: Result | None = None,
) -> Result:
    """Writes and compares so many schemas that ROOT does write, from ``seed`` on.

    ``keep``: files stay, and one that is there is not written again. ``say`` gets a line for each finding and refusal.
    ``result``: where what comes out goes, for who wants it although the run is interrupted.
    """
    result = result or Result()
    generator, findings = KINDS[kind]
    while result.n_schemas < n_schemas:
        now = list(range(seed, seed + min(PER_JOB, n_schemas - result.n_schemas)))
        seed = now[-1] + 1
        missing = [n for n in now if not (directory / f"{n}.root").exists()]
        refused = write(kind, missing, directory) if missing else {}
        for seed_now in now:
            path = directory / f"{seed_now}.root"
            if seed_now not in refused and path.stat().st_size > MAX_FILE_BYTES:
                refused[seed_now] = f"the file has {path.stat().st_size} bytes"
            if seed_now in refused:
                path.unlink(missing_ok=True)
                continue
            found, n_equal = findings(generator(seed_now).make(), path)
            result.n_schemas += 1
            result.n_columns += n_equal
            result.findings += found
            if not keep:
                path.unlink()
        result.refused |= refused
        if say:
            for seed_now, why in refused.items():
                say(f"seed {seed_now}: ROOT does not write it: {why:.200}")
            for finding in result.findings:
                if finding.seed in now:
                    say(str(finding))
        if len(result.refused) > result.n_schemas + PER_JOB:
            raise RuntimeError(f"ROOT refuses most schemas: {refused}")
    return result


def write(kind: str, seeds: list[int], directory: Path) -> dict[int, str]:
    """Lets ROOT write the files; returns which ones it did not write without errors, and what it said."""
    try:
        timeout_s = TIMEOUT_S + TIMEOUT_OF_SCHEMA_S * len(seeds)
        found: dict[int, str] = root.run(write_seeds, directory, kind, seeds, timeout_s=timeout_s)
    except root.RootFailed as error:
        why = str(error)
    else:
        return found
    if len(seeds) == 1:
        return {seeds[0]: why}
    # One of them brings ROOT down, or keeps it.
    halves = (seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :])
    return {seed: why for half in halves for seed, why in write(kind, half, directory).items()}
