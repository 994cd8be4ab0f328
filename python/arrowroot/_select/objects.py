"""Physics objects: which columns are members of the same things, as counters and stored types say."""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 - a NamedTuple's annotation
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from arrowroot._arrow.vectors import OF_TOBJECT, coordinates_of
from arrowroot._select.columns import Candidate

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

#: Groups of branches with one item for each object.
_COLLECTION = r"(std::)?vector<|TClonesArray|ROOT::VecOps::RVec<"
#: Podio's references to objects of other collections.
_REFERENCES = r"(std::)?vector<podio::ObjectID>$"
#: Groups of branches that are one vector.
_VECTOR = r"ROOT::Math::(LorentzVector|DisplacementVector[23]D|PositionVector[23]D)<"
#: Members of which the vector package takes one each, for the records that it adds behaviours to.
_AZIMUTHAL, _LONGITUDINAL = ({"pt", "phi"}, {"px", "py"}), ({"eta"}, {"theta"}, {"pz"})
_TEMPORAL = frozenset({"mass", "m", "M", "energy", "e", "E"})


class CountedBranch(Candidate, Protocol):
    """A branch that may say which one counts its values."""

    @property
    def counter(self) -> str | None: ...
    @property
    def arrow_type(self) -> str | None: ...
    @property
    def title(self) -> str: ...


class PhysicsObject(NamedTuple):
    """Columns that are members of the same things, as ``Muon``: ``Tree.objects`` has those that a file says.

    members: paths of the columns by the names of the members. counter: the column with the number of objects, None if
    only their members say it. record: the name under which the ``vector`` package knows such records in Awkward.
    is_list: False for one vector an entry, of which there is no number.
    relations: podio's lists of references, by the names of the relations ("0" and so on in old files). Members
    ``tracks_begin`` and ``tracks_end`` say which part of the list ``relations["tracks"]`` is of an object.

    >>> ar.PhysicsObject("Muon", {"pt": "Muon_pt", "phi": "Muon_phi"}, "nMuon", None).members["pt"]
    'Muon_pt'
    """

    name: str
    members: dict[str, str]
    counter: str | None
    record: str | None
    relations: Mapping[str, str] = MappingProxyType({})
    is_list: bool = True


def record_of(members: Iterable[str]) -> str | None:
    """Return the name of records for the behaviours of the vector package; None: it knows none such."""
    names = set(members)
    if not any(pair <= names for pair in _AZIMUTHAL) or not any(one <= names for one in _LONGITUDINAL):
        return None
    return "Momentum4D" if names & _TEMPORAL else "Momentum3D"


def paths_in(objects: Iterable[PhysicsObject]) -> list[str]:
    """Return the paths of the members of objects, but for those of TObject, which nobody asks for by an object."""
    return [path for one in objects for name, path in one.members.items() if name not in OF_TOBJECT]


def objects_in(branches: Sequence[CountedBranch]) -> dict[str, PhysicsObject]:
    """Return the objects that branches (depth first) are members of, by their names."""
    found: dict[str, PhysicsObject] = {}
    counted: dict[str, list[str]] = {}
    parts: dict[str, list[str]] = {}
    for index, branch in enumerate(branches):
        is_list = bool(re.match(_COLLECTION, branch.type_name))
        if branch.is_group and (is_list or re.match(_VECTOR, branch.type_name)):
            _add_group(
                found, branch, [one for one in _behind(branches, index) if not one.is_group], is_list=is_list
            )
        elif branch.is_part and branch.unsupported is None:
            parts.setdefault(branch.path.rpartition(".")[0], []).append(branch.path)
        elif branch.depth == 0 and branch.counter is not None and branch.unsupported is None:
            counted.setdefault(branch.counter, []).append(branch.path)
    # A column "Muon" beside "Muon_pt" keeps its name.
    taken = {one.path for one in branches if not one.is_group}
    for counter, paths in counted.items():
        begin = _common_begin(counter, paths)
        if begin and begin[:-1] not in taken:
            members = {path.removeprefix(begin): path for path in paths if path.startswith(begin)}
            _add(found, begin[:-1], members, counter)
    for branch in branches:
        if branch.path in parts and (branch.arrow_type or "").startswith("list<struct<"):
            members = {path.removeprefix(f"{branch.path}."): path for path in parts[branch.path]}
            # ROOT's importer of trees numbers its collections, and keeps the names of the columns in them.
            begin = _common_begin("", list(members))
            if begin[:-1] in taken - {branch.path}:
                begin = ""
            named = {name.removeprefix(begin): path for name, path in members.items()}
            _add(found, begin[:-1] or branch.path, named, None)
    return _related(found, branches)


def _related(found: dict[str, PhysicsObject], branches: Sequence[CountedBranch]) -> dict[str, PhysicsObject]:
    """Return objects, where podio's lists of references are relations of their collection, or a subset of another.

    Podio writes "_MCParticles_parents" and "Muon_objIdx", until 0.99 "MCParticles#0" and "Muon#0": then a subset has a
    branch "Muon" besides, of objects without members.
    """
    lists = [one.name for one in branches if one.depth == 0 and re.match(_REFERENCES, one.type_name)]
    if not lists:
        return found
    collections = {one.name for one in branches if one.depth == 0}.difference(lists)
    named: dict[str, PhysicsObject] = {}
    relations: dict[str, dict[str, str]] = {}
    for name, one in found.items():
        owner, relation = _owner(name, collections) if name in lists else (name, "")
        if relation and owner in found:
            relations.setdefault(owner, {})[relation] = name
        elif owner not in named:
            named[owner] = one._replace(name=owner)
    return {
        name: one._replace(relations=relations[name]) if name in relations else one
        for name, one in named.items()
    }


def _owner(name: str, collections: Container[str]) -> tuple[str, str]:
    """Return the collection that a list of references belongs to, and the name of the relation; "" for a subset."""
    if name.endswith("_objIdx"):
        return name.removesuffix("_objIdx"), ""
    owner, _, number = name.rpartition("#")
    if owner in collections and number.isdecimal():
        return owner, number
    # Collections may have a "_" in their names, and so may relations: the longest that there is.
    for end in range(len(name) - 1, 1, -1):
        if name.startswith("_") and name[end] == "_" and name[1:end] in collections:
            return name[1:end], name[end + 1 :]
    return name, ""


def _behind(branches: Sequence[CountedBranch], index: int) -> Iterable[CountedBranch]:
    """Yield what is inside of a group."""
    for branch in branches[index + 1 :]:
        if branch.depth <= branches[index].depth:
            return
        yield branch


def _member(path: str, group: CountedBranch) -> str:
    last = path.removeprefix(f"{group.path}/").rpartition("/")[2]
    # ROOT calls a branch of arrays "covMatrix[10]".
    return re.sub(r"(\[\d+\])+$", "", last.removeprefix(f"{group.name.rstrip('.')}."))


def _add(found: dict[str, PhysicsObject], name: str, members: dict[str, str], counter: str | None) -> None:
    if members and name not in found:
        found[name] = PhysicsObject(name, members, counter, record_of(members))


def _add_group(
    found: dict[str, PhysicsObject], group: CountedBranch, inside: Sequence[CountedBranch], *, is_list: bool
) -> None:
    """Add a collection that is split, or one vector; a vector in a split collection is a member of that."""
    read = [one for one in inside if one.unsupported is None and one.type_name.endswith("]") is is_list]
    members = {_member(one.path, group): one.path for one in read}
    known = coordinates_of({_member(one.path, group): one.arrow_type or "" for one in read})
    name = (group.name if is_list else group.path).rstrip(".")
    if known is not None and name not in found:
        named = {known.names.get(one, one): path for one, path in members.items()}
        found[name] = PhysicsObject(name, named, None, known.record, is_list=is_list)
    elif is_list:
        _add(found, name, members, None)


def _common_begin(counter: str, paths: Sequence[str]) -> str:
    """Return the begin of names, with a "_", that says what they are members of; "" if they have none in common.

    A counter "nMuon" says that "Muon_pt" and "Muon_eta" are of muons, though it may count others besides.
    """
    named = f"{counter[1:]}_"
    n_named = sum(path.startswith(named) for path in paths) if counter.startswith("n") else 0
    if n_named > 1 or n_named == len(paths):
        return named
    if len(paths) == 1:
        return ""
    # What the first and the last in the order of the alphabet begin with, all others do.
    first, last = min(paths), max(paths)
    n_common = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: first.rfind("_", 0, n_common) + 1]


class Zip(NamedTuple):
    """A column to deliver: one as it is read, or members of objects as a list of records."""

    name: str
    #: Paths by the names of the members; None: the column of that name.
    members: dict[str, str] | None
    record: str | None = None
    is_list: bool = True


def spelled_out(
    columns: Iterable[str], objects: Mapping[str, PhysicsObject], known: Container[str]
) -> list[str]:
    """Return names and patterns with objects, and members "Muon.pt", as the paths of columns."""
    found: list[str] = []
    for text in columns:
        mark = "!" if text.startswith("!") and text not in known else ""
        bare = text.removeprefix(mark)
        name, _, member = bare.partition(".")
        one = objects.get(bare) or objects.get(name)
        is_column = bare in known and not _stands_for(bare, objects)
        if is_column or one is None or (member and member not in one.members):
            found.append(text)
        elif member:
            found.append(mark + one.members[member])
        else:
            found += [mark + path for key, path in one.members.items() if mark or key not in OF_TOBJECT]
    return found


def _stands_for(path: str, objects: Mapping[str, PhysicsObject]) -> bool:
    """Return whether an object is delivered for a column without values, as of podio's subsets in old files."""
    inside = (f"{path}.", f"{path}/")
    return path in objects and not any(one.startswith(inside) for one in objects[path].members.values())


def zipped(
    paths: Sequence[str], objects: Mapping[str, PhysicsObject], *, named: Container[str] | None
) -> list[Zip]:
    """Return what to deliver of chosen columns, each object where its first member is.

    named: texts that were asked for; None: all columns are meant. Then counters are not wanted: records say how many
    there are. The members of TObject are left out unless they are named.
    """
    of = {path: (one, member) for one in objects.values() for member, path in one.members.items()}
    counters = {one.counter for one in objects.values()} if named is None else set()
    found: dict[str, Zip] = {}
    for path in paths:
        one, member = of.get(path, (None, ""))
        if one is None:
            if path not in counters and not _stands_for(path, objects):
                found[path] = Zip(path, None)
        elif member not in OF_TOBJECT or (named and (path in named or f"{one.name}.{member}" in named)):
            into = found.setdefault(one.name, Zip(one.name, {}, None, one.is_list))
            if into.members is not None:
                into.members[member] = path
    return [one._replace(record=_record_of(one, objects)) for one in found.values()]


def _record_of(chosen: Zip, objects: Mapping[str, PhysicsObject]) -> str | None:
    """Return the name of the records of the members that are read: of all of them, or of some that are a vector."""
    if chosen.members is None:
        return None
    whole = objects[chosen.name]
    is_whole = {*whole.members} - OF_TOBJECT <= {*chosen.members}
    return whole.record if is_whole else record_of(chosen.members)
