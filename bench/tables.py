"""From samples to tables of ratios, in Markdown."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from . import catalogue

if TYPE_CHECKING:
    from .process_measures import ProcessMeasures

Row = dict[str, Any]
ENGINE, LIMIT = "arrowroot", "limit"


def median(row: Row | None, key: str) -> float | None:
    """The median of a row's samples; None for a row that failed or read something else."""
    if row is None or row["error"] or row["wrong"]:
        return None
    values = [s[key] for s in row["samples"] if s.get(key) is not None]
    return statistics.median(values) if values else None


def find(case: Row, engine: str, threads: int) -> Row | None:
    """The row of an engine."""
    return next((r for r in case["rows"] if r["engine"] == engine and r["threads"] == threads), None)


def best_peer(case: Row, key: str, threads: int) -> tuple[float, str] | None:
    """The least median among the peers with at most as many threads, and whose it is."""
    found = [
        (value, row["engine"])
        for row in case["rows"]
        if row["role"] == "peer" and row["threads"] <= threads and (value := median(row, key))
    ]
    return min(found, default=None)


def mark_readings(first: float | None, later: float | None, target: float) -> str:
    """Which readings of a process meet a target, to show."""
    if first is None or first > target:
        return "later" if later is not None and later <= target else mark(first, target)
    return "yes"


def mark(value: float | None, target: float, *, at_least: bool = False) -> str:
    """Whether a target is met, to show."""
    if value is None:
        return ""
    return "yes" if (value >= target if at_least else value <= target) else "**no**"


def ratio(a: float | None, b: float | None) -> float | None:
    """A over b, where both are known."""
    return a / b if a is not None and b else None


def text(value: float | None, digits: int = 2) -> str:
    """A number to show."""
    return "" if value is None else f"{value:.{digits}f}"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table, numbers to the right."""
    right = ["---:" if k else "---" for k in range(len(header))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, right, *rows])


def cpu_target(codec: str, case: str) -> float:
    """The most that CPU time over the limit may be."""
    definition = catalogue.load("read")
    target = float(case_of(case)["target"])
    return target if codec in definition["slow_codecs"] else max(target, definition["fast_codec_target"])


def case_of(name: str) -> dict[str, Any]:
    """The definition of a case of ``read``."""
    found: dict[str, Any] = next(case for case in catalogue.load("read")["case"] if case["name"] == name)
    return found


def open_target_ms(n_branches: int) -> float | None:
    """The most that opening may take; None beyond what has a target."""
    targets = catalogue.load("read")["open"]["targets"]
    return next((target["ms"] for target in targets if n_branches <= target["n_branches"]), None)


def read_table(cases: list[Row]) -> str:
    """CPU time over the limit, beside the target and the best peer; the gain of a second thread."""
    rows = []
    for case in cases:
        codec, name = case["codec"], case["case"]
        limit = median(find(case, LIMIT, 1), "cpu_ns")
        one, two = find(case, ENGINE, 1), find(case, ENGINE, 2)
        target = cpu_target(codec, name)
        over = ratio(median(one, "cpu_ns"), limit)
        later = ratio(median(one, "later_cpu_ns"), limit)
        peer = best_peer(case, "cpu_ns", 1)
        speed_up = ratio(median(one, "wall_ns"), median(two, "wall_ns"))
        later_speed_up = ratio(median(one, "later_wall_ns"), median(two, "later_wall_ns"))
        limit_one, limit_two = find(case, LIMIT, 1), find(case, LIMIT, 2)
        limit_speed_up = ratio(median(limit_one, "wall_ns"), median(limit_two, "wall_ns"))
        failure = one["error"] or one["wrong"] if one else "not run"
        rows.append([
            codec, name, case_of(name)["columns"], text(limit and limit / 1e6, 1),
            f"{failure}" if failure else text(over), text(later), text(target), mark_readings(over, later, target),
            f"{text(ratio(peer[0], limit), 1)} {peer[1]}" if peer else "",
            f"{text(speed_up)}, {text(later_speed_up)}", text(limit_speed_up),
        ])  # fmt: skip
    header = ["codec", "case", "columns", "limit, CPU ms", "CPU / limit", "later reading", "target", "met", "best peer",
              "speed-up on 2 threads: first, later", "the limit's"]  # fmt: skip
    target = catalogue.load("read")["two_threads_target"]
    explanation = (
        f"The target for 2 threads is a speed-up of {target}. *CPU / limit* is the first reading of a "
        "process, which gets its memory from the system; a *later reading* has that of the one before, as the "
        "limit does."
    )
    return f"{markdown(header, rows)}\n\n{explanation}"


def summary_table(results: dict[str, Any]) -> str:
    """What a newcomer asks: times on one core, of the first reading of a process, beside the best way of each peer."""

    def row(what: str, case: Row, key: str) -> list[str]:
        ways: dict[str, list[float | None]] = {"root": [], "uproot": []}
        for peer in (row for row in case["rows"] if row["role"] == "peer" and row["threads"] == 1):
            ways[peer["engine"].split("-")[0]].append(median(peer, key))
        best = [min((time for time in times if time), default=None) for times in ways.values()]
        times = [median(find(case, ENGINE, 1), key), *best, median(find(case, LIMIT, 1), key)]
        return [what, *(text(time and time / 1e6, 0 if time and time >= 1e7 else 1) for time in times)]

    read = {(case["codec"], case["case"]): case for case in results.get("read", [])}
    chosen = [one for one in catalogue.load("read")["readme"] if (one["codec"], one["case"]) in read]
    rows = [row(one["what"], read[one["codec"], one["case"]], "cpu_ns") for one in chosen]
    opened = [(median(find(case, ENGINE, 1), "n_columns") or 0, case) for case in results.get("open", [])]
    if opened:
        n_branches, case = max(opened, key=lambda one: one[0])
        rows.append(row(f"open a file and list its {n_branches:,.0f} branches", case, "second_wall_ns"))
    return markdown(["milliseconds on one core", "arrowroot", "ROOT", "uproot", "limit"], rows)


def open_table(cases: list[Row]) -> str:
    """Wall time of the second pass: a file in a running process."""
    rows = []
    for case in cases:
        ours = find(case, ENGINE, 1)
        value = median(ours, "second_wall_ns")
        n_branches = median(ours, "n_columns")
        if value is None or n_branches is None:
            why = (ours or {}).get("error") or (ours or {}).get("wrong") or "not run"
            rows.append([case["title"], "", why, "", "", "", ""])
            continue
        target = open_target_ms(int(n_branches))
        peers = [median(find(case, name, 1), "second_wall_ns") for name in ("root", "uproot")]
        rows.append([
            case["title"], f"{n_branches:.0f}", text(value / 1e6), text(target, 0),
            mark(value / 1e6, target) if target else "", *(text(p and p / 1e6, 1) for p in peers),
        ])  # fmt: skip
    return markdown(["open and list", "branches", "ms", "target", "met", "ROOT, ms", "uproot, ms"], rows)


def process_table(measures: ProcessMeasures) -> str:
    """Whole processes beside their targets."""
    targets = catalogue.load("read")["process"]
    allowed = measures.budget_mb + targets["scan_memory_allowance_mb"]
    import_ms, ls_ms, percent = (
        targets[key] for key in ("import_ms_target", "ls_ms_target", "accounting_percent_target")
    )
    rows = [
        ["import arrowroot", f"{measures.import_ms:.0f} ms", f"{import_ms} ms", mark(measures.import_ms, import_ms)],
        ["arrowroot ls, whole process", f"{measures.ls_ms:.0f} ms", f"{ls_ms} ms", mark(measures.ls_ms, ls_ms)],
        [f"peak memory, scan of {measures.scan_values_mb:.0f} MB, budget {measures.budget_mb:.0f} MB",
         f"{measures.scan_memory_mb:.0f} MB", f"{allowed:.0f} MB", mark(measures.scan_memory_mb, allowed)],
        ["accounting, share of a warm local scan's CPU time", f"{measures.accounting_percent:.2f} %",
         f"{percent:.0f} %", mark(measures.accounting_percent, percent)],
    ]  # fmt: skip
    return markdown(["process", "median", "target", "met"], rows)
