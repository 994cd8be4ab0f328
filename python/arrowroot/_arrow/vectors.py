"""Vectors of ROOT's classes under the names that the vector package knows; no value is copied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    Convert = Callable[[pa.Array], pa.Array]

#: Key of the metadata of a field: its type in C++.
TYPE = b"type"
#: The same: the name of its records in Awkward, by which their behaviours are found.
RECORD = b"arrowroot:record"
#: Members of TObject, which say nothing of physics.
OF_TOBJECT = frozenset({"fUniqueID", "fBits"})


class Coordinates(NamedTuple):
    """The name of records, and those of their members, by ROOT's."""

    record: str
    names: Mapping[str, str]


#: ROOT::Math's systems of coordinates (Math/GenVector/PxPyPzE4D.h and its neighbours). Polar3D's radius has no name
#: that vector knows.
_SYSTEMS = {
    frozenset(names): Coordinates(record, names)
    for record, names in (
        ("Momentum4D", {"fX": "px", "fY": "py", "fZ": "pz", "fT": "E"}),
        ("Momentum4D", {"fX": "px", "fY": "py", "fZ": "pz", "fM": "mass"}),
        ("Momentum4D", {"fPt": "pt", "fEta": "eta", "fPhi": "phi", "fE": "E"}),
        ("Momentum4D", {"fPt": "pt", "fEta": "eta", "fPhi": "phi", "fM": "mass"}),
        ("Vector3D", {"fX": "x", "fY": "y", "fZ": "z"}),
        ("Vector3D", {"fRho": "rho", "fEta": "eta", "fPhi": "phi"}),
        ("Vector3D", {"fRho": "rho", "fZ": "z", "fPhi": "phi"}),
        ("Vector2D", {"fX": "x", "fY": "y"}),
        ("Vector2D", {"fR": "rho", "fPhi": "phi"}),
    )
}
#: Members of TVector3 and TVector2, which other classes may have, too, and of TLorentzVector, whose momentum is one.
_CARTESIAN = {"TVector3": frozenset({"fX", "fY", "fZ"}), "TVector2": frozenset({"fX", "fY"})}
_OF_LORENTZ = frozenset({"fP", "fE"})
_INSIDE = "fCoordinates"


def coordinates_of(members: Mapping[str, str]) -> Coordinates | None:
    """Return the coordinates that split members are, by their names, with Arrow's types of them.

    They are ``fCoordinates.fPt`` and so on, ``fCoordinates`` as a whole, or ``fP`` and ``fE``, whose members are named
    when they are read.
    """
    names = members.keys() - OF_TOBJECT
    if (
        names == _OF_LORENTZ
        and {*re.findall(r"(\w+): ", members["fP"])} == OF_TOBJECT | _CARTESIAN["TVector3"]
    ):
        return Coordinates("Momentum4D", {})
    if names == {_INSIDE}:
        known = _SYSTEMS.get(frozenset(re.findall(r"(\w+): ", members[_INSIDE])))
        return None if known is None else Coordinates(known.record, {})
    known = _SYSTEMS.get(frozenset(name.removeprefix(f"{_INSIDE}.") for name in names))
    if known is None or not all(name.startswith(f"{_INSIDE}.") for name in names):
        return None
    return Coordinates(known.record, {f"{_INSIDE}.{old}": new for old, new in known.names.items()})


def as_vectors(
    field: pa.Field, type_name: str = "", *, is_chosen: bool = False
) -> tuple[pa.Field, Convert | None]:
    """Return a field in which ROOT's vectors are records that vector knows, and what converts its arrays.

    The members of TObject are left out of all records. None: the field is as it was.

    type_name: the type in C++, if it is not in the metadata of the field. is_chosen: its records have the members that
    were asked for.
    """
    import pyarrow as pa

    kind = field.type
    if TYPE in (field.metadata or {}):
        type_name = field.metadata[TYPE].decode("utf-8", "replace")
    if pa.types.is_struct(kind):
        return _record(field, type_name, is_chosen=is_chosen)
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return field, None
    item, convert = as_vectors(kind.value_field, type_name, is_chosen=is_chosen)
    if convert is None:
        return field, None
    if pa.types.is_fixed_size_list(kind):
        made = pa.list_(item, kind.list_size)
    else:
        made = pa.list_(item) if pa.types.is_list(kind) else pa.large_list(item)
    return field.with_type(made), lambda lists: pa.Array.from_buffers(
        made,
        len(lists),
        lists.buffers()[: kind.num_buffers],
        lists.null_count,
        lists.offset,
        [convert(lists.values)],
    )


class _Member(NamedTuple):
    """A member to be of a record, and how it is taken from the records that were read."""

    field: pa.Field
    take: Convert

    def named(self, name: str) -> _Member:
        return self._replace(field=self.field.with_name(name))


def _record(field: pa.Field, type_name: str, *, is_chosen: bool) -> tuple[pa.Field, Convert | None]:
    import pyarrow as pa

    read = list(field.type)
    members = [_member(one, at) for at, one in enumerate(read)]
    kept = [one for one in members if is_chosen and one.field.name in OF_TOBJECT]
    if is_chosen or {*OF_TOBJECT} < {one.name for one in read}:
        members = [one for one in members if one.field.name not in OF_TOBJECT]
    members, record = _of_vector(_with_inner_vectors(members), type_name)
    members = [*kept, *members]
    fields = [member.field for member in members]
    if len(fields) == len(read) and all(new is old for new, old in zip(fields, read, strict=True)):
        return field, None
    made = field.with_type(pa.struct(fields))
    if record is not None:
        made = made.with_metadata({**(field.metadata or {}), RECORD: record})

    def convert(records: pa.StructArray) -> pa.StructArray:
        mask = records.is_null() if records.null_count else None
        return pa.StructArray.from_arrays([one.take(records) for one in members], fields=fields, mask=mask)

    return made, convert


def _member(field: pa.Field, at: int) -> _Member:
    made, convert = as_vectors(field)
    if convert is None:
        return _Member(field, lambda records: records.field(at))
    return _Member(made, lambda records: convert(records.field(at)))


def _of_vector(members: list[_Member], type_name: str) -> tuple[list[_Member], str | None]:
    """Return members under the names that vector knows, and that of their record; as they are if they are no vector."""
    by_name = {one.field.name: one for one in members}
    found: list[_Member] = []
    if by_name.keys() == {_INSIDE}:
        found = _flattened(by_name[_INSIDE])
    elif by_name.keys() == _OF_LORENTZ:
        inside = _flattened(by_name["fP"])
        found = [one.named(f"f{one.field.name.removeprefix('f').upper()}") for one in inside]
        found += [by_name["fE"].named("fT")]
    elif any(
        by_name.keys() == names and re.search(rf"\b{name}\b", type_name) for name, names in _CARTESIAN.items()
    ):
        found = members
    known = _SYSTEMS.get(frozenset(one.field.name for one in found))
    if known is None:
        return members, None
    return [one.named(known.names[one.field.name]) for one in found], known.record


def _flattened(outer: _Member) -> list[_Member]:
    """Return the members of a member that is a record; none if it is none, or may be missing."""
    import pyarrow as pa

    kind = outer.field.type
    if outer.field.nullable or not pa.types.is_struct(kind):
        return []

    def inside(at: int) -> Convert:
        return lambda records: outer.take(records).field(at)

    return [_Member(one, inside(at)) for at, one in enumerate(kind)]


def _with_inner_vectors(members: list[_Member]) -> list[_Member]:
    """Return members with each vector that was split, ``p4.fCoordinates.fPt`` and so on, as one."""
    split: dict[str, list[_Member]] = {}
    for one in members:
        owner, mark, _ = one.field.name.rpartition(f".{_INSIDE}.")
        if mark:
            split.setdefault(owner, []).append(one)
    made: dict[str, _Member] = {}
    for owner, parts in split.items():
        known = _SYSTEMS.get(frozenset(one.field.name.removeprefix(f"{owner}.{_INSIDE}.") for one in parts))
        if known is not None:
            made[owner] = _joined(owner, parts, known)
    found: dict[str, _Member] = {}
    for one in members:
        owner = one.field.name.rpartition(f".{_INSIDE}.")[0]
        found.setdefault(owner if owner in made else one.field.name, made.get(owner, one))
    return list(found.values())


def _joined(owner: str, parts: list[_Member], known: Coordinates) -> _Member:
    import pyarrow as pa

    names = [known.names[one.field.name.removeprefix(f"{owner}.{_INSIDE}.")] for one in parts]
    fields = [one.field.with_name(name) for one, name in zip(parts, names, strict=True)]
    made = pa.field(owner, pa.struct(fields), nullable=False, metadata={RECORD: known.record})
    return _Member(
        made, lambda records: pa.StructArray.from_arrays([one.take(records) for one in parts], fields=fields)
    )
