"""How long cases take of which nothing is measured: from sizes, lines, and what engines were measured to cost.

The constants, and those of engines, are medians of the campaign ``storages`` on two cores; docs/lab/campaigns.md says
how far off they are.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.campaign.model import Storage
from arrowroot_lab.engines.catalogue import engine_of, is_exact

if TYPE_CHECKING:
    from arrowroot_lab.campaign.datasets import FoundDataset
    from arrowroot_lab.campaign.model import Case, Dataset, EngineChoice
    from arrowroot_lab.campaign.providers import Cost

#: Nine of ten estimates are within this factor of what was measured.
FACTOR = 3.0


#: Bytes of a round trip of strategies that ask for each basket, or for a window, on its own.
_BASKET_BYTES = 32e3
_WINDOWS = {"readahead": 512e3, "lazy-download": 128e6}
#: Entry by entry, one buffer is thrown away at most jumps: each of its bytes is asked for so often.
_OVER_READ = 4.0

#: The time around a sample besides: two control kernels, readings, and what makes the storage what it is called.
_AROUND_NS = 0.18e9
#: Bytes a second of a storage without a line, of a cold disk, and through a cache from its origin.
_NEAR_BYTES_PER_S, _DISK_BYTES_PER_S = 1e9, 200e6
#: A round trip without a line: the server's own time.
_NEAR_TRIP_NS = 0.3e6
#: A cache that is cold opens the file at its origin first, in so many round trips.
_COLD_CACHE_TRIPS = 7.0

#: Bytes of an entry of which nobody knows.
_ENTRY_BYTES = 2e3
#: Columns that somebody names are larger than most, as so many are flags.
_NAMED_TIMES = 2.2
#: Globs mean about this share of a dataset whose columns nobody knows yet.
_GLOB_SHARE = 0.5

#: Making a byte of a dataset, once, with its hashes.
_MADE_BYTE_NS = 250.0

#: A rehearsal computes checksums, and another engine reads the same: about so many samples' time.
N_REHEARSALS = 2
#: Local files are read so often for a trace.
_N_READINGS = 5


def size_of(dataset: Dataset, found: FoundDataset | None) -> float | None:
    """Return the bytes of a dataset: of its files, of its recipe; None if only making it tells."""
    if found is not None:
        return float(found.identity.file_bytes)
    return None if dataset.recipe is None else dataset.recipe.about_bytes


class Drawn(NamedTuple):
    """The reading of a sample, by all of its processes."""

    n_bytes: float
    n_requests: float


def drawn(case: Case, found: FoundDataset | None) -> Drawn | None:
    """Return what a sample of a case draws from its storage; None if nobody can tell."""
    size = size_of(case.dataset, found)
    if size is None or case.workload.kind == "program":
        return None
    moved, n_trips = _moved(case, found, size)
    return Drawn(case.workload.workers * moved, case.workload.workers * n_trips)


def sample_ns(case: Case, found: FoundDataset | None) -> float | None:
    """Return the time that a sample of a case will say that it took; None if nobody can tell.

    found: its dataset, if it is there
    """
    size = size_of(case.dataset, found)
    if case.workload.kind == "program":
        return case.workload.about_ns
    if size is None:
        return None
    cost, workload = _cost(case.engine), case.workload
    n_bytes = size * _share_of_columns(case, found) / workload.workers
    n_entries = _n_entries(case, found, size) / workload.workers
    cpu_ns = cost.open_ns + n_bytes * cost.byte_ns / max(1, workload.threads)
    if workload.kind == "write":
        cpu_ns *= 3
    cpu_ns += n_entries * workload.work_ns_per_entry
    trip_ns, bytes_per_s = _line(case.storage)
    moved, n_trips = _moved(case, found, size)
    if case.storage.kind == "xcache" and not case.storage.is_cache_warm:
        n_trips += _COLD_CACHE_TRIPS
    if bytes_per_s:
        moved *= workload.workers  # which share it
    return cpu_ns + n_trips * trip_ns + (moved / bytes_per_s * 1e9 if bytes_per_s else 0.0)


def is_in_virtual_time(case: Case) -> bool:
    """True if its samples are replays of one trace, as far as the list of engines tells."""
    return is_exact(engine_of(case.engine).can or (), case)


def case_ns(case: Case, found: FoundDataset | None, repeats: int, told_ns: float) -> float:
    """Return the time that a run takes for a case, of whose samples each takes ``told_ns``."""
    start_ns = _cost(case.engine).start_ns
    around_ns = start_ns + _AROUND_NS
    if is_in_virtual_time(case):
        # In virtual time nothing waits: what takes time is reading the local files, for traces and values.
        local_ns = local_sample_ns(case, found) or 0.0
        return around_ns + (_N_READINGS + N_REHEARSALS) * (local_ns + start_ns)
    return (repeats + N_REHEARSALS) * (told_ns + around_ns)


def prediction_ns(case: Case, found: FoundDataset | None) -> float | None:
    """Return the time that a run takes to predict a case, of which it measures nothing then."""
    local_ns = local_sample_ns(case, found)
    return None if local_ns is None else local_ns + 2 * _cost(case.engine).start_ns


def local_sample_ns(case: Case, found: FoundDataset | None) -> float | None:
    """Return the time of a sample of a case if its files were in memory."""
    return sample_ns(replace(case, storage=Storage("memory", "local")), found)


def making_ns(dataset: Dataset) -> float | None:
    """Return the time that a dataset takes to be made and hashed; None if nobody can tell."""
    size = size_of(dataset, None)
    return None if size is None else size * _MADE_BYTE_NS


def environment_ns(engine: EngineChoice) -> float:
    """Return the time that the environment of an engine takes to be built or installed."""
    return engine_of(engine).family.made_ns


def _moved(case: Case, found: FoundDataset | None, size: float) -> Drawn:
    """The bytes and round trips of one of the processes of a case, whose dataset has so many bytes."""
    n_bytes = size * _share_of_columns(case, found) / case.workload.workers
    cost = _cost(case.engine)
    moved = n_bytes * (_OVER_READ if _is_thrown_away(case) else 1.0)
    if case.strategy.name == "lazy-download":
        moved = size
    return Drawn(moved, cost.n_open_trips + n_bytes / _trip_bytes(case, cost))


def _cost(engine: EngineChoice) -> Cost:
    return engine_of(engine).family.cost


def _share_of_columns(case: Case, found: FoundDataset | None) -> float:
    """The share of the file's bytes that its columns are; baskets are read whole, whatever entries are wanted."""
    workload, recipe = case.workload, case.dataset.recipe
    names = found.identity.columns if found else ()
    share = 1.0
    if workload.columns is not None:
        n_all = len(names) or (recipe.about_columns if recipe else None)
        if n_all is None or (not names and any("*" in glob for glob in workload.columns)):
            share = _GLOB_SHARE
        else:
            named = [name for name in names if any(fnmatchcase(name, glob) for glob in workload.columns)]
            n_chosen = len(named) or len(workload.columns)
            share = min(1.0, _NAMED_TIMES * n_chosen / n_all)
    return share * (workload.column_share or 1.0)


def _n_entries(case: Case, found: FoundDataset | None, size: float) -> float:
    recipe = case.dataset.recipe
    if case.workload.entry_list is not None:
        return float(case.workload.n_listed)
    if found is not None:
        n = float(found.identity.n_entries)
    elif recipe is not None and recipe.about_entries is not None:
        n = float(recipe.about_entries)
    else:
        n = size / _ENTRY_BYTES
    return n * (case.workload.entry_share or 1.0)


def _line(storage: Storage) -> tuple[float, float]:
    """A round trip in ns, and bytes a second (0: no limit), of what reads wait for: of a cold cache its origin."""
    line = storage.line or (None if storage.is_cache_warm else storage.origin_line)
    if line is not None:
        return float(line.latency_ns) or _NEAR_TRIP_NS, line.bytes_per_s or _NEAR_BYTES_PER_S
    if storage.kind == "local":
        return 0.0, _DISK_BYTES_PER_S if storage.is_cold else 0.0
    return _NEAR_TRIP_NS, _NEAR_BYTES_PER_S


def _trip_bytes(case: Case, cost: Cost) -> float:
    strategy = case.strategy
    if strategy.name == "direct":
        return _BASKET_BYTES
    if strategy.name in _WINDOWS:
        window = strategy.cache_bytes or _WINDOWS[strategy.name]
        return window / (_OVER_READ if _is_thrown_away(case) else 1.0)
    return min(cost.trip_bytes, strategy.cache_bytes or math.inf)


def _is_thrown_away(case: Case) -> bool:
    return case.strategy.name == "readahead" and case.workload.order == "entry"
