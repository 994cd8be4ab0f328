"""Compiled programs as engines of the laboratory (docs/lab/runners.md): ``native.py WAY run|identify``.

ROOT's fast ways to read, and the limits: ``campaigns/METHODOLOGY.md`` says what those are. The programs are compiled by
``programs/build.py``, or when one is needed first; they get the job as they know it, with what ``data.py`` has
told of the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from bisect import bisect_left
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot_lab.runners.process_line import serve

#: It stands in another directory than this program, and in no package where there is no clone.
compiled = SimpleNamespace(**run_path(str(Path(__file__).resolve().parents[1] / "programs" / "compiled.py")))

if TYPE_CHECKING:
    from collections.abc import Iterator

Job = dict[str, Any]
Answer = dict[str, Any]

#: Passes of a limit in one process, of which the median counts; of all columns of a large file less.
N_PASSES, N_PASSES_OF_ALL, N_PASSES_OF_PAGES = 7, 3, 5


class Way(NamedTuple):
    """A program, and what it can do besides reading whole columns."""

    program: str
    #: Its own name of the way.
    engine: str = ""
    can: tuple[str, ...] = ()


WAYS = {
    "limit": Way("limit_read", can=("entries", "threads")),
    "root-branchentry": Way("read_ttree", "branchentry", ("entries", "checksum")),
    "root-bulk": Way("read_ttree", "bulk", ("checksum",)),
    "page-limit": Way("page_limit"),
    "rntuple-bulk": Way("read_rntuple", "bulk", ("entries", "checksum")),
}


def path_of(name: str) -> Path:
    """Return where a program is, or will be."""
    return (compiled.EXAMPLES if name == "page_limit" else compiled.PROGRAMS) / name


def program(name: str) -> str:
    """Return the path of a program, compiled if it is missing. Raises: UnsupportedError if it cannot be."""
    told: str = compiled.program(path_of(name))
    return told


def identify(way: Way) -> Answer:
    """Say what this is."""
    compiled.check(path_of(way.program))
    return {"name": WAY, "versions": versions("root"), "can": ["read", "strategy:auto", *way.can]}


def versions(engine: str) -> dict[str, str]:
    """Return the versions of what a program reads with."""
    from importlib.metadata import version

    from arrowroot_lab.runners import arrowroot_runner, root_runner

    if engine == "arrowroot":
        return {"arrowroot": version("arrowroot"), **arrowroot_runner.checkout()}
    return {"ROOT": root_runner.version_of_wheel()} if engine == "root" else {engine: version(engine)}


def run(way: Way, job: Job) -> Answer:
    """Let the program read."""
    if job.get("kind", "read") != "read" or len(job["urls"]) != 1:
        return {"unsupported": "columns of one file are read"}
    path = Path(job["urls"][0])
    about = json.loads((path.parent / "about" / "columns.json").read_text())
    names = job.get("columns") or list(about["columns"])
    columns = [{"name": name, **about["columns"][name]} for name in names]
    if way == WAYS["root-bulk"] and (job.get("entries") or any(one["kind"] != "scalar" for one in columns)):
        return {"unsupported": "bulk reads are of all entries of numbers"}
    if way.program == "page_limit":
        answer = told(way, [str(path), job["table"], str(N_PASSES_OF_PAGES), *names])
        return with_entries(answer, about, None)
    asked: Job = {
        "file": str(path), "tree": job["table"], "threads": job.get("threads", 1), "columns": columns,
        "entries": job.get("entries"), "warm_up": job.get("warm_up") or "", "engine": way.engine,
    }  # fmt: skip
    if way.program != "limit_read":
        answer = told(way, [], json.dumps(asked))
        if not job.get("wants_checksum"):
            answer.pop("checksum", None)
        return answer
    counters = [one["counter"] for one in columns if "counter" in one]
    passes = N_PASSES_OF_ALL if len(names) == len(about["columns"]) else N_PASSES
    return limit(job, about, list(dict.fromkeys([*names, *counters])), passes)


def limit(job: Job, about: dict[str, Any], branches: list[str], passes: int) -> Answer:
    """The decompression of the baskets of branches, or of those of them that hold one of the job's entries."""
    wanted = _numbers(job["entries"]) if job.get("entries") else None
    with tempfile.NamedTemporaryFile("w", prefix="baskets-") as listed:
        for name in branches:
            for sizes in baskets_of(about["baskets"][name], wanted):
                listed.write("{} {} {}\n".format(*sizes))
        listed.flush()
        asked = {
            "file": job["urls"][0],
            "threads": job.get("threads", 1),
            "baskets": listed.name,
            "repetitions": passes,
        }
        answer = told(WAYS["limit"], [], json.dumps(asked))
    return with_entries(answer, about, job.get("entries"))


def with_entries(answer: Answer, about: dict[str, Any], entries: str | None) -> Answer:
    """The answer of a limit, which counts no entries itself."""
    n_entries = len(_numbers(entries)) if entries else about["n_entries"]
    return answer | {"n_entries": n_entries} if "wall_ns" in answer else answer


def told(way: Way, arguments: list[str], text: str = "") -> Answer:
    """The answer of the program, as the laboratory has it."""
    command = [program(way.program), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        return {"error": f"{way.program}: exit status {done.returncode}: {said[-1]}"}
    answer: Answer = json.loads(lines[-1])
    counters = {"store": {"n_reads": answer.pop("requests", 0), "n_bytes": answer.pop("bytes_read", 0)}}
    return answer | ({"counters": counters} if "wall_ns" in answer else {})


def _numbers(path: str) -> list[int]:
    return [int(word) for word in Path(path).read_text(encoding="ascii").split()]


def baskets_of(branch: dict[str, Any], wanted: list[int] | None) -> Iterator[list[int]]:
    """Yield the baskets of a branch, or those of them that hold one of the sorted entries."""
    edges = branch["edges"]
    for k, sizes in enumerate(branch["sizes"]):
        if wanted is None or bisect_left(wanted, edges[k]) < bisect_left(wanted, edges[k + 1]):
            yield sizes


if __name__ == "__main__":
    WAY = sys.argv[1]
    way = WAYS[WAY]
    serve({"identify": lambda _: identify(way), "run": lambda job: run(way, job)})
