"""The settings of a layout for each column: rules by name, of which the first that matches counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import pyarrow as pa

from arrowroot._arrow.kinds import fields_of
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._render import shown
from arrowroot._select.globs import Globs, without_match

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, TypeAlias

    from arrowroot._layout.precision import Precision

    Lists = Literal["counted", "vector"]
    Encoding = Literal["auto", "split", "plain"]
    #: Globs and values, in order.
    Rules: TypeAlias = tuple[tuple[str, T], ...]

#: Fields of a layout that have a value for each column.
BY_COLUMN = ("split", "memberwise", "lists", "counters", "classes", "precision", "encoding", "types")
#: Stands for the list of records that takes most bytes in the first cluster.
LARGEST = "@largest"
#: Counters of lists: shared where it is known that lists agree; of each column's own; shared as the names say.
AUTO, OWN, NAMED = "auto", "own", "named"


class ColumnSettings(NamedTuple):
    """The settings of a column as the engine takes them."""

    split: int | None = None
    memberwise: bool = False
    lists: Lists = "counted"
    class_name: str | None = None
    precision: Precision | None = None
    encoding: Encoding = "auto"
    #: C++ types of the column, "", and of members of structs in it, by their paths.
    types: Sequence[tuple[str, str]] = ()
    #: The record of which a column that comes up later is a member.
    record: str | None = None


def rules_of(given: object, what: str, checked: Callable[[object, str], T]) -> Rules[T]:
    """Return one value for all, or values by column, as rules.

    Raises: InvalidRequestError, naming ``what`` and the pattern.
    """
    if not isinstance(given, Mapping):
        return (("*", checked(given, what)),)
    rules = []
    for glob, value in given.items():
        if not isinstance(glob, str) or not glob:
            raise InvalidRequestError(f"{what}: names of columns and globs are text, not {shown(glob)}")
        if glob.startswith("@") and (glob != LARGEST or what != "split"):
            raise InvalidRequestError(f"{what}: there is no {glob!r}; split alone has {LARGEST!r}")
        rules.append((glob, checked(value, f"{what}[{glob!r}]")))
    check_order([glob for glob, _ in rules], what)
    return tuple(rules)


def check_order(globs: Sequence[str], what: str) -> None:
    """Raise InvalidRequestError for a name or pattern that never counts, as one before it matches all that it does."""
    known = Globs(globs)
    for index, glob in enumerate(globs):
        before = known.covering(glob)
        if before is not None and before < index:
            raise InvalidRequestError(
                f"{what}[{glob!r}] never counts, as {globs[before]!r} before it matches: the first that matches counts"
            )


def merged(rules: Rules[T], base: Rules[T]) -> Rules[T]:
    """Return rules before those of another layout, without those that never count."""
    known = Globs(glob for glob, _ in rules)
    return rules + tuple((glob, value) for glob, value in base if known.covering(glob) is None)


class Matcher(Generic[T]):
    """Rules, to be asked for many columns."""

    def __init__(self, rules: Rules[T]) -> None:
        self._rules = rules
        self._globs = Globs(glob for glob, _ in rules)

    def first(self, name: str, otherwise: T, largest: str | None = None) -> tuple[str, T]:
        """Return the first rule that matches a column; ("", otherwise) if none does."""
        index = self._globs.first(name)
        of_largest = self._globs.indices.get(LARGEST)
        if of_largest is not None and name == largest and (index is None or of_largest < index):
            index = of_largest
        return ("", otherwise) if index is None else self._rules[index]


def check_matched(rules: Rules[Any], what: str, names: Sequence[str], where: str) -> None:
    """Raise NoSuchColumnError for a pattern that no column matches; one that begins with * or @ need not."""
    glob = without_match((glob for glob, _ in rules if glob[0] not in "*@"), names)
    if glob is not None:
        raise NoSuchColumnError(
            f"{where}: {what}: no column is called {glob!r}", glob, nearest(glob, names), known=names
        )


def check_of_use(field: pa.Field, rules: Mapping[str, Matcher[Any]], largest: str | None, where: str) -> None:
    """Raise InvalidRequestError for what the very name of a column asks for, and it cannot have.

    rules: those of a tree, by what they are of.
    """
    name, kind = field.name, field.type
    is_split = rules["split"].first(name, None, largest)[1] is not None
    of_class = None if is_split else "without a split level it has no objects of a class: say split, too"
    for what, usual, why in (
        ("split", None, None if has_objects(kind) else "it has no records to split"),
        ("classes", "", of_class if has_objects(kind) else "it has no records"),
        ("memberwise", False, of_class if has_collections(kind) else "it has no lists of records"),
        ("lists", "counted", None if has_lists(kind) else "it has no lists"),
        ("counters", AUTO, _why_uncounted(field, rules["lists"], is_split=is_split)),
    ):
        glob, value = rules[what].first(name, usual)
        if why is not None and glob == name and value != usual:
            raise InvalidRequestError(
                f"{where}: {what}[{name!r}]={shown(value)}: the column is of {kind}: {why}"
            )


def _why_uncounted(field: pa.Field, lists: Matcher[Lists], *, is_split: bool) -> str | None:
    """Return why no counter of others counts the lists of a column; None if one may."""
    if not is_counted(field):
        return "arrays of a counted length are lists of numbers or records, in which none may be missing"
    if is_split and has_objects(field.type):
        return "with a split level it has a counter of its own"
    is_vector = lists.first(field.name, "counted")[1] == "vector" and not has_objects(field.type)
    return "lists='vector' has no counters" if is_vector else None


def is_counted(field: pa.Field) -> bool:
    """Return whether a tree stores a column as arrays of a counted length: lists of numbers, or of records."""
    kind = field.type
    if field.nullable or not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    item = kind.value_type
    while pa.types.is_fixed_size_list(item):
        item = item.value_type
    return bool(pa.types.is_primitive(item) or pa.types.is_struct(item)) and not pa.types.is_null(item)


def largest_collection(schema: pa.Schema, tables: Sequence[pa.Table], n_entries: int) -> str | None:
    """Return the list of records that takes most bytes in the first entries; None without one. The first of equals."""
    sizes = {field.name: 0 for field in schema if is_collection(field.type)}
    for table in tables:
        first = table.slice(0, n_entries)
        n_entries -= first.num_rows
        for name in sizes.keys() & set(table.column_names):
            sizes[name] += sum(map(_n_bytes, first.column(name).chunks))
    return max(sizes, key=lambda name: sizes[name]) if sizes else None


def _n_bytes(array: pa.Array) -> int:
    if not (pa.types.is_list_view(array.type) or pa.types.is_large_list_view(array.type)):
        return int(array.nbytes)
    # Many lists may have the same items.
    n_items: int = sum(array.sizes.filter(array.is_valid()).to_pylist())
    return n_items * int(array.values.nbytes) // max(1, len(array.values))


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


def has_lists(kind: pa.DataType) -> bool:
    """Return whether lists, or bytes, are in values, at any depth."""
    is_of = pa.types
    if is_of.is_list(kind) or is_of.is_large_list(kind) or is_of.is_map(kind):
        return True
    is_bytes = is_of.is_binary(kind) or is_of.is_large_binary(kind)
    return bool(is_bytes) or any(has_lists(field.type) for field in fields_of(kind))


def has_collections(kind: pa.DataType) -> bool:
    """Return whether lists of records, or maps, are in values, at any depth."""
    is_one = is_collection(kind) or bool(pa.types.is_map(kind))
    return is_one or any(has_collections(field.type) for field in fields_of(kind))


def has_floats(kind: pa.DataType, widths: tuple[int, ...]) -> bool:
    """Return whether floating-point numbers of such sizes are in values, at any depth."""
    if pa.types.is_floating(kind):
        # Half floats are stored as float.
        return max(32, cast("int", kind.bit_width)) in widths
    return any(has_floats(field.type, widths) for field in fields_of(kind))
