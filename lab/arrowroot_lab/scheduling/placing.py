"""Where a job would run best: its CPU efficiency at each site and storage that was measured."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from arrowroot_lab.errors import RequestError
from arrowroot_lab.mining.results import natural

from .model import Need, factor_of, fitted, need_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .cells import Cell
    from .model import Model

#: Predictions of cells that the fit had not seen are to be within this share.
WANTED_ERROR = 0.15
#: A means is fitted to so many cells at least: it has four numbers.
_LEAST_CELLS = 4


@dataclass(frozen=True)
class Job:
    """The job that is to be run."""

    #: Globs of columns, or the name of a workload of the grid; None: told by ``share``.
    columns: tuple[str, ...] | None
    #: The share of the file's bytes that it reads; None: told by ``columns``.
    share: float | None
    n_entries: float | None
    #: CPU time of the job's own, for each entry, or for all.
    cpu_ns_per_entry: float = 0.0
    cpu_ns: float = 0.0
    #: The name of a workload, which may have commas of its own; None: no other than ``columns`` say.
    workload: str | None = None


@dataclass(frozen=True)
class Placed:
    """The job at one site and storage, by one means."""

    site: str
    storage: str
    engine: str
    version: str
    strategy: str
    wall_ns: float
    cpu_ns: float
    latency_ns: float
    bytes_per_s: float
    #: Cores that the grid's cells were read with.
    n_cores: int
    #: The date of the newest cell of this place and means.
    measured_at: str

    @property
    def cpu_efficiency(self) -> float:
        """CPU time over wall time and cores."""
        return self.cpu_ns / (self.wall_ns * self.n_cores)


class Grid:
    """The measured cells, and the models of all means."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        """Raises: RequestError if there are too few cells for any means."""
        self.cells = list(cells)
        self._by_means: dict[tuple[str, str, str, bool], list[Cell]] = {}
        for cell in self.cells:
            self._by_means.setdefault(cell.means, []).append(cell)
        self._models: dict[tuple[str, str, str, bool], Model] = {
            means: fitted(members)
            for means, members in self._by_means.items()
            if len(members) >= _LEAST_CELLS and len({cell.latency_ns for cell in members}) > 1
        }
        if not self._models:
            raise RequestError(
                f"{len(self.cells)} cells are no grid: a means (engine and strategy) needs {_LEAST_CELLS} cells that "
                "read, over storages with several latencies"
            )

    def left_out(self) -> list[str]:
        """Return the storages with engines that have no model, as too few cells were read so."""
        left = {
            f"{cell.storage} ({cell.engine})": None for cell in self.cells if cell.means not in self._models
        }
        return list(left)

    def predicted(self, cell: Cell) -> float | None:
        """Return the CPU efficiency that the grid predicts for a cell, which need not be its own; None: it cannot.

        A cell counts by what a job tells of it: columns, entries, work, and its place with the line.
        """
        model = self._models.get(cell.means)
        alike = [one for one in self._by_means.get(cell.means, ()) if one.what == cell.what]
        if model is None or not alike:
            return None
        need = self._need(alike, cell, cell.n_entries, cell.work_ns)
        return need.busy_ns / model.wall_ns(need, self._factor(model, cell))

    def place(self, job: Job) -> list[Placed]:
        """Return the job at all places, the shortest first.

        Raises: RequestError if no cell has read what the job reads.
        """
        found = []
        for means, model in self._models.items():
            members = self._by_means[means]
            alike = [cell for cell in members if _reads(cell, job)] if job.share is None else members
            if not alike:
                continue
            # If several workloads match, the one that reads most of the entries tells most.
            n_entries = job.n_entries or max(cell.n_entries for cell in alike)
            work_ns = job.cpu_ns + job.cpu_ns_per_entry * n_entries
            for place in dict.fromkeys(cell.place for cell in members):
                there = [cell for cell in members if cell.place == place]
                like = replace(there[0], n_entries=n_entries, work_ns=work_ns)
                if job.share is not None:
                    need = self._need_of_share(members, like, job.share)
                else:
                    need = self._need(_of_one_kind(alike), like, n_entries, work_ns)
                wall_ns = model.wall_ns(need, self._factor(model, like))
                cpu_ns = need.busy_ns * like.n_cores
                line, newest = (need.latency_ns, need.bytes_per_s), max(cell.measured_at for cell in there)
                found.append(Placed(*place, *means[:3], wall_ns, cpu_ns, *line, like.n_cores, newest))
        if not found:
            names = sorted({cell.workload for cell in self.cells}, key=natural)
            raise RequestError(
                f"no cell of the grid has read {', '.join(job.columns or ())}; measured were {'; '.join(names)}: name "
                "one of them, the same columns, or --share"
            )
        return sorted(found, key=lambda one: one.wall_ns)

    def _need(self, alike: Sequence[Cell], like: Cell, n_entries: float, work_ns: float) -> Need:
        """The needs of reading so many entries at a place, from cells that have read the same columns."""
        nearest = _nearest(alike, like)
        # The work of the client is part of it, and each protocol has its own.
        same_kind = [cell for cell in alike if cell.kind == like.kind] or alike
        here = [cell for cell in same_kind if cell.site == like.site] or same_kind
        scale = n_entries / nearest.n_entries
        cpu_ns = statistics.median(cell.cpu_ns / cell.n_entries for cell in here) * n_entries
        told = need_of(nearest)
        return Need(
            busy_ns=(cpu_ns + work_ns) / like.n_cores,
            n_bytes=told.n_bytes * scale,
            n_requests=told.n_requests * scale,
            latency_ns=like.latency_ns,
            bytes_per_s=like.bytes_per_s,
            kind=like.kind,
        )

    def _need_of_share(self, members: Sequence[Cell], like: Cell, share: float) -> Need:
        """The needs of reading a share of the bytes: between the cells that have read the next less and more."""
        points = []
        for what in dict.fromkeys(cell.what for cell in members):
            alike = [cell for cell in members if cell.what == what]
            need = self._need(alike, like, like.n_entries, like.work_ns)
            whole, n_all = alike[0].file_bytes, alike[0].file_entries
            if whole and n_all and need.n_bytes:
                points.append((need.n_bytes / (whole / n_all * like.n_entries), need))
        points.sort()
        if not points:
            raise RequestError(
                "--share: the results do not tell how much of the file was read; tell --columns"
            )
        return _between(points, share, like.work_ns / like.n_cores)

    def _factor(self, model: Model, like: Cell) -> float:
        there = [cell for cell in self._by_means[like.means] if cell.place == like.place]
        return factor_of(model, there)


def _between(points: Sequence[tuple[float, Need]], share: float, work_ns: float) -> Need:
    """The need at a share, in proportion between two points, or to the next one."""
    above = next((n for n, (at, _) in enumerate(points) if at >= share), None)
    if above is None or above == 0:
        at, need = points[-1 if above is None else 0]
        scale = share / at
        busy_ns = (need.busy_ns - work_ns) * scale + work_ns
        return need._replace(
            busy_ns=busy_ns, n_bytes=need.n_bytes * scale, n_requests=need.n_requests * scale
        )
    (low, less), (high, more) = points[above - 1], points[above]
    part = (share - low) / (high - low) if high > low else 1.0

    def between(old: float, new: float) -> float:
        return old + part * (new - old)

    return less._replace(
        busy_ns=between(less.busy_ns, more.busy_ns),
        n_bytes=between(less.n_bytes, more.n_bytes),
        n_requests=between(less.n_requests, more.n_requests),
    )


def _nearest(alike: Sequence[Cell], like: Cell) -> Cell:
    """The cell whose line is most like another's: how reads are cut may depend on it."""

    def distance(cell: Cell) -> tuple[bool, bool, float]:
        return cell.place != like.place, cell.kind != like.kind, abs(cell.latency_ns - like.latency_ns)

    return min(alike, key=distance)


def _reads(cell: Cell, job: Job) -> bool:
    """True if a cell has read the columns of a job: its workload is named so, or has the same globs in any order."""
    wanted = job.columns or ()
    if cell.workload == job.workload:
        return True
    if wanted == ("*",):
        return cell.columns is None
    return any(fnmatchcase(cell.workload, name) for name in wanted) or sorted(cell.columns or ()) == sorted(
        wanted
    )


def _of_one_kind(alike: Sequence[Cell]) -> list[Cell]:
    """The cells that have read the same as the one with the most entries."""
    most = max(alike, key=lambda cell: cell.n_entries)
    return [cell for cell in alike if cell.what == most.what]


def errors(cells: Sequence[Cell]) -> list[tuple[Cell, float]]:
    """Return by which share the CPU efficiency of each cell is off if the grid has all others alone.

    Cells that the others cannot predict are left out: no other has read the same columns by the same means.
    """
    told: list[tuple[Cell, float]] = []
    for cell in cells:
        try:
            grid = Grid(one for one in cells if one is not cell and one.means == cell.means)
        except RequestError:
            continue
        efficiency = grid.predicted(cell)
        if efficiency is not None:
            told.append((cell, efficiency / cell.cpu_efficiency - 1))
    return told
