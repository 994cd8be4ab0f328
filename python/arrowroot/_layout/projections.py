"""Projected fields of an RNTuple: further names for columns, and for members and lengths of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._arrow.kinds import fields_of, stored_field, within
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._layout.columns import is_collection
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Literal, TypeAlias

    from arrowroot._layout.columns import Rules

    #: Fields by the names that show them, ``{"Muon_pt": "Muon.pt", "nMuon": "#Muon"}``; the name "*" of ``"flat"``
    #: stands for the names that a flat tree has; "flat" alone for these, None for none.
    ProjectionsLike: TypeAlias = "Mapping[str, str] | Literal['flat'] | None"

FLAT = "flat"
#: Stands for all that a flat tree has a name for.
_ALL = "*"


class Projection(NamedTuple):
    """A projected field as the engine takes it."""

    name: str
    #: "Muon.pt", or "#Muon" for the lengths of lists.
    source: str
    title: str
    #: It is left out where an RNTuple has no such field: the length of a list that may be missing.
    is_optional: bool
    #: Its C++ type; "" for that of what it shows.
    type_name: str
    #: The type is that of a table that was read: it is left out where the field cannot be of it.
    is_type_kept: bool


def checked_source(value: object, what: str) -> str:
    """Return what a projected field shows. Raises: InvalidRequestError for what is no text; of "flat" for one name."""
    is_of_all = what.endswith((f"[{_ALL!r}]", "projections"))
    if isinstance(value, str) and value.strip("#") and is_of_all == (value == FLAT):
        return value
    raise InvalidRequestError(
        f"{what}={shown(value)}: expected names of columns, members and lengths, as "
        "{'Muon_pt': 'Muon.pt', 'nMuon': '#Muon'}, or 'flat', or None"
    )


def projections_of(
    rules: Rules[str],
    schema: pa.Schema,
    titles: Mapping[str, str],
    where: str,
    *,
    types: Rules[str] = (),
    kept_types: Mapping[str, str] | None = None,
    may_grow: bool = False,
) -> list[Projection]:
    """Return the projected fields of a table of some columns.

    types: C++ types, of which those of their names are theirs. kept_types: those in a table that was read, which are
    theirs where nobody asks for others.
    may_grow: others may come up later, which have none.

    Raises: NoSuchColumnError for what is not there; InvalidRequestError for a name that a column has, and what cannot
        be projected.
    """
    if not rules:
        return []
    schema = pa.schema([stored_field(field) for field in schema])
    kinds = {path: kind for field in schema for path, kind in _members(field.name, field.type)}
    found: dict[str, str] = {}
    flat_names: set[str] = set()
    for name, source in rules:
        if name == _ALL:
            flat = [pair for field in schema for pair in _flat_names(field)]
            flat_names = {one for one, _ in flat if one not in found and one not in schema.names}
            found |= {one: source for one, source in flat if one in flat_names}
            continue
        told = f"{where}: projections[{name!r}]={source!r}"
        if name in schema.names:
            raise InvalidRequestError(f"{told}: there is a column of that name")
        path = source.removeprefix("#")
        if path not in kinds:
            near = nearest(path, kinds)
            late = "; those that come up later have none: schema= says them beforehand" if may_grow else ""
            raise NoSuchColumnError(
                f"{told}: no column or member is called {path!r}{late}", path, near, known=list(kinds)
            )
        if (why := _why_not(path, source, kinds)) is not None:
            raise InvalidRequestError(f"{told}: {why}")
        found[name] = source
    asked, kept = dict(types), kept_types or {}
    return [
        Projection(
            name,
            source,
            titles.get(name, ""),
            name in flat_names,
            asked.get(name, kept.get(name, "")),
            name not in asked,
        )
        for name, source in found.items()
    ]


def _members(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the paths of a column and of the members in it, at any depth, and their types."""
    yield path, kind
    while not pa.types.is_struct(kind) and (inner := fields_of(kind)):
        if len(inner) != 1:
            return
        kind = inner[0].type
    for member in fields_of(kind):
        yield from _members(f"{path}.{member.name}", member.type)


def _why_not(path: str, source: str, kinds: Mapping[str, pa.DataType]) -> str | None:
    """Return why nothing of a column or member can be projected: ROOT's rules; None if it can."""
    kind = kinds[path]
    if source != path and not _has_lengths(kind):
        return f"{path!r} is of {kind}: it has no lengths"
    around = [kinds[one] for end, letter in enumerate(path) if letter == "." and (one := path[:end]) in kinds]
    if any(map(_has_fixed, around)) or (source == path and any(map(_is_fixed, within(kind)))):
        return "ROOT projects no fixed lists, and nothing in them"
    return None


def _has_lengths(kind: pa.DataType) -> bool:
    is_of = pa.types
    return bool(is_of.is_list(kind) or is_of.is_map(kind) or is_of.is_binary(kind))


def _is_fixed(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_fixed_size_list(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind)
    )


def _has_fixed(kind: pa.DataType) -> bool:
    """Return whether the records in values are in fixed lists."""
    while not pa.types.is_struct(kind) and (inner := fields_of(kind)):
        if _is_fixed(kind):
            return True
        kind = inner[0].type
    return False


def _flat_names(field: pa.Field) -> Iterator[tuple[str, str]]:
    """Yield the names that a flat tree has for members and lengths of a column, and what they show."""
    name, kind = field.name, field.type
    if pa.types.is_list(kind):
        yield f"n{name}", f"#{name}"
    record = kind.value_type if is_collection(kind) else kind
    if pa.types.is_struct(record):
        yield from _flat_members(name, name, record)


def _flat_members(name: str, path: str, record: pa.DataType) -> Iterator[tuple[str, str]]:
    for member in fields_of(record):
        one = (f"{name}_{member.name}", f"{path}.{member.name}")
        if pa.types.is_struct(member.type):
            yield from _flat_members(*one, member.type)
        elif not any(_is_fixed(kind) or pa.types.is_union(kind) for kind in within(member.type)):
            yield one
