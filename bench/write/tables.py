"""From samples of writing to tables: beside the limit, beside the peers, and the memory that it takes."""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple

from bench import catalogue
from bench.tables import markdown, ratio, text

#: Into memory that is touched before, as the limit does; and as people use it, to a file.
SUBJECT, FACE = "arrowroot-memory-writer", "arrowroot-writer"
LIMIT = "write-limit"
UPROOT = "uproot-writer"
#: Where the second core is busy the limit gains less itself; so much of its gain is enough then.
SHARE_OF_LIMITS_GAIN = 0.95
#: ROOT's own writers at the same number of threads, the fastest of which ours is compared with.
ROOT_WRITERS = {"ttree": ("root-ttree-writer",), "rntuple": ("rntuple-writer", "rntuple-parallel-writer")}
Result = dict[str, Any]


class Miss(NamedTuple):
    """A row that falls short of a target."""

    what: str
    row: str
    value: str


def median_of(result: Result, engine: str, threads: int, key: str) -> float | None:
    """The median of an engine's samples; None if it failed."""
    row = next((r for r in result["rows"] if r["engine"] == engine and r["threads"] == threads), None)
    if row is None or row["error"] or row["wrong"]:
        return None
    values = [sample[key] for sample in row["samples"] if key in sample]
    return statistics.median(values) if values else None


def print_case(result: Result) -> None:
    """Say how fast each engine was."""
    print(
        f"\n{result['title']}, {result['codec']}, {result['layout']}, {result['payload_bytes'] / 1e6:.0f} MB",
        flush=True,
    )
    for row in result["rows"]:
        failed = row["error"] or row["wrong"]
        if failed:
            print(f"  {row['engine']:24} {row['threads']}  {failed}")
            continue
        wall, cpu, size = (
            median_of(result, row["engine"], row["threads"], key)
            for key in ("wall_ns", "cpu_ns", "file_bytes")
        )
        speed, of_cpu = _speed(result, wall), _speed(result, cpu)
        print(f"  {row['engine']:24} {row['threads']}  {speed:>6} MB/s wall  {of_cpu:>6} MB/s CPU  "
              f"{text(ratio(size, 1e6)):>7} MB", flush=True)  # fmt: skip


def all_tables(results: list[Result], peaks: list[Result]) -> str:
    """The tables, below what falls short of its target."""
    misses: list[Miss] = []
    limit, peers = limit_table(results, misses), peer_table(results, misses)
    memory = peak_table(peaks, misses)
    about_limit = (
        "Into memory that is touched before, beside the limit; and to a file on the disk, beside what the file "
        "system takes for the same bytes:"
    )
    about_peers = (
        "To files in a file system in memory, beside ROOT's writers and uproot (MB of payload a second):"
    )
    parts = [_summary(results, misses), about_limit, limit, about_peers, peers, memory]
    return "\n\n".join(part for part in parts if part)


def limit_table(results: list[Result], misses: list[Miss]) -> str:
    """Ours into memory beside the limit, and what the disk adds."""
    header = ["case", "codec", "layout", "MB/s", "CPU / limit", "wall / limit", "target", "met",
              "gain of 2 threads", "the limit's", "to disk, MB/s", "file system alone, MB/s", "with sync"]  # fmt: skip
    gain_target = catalogue.load("write")["two_threads_target"]
    rows = []
    for result in results:
        prefix = "with_pass_" if result["with_pass"] else ""
        over = {
            key: ratio(
                median_of(result, SUBJECT, 1, f"{key}_ns"), median_of(result, LIMIT, 1, f"{prefix}{key}_ns")
            )
            for key in ("cpu", "wall")
        }
        gains = [
            ratio(median_of(result, engine, 1, "wall_ns"), median_of(result, engine, 2, "wall_ns"))
            for engine in (SUBJECT, LIMIT)
        ]
        target = result["target"]
        met = _met(over["cpu"], over["wall"], target)
        if met not in ("", "yes"):
            value = f"{text(over['cpu'])} of the limit's CPU time, {text(over['wall'])} of its wall time"
            misses.append(Miss(f"at most {target} of the limit", _name(result), value))
        wanted_gain = min(gain_target, SHARE_OF_LIMITS_GAIN * (gains[1] or gain_target))
        if not result["with_pass"] and gains[0] is not None and gains[0] < wanted_gain:
            value = f"{text(gains[0])}, the limit {text(gains[1])}"
            misses.append(Miss(f"{gain_target} times as fast on two threads", _name(result), value))
        system = [median_of(result, FACE, 1, key) for key in ("system_write_ns", "system_sync_ns")]
        stored = median_of(result, FACE, 1, "file_bytes")
        synced = sum(time for time in system if time is not None) or None
        rows.append([
            result["title"], result["codec"], result["layout"],
            _speed(result, median_of(result, SUBJECT, 1, "wall_ns")), text(over["cpu"]), text(over["wall"]),
            text(target, 1), met, text(gains[0]), text(gains[1]),
            _speed(result, median_of(result, FACE, 1, "disk_wall_ns")),
            text(ratio((stored or 0) * 1e3, system[0]), 0), text(ratio((stored or 0) * 1e3, synced), 0),
        ])  # fmt: skip
    return markdown(header, rows)


def peer_table(results: list[Result], misses: list[Miss]) -> str:
    """Ours beside ROOT and uproot, all of them to a file in memory."""
    header = ["case", "codec", "layout", "MB/s", "ROOT", "times ROOT", "by CPU time", "2 threads, MB/s", "ROOT",
              "times ROOT", "uproot", "times uproot", "by CPU time", "size / ROOT's", "peak memory, MB"]  # fmt: skip
    definition = catalogue.load("write")
    rows = []
    for result in results:
        ours = [median_of(result, FACE, threads, "wall_ns") for threads in (1, 2)]
        roots = [_fastest_root(result, threads, "wall_ns") for threads in (1, 2)]
        uproot = median_of(result, UPROOT, 1, "wall_ns")
        own_cpu = median_of(result, FACE, 1, "cpu_ns")
        of_root = ratio(_fastest_root(result, 1, "cpu_ns"), own_cpu)
        of_uproot = ratio(median_of(result, UPROOT, 1, "cpu_ns"), own_cpu)
        target = definition["peer_targets"][result["layout"]]
        times = [
            (ratio(roots[0], ours[0]), of_root, target, "ROOT"),
            (ratio(roots[1], ours[1]), None, target, "ROOT on two threads"),
            (ratio(uproot, ours[0]), of_uproot, 1.0, "uproot"),
        ]
        shown = []
        for faster, by_cpu, least, who in times:
            is_behind = faster is not None and faster < least
            shown.append(f"**{text(faster)}**" if is_behind else text(faster))
            if is_behind:
                value = f"{text(faster)} times as fast" + (f" ({text(by_cpu)} by CPU time)" if by_cpu else "")
                misses.append(Miss(f"ahead of {who}", _name(result), value))
        size = ratio(
            median_of(result, FACE, 1, "file_bytes"),
            median_of(result, ROOT_WRITERS[result["layout"]][0], 1, "file_bytes"),
        )
        peak = median_of(result, FACE, 2, "peak_growth_bytes")
        rows.append([
            result["title"], result["codec"], result["layout"], _speed(result, ours[0]),
            _speed(result, roots[0]), shown[0], text(of_root), _speed(result, ours[1]), _speed(result, roots[1]),
            shown[1], _speed(result, uproot), shown[2], text(of_uproot), text(size, 3), text(ratio(peak, 1e6), 0),
        ])  # fmt: skip
    return markdown(header, rows)


def peak_table(peaks: list[Result], misses: list[Miss]) -> str:
    """How far memory grows where the payload is larger than the buffers."""
    told = catalogue.load("write")["memory"]
    allowed = told["buffers_mb"] + told["allowance_mb"]
    rows = []
    for peak in peaks:
        grown = next((s["peak_growth_bytes"] / 1e6 for s in peak["row"]["samples"]), None)
        is_met = "" if grown is None else "yes" if grown <= allowed else "**no**"
        rows.append([
            f"{peak['title']}, {peak['layout']}", f"{peak['payload_bytes'] / 1e6:.0f}", text(grown, 0),
            str(allowed), is_met,
        ])  # fmt: skip
        if is_met == "**no**":
            misses.append(Miss(f"at most {allowed} MB of memory", rows[-1][0], f"{text(grown, 0)} MB"))
    if not rows:
        return ""
    about = f"Memory beyond the payload, two threads, `buffers` of {told['buffers_mb']} MB:"
    return f"{about}\n\n{markdown(['case', 'payload, MB', 'peak, MB', 'allowed, MB', 'met'], rows)}"


def _summary(results: list[Result], misses: list[Miss]) -> str:
    """The rows that fall short, target by target."""
    lines = []
    for what in dict.fromkeys(miss.what for miss in misses):
        found = [miss for miss in misses if miss.what == what]
        listed = "; ".join(f"{miss.row}: {miss.value}" for miss in found)
        lines.append(f"- *{what}* is missed by {len(found)} of {len(results)} rows: {listed}.")
    return "\n".join(lines) or f"All {len(results)} rows meet all targets."


def _fastest_root(result: Result, threads: int, key: str) -> float | None:
    times = [median_of(result, name, threads, key) for name in ROOT_WRITERS[result["layout"]]]
    return min((time for time in times if time is not None), default=None)


def _met(cpu: float | None, wall: float | None, target: float) -> str:
    if cpu is None or wall is None:
        return ""
    if max(cpu, wall) <= target:
        return "yes"
    return "CPU" if cpu <= target else "**no**"


def _name(result: Result) -> str:
    return f"{result['title']}, {result['codec']}, {result['layout']}"


def _speed(result: Result, wall_ns: float | None) -> str:
    return text(ratio(result["payload_bytes"] * 1e3, wall_ns), 0)
