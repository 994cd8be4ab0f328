"""Values chosen by conditions, or by not being there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arrowroot._arrow import arrays
from arrowroot._expressions.lists import (
    Array,
    Items,
    Level,
    Problem,
    aligned,
    compare,
    constant,
    ends_of,
    item,
    logic,
    narrowed,
    truth,
    valid_of,
)


def is_null(of: Items) -> Items:
    """Return which items are null; of an entry without a list the one that is missing."""
    if of.levels and of.levels[-1].valid is not None:
        raise Problem("is_null() of lists of which some are null: say is_null(len(...))")
    return Items(np.asarray(~valid_of(of)), None, of.levels)


def among(of: Items, *values: Items) -> Items:
    """Return whether a value is equal to one of others, as comparing it with one after another does."""
    constants: list[Items] = []
    others: list[Items] = []
    for value in values:
        is_plain = value.is_constant and value.valid is None and value.kind == of.kind
        (constants if is_plain else others).append(value)
    found = _found(of, constants) if len(constants) > 1 else None
    if found is None:
        return logic("||", [compare("==", of, value) for value in values])
    return logic("||", [Items(found, of.valid, of.levels), *(compare("==", of, value) for value in others)])


def _found(of: Items, constants: list[Items]) -> Array | None:
    """Return which items are one of several constants of their kind, looked up together; None: one by one."""
    if of.kind == "text" and isinstance(of.data, pa.Array):
        known = [constant(value.data, of.data) for value in constants]
        return arrays.to_numpy(pc.is_in(of.data, pa.array([one.as_py() for one in known], of.data.type)))
    if of.is_constant or of.data.dtype.kind not in "iuf":
        return None
    if of.kind == "number":
        return np.isin(of.data.astype(np.float64, copy=False), [float(value.data) for value in constants])
    limits = np.iinfo(of.data.dtype)
    wanted = [int(value.data) for value in constants if limits.min <= int(value.data) <= limits.max]
    return np.isin(of.data, np.array(wanted, of.data.dtype))


def coalesce(of: Items, instead: Items) -> Items:
    """Return the values, and another one for each that is null; of lists, another list for each that is null.

    Raises: Problem if a list is null, and what is there instead is no list.
    """
    if len(of.levels) == len(instead.levels) == 1:
        of, instead = _beside(of, instead)
    elif any(level.valid is not None and not level.valid.all() for level in of.levels):
        raise Problem(
            "some of the lists are null, and there is no list for each instead: write coalesce(v, w) with another "
            "list of values, or coalesce of one value, as coalesce(sum(v), 0) or coalesce(v[0], 0)"
        )
    return choose(Items(valid_of(of), None, of.levels), of, instead)


def _beside(of: Items, instead: Items) -> tuple[Items, Items]:
    """Return the items of lists, and those at the same places of others, which are as long as these where one is null.

    An item that is not there is null.
    """
    (ends, valid), (others, its_valid) = of.levels[0], instead.levels[0]
    counts = np.diff(ends) if valid is None else np.where(valid, np.diff(ends), np.diff(others))
    level = Level(ends_of(counts), None if valid is None or its_valid is None else valid | its_valid)
    places = Items(np.arange(level.ends[-1]) - np.repeat(level.ends[:-1], counts), None, (level,))
    return item(of, places), item(instead, places)


def choose(condition: Items, if_true: Items, if_false: Items) -> Items:
    """Return one value where a condition is true, another where it is false, null where it is null."""
    condition = truth(condition)
    kinds = {if_true.kind, if_false.kind}
    if "record" in kinds or ("text" in kinds and kinds != {"text"}):
        raise Problem(f"the choice is between {if_true.kind} and {if_false.kind}")
    sides = [condition, if_true, if_false]
    # The null values of the side that is not chosen do not count, so both are aligned without them.
    bare = [side._replace(valid=None) for side in sides]
    masks = [Items(valid_of(side), None, side.levels) for side in sides]
    (truths, one, other, knows, knows_one, knows_other), _, levels = aligned([*bare, *masks])
    valid: Array | None = np.asarray(knows & np.where(truths, knows_one, knows_other))
    if np.all(valid):
        valid = None
    if kinds == {"text"}:
        return Items(_chosen_text(truths, one, other), valid, levels)
    data = _chosen(truths, one, other, kinds, levels)
    return Items(data, None if valid is None else np.broadcast_to(valid, data.shape), levels)


def _chosen_text(truths: Array, one: Any, other: Any) -> Any:
    if truths.ndim == 0:
        return one if truths else other
    sides = [one, other]
    like = next((side for side in sides if not isinstance(side, str)), pa.nulls(0, pa.string()))
    sides = [constant(side, like) if isinstance(side, str) else side for side in sides]
    if sides[0].type != sides[1].type:
        sides = [side.cast(pa.large_binary()) for side in sides]
    return pc.if_else(arrays.of_numpy(truths), *sides)


def _chosen(truths: Array, one: Array, other: Array, kinds: set[str], levels: tuple[Level, ...]) -> Array:
    if "number" in kinds:
        sides = [side.astype(np.float64, copy=False) for side in (one, other)]
    elif kinds == {"truth"} or one.dtype == other.dtype:
        sides = [one, other]
    elif (common := np.result_type(one.dtype, other.dtype)).kind in "fO":
        # NumPy would make doubles of 64-bit integers with a sign and without.
        wide = np.where(truths, one.astype(object), other.astype(object))
        return narrowed(np.asarray(wide, dtype=object), "a choice", levels)
    else:
        sides = [side.astype(np.uint64 if common == np.uint64 else np.int64) for side in (one, other)]
    return np.where(truths, *sides)
