"""Sentences on the results of the campaign ``atlas-2012``: levels, picking, making D3PDs, several workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown

from .layouts import NEW, OLD
from .real import CASES, SIDE_BY_SIDE

if TYPE_CHECKING:
    from arrowroot_lab.classics.results import Results, Row

_FIGURES = (("wall_ns", "time"), ("read_bytes", "bytes"))
_LEVEL_1, _LEVEL_6 = "zip 1, flush 3 MB", "zip 6, flush 3 MB"


def levels(found: Results) -> list[tuple[str, float, float]]:
    """Return of each engine how many times the bytes and the time of level 1 it takes to read level 6."""
    told = []
    for of_6 in found.rows(CASES, dataset=_LEVEL_6, workload="all branches"):
        same = {key: of_6[key] for key in ("engine", "storage", "strategy", "workload")}
        for of_1 in found.rows(CASES, dataset=_LEVEL_1, **same):
            ratios = (of_6[key] / of_1[key] for key in ("read_bytes", "wall_ns"))
            told.append((of_6["engine"], *ratios))
    return sorted(told)


def level_text(found: Results) -> str:
    """Return what became of level 6 against level 1."""
    told = levels(found)
    if not told:
        return "That 6 is at least as good as 1, and 5 % smaller, is for the campaign: it was not run yet."
    smaller = 100 * (1 - min(n_bytes for _, n_bytes, _ in told))
    times = ", ".join(f"{time:.2f} ({engine})" for engine, _, time in told)
    return (
        f"That 6 is at least as good as 1, and 5 % smaller: for real {smaller:.0f} % fewer bytes are read, and all "
        f"branches from a cold disk take {times} of the time of level 1."
    )


def text(found: Results) -> str:
    """Return what the campaign found of picking, of making D3PDs and of several workers; "" without results."""
    told = [_picking(found), _making(found), _workers(found)]
    return "For real: " + "; ".join(one for one in told if one) + "." if any(told) else ""


def version_text(found: Results) -> str:
    """Return what became of the versions of today."""
    of_one: dict[tuple[str, ...], list[Row]] = {}
    for row in found.rows(SIDE_BY_SIDE):
        of_one.setdefault(tuple(str(row[key]) for key in ("engine", "dataset", "storage")), []).append(row)
    if not of_one:
        return (
            "Versions of today have no picture here, as no results of theirs are kept: campaigns/versions.toml builds "
            "two commits and installs two versions of ROOT. In a checkout arrowroot lab run campaigns/versions.toml "
            "--db lab.db && arrowroot lab classics atlas-2012 --db lab.db --write puts their bars here."
        )
    pairs = [
        (*(choose(rows, key=lambda row: row["wall_ns"]) for choose in (max, min)),)
        for rows in of_one.values()
    ]
    slow, quick = max(pairs, key=lambda pair: pair[0]["wall_ns"] / pair[1]["wall_ns"])
    return (
        "Versions of today are beside each other in a figure. Two of one engine differ by "
        f"{slow['wall_ns'] / quick['wall_ns'] - 1:.0%} at most: {slow['engine']} {slow['version']} against "
        f"{quick['version']} ({slow['dataset']}, {slow['storage']})."
    )


def _pair(found: Results, workload: str) -> tuple[Row, Row] | None:
    """Return the rows of the old and of the new layout; None: one of them was not measured."""
    rows = {row["dataset"]: row for row in found.rows(CASES, workload=workload)}
    return (rows[OLD], rows[NEW]) if OLD in rows and NEW in rows else None


def _picking(found: Results) -> str:
    pair = _pair(found, "pick 2 %")
    if pair is None:
        return ""
    times, volumes = ([shown(row[key], form) for row in pair] for key, form in _FIGURES)
    return (
        f"two events in a hundred, picked by an index, take {times[0]} and {volumes[0]} of the old layout, {times[1]} "
        f"and {volumes[1]} of the new one"
    )


def _making(found: Results) -> str:
    pair = _pair(found, "make a D3PD")
    if pair is None:
        return ""
    old, new = (shown(row["wall_ns"], "time") for row in pair)
    return f"making a D3PD takes {old} from the old layout, {new} from the new one"


def _workers(found: Results) -> str:
    one, four = (_pair(found, f"{number} worker{'s' * (number != 'one')}") for number in ("one", "four"))
    if one is None or four is None:
        return ""
    old, new = (alone["wall_ns"] / together["wall_ns"] for alone, together in zip(one, four, strict=True))
    return f"four workers with a part each are {old:.1f} times as fast as one in the old layout, {new:.1f} in the new"
