"""The branches that others are to find of columns of objects: a twin of the writer's rules, as ``expected`` is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .expected import deep, nothing, stored_name, stored_type, stored_values, types

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Names of members of the tests that C++ keeps for itself.
WORDS = {"class", "int", "float"}


@dataclass(frozen=True)
class Member:
    """A value of objects: lists around numbers, texts or objects."""

    name: str
    #: For each list around it its fixed size, None for any.
    around: tuple[int | None, ...]
    kind: pa.DataType
    #: Values of each entry, or of each item of each entry.
    values: list[Any]

    @property
    def is_objects(self) -> bool:
        return bool(types.is_struct(self.kind))

    @property
    def is_array(self) -> bool:
        """True for fixed arrays of numbers, and numbers."""
        is_number = (
            not self.is_objects and not types.is_string(self.kind) and not types.is_large_string(self.kind)
        )
        return is_number and None not in self.around and len(self.around) <= 5


@dataclass(frozen=True)
class ObjectBranch:
    """A branch with data, by its name without dimensions."""

    name: str
    #: "numbers", "texts", "vectors" (of neither objects nor of vectors of these), or "objects".
    kind: str
    #: True if its entries are those of the items of a split collection.
    is_inside: bool
    values: list[Any]
    #: True if each value is a fixed array.
    is_array: bool = False
    #: The branch that it is in, "" for none.
    parent: str = ""


def has_objects(kind: pa.DataType) -> bool:
    """True for objects, and lists of them."""
    if types.is_interval(kind):
        return False
    kind = stored_type(kind)
    if types.is_struct(kind) or types.is_map(kind):
        return True
    return bool(_is_list(kind)) and has_objects(kind.value_type)


def object_branches(name: str, field: pa.Field, column: Any, level: int) -> list[ObjectBranch]:
    """The branches of a column, but for the bools beside it that say what is missing."""
    (*_, value) = _values(stored_name(name), field, stored_values(column), 0)
    assert value.is_objects
    if value.around == (None,) and level > 0:
        return list(_unrolled(value, value.name, level, parent=value.name))
    if value.around or level == 0:
        return [ObjectBranch(value.name, "objects", is_inside=False, values=value.values)]
    return [
        branch
        for member in _members(value, 0)
        for branch in _member(member, f"{value.name}.{member.name}", level - 1)
    ]


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _values(
    name: str, field: pa.Field, values: list[Any], depth: int, around: tuple[int | None, ...] = ()
) -> Iterator[Member]:
    """A value, after the bools beside it. ``values`` are in so many lists."""
    kind = stored_type(field.type)
    missing = f"{name}_isvalid"
    if types.is_null(kind):
        yield Member(missing, around, pa.bool_(), deep(lambda _: False, values, depth))
        return
    if field.nullable:
        yield Member(missing, around, pa.bool_(), deep(lambda one: one is not None, values, depth))
        values = deep(lambda one: nothing(kind) if one is None else one, values, depth)
    if types.is_map(kind):
        pair = pa.struct([kind.key_field.with_name("key"), kind.item_field.with_name("value")])
        yield Member(name, (*around, None), pair, values)
    elif _is_list(kind):
        size = kind.list_size if types.is_fixed_size_list(kind) else None
        yield from _values(name, kind.value_field, values, depth + 1, (*around, size))
    else:
        yield Member(name, around, kind, values)


def _members(objects: Member, depth: int) -> list[Member]:
    """The members of objects that are in so many lists."""
    fields = [objects.kind.field(place) for place in range(objects.kind.num_fields)]
    own = [stored_name(field.name) + ("_" if field.name in WORDS else "") for field in fields]
    found = [
        (member, member.name == name)
        for name, field in zip(own, fields, strict=True)
        for member in _values(
            name, field, deep(lambda one, field=field: one[field.name], objects.values, depth), depth
        )
    ]
    taken: set[str] = set()
    names: dict[int, str] = {}
    for wanted in (True, False):
        for place, (member, is_own) in enumerate(found):
            if is_own == wanted:
                name = member.name
                while name in taken:
                    name += "_"
                taken.add(name)
                names[place] = name
    return [replace(member, name=names[place]) for place, (member, _) in enumerate(found)]


def _member(member: Member, name: str, level: int) -> Iterator[ObjectBranch]:
    """The branches of a member of an object."""
    if member.is_objects and level > 0:
        if not member.around:
            for inner in _members(member, 0):
                yield from _nested(inner, f"{name}.{inner.name}", level, name)
            return
        if member.around == (None,):
            yield from _unrolled(member, name, level, parent=name)
            return
    yield _whole(member, name, is_inside=False)


def _nested(member: Member, name: str, level: int, parent: str) -> Iterator[ObjectBranch]:
    """The branches of a member of a member."""
    if member.is_objects and not member.around and level > 1:
        for inner in _members(member, 0):
            yield from _nested(inner, f"{name}.{inner.name}", level - 1, parent)
    elif member.is_objects and member.around:
        yield from _member(member, name, level - 1)
    else:
        yield _whole(member, name, is_inside=False, parent=parent)


def _unrolled(objects: Member, name: str, level: int, parent: str) -> Iterator[ObjectBranch]:
    """The branches of the items of a collection."""
    for member in _members(objects, depth=1):
        if member.is_objects and not member.around and level > 1:
            yield from _unrolled(member, f"{name}.{member.name}", level - 1, parent)
        else:
            yield _whole(member, f"{name}.{member.name}", is_inside=True, parent=parent)


def _whole(member: Member, name: str, *, is_inside: bool, parent: str = "") -> ObjectBranch:
    if member.is_objects:
        kind = "objects"
    elif member.is_array:
        kind = "numbers"
    else:
        kind = "vectors" if member.around else "texts"
    is_array = kind == "numbers" and bool(member.around)
    return ObjectBranch(name, kind, is_inside, member.values, is_array, parent)
