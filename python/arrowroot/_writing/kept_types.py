"""The C++ types of a table that is read, for one that is written of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from arrowroot import _native
from arrowroot._arrow.kinds import is_list, is_view, nullable_as, with_fields
from arrowroot._layout.types import TYPE_KEY, named_members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arrowroot._api.tree import Tree

#: Types of records whose members have no names, and what may be around these.
_NUMBERED = re.compile(
    r"(?:(?:std::(?:vector|array|optional|unique_ptr|(?:unordered_)?(?:multi)?set)|ROOT::VecOps::RVec)<)*"
    r"std::(?:pair|tuple|(?:unordered_)?(?:multi)?map)<"
)
_NUMBERS = {
    pa.bool_(): "bool",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "std::string",
    **{
        kind: f"std::{kind}_t"
        for kind in (
            pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        )
    },
}  # fmt: skip


def _usual(kind: pa.DataType) -> str:
    """Return the type that the field of a column has by itself, "" for one without, and where it is not known."""
    is_of = pa.types
    if is_of.is_map(kind):
        return f"std::map<{_usual(kind.key_type)},{_usual(kind.item_type)}>"
    if is_of.is_fixed_size_list(kind):
        return f"std::array<{_usual(kind.value_type)},{kind.list_size}>"
    if is_of.is_list(kind):
        return f"std::vector<{_usual(kind.value_type)}>"
    return _NUMBERS.get(kind, "")


def with_types(schema: pa.Schema, tree: Tree, stored: Mapping[str, pa.Field] | None = None) -> pa.Schema:
    """Return the schema of columns of a tree, with the C++ types of fields that columns do not have by themselves.

    They are in the metadata of its fields. Types that values of a column cannot have are left out. A tree has the
    packed types and the containers of its branches.

    stored: columns by their names, nullable where values are stored so; others are as the schema says.
    """
    if stored:
        # Types are those that columns have as they are stored; what the schema says of missing values stays.
        fields = [nullable_as(one, stored[one.name]) if one.name in stored else one for one in schema]
        typed = with_types(pa.schema(fields, schema.metadata), tree)
        return pa.schema(
            [nullable_as(one, of) for one, of in zip(typed, schema, strict=True)], typed.metadata
        )
    if "RNTuple" not in tree.class_name:
        return _with_types_of_branches(schema, tree)
    names = tree.asked_types()
    types = [_types_in(field, field.name, names) for field in schema]
    if not any(types):
        return schema
    may_have = _native.may_have_types(schema, [list(found.items()) for found in types], in_tree=False)
    fields = [
        _with(field, "", found if may else _possible(field, found)) if found else field
        for field, found, may in zip(schema, types, may_have, strict=True)
    ]
    return pa.schema(fields, metadata=schema.metadata)


def _possible(field: pa.Field, types: dict[str, str]) -> dict[str, str]:
    """Return the types that values of a column may have, each by itself."""
    alone = pa.schema([field.with_name(str(number)) for number in range(len(types))])
    may_have = _native.may_have_types(alone, [[one] for one in types.items()], in_tree=False)
    return {path: text for (path, text), may in zip(types.items(), may_have, strict=True) if may}


def _with_types_of_branches(schema: pa.Schema, tree: Tree) -> pa.Schema:
    names = set(schema.names)
    types = {
        branch.path: branch.asked_type
        for branch in tree.branches
        if branch.path in names and branch.asked_type
    }
    if not types:
        return schema
    asked = [types.get(field.name, "") for field in schema]
    may_have = _native.may_have_types(schema, [[("", text)] if text else [] for text in asked], in_tree=True)
    fields = [
        _with(field, "", {"": text}) if text and (may or _is_packed(field.type, text)) else field
        for field, text, may in zip(schema, asked, may_have, strict=True)
    ]
    return pa.schema(fields, metadata=schema.metadata)


def _is_packed(kind: pa.DataType, text: str) -> bool:
    """Return whether a type is one of packed numbers, and a column has these, perhaps in lists."""
    while is_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_floating(kind)) and text.startswith(("Double32_t", "Float16_t"))


def _types_in(field: pa.Field, path: str, names: dict[str, str]) -> dict[str, str]:
    """Return the types of a field and of members in it that columns do not have by themselves, by path."""
    name, found = names.get(path, ""), {}
    if name and name != _usual(field.type):
        found[""] = name
    kind = field.type
    while is_list(kind) or is_view(kind):
        kind = kind.value_type
    # Members of pairs and tuples, also those of maps, have numbers there.
    is_numbered = _NUMBERED.match(name) is not None
    # Their types, and those of alternatives, are in the name of what they are in.
    is_named = is_numbered or pa.types.is_union(kind)
    for number, (own, member) in enumerate(named_members(kind)):
        for inner, text in _types_in(member, f"{path}.{number if is_numbered else own}", names).items():
            if inner or not is_named:
                found[f"{own}.{inner}" if inner else own] = text
    return found


def _with(field: pa.Field, path: str, types: dict[str, str]) -> pa.Field:
    """Return a field with types in its metadata, and in those of members of structs in it."""
    kind = field.type
    inside = {inner: text for inner, text in types.items() if inner != path}
    if members := named_members(kind):
        fields = [_with(one, f"{path}.{name}" if path else name, inside) for name, one in members]
        kind = with_fields(kind, fields)
    elif is_list(kind) or is_view(kind):
        kind = with_fields(kind, [_with(kind.value_field, path, inside)])
    metadata = {**(field.metadata or {}), **({TYPE_KEY: types[path]} if path in types else {})}
    return field.with_type(kind).with_metadata(metadata) if metadata else field.with_type(kind)
