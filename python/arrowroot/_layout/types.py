"""The C++ types of fields and branches that are asked for: by a layout, or by the metadata of Arrow fields."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from arrowroot import _native
from arrowroot._arrow.kinds import fields_of, is_list, is_view, mapped, members_of
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._layout.columns import Matcher, has_floats
from arrowroot._layout.precision import parse_precision
from arrowroot._render import shown
from arrowroot._select.globs import without_match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from arrowroot._layout.columns import Rules
    from arrowroot._layout.precision import Precision

#: The key of a C++ type in the metadata of an Arrow field.
TYPE_KEY = b"arrowroot:type"
#: The names that paths have for the keys and values of maps.
PAIR = ("key", "value")
#: The precision of numbers in the type of a field of an RNTuple, as "float[Real32Trunc:16]" has it.
_PRECISION = re.compile(r"\[Real32Trunc:\d+\]|\[Real32Quant:\d+\[[^]]*\]\]")
#: A packed type of a tree, or lists and arrays of one; only a tree has what stands in the brackets.
_PACKED = re.compile(
    r"(?:(?:std::vector|ROOT::VecOps::RVec|std::array)<)*((Double32|Float16)_t(\[[^]]*\])?)(?:(?:,\d+)?>)*"
)


def checked_type(value: object, what: str) -> str:
    """Return the name of a type. Raises: InvalidRequestError for what is no text."""
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return value
    raise InvalidRequestError(f"{what}={shown(value)}: the name of a C++ type, as 'std::set<int>'")


def check_types(rules: Rules[str], names: Sequence[str], where: str) -> None:
    """Raise NoSuchColumnError for a name that neither a column nor a part of one has."""
    around = tuple(f"{name}." for name in names)
    missing = without_match(
        (glob for glob, _ in rules if glob[0] != "*" and not glob.startswith(around)), names
    )
    if missing is not None:
        raise NoSuchColumnError(
            f"{where}: types: no column is called {missing!r}", missing, nearest(missing, names), known=names
        )


def types_of(
    rules: Rules[str],
    schema: pa.Schema,
    precision: Rules[Precision | None] = (),
    *,
    may_grow: bool = False,
) -> list[list[tuple[str, str]]]:
    """Return the types of each column and of members of structs in it, by their paths: "" is the column itself.

    Columns and globs count before metadata. ``column.member`` is a member, also of structs in lists, where no column
    has that name. precision: a rule for a column counts more than what metadata say of that.

    may_grow: records may get members later, whose types are left out as long.
    """
    names = set(schema.names)
    inside = {
        name: {
            glob[len(name) + 1 :]: text
            for glob, text in rules
            if glob.startswith(f"{name}.") and glob not in names
        }
        for name in schema.names
    }
    for field in schema if may_grow else ():
        late = [path for path in inside[field.name] if is_late(field, path)]
        inside[field.name] = {path: text for path, text in inside[field.name].items() if path not in late}
    matcher, precisions = Matcher(rules), Matcher(precision)
    found = []
    for field in schema:
        types = dict(recorded_in(field, ""))
        if types and precisions.first(field.name, None)[0]:
            types = {path: _PRECISION.sub("", text) for path, text in types.items()}
        if packed_type(field) is not None:
            types.pop("")
            types |= _as_field(field)
        types.update(inside[field.name])
        glob, own = matcher.first(field.name, "")
        if glob:
            types[""] = own
        found.append(list(types.items()))
    return found


def is_late(record: pa.Field, path: str) -> bool:
    """Return whether a path is that of a member that a record lacks, or a record in it, and may get later."""
    import pyarrow as pa

    kind = record.type
    while is_list(kind):
        kind = kind.value_type
    if pa.types.is_map(kind):
        inner = path.removeprefix("value.")
        return inner != path and is_late(kind.item_field, inner)
    if not pa.types.is_struct(kind):
        return False
    members = {one.name: one for one in fields_of(kind)}
    for name, member in members.items():
        if path == name or path.startswith(f"{name}."):
            return path != name and is_late(member, path[len(name) + 1 :])
    return True


def types_in_tree(
    rules: Rules[str], schema: pa.Schema
) -> list[tuple[list[tuple[str, str]], Precision | None]]:
    """Return the types of columns as branches of a tree, and how their numbers are packed.

    Types in metadata count where a branch may have them, as those of another format may be there.
    """
    asked = types_of(rules, without_types(schema))
    recorded = [_type_of(field) for field in schema]
    may_have = [False] * len(schema)
    if any(recorded):
        texts = [[("", text)] if text else [] for text in recorded]
        may_have = _native.may_have_types(schema, texts, in_tree=True)
    found = []
    for field, types, text, may in zip(schema, asked, recorded, may_have, strict=True):
        said = dict(types).get("", text)
        packed = _packed(said, field.name)
        # Numbers have their packed type by their precision.
        is_said = bool(types) and packed is not None and _is_of(field, said, packed)
        is_kept = may and text and not types and packed is None
        found.append(([] if is_said else [("", text)] if is_kept else types, packed))
    return found


def _type_of(field: pa.Field) -> str:
    recorded: bytes = (field.metadata or {}).get(TYPE_KEY, b"")
    return recorded.decode(errors="replace")


def _is_of(field: pa.Field, text: str, packed: Precision) -> bool:
    """Return whether a column has packed numbers, or arrays of these, as a text says it, and not a container."""
    import pyarrow as pa

    kind = field.type
    while is_list(kind) and "<" not in text:
        kind = kind.value_type
    return bool(pa.types.is_floating(kind)) and has_floats(kind, packed.width)


def packed_type(field: pa.Field) -> Precision | None:
    """Return the packed type that the metadata of a field say, for a branch of a tree."""
    return _packed(_type_of(field), field.name)


def _packed(text: str, name: str) -> Precision | None:
    match = _PACKED.fullmatch(text)
    return parse_precision(match[1], f"type of {name!r}") if match else None


def _as_field(field: pa.Field) -> dict[str, str]:
    """Return the type of a field of an RNTuple for packed numbers: it has no range, and no ``Float16_t``."""
    text = field.metadata[TYPE_KEY].decode()
    match = _PACKED.fullmatch(text)
    if match is None or match[2] != "Double32":
        return {}
    if match[3] is None and text != match[1]:
        return {"": text}
    return {"": _around(field, "Double32_t")}


def _around(field: pa.Field, item: str) -> str:
    """Return the C++ type of a field of numbers of a type, or of lists and arrays of them; all may be missing."""
    import pyarrow as pa

    kind = field.type
    if pa.types.is_fixed_size_list(kind):
        item = f"std::array<{_around(kind.value_field, item)},{kind.list_size}>"
    elif is_list(kind):
        item = f"std::vector<{_around(kind.value_field, item)}>"
    return f"std::optional<{item}>" if field.nullable else item


def recorded_in(field: pa.Field, path: str) -> Iterator[tuple[str, str]]:
    """Yield the types that the metadata of a field have, and those of what is in it."""
    if field.metadata and TYPE_KEY in field.metadata:
        yield path, field.metadata[TYPE_KEY].decode(errors="replace")
    yield from _inside(field.type, path)


def _inside(kind: pa.DataType, path: str) -> Iterator[tuple[str, str]]:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        yield from _inside(kind.storage_type, path)
    if is_list(kind) or is_view(kind):
        yield from _inside(kind.value_type, path)
    for name, field in named_members(kind):
        if pa.types.is_struct(kind):
            yield from recorded_in(field, _joined(path, name))
        else:
            yield from _inside(field.type, _joined(path, name))


def named_members(kind: pa.DataType) -> list[tuple[str, pa.Field]]:
    """Return members of structs, maps and unions by the names that paths have for them."""
    import pyarrow as pa

    if pa.types.is_map(kind):
        return list(zip(PAIR, fields_of(kind), strict=True))
    if not pa.types.is_union(kind):
        return [(one.name, one) for one in fields_of(kind)] if pa.types.is_struct(kind) else []
    # Alternatives are numbered, and null is none of them.
    numbers = itertools.count()
    return [(str(next(numbers)) if one.type != pa.null() else "", one) for one in members_of(kind)]


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def without_types(schema: pa.Schema) -> pa.Schema:
    """Return a schema whose metadata have no types, at any depth."""
    import pyarrow as pa

    if not any(True for field in schema for _ in recorded_in(field, "")):
        return schema
    fields = [_without(field.with_type(mapped(field.type, _without))) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _without(field: pa.Field) -> pa.Field:
    if not field.metadata or TYPE_KEY not in field.metadata:
        return field
    kept = {key: text for key, text in field.metadata.items() if key != TYPE_KEY}
    return field.with_metadata(kept) if kept else field.remove_metadata()
