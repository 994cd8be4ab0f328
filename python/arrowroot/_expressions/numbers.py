"""Arithmetic and functions of numbers in expressions: doubles as C has them, integers of 64 bits that never wrap."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrowroot._expressions.lists import Array, Items, Level, Problem, aligned, narrowed, row_of

_INT64 = np.iinfo(np.int64)
_MAX_SHIFT = 63
_SAME_IN_NUMPY = (
    "sqrt cbrt exp expm1 log log1p log2 log10 floor ceil rint sin cos tan sinh cosh tanh hypot fmod copysign sign "
    "square isnan isfinite"
)


def _rounded(values: Array) -> Array:
    """Return the nearest integers; a half goes away from zero, as in C."""
    whole = np.trunc(values)
    return np.asarray(whole + np.copysign(np.abs(values - whole) >= 0.5, values))


_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(np, name) for name in _SAME_IN_NUMPY.split()},
    **{
        f"a{name}": getattr(np, f"arc{name}")
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")
    },
    "pow": np.power,
    "round": _rounded,
    "float": np.positive,
}
_EXTREMES: dict[str, Any] = {"min": np.minimum, "max": np.maximum}


def _numeric(values: list[Items], what: str) -> None:
    wrong = next((value.kind for value in values if value.kind in ("text", "record")), None)
    if wrong:
        raise Problem(f"{what} is of numbers, not of {wrong}")


def arithmetic(operator: str, left: Items, right: Items) -> Items:
    """Return + - * / % ** << >> & | ^ of two values.

    "/" and "**" give doubles; the result of "%" has the sign of its left side.
    """
    _numeric([left, right], f'"{operator}"')
    if operator == "**":
        return function("pow", [left, right])
    data, valid, levels = aligned([left, right])
    is_real = "number" in (left.kind, right.kind)
    if operator in ("&", "|", "^"):
        if is_real:
            raise Problem(f'"{operator}" is of integers; conditions are put together by "{operator * 2}"')
        return Items(_bits(operator, data, (left.kind, right.kind)), valid, levels)
    if operator in ("<<", ">>"):
        if is_real:
            raise Problem(f'"{operator}" is of integers')
        return Items(_shifted(operator, data, levels), valid, levels)
    if operator == "/" or is_real:
        one, other = (side.astype(np.float64, copy=False) for side in data)
        result = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod}[operator](
            one, other
        )
        return Items(np.asarray(result), valid, levels)
    one, other = (side.astype(np.int64) if side.dtype.kind == "b" else side for side in data)
    if operator == "%":
        has_rest = np.asarray(other != 0)
        if not has_rest.all():
            other = np.where(has_rest, other, 1)
            valid = np.broadcast_to(
                has_rest if valid is None else valid & has_rest, np.broadcast(one, other).shape
            )
    return Items(_exact(operator, one, other, levels), valid, levels)


def _bits(operator: str, data: list[Array], kinds: tuple[str, str]) -> Array:
    if kinds[0] != kinds[1]:
        raise Problem(
            f'"{operator}" of a condition and a number: it binds less than a comparison, as in C; '
            f'write "(a {operator} b) == c"'
        )
    if np.result_type(*data).kind == "f":
        data = [one.astype(np.uint64) for one in data]  # the same bits, as in C
    return np.asarray({"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}[operator](*data))


def _shifted(operator: str, data: list[Array], levels: tuple[Level, ...]) -> Array:
    """Return integers shifted to the left or right. Raises: Problem for bits that are lost, or less than no bits."""
    one, by = (side.astype(np.int64) if side.dtype.kind == "b" else side for side in data)
    wrong = np.asarray((by < 0) | (by > _MAX_SHIFT))
    if wrong.any():
        raise Problem(f"a shift is by 0 to {_MAX_SHIFT} bits", row_of(wrong, levels))
    if operator == ">>":
        return np.asarray(one >> by.astype(one.dtype if one.dtype.kind == "u" else np.int64))
    factor = np.left_shift(np.uint64(1), by.astype(np.uint64))
    return _exact("*", one, factor, levels, ("<<", "x * 2.0 ** n"))


def inverted(of: Items) -> Items:
    """Return the integers with all bits turned; of conditions whether they do not hold, as NumPy does."""
    if of.kind not in ("truth", "integer"):
        raise Problem('"~" is of integers and conditions')
    wide = {"i": np.int64, "u": np.uint64}.get(of.data.dtype.kind)
    return of._replace(data=np.asarray(~(of.data if wide is None else of.data.astype(wide))))


def truncated(of: Items) -> Items:
    """Return the integers, without what is behind the point. Raises: Problem for what does not fit into 64 bits."""
    _numeric([of], "int()")
    if of.kind != "number":
        return of._replace(data=of.data.astype(np.int64)) if of.kind == "truth" else of
    data = np.trunc(of.data.astype(np.float64))
    is_wrong = ~(np.abs(data) < float(2**63))
    if of.valid is not None:
        is_wrong &= of.valid
    if is_wrong.any():
        raise Problem("int() of what does not fit into 64 bits", row_of(is_wrong, of.levels))
    return of._replace(data=np.where(np.isfinite(data), data, 0).astype(np.int64))


def _rest(one: Any, other: Any) -> Any:
    """Return C's % of Python's integers: it has the sign of the left side."""
    return abs(one) % abs(other) * (1 if one >= 0 else -1)


_INTEGERS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "%": np.fmod}
_WIDE: dict[str, Any] = _INTEGERS | {"%": np.frompyfunc(_rest, 2, 1)}


def _exact(
    operator: str, one: Array, other: Array, levels: tuple[Level, ...], told: tuple[str, str] | None = None
) -> Array:
    """Return + - * % of integers. ``told``: the operator as it was written, and what gives doubles; None: that one.

    Raises: Problem if a result does not fit into 64 bits.
    """
    largest = [max(abs(int(side.min())), abs(int(side.max()))) if side.size else 0 for side in (one, other)]
    bound = {"*": largest[0] * largest[1], "%": max(largest)}.get(operator, sum(largest))
    if max(bound, *largest) <= _INT64.max:
        return np.asarray(_INTEGERS[operator](one.astype(np.int64), other.astype(np.int64)))
    # This is rare: some are so large that each is computed with Python's integers, which do not wrap.
    wide = np.asarray(_WIDE[operator](one.astype(object), other.astype(object)), dtype=object)
    written, instead = told or (operator, "1.0 * x")
    return narrowed(wide, f'the result of "{written}"', levels, instead)


def negative(of: Items) -> Items:
    """Return the value with the other sign; a double that is 0 gets the other sign, too."""
    if of.kind == "number":
        return of._replace(data=np.asarray(np.negative(of.data.astype(np.float64, copy=False))))
    return arithmetic("-", Items(np.asarray(0)), of)


def absolute(of: Items) -> Items:
    """Return the value without its sign."""
    _numeric([of], "abs()")
    if of.kind == "number":
        return of._replace(data=np.asarray(np.abs(of.data)))
    data = of.data.astype(np.int64) if of.kind == "truth" else of.data
    if data.dtype.kind == "i" and data.size and data.min() == np.iinfo(data.dtype).min:
        data = narrowed(np.asarray(np.abs(data.astype(object)), dtype=object), "abs()", of.levels)
    return of._replace(data=np.asarray(np.abs(data)))


def function(name: str, values: list[Items]) -> Items:
    """Return a mathematical function of doubles; outside of its domain it is NaN, as in C."""
    _numeric(values, f"{name}()")
    data, valid, levels = aligned(values)
    result = _FUNCTIONS[name](*(one.astype(np.float64, copy=False) for one in data))
    return Items(np.asarray(result), valid, levels)


def extreme(name: str, values: list[Items]) -> Items:
    """Return the smallest or largest of several values; NaN if one of them is NaN."""
    _numeric(values, f"{name}()")
    choose = _EXTREMES[name]
    result = values[0]
    for value in values[1:]:
        data, valid, levels = aligned([result, value])
        if "number" in (result.kind, value.kind):
            data = [one.astype(np.float64, copy=False) for one in data]
            chosen = np.asarray(choose(*data))
        else:
            data = [one.astype(np.int64) if one.dtype.kind == "b" else one for one in data]
            chosen = _extreme_integers(name, data, levels)
        result = Items(chosen, valid, levels)
    return result


def _extreme_integers(name: str, data: list[Array], levels: tuple[Level, ...]) -> Array:
    choose = _EXTREMES[name]
    if np.result_type(*data).kind not in "fO":
        return np.asarray(choose(*data))
    # NumPy would make doubles of 64-bit integers with a sign and without.
    wide = np.asarray(choose(*(one.astype(object) for one in data)), dtype=object)
    return narrowed(wide, f"{name}()", levels)
