"""Trees of files that differ, as one: columns that some of them lack, and numbers that are wider in others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._api.chain import Chain
from arrowroot._api.row import Row
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, SchemaMismatchError, warn_left_out
from arrowroot._render import shown
from arrowroot._select.columns import select, without_short

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from typing import Literal, TypeAlias

    import pyarrow as pa

    from arrowroot._api.members import Member
    from arrowroot._api.tree import Tree
    from arrowroot._expressions.scope import Alias
    from arrowroot._filter.bind import Filter
    from arrowroot._options import Options
    from arrowroot._passes.concatenated import Concatenated
    from arrowroot._passes.conformed import Conformed
    from arrowroot._passes.source import Source
    from arrowroot._select.columns import Candidate, Choice
    from arrowroot._select.entries import EntrySet
    from arrowroot._select.objects import CountedBranch, PhysicsObject
    from arrowroot._select.origins import OfRow

    #: The choice for columns that some files lack.
    Missing: TypeAlias = Literal["raise", "null", "common"]

_CHOICES: tuple[Missing, ...] = ("raise", "null", "common")


class Differing(NamedTuple):
    """The way in which files may differ: ``missing`` and ``promote`` of ``arrowroot.scan``."""

    missing: Missing
    promote: bool

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Differing:
        """Return what a user gave. Raises: InvalidRequestError for another word."""
        missing, promote = given.get("missing", "raise"), given.get("promote", False)
        if not isinstance(missing, str) or missing not in _CHOICES:
            raise InvalidRequestError(f"missing: expected 'raise', 'null' or 'common', got {shown(missing)}")
        if not isinstance(promote, bool):
            raise InvalidRequestError(f"promote: expected True or False, got {shown(promote)}")
        return cls(missing, promote)


class _Branch(NamedTuple):
    """A branch of some of the trees. It keeps none of them open."""

    path: str
    name: str
    type_name: str
    is_group: bool
    depth: int
    is_part: bool
    unsupported: str | None
    counter: str | None = None
    arrow_type: str | None = None
    title: str = ""


class _Kind(NamedTuple):
    """Trees with the same columns of the same types: the number of the first, and what can be read of them."""

    number: int
    readable: frozenset[str]


class _Forest:
    """The branches of several trees, each once, those of a group inside of it."""

    def __init__(self) -> None:
        #: Of node 0, which is none, come the outermost ones.
        self._nodes: list[_Branch] = [_Branch("", "", "", True, -1, False, None)]
        self._inside: list[dict[str, int]] = [{}]

    def add(self, branches: Iterable[Candidate]) -> None:
        """Take the branches of a tree (depth first); new ones come behind those that are known."""
        around = [0]
        for branch in branches:
            del around[branch.depth + 1 :]
            beside = self._inside[around[-1]]
            number = beside.setdefault(branch.path, len(self._nodes))
            one = _Branch(*(getattr(branch, name) for name in _Branch._fields))
            if number == len(self._nodes):
                self._nodes.append(one)
                self._inside.append({})
            elif one.unsupported is None:
                self._nodes[number] = one
            around.append(number)

    @property
    def branches(self) -> list[_Branch]:
        """All of them, depth first."""
        found: list[_Branch] = []
        waiting = [0]
        while waiting:
            number = waiting.pop()
            found.append(self._nodes[number])
            waiting.extend(reversed(self._inside[number].values()))
        return found[1:]


class OneOfDiffering(Chain):
    """A tree alone that delivers columns as the row does which it is of: those that it lacks are null."""

    def __init__(
        self,
        tree: Tree,
        schema: pa.Schema,
        readable: Container[str] | None = None,
        aliases: Mapping[str, Alias] | None = None,
        of_row: OfRow | None = None,
    ) -> None:
        """``schema``: of the row's columns; ``readable``: those that can be read here; None: nobody looked.

        aliases, of_row: as of ``Chain``.
        """
        super().__init__(tree, aliases, of_row)
        self._schema = schema
        self._readable = _readable(tree.branches) if readable is None else readable

    @property
    def branches(self) -> Sequence[Candidate]:
        """The tree's own branches, and what it lacks of the row's columns."""
        own = self.tree.branches
        lacking = [field for field in self._schema if field.name not in self._readable]
        names = {field.name for field in lacking}
        return [
            *(branch for branch in own if branch.path not in names),
            *(
                _Branch(one.name, one.name.rpartition("/")[2], str(one.type), False, 0, False, None)
                for one in lacking
            ),
        ]

    def stored_fields(self) -> Mapping[str, pa.Field]:
        """Return nothing: what may be missing is as the row has it."""
        return {}

    def choose(self, choice: Choice) -> list[str]:
        """Return the paths of the columns to deliver. Raises: as ``Tree.scan``."""
        return select(self.branches, choice, self.location).paths

    def source(self, names: list[str], entries: EntrySet, options: Options) -> Conformed:
        """Return a pass over columns and entries."""
        from arrowroot._passes.conformed import Conformed

        here = [name for name in names if name in self._readable]
        return Conformed(self.tree, self.first_schema(names, options), here, entries, options)

    def first_schema(self, names: list[str], options: Options) -> pa.Schema:  # noqa: ARG002 - of a chain
        """Return the types of columns in the row."""
        import pyarrow as pa

        return pa.schema([self._schema.field(name) for name in names])


class Unified(Row):
    """Trees of files that may differ. All are opened before columns are chosen: among those that any of them has."""

    def __init__(self, *args: Any, differing: Differing, **options: Any) -> None:
        """Open the first file. The others: as for ``Row``."""
        self._differing = differing
        self._kinds: dict[frozenset[tuple[str, str | None]], _Kind] = {}
        #: That of each tree.
        self._kind_of: list[_Kind] = []
        self._forest = _Forest()
        #: The expressions that trees record: of each name that of the first tree which has one.
        self._recorded: dict[str, Alias] = {}
        self._schemas: dict[tuple[object, ...], pa.Schema] = {}
        super().__init__(*args, **options)
        self.enforce(self._take)

    def _take(self, member: Member, differences: Mapping[str, str | None]) -> None:
        """Note the columns of a tree, and its aliases."""
        from arrowroot._expressions.scope import Alias

        for name, text in member.tree().aliases.items():
            self._recorded.setdefault(name, Alias(text))
        key = frozenset(differences.items())
        kind = self._kinds.get(key)
        if kind is None:
            branches = member.tree().branches
            kind = self._kinds[key] = _Kind(member.number, _readable(branches))
            self._forest.add(branches)
        self._kind_of.append(kind)

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """The aliases of all trees. Opens all files."""
        self.open_others()
        return self._recorded

    @property
    def branches(self) -> Sequence[_Branch]:
        """All branches of all trees, or those that can be read in each. Opens all files."""
        self.open_others()
        if self._differing.missing != "common":
            return self._forest.branches
        common = frozenset.intersection(*(kind.readable for kind in self._kinds.values()))
        return [branch for branch in self._forest.branches if branch.path in common]

    def stored_fields(self) -> Mapping[str, pa.Field]:
        """Return the columns that all trees have, as of a row: one that a tree lacks has nulls."""
        kinds = self._kinds.values()
        known = super().stored_fields()
        return {name: one for name, one in known.items() if all(name in kind.readable for kind in kinds)}

    @property
    def own_branches(self) -> Sequence[CountedBranch]:
        """All branches of all trees, as ``branches``."""
        return self.branches

    @property
    def objects(self) -> Mapping[str, PhysicsObject]:
        """The physics objects, with the members that any of the trees has."""
        from arrowroot._select.objects import objects_in

        return objects_in(self.branches)

    def choose(self, choice: Choice) -> list[str]:
        """Return the paths of the columns to deliver. Raises: as ``Tree.scan``."""
        choice = self.tree.spelled(choice)
        branches = self.branches
        try:
            with self.tree.saying_aliases():
                selection = select(branches, choice, self.location)
        except NoSuchColumnError as error:
            self.require([error.name])
            raise
        warn_left_out(selection.left_out, self.location)
        self.require(selection.paths)
        if choice.names_some_of(branches):
            return selection.paths
        return without_short(selection.paths, self.short_columns(), self.location)

    def require(self, paths: Iterable[str], *, whole_objects: bool = False) -> None:  # noqa: ARG002 - of a row
        """Refuse a file that lacks a column which others have, unless it is to be null: SchemaMismatchError."""
        self.open_others()
        if self._differing.missing == "null":
            return
        kinds = self._kinds.values()
        for path in paths:
            lacking = [kind for kind in kinds if path not in kind.readable]
            having = next((kind for kind in kinds if path in kind.readable), None)
            if lacking and having is not None:
                lacks, has = (self._members[kind.number].url for kind in (lacking[0], having))
                raise SchemaMismatchError(
                    f"{lacks}: column {path!r} is missing or not readable, but {has} has it; choose columns that all "
                    "files have, or give missing='null'"
                )

    def refuse_more_members(self, objects: Mapping[str, PhysicsObject]) -> None:
        """Refuse nothing: objects have the members that any of the trees has, and each tree is asked for these."""

    def refuse_more(self, choice: Choice, chosen: Iterable[str]) -> None:  # noqa: ARG002 - of a row
        """Refuse a file that lacks a column which others have, by its name: SchemaMismatchError."""
        self.require(choice.columns or ())

    def refuse_what_others_have(self, *_: object) -> None:
        """Do nothing: columns were chosen among those of all files."""

    def first_schema(self, names: list[str], options: Options) -> pa.Schema:
        """Return the types of columns in all files. Raises: SchemaMismatchError if a column has none."""
        import pyarrow as pa

        from arrowroot._arrow.widening import joined

        promote = self._differing.promote
        remedy = (
            "no type has all values of both" if promote else "promote=True widens numbers, where none is lost"
        )
        key = (*names, options.strings, options.raw)
        if key in self._schemas:
            return self._schemas[key]
        self.require(names)
        fields: dict[str, pa.Field] = {}
        first: dict[str, str] = {}
        lacking: set[str] = set()
        for kind in self._kinds.values():
            here = [name for name in names if name in kind.readable]
            lacking.update(set(names).difference(here))
            tree = self._members[kind.number].tree()
            for field in tree.source(here, (0, 0), options).schema():
                name = field.name
                found = joined(fields.setdefault(name, field), field, promote=promote)
                if found is None:
                    raise SchemaMismatchError(
                        f"{tree.url}: column {name!r} has type {field.type}, but {fields[name].type} in "
                        f"{first[name]}: {remedy}"
                    )
                fields[name] = found
                first.setdefault(name, tree.url)
        schema = pa.schema(
            [fields[name].with_nullable(True) if name in lacking else fields[name] for name in names]
        )
        self._schemas[key] = schema
        return schema

    def source(self, names: list[str], entries: EntrySet, options: Options) -> Concatenated:
        """Return a pass over columns, by their paths, and entries. Raises: as ``first_schema``."""
        self.first_schema(names, options)
        return super().source(names, entries, options)

    def passes(
        self, chosen: list[str], entries: EntrySet, options: Options, bound: Filter | None
    ) -> Callable[[Options], Source]:
        """Return what makes passes over columns and entries. Raises: as ``first_schema``."""
        self.first_schema(chosen, options)
        return super().passes(chosen, entries, options, bound)

    def source_of(self, member: Member, names: list[str], entries: EntrySet, options: Options) -> Conformed:
        """Return a pass over columns and entries of one tree."""
        return self.alone(member, names, options).source(names, entries, options)

    def alone(self, member: Member, names: list[str], options: Options) -> OneOfDiffering:
        """Return one tree, of which some columns are to be read, as it is read in the row."""
        readable = self._kind_of[member.number].readable
        return OneOfDiffering(member.tree(), self.first_schema(names, options), readable)


def _readable(branches: Iterable[Candidate]) -> frozenset[str]:
    return frozenset(branch.path for branch in branches if branch.unsupported is None)
