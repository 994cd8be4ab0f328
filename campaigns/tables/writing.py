"""Writing beside the limit, beside the peers, and the memory that it takes: docs/measured.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .pages import DOCS, Block
from .rows import find, markdown, measured, median, ratio, rows, text

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

    from .rows import Row

#: Into memory that is touched before, as the limit does; and as people use it, to a file.
SUBJECT, FACE = "arrowroot-memory-writer", "arrowroot-writer"
LIMIT = "write-limit"
UPROOT = "uproot-writer"
#: ROOT's own writers at the same number of threads, the fastest of which ours is compared with.
ROOT_WRITERS = {"ttree": ("root-ttree-writer",), "rntuple": ("rntuple-writer", "rntuple-parallel-writer")}
#: The most that may be lost to ROOT's own writer of the layout, and to uproot.
PEER_TARGETS, UPROOT_TARGET = {"ttree": 1.0, "rntuple": 0.95}, 1.0
#: The gain of two threads where compressing is most of the work. Where the second core is busy the limit gains less
#: itself; so much of its gain is enough then.
TWO_THREADS, SHARE_OF_LIMITS_GAIN = 1.8, 0.95
#: Codecs in their order: the most that the time may be of the limit's. That of the quick ones is compressing the same
#: buffers, and one pass of swapping the values into touched memory before.
CODECS = {
    "zstd 5": 1.2, "zlib 1": 1.2, "zlib 6": 1.2, "lzma 1": 1.2, "lz4 1": 1.5, "lz4 4 (HC)": 1.2, "none": 1.5,
}  # fmt: skip
WITH_PASS = ("lz4 1", "none")
OF_OBJECTS = 1.25
CASES = {
    "flat 100": "100 columns, flat", "jagged 100": "100 columns, jagged", "flat 1600": "1,600 columns, flat",
    "jagged 1600": "1,600 columns, jagged",
}  # fmt: skip
_COLLECTIONS = "10 collections of 10 members"


class Kind(NamedTuple):
    """Columns that no peer writes from arrays."""

    title: str
    dataset: str
    layout: str
    target: float


OBJECTS = {
    "objects split": Kind(f"{_COLLECTIONS}, split", "jagged 100", "ttree", OF_OBJECTS),
    "objects member-wise": Kind(
        f"{_COLLECTIONS}, one branch each, member-wise", "jagged 100", "ttree", OF_OBJECTS
    ),
    "objects object-wise": Kind(
        f"{_COLLECTIONS}, one branch each, object-wise", "jagged 100", "ttree", OF_OBJECTS
    ),
    "records with projections": Kind(f"{_COLLECTIONS}, and their flat names", "jagged 100", "rntuple", 1.2),
    "maps of texts": Kind("100 maps of texts", "jagged 100", "rntuple", 1.2),
    "maps of numbers": Kind("100 maps of numbers", "jagged 100", "rntuple", 1.2),
    "maps of texts in a tree": Kind("100 maps of texts", "jagged 100", "ttree", 1.2),
    "variants": Kind("25 variants of a float and an integer", "flat 100", "rntuple", 1.2),
}
#: Peak memory of writing much more than the buffers hold.
BUFFERS_MB, ALLOWANCE_MB = 64, 100


class Miss(NamedTuple):
    """A row that falls short of a target."""

    what: str
    row: str
    value: str


class Written(NamedTuple):
    """A case: the same columns with one codec in one layout, by all writers."""

    title: str
    codec: str
    layout: str
    target: float
    rows: list[Row]

    def name(self) -> str:
        """The case, to show."""
        return f"{self.title}, {self.codec}, {self.layout}"

    def median(self, engine: str, threads: int, key: str) -> float | None:
        """The median of a writer's samples; None if it failed."""
        return median(find(self.rows, engine=engine, threads=threads), key)

    def speed(self, wall_ns: float | None) -> str:
        """MB of payload a second, to show."""
        n_bytes = next((n for row in self.rows if (n := median(row, "payload.n_bytes"))), None)
        return text(ratio(n_bytes and n_bytes * 1e3, wall_ns), 0)

    def fastest_root(self, threads: int, key: str) -> float | None:
        """The least of ROOT's own writers."""
        times = [self.median(name, threads, key) for name in ROOT_WRITERS[self.layout]]
        return min((time for time in times if time is not None), default=None)


def blocks(store: Store) -> list[Block]:
    """Return the tables of the page on all that was measured."""
    found = rows(store, "writing")
    if not found:
        return []
    n = max(len(row.samples) for row in found)
    about = f"{measured(found)}.{f' Medians of {n} turns.' if n > 1 else ''}"
    return [Block(DOCS / "measured.md", "bench-write", f"{about}\n\n{all_tables(found)}")]


def written(found: list[Row]) -> list[Written]:
    """Return the cases in the order of the tables."""
    cases = []
    of_columns = [
        (Kind(title, case, layout, target), codec, f"{codec}, {layout}")
        for case, title in CASES.items()
        for codec, target in CODECS.items()
        for layout in ("ttree", "rntuple")
    ]
    of_objects = [(kind, codec, f"{codec}, {of}") for of, kind in OBJECTS.items() for codec in CODECS]
    for kind, codec, workload in (*of_columns, *of_objects):
        of_case = [
            row for row in found
            if row.dataset.partition(", ")[0] == kind.dataset
            and row.workload.removesuffix(f", {row.threads} threads") == workload
        ]  # fmt: skip
        if of_case:
            cases.append(Written(kind.title, codec, kind.layout, kind.target, of_case))
    return cases


def all_tables(found: list[Row]) -> str:
    """The tables, below what falls short of its target."""
    misses: list[Miss] = []
    cases = written(found)
    limit, peers = limit_table(cases, misses), peer_table(cases, misses)
    memory = peak_table([row for row in found if row.workload.startswith("buffers ")], misses)
    about_limit = (
        "Into memory that is touched before, beside the limit; and to a file on the disk, beside what the file "
        "system takes for the same bytes:"
    )
    about_peers = (
        "To files in a file system in memory, beside ROOT's writers and uproot (MB of payload a second):"
    )
    parts = [_summary(cases, misses), about_limit, limit, about_peers, peers, memory]
    return "\n\n".join(part for part in parts if part)


def limit_table(cases: list[Written], misses: list[Miss]) -> str:
    """Ours into memory beside the limit, and what the disk adds."""
    header = ["case", "codec", "layout", "MB/s", "CPU / limit", "wall / limit", "target", "met",
              "gain of 2 threads", "the limit's", "to disk, MB/s", "file system alone, MB/s", "with sync"]  # fmt: skip
    cells = []
    for case in cases:
        with_pass = case.codec in WITH_PASS
        prefix = "with_pass." if with_pass else ""
        cpu, wall = (
            ratio(case.median(SUBJECT, 1, key), case.median(LIMIT, 1, f"{prefix}{key}"))
            for key in ("cpu_ns", "wall_ns")
        )
        gain, of_limit = (
            ratio(case.median(engine, 1, "wall_ns"), case.median(engine, 2, "wall_ns"))
            for engine in (SUBJECT, LIMIT)
        )
        met = _met(cpu, wall, case.target)
        if met not in ("", "yes"):
            value = f"{text(cpu)} of the limit's CPU time, {text(wall)} of its wall time"
            misses.append(Miss(f"at most {case.target} of the limit", case.name(), value))
        wanted_gain = min(TWO_THREADS, SHARE_OF_LIMITS_GAIN * (of_limit or TWO_THREADS))
        if not with_pass and gain is not None and gain < wanted_gain:
            value = f"{text(gain)}, the limit {text(of_limit)}"
            misses.append(Miss(f"{TWO_THREADS} times as fast on two threads", case.name(), value))
        system = [case.median(FACE, 1, key) for key in ("system.write_ns", "system.sync_ns")]
        stored = case.median(FACE, 1, "written.n_bytes")
        synced = sum(time for time in system if time is not None) or None
        cells.append([
            case.title, case.codec, case.layout, case.speed(case.median(SUBJECT, 1, "wall_ns")), text(cpu), text(wall),
            text(case.target, 1), met, text(gain), text(of_limit), case.speed(case.median(FACE, 1, "disk.wall_ns")),
            text(ratio((stored or 0) * 1e3, system[0]), 0), text(ratio((stored or 0) * 1e3, synced), 0),
        ])  # fmt: skip
    return markdown(header, cells)


def peer_table(cases: list[Written], misses: list[Miss]) -> str:
    """Ours beside ROOT and uproot, all of them to a file in memory."""
    header = ["case", "codec", "layout", "MB/s", "ROOT", "times ROOT", "by CPU time", "2 threads, MB/s", "ROOT",
              "times ROOT", "uproot", "times uproot", "by CPU time", "size / ROOT's", "peak memory, MB"]  # fmt: skip
    cells = []
    for case in cases:
        ours = [case.median(FACE, threads, "wall_ns") for threads in (1, 2)]
        roots = [case.fastest_root(threads, "wall_ns") for threads in (1, 2)]
        uproot, own_cpu = case.median(UPROOT, 1, "wall_ns"), case.median(FACE, 1, "cpu_ns")
        of_root = ratio(case.fastest_root(1, "cpu_ns"), own_cpu)
        of_uproot = ratio(case.median(UPROOT, 1, "cpu_ns"), own_cpu)
        target = PEER_TARGETS[case.layout]
        times = [
            (ratio(roots[0], ours[0]), of_root, target, "ROOT"),
            (ratio(roots[1], ours[1]), None, target, "ROOT on two threads"),
            (ratio(uproot, ours[0]), of_uproot, UPROOT_TARGET, "uproot"),
        ]
        shown = []
        for faster, by_cpu, least, who in times:
            is_behind = faster is not None and faster < least
            shown.append(f"**{text(faster)}**" if is_behind else text(faster))
            if is_behind:
                value = f"{text(faster)} times as fast" + (f" ({text(by_cpu)} by CPU time)" if by_cpu else "")
                misses.append(Miss(f"ahead of {who}", case.name(), value))
        size = ratio(
            case.median(FACE, 1, "written.n_bytes"),
            case.median(ROOT_WRITERS[case.layout][0], 1, "written.n_bytes"),
        )
        peak = case.median(FACE, 2, "memory.growth_bytes")
        cells.append([
            case.title, case.codec, case.layout, case.speed(ours[0]), case.speed(roots[0]), shown[0], text(of_root),
            case.speed(ours[1]), case.speed(roots[1]), shown[1], case.speed(uproot), shown[2], text(of_uproot),
            text(size, 3), text(ratio(peak, 1e6), 0),
        ])  # fmt: skip
    return markdown(header, cells)


def peak_table(peaks: list[Row], misses: list[Miss]) -> str:
    """How far memory grows where the payload is larger than the buffers."""
    if not peaks:
        return ""
    allowed = BUFFERS_MB + ALLOWANCE_MB
    cells = []
    for row in sorted(
        peaks, key=lambda row: (row.dataset, list(PEER_TARGETS).index(row.workload.rpartition(", ")[2]))
    ):
        grown = ratio(median(row, "memory.growth_bytes"), 1e6)
        is_met = "" if grown is None else "yes" if grown <= allowed else "**no**"
        name = f"{CASES[row.dataset.partition(', ')[0]]}, {row.workload.rpartition(', ')[2]}"
        cells.append([
            name, text(ratio(median(row, "payload.n_bytes"), 1e6), 0), text(grown, 0), str(allowed), is_met
        ])  # fmt: skip
        if is_met == "**no**":
            misses.append(Miss(f"at most {allowed} MB of memory", name, f"{text(grown, 0)} MB"))
    about = f"Memory beyond the payload, two threads, `buffers` of {BUFFERS_MB} MB:"
    return f"{about}\n\n{markdown(['case', 'payload, MB', 'peak, MB', 'allowed, MB', 'met'], cells)}"


def _summary(cases: list[Written], misses: list[Miss]) -> str:
    """The rows that fall short, target by target."""
    lines = []
    for what in dict.fromkeys(miss.what for miss in misses):
        found = [miss for miss in misses if miss.what == what]
        listed = "; ".join(f"{miss.row}: {miss.value}" for miss in found)
        lines.append(f"- *{what}* is missed by {len(found)} of {len(cases)} rows: {listed}.")
    return "\n".join(lines) or f"All {len(cases)} rows meet all targets."


def _met(cpu: float | None, wall: float | None, target: float) -> str:
    if cpu is None or wall is None:
        return ""
    if max(cpu, wall) <= target:
        return "yes"
    return "CPU" if cpu <= target else "**no**"
