"""The layouts that fewer readers take, by the table of docs/writing.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from arrowroot._arrow.kinds import fields_of, stored_field
from arrowroot._errors import FewReadersWarning, warn
from arrowroot._layout.precision import OF_TREE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from arrowroot._layout.columns import ColumnSettings
    from arrowroot._layout.layout import Layout

_WHOLE = (
    "whole objects: RDataFrame reads nothing of them without a dictionary of the class, TTreeReader hardly anything, "
    "and uproot takes some of them for other values; TTree::Draw reads their numbers, jsroot and arrowroot all"
)


def warn_of_few_readers(
    schema: pa.Schema, layout: Layout, columns: Sequence[ColumnSettings], where: str
) -> None:
    """Warn once of the columns that some readers do not take in a layout; ``columns``: what it says of each."""
    found: dict[str, list[str]] = {}
    for field, settings in zip(schema, columns, strict=True):
        for why in dict.fromkeys(reasons_of(field, layout, settings)):
            found.setdefault(why, []).append(field.name)
    if found:
        told = "; ".join(f"{', '.join(map(repr, names))}: {why}" for why, names in found.items())
        warn(f"{where}: {told} (docs/writing.md)", FewReadersWarning)


def reasons_of(field: pa.Field, layout: Layout, settings: ColumnSettings) -> Iterator[str]:
    """Yield what of a column some readers do not take, and which."""
    field = stored_field(field)
    kind = field.type
    if layout.format == "rntuple":
        if _has_optional_records(field):
            yield (
                "records that may be missing: RDataFrame and RNTupleReader do not take them, and uproot reads lists; "
                "arrowroot takes them. Missing members of records are read by more"
            )
        return
    if layout.io_features is not None and settings.split is None and _follows_counter(kind, settings):
        yield (
            f"{layout.io_features}: ROOT reads other values of lists, also of those that it wrote, if it does not read "
            "a basket from its first entry on, or that list is empty, or they are lists of arrays; uproot reads lists "
            "and texts as others, or not; arrowroot takes them"
        )
    if settings.precision is not None and settings.precision.kind in OF_TREE and _items(kind) is not None:
        yield f"lists of {settings.precision.kind}, which uproot reads as other values, or not"
    if any("map<" in text for _, text in settings.types):
        yield (
            "maps whose types are asked for: of those without a dictionary TTreeReader and RDataFrame crash, also if "
            "ROOT wrote them"
        )
    if settings.split is not None:
        yield from _reasons_of_objects(kind, settings.split)


def _reasons_of_objects(kind: pa.DataType, level: int, depth: int = 0) -> Iterator[str]:
    """Yield what readers without a dictionary of the class do not take of objects, split so far.

    depth: of objects in which they are members.
    """
    is_of = pa.types
    items = _items(kind)
    if level == 0 or is_of.is_fixed_size_list(kind) or (items is not None and not is_of.is_struct(items)):
        yield _WHOLE
        return
    # The branch of a column has one inside for each member that is a struct: the members of that one's are flat.
    if (items is not None or depth == 1) and _is_mistaken(items or kind, level):
        yield (
            "members inside of one that has the name of another beside: TTree::Draw shows that one's values for "
            "theirs; the other readers take them"
        )
    if items is not None:
        yield from _reasons_of_items(items, level)
        return
    for member in fields_of(kind):
        if _has_objects(member.type):
            yield from _reasons_of_objects(member.type, level - 1, depth + 1)


def _reasons_of_items(record: pa.DataType, level: int) -> Iterator[str]:
    """Yield what they do not take of the items of a split collection."""
    for member in fields_of(record):
        kind = member.type
        if level > 1 and pa.types.is_struct(kind):
            yield from _reasons_of_items(kind, level - 1)
        elif _is_long(kind):
            yield (
                "texts or lists in a split collection: RDataFrame and TTreeReader do not take them, TTree::Draw does "
                "not show all texts, and all three may crash, also of other members beside texts; uproot, jsroot and "
                "arrowroot take them"
            )
        elif _has_objects(kind):
            yield _WHOLE


def _is_mistaken(record: pa.DataType, level: int, beside: Collection[str] | None = None) -> bool:
    """Return whether TTree::Draw takes the branch of a member for a part of another one's name.

    It looks for each part in the branch that has both: of ``x.s.n.pt`` it takes ``x.n`` for the part ``n``.
    level: how often members of members are branches in that one; ``beside``: names of its own members, of a record
    that is a member.
    """
    if not pa.types.is_struct(record):
        return False
    members = fields_of(record)
    inner = [one for one in members if level > 1 and pa.types.is_struct(one.type)]
    if beside is None:
        names = [one.name for one in members if one not in inner]
        return any(_is_mistaken(one.type, level - 1, names) for one in inner)
    return any(one.name in beside or _is_mistaken(one.type, level - 1, beside) for one in inner)


def _items(kind: pa.DataType) -> pa.DataType | None:
    """The items of lists; None for what is none."""
    is_of = pa.types
    if is_of.is_map(kind):
        return pa.struct([kind.key_field, kind.item_field])
    if is_of.is_list(kind) or is_of.is_fixed_size_list(kind):
        return kind.value_type
    return None


def _has_optional_records(field: pa.Field) -> bool:
    """Return whether records may be missing at any depth."""
    is_optional = field.nullable and bool(pa.types.is_struct(field.type))
    return is_optional or any(_has_optional_records(inner) for inner in fields_of(field.type))


def _follows_counter(kind: pa.DataType, settings: ColumnSettings) -> bool:
    """Return whether a column has branches of arrays with a counter, or of texts."""
    items = _items(kind)
    if pa.types.is_struct(kind):
        return any(_follows_counter(member.type, settings) for member in fields_of(kind))
    if items is None or pa.types.is_fixed_size_list(kind):
        return _is_long(kind)
    inner = [member.type for member in fields_of(items)] if pa.types.is_struct(items) else [items]
    return settings.lists == "counted" and not all(map(_is_long, inner))


def _has_objects(kind: pa.DataType) -> bool:
    items = _items(kind)
    return bool(pa.types.is_struct(kind)) or (items is not None and _has_objects(items))


def _is_long(kind: pa.DataType) -> bool:
    """Return whether values have no fixed size, nor do members of them."""
    is_of = pa.types
    if is_of.is_struct(kind) or is_of.is_fixed_size_list(kind):
        return any(_is_long(member.type) for member in fields_of(kind))
    return bool(is_of.is_string(kind) or is_of.is_binary(kind)) or _items(kind) is not None
