"""Measures remote reading from real servers behind a simulated line, beside what it allows: ``make bench-remote``.

Uses the data of the peers kit, and the kit's own ``remote`` beside it (the task ``peers``). METHODOLOGY.md says
what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
sys.path[:0] = [str(HERE), str(REPOSITORY)]
from tests.servers import S3, Nginx, NotInstalledError, Relay, XRootD  # noqa: E402

import arrowroot  # noqa: E402
import entry_lists  # noqa: E402
import run  # noqa: E402
from remote_tables import render  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Ask = Callable[[dict[str, Any], dict[str, str]], dict[str, Any]]

BEGIN, END = "<!-- bench-remote:begin -->", "<!-- bench-remote:end -->"
RESULT = run.RESULTS / "remote.json"
TIMEOUT_S = 300
STORES = ("root", "http", "s3")
LINKS = ((5.0, 100.0), (50.0, 100.0), (5.0, 12.0), (50.0, 12.0))
CASES = ("flat:s10", "flat:c2", "flat:s10_el1", "nano:s10", "nano:c2", "nano:s10_el1")
TASKS = ("wall", "efficiency", "lists", "peers")
#: Of a few entries from all over the file.
LIST_CASES = ("flat:s10", "nano:s10")
#: Of the scan that shows whether reading and decoding overlap, and the round trips of its table in ms.
EFFICIENCY_CASE, EFFICIENCY_MB_PER_S, EFFICIENCY_MS = "flat:j10", 100.0, (5.0, 20.0, 50.0, 150.0)
#: Of the peers: ROOT's default tree cache, its asynchronous prefetching, uproot.
PEERS = "root-default,root-prefetch,uproot-xrootd,uproot-http"


@dataclass(frozen=True)
class Case:
    """What is read."""

    name: str
    file: Path
    tree: str
    columns: list[dict[str, Any]]
    entries: str | None
    #: Stored bytes of the baskets that it needs, with their keys.
    baskets_bytes: int
    #: Stored bytes of the tree's record, without which nobody finds them.
    record_bytes: int

    def job(self, **more: Any) -> dict[str, Any]:
        """The case as a job of the engine (the kit's protocol)."""
        return {
            "task": "remote", "file": None, "url": None, "dataset": self.name.partition(":")[0], "format": "ttree",
            "tree": self.tree, "columns": self.columns, "entries": self.entries,
            "warm_up": str(run.peers_directory() / "warm_up.root"), **more,
        }  # fmt: skip


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


def parser_of(
    doc: str | None, cases: Sequence[str], links: Sequence[tuple[float, float]]
) -> argparse.ArgumentParser:
    """The options of all that measures behind a line: what is measured by default is given."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    lines = lambda text: [tuple(map(float, line.split(":"))) for line in run.names(text)]  # noqa: E731
    told = ",".join(f"{ms:g}:{rate:g}" for ms, rate in links)
    parser.add_argument("--cases", type=run.names, default=list(cases), help=f"default: {','.join(cases)}")
    parser.add_argument("--stores", type=run.names, default=list(STORES), help=f"default: {','.join(STORES)}")
    parser.add_argument("--links", type=lines, default=list(links), help=f"MS:MB_PER_S,... (default: {told})")
    parser.add_argument("--prepared", action="store_true", help="the kit and its data are there: don't look")
    parser.add_argument("--reuse", action="store_true", help="measure nothing: tables of the last results")
    parser.add_argument("--update-docs", action="store_true", help="write the tables into docs/measured.md")
    parser.set_defaults(scale=1.0, codecs=["zstd"], peers=None)
    return parser


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = parser_of(__doc__, CASES, LINKS)
    parser.add_argument(
        "--tasks", type=run.names, default=list(TASKS), help=f"of {','.join(TASKS)} (default: all)"
    )
    parser.add_argument("--threads", type=int, default=2, help="of arrowroot (default 2)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, in turns (default 3)")
    parser.add_argument("--handshake", action="store_true", help="a new connection costs a round trip, too")
    return parser.parse_args()


def find_case(name: str) -> Case:
    """Look a case up in the kit's specification of its data set."""
    dataset, _, case = name.partition(":")
    directory = run.peers_directory() / "data" / "default"
    spec = json.loads((directory / "spec" / f"{dataset}.json").read_text())
    chosen = spec["cases"][case]
    path, entries = directory / f"{dataset}_zstd.root", directory / "spec" / f"{dataset}.entries"
    sampled = entries if chosen["sampled"] else None
    names = [column["name"] for column in chosen["columns"]]
    return Case(
        name, path, spec["tree"], chosen["columns"], str(sampled) if sampled else None,
        needed_bytes(path, spec["tree"], names, sampled), record_bytes(path, spec["tree"]),
    )  # fmt: skip


def needed_bytes(path: Path, tree: str, columns: list[str], entries: Path | None) -> int:
    """Stored bytes of the baskets that hold the columns, keys included, for the entries in a file.

    The kit's own figure has no keys, and the baskets of counters, which nobody has to read.
    """
    chosen = np.loadtxt(entries, dtype=np.int64, ndmin=1) if entries else None
    with arrowroot.open(path) as file:
        return file[tree].scan(columns, entries=chosen).plan.payload_bytes


@cache
def record_bytes(path: Path, tree: str) -> int:
    """Stored bytes of a tree's record, as its key in the file says."""
    with arrowroot.open(path) as file:
        return max((key.cycle, key.stored_bytes) for key in file.keys() if key.path == tree)[1]  # noqa: SIM118


class Store:
    """A server of the data, with its relay, and how the engine reaches a file there."""

    def __init__(self, kind: str, directory: Path, stack: ExitStack, *, trace: bool) -> None:
        self.server: Any = {
            "root": lambda: XRootD(directory, trace=trace),
            "http": lambda: Nginx(directory),
            "s3": lambda: S3(trace=trace),
        }[kind]()
        stack.enter_context(self.server)
        self.relay = stack.enter_context(Relay(self.server.port))
        self.environment: dict[str, str] = {}
        if kind == "s3":
            for path in directory.glob("*_zstd.root"):
                self.server.link(path.name, path)
            self.environment = {
                **self.server.environment,
                "AWS_ENDPOINT_URL": self.server.endpoint(self.relay.port),
                "ARROWROOT_S3_ENDPOINT": self.server.endpoint(self.relay.port),
            }

    def read(self, case: Case, ask: Ask | None = None, **more: Any) -> dict[str, Any]:
        """One sample: a fresh process reads the case; of arrowroot unless another is asked."""
        self.relay.cut()
        self.relay.counts()
        job = case.job(url=self.server.url(case.file.name, self.relay.port), **more)
        answer = (ask or ask_engine)(job, self.environment)
        counts = self.relay.counts()
        return answer | {"wire_bytes": counts.bytes_down, "connections": counts.connections}

    def n_requests(self) -> int:
        """Requests for files so far, by the server's log; for XRootD those that read or open."""
        counted = ("GET", "HEAD", "open", "stat", "read", "readv", "pgread")
        return sum(request.method in counted for request in self.server.requests())


@contextmanager
def stores(kinds: list[str], directory: Path, *, trace: bool) -> Iterator[dict[str, Store]]:
    """Start the servers; they end with the block."""
    with ExitStack() as stack:
        yield {kind: Store(kind, directory, stack, trace=trace) for kind in kinds}


def ask_engine(job: dict[str, Any], environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Let a fresh process do a job. Returns its answer; ``error`` if it failed."""
    done = subprocess.run(
        [sys.executable, str(HERE / "peers_engine.py")],
        input=json.dumps(job), capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env=os.environ | (environment or {}),
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        return {"error": done.stderr.strip()[-1000:] or f"status {done.returncode}"}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


class Bench:
    """Rows of all tasks, saved after each case."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.result: dict[str, Any] = {
            "date": run.today(),
            "repeat": options.repeat, "threads": options.threads, "handshake": options.handshake,
            "machine": machine(), "rows": [], "efficiency": [], "lists": [], "peers": [],
        }  # fmt: skip
        self._local: dict[tuple[str, int, bool], dict[str, Any]] = {}

    def local(self, case: Case, threads: int, *, streamed: bool = False) -> Row:
        """The local read of a case, which is also what its content must be."""
        row = Row.of(case, "local", 0, 0)
        warm(case.file)
        for _ in range(max(3, self._options.repeat)):
            answer = ask_engine(case.job(file=str(case.file), threads=threads, streamed=streamed))
            if "wall_ns" not in answer:
                sys.exit(f"{case.name} cannot be read locally: {answer}")
            row.samples.append(answer)
        self._local[case.name, threads, streamed] = row.samples[0]["checksum"]
        return row

    def sample(self, row: Row, store: Store, case: Case, threads: int, *, streamed: bool = False) -> None:
        """Add one sample to a row, if its content is right."""
        store.relay.link(row.latency_ms, row.mb_per_s, handshake=self._options.handshake)
        answer = store.read(case, threads=threads, streamed=streamed)
        if "wall_ns" not in answer:
            row.error = str(answer.get("error") or answer.get("unsupported"))
        elif answer.pop("checksum") != self._local[case.name, threads, streamed]:
            row.error = "wrong content"
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
                if "error" not in tracing.read(case, threads=threads):
                    row.requests = tracing.n_requests() - before
            rows += group
        self.result["rows"] += [asdict(row) for row in rows]
        self.save()

    def efficiency(self, case: Case, timed: dict[str, Store]) -> None:
        """A streamed scan on one thread over longer and longer round trips."""
        rows = [self.local(case, 1, streamed=True)]
        group = [
            Row.of(case, kind, latency_ms, EFFICIENCY_MB_PER_S)
            for kind in timed for latency_ms in EFFICIENCY_MS
        ]  # fmt: skip
        for _ in range(self._options.repeat):
            for row in group:
                self.sample(row, timed[row.store], case, 1, streamed=True)
        self.result["efficiency"] = [asdict(row) for row in rows + group]
        self.save()

    def lists(self, timed: dict[str, Store], counted: dict[str, Store]) -> None:
        """A few entries from all over a file, beside ROOT."""
        for name in LIST_CASES:
            rows = entry_lists.measure(find_case(name), timed, counted, self._options.repeat)
            self.result["lists"] += [asdict(row) for row in rows]
        self.save()

    def peers(self) -> None:
        """The kit's own remote, with its own relay, arrowroot among its engines."""
        kit = run.kit_directory()
        cases = [name for name in self._options.cases if name.startswith("flat:")]
        self.result["peers"] = run.call_kit(kit, "remote", "remote-peers", [
            "--formats", "ttree",
            "--cases", ",".join(cases), "--codecs", "zstd", "--engines", PEERS,
            "--networks", ",".join(f"{ms:g}:{rate:g}" for ms, rate in self._options.links),
            "--repeat", str(self._options.repeat), "--threads", str(self._options.threads),
        ])["cases"]  # fmt: skip
        self.save()

    def save(self) -> None:
        """Keep every sample."""
        RESULT.write_text(json.dumps(self.result))


def warm(path: Path) -> None:
    """Read a file once, so that it is in the page cache."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def machine() -> str:
    """The kind of machine, without anything that tells which one."""
    cpus = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = cpus[0].partition(":")[2].strip() if cpus else platform.machine()
    return f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start"


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the chosen tasks."""
    run.RESULTS.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    cases = [find_case(name) for name in options.cases]
    directory = run.peers_directory() / "data" / "default"
    start = time.monotonic()
    try:
        with stores(options.stores, directory, trace=False) as timed:
            with stores(options.stores, directory, trace=True) as counted:
                if "wall" in options.tasks:
                    for case in cases:
                        bench.walls(case, timed, counted)
                if "lists" in options.tasks:
                    bench.lists(timed, counted)
            if "efficiency" in options.tasks:
                bench.efficiency(find_case(EFFICIENCY_CASE), timed)
    except NotInstalledError as lack:
        sys.exit(f"cannot measure: {lack}")
    if "peers" in options.tasks:
        bench.peers()
    print(f"measured in {time.monotonic() - start:.0f} s")
    return bench.result


def report(
    options: argparse.Namespace,
    kept: Path,
    measure: Callable[[argparse.Namespace], dict[str, Any]],
    render: Callable[[dict[str, Any]], str],
    marks: tuple[str, str],
) -> dict[str, Any]:
    """Measure, or take what was kept; print the tables, and write them between the page's marks if that is asked."""
    if options.reuse:
        result: dict[str, Any] = json.loads(kept.read_text())
    else:
        if not options.prepared:
            run.prepare(run.kit_directory(), options)
        result = measure(options)
    tables = render(result)
    print(f"\n{tables}")
    if options.update_docs:
        run.update_page(run.MEASURED, tables, *marks)
    return result


def main() -> int:
    """Return 1 if something was read wrongly or not at all."""
    result = report(parse(), RESULT, measure, render, (BEGIN, END))
    failed = [row for row in result["rows"] + result["efficiency"] + result["lists"] if row["error"]]
    for row in failed:
        print(f"!! {row['case']} {row.get('store') or row['reader']}: {row['error']}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
