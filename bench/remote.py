"""Measures remote reading from real servers behind a simulated line, beside what it allows: ``make bench-remote``.

METHODOLOGY.md says what the numbers mean.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from . import catalogue, entry_lists
from .data import warm_page_cache
from .machine import machine, today
from .pages import names
from .paths import RESULTS
from .remote_stores import Case, Link, Store, find_case, parser_of, report, stores
from .remote_tables import render
from .runner import ask, difference

if TYPE_CHECKING:
    import argparse

    from .catalogue import Engine
    from .data import FileSet

RESULT = RESULTS / "remote.json"
TASKS = ("wall", "efficiency", "lists", "peers")


@dataclass
class Row:
    """All samples of a case over a store and a line; ``store`` is ``local`` without one."""

    case: str
    store: str
    latency_ms: float
    mb_per_s: float
    baskets_bytes: int
    record_bytes: int
    #: Answers of the engine, in ns and bytes, with what passed the relay.
    samples: list[dict[str, Any]] = field(default_factory=list)
    #: Requests for the file by the server's own log, in a run of its own.
    requests: int | None = None
    error: str | None = None

    @classmethod
    def of(cls, case: Case, store: str, latency_ms: float, mb_per_s: float) -> Row:
        """A row without samples."""
        return cls(case.name, store, latency_ms, mb_per_s, case.baskets_bytes, case.record_bytes)


def parse() -> argparse.Namespace:
    """Return the options."""
    wall = catalogue.load("remote")["wall"]
    parser = parser_of(__doc__, wall["cases"], wall["links"])
    parser.add_argument(
        "--tasks", type=names, default=list(TASKS), help=f"of {','.join(TASKS)} (default: all)"
    )
    parser.add_argument("--threads", type=int, default=2, help="of arrowroot (default 2)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, in turns (default 3)")
    parser.add_argument("--handshake", action="store_true", help="a new connection costs a round trip, too")
    return parser.parse_args()


class Bench:
    """Rows of all tasks, saved after each case."""

    def __init__(self, options: argparse.Namespace, files: FileSet) -> None:
        self._options, self._files = options, files
        self._engine = catalogue.engine("arrowroot")
        self.result: dict[str, Any] = {
            "date": today(),
            "repeat": options.repeat, "threads": options.threads, "handshake": options.handshake,
            "machine": machine(), "rows": [], "efficiency": [], "lists": [], "peers": [],
        }  # fmt: skip
        self._local: dict[tuple[str, int, bool], dict[str, Any]] = {}

    def local(self, case: Case, threads: int, *, streamed: bool = False) -> Row:
        """The local read of a case, which is also what its content must be."""
        row = Row.of(case, "local", 0, 0)
        warm_page_cache(case.file)
        for _ in range(max(3, self._options.repeat)):
            answer = ask(self._engine, case.job(file=str(case.file), threads=threads, streamed=streamed))
            if "wall_ns" not in answer:
                sys.exit(f"{case.name} cannot be read locally: {answer}")
            row.samples.append(answer)
        self._local[case.name, threads, streamed] = row.samples[0]
        return row

    def sample(self, row: Row, store: Store, case: Case, threads: int, *, streamed: bool = False) -> None:
        """Add one sample to a row, if its content is right."""
        store.relay.link(row.latency_ms, row.mb_per_s, handshake=self._options.handshake)
        answer = store.read(self._engine, case, threads=threads, streamed=streamed)
        if "wall_ns" not in answer:
            row.error = str(answer.get("error") or answer.get("unsupported"))
        elif wrong := difference(answer, self._local[case.name, threads, streamed]):
            row.error = f"wrong content: {wrong}"
        else:
            row.samples.append(answer)
        print(f"  {row.case} {row.store} {row.latency_ms:g} ms {row.mb_per_s:g} MB/s: "
              f"{row.error or format(answer['wall_ns'] / 1e9, '.3f') + ' s'}", flush=True)  # fmt: skip

    def walls(self, case: Case, timed: dict[str, Store], counted: dict[str, Store]) -> None:
        """All stores and lines of a case; repetitions go round."""
        threads = self._options.threads
        rows = [self.local(case, threads)]
        for latency_ms, mb_per_s in self._options.links:
            group = [Row.of(case, kind, latency_ms, mb_per_s) for kind in timed]
            for _ in range(self._options.repeat):
                for row in group:
                    self.sample(row, timed[row.store], case, threads)
            for row in group:
                tracing = counted[row.store]
                before = tracing.n_requests()
                tracing.relay.link(latency_ms, mb_per_s, handshake=self._options.handshake)
                if "error" not in tracing.read(self._engine, case, threads=threads):
                    row.requests = tracing.n_requests() - before
            rows += group
        self.result["rows"] += [asdict(row) for row in rows]
        self.save()

    def efficiency(self, case: Case, timed: dict[str, Store]) -> None:
        """A streamed scan on one thread over longer and longer round trips."""
        told = catalogue.load("remote")["efficiency"]
        rows = [self.local(case, 1, streamed=True)]
        group = [
            Row.of(case, kind, latency_ms, told["mb_per_s"])
            for kind in timed for latency_ms in told["latencies_ms"]
        ]  # fmt: skip
        for _ in range(self._options.repeat):
            for row in group:
                self.sample(row, timed[row.store], case, 1, streamed=True)
        self.result["efficiency"] = [asdict(row) for row in rows + group]
        self.save()

    def lists(self, timed: dict[str, Store], counted: dict[str, Store]) -> None:
        """A few entries from all over a file, beside ROOT."""
        for name in catalogue.load("remote")["lists"]["cases"]:
            rows = entry_lists.measure(find_case(name, self._files), timed, counted, self._options.repeat)
            self.result["lists"] += [asdict(row) for row in rows]
        self.save()

    def peers(self, case: Case, timed: dict[str, Store], counted: dict[str, Store]) -> None:
        """The peers at their stores, arrowroot at the same ones; what ROOT reads locally is the content."""
        engines = catalogue.matching(catalogue.load("remote")["peers"]["engines"], "remote")
        taking = [
            (engine, kind)
            for engine in [self._engine, *engines]
            for kind in ("root", "http") if kind in timed and engine.store in (None, kind)
        ]  # fmt: skip
        reader = next(engine for engine in engines if engine.store == "root")
        wanted = ask(reader, case.job(file=str(case.file), threads=1))
        if "checksum" not in wanted:
            sys.exit(f"ROOT cannot read {case.name} locally: {wanted}")
        for link in self._options.links:
            rows = [peer_row(case, engine, kind, link) for engine, kind in taking]
            for chosen, times in ((timed, self._options.repeat), (counted, 1)):
                for _ in range(times):
                    for row, (engine, kind) in zip(rows, taking, strict=True):
                        self._peer_sample(
                            row, engine, chosen[kind], case, wanted, is_counted=chosen is counted
                        )
            self.result["peers"] += rows
        self.save()

    def _peer_sample(
        self,
        row: dict[str, Any],
        engine: Engine,
        store: Store,
        case: Case,
        wanted: dict[str, Any],
        *,
        is_counted: bool,
    ) -> None:
        """Add one sample to a row of the peers, or the number of its requests."""
        store.relay.link(row["latency_ms"], row["mb_per_s"], handshake=self._options.handshake)
        before = store.n_requests() if is_counted else 0
        answer = store.read(engine, case, threads=self._options.threads if engine.threaded else 1)
        if "wall_ns" not in answer:
            row["error"] = str(answer.get("error") or answer.get("unsupported"))
        elif wrong := difference(answer, wanted):
            row["error"] = f"wrong content: {wrong}"
        elif is_counted:
            row["requests"] = store.n_requests() - before
        else:
            row["samples"].append({"wall_ns": answer["wall_ns"], "wire_bytes": answer["wire_bytes"]})
        if not is_counted:
            print(f"  {row['case']} {row['engine']} {row['latency_ms']:g} ms {row['mb_per_s']:g} MB/s: "
                  f"{row['error'] or format(answer['wall_ns'] / 1e9, '.3f') + ' s'}", flush=True)  # fmt: skip

    def save(self) -> None:
        """Keep every sample."""
        RESULT.write_text(json.dumps(self.result))


def peer_row(case: Case, engine: Engine, kind: str, link: Link) -> dict[str, Any]:
    """A row of the peers without samples."""
    name = engine.name if engine.store else f"{engine.name}-{kind}"
    return {
        "case": case.name, "engine": name, "latency_ms": link[0], "mb_per_s": link[1], "samples": [], "requests": None,
        "error": None,
    }  # fmt: skip


def measure(options: argparse.Namespace, files: FileSet) -> dict[str, Any]:
    """Run the chosen tasks."""
    definition = catalogue.load("remote")
    bench = Bench(options, files)
    cases = [find_case(name, files) for name in options.cases]
    start = time.monotonic()
    with stores(options.stores, files.directory, trace=False) as timed:
        with stores(options.stores, files.directory, trace=True) as counted:
            if "wall" in options.tasks:
                for case in cases:
                    bench.walls(case, timed, counted)
            if "lists" in options.tasks:
                bench.lists(timed, counted)
            if "peers" in options.tasks:
                for case in cases:
                    if case.name.partition(":")[0] in definition["peers"]["datasets"]:
                        bench.peers(case, timed, counted)
        if "efficiency" in options.tasks:
            bench.efficiency(find_case(definition["efficiency"]["case"], files), timed)
    print(f"measured in {time.monotonic() - start:.0f} s")
    return bench.result


def main() -> int:
    """Return 1 if something was read wrongly or not at all."""
    result = report(parse(), RESULT, measure, render, "bench-remote")
    failed = [
        row for task in ("rows", "efficiency", "lists", "peers") for row in result[task] if row["error"]
    ]
    for row in failed:
        who = row.get("store") or row.get("reader") or row["engine"]
        print(f"!! {row['case']} {who}: {row['error']}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
