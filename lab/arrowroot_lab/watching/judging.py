"""Is a result what it was in the baseline? Exact counts and values must be equal; memory and time may vary."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from arrowroot_lab.documents import Outcome, in_utc
from arrowroot_lab.mining.metrics import judged, metric
from arrowroot_lab.mining.results import axes_of
from arrowroot_lab.statistics import LEAST, LEAST_SHARED
from arrowroot_lab.store import Filter, summary_of

from .evidence import line_changed
from .findings import Finding, FindingState, Kind

if TYPE_CHECKING:
    from arrowroot_lab.documents import Result, Sample
    from arrowroot_lab.store import Store

    from .findings import Value
    from .sides import Sides

#: More peak memory than this share is told.
LEAST_MEMORY = 0.03
#: Memory varies a little: in so many of the pairs of a sample of each side it must be more.
_SEPARATED = 0.9
#: The times that are judged.
_TIMES = ("wall_ns", "cpu_ns")
_PEAKS = ("peak_rss_bytes", "peak_virtual_bytes")
#: Virtual memory that comes and goes by chance: glibc reserves 64 MiB of addresses for an arena, and how many there are
#: is decided by which threads meet. Source: ``HEAP_MAX_SIZE`` of ``malloc/arena.c`` (glibc 2.36).
_ARENA_BYTES = 64 << 20
#: Layers that count what the kernel and the line do, too, which is never the same twice.
_NOT_EXACT = ("process", "device")
#: Layers that fetch: an engine's requests, what answers them here, the store, and the servers below it.
_FETCHING_LAYERS = frozenset({
    "application", "prefetch", "readahead", "lazy-download", "block-cache", "opening", "store", "attempt", "http",
    "xrootd", "server",
})  # fmt: skip
#: The counts of requests and their bytes. A layer may count other things, as entries, which no line changes.
_FETCHING_COUNTS = frozenset({
    "n_requests", "n_reads", "n_vector_reads", "n_ranges", "n_opens", "n_closes", "n_stats", "n_redirects",
    "n_prefetchs", "n_cache_hits", "n_stage_ins", "n_bytes", "opened_bytes", "overhead_bytes",
})  # fmt: skip
#: Samples that show that a count is the same each time.
_LEAST_SAMPLES = 2
#: The newest results with the same engine and file that are looked at for that.
_MOST_RESULTS = 20


@dataclass
class Judge:
    """Compares results; the store tells which counts were always the same."""

    store: Store
    #: True: a case that was not measured now is an alarm.
    wants_all: bool

    def findings(self, sides: Sides) -> list[Finding]:
        """Return what changed in one case; of a time that it is to be confirmed."""
        before, now = sides.before, sides.now
        if before.outcome is not Outcome.OK:
            return []
        if now is None:
            state, note = FindingState.UNCHECKED, sides.why_none or "not measured since the baseline"
            if self.wants_all:
                state, note = FindingState.ALARM, "the run has no result of it"
            return [_found(sides, Kind.OUTCOME, "outcome", state, before.outcome.value, None, note=note)]
        if now.outcome is not Outcome.OK:
            told = (before.outcome.value, now.outcome.value)
            return [_found(sides, Kind.OUTCOME, "outcome", FindingState.ALARM, *told, note=now.reason or "")]
        times = (_time(sides, now, key) for key in _TIMES)
        of_line = [*self._counters(sides, now), *_memory(sides, now)]
        return [*_values(sides, now), *_told_of_line(of_line, sides, now), *chain(*times)]

    def _counters(self, sides: Sides, now: Result) -> list[Finding]:
        """Counts that were always the same with what was measured before, and are never that now."""
        if not (_is_enough(sides.before) and _is_enough(now)):
            few = f"its counts are not compared: {_LEAST_SAMPLES} samples are needed to see whether they vary"
            return [
                _found(sides, Kind.COUNTER, "counters", FindingState.UNCHECKED, None, None, note=few),
            ]
        old, new = self._always(sides.before), _counts(now)
        found = []
        for name, values in old.items():
            there = new.get(name, set())
            if len(values) != 1 or values & there:
                continue
            (value,) = values
            now_value: Value = min(there) if len(there) == 1 else None
            note = ""
            if len(there) > 1:
                note = f"now from {min(there):,} to {max(there):,}"
                now_value = f"{min(there)} to {max(there)}"
            elif not there:
                note = "it is not counted now"
            ratio = now_value / value if isinstance(now_value, int) and value else None
            found.append(
                _found(sides, Kind.COUNTER, name, FindingState.ALARM, value, now_value,
                       form=metric(name).form if "." in name else "count", ratio=ratio, note=note)
            )  # fmt: skip
        return found

    def _always(self, result: Result) -> dict[str, set[int]]:
        """All values that each exact count had until a result was measured, with its engine and file, in any run."""
        where = Filter(series=(result.series_id,), outcome=("ok",))
        versions, until = json.dumps(result.versions, sort_keys=True), in_utc(result.created_at)
        keys = [
            row.id
            for row in self.store.rows(where, ("id", "versions", "dataset_file", "created_at"))
            if (row.versions, row.dataset_file) == (versions, result.dataset.get("file"))
            and row.created_at <= until
        ][:_MOST_RESULTS]
        found: dict[str, set[int]] = {}
        ended = set()
        for row in self.store.flat("samples", ("uuid", "place", "outcome", "n_entries"), keys):
            if row.outcome == Outcome.OK.value:
                ended.add((row.uuid, row.place))
                if row.n_entries is not None:
                    found.setdefault("n_entries", set()).add(row.n_entries)
        for row in self.store.flat("counters", ("uuid", "place", "layer", "name", "value"), keys):
            if (row.uuid, row.place) in ended and _is_exact(row.layer, row.name):
                found.setdefault(f"{row.layer}.{row.name}", set()).add(row.value)
        return found


def _counts(result: Result) -> dict[str, set[int]]:
    """The values of each exact count in the samples of a result."""
    found: dict[str, set[int]] = {}
    for sample in _ended(result):
        if isinstance(n_entries := sample.details.get("n_entries"), int):
            found.setdefault("n_entries", set()).add(n_entries)
        for layer, counters in sample.counters.items():
            for name, value in counters.items():
                if _is_exact(layer, name):
                    found.setdefault(f"{layer}.{name}", set()).add(value)
    return found


def _is_exact(layer: str, name: str) -> bool:
    return layer not in _NOT_EXACT and not layer.endswith("line") and not name.endswith("_ns")


def is_virtual(result: Result) -> bool:
    """True if its samples are replays of a trace, whose counts are exact, and whose time is that of one reading."""
    return bool(result.samples) and all("trace" in sample.details for sample in result.samples)


def _is_enough(result: Result) -> bool:
    return len(_ended(result)) >= _LEAST_SAMPLES or is_virtual(result)


def _ended(result: Result) -> list[Sample]:
    """The samples that ended well, disturbed or not: a busy machine changes no count, and no memory."""
    return [sample for sample in result.samples if sample.outcome is Outcome.OK]


def _values(sides: Sides, now: Result) -> list[Finding]:
    """Checksums of columns that are other ones, or that are gone."""
    old, new = sides.before.checksum or {}, now.checksum or {}
    if old and not new:
        gone = "the values are not compared: no checksum is told now"
        return [_found(sides, Kind.VALUES, "checksum", FindingState.UNCHECKED, None, None, note=gone)]
    found = []
    for name, told in old.items():
        there = new.get(name)
        if there is None:
            note = "other columns are told, this one is not"
        elif any(told.get(key) != there.get(key) for key in told.keys() & there.keys()):
            note = "the same data, read as other values"
        else:
            continue
        values = _text(told), _text(there) if there else None
        found.append(_found(sides, Kind.VALUES, f"checksum.{name}", FindingState.ALARM, *values, note=note))
    return found


def _told_of_line(found: list[Finding], sides: Sides, now: Result) -> list[Finding]:
    """Counts and memory; a line that changed explains the memory of an engine that did not, and how it fetches.

    Engines fetch more at once, and further ahead, where answers take longer. They decode the same on any line.
    """
    changed = line_changed(sides.before, now)
    if not changed:
        return found
    if sides.changed():
        note = f"the line changed, too: {changed}"
        return [_with_note(one, note) if one.state is FindingState.ALARM else one for one in found]
    note = f"the engine is the same, and the line changed: {changed}"
    told, fetched = [], []
    for one in found:
        if one.state is not FindingState.ALARM:
            told.append(one)
        elif one.kind is Kind.MEMORY:
            told.append(replace(_with_note(one, note), state=FindingState.UNCHECKED))
        elif _is_fetched(one.name):
            fetched.append(f"{one.name} ({one.note})" if one.note else one.name)
        else:
            told.append(one)
    if fetched:
        # One reason for all counts, of which there are dozens.
        counts = f"{', '.join(fetched)} changed; {note}"
        told.append(_found(sides, Kind.COUNTER, "counters", FindingState.UNCHECKED, None, None, note=counts))
    return told


def _with_note(one: Finding, note: str) -> Finding:
    return replace(one, note="; ".join(filter(None, (one.note, note))))


def _is_fetched(counter: str) -> bool:
    """True if a line may change a count. A layer that is not known here may count anything: its counts ring."""
    layer, _, name = counter.partition(".")
    return (layer in _FETCHING_LAYERS or layer.startswith("replica ")) and name in _FETCHING_COUNTS


def _memory(sides: Sides, now: Result) -> list[Finding]:
    """Peaks of memory whose median is more than 3 % above, and that are more in nine of ten pairs of samples."""
    if is_virtual(now):  # the memory of a replay is not that of reading
        return []
    return [one for key in _PEAKS for one in _peak(sides, now, key)]


def _peak(sides: Sides, now: Result, key: str) -> list[Finding]:
    old, new = (
        [peak for sample in _ended(result) if (peak := getattr(sample, key))]  # none is 0
        for result in (sides.before, now)
    )
    if not old or not new:
        return []
    before, after = statistics.median(old), statistics.median(new)
    more = sum(value > other for value in new for other in old) / (len(new) * len(old))
    by_chance = _ARENA_BYTES if key == "peak_virtual_bytes" else 0
    if after <= before * (1 + LEAST_MEMORY) + by_chance or more < _SEPARATED:
        return []
    return [
        _found(sides, Kind.MEMORY, key, FindingState.ALARM, round(before), round(after), form="bytes",
               ratio=after / before)
    ]  # fmt: skip


def _time(sides: Sides, now: Result, key: str) -> list[Finding]:
    """A time that seems to be more than 1 % above: it was not measured in turns, so it is a suspicion."""
    if is_virtual(sides.before) or is_virtual(now):
        return []
    # Results of one series are all of a shared node, or none is.
    its = judged(key, is_shared=now.is_shared)
    old, new = ([value for value in its.values(result) if value] for result in (sides.before, now))
    if not old or not new:
        if key != _TIMES[0]:  # said once
            return []
        where = "now" if old else "in the baseline"
        none = f"its time is not compared: no sample is counted {where}"
        return [_found(sides, Kind.TIME, key, FindingState.UNCHECKED, None, None, note=none)]
    # A time is suspected by its median or by its least sample: by what grew more.
    before, after = max(
        ((statistic(old), statistic(new)) for statistic in (statistics.median, min)),
        key=lambda told: told[1] / told[0],
    )
    if after / before <= 1 + (LEAST_SHARED if now.is_shared else LEAST):
        return []
    return [
        _found(sides, Kind.TIME, key, FindingState.SUSPECT, round(before), round(after), form="time",
               ratio=after / before)
    ]  # fmt: skip


def _found(  # noqa: PLR0917 - in the order of a sentence
    sides: Sides,
    kind: Kind,
    name: str,
    state: FindingState,
    before: Value,
    now: Value,
    *,
    form: str = "text",
    ratio: float | None = None,
    note: str = "",
) -> Finding:
    row = summary_of(sides.before)
    return Finding(
        kind=kind,
        name=name,
        state=state,
        series_id=sides.before.series_id,
        label=row.label(),
        axes=axes_of(row),
        before=before,
        now=now,
        form=form,
        changed=sides.changed(),
        uuid_before=sides.before.uuid,
        uuid_now=sides.now.uuid if sides.now else None,
        ratio=ratio,
        note=note,
    )


def _text(checksum: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in sorted(checksum.items()))
