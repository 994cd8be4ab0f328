"""One column of whatever people have, as an Arrow array."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from arrowroot._arrow.masks import is_masked
from arrowroot._errors import ArrowrootError, InvalidRequestError, UnsupportedError
from arrowroot._writing.incoming import check_sizes, column_of, taken_in
from arrowroot._writing.schema import TOO_DEEP

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

#: How errors name a column without a name.
_NAMELESS = 'column "": '
#: Units of NumPy's times that Arrow has, too.
_TIME_UNITS = ("D", "s", "ms", "us", "ns")


@contextmanager
def by_column(name: str) -> Iterator[None]:
    """Name the column in errors of what becomes of its values.

    Raises: UnsupportedError for what Arrow has no type for, InvalidRequestError for what makes no sense.
    """
    try:
        yield
    except ArrowrootError as error:
        # An array that is taken in alone has no name there.
        error.args = (f"column {name!r}: {error.args[0].removeprefix(_NAMELESS)}", *error.args[1:])
        raise
    except (pa.ArrowNotImplementedError, NotImplementedError) as error:
        raise UnsupportedError(f"column {name!r}: {error}") from error
    except OverflowError as error:
        raise InvalidRequestError(
            f"column {name!r}: an integer beyond int64: give an array of NumPy or pyarrow as uint64, or floats"
        ) from error
    except RecursionError:
        # NumPy's types, and those of Awkward Array, are walked by what makes Arrow's of them.
        raise InvalidRequestError(f"column {name!r}: {TOO_DEEP}") from None
    except (pa.ArrowException, IndexError, TypeError, ValueError) as error:
        raise InvalidRequestError(f"column {name!r}: {error}") from error


def array_of(name: str, values: Any, *, copied: bool = False) -> tuple[pa.Array | pa.ChunkedArray, pa.Field]:
    """Return a column as an Arrow array, and its field: nullable where the values say that some may be missing.

    copied: NumPy's memory is copied, also where another library's array stands on it.

    Raises: as :func:`by_column` does.
    """
    if _is_of(values, "awkward", "Array"):
        array, nullable = _from_awkward(values, copied=copied)
        return array, pa.field(name, array.type, nullable=nullable or pa.types.is_null(array.type))
    if isinstance(values, pa.Array | pa.ChunkedArray):
        array = values
    elif _is_of(values, "pandas", "Series") or _is_of(values, "pandas", "Index"):
        array = _from_pandas(values, copied=copied)
    elif _is_of(values, "polars", "Series"):
        array = from_polars(values, copied=copied)
    elif isinstance(values, np.ndarray):
        array = from_masked(values, copied=copied)
    elif hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        array = column_of(values)
    elif isinstance(values, list | tuple | range):
        array = pa.array(values)
    elif hasattr(values, "__array__") and hasattr(values, "axes"):
        raise InvalidRequestError(
            "a histogram is no column, its axes and what is outside of them would be lost: write it by itself, as "
            "file[name] = histogram"
        )
    elif hasattr(values, "__array__"):
        array = from_masked(np.asarray(values), copied=copied)
    else:
        raise InvalidRequestError(f"expected an array of values, got {type(values).__name__}")
    check_sizes(array)
    # Without values there is no type either: it may be that of a schema.
    return array, pa.field(name, array.type, nullable=_has_nulls(array) or pa.types.is_null(array.type))


def _has_nulls(array: pa.Array | pa.ChunkedArray) -> bool:
    return bool(array.null_count > 0)


def from_masked(values: npt.NDArray[Any], *, copied: bool = False) -> pa.Array:
    """Return a NumPy array as an Arrow array; what is masked is null, inner dimensions are fixed lists."""
    if is_masked(values):
        masked = cast("np.ma.MaskedArray[Any, Any]", values)
        return _from_numpy(masked.data, np.ma.getmaskarray(masked), copied=copied)
    return _from_numpy(values, None, copied=copied)


def _from_numpy(values: npt.NDArray[Any], mask: npt.NDArray[Any] | None, *, copied: bool) -> pa.Array:
    if values.ndim == 0:
        raise InvalidRequestError("one value, not one for each entry")
    if values.ndim > 1:
        if 0 in values.shape[1:]:
            raise InvalidRequestError("lists of no items each")
        flat = _from_numpy(values.reshape(-1), None if mask is None else mask.reshape(-1), copied=copied)
        return _shaped(flat, values.shape)
    if values.dtype.names is not None:
        members = {
            name: _from_numpy(values[name], None if mask is None else mask[name], copied=copied)
            for name in values.dtype.names
        }
        fields = [
            pa.field(name, member.type, nullable=_has_nulls(member)) for name, member in members.items()
        ]
        return pa.StructArray.from_arrays(list(members.values()), fields=fields)
    kind = values.dtype.kind
    if kind == "c":
        raise UnsupportedError("complex numbers: write their real and imaginary parts as two columns")
    if kind == "f" and values.dtype.itemsize > 8:
        raise UnsupportedError(f"{values.dtype} is wider than any type of Arrow; convert it to float64")
    if kind == "V":
        raise UnsupportedError(f"{values.dtype}: bytes without a meaning; view them as numbers")
    if kind in "mM" and np.datetime_data(values.dtype)[0] not in _TIME_UNITS:
        raise UnsupportedError(f"Arrow has no unit of {values.dtype}: convert it, as by astype('{kind}8[s]')")
    if not values.dtype.isnative:
        values, copied = values.astype(values.dtype.newbyteorder("=")), False
    if copied:
        values = values.copy()
    # A NaN is a number: what is missing is masked, or None among objects.
    return pa.array(values, mask=mask, from_pandas=False)


def _shaped(flat: pa.Array, shape: tuple[int, ...]) -> pa.Array:
    for size in reversed(shape[1:]):
        field = pa.field("item", flat.type, nullable=_has_nulls(flat))
        flat = pa.FixedSizeListArray.from_arrays(flat, type=pa.list_(field, size))
    return flat


def _from_pandas(series: Any, *, copied: bool = False) -> pa.Array | pa.ChunkedArray:
    if is_sparse(series):
        series = series.sparse.to_dense()
    if isinstance(series.dtype, np.dtype) and series.dtype.kind != "O":
        return _from_numpy(series.to_numpy(), None, copied=copied)
    # Numbers with a mask, categories and times with a zone are NumPy's arrays inside.
    # Objects: None and NaN among texts are what is missing.
    return pa.array(series.copy(deep=True) if copied else series, from_pandas=True)


def is_sparse(series: Any) -> bool:
    """Return whether a series of pandas is stored sparsely, as nothing of Arrow is."""
    return _is_of(series.dtype, "pandas", "SparseDtype")


def from_polars(series: Any, *, copied: bool = False) -> pa.Array:
    """Return a series of Polars as an Arrow array. Raises: UnsupportedError for types that Arrow does not have."""
    # It would give the addresses of Python's objects.
    if str(series.dtype) != "Object":
        with suppress(pa.ArrowException):
            array = series.to_arrow(compat_level=polars_level())
            return _owned_array(array) if copied else array
    raise UnsupportedError(f"Arrow has no type for {series.dtype} of Polars: cast it to another")


def polars_level() -> Any:
    """Return the level at which Polars gives its views of texts as they are; at others it follows them unseen."""
    return sys.modules["polars"].CompatLevel.newest()


def _owned_array(array: pa.Array) -> pa.Array:
    """Return an array in memory of its own: that of Polars and Awkward Array may be NumPy's, whose arrays change."""
    return taken_in(pa.table({"": array}), copies_all=True).column(0).combine_chunks()


def _from_awkward(values: Any, *, copied: bool) -> tuple[pa.Array, bool]:
    import awkward as ak

    refuse_unions(values)
    try:
        # Lists of 64 bits: whether those of 32 do depends on the values, which differ from part to part.
        array = ak.to_arrow(values, extensionarray=False, categorical_as_dictionary=True)
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedError(f"Arrow has no type for {ak.type(values).content} ({error})") from error
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if copied:
        array = _owned_array(array)
    return array, isinstance(ak.type(values).content, ak.types.OptionType)


def refuse_unions(values: Any) -> None:
    """Raise UnsupportedError for an Awkward array with values of several types in one place, at any depth."""
    import awkward as ak

    found = _union_in(ak.type(values).content)
    if found is not None:
        raise UnsupportedError(
            f"{found}: an Awkward array of values of several types in one place is not taken: ak.to_arrow makes a "
            "union of Arrow, which an RNTuple holds; or make a column of each type, or records of one type by "
            "ak.from_iter(array.to_list()), in which members may be missing"
        )


def _union_in(kind: Any) -> Any:
    """Return the first union in a type of Awkward Array, None without one."""
    import awkward as ak

    if isinstance(kind, ak.types.UnionType):
        return kind
    inside = kind.contents if isinstance(kind, ak.types.RecordType) else [getattr(kind, "content", None)]
    return next((found for one in inside if one is not None and (found := _union_in(one)) is not None), None)


def _is_of(value: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)
