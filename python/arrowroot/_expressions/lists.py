"""Values of entries, and lists of them, in filters: NumPy over the buffers of Arrow."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arrowroot._arrow import arrays as _arrays
from arrowroot._errors import ArrowrootError

Array: TypeAlias = npt.NDArray[Any]

#: They pass over items that are NaN.
_EXTREMES = {"min": np.fmin, "max": np.fmax, "Min$": np.fmin, "Max$": np.fmax}
_INT64, _UINT64 = np.iinfo(np.int64), np.iinfo(np.uint64)


class Problem(ArrowrootError):  # noqa: N818 - never leaves the evaluation of a filter
    """An error of computing. ``row``: the row with the wrong value; None: the types are wrong."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.row = row


class Level(NamedTuple):
    """Lists: the first item of each, from 0, and the end of the last; which lists are not null (None: all)."""

    ends: Array
    valid: Array | None = None


class Items(NamedTuple):
    """One value for each entry, or nested lists of values.

    data: all items, flat: a NumPy array of truth values or numbers (Python's integers, where some are negative and
        some beyond 2^63), an Arrow array of text or records; for a constant, an array without dimensions, or the text.
    valid: which items are not null; None: all.
    levels: for lists, the outermost first. A list that is null has no items.
    """

    data: Any
    valid: Array | None = None
    levels: tuple[Level, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is the same for all entries."""
        return isinstance(self.data, str) or (isinstance(self.data, np.ndarray) and self.data.ndim == 0)

    @property
    def kind(self) -> str:
        """The kind of the items: "truth", "integer", "number", "text" or "record"."""
        if isinstance(self.data, str):
            return "text"
        if isinstance(self.data, pa.Array):
            return "record" if pa.types.is_struct(self.data.type) else "text"
        return {"b": "truth", "i": "integer", "u": "integer", "O": "integer"}.get(
            self.data.dtype.kind, "number"
        )


def of_arrow(array: pa.Array) -> Items:
    """Return the values of an Arrow array, if possible without a copy.

    Raises: Problem for types that have no numbers, text or records in them.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return of_arrow(array.dictionary_decode())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        level = _level(array)
        inner = of_arrow(array.flatten())  # without what is behind null
        return Items(inner.data, inner.valid, (level, *inner.levels))
    valid = _arrays.validity(array)
    if pa.types.is_struct(kind) or _is_text(kind):
        return Items(array if valid is None or pa.types.is_struct(kind) else array.fill_null(""), valid)
    if _arrays.is_number(kind):
        return Items(_arrays.without_nulls(array, valid), valid)
    raise Problem(f"this has the type {kind}, which expressions in text cannot use")


def _level(array: pa.Array) -> Level:
    if array.null_count:
        valid = _arrays.validity(array)
        return Level(ends_of(_arrays.without_nulls(pc.list_value_length(array), valid)), valid)
    if pa.types.is_fixed_size_list(array.type):
        return Level(np.arange(len(array) + 1, dtype=np.int64) * array.type.list_size)
    offsets = _arrays.to_numpy(array.offsets)
    return Level(offsets - offsets[0] if len(offsets) else np.zeros(1, dtype=np.int64))


def ends_of(lengths: Array) -> Array:
    """Return the first item of each list, from 0, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _is_text(kind: pa.DataType) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_large_binary,
        )
    )


def member(of: Items, name: str) -> Items:
    """Return a member of records."""
    if of.kind != "record":
        raise Problem(f"this has no member {name!r}: it is {_WITHOUT_MEMBERS[of.kind]}, not a record")
    names = [field.name for field in of.data.type]
    if name not in names:
        raise Problem(f"the record has no member {name!r}, only {', '.join(names)}")
    inner = of_arrow(pc.struct_field(of.data, [names.index(name)]))
    if of.valid is None:
        return inner._replace(levels=(*of.levels, *inner.levels))
    if not inner.levels:
        return Items(inner.data, of.valid if inner.valid is None else of.valid & inner.valid, of.levels)
    at = np.where(of.valid, np.arange(len(of.valid)), len(of.valid))
    levels, (data, valid) = take(_with_null(inner.levels), [inner.data, inner.valid], at)
    return Items(data, valid, (*of.levels, *levels))


_WITHOUT_MEMBERS = {"truth": "a condition", "integer": "a number", "number": "a number", "text": "text"}


def _with_null(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Put a null list behind all others, for items that are not there."""
    ends, valid = levels[0]
    known = np.ones(len(ends) - 1, dtype=np.bool_) if valid is None else valid
    return (Level(np.append(ends, ends[-1]), np.append(known, False)), *levels[1:])


def take(levels: tuple[Level, ...], arrays: list[Any], chosen: Array) -> tuple[tuple[Level, ...], list[Any]]:
    """Return some values, flat or nested, by their indices; ``arrays`` share the lists."""
    if not levels:
        return (), [array if array is None else _picked(array, chosen) for array in arrays]
    level, inside = taken_lists(levels[0], chosen)
    inner, taken = take(levels[1:], arrays, inside)
    return (level, *inner), taken


def taken_lists(before: Level, chosen: Array) -> tuple[Level, Array]:
    """Return some lists, by their indices, and the indices of the items in them."""
    starts = before.ends[:-1][chosen].astype(np.int64)
    n_items = before.ends[1:][chosen] - starts
    ends = ends_of(n_items)
    inside = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], n_items)
    return Level(ends, None if before.valid is None else before.valid[chosen]), inside


def chosen_entries(of: Items, chosen: Array) -> Items:
    """Return the values of some entries, by their indices."""
    if of.is_constant:
        return of
    levels, (data, valid) = take(of.levels, [of.data, of.valid], chosen)
    # Entries that lack something may be those that were not chosen.
    levels = tuple(Level(ends, None if there is None or there.all() else there) for ends, there in levels)
    return Items(data, None if valid is None or valid.all() else valid, levels)


def _picked(array: Any, chosen: Array) -> Any:
    return array.take(_arrays.to_arrow(chosen)) if isinstance(array, pa.Array) else array[chosen]


def aligned(values: list[Items]) -> tuple[list[Any], Array | None, tuple[Level, ...]]:
    """Return the data of several values item by item, which of the items are valid in all, and their lists.

    A value of an entry meets every item of its list. Raises: Problem if lists differ in length.
    """
    values = equally_null(values)
    deepest = max(values, key=lambda value: (len(value.levels), not value.is_constant))
    data = []
    valid: Array | None = None
    levels = deepest.levels
    for value in values:
        one, its_valid = value.data, value.valid
        if not value.is_constant:
            levels = _common(levels, value.levels)
            for level in levels[len(value.levels) :]:
                repeats = np.diff(level.ends)
                if isinstance(one, pa.Array):
                    one = one.take(_arrays.to_arrow(np.repeat(np.arange(len(one)), repeats)))
                else:
                    one = np.repeat(one, repeats)
                its_valid = None if its_valid is None else np.repeat(its_valid, repeats)
        data.append(one)
        valid = both(valid, its_valid)
    if valid is not None and valid.ndim == 0 and not deepest.is_constant:
        valid = np.broadcast_to(valid, (len(deepest.data),))  # a constant that is null
    return data, valid, levels


def equally_null(values: list[Items]) -> list[Items]:
    """Make a list null in all values if it is null in one. The result is null, however long the other lists are."""
    values = list(values)
    for depth in range(max(len(value.levels) for value in values)):
        known: Array | None = None
        for value in values:
            if len(value.levels) > depth:
                known = both(known, value.levels[depth].valid)
        for index, value in enumerate(values):
            if known is None or len(value.levels) <= depth:
                continue
            ends = value.levels[depth].ends
            if len(known) == len(ends) - 1 and np.any(np.diff(ends)[~known]):
                chosen = np.where(known, np.arange(len(known)), len(known))
                arrays = [value.data, value.valid]
                levels, (data, valid) = take(_with_null(value.levels[depth:]), arrays, chosen)
                values[index] = Items(data, valid, (*value.levels[:depth], *levels))
    return values


def both(one: Array | None, other: Array | None) -> Array | None:
    """Return the mask of what is valid in both."""
    if one is None or other is None:
        return other if one is None else one
    return np.asarray(one & other)  # of two constants, which NumPy makes no array


def _common(levels: tuple[Level, ...], others: tuple[Level, ...]) -> tuple[Level, ...]:
    """Return lists that are null where a list of either side is. Raises: Problem if they differ in length."""
    for (one, _), (other, _) in zip(levels, others, strict=False):
        if one is not other and not np.array_equal(one, other):
            row = int(np.flatnonzero(np.diff(one) != np.diff(other))[0])
            lengths = f"{one[row + 1] - one[row]} and {other[row + 1] - other[row]} items"
            raise Problem(f"the lists on both sides have {lengths}", row)
    common = [
        Level(one.ends, both(one.valid, other.valid)) for one, other in zip(levels, others, strict=False)
    ]
    return (*common, *levels[len(common) :])


def truth(of: Items) -> Items:
    """Return whether the items are true: numbers are if they are not 0."""
    if of.kind == "truth":
        return of
    if of.kind in ("text", "record"):
        raise Problem(f"a {of.kind} is no condition")
    return Items(np.asarray(of.data != 0, dtype=np.bool_), of.valid, of.levels)


def logic(operator: str, values: list[Items]) -> Items:
    """Return && or || of conditions; null is "not known": null && false is false, null || true is true."""
    result = truth(values[0])
    for value in values[1:]:
        right = truth(value)
        (one, other), valid, levels = aligned([result, right])
        if valid is None:
            result = Items(np.asarray(one | other if operator == "||" else one & other), None, levels)
            continue
        masks = [Items(valid_of(side), None, side.levels) for side in (result, right)]
        # Both sides take part, so that each is brought to the lists of the deeper one.
        (knows, knows_other, *_), _, _ = aligned([*masks, result, right])
        is_true = (one & knows) | (other & knows_other)
        is_false = (~one & knows) | (~other & knows_other)
        decided = is_true if operator == "||" else is_false
        value_of = is_true if operator == "||" else knows & knows_other & one & other
        result = Items(np.asarray(value_of), np.asarray((knows & knows_other) | decided), levels)
    return result


def valid_of(of: Items) -> Array:
    """Return a mask of the items that are not null."""
    return of.valid if of.valid is not None else np.ones(np.shape(of.data), dtype=np.bool_)


def compare(operator: str, left: Items, right: Items) -> Items:
    """Return a comparison. Integers compare exactly, numbers of different kinds as doubles, text by its bytes."""
    kinds = {left.kind, right.kind}
    if "record" in kinds:
        raise Problem("a record cannot be compared; choose a member of it")
    if "text" in kinds and kinds != {"text"}:
        raise Problem("text cannot be compared with a number")
    data, valid, levels = aligned([left, right])
    if kinds == {"text"}:
        return Items(_compare_text(operator, data[0], data[1]), valid, levels)
    if "number" in kinds:
        data = [one.astype(np.float64, copy=False) for one in data]
    elif "O" in {one.dtype.kind for one in data}:
        data = [one.astype(object) for one in data]
    elif {one.dtype.kind for one in data} == {"i", "u"}:
        return Items(_compare_signs(operator, data[0], data[1]), valid, levels)
    return Items(np.asarray(_UFUNCS[operator](*data), dtype=np.bool_), valid, levels)


_UFUNCS: dict[str, Any] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compare_signs(operator: str, left: Array, right: Array) -> Array:
    """Compare integers with and without a sign, exactly."""
    if left.dtype.kind == "u":
        return _compare_signs(_TURNED[operator], right, left)
    below = left < 0
    result = _UFUNCS[operator](left.astype(np.uint64), right.astype(np.uint64))
    return np.where(below, operator in ("<", "<=", "!="), result)


_TEXT_FUNCTIONS = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


def _compare_text(operator: str, left: Any, right: Any) -> Array:
    if isinstance(left, str) and isinstance(right, str):
        texts = [np.asarray(text, dtype=object) for text in (left, right)]  # NumPy 1.24 compares no others
        return np.asarray(_UFUNCS[operator](*texts), dtype=np.bool_)
    if isinstance(left, str):
        left = constant(left, right)
    elif isinstance(right, str):
        right = constant(right, left)
    elif left.type != right.type:
        left, right = (side.cast(pa.large_binary()) for side in (left, right))
    result = pc.call_function(_TEXT_FUNCTIONS[operator], [left, right])
    return _arrays.to_numpy(result)


def constant(text: str, like: pa.Array) -> pa.Scalar[Any]:
    """Return a text as a value of the type of others."""
    is_bytes = pa.types.is_binary(like.type) or pa.types.is_large_binary(like.type)
    return pa.scalar(text.encode() if is_bytes else text, type=like.type)


def match_text(function: str, text: Items, pattern: Items) -> Items:
    """Return which texts start with, end with or contain a constant one."""
    if text.kind != "text" or not isinstance(pattern.data, str):
        raise Problem("takes a column of text, and a text in quotes")
    if isinstance(text.data, str):
        method = {"startswith": str.startswith, "endswith": str.endswith, "contains": str.__contains__}[
            function
        ]
        return Items(np.asarray(method(text.data, pattern.data)))
    names = {"startswith": pc.starts_with, "endswith": pc.ends_with, "contains": pc.match_substring}
    found = names[function](text.data, pattern=pattern.data)
    return Items(_arrays.to_numpy(found), text.valid, text.levels)


def item(of: Items, index: Items, n_outer: int = 0) -> Items:
    """Return the item of each list at an index, null if there is none; or those of a list of indices or conditions.

    An index below 0 counts from the end, as in Python. ``n_outer``: lists inside of so many levels are meant, each.
    """
    if n_outer:
        return _item_inside(of, index, n_outer)
    if not of.levels:
        raise Problem(
            "this is no list: each entry has one value" if of.kind != "text" else "this is text, not a list"
        )
    if index.kind == "truth" and index.levels:
        return _where(of, index)
    if index.kind != "integer" or len(index.levels) > 1:
        raise Problem(
            "an index is one integer for each entry, or a list of them, or a condition for each item; "
            "int(x) is the integer of a number"
        )
    starts, counts = of.levels[0].ends[:-1], np.diff(of.levels[0].ends)
    if index.levels:
        n_each = np.diff(index.levels[0].ends)
        starts, counts = np.repeat(starts, n_each), np.repeat(counts, n_each)
    places = np.broadcast_to(_clipped(index.data), counts.shape)
    places = np.where(places < 0, places + counts, places)
    is_there = (places >= 0) & (places < counts)
    if index.valid is not None:
        is_there &= index.valid
    at = np.where(is_there, starts + places, 0)
    if len(of.levels) > 1:
        inner = of.levels[1:]
        if not is_there.all():
            at, inner = np.where(is_there, at, len(inner[0].ends) - 1), _with_null(inner)
        levels, (data, valid) = take(inner, [of.data, of.valid], at)
        return Items(data, valid, (*index.levels, *levels))
    if len(of.data) == 0:
        data = _picked(_one_like(of.data), np.zeros(len(at), dtype=np.int64))
    else:
        data = _picked(of.data, at)
        is_there = is_there if of.valid is None else is_there & of.valid[at]
    return Items(data, None if is_there.all() else is_there, index.levels)


def _item_inside(of: Items, index: Items, n_outer: int) -> Items:
    """Return what :func:`item` does for each of the lists inside of some levels."""
    if len(of.levels) <= n_outer:
        raise Problem(f'"[]" is of all items of a list, and this has {len(of.levels)} levels of lists')
    if index.levels:
        raise Problem('behind "[]" an index is one integer for each entry')
    outer = of.levels[:n_outer]
    if not index.is_constant:
        (data, _), valid, _ = aligned([index, Items(np.zeros(int(outer[-1].ends[-1])), None, outer)])
        index = Items(data, valid)
    inner = item(of._replace(levels=of.levels[n_outer:]), index)
    return inner._replace(levels=(*outer, *inner.levels))


def _clipped(index: Array) -> Array:
    """Return an index with a sign. An index that is too large for any list stays so."""
    if index.dtype.kind == "O" or index.dtype == np.uint64:
        index = np.minimum(index, np.asarray(_INT64.max, dtype=index.dtype))
    return index.astype(np.int64)


def _one_like(data: Any) -> Any:
    if isinstance(data, pa.Array):
        return pa.nulls(1, data.type) if pa.types.is_struct(data.type) else pa.array([""]).cast(data.type)
    return np.zeros(1, dtype=data.dtype)


def _where(of: Items, condition: Items) -> Items:
    depth = len(condition.levels)
    if len(of.levels) < depth:
        raise Problem("the condition must have one value for each item of the list, or for each list in it")
    of, condition = equally_null([of, condition])
    of = of._replace(levels=_common(of.levels, condition.levels))
    keeps = condition.data if condition.valid is None else condition.data & condition.valid
    if len(of.levels) == depth:
        return Items(*_kept(of, keeps))
    inner, (data, valid) = take(of.levels[depth:], [of.data, of.valid], np.flatnonzero(keeps))
    ends, is_there = of.levels[depth - 1]
    return Items(data, valid, (*of.levels[: depth - 1], Level(ends_of(keeps)[ends], is_there), *inner))


def _kept(of: Items, keeps: Array) -> tuple[Any, Array | None, tuple[Level, ...]]:
    n_before = ends_of(keeps)
    data = of.data.filter(_arrays.of_numpy(keeps)) if isinstance(of.data, pa.Array) else of.data[keeps]
    valid = None if of.valid is None else of.valid[keeps]
    ends, its_valid = of.levels[-1]
    return data, valid, (*of.levels[:-1], Level(n_before[ends], its_valid))


def without_nulls(of: Items) -> Items:
    """Return lists without the items that are null."""
    return of if of.valid is None else Items(*_kept(of, of.valid))._replace(valid=None)


def indices_in(values: list[Items]) -> Items:
    """Return the index of each item in the list of its entry, of the first values that are lists; 0 if none are."""
    of = next((one for one in values if one.levels), None)
    if of is None:
        return Items(np.asarray(0))
    ends = of.levels[0].ends
    for level in of.levels[1:]:
        ends = level.ends[ends]
    return Items(np.arange(ends[-1]) - np.repeat(ends[:-1], np.diff(ends)), None, of.levels)


def reduce(function: str, of: Items) -> Items:
    """Return one value for each of the innermost lists, null for a null list.

    Nulls in a list are passed over, but by any() and all(). An extreme is NaN if all items are.
    """
    if not of.levels:
        instead = "; the number of bytes in a text is x.size()" if of.kind == "text" else ""
        raise Problem(f"{function}() is of a list, and this has one value for each entry{instead}")
    if function == "len":
        return Items(np.diff(of.levels[-1].ends).astype(np.int64), of.levels[-1].valid, of.levels[:-1])
    if function in ("any", "all", "count"):
        return _counted(function, of)
    if of.kind in ("text", "record"):
        raise Problem(f"{function}() is of numbers, not of {of.kind}")
    of = without_nulls(of)
    ends, is_there = of.levels[-1]
    is_filled = ends[1:] > ends[:-1]
    starts = ends[:-1][is_filled]
    if function == "sum":
        return Items(_sums(of.data, starts, is_filled, of.levels), is_there, of.levels[:-1])
    if function == "prod":
        products = np.ones(len(ends) - 1)
        if len(starts):
            products[is_filled] = np.multiply.reduceat(of.data.astype(np.float64, copy=False), starts)
        return Items(products, is_there, of.levels[:-1])
    extremes = np.zeros(len(ends) - 1, dtype=of.data.dtype)
    if len(starts):
        extremes[is_filled] = _EXTREMES[function].reduceat(of.data, starts)
        if function.endswith("$") and of.data.dtype.kind == "f":
            # TTree::Draw begins with the first item and compares the others with it: a first NaN stays.
            is_nan = np.zeros_like(is_filled)
            is_nan[is_filled] = np.isnan(of.data[starts])
            extremes[is_nan] = np.nan
    return Items(extremes, None if is_filled.all() else is_filled, of.levels[:-1])


def size(of: Items) -> Items:
    """Return how many items each list has, be they lists themselves; of a text how many bytes."""
    if of.levels:
        return Items(np.diff(of.levels[0].ends).astype(np.int64), of.levels[0].valid)
    if of.kind != "text":
        raise Problem("size() is of a list, or of text")
    if isinstance(of.data, str):
        return Items(np.asarray(len(of.data.encode())))
    return Items(_arrays.to_numpy(pc.binary_length(of.data)).astype(np.int64), of.valid)


def reduce_all(function: str, of: Items) -> Items:
    """Return what TTree::Draw has for Sum$, Length$, Min$ or Max$: of all items of an entry, of whatever levels.

    It is 0 for an entry without any. One value of the entry is its only item.
    """
    if function == "Length$":
        of = of._replace(data=np.zeros(1 if of.is_constant else len(of.data), dtype=np.bool_))
    elif of.kind in ("text", "record"):
        raise Problem(f"{function}() is of numbers, not of {of.kind}")
    if of.is_constant and of.valid is None:
        return Items(np.asarray(1)) if function == "Length$" else of
    ends = of.levels[0].ends if of.levels else np.arange(np.size(of.data) + 1, dtype=np.int64)
    for level in of.levels[1:]:
        ends = level.ends[ends]
    found = reduce(_OF_ALL.get(function, function), without_nulls(Items(of.data, of.valid, (Level(ends),))))
    return found._replace(valid=None)


_OF_ALL = {"Sum$": "sum", "Length$": "len"}


def _sums(data: Array, starts: Array, is_filled: Array, levels: tuple[Level, ...]) -> Array:
    """Return the sum of each list. ``starts``: of the lists with items. Integers add exactly."""
    longest = int(np.diff(levels[-1].ends).max(initial=0))
    is_wide = False
    if data.dtype.kind == "f":
        data = data.astype(np.float64, copy=False)
    else:
        # This is rare. Python's integers do not wrap.
        is_wide = bool(len(data)) and max(abs(int(data.min())), abs(int(data.max()))) * longest > _INT64.max
        data = data.astype(object if is_wide else np.int64, copy=False)
    sums = np.zeros(len(is_filled), dtype=data.dtype)
    if len(starts):
        sums[is_filled] = np.add.reduceat(data, starts)
    return narrowed(sums, "a sum", levels[:-1]) if is_wide else sums


def narrowed(wide: Array, what: str, levels: tuple[Level, ...], instead: str = "1.0 * x") -> Array:
    """Return Python's integers as 64 bits with a sign or without; as they are if they need both.

    instead: what gives doubles, for the message.

    Raises: Problem if one is too large.
    """
    lowest, highest = min(wide.flat, default=0), max(wide.flat, default=0)
    if lowest >= _INT64.min and highest <= _INT64.max:
        return wide.astype(np.int64)
    if lowest >= 0 and highest <= _UINT64.max:
        return wide.astype(np.uint64)
    if lowest >= _INT64.min and highest <= _UINT64.max:
        return wide
    wrong = np.asarray([not _INT64.min <= one <= _UINT64.max for one in wide.flat], dtype=np.bool_)
    wrong = wrong.reshape(wide.shape)
    raise Problem(f"{what} does not fit into 64 bits; write {instead} for doubles", row_of(wrong, levels))


def row_of(indices: Array, levels: tuple[Level, ...]) -> int | None:
    """Return the entry of the first item that is marked, None for a constant."""
    if indices.ndim == 0:
        return None
    index = int(np.flatnonzero(indices)[0])
    for level in reversed(levels):
        index = int(np.searchsorted(level.ends, index, side="right")) - 1
    return index


def positive(of: Items) -> Items:
    """Return the numbers, null for those that are not above 0."""
    is_above = np.asarray(of.data > 0)
    return of._replace(valid=is_above if of.valid is None else of.valid & is_above)


def _counted(function: str, of: Items) -> Items:
    if function == "count":
        if of.kind != "truth":
            raise Problem("count() is of conditions; len() is the number of items")
        is_true = of.data
    else:
        is_true = truth(of).data
    ends, is_there = of.levels[-1]

    def number(of_items: Array) -> Array:
        return np.diff(ends_of(of_items)[ends])

    known = valid_of(of)
    n_true = number(is_true & known)
    if function == "count":
        return Items(n_true, is_there, of.levels[:-1])
    n_false = number(~is_true & known)
    has_unknown = None if of.valid is None else number(~known) > 0
    result, decided = (n_true > 0, n_true > 0) if function == "any" else (n_false == 0, n_false > 0)
    is_known = None if has_unknown is None else decided | ~has_unknown
    return Items(result, both(is_known, is_there), of.levels[:-1])
