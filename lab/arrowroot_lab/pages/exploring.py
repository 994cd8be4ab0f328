"""What the page that people choose in has within it: all results as short lines of numbers, in a million bytes."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from arrowroot_lab.documents import in_utc
from arrowroot_lab.figures.lettering import plain
from arrowroot_lab.mining.metrics import METRICS, READINGS
from arrowroot_lab.mining.results import natural

from .html import slug
from .snapshot import has_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot_lab.store import Summary

#: Of the data; the page, its script and its style have 60,000 more.
MOST_BYTES = 940_000
#: What can be chosen, and told apart by colour. A test is what was read, and how.
AXES = {
    "site": "Site", "test": "Test", "storage": "Storage", "storage_kind": "Storage kind", "engine": "Engine",
    "version": "Version", "cpu_model": "CPU model",
}  # fmt: skip
#: metric -> the column of a result; CPU efficiency is made of two of them there.
COLUMNS = {
    "wall_ns": "wall_median_ns", "cpu_ns": "cpu_median_ns", "peak_rss_bytes": "peak_rss_bytes",
    **{key: key for key in READINGS},
}  # fmt: skip
#: Days that are told night by night; of older ones each week has a median.
_FULL_DAYS = (365, 180, 120, 90, 60, 45, 30, 21, 14, 7)
_UNKNOWN = "unknown"
#: In minutes.
_DAY = 1440

#: Since 1970.
_Point = tuple[int, tuple[float | None, ...]]


@dataclass(frozen=True)
class Explored:
    """The data of the page, and what it has to say of them."""

    #: JSON, without what would end an element of HTML.
    data: str
    n_results: int
    #: Results without a time, which are not in it.
    n_without: int
    #: Older results are weekly medians; None: none are.
    full_since: str | None
    #: Older ones are left out; None: none are.
    since: str | None


def explored(found: Sequence[Summary], most_bytes: int = MOST_BYTES) -> Explored:
    """Return results, newest first, as one text of at most so many bytes."""
    timed = [one for one in found if has_time(one)]
    lines: dict[tuple[str, ...], list[_Point]] = {}
    for one in reversed(timed):
        values = tuple(getattr(one, column) for column in COLUMNS.values())
        lines.setdefault(_line(one), []).append((_minute(one.created_at), values))
    ends = [point[0] for points in lines.values() for point in (points[0], points[-1])]
    first, last = min(ends, default=0), max(ends, default=0)
    kept, full, since, text = lines, first, first, _text(lines)
    for n_days in _FULL_DAYS:
        if len(text) <= most_bytes:
            break
        full = max(first, last - last % _DAY - n_days * _DAY)
        kept = {line: _by_week(points, full) for line, points in lines.items()}
        text = _text(kept)
    while kept and len(text) > most_bytes:
        since = -(-((since + last) // 2 + 1) // _DAY) * _DAY
        kept = {
            line: told
            for line, points in kept.items()
            if (told := [one for one in points if one[0] >= since])
        }
        text = _text(kept)
    n_left = sum(point[0] >= since for points in lines.values() for point in points)
    return Explored(
        text,
        n_left,
        len(found) - len(timed),
        _day(full) if full > first else None,
        _day(since) if since > first else None,
    )


def names_of(one: Summary) -> dict[str, str]:
    """Return the name of a result on each axis, as the page has it."""
    layout = "" if one.layout in (None, one.dataset) else str(one.layout)
    test = " / ".join(filter(None, (one.dataset, layout, one.workload, one.strategy)))
    axes = (one.site, test, one.storage, one.storage_kind, one.engine, one.version, one.cpu_model or _UNKNOWN)
    return dict(zip(AXES, map(plain, axes), strict=True))


def _line(one: Summary) -> tuple[str, ...]:
    """What all points of a line share: the axes, the series and its cores."""
    return *names_of(one).values(), one.series_id, str(one.n_cores)


def _minute(date: str) -> int:
    return int(datetime.fromisoformat(in_utc(date).replace("Z", "+00:00")).timestamp()) // 60


def _day(minute: int) -> str:
    return (datetime(1970, 1, 1) + timedelta(minutes=minute)).strftime("%Y-%m-%d")  # noqa: DTZ001 - a date alone, of minutes that were counted in UTC


def _by_week(points: Sequence[_Point], full: int) -> list[_Point]:
    """The medians of each week before a minute, and all points since."""
    weeks: dict[int, list[_Point]] = {}
    for point in points:
        if point[0] < full:
            weeks.setdefault(point[0] // (7 * _DAY), []).append(point)
    medians = [
        (
            round(statistics.median(at for at, _ in week)),
            tuple(map(_median, zip(*(values for _, values in week), strict=True))),
        )
        for week in weeks.values()
    ]
    return [*medians, *(point for point in points if point[0] >= full)]


def _median(values: Iterable[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return statistics.median(told) if told else None


def _text(lines: dict[tuple[str, ...], list[_Point]]) -> str:
    """The data as JSON: names once, dates as minutes since the point before, values of four digits."""
    names = [sorted({line[place] for line in lines}, key=natural) for place in range(len(AXES))]
    places = [{name: place for place, name in enumerate(of_axis)} for of_axis in names]
    told = {
        "axes": {
            key: {"title": title, "names": of_axis}
            for (key, title), of_axis in zip(AXES.items(), names, strict=True)
        },
        "metrics": {
            one.key: {"title": one.title, "form": "rate" if one.key.endswith("_per_s") else one.form}
            for one in (*METRICS.values(), *READINGS.values())
            if one.key in COLUMNS or one.key == "cpu_efficiency"
        },
        "columns": list(COLUMNS),
    }
    rows = []
    for line in sorted(lines, key=lambda line: [natural(name) for name in line]):
        points = lines[line]
        dates = [points[0][0], *(after[0] - before[0] for before, after in pairwise(points))]
        columns = (_column(of_one) for of_one in zip(*(values for _, values in points), strict=True))
        chosen = [place[name] for place, name in zip(places, line, strict=False)]
        head = json.dumps([chosen, slug(line[-2]), int(line[-1])], separators=(",", ":"))[:-1]
        rows.append(f"{head},[{','.join(map(str, dates))}],{','.join(columns)}]")
    text = json.dumps(told, separators=(",", ":"))[:-1] + f',"lines":[{",".join(rows)}]}}'
    return text.replace("<", "\\u003c")


def _column(values: Sequence[float | None]) -> str:
    """The values of a metric; one alone stands for all that are equal."""
    told = [_number(value) for value in values]
    return f"[{told[0]}]" if len(set(told)) == 1 else f"[{','.join(told)}]"


def _number(value: float | None) -> str:
    """Four digits: ``1.234e7``."""
    if value is None:
        return "null"
    head, _, power = f"{value:.3e}".partition("e")
    short = f"{float(head):g}" + (f"e{int(power)}" if int(power) else "")
    plain = f"{value:.4g}"
    return min((plain, short), key=len) if "e" not in plain else short
