"""Real servers behind a simulated line, and the cases that are read from them."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import arrowroot
from arrowroot_servers import S3, Nginx, NotInstalledError, Relay, Server, XRootD

from . import catalogue
from .data import FileSet
from .pages import names, update_page
from .paths import MEASURED
from .runner import ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from .catalogue import Engine

Link = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """The tree, columns and entries that are read."""

    name: str
    file: Path
    tree: str
    columns: list[dict[str, Any]]
    entries: str | None
    #: Of the whole tree.
    n_entries: int
    #: Stored bytes of the baskets that it needs, with their keys.
    baskets_bytes: int
    #: Stored bytes of the tree's record, without which nobody finds them.
    record_bytes: int

    def job(self, **more: Any) -> dict[str, Any]:
        """The case as a job of an engine."""
        return {
            "task": "remote", "file": None, "url": None, "dataset": self.name.partition(":")[0], "format": "ttree",
            "tree": self.tree, "columns": self.columns, "entries": self.entries, **more,
        }  # fmt: skip


def find_case(name: str, files: FileSet) -> Case:
    """Look a case up in the specification of its data set."""
    of, _, case = name.partition(":")
    dataset = files.dataset(of)
    path, tree = dataset.path(catalogue.load("remote")["codec"], "ttree"), dataset.dataset.tree
    columns, entries = dataset.columns(case), dataset.entries(case)
    needed = needed_bytes(path, tree, [column["name"] for column in columns], entries)
    return Case(name, path, tree, columns, entries, dataset.n_entries, needed, record_bytes(path, tree))


def needed_bytes(path: Path, tree: str, columns: list[str], entries: str | None) -> int:
    """Stored bytes of the baskets that hold the columns, keys included, for the entries in a file.

    The list that the limit reads has no keys, but the baskets of counters, which nobody has to read.
    """
    chosen = np.loadtxt(entries, dtype=np.int64, ndmin=1) if entries else None
    with arrowroot.open(path) as file:
        n_bytes: int = file[tree].scan(columns, entries=chosen).plan.payload_bytes
        return n_bytes


@cache
def record_bytes(path: Path, tree: str) -> int:
    """Stored bytes of a tree's record, as its key in the file says."""
    with arrowroot.open(path) as file:
        return max((key.cycle, key.stored_bytes) for key in file.key_list() if key.path == tree)[1]


class Store:
    """A server of the data, with its relay, and how the engine reaches a file there."""

    def __init__(self, kind: str, directory: Path, stack: ExitStack, *, trace: bool) -> None:
        self.environment: dict[str, str] = {}
        s3 = S3(trace=trace) if kind == "s3" else None
        if s3 is not None:
            self.server: Server = s3
        elif kind == "root":
            self.server = XRootD(directory, trace=trace)
        else:
            self.server = Nginx(directory, long_headers=True)
        stack.enter_context(self.server)
        self.relay = stack.enter_context(Relay(self.server.port))
        if s3 is not None:
            for path in directory.glob("*_zstd.root"):
                s3.link(path.name, path)
            endpoint = s3.endpoint(self.relay.port)
            self.environment = {
                **s3.environment,
                "AWS_ENDPOINT_URL": endpoint,
                "ARROWROOT_S3_ENDPOINT": endpoint,
            }

    def read(self, engine: Engine, case: Case, **more: Any) -> dict[str, Any]:
        """One sample: a fresh process of an engine reads the case."""
        self.relay.cut()
        self.relay.counts()
        job = case.job(url=self.server.url(case.file.name, self.relay.port), **more)
        answer = ask(engine, job, self.environment)
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


def parser_of(doc: str | None, cases: Sequence[str], links: Sequence[Link]) -> argparse.ArgumentParser:
    """The options of all that measures behind a line: what is measured by default is given."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    told = ",".join(f"{ms:g}:{rate:g}" for ms, rate in links)
    parser.add_argument("--cases", type=names, default=list(cases), help=f"default: {','.join(cases)}")
    parser.add_argument(
        "--stores",
        type=names,
        default=catalogue.load("remote")["stores"],
        help=f"default: {','.join(catalogue.load('remote')['stores'])}",
    )
    parser.add_argument(
        "--links",
        type=lambda text: [tuple(map(float, line.split(":"))) for line in names(text)],
        default=[tuple(link) for link in links],
        help=f"MS:MB_PER_S,... (default: {told})",
    )
    parser.add_argument("--prepared", action="store_true", help="programs and data are there: don't look")
    parser.add_argument("--reuse", action="store_true", help="measure nothing: tables of the last results")
    parser.add_argument("--update-docs", action="store_true", help="write the tables into docs/measured.md")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the data (default 1)")
    return parser


def report(
    options: argparse.Namespace,
    kept: Path,
    measure: Callable[[argparse.Namespace, FileSet], dict[str, Any]],
    render: Callable[[dict[str, Any]], str],
    marks: str,
) -> dict[str, Any]:
    """Measure, or take what was kept; print the tables, and write them between the page's marks if that is asked."""
    if options.reuse:
        result: dict[str, Any] = json.loads(kept.read_text())
    else:
        files = FileSet.of(None, options.scale)
        if not options.prepared:
            files.make([catalogue.load("remote")["codec"]], ("nano", "flat"))
        kept.parent.mkdir(parents=True, exist_ok=True)
        try:
            result = measure(options, files)
        except NotInstalledError as lack:
            sys.exit(f"cannot measure: {lack}")
    tables = render(result)
    print(f"\n{tables}")
    if options.update_docs:
        update_page(MEASURED, tables, marks)
    return result
