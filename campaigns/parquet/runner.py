"""Readers of three formats as engines of the laboratory (docs/lab/runners.md): ``runner.py WAY run|identify``.

The command of a job is one word of ``asked.py``. A reading is timed from before its file is opened until all values are
in memory, in the form that the library has for them, in a process that has read a tiny file before; and then again,
some times, as a process does that has its memory.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

# A second thread of NumPy's linear algebra would spin for some 100 ms after the import, in the time that is measured.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
from asked import Asked, Bounds, asked
from data import TABLE

from arrowroot_lab.runners.checksum import Checksums
from arrowroot_lab.runners.part import Wanted
from arrowroot_lab.runners.process_line import Stopwatch, UnsupportedError, add_counters, begin, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    Read = Callable[[str, Asked, Any], Any]

Job = dict[str, Any]
Answer = dict[str, Any]

#: Readings after the first one, and for so long at least.
N_LATER, LATER_NS = 3, 200_000_000


def with_arrowroot(n_threads: int) -> Read:
    """``to_arrow`` of a tree or an RNTuple."""
    import arrowroot

    def read(path: str, what: Asked, picked: Any) -> pa.Table:
        more = {} if what.bounds is None else {"filter": _condition(what.bounds, " && ")}
        with arrowroot.open(path) as file:
            return file[TABLE].to_arrow(what.columns or None, entries=picked, n_threads=n_threads, **more)

    return read


def with_pyarrow(n_threads: int) -> Read:
    """``read_table``, which reads a row group as a whole: entries are taken of what was read."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    pa.set_cpu_count(n_threads)
    pa.set_io_thread_count(n_threads)

    def read(path: str, what: Asked, picked: Any) -> pa.Table:
        filters = None
        if (bounds := what.bounds) is not None:
            filters = pc.field(bounds.column) >= bounds.low
            filters = filters if bounds.high is None else filters & (pc.field(bounds.column) < bounds.high)
        columns = list(what.columns) or None
        table = pq.read_table(path, columns=columns, filters=filters, use_threads=n_threads > 1)
        return table if picked is None else table.take(picked)

    return read


def with_polars(n_threads: int) -> Read:
    """A lazy query, collected."""
    os.environ["POLARS_MAX_THREADS"] = str(n_threads)  # it is read by the import
    import polars as pl

    def read(path: str, what: Asked, picked: Any) -> pl.DataFrame:
        query = pl.scan_parquet(path)
        if (bounds := what.bounds) is not None:
            query = query.filter(pl.col(bounds.column) >= bounds.low)
            query = query if bounds.high is None else query.filter(pl.col(bounds.column) < bounds.high)
        chosen = pl.col(what.columns) if what.columns else pl.all()
        return query.select(chosen if picked is None else chosen.gather(picked)).collect()

    return read


def with_duckdb(n_threads: int) -> Read:
    """SQL, whose answer is an Arrow table. The database, without tables, is there before; it keeps nothing of files."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect(config={"threads": n_threads, "enable_external_file_cache": False})

    def read(path: str, what: Asked, picked: Any) -> pa.Table:
        chosen = ", ".join(f'"{name}"' for name in what.columns) or "* EXCLUDE (file_row_number)"
        query = f"SELECT {chosen} FROM read_parquet('{path}', file_row_number = true)"  # noqa: S608 - names of ours
        if what.bounds is not None:
            query += f" WHERE {_condition(what.bounds, ' AND ')}"
        if picked is not None:
            connection.register("picked", pa.table({"file_row_number": picked}))
            # A join of several threads returns the entries in the order of their ends.
            query += " SEMI JOIN picked USING (file_row_number) ORDER BY file_row_number"
        return connection.sql(query).to_arrow_table()

    return read


def _condition(bounds: Bounds, both: str) -> str:
    told = [f"{bounds.column} >= {bounds.low}"]
    return both.join([*told, *([] if bounds.high is None else [f"{bounds.column} < {bounds.high}"])])


class Way(NamedTuple):
    """A reader of one of the files."""

    format: str
    reader: Callable[[int], Read]
    packages: Sequence[str]


WAYS = {
    "rntuple": Way("rntuple", with_arrowroot, ("arrowroot",)),
    "ttree": Way("ttree", with_arrowroot, ("arrowroot",)),
    "pyarrow": Way("parquet", with_pyarrow, ()),
    "polars": Way("parquet", with_polars, ("polars",)),
    "duckdb": Way("parquet", with_duckdb, ("duckdb",)),
}


def identify(_: Job) -> Answer:
    """Say what this is."""
    from importlib.metadata import version

    versions = {name: version(name) for name in (*way.packages, "pyarrow")}
    if "arrowroot" in versions:
        from arrowroot_lab.runners.arrowroot_runner import checkout

        versions |= checkout()
    return {"name": sys.argv[1], "versions": versions,
            "can": ["program", "entries", "checksum", "threads", "strategy:auto"]}  # fmt: skip


def run(job: Job) -> Answer:
    """Read what the job's command asks for, and again."""
    (url,), (what,) = job["urls"], job["command"]
    path = Path(url)
    beside = path.parent / "beside"
    about = json.loads((beside / "about.json").read_text())
    files = {"rntuple": "tiny.root", "ttree": "tiny/ttree.root", "parquet": "tiny/table.parquet"}
    tiny = str(beside / files[way.format])
    file = {"rntuple": path, "ttree": beside / "ttree.root", "parquet": beside / "table.parquet"}[way.format]
    try:
        wanted = asked(path.stem, what, about["n_entries"])
    except KeyError:
        raise UnsupportedError(f"{what}: no such workload of {path.stem}") from None
    read = way.reader(int(job.get("threads") or 1))
    picked = Wanted(job).of_file(0, sys.maxsize)[2]
    # An import may put off work, which is not counted; a condition is compiled, too.
    read(tiny, wanted, None if picked is None else picked[:0])
    watch = begin(job)
    found = read(str(file), wanted, picked)
    answer = watch.answer() | {"n_entries": len(found), "details": {"file_bytes": about["bytes"][way.format]}}
    if job.get("wants_checksum"):
        sums = Checksums()
        for batch in (found.to_arrow() if hasattr(found, "to_arrow") else found).to_batches():
            sums.add(batch)
        return answer | {"checksum": sums.told()}
    del found
    later: list[Answer] = []
    begin_ns = time.perf_counter_ns()
    while len(later) < N_LATER or time.perf_counter_ns() - begin_ns < LATER_NS:
        again = Stopwatch()
        found = read(str(file), wanted, picked)
        later.append(again.answer())
        del found
    medians = {key: round(statistics.median(one[key] for one in later)) for key in ("wall_ns", "cpu_ns")}
    add_counters(answer["counters"], {"later": medians})
    return answer


if __name__ == "__main__":
    way = WAYS[sys.argv[1]]
    serve({"identify": identify, "run": run})
