"""From the samples of remote reads to tables, in Markdown."""

from __future__ import annotations

import statistics
from typing import Any

from . import catalogue
from .tables import mark, markdown, text

Row = dict[str, Any]


def median(row: Row, key: str) -> float | None:
    """The median of a row's samples; None for a row that failed."""
    values = [sample[key] for sample in row["samples"] if sample.get(key) is not None]
    return statistics.median(values) if values and not row["error"] else None


def needed_bytes(row: Row) -> int:
    """The bytes of the baskets and of the tree's record, which tells where they are."""
    return int(row["baskets_bytes"] + row["record_bytes"])


def floor_ns(row: Row, n_bytes: int) -> float:
    """Bytes at the rate of the line, and the round trips that opening and reading may cost."""
    round_trips = catalogue.load("remote")["wall"]["floor_round_trips"]
    seconds = n_bytes / (row["mb_per_s"] * 1e6) + round_trips * row["latency_ms"] / 1e3
    return float(seconds * 1e9)


def wall_table(rows: list[Row]) -> str:
    """Wall time over the floor, requests and bytes, for each case, store and line."""
    local = {row["case"]: median(row, "wall_ns") for row in rows if row["store"] == "local"}
    told = catalogue.load("remote")["wall"]
    cells = []
    for row in rows:
        if row["store"] == "local":
            continue
        decoding = local.get(row["case"]) or 0.0
        least = max(floor_ns(row, needed_bytes(row)), decoding)
        without_record = max(floor_ns(row, row["baskets_bytes"]), decoding)
        keys = ("wall_ns", "cpu_ns", "wire_bytes", "bytes_read")
        wall, cpu, wire, read = (median(row, key) for key in keys)
        over_read = read and read / needed_bytes(row) - 1
        on_the_line = wire and wire / needed_bytes(row) - 1
        scarce = row["mb_per_s"] <= told["scarce_mb_per_s"]
        cells.append([
            row["case"], row["store"], f"{row['latency_ms']:g} ms, {row['mb_per_s']:g} MB/s",
            text(decoding / 1e9, 3), text(least / 1e9, 3), row["error"] or text(wall and wall / 1e9, 3),
            text(wall and wall / least), mark(wall and wall / least, told["target"]),
            text(wall and wall / without_record),
            text(None if row["requests"] is None else float(row["requests"]), 0),
            text(wire and wire / 1e6, 1), text(over_read and 100 * over_read, 1),
            mark(over_read, told["over_read_target"]) if scarce else "",
            text(on_the_line and 100 * on_the_line, 1),
            text(cpu and wall and cpu / wall),
        ])  # fmt: skip
    header = ["case", "store", "line", "local, s", "floor, s", "wall, s", "wall / floor", "met",
              "wall / floor without the tree's record", "requests", "MB over the line", "over-read, %", "met",
              "with protocol, %", "CPU / wall"]  # fmt: skip
    return markdown(header, cells)


def efficiency_table(rows: list[Row]) -> str:
    """CPU time over wall time of a streamed scan, by round trip; beside it what overlapping perfectly would give."""
    local = next(row for row in rows if row["store"] == "local")
    cpu, wall = median(local, "cpu_ns") or 0.0, median(local, "wall_ns") or 1.0
    latencies = sorted({row["latency_ms"] for row in rows if row["store"] != "local"})
    remote = [row for row in rows if row["store"] != "local"]
    possible = [
        cpu / max(cpu, floor_ns(row, needed_bytes(row)))
        for row in (next(row for row in remote if row["latency_ms"] == latency) for latency in latencies)
    ]
    cells = [["perfect overlap", text(1.0), *map(text, possible)]]
    for store in dict.fromkeys(row["store"] for row in remote):
        found = {row["latency_ms"]: row for row in remote if row["store"] == store}
        values = [(median(found[x], "cpu_ns"), median(found[x], "wall_ns")) for x in latencies]
        cells.append([store, text(cpu / wall), *(text(c and w and c / w) for c, w in values)])
    return markdown(["CPU efficiency", "local", *(f"{latency:g} ms" for latency in latencies)], cells)


def lists_table(rows: list[Row]) -> str:
    """Walls, requests and bytes for lists of entries: a column for each reader."""
    readers = list(dict.fromkeys(row["reader"] for row in rows))
    cells = []
    for case, n_entries in dict.fromkeys((row["case"], row["n_entries"]) for row in rows):
        found = {row["reader"]: row for row in rows if (row["case"], row["n_entries"]) == (case, n_entries)}
        told = [
            row["error"]
            or f"{statistics.median(row['wall_ns']) / 1e9:.2f} ({row['requests']}, {row['wire_bytes'] / 1e6:.1f})"
            for row in (found[reader] for reader in readers)
        ]
        cells.append([case, f"{n_entries:,}", *told])
    return markdown(["wall, s (requests, MB)", "entries", *readers], cells)


def peers_table(rows: list[Row]) -> str:
    """Walls and requests of the peers: a column for each engine."""
    engines = list(dict.fromkeys(row["engine"] for row in rows))
    cells = []
    for case, latency_ms, rate in dict.fromkeys(
        (row["case"], row["latency_ms"], row["mb_per_s"]) for row in rows
    ):
        found = {
            row["engine"]: row
            for row in rows
            if (row["case"], row["latency_ms"], row["mb_per_s"]) == (case, latency_ms, rate)
        }
        line = f"{latency_ms:g} ms, {rate:g} MB/s"
        cells.append([case, line, *(_wall_and_requests(found[engine]) for engine in engines)])
    return markdown(["wall, s (requests)", "line", *engines], cells)


def _wall_and_requests(row: Row) -> str:
    wall = median(row, "wall_ns")
    return str(row["error"] or f"{text(wall and wall / 1e9)} ({row['requests']})")


def render(result: dict[str, Any]) -> str:
    """All tables, and what they were measured on."""
    handshake = (
        "a new connection costs a round trip" if result["handshake"] else "connections cost no round trip"
    )
    parts = [
        (
            f"{result['date']}, {result['machine']}. {result['threads']} threads, medians of {result['repeat']}; "
            f"{handshake}. `bench/METHODOLOGY.md` says what is measured and where it is biased."
        )
    ]
    if result["rows"]:
        parts.append(wall_table(result["rows"]))
    if result["efficiency"]:
        case = result["efficiency"][0]["case"]
        rate = result["efficiency"][-1]["mb_per_s"]
        parts.append(f"A streamed scan of {case} on one thread at {rate:g} MB/s, by round trip:")
        parts.append(efficiency_table(result["efficiency"]))
    if result["lists"]:
        parts.append(
            "Entries from all over the file, 50 ms away at 100 MB/s, ROOT with its tree cache as it is by default; "
            "requests by the server's own log:"
        )
        parts.append(lists_table(result["lists"]))
    if result["peers"]:
        parts.append(
            "ROOT and uproot on one thread, through the same servers and relay; requests by the server's own log:"
        )
        parts.append(peers_table(result["peers"]))
    return "\n\n".join(parts)
