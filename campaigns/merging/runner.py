"""Mergers as engines of the laboratory (docs/lab/runners.md): ``runner.py WAY run|identify``.

arrowroot, uproot and the limit work in this process, and are timed without its start; hadd is a command, which is how
people run it: how long it takes for one tiny file is told beside. All of them read files that are in memory, and write
where temporary files are.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

# A second thread of NumPy's linear algebra would spin for some 100 ms after the import, in the time that is measured.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
import pyarrow as pa
from data import OF_RUN, TABLE

import arrowroot
from arrowroot_lab.runners.checksum import Checksums
from arrowroot_lab.runners.process_line import UnsupportedError, begin, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Merge = Callable[[Path, Sequence[str]], None]

Job = dict[str, Any]
Answer = dict[str, Any]
#: Bytes that the limit copies at a time.
PART_BYTES = 1 << 20
#: Of zlib, as the histograms have it.
LEVEL = 1


def with_arrowroot(out: Path, inputs: Sequence[str]) -> None:
    """``merge``, which copies packed baskets and pages, and adds histograms."""
    arrowroot.merge(str(out), list(inputs))


def limit(out: Path, inputs: Sequence[str]) -> None:
    """Open all inputs, parse their tables, and copy the bytes."""
    with out.open("wb", buffering=0) as copy:
        for path in inputs:
            with arrowroot.open(path) as file:
                _ = file[TABLE]
            with Path(path).open("rb", buffering=0) as source:
                shutil.copyfileobj(source, copy, PART_BYTES)


def adding(inputs: Sequence[str]) -> Merge:
    """The limit of histograms: decompress records in memory, and add as many numbers as they have bytes."""
    packed: dict[str, list[bytes]] = {}
    for path in inputs:
        with arrowroot.open(path) as file:
            packed[path] = [zlib.compress(file.raw(name), LEVEL) for name in _histograms(file)]

    def add(out: Path, inputs: Sequence[str]) -> None:
        sums: list[Any] = []
        for path in inputs:
            records = map(zlib.decompress, packed[path])
            numbers = [np.frombuffer(one, ">f8", len(one) // 8) for one in records]
            sums = [a + b for a, b in zip(sums, numbers, strict=True)] if sums else numbers
        out.write_bytes(b"".join(one.tobytes() for one in sums))

    return add


def with_uproot(out: Path, inputs: Sequence[str]) -> None:
    """Histograms read, added, and written."""
    import uproot

    if _has_tables(inputs):
        raise UnsupportedError("uproot copies no baskets and no pages")
    sums: dict[str, Any] = {}
    for path in inputs:
        with uproot.open(path) as file:
            for name in file.keys(recursive=True, cycle=False, filter_classname="TH1*"):
                found = file[name].to_hist()
                sums[name] = found if name not in sums else sums[name] + found
    with uproot.recreate(out) as file:
        for name, one in sums.items():
            file[name] = one


def hadd(*options: str) -> Merge:
    """The command, which keeps the codec of the first input (``-ff``) and so copies what has it."""

    def merge(out: Path, inputs: Sequence[str]) -> None:
        command = [_hadd(), "-v", "0", "-ff", *options, str(out), *inputs]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"hadd: {(done.stderr or done.stdout).strip()[-300:]}")

    return merge


def _hadd() -> str:
    """The path of the command. Raises: UnsupportedError if there is none."""
    found = shutil.which("hadd")
    if found is None:
        from importlib.util import find_spec

        spec = find_spec("ROOT")
        of_package = (
            Path(next(iter(spec.submodule_search_locations or []), "")) / "bin" / "hadd" if spec else None
        )
        if of_package is None or not of_package.exists():
            raise UnsupportedError("there is no hadd")
        found = str(of_package)
    return found


#: What merges, and the package whose version is told.
WAYS: dict[str, tuple[Merge, str]] = {
    "arrowroot": (with_arrowroot, "arrowroot"),
    "limit": (limit, "arrowroot"),
    "hadd": (hadd(), "ROOT"),
    "hadd-2": (hadd("-j", "2"), "ROOT"),
    "uproot": (with_uproot, "uproot"),
}


def _has_tables(inputs: Sequence[str]) -> bool:
    with arrowroot.open(inputs[0]) as file:
        return TABLE in file


def _histograms(file: arrowroot.File) -> list[str]:
    return [f"{directory}/{name}" for directory in file if directory != OF_RUN for name in file[directory]]


def checksums(path: Path) -> Answer:
    """Return the checksums of a merged table's columns, or one of the contents of all histograms by their names."""
    sums = Checksums()
    with arrowroot.open(path) as file:
        if TABLE in file:
            for batch in file[TABLE].scan():
                sums.add(batch)
        else:
            contents = [file[name].values(flow=True) for name in sorted(_histograms(file))]
            sums.add(pa.record_batch({"contents": np.concatenate(contents)}))
    return sums.told()


def identify(_: Job) -> Answer:
    """Say what this is."""
    from importlib.metadata import PackageNotFoundError, version

    name = way[1]
    if name == "ROOT":
        command = [str(Path(_hadd()).with_name("root-config")), "--version"]
        versions = {name: subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()}
    else:
        try:
            versions = {name: version(name)}
        except PackageNotFoundError:
            raise UnsupportedError(f"{name} is not installed") from None
    if name == "arrowroot":
        from arrowroot_lab.runners.arrowroot_runner import checkout

        versions |= checkout()
    can = ["program"] if way[0] is limit else ["program", "checksum"]
    return {"name": sys.argv[1], "versions": versions, "can": can}


def run(job: Job) -> Answer:
    """Merge the inputs."""
    inputs = sorted(job["urls"])
    merge = way[0]
    tiny = str(Path(inputs[0]).parent / "tiny" / "in.root")
    if merge is limit and not _has_tables(inputs):
        merge = adding([tiny, *inputs])
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.root"
        before, started = _of_children(), time.perf_counter_ns()
        merge(Path(scratch) / "tiny.root", [tiny])
        start = {"start_wall_ns": time.perf_counter_ns() - started, "start_cpu_ns": _of_children() - before}
        watch, before = begin(job), _of_children()
        merge(out, inputs)
        answer = watch.answer()
        answer["cpu_ns"] += _of_children() - before
        answer["details"] = {"file_bytes": out.stat().st_size, **start}
        if job.get("wants_checksum") and way[0] is not limit:
            answer["checksum"] = checksums(out)
    return answer


def _of_children() -> int:
    """CPU time of the commands that have ended, in ns."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)


if __name__ == "__main__":
    way = WAYS[sys.argv[1]]
    serve({"identify": identify, "run": run})
