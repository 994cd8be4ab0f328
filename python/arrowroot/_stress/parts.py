"""The parts of the stress: small, fixed work of each kind, on data that are the same on every machine."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import arrowroot
from arrowroot import ArrowrootError
from arrowroot._report.replay import Line, Protocol, replay
from arrowroot._report.trace import logical_of
from arrowroot._sample.make import sample_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

#: Entries of the events that are read, with some 940 columns, and of those with lists of records.
N_ENTRIES, N_OBJECTS = 25_000, 5_000
CODECS = ("zlib:1", "lz4:4", "zstd:5", "lzma:1")
#: The data that the codecs compress, and that is written: columns of numbers, and of lists of numbers.
PHYSICS = (
    "run",
    "luminosityBlock",
    "event",
    "nJet",
    "nMuon",
    "nElectron",
    "Jet_",
    "Muon_",
    "Electron_",
    "MET_",
)
TEN = ("run", "event", "nMuon", "Muon_pt", "Muon_eta", "Muon_phi", "nJet", "Jet_pt", "Jet_eta", "MET_pt")
FILTER = "nMuon >= 2 && Muon_pt[0] > 20"
#: Lines of the replays: a round trip in seconds, and bytes a second.
LINES = {"campus, 5 ms": (5e-3, 12e6), "continent, 50 ms": (50e-3, 100e6)}
STRATEGIES = ("auto", "treecache")
#: The opening of one file takes a few milliseconds: so often it is opened.
_N_OPENINGS = 10


@dataclass(frozen=True)
class Part:
    """One kind of work."""

    #: Parts of one group count together as much as those of any other.
    group: str
    name: str
    #: Does the work, and returns the time that it took in virtual time, in ns; None: it is to be timed.
    work: Callable[[], int | None]
    #: Uncompressed bytes that are gone through, for a rate; None: it has none.
    n_bytes: int | None = None

    @property
    def key(self) -> str:
        """Its name with that of the group."""
        return f"{self.group}: {self.name}"

    def take_ns(self) -> int:
        """Do the work once, and return how long it took."""
        begin = time.perf_counter_ns()
        told = self.work()
        return time.perf_counter_ns() - begin if told is None else told


@dataclass
class Parts:
    """All parts, with their files in a directory."""

    directory: Path
    #: Told what is made.
    tell: Callable[[str], None] = lambda _: None
    parts: list[Part] = field(default_factory=list)

    def make(self) -> list[Part]:
        """Make the files, look whether they are read as they were written, and return the parts.

        Raises: ArrowrootError if what is read is not what was written.
        """
        self.tell("making events")
        sample = sample_of("nanoaod", n_entries=N_ENTRIES)
        batches = list(sample.batches())
        physics = _chosen(batches)
        self._codecs(physics)
        self.tell("writing events")
        whole = self._path("events")
        arrowroot.write(f"{whole}:T", iter(batches), compression="zstd:5", flush="5 MB")
        ntuple = self._path("ntuple")
        arrowroot.write(f"{ntuple}:T", physics, layout="rntuple", compression="zstd:5")
        objects = self._path("objects")
        records = sample_of("aod", n_entries=N_OBJECTS)
        arrowroot.write(f"{objects}:T", records.batches(), compression="zstd:5")
        _check(ntuple, physics)
        self._reading(whole, ntuple, objects)
        self._writing(physics)
        self._finding(whole)
        self._remote(whole)
        return self.parts

    def _path(self, name: str) -> Path:
        return self.directory / f"{name}.root"

    def _add(self, group: str, name: str, work: Callable[[], Any], n_bytes: int | None = None) -> None:
        def timed() -> None:
            work()

        self.parts.append(Part(group, name, timed, n_bytes))

    def _codecs(self, physics: pa.Table) -> None:
        for codec in CODECS:
            self.tell(f"compressing by {codec}")
            path = self._path(codec.replace(":", ""))
            arrowroot.write(f"{path}:T", physics, compression=codec)
            _check(path, physics)
            self._add("decode", codec, partial(_read, path), physics.nbytes)

    def _reading(self, whole: Path, ntuple: Path, objects: Path) -> None:
        add = self._add
        add("columns", "all, one thread", lambda: _read(whole), _values_bytes(whole))
        add("columns", "all, all cores", lambda: _read(whole, n_threads=0), _values_bytes(whole))
        add("columns", "ten of all", lambda: _read(whole, list(TEN)), _values_bytes(whole, list(TEN)))
        add("columns", "of an RNTuple", lambda: _read(ntuple), _values_bytes(ntuple))
        add("columns", "lists of records", lambda: _read(objects), _values_bytes(objects))
        add("columns", "that a filter selects", lambda: _read(whole, list(TEN), filter=FILTER))
        add("opening", "a file of 940 columns", partial(_open, whole))

    def _writing(self, physics: pa.Table) -> None:
        for layout in ("ttree", "rntuple"):
            out = self._path(f"out-{layout}")

            def write(out: Path = out, layout: str = layout) -> None:
                arrowroot.write(f"{out}:T", physics, layout=layout, compression="zstd:5", n_threads=1)

            self._add("writing", layout, write, physics.nbytes)

    def _finding(self, whole: Path) -> None:
        index = self.directory / "index.parquet"

        def make() -> None:
            out = self.directory / "made.parquet"
            arrowroot.index([f"{whole}:T"], out, columns=["run", "luminosityBlock", "event"])
            # A file that is there would not be read again.
            out.unlink()
            shutil.rmtree(f"{out}.parts", ignore_errors=True)

        made = arrowroot.index([f"{whole}:T"], index, columns=["run", "luminosityBlock", "event"])
        ids = arrowroot.open(whole)["T"].to_arrow(list(made.events.columns))
        step = max(1, ids.num_rows // 50)
        wanted = [tuple(row.values()) for row in ids.take(list(range(0, ids.num_rows, step))).to_pylist()]
        self._add("index", "of all events", make)
        self._add("index", "fifty events picked", lambda: arrowroot.pick(index, wanted, columns=list(TEN)))

    def _remote(self, whole: Path) -> None:
        """Replays of what was needed: in virtual time, so the same on every machine until the strategies change."""
        for name, columns in (("ten columns", list(TEN)), ("all columns", None)):
            with arrowroot.open(whole) as file:
                scan = file["T"].scan(columns, n_threads=1, strings="binary", trace=True)
                scan.drain()
                logical, size = logical_of(scan.logical_reads()), file.size_bytes
            for place, (latency_s, bytes_per_s) in LINES.items():
                protocol = Protocol.of_any("xrootd", latency_s)
                line = Line(latency_s, bytes_per_s, protocol.max_parallel, 2, protocol)
                for strategy in STRATEGIES:

                    def work(
                        logical: Any = logical, size: int = size, line: Line = line, strategy: str = strategy
                    ) -> int:
                        return replay(logical, size, line, {"strategy": strategy}, n_threads=0).wall_ns

                    self.parts.append(Part("remote", f"{name}, {place}, {strategy}", work))


def _chosen(batches: list[pa.RecordBatch]) -> pa.Table:
    import pyarrow as pa

    table = pa.Table.from_batches(batches)
    whole = [name for name in PHYSICS if not name.endswith("_")]
    parts = tuple(name for name in PHYSICS if name.endswith("_"))
    return table.select([name for name in table.column_names if name in whole or name.startswith(parts)])


def _read(path: Path, columns: list[str] | None = None, *, n_threads: int = 1, **options: Any) -> Any:
    with arrowroot.open(path) as file:
        return file["T"].scan(columns, n_threads=n_threads, strings="binary", **options).drain()


def _values_bytes(path: Path, columns: list[str] | None = None) -> int:
    return int(_read(path, columns).values_bytes)


def _open(path: Path) -> None:
    for _ in range(_N_OPENINGS):
        with arrowroot.open(path) as file:
            file["T"].scan(list(TEN), n_threads=1)


def _check(path: Path, written: pa.Table) -> None:
    """Raise if a file is not read as it was written: wrong values are worth nothing, however fast."""
    with arrowroot.open(path) as file:
        table = file["T"].to_arrow()
    for name in written.column_names:
        if table[name].to_pylist() != written[name].to_pylist():
            raise ArrowrootError(f"{path.name}: column {name} is not read as it was written")
