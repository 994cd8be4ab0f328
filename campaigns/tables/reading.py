"""Reading beside the limit and the peers, opening, and whole processes: README and docs/measured.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pages import DOCS, README, Block
from .rows import best, find, mark, mark_readings, markdown, measured, median, ratio, rows, text

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

    from .rows import Row

ENGINE, LIMIT = "arrowroot-table", "limit"
#: What is read -> the columns, and the most that CPU time over the limit may be.
CASES = {
    "flat s10": ("10 flat", 1.15),
    "flat j10": ("10 jagged", 1.25),
    "flat c2": ("1 flat, 1 jagged", 1.25),
    "flat mix_el1": ("10 flat, 10 jagged, 1% of the entries", 1.15),
    "flat all": ("60 flat, 40 jagged", 1.25),
    "nano s10": ("10 flat", 1.15),
    "nano j10": ("10 jagged", 1.25),
    "nano c2": ("19 flat and jagged", 1.25),
    "nano mix_el1": ("10 flat, 10 jagged, 1% of the entries", 1.15),
    "nano all": ("all 947", 1.3),
}
#: Codecs that stand together. Where decompression is quick memory is the limit, and the target at least another one.
CODECS = (("zstd",), ("zlib", "lz4", "none"), ("lzma",))
QUICK, OF_QUICK = ("lz4", "none"), 1.5
TWO_THREADS = 1.8
#: The rows of the README, each with what it is for those who have not read METHODOLOGY.md.
NEWCOMERS = (
    ("zstd", "flat s10", "10 columns of numbers"),
    ("zstd", "flat j10", "10 columns of lists"),
    ("zstd", "flat mix_el1", "20 columns, 1 % of the entries"),
    ("zstd", "nano all", "all 947 columns of a NanoAOD-like file"),
    ("lz4", "nano all", "the same, compressed with LZ4"),
)
#: To open a file and list its branches, in a warm process: up to so many branches, so many ms.
OPENING_MS = ((947, 3.0), (1802, 6.0))
#: Of whole processes: what is measured, its target, and the unit.
IMPORT_MS, LS_MS, BUDGET_MB, BESIDE_BUDGET_MB, ACCOUNTING_PERCENT = 60, 150, 256, 100, 1.0


def blocks(store: Store) -> list[Block]:
    """Return the tables of README and of the page on all that was measured."""
    found, processes = rows(store, "reading"), rows(store, "processes")
    if not found:
        return []
    where = f"{measured(found)}. Medians of {_repeats(found)}, warm page cache."
    opened = [row for row in processes if row.workload == "open and list"]
    tables = [reading_table(found)]
    tables += [opening_table(opened)] if opened else []
    tables += [process_table(processes)] if find(processes, workload="import") else []
    about = f"{where} `campaigns/METHODOLOGY.md` says what is measured and where it is biased."
    return [
        Block(README, "bench", f"{newcomers_table(found, opened)}\n\n*{where}*"),
        Block(DOCS / "measured.md", "bench", "\n\n".join([about, *tables])),
    ]


def _repeats(found: list[Row]) -> int:
    return max(len(row.samples) for row in found)


def reading_table(found: list[Row]) -> str:
    """CPU time over the limit, beside the target and the best peer; the gain of a second thread."""
    cells = [
        _reading(of_case, codec, case)
        for codecs in CODECS for case in CASES for codec in codecs
        if (of_case := of(found, codec, case))
    ]  # fmt: skip
    header = ["codec", "case", "columns", "limit, CPU ms", "CPU / limit", "later reading", "target", "met", "best peer",
              "speed-up on 2 threads: first, later", "the limit's"]  # fmt: skip
    explanation = (
        f"The target for 2 threads is a speed-up of {TWO_THREADS}. *CPU / limit* is the first reading of a "
        "process, which gets its memory from the system; a *later reading* has that of the one before, as the "
        "limit does."
    )
    return f"{markdown(header, cells)}\n\n{explanation}"


def of(found: list[Row], codec: str, case: str) -> list[Row]:
    """Return the rows of a case with a codec, of all numbers of threads."""
    dataset = f"{case.partition(' ')[0]} {codec}"
    return [row for row in found if row.dataset == dataset and row.workload.partition(", ")[0] == case]


def _reading(of_case: list[Row], codec: str, case: str) -> list[str]:
    one, two = (find(of_case, engine=ENGINE, threads=n) for n in (1, 2))
    limit_one, limit_two = (find(of_case, engine=LIMIT, threads=n) for n in (1, 2))
    columns, target = CASES[case]
    target = max(target, OF_QUICK) if codec in QUICK else target
    limit = median(limit_one, "cpu_ns")
    over, later = (ratio(median(one, key), limit) for key in ("cpu_ns", "later.cpu_ns"))
    peer = best(of_case, "cpu_ns", but=(ENGINE, LIMIT))
    speed_up, later_speed_up = (
        ratio(median(one, key), median(two, key)) for key in ("wall_ns", "later.wall_ns")
    )
    failure = one.error if one else "not run"
    return [
        codec, case.replace(" ", ":"), columns, text(ratio(limit, 1e6), 1), failure or text(over), text(later),
        text(target), mark_readings(over, later, target),
        f"{text(ratio(peer[0], limit), 1)} {peer[1]}" if peer else "", f"{text(speed_up)}, {text(later_speed_up)}",
        text(ratio(median(limit_one, "wall_ns"), median(limit_two, "wall_ns"))),
    ]  # fmt: skip


def newcomers_table(found: list[Row], opened: list[Row]) -> str:
    """Times for newcomers: on one core, of the first reading of a process, beside the best way of each peer."""
    cells = []
    for codec, case, what in NEWCOMERS:
        if of_case := [row for row in of(found, codec, case) if row.threads == 1]:
            cells.append([what, *_beside(of_case, ENGINE, "cpu_ns")])
    if opened:
        largest = max(opened, key=lambda row: median(row, "listed.n_columns") or 0).dataset
        of_largest = [row for row in opened if row.dataset == largest]
        n_branches = max(median(row, "listed.n_columns") or 0 for row in of_largest)
        cells.append(
            [
                f"open a file and list its {n_branches:,.0f} branches",
                *_beside(of_largest, "arrowroot", "wall_ns"),
            ]
        )
    return markdown(["milliseconds on one core", "arrowroot", "ROOT", "uproot", "limit"], cells)


def _beside(of_case: list[Row], engine: str, key: str) -> list[str]:
    """Times of arrowroot, of the best way of each peer, and of the limit."""
    ways = [
        [time for row in of_case if row.engine.split("-")[0] == peer and (time := median(row, key))]
        for peer in ("root", "uproot")
    ]
    times = [median(find(of_case, engine=engine), key), *(min(way, default=None) for way in ways),
             median(find(of_case, engine=LIMIT), key)]  # fmt: skip
    return [text(ratio(time, 1e6), 0 if time and time >= 1e7 else 1) for time in times]


def opening_table(opened: list[Row]) -> str:
    """Wall time of the second opening of a process: a file in a running process."""
    cells = []
    for name in sorted({row.dataset for row in opened}, reverse=True):
        ours, *peers = (
            find(opened, dataset=name, engine=engine) for engine in ("arrowroot", "root", "uproot")
        )
        value, n_branches = median(ours, "wall_ns"), median(ours, "listed.n_columns")
        title = name.replace(" ", ":ttree ")
        if value is None or n_branches is None:
            cells.append([title, "", (ours.error if ours else None) or "not run", "", "", "", ""])
            continue
        target = next((ms for most, ms in OPENING_MS if n_branches <= most), None)
        cells.append([
            title, f"{n_branches:.0f}", text(value / 1e6), text(target, 0),
            mark(value / 1e6, target) if target else "",
            *(text(ratio(median(peer, "wall_ns"), 1e6), 1) for peer in peers),
        ])  # fmt: skip
    return markdown(["open and list", "branches", "ms", "target", "met", "ROOT, ms", "uproot, ms"], cells)


def process_table(processes: list[Row]) -> str:
    """Whole processes beside their targets."""

    def figure(workload: str, key: str, unit: float = 1e6) -> float | None:
        return ratio(median(find(processes, workload=workload, engine="arrowroot"), key), unit)

    allowed = BUDGET_MB + BESIDE_BUDGET_MB
    import_ms, ls_ms = figure("import", "wall_ns"), figure("ls", "wall_ns")
    grown, values = figure("memory", "memory.growth_bytes"), figure("memory", "memory.values_bytes")
    share = ratio(figure("accounting", "accounting.cost_ns"), figure("accounting", "accounting.cpu_ns"))
    percent = None if share is None else 100 * share
    cells = [
        ["import arrowroot", f"{text(import_ms, 0)} ms", f"{IMPORT_MS} ms", mark(import_ms, IMPORT_MS)],
        ["arrowroot ls, whole process", f"{text(ls_ms, 0)} ms", f"{LS_MS} ms", mark(ls_ms, LS_MS)],
        [f"peak memory, scan of {text(values, 0)} MB, budget {BUDGET_MB} MB", f"{text(grown, 0)} MB", f"{allowed} MB",
         mark(grown, allowed)],
        ["accounting, share of a warm local scan's CPU time", f"{text(percent)} %", f"{ACCOUNTING_PERCENT:.0f} %",
         mark(percent, ACCOUNTING_PERCENT)],
    ]  # fmt: skip
    return markdown(["process", "median", "target", "met"], cells)
