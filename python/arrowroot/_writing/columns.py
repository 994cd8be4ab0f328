"""The settings of a layout for each column: rules by name, of which the first that matches counts."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import pyarrow as pa

from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._writing.schema import fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, TypeAlias

    from arrowroot._writing.precision import Precision

    Lists = Literal["counted", "vector"]
    Encoding = Literal["auto", "split", "plain"]
    T = TypeVar("T")
    #: Globs and values, in order.
    Rules: TypeAlias = tuple[tuple[str, T], ...]

#: Stands for the list of records that takes most bytes in the first cluster.
LARGEST = "@largest"


class ColumnSettings(NamedTuple):
    """The settings of a column as the engine takes them."""

    split: int | None = None
    memberwise: bool = False
    lists: Lists = "counted"
    class_name: str | None = None
    precision: Precision | None = None
    encoding: Encoding = "auto"


def rules_of(given: object, what: str, checked: Callable[[object, str], T]) -> Rules[T]:
    """Return one value for all, or values by column, as rules.

    Raises: InvalidRequestError, naming ``what`` and the pattern.
    """
    if not isinstance(given, Mapping):
        return (("*", checked(given, what)),)
    rules = []
    for glob, value in given.items():
        if not isinstance(glob, str) or not glob:
            raise InvalidRequestError(f"{what}: names of columns and globs are text, not {glob!r}")
        if glob.startswith("@") and (glob != LARGEST or what != "split"):
            raise InvalidRequestError(f"{what}: there is no {glob!r}; split alone has {LARGEST!r}")
        rules.append((glob, checked(value, f"{what}[{glob!r}]")))
    return tuple(rules)


def merged(rules: Rules[T], base: Rules[T]) -> Rules[T]:
    """Return rules before those of another layout, without those that never count."""
    globs = [glob for glob, _ in rules]
    if "*" in globs:
        return rules[: globs.index("*") + 1]
    return rules + tuple((glob, value) for glob, value in base if glob not in globs)


def first_match(rules: Rules[T], name: str, otherwise: T, largest: str | None = None) -> tuple[str, T]:
    """Return the first rule that matches a column; ("", otherwise) if none does."""
    for glob, value in rules:
        if (name == largest) if glob == LARGEST else fnmatchcase(name, glob):
            return glob, value
    return "", otherwise


def check_matched(rules: Rules[Any], what: str, names: Sequence[str], where: str) -> None:
    """Raise NoSuchColumnError for a pattern that no column matches; one that begins with * or @ need not."""
    for glob, _ in rules:
        if glob[0] not in "*@" and not any(fnmatchcase(name, glob) for name in names):
            raise NoSuchColumnError(
                f"{where}: {what}: no column is called {glob!r}", glob, nearest(glob, names), known=names
            )


def is_pattern(glob: str) -> bool:
    """Return whether a rule is for columns that look so, and not for one of that name."""
    return glob in ("", LARGEST) or any(letter in glob for letter in "*?[")


def largest_collection(sample: pa.Table, n_entries: int) -> str | None:
    """Return the list of records that takes most bytes in the first entries; None without one. The first of equals."""
    first = sample.slice(0, n_entries)
    sizes = {
        field.name: first.column(field.name).nbytes for field in first.schema if is_collection(field.type)
    }
    return max(sizes, key=lambda name: sizes[name]) if sizes else None


def is_collection(kind: pa.DataType) -> bool:
    """Return whether values are lists of records."""
    is_of = pa.types
    if is_of.is_list(kind) or is_of.is_large_list(kind):
        return bool(is_of.is_struct(kind.value_type))
    return False


def has_objects(kind: pa.DataType) -> bool:
    """Return whether values are records or maps, or lists of these: what ROOT's split levels are about."""
    is_of = pa.types
    if is_of.is_list(kind) or is_of.is_large_list(kind) or is_of.is_fixed_size_list(kind):
        return has_objects(kind.value_type)
    return bool(is_of.is_struct(kind) or is_of.is_map(kind))


def has_floats(kind: pa.DataType, widths: tuple[int, ...]) -> bool:
    """Return whether floating-point numbers of such sizes are in values, at any depth."""
    if pa.types.is_floating(kind):
        # Half floats are stored as float.
        return max(32, cast("int", kind.bit_width)) in widths
    return any(has_floats(field.type, widths) for field in fields_of(kind))
