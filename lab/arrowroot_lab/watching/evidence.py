"""What the results of an alarm say besides their times: the line, counts, the control kernel, versions."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.metrics import METRICS
from arrowroot_lab.store import Filter

from .sides import CONFIRMING, Sides

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from arrowroot_lab.documents import Result, Sample
    from arrowroot_lab.store import Store

    from .alarms import PlaceAlarm
    from .findings import Value

    #: The results of a series before and now.
    Both = tuple[Result, Result]
    #: Storage -> figure -> (before, now).
    Measured = dict[str, dict[str, tuple[float, float]]]

#: Figure -> for people, its form, and by how many times it is another one. A line is measured in a second; counts may
#: depend on which thread was faster.
_FIGURES = {
    "latency_ns": ("round trip", "time", 1.5),
    "bytes_per_s": ("bytes a second", "bytes", 1.5),
    "n_requests": ("requests", "count", 1.02),
    "n_bytes": ("bytes", "bytes", 1.02),
    "control_ns": ("control kernel", "time", 1.05),
}
#: Other versions that are told; the results have all.
_MOST = 6


def with_evidence(found: Iterable[PlaceAlarm], store: Store) -> list[PlaceAlarm]:
    """Return alarms of places with what their results say: sentences, and the figures of both sides."""
    found = list(found)
    results = {
        one.uuid: one for one in store.of({uuid for alarm in found for both in alarm.uuids for uuid in both})
    }
    told = []
    for one in found:
        both = [(results[before], results[now]) for before, now in one.uuids]
        again = times_again(store, one, [Sides(*sides) for sides in both])
        known = {version for versions in one.changed.values() for version in versions}
        more = sentences(both, known) if both else []
        if again:
            more.append(f"{shown(again.times, 'ratio')} times when measured again, {shown(again.at, 'date')}")
        told.append(replace(one, evidence=(*one.evidence, *more), measured=measured(both)))
    return told


class Again(NamedTuple):
    """What was measured again of a place."""

    #: As long as before.
    times: float
    at: str


def times_again(store: Store, alarm: PlaceAlarm, sides: Sequence[Sides]) -> Again | None:
    """Return how slow a place is by what a check has measured again since it was seen; None: nothing was.

    That is the median over the series; a result of another version is none.
    """
    if not (alarm.ratios and alarm.seen and sides):
        return None
    key, ratio = max(alarm.ratios.items(), key=lambda item: item[1])
    where = Filter(
        campaign=tuple({CONFIRMING.format(one.before.campaign["name"]) for one in sides}),
        site=alarm.sites,
        case=tuple({one.before.case_id for one in sides}),
        outcome=("ok",),
        since=alarm.seen,
    )
    found = list(store.results(where))  # newest first
    told = []
    for one in sides:
        of_series = (
            it
            for it in found
            if one.now
            and (it.case_id, it.site, it.versions) == (one.now.case_id, one.now.site, one.now.versions)
        )
        newest = next(of_series, None)
        values = [METRICS[key].figure(it) for it in (one.before, one.now, newest) if it]
        if len(values) == 3 and all(values):
            before, now, later = (value or 0.0 for value in values)
            # Both tell the level of before, with the rise between them.
            told.append(later / math.sqrt(before * now / ratio))
    return Again(statistics.median(told), found[0].created_at) if told else None


def measured(both: Iterable[Both]) -> Measured:
    """Return by storage the figures that both sides have, medians over the series; counts are sums."""
    by_storage: dict[str, list[Both]] = defaultdict(list)
    for sides in both:
        by_storage[sides[0].case["storage_name"]].append(sides)
    told = {storage: _figures(of_storage) for storage, of_storage in sorted(by_storage.items())}
    return {storage: figures for storage, figures in told.items() if figures}


def _figures(both: Sequence[Both]) -> dict[str, tuple[float, float]]:
    asked: dict[str, tuple[Callable[[Result], float | None], Callable[[list[float]], float]]] = {
        "latency_ns": (lambda one: _line(one, "latency", "ns", min), statistics.median),
        "bytes_per_s": (lambda one: _line(one, "bytes_per_s", "", max), statistics.median),
        "n_requests": (lambda one: _middle(one, lambda sample: _count(sample, "n_reads")), sum),
        "n_bytes": (lambda one: _middle(one, lambda sample: _count(sample, "n_bytes")), sum),
        "control_ns": (lambda one: _middle(one, _control), statistics.median),
    }
    told = {}
    for name, (ask, together) in asked.items():
        # Another kind of CPU takes another time for the control kernel, whatever became of the node.
        asked_of = [sides for sides in both if name != "control_ns" or len(set(map(_model, sides))) == 1]
        pairs = [(before, now) for one, other in asked_of if (before := ask(one)) and (now := ask(other))]
        if pairs:
            told[name] = (together([one for one, _ in pairs]), together([one for _, one in pairs]))
    return told


def line_changed(before: Result, now: Result) -> str:
    """Return how the line to the storage changed, as "round trip 200 us -> 60.0 ms"; "": it did not."""
    told = _figures([(before, now)])
    return ", ".join(
        _changed(name, *told[name])
        for name in ("latency_ns", "bytes_per_s")
        if _is_other(name, *told.get(name, (1, 1)))
    )


def _is_other(name: str, before: float, now: float) -> bool:
    times = _FIGURES[name][2]
    return not before / times <= now <= before * times


def _changed(name: str, before: float, now: float, where: str = "") -> str:
    title, form, _ = _FIGURES[name]
    return f"{title}{where} {shown(before, form)} -> {shown(now, form)}"


def _model(result: Result) -> str | None:
    return result.machine.get("cpu")


def _line(result: Result, name: str, unit: str, best: Callable[[Iterable[float]], float]) -> float | None:
    """The better one of the figures before and after the samples: somebody else's traffic makes one worse."""
    keys = ("_".join(filter(None, (name, when, unit))) for when in ("before", "after"))
    values = [value for key in keys if isinstance(value := result.line.get(key), int | float) and value > 0]
    return float(best(values)) if values else None


def _middle(result: Result, ask: Callable[[Sample], float | None]) -> float | None:
    values = [value for sample in result.counted() if (value := ask(sample)) is not None]
    return statistics.median(values) if values else None


def _count(sample: Sample, name: str) -> float | None:
    """What went to the storage; of an engine that does not tell that, what it asked for."""
    layers = (sample.counters.get(layer, {}) for layer in ("store", "application"))
    return next((counts[name] for counts in layers if name in counts), None)


def _control(sample: Sample) -> float | None:
    return statistics.mean(sample.control_ns) if sample.control_ns else None


def sentences(both: Sequence[Both], known: Collection[str] = ()) -> list[str]:
    """Return what the results say, what changed first; what nobody measured is left out.

    known: versions that are told already
    """
    told = measured(both)
    changed, alike = [], []
    for name, (title, *_) in _FIGURES.items():
        sides = {storage: figures[name] for storage, figures in told.items() if name in figures}
        other = [
            _changed(name, *of_both, f" of {storage}" if len(told) > 1 else "")
            for storage, of_both in sides.items()
            if _is_other(name, *of_both)
        ]
        changed += other
        alike += [title] if sides and not other else []
    besides: dict[str, tuple[Value, Value]] = {}
    for one in both:
        besides |= Sides(*one).changed()
    others = [
        f"{name.removeprefix('versions.')} {shown(old, 'key')} -> {shown(new, 'key')}"
        for name, (old, new) in besides.items()
        if not {old, new} <= set(known)
    ]
    if others:
        more = f", and {len(others) - _MOST} more" if len(others) > _MOST else ""
        changed.append(f"changed meanwhile: {', '.join(others[:_MOST])}{more}")
    alike += [] if besides else ["versions"]
    models = dict.fromkeys(
        (_model(one), _model(other)) for one, other in both if _model(one) != _model(other)
    )
    if models:
        others = [f"{shown(old, 'text')} -> {shown(new, 'text')}" for old, new in models]
        changed.append(f"other kinds of CPU, which times are scaled for: {', '.join(others)}")
    return [*changed, *([f"as before: {', '.join(alike)}"] if alike else [])]
