"""RNTuple and TTree beside Parquet, by three of its readers: docs/parquet.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pages import DOCS, Block
from .rows import find, mark, markdown, measured, median, ratio, rows, text

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

    from .rows import Row

CAMPAIGN = "parquet"
DATASETS = ("nano zstd", "nano lz4", "few zstd", "few lz4")
OURS, READERS = ("RNTuple", "TTree"), ("pyarrow", "Polars", "DuckDB")
#: Workload, as the lines call it. Statistics of row groups answer the filter of a sorted column.
SORTED = "filter, sorted"
WORKLOADS = (
    "10 numbers", "10 lists", "one of each", "all", "1 % of the entries", SORTED, "filter, not sorted",
)  # fmt: skip
#: Who has to be ahead of all readers where statistics do not answer, with the data set that is like NanoAOD.
GOALS = {"RNTuple": WORKLOADS, "TTree": tuple(name for name in WORKLOADS if name != "10 numbers")}
#: What the laboratory adds to the name of a workload with 0 threads, which are all.
_ALL = ", 0 threads"
_TIMES = {"cpu": "CPU time", "wall": "wall time"}
PEERS = ("pyarrow", "polars", "duckdb")
HEADER = ["data", "read", *OURS, *READERS, "best Parquet / RNTuple", "later", "/ TTree", "later", "goals met"]


def blocks(store: Store) -> list[Block]:
    """Return the tables of sizes, and of times on one thread and on all."""
    found = rows(store, CAMPAIGN)
    if not found:
        return []
    page, n = DOCS / "parquet.md", max(len(row.samples) for row in found)
    times = [("one", "", "wall"), ("all", _ALL, "wall")]
    if any(row.result.is_shared for row in found):
        # Time that others took is in wall time, which says nothing of many threads then, and not in CPU time.
        times = [("one", "", "cpu")]
    about = f"Measured on {measured(found, PEERS)}. Medians of {n}, warm page cache, ms of"
    return [
        Block(page, "parquet-sizes", sizes(found)),
        *(
            Block(
                page,
                f"parquet-{name}",
                f"{about} {_TIMES[time]}.\n\n{table(found, suffix, f'{time}_ns')}",
            )
            for name, suffix, time in times
        ),
    ]


def sizes(found: list[Row]) -> str:
    """Megabytes of the files."""
    cells = [
        [dataset, *(text(ratio(size, 1e6), 1) for size in of_formats), text(ratio(of_formats[0], of_formats[2]))]
        for dataset in DATASETS
        if any(of_formats := [_file_bytes(found, dataset, engine) for engine in (*OURS, READERS[0])])
    ]  # fmt: skip
    return markdown(["MB", *OURS, "Parquet", "RNTuple / Parquet"], cells)


def _file_bytes(found: list[Row], dataset: str, engine: str) -> float | None:
    return next(
        (
            size
            for row in found
            if (row.dataset, row.engine) == (dataset, engine) and (size := median(row, "file_bytes"))
        ),
        None,
    )


def table(found: list[Row], suffix: str, time: str) -> str:
    """Times of first readings, and how many times as long the best reader of Parquet takes."""
    cells = [
        _line(
            [row for row in found if (row.dataset, row.workload) == (dataset, workload + suffix)],
            dataset,
            workload,
            time,
        )
        for dataset in DATASETS
        for workload in WORKLOADS
    ]
    lines = [line for line in cells if line]
    return "\n\n".join([markdown(HEADER, lines), *(_behind(lines, name) for name in OURS)])


def _behind(lines: list[list[str]], name: str) -> str:
    """A sentence with the lines in which a reader of Parquet is ahead, and how many times as long ours takes."""
    at = len(HEADER) - 5 + 2 * OURS.index(name)
    found = [
        f"{line[0]}, {line[1]} ({1 / float(line[at]):.1f} times)"
        for line in lines
        if 0 < float(line[at] or 9) < 1
    ]
    return f"Parquet is ahead of the {name} in {len(found)} of {len(lines)}: {'; '.join(found) or 'none'}."


def _line(of_case: list[Row], dataset: str, workload: str, time: str) -> list[str]:
    if not of_case:
        return []
    told = {name: find(of_case, engine=name) for name in (*OURS, *READERS)}
    times, later = ({name: median(row, key) for name, row in told.items()} for key in (time, f"later.{time}"))
    ratios = {
        name: [ratio(_best(of_readings), of_readings[name]) for of_readings in (times, later)]
        for name in OURS
    }
    goals = [name for name in OURS if workload in GOALS[name] and workload != SORTED]
    is_met = [mark(ratios[name][0], 1.0, at_least=True) for name in goals] if dataset[:4] == "nano" else []
    return [
        dataset, workload,
        *(row.error if row and row.error else text(ratio(times[name], 1e6), 1) for name, row in told.items()),
        *(text(one) for name in OURS for one in ratios[name]),
        ", ".join(is_met),
    ]  # fmt: skip


def _best(times: dict[str, float | None]) -> float | None:
    return min((of_reader for name in READERS if (of_reader := times[name]) is not None), default=None)
