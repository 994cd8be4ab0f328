"""The order of the items of lists, the first of them, combinations of them, and lists put together."""

from __future__ import annotations

import numpy as np

from arrowroot._expressions.choices import choose
from arrowroot._expressions.lists import (
    Array,
    Items,
    Level,
    Problem,
    aligned,
    both,
    ends_of,
    equally_null,
    item,
    take,
)


def order(function: str, of: Items) -> Items:
    """Return each list sorted or reversed, or (argsort) the indices of its items in order, the smallest first.

    NaN comes last. Equal items keep their order.
    """
    if not of.levels:
        raise Problem(f"{function}() is of a list, and this has one value for each entry")
    ends = of.levels[-1].ends
    if function == "reversed":
        at = np.repeat(ends[:-1] + ends[1:] - 1, np.diff(ends)) - np.arange(ends[-1])
    else:
        at = _sorted(function, of)
    if function == "argsort":
        return Items(at - np.repeat(ends[:-1], np.diff(ends)), None, of.levels)
    _, (data, valid) = take((), [of.data, of.valid], at)
    return Items(data, valid, of.levels)


def _sorted(function: str, of: Items) -> Array:
    """Return the indices of all items, each list in order."""
    if of.kind not in ("truth", "integer", "number"):
        raise Problem(f"{function}() is of numbers, not of {of.kind}")
    if of.valid is not None:
        raise Problem(f"{function}() is of a list with nulls in it")
    ends = of.levels[-1].ends
    lists = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    return np.lexsort((of.data, lists)) if of.data.dtype.kind != "O" else _sorted_wide(of.data, lists)


def _sorted_wide(data: Array, lists: Array) -> Array:
    at = sorted(range(len(data)), key=lambda index: (lists[index], data[index]))
    return np.asarray(at, dtype=np.int64)


def extreme_index(function: str, of: Items) -> Items:
    """Return the index of the largest or smallest item of each list, of equal ones the first; null if it is empty.

    A NaN is neither, unless there is nothing else in the list, as it is for the functions min and max.
    """
    if not of.levels:
        raise Problem(f"{function}() is of a list, and this has one value for each entry")
    if of.kind not in ("truth", "integer", "number"):
        raise Problem(f"{function}() is of numbers, not of {of.kind}")
    ends = of.levels[-1].ends
    is_filled = np.diff(ends) > 0
    data = of.data
    if of.valid is not None:
        raise Problem(f"{function}() is of a list with nulls in it")
    starts = ends[:-1][is_filled]
    found = np.zeros(len(ends) - 1, dtype=np.int64)
    if len(starts):
        largest = (np.fmax if function == "argmax" else np.fmin).reduceat(data, starts)
        each = np.repeat(largest, np.diff(ends)[is_filled])
        is_it = (data == each) | ((data != data) & (each != each))  # noqa: PLR0124 - NaN is not itself
        hits = np.flatnonzero(is_it)
        found[is_filled] = hits[np.searchsorted(hits, starts)] - starts
    return Items(found, None if is_filled.all() else is_filled, of.levels[:-1])


def taken(of: Items, chosen: Items) -> Items:
    """Return the items of each list at a list of indices; or the first n, or last -n, or all if there are fewer."""
    if chosen.levels:
        return item(of, chosen)
    if len(of.levels) != 1 or chosen.kind != "integer":
        raise Problem("take() is of a list of values, and an integer or a list of indices")
    starts, counts = of.levels[0].ends[:-1], np.diff(of.levels[0].ends)
    place = np.arange(len(of.data)) - np.repeat(starts, counts)
    (n, each, behind), valid, levels = aligned(
        [chosen, Items(place, None, of.levels), Items(place - np.repeat(counts, counts), None, of.levels)]
    )
    return item(of, Items(np.where(n < 0, behind >= n, each < n), valid, levels))


#: In all lists of a batch: some gigabytes.
_MOST_ITEMS = 100_000_000


def concatenated(one: Items, other: Items) -> Items:
    """Return the items of a list, and those of another one behind them; null if one of the lists is."""
    (one, other), valid = _plain("concatenate", [one, other])
    counts, others = (np.diff(of.levels[0].ends).astype(np.int64) for of in (one, other))
    level = Level(ends_of(counts + others), valid)
    if level.ends[-1] > _MOST_ITEMS:
        raise Problem(f"the lists have more than {_MOST_ITEMS:,} items in a batch")
    place = np.arange(level.ends[-1]) - np.repeat(level.ends[:-1], counts + others)
    behind = place - np.repeat(counts, counts + others)
    sides = [item(of, Items(at, None, (level,))) for of, at in ((one, place), (other, behind))]
    return choose(Items(behind < 0, None, (level,)), *sides)


#: Which item of each combination a function gives.
PICKED = {"first": 0, "second": 1, "third": 2}


class Combinations:
    """The items that make the combinations of lists; for lists with the same ends they are computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[Array, Array, Level]] = {}

    def of(self, ends: Array, n_combined: int, which: int) -> tuple[Array, Level]:
        """Return the indices of the first (0) or other items of combinations of so many, and the lists of these."""
        key = id(ends), n_combined, which
        if key not in self._known:
            self._known[key] = ends, *_combinations(ends, n_combined, which)
        _, at, level = self._known[key]
        return at, level


def _combinations(ends: Array, n_combined: int, which: int) -> tuple[Array, Level]:
    counts = np.diff(ends).astype(np.int64)
    behind = np.repeat(ends[1:], counts)
    at = last = np.arange(ends[-1], dtype=np.int64)
    n_each = counts
    for position in range(1, n_combined):
        n_each = n_each * (counts - position) // (position + 1)
        _check_number(n_each)
        # Each combination so far goes on with all items behind its last one.
        n_after = behind[last] - last - 1
        last = np.repeat(last + 1 - ends_of(n_after)[:-1], n_after) + np.arange(n_after.sum())
        at = last if position <= which else np.repeat(at, n_after)
    return at, Level(ends_of(n_each))


def _check_number(n_each: Array) -> None:
    if np.sum(n_each, dtype=np.float64) > _MOST_ITEMS:
        raise Problem(f"the lists have more than {_MOST_ITEMS:,} combinations in a batch")


def combined(function: str, values: list[Items], combinations: Combinations) -> Items:
    """Return one item of each combination: of two or three of one list, or of one of each of two lists.

    They come in the order of ROOT's and Awkward's combinations, (0, 1), (0, 2), ..., (1, 2), ...; of two lists, in that
    of a loop over the second one inside of one over the first. "per" has these as lists, one for each item of the first
    list. They are null if one of the lists is.
    """
    is_number = len(values) == 2 and values[1].is_constant and function != "per"
    if is_number and (values[1].kind != "integer" or values[1].data not in (2, 3)):
        raise Problem(f"{function}() is of combinations of 2 or 3 items of a list, or of two lists")
    lists, valid = _plain(function, values[:1] if is_number else values)
    if len(lists) == 1:
        n_combined = int(values[1].data) if is_number else 3 if function == "third" else 2
        at, level = combinations.of(lists[0].levels[0].ends, n_combined, PICKED[function])
        return _picked(lists[0], at, (level._replace(valid=valid),))
    counts, n_others = (np.diff(of.levels[0].ends).astype(np.int64) for of in lists)
    _check_number(counts * n_others)
    n_each = np.repeat(n_others, counts)
    if function == "first":
        at = np.repeat(np.arange(len(n_each)), n_each)
    else:
        starts = np.repeat(lists[1].levels[0].ends[:-1], counts)
        at = np.repeat(starts - ends_of(n_each)[:-1], n_each) + np.arange(n_each.sum())
    if function == "per":
        levels: tuple[Level, ...] = (Level(lists[0].levels[0].ends, valid), Level(ends_of(n_each)))
    else:
        levels = (Level(ends_of(counts * n_others), valid),)
    return _picked(lists[function != "first"], at, levels)


def _picked(of: Items, at: Array, levels: tuple[Level, ...]) -> Items:
    _, (data, valid) = take((), [of.data, of.valid], at)
    return Items(data, valid, levels)


def _plain(function: str, values: list[Items]) -> tuple[list[Items], Array | None]:
    """Return lists of values, without the items of those beside a null one, and which entries have all of them.

    Raises: Problem if they are no lists of values.
    """
    if any(len(value.levels) != 1 for value in values):
        raise Problem(f"{function}() is of lists of values")
    valid: Array | None = None
    for value in values:
        valid = both(valid, value.levels[0].valid)
    return equally_null(values), valid
