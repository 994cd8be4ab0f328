"""The order of the items of lists, the first of them, pairs of them, and lists put together."""

from __future__ import annotations

import numpy as np

from arrowroot._expressions.choices import choose
from arrowroot._expressions.lists import Array, Items, Level, Problem, aligned, item, take


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

    A NaN is both, as it is for the functions min and max.
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
        largest = (np.maximum if function == "argmax" else np.minimum).reduceat(data, starts)
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


def concatenated(one: Items, other: Items) -> Items:
    """Return the items of a list, and those of another one behind them."""
    _check_plain("concatenate", [one, other])
    counts, others = (np.diff(of.levels[0].ends).astype(np.int64) for of in (one, other))
    level = Level(np.concatenate(([0], np.cumsum(counts + others))))
    place = np.arange(level.ends[-1]) - np.repeat(level.ends[:-1], counts + others)
    behind = place - np.repeat(counts, counts + others)
    sides = [item(of, Items(at, None, (level,))) for of, at in ((one, place), (other, behind))]
    return choose(Items(behind < 0, None, (level,)), *sides)


def pairs(function: str, values: list[Items]) -> Items:
    """Return the first or second item of each pair: of two of one list, or of one of each of two lists.

    Two of a list come in the order of ROOT's and Awkward's combinations: (0, 1), (0, 2), ..., (1, 2), ...; one of each
    in that of a loop over the second list inside of one over the first.
    """
    _check_plain(function, values)
    ends = [value.levels[0].ends for value in values]
    if len(values) == 1:
        at, n_pairs = _within(ends[0], is_first=function == "first")
        of = values[0]
    else:
        at, n_pairs = _between(*ends, is_first=function == "first")
        of = values[function == "second"]
    _, (data, valid) = take((), [of.data, of.valid], at)
    return Items(data, valid, (Level(np.concatenate(([0], np.cumsum(n_pairs)))),))


def _check_plain(function: str, values: list[Items]) -> None:
    """Raise Problem if some are not lists of values, or are null."""
    if any(len(value.levels) != 1 for value in values):
        raise Problem(f"{function}() is of lists of values")
    if any(value.levels[0].valid is not None for value in values):
        raise Problem(f"{function}() is of lists of which some are null")


def _within(ends: Array, *, is_first: bool) -> tuple[Array, Array]:
    """Return the indices of the first or second items of pairs, and how many pairs each list has."""
    counts = np.diff(ends).astype(np.int64)
    # So many pairs begin with each item.
    n_after = np.repeat(ends[1:], counts) - np.arange(ends[-1]) - 1
    firsts = np.repeat(np.arange(ends[-1]), n_after)
    n_pairs = counts * (counts - 1) // 2
    if is_first:
        return firsts, n_pairs
    begins = np.concatenate(([0], np.cumsum(n_after)))[:-1]
    return firsts + 1 + np.arange(len(firsts)) - np.repeat(begins, n_after), n_pairs


def _between(ends: Array, others: Array, *, is_first: bool) -> tuple[Array, Array]:
    counts, n_others = np.diff(ends).astype(np.int64), np.diff(others).astype(np.int64)
    n_each = np.repeat(n_others, counts)
    if is_first:
        return np.repeat(np.arange(ends[-1]), n_each), counts * n_others
    begins = np.concatenate(([0], np.cumsum(n_each)))[:-1]
    n_all = int(n_each.sum())
    at = np.repeat(np.repeat(others[:-1], counts) - begins, n_each) + np.arange(n_all)
    return at, counts * n_others
