"""uproot as an engine (docs/lab/runners.md): arrays in steps, and copies.

Usage: uproot_runner.py run|identify

uproot does not read by a list of entries: it reads the steps that have some of them, and takes those.
"""

from __future__ import annotations

import os
import platform
import re
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import awkward as ak
import numpy as np
import uproot

if TYPE_CHECKING or __package__:
    from .checksum import Checksum
    from .part import Wanted
    from .process_line import UnsupportedError, add_counters, begin, burn, serve
else:
    from checksum import Checksum
    from part import Wanted
    from process_line import UnsupportedError, add_counters, begin, burn, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .process_line import Answer, Job

STEP_BYTES = 64_000_000
#: Address space: three quarters of the memory. uproot can allocate without bound.
MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
CODECS = {"zlib": uproot.ZLIB, "lzma": uproot.LZMA, "lz4": uproot.LZ4, "zstd": uproot.ZSTD}


def identify(_: Job) -> Answer:
    """Say what this is."""
    versions = {"uproot": uproot.__version__, "awkward": ak.__version__, "numpy": np.__version__}
    can = ["read", "write", "entries", "entry_range", "work", "threads", "checksum", "strategy:auto"]
    return {"name": "uproot", "versions": versions | {"python": platform.python_version()}, "can": can}


def run(job: Job) -> Answer:
    """Read or copy the columns."""
    if job.get("order", "cluster") != "cluster":
        raise UnsupportedError("uproot reads column by column, not entry by entry")
    if job.get("strategy", "auto") != "auto" or job.get("cache_bytes") is not None or job.get("options"):
        raise UnsupportedError("uproot has no strategies")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    kind = job.get("kind", "read")
    if kind not in ("read", "write"):
        raise UnsupportedError(f"uproot does not do {kind!r}")
    return Reading(job).write() if kind == "write" else Reading(job).read()


class Reading:
    """One pass over the columns of a job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.wanted = Wanted(job)
        self.counters = {"n_reads": 0, "n_bytes": 0}
        self.n_entries = 0
        self.options: dict[str, Any] = {}
        if job.get("threads", 1) > 1:
            executor = uproot.ThreadPoolExecutor(job["threads"])
            self.options = {"decompression_executor": executor, "interpretation_executor": executor}
        if job.get("warm_up"):  # what an import puts off is not counted
            with uproot.open(job["warm_up"]) as file:
                file[file.keys()[0]].arrays()
        self.watch = begin(job)

    def steps(self) -> Iterator[Any]:
        """Yield Awkward arrays of the wanted entries, file by file."""
        first = 0
        for url in self.job["urls"]:
            if self.wanted.is_over(first):
                return
            try:
                file = uproot.open(url, object_cache=None, array_cache=None)
            except ImportError as error:
                raise UnsupportedError(
                    f"this uproot cannot open {url}: {str(error).strip().splitlines()[0]}"
                ) from None
            with file:
                table = file[self.job["table"]]
                self.watch.opened()
                begin_entry, end, picked = self.wanted.of_file(first, table.num_entries)
                yield from self._of_table(table, begin_entry, end, picked)
                first += table.num_entries
                source = getattr(file.file, "source", None)
                self.counters["n_reads"] += int(getattr(source, "num_requests", 0))
                self.counters["n_bytes"] += int(getattr(source, "num_requested_bytes", 0))

    def _of_table(self, table: Any, begin_entry: int, end: int, picked: Any) -> Iterator[Any]:
        names = self.job.get("columns")
        # An RNTuple's members would match the names of its fields.
        chosen = {"filter_name": names} if names else {}
        at = begin_entry
        if begin_entry >= end:
            return
        for array in table.iterate(
            step_size=step_of(table, names), entry_start=begin_entry, entry_stop=end, **chosen, **self.options
        ):
            n_read = len(array)
            if picked is not None:
                low, high = np.searchsorted(picked, (at, at + n_read))
                array = array[picked[low:high] - at]  # noqa: PLW2901 - the same step, less of it
            at += n_read
            self.watch.first_entry()
            self.n_entries += len(array)
            if self.job.get("work_ns_per_entry"):
                burn(len(array) * self.job["work_ns_per_entry"])
            yield array

    def read(self) -> Answer:
        """Read the columns in steps, and let them go."""
        sums: dict[str, Checksum] = {}
        unchecked: set[str] = set()
        values_bytes = 0
        for array in self.steps():
            if self.job.get("wants_checksum"):
                for name in array.fields:
                    add(sums, unchecked, name.rpartition("/")[2], array[name])
            else:
                values_bytes += int(array.nbytes)
        answer = self.watch.answer()
        # From here on nothing is timed.
        add_counters(answer["counters"], {"store": self.counters})
        answer |= {"n_entries": self.n_entries, "values_bytes": values_bytes}
        if self.job.get("wants_checksum"):
            told = {name: one.told() for name, one in sums.items() if name not in unchecked}
            answer |= {"checksum": told, "details": {"unchecked": sorted(unchecked)}}
        return answer

    def write(self) -> Answer:
        """Copy the columns. uproot makes one basket or cluster for each step."""
        settings = dict(self.job.get("settings") or {})
        layout, text = settings.pop("layout", "ttree"), str(settings.pop("compression", "zstd:5"))
        codec, _, level = text.partition(":")
        if settings or codec not in CODECS:
            raise UnsupportedError(f"uproot has no such settings of a file: {self.job['settings']}")
        with uproot.recreate(self.job["out"], compression=CODECS[codec](int(level or 5))) as file:
            table = None
            for array in self.steps():
                columns = {name: array[name] for name in array.fields}
                if table is None:
                    make = file.mkrntuple if layout == "rntuple" else file.mktree
                    table = make(self.job["table"], columns)
                else:
                    table.extend(columns)
        answer = self.watch.answer()
        add_counters(answer["counters"], {"store": self.counters})
        add_counters(answer["counters"], {"written": {"n_bytes": Path(self.job["out"]).stat().st_size}})
        return answer | {"n_entries": self.n_entries}


def step_of(table: Any, names: list[str] | None) -> int | str:
    """Entries of a step. Told a size, uproot would look for that of each basket of a tree: a read for each."""
    if not hasattr(table, "branches"):
        return f"{STEP_BYTES} B"
    whole = sum(branch.uncompressed_bytes for branch in table.itervalues(recursive=True, filter_name=names))
    return max(1, int(table.num_entries * STEP_BYTES / max(1, whole)))


def add(sums: dict[str, Checksum], unchecked: set[str], name: str, column: Any) -> None:
    """Add an Awkward array to the checksum of its column; members of records are columns of their own."""
    if column.fields:
        for member in column.fields:
            add(sums, unchecked, f"{name}.{member.removeprefix(f'{name}.')}", column[member])
        return
    kind = str(column.type)
    if not re.search(r"(?:u?int(?:8|16|32|64)|float(?:32|64)|bool)$", kind) or "?" in kind:
        unchecked.add(name)
        return
    checksum = sums.setdefault(name, Checksum())
    if column.ndim == 1:
        checksum.add(np.asarray(ak.to_numpy(column)))
        return
    lengths = ak.num(column, axis=column.ndim - 1)
    while lengths.ndim > 1:
        lengths = ak.flatten(lengths)
    checksum.add(np.asarray(ak.to_numpy(ak.flatten(column, axis=None))), np.asarray(ak.to_numpy(lengths)))


if __name__ == "__main__":
    serve({"run": run, "identify": identify})
