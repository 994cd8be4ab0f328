"""Remote reading beside what the line allows, entries from all over a file, peers, predictions: docs/measured.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .pages import DOCS, Block
from .rows import mark, markdown, measured, median, ratio, rows, text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from arrowroot_lab.store import Store

    from .rows import Row

STORES = ("root", "http", "s3")
#: What opening and reading may cost in round trips: connection, head and tail, metadata, the first window.
FLOOR_ROUND_TRIPS = 4
#: The most that wall time may be over the floor, or over local decoding.
TARGET = 1.15
#: The most that may be read beside what is needed, as a fraction, where bandwidth is scarce.
OVER_READ, SCARCE_MB_PER_S = 0.05, 12
#: The most that a prediction may be off what was measured, as a fraction of that.
PREDICTED = 0.2
STREAMED = "flat j10, streamed"
LOCAL = "disk, in memory"
#: A storage of the campaign: its kind, its line, and whether its server keeps a log.
_STORAGE = re.compile(r"(\w+), (\d+) ms, (\d+) MB_s(, log)?")


class Place(NamedTuple):
    """A server behind a line."""

    store: str
    latency_ms: float
    mb_per_s: float

    def line(self) -> str:
        """The line, to show."""
        return f"{self.latency_ms:g} ms, {self.mb_per_s:g} MB/s"


class Case(NamedTuple):
    """A read of a place: what was timed, and the run whose requests were counted."""

    name: str
    place: Place
    engine: str
    timed: Row | None
    logged: Row | None

    def n_requests(self) -> float | None:
        """Requests by the server's log."""
        return median(self.logged, "server.n_requests")


def blocks(store: Store) -> list[Block]:
    """Return the tables of the page on all that was measured."""
    found = rows(store, "remote")
    predicted = [row for row in found if row.workload.startswith("tune ")]
    read = [row for row in found if not row.workload.startswith("tune ")]
    page, told = DOCS / "measured.md", []
    if read:
        told.append(Block(page, "bench-remote", f"{_about(read)}\n\n{tables(read)}"))
    if predicted:
        told.append(Block(page, "bench-tune", f"{measured(predicted)}. {predictions(predicted)}"))
    return told


def _about(read: list[Row]) -> str:
    return (
        f"{measured(read)}. Medians of {max(len(row.samples) for row in read)}; connections cost no round trip. "
        "`campaigns/METHODOLOGY.md` says what is measured and where it is biased."
    )


def tables(read: list[Row]) -> str:
    """All tables of what was read."""
    local = {_name(row): row for row in read if row.storage == LOCAL}
    cases = list(_cases(read))
    entries = [case for case in cases if case.name.endswith(" entries")]
    whole = [case for case in cases if case not in entries and case.name != "flat:j10, streamed"]
    peers = list(dict.fromkeys(case.name for case in whole if case.engine != "arrowroot"))
    parts = [walls([case for case in whole if case.engine == "arrowroot" and _threads(case) == 2], local)]
    streamed = [case for case in cases if case.name == "flat:j10, streamed"]
    if streamed:
        parts += [
            "A streamed scan of flat:j10 on one thread at 100 MB/s, by round trip:",
            efficiency(streamed, local["flat:j10, streamed"]),
        ]
    if entries:
        about = (
            "Entries from all over the file, 50 ms away at 100 MB/s, ROOT with its tree cache as it is by default; "
            "requests by the server's own log:"
        )
        parts += [about, lists(entries)]
    if peers:
        parts += [
            "ROOT and uproot on one thread, through the same servers and relay; requests by the server's own log:",
            peers_table([case for case in whole if case.name in peers and case.place.store != "s3"]),
        ]
    return "\n\n".join(parts)


def _name(row: Row) -> str:
    """The name of what is read, or tuned for, as the tables have it: without the number of threads."""
    name = row.workload.removeprefix("tune ").removesuffix(f", {row.threads} threads")
    return name.replace(" ", ":", 1)


def _threads(case: Case) -> int:
    row = case.timed or case.logged
    return row.threads if row else 0


def _cases(read: Iterable[Row]) -> Iterable[Case]:
    """Yield cases in the order of lines and stores."""
    found: dict[tuple[str, Place, str, int], dict[bool, Row]] = {}
    for row in read:
        if told := _STORAGE.fullmatch(row.storage):
            place = Place(told[1], float(told[2]), float(told[3]))
            found.setdefault((_name(row), place, row.engine, row.threads), {})[bool(told[4])] = row
    order = list(dict.fromkeys(key[0] for key in found))
    for key in sorted(
        found,
        key=lambda key: (
            _rank(key[0], order),
            -key[1].mb_per_s,
            key[1].latency_ms,
            STORES.index(key[1].store),
            key[2],
        ),
    ):
        yield Case(*key[:3], found[key].get(False), found[key].get(True))


#: The order of the cases in the tables.
_NAMES = ("flat:s10", "flat:c2", "flat:s10_el1", "nano:s10", "nano:c2", "nano:s10_el1")


def _rank(name: str, others: list[str]) -> tuple[int, int]:
    base, _, n_entries = name.partition(", ")
    known = _NAMES.index(base) if base in _NAMES else len(_NAMES) + others.index(name)
    return known, int(n_entries.split()[0]) if n_entries.endswith("entries") else 0


def _needed(local: Row | None) -> tuple[float, float]:
    """The bytes of the baskets, and those of the tree's record, which tells where they are."""
    return median(local, "needed.payload_bytes") or 0.0, median(local, "needed.record_bytes") or 0.0


def floor_ns(place: Place, n_bytes: float) -> float:
    """Bytes at the rate of the line, and the round trips that opening and reading may cost."""
    seconds = n_bytes / (place.mb_per_s * 1e6) + FLOOR_ROUND_TRIPS * place.latency_ms / 1e3
    return seconds * 1e9


def walls(cases: list[Case], local: dict[str, Row]) -> str:
    """Wall time over the floor, requests and bytes, for each case, store and line."""
    cells = []
    for case in cases:
        of_local, row = local.get(case.name), case.timed
        decoding = median(of_local, "wall_ns") or 0.0
        payload, record = _needed(of_local)
        needed = payload + record
        least = max(floor_ns(case.place, needed), decoding)
        without_record = max(floor_ns(case.place, payload), decoding)
        wall, cpu, wire = (median(row, key) for key in ("wall_ns", "cpu_ns", "line.n_bytes"))
        read = _read_bytes(row)
        over_read, on_the_line = ((ratio(n, needed) or 1) - 1 if n and needed else None for n in (read, wire))
        cells.append([
            case.name, case.place.store, case.place.line(), text(decoding / 1e9, 3), text(least / 1e9, 3),
            (row.error if row else "not run") or text(ratio(wall, 1e9), 3), text(ratio(wall, least)),
            mark(ratio(wall, least), TARGET), text(ratio(wall, without_record)), text(case.n_requests(), 0),
            text(ratio(wire, 1e6), 1), text(over_read and 100 * over_read, 1),
            mark(over_read, OVER_READ) if case.place.mb_per_s <= SCARCE_MB_PER_S else "",
            text(on_the_line and 100 * on_the_line, 1), text(ratio(cpu, wall)),
        ])  # fmt: skip
    header = ["case", "store", "line", "local, s", "floor, s", "wall, s", "wall / floor", "met",
              "wall / floor without the tree's record", "requests", "MB over the line", "over-read, %", "met",
              "with protocol, %", "CPU / wall"]  # fmt: skip
    return markdown(header, cells)


def _read_bytes(row: Row | None) -> float | None:
    """The bytes that the storage was asked for, opening included; a store that asks by HTTP may ask for more."""
    for layer in ("http", "store"):
        if n_bytes := median(row, f"{layer}.n_bytes"):
            return n_bytes + (median(row, f"{layer}.opened_bytes") or 0)
    return None


def efficiency(cases: list[Case], local: Row) -> str:
    """CPU time over wall time of a streamed scan, by round trip; beside it what overlapping perfectly would give."""
    cpu, needed = median(local, "cpu_ns") or 0.0, sum(_needed(local))
    latencies = sorted({case.place.latency_ms for case in cases})
    possible = [cpu / max(cpu, floor_ns(Place("", latency, 100), needed)) for latency in latencies]
    cells = [["perfect overlap", text(1.0), *map(text, possible)]]
    of_local = ratio(cpu, median(local, "wall_ns"))
    for store in STORES:
        by_latency = {case.place.latency_ms: case.timed for case in cases if case.place.store == store}
        if by_latency:
            shares = [_cpu_share(by_latency.get(latency)) for latency in latencies]
            cells.append([store, text(of_local), *map(text, shares)])
    return markdown(["CPU efficiency", "local", *(f"{latency:g} ms" for latency in latencies)], cells)


def _cpu_share(row: Row | None) -> float | None:
    return ratio(median(row, "cpu_ns"), median(row, "wall_ns"))


#: Engine and store -> the column of the table.
_READERS = {
    ("arrowroot", "root"): "arrowroot-root", ("arrowroot", "http"): "arrowroot-http",
    ("root", "root"): "root-ttreereader", ("root-getentry", "root"): "root-getentry",
}  # fmt: skip


def lists(cases: list[Case]) -> str:
    """Walls, requests and bytes for lists of entries: a column for each reader."""
    cells = []
    for name in dict.fromkeys(case.name for case in cases):
        of_name = {(case.engine, case.place.store): case for case in cases if case.name == name}
        what, _, n_entries = name.partition(", ")
        told = []
        for reader in _READERS:
            case = of_name.get(reader)
            if case is None or case.timed is None or case.timed.error:
                told.append((case.timed.error if case and case.timed else None) or "not run")
                continue
            wall, wire = (median(case.timed, key) or 0.0 for key in ("wall_ns", "line.n_bytes"))
            told.append(f"{wall / 1e9:.2f} ({text(case.n_requests(), 0)}, {wire / 1e6:.1f})")
        cells.append([what, f"{int(n_entries.split()[0]):,}", *told])
    return markdown(["wall, s (requests, MB)", "entries", *_READERS.values()], cells)


#: Engine and store -> the column of the table.
_PEERS = {
    ("arrowroot", "root"): "arrowroot-root", ("arrowroot", "http"): "arrowroot-http",
    ("root", "root"): "root-default", ("root-prefetch", "root"): "root-prefetch",
    ("uproot", "root"): "uproot-xrootd", ("uproot", "http"): "uproot-http",
}  # fmt: skip


def peers_table(cases: list[Case]) -> str:
    """Walls and requests of the peers: a column for each engine."""
    cells = []
    for name, line in dict.fromkeys((case.name, case.place.line()) for case in cases):
        of_line = {
            (case.engine, case.place.store): case
            for case in cases if (case.name, case.place.line()) == (name, line)
        }  # fmt: skip
        cells.append([name, line, *(_wall_and_requests(of_line.get(key)) for key in _PEERS)])
    return markdown(["wall, s (requests)", "line", *_PEERS.values()], cells)


def _wall_and_requests(case: Case | None) -> str:
    if case is None or case.timed is None:
        return "not run"
    wall = ratio(median(case.timed, "wall_ns"), 1e9)
    return case.timed.error or f"{text(wall)} ({text(case.n_requests(), 0)})"


def predictions(predicted: list[Row]) -> str:
    """Settings as ``arrowroot tune`` predicted and then measured them; each sample is a search of its own."""
    cells = []
    errors: list[float] = []
    for case in _cases(predicted):
        row = case.timed
        if row is None:
            continue
        # The first sample alone counts, as each tries the same settings.
        tried = [one for sample in row.samples[:1] for one in sample.get("candidates", [])]
        candidates = [one for one in tried if one["error"] is not None]
        worst = max((one["error"] for one in candidates), key=abs, default=None)
        errors += [one["error"] for one in candidates]
        cells.append([
            case.name, case.place.store, case.place.line(),
            row.error or "; ".join(map(_setting, candidates)), text(worst and 100 * worst, 0),
            mark(worst and abs(worst), PREDICTED),
        ])  # fmt: skip
    n_met = sum(abs(error) <= PREDICTED for error in errors)
    head = ["case", "store", "line", "predicted / measured, s", "worst, %", "met"]
    return (
        f"{n_met} of {len(errors)} predictions are within {100 * PREDICTED:.0f} % of what was measured.\n\n"
        f"{markdown(head, cells)}"
    )


def _setting(one: dict[str, Any]) -> str:
    size = one["options"].get("cache_size")
    return (
        f"{one['options']['strategy']}{f' {size}' if size else ''} {one['predicted']['wall_ns'] / 1e9:.2f} / "
        f"{min(one['measured_ns']) / 1e9:.2f}"
    )
