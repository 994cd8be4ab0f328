"""Tables of an input on their way to outputs: their columns, how they are stored there, their entries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa

from arrowroot._api.chain import Chain
from arrowroot._api.unified import OneOfDiffering
from arrowroot._arrow.kinds import has_more_nulls, nullable_as
from arrowroot._errors import (
    InvalidRequestError,
    SchemaMismatchError,
    UnsupportedColumnWarning,
    UnsupportedError,
)
from arrowroot._layout import settings
from arrowroot._layout.columns import has_lists
from arrowroot._layout.layout import OF_LAYOUT, Layout, Unsaid
from arrowroot._layout.types import recorded_in
from arrowroot._passes.source import batches_of
from arrowroot._select.columns import Choice
from arrowroot._skimming.projected import kept_projections
from arrowroot._skimming.ranges import sets_of
from arrowroot._writing.carried import carried
from arrowroot._writing.counters import with_counters
from arrowroot._writing.kept_types import with_types
from arrowroot._writing.options import layout_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arrowroot._api.attributes import AttributeSet
    from arrowroot._api.outputs import Outputs
    from arrowroot._api.tree import Tree
    from arrowroot._api.tree_metadata import Pick
    from arrowroot._expressions.scope import Alias, Scope
    from arrowroot._layout.layout import LayoutLike
    from arrowroot._options import Define, Options
    from arrowroot._select.columns import Columns
    from arrowroot._select.entries import EntrySet
    from arrowroot._select.objects import CountedBranch
    from arrowroot._select.origins import OfRow
    from arrowroot._skimming.picking import Runs
    from arrowroot._writing.options import TableOptions

#: Texts with which the names of standard vectors begin.
_VECTORS = ("vector<", "std::vector<")


class Style(NamedTuple):
    """How outputs are stored; without a layout as the inputs are."""

    layout: LayoutLike | Unsaid = OF_LAYOUT
    compression: settings.Compression | Unsaid = OF_LAYOUT
    flush: settings.Flush | Unsaid = OF_LAYOUT
    basket_size: int | str | Unsaid | None = OF_LAYOUT
    page_size: int | str | Unsaid | None = OF_LAYOUT

    def options(self) -> TableOptions:
        """Return those of them that are options of ``create(...).tree``."""
        layout = "ttree" if isinstance(self.layout, Unsaid) else self.layout
        return {
            "layout": layout,
            "compression": self.compression,
            "flush": self.flush,
            "basket_size": self.basket_size,
            "page_size": self.page_size,
        }

    @property
    def is_said(self) -> bool:
        """True if anything of it is."""
        return any(not isinstance(one, Unsaid) for one in self)

    @property
    def has_codec_of_objects(self) -> bool:
        """True if the codec of what is no table is said: one for all, and not for some columns."""
        return not isinstance(self.compression, Unsaid | Mapping)

    @property
    def codec_of_objects(self) -> settings.Codec:
        """The codec of what is no table."""
        codec = self.compression
        return settings.DEFAULT if isinstance(codec, Unsaid | Mapping) else codec

    def whole(self) -> Layout:
        """Return all of it as one layout, where that is said. Raises: InvalidRequestError for what makes no sense."""
        return layout_with(self.options())

    def form_of(self, tree: Tree) -> settings.Format:
        """Return what a tree becomes: what it is, where nobody says another."""
        if not isinstance(self.layout, Unsaid):
            return self.whole().format
        return "rntuple" if "RNTuple" in tree.class_name else "ttree"

    def like(self, tree: Tree, schema: pa.Schema) -> TableOptions:
        """Return the options of writing columns of a tree: its kind and its codecs, where nobody says others."""
        options = self.options()
        if not isinstance(self.layout, Unsaid):
            return options
        form = self.form_of(tree)
        given: dict[str, Any] = {"format": form}
        types = dict(zip(schema.names, schema.types, strict=True))
        columns = {column.name: column for column in tree.columns if column.name in types}
        if isinstance(self.compression, Unsaid):
            codecs = {name: _codec(column.compression) for name, column in columns.items()}
            most = max(codecs.values(), key=list(codecs.values()).count, default=settings.DEFAULT)
            others = {name: codec for name, codec in codecs.items() if codec != most}
            given["compression"] = {**others, "*": most} if others else most
        if form == "ttree":
            given["lists"] = {
                name: "vector"
                for name, column in columns.items()
                if column.type_name.startswith(_VECTORS) and has_lists(types[name])
            } | {"*": "counted"}
        # Sizes are of the one format or the other.
        options["layout"] = Layout(**given)
        return options


def _codec(text: str) -> str:
    """Return the codec and level of a column, "zstd 5", as writing takes them."""
    codec = text.replace(" ", ":")
    try:
        settings.codec_number(codec)
    except InvalidRequestError:
        return settings.DEFAULT
    return codec


class WrittenAs(NamedTuple):
    """How a table is written."""

    #: Options of ``create(...).tree``.
    options: TableOptions
    #: Notes that do not go along, and why.
    left_out: list[tuple[str, str]]


#: Words in the types of numbers of fewer bits than they have in memory.
_PACKED = ("[", "Double32_t", "Float16_t")


class InputTable(NamedTuple):
    """A table of an input."""

    #: Its path, in the outputs too.
    path: str
    tree: Tree
    #: Its columns, of which some may be computed.
    outputs: Outputs
    #: The names that its conditions may use; None: those of the tree.
    scope: Scope | None
    #: As it is written: what may be missing is what is stored so.
    schema: pa.Schema
    #: As it is read, which is what the outputs give, too.
    recorded: pa.Schema
    #: Columns that were meant and cannot be read, and why.
    left_out: list[tuple[str, str]]
    #: The tree, to be read.
    chain: Chain
    #: Projected fields that stay such, and what they show.
    projections: Mapping[str, str]
    #: Attribute sets by their names, which a tree would not have.
    attributes: Mapping[str, AttributeSet]
    #: The format that it becomes.
    form: settings.Format
    #: The branches whose entries are copied as their bytes are; None: they are read and written by columns.
    branches: Sequence[str] | None = None
    #: The reason why objects in it become columns of their members, if they do.
    taken_apart: str = ""

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.outputs.columns)

    @property
    def projected_types(self) -> dict[str, str]:
        """The C++ types of its projected fields."""
        return {one.path: one.asked_type for one in self.tree.branches if one.path in self.projections}

    @property
    def is_as_stored(self) -> bool:
        """True if all its columns are those of its tree, as it has them."""
        is_stored = all(expression is None for expression in self.outputs.columns.values())
        return is_stored and not isinstance(self.chain, OneOfDiffering)

    def batches(self, entries: EntrySet, options: Options) -> Iterator[pa.RecordBatch]:
        """Yield entries with its columns."""
        source = self.chain.source(self.outputs.needed, entries, options)
        return batches_of(self.outputs.of(source, entries))

    def picked(self, path: str, runs: Runs) -> Pick:
        """Return entries that are copied as their bytes are; ``path``: that of the table in an output."""
        return self.tree.picked(path, self.branches or (), runs)

    @property
    def kept_sets(self) -> Mapping[str, AttributeSet]:
        """The attribute sets that it keeps."""
        return self.attributes if self.form == "rntuple" else {}

    def written(self, style: Style, *, has_all_entries: bool, has_all_trees: bool) -> WrittenAs:
        """Return how it is written, with the notes that it has besides its columns."""
        is_tree = self.form == "ttree"
        names = {*self.schema.names, *(() if is_tree else self.projections)}
        titles = {one.name: one.title for one in self.tree.columns if one.title and one.name in names}
        options = style.like(self.tree, self.schema)
        options |= {"title": self.tree.title, "titles": titles}
        notes = carried(self.tree, self.schema, has_all_entries=has_all_entries, has_all_trees=has_all_trees)
        if is_tree:
            lost = ((f"attribute set {name!r}", "a tree records none") for name in self.attributes)
            noted = cast("TableOptions", {**options, **notes.options})
            return WrittenAs(noted, [*_of_notes(notes.left_out), *lost])
        if self.projections:
            options["projections"] = self.projections
        return WrittenAs(options, _of_notes(notes.lost_in("an RNTuple")))

    def check_like(self, first: InputTable) -> None:
        """Raise SchemaMismatchError if its columns or their types are not those of the first input."""
        here, there = ({field.name: field.type for field in one.recorded} for one in (self, first))
        where, where_first = self.tree.location, first.tree.location
        for lacks, has, types, others in (
            (where, where_first, here, there),
            (where_first, where, there, here),
        ):
            if missing := [name for name in others if name not in types]:
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                raise SchemaMismatchError(
                    f"{lacks}: has no column {missing[0]!r}{more}, which {has} has; {_advice(missing[0])}"
                )
        if first.branches is not None:
            # Whoever copies entries compares branches; the classes in them may differ where pointers may be of several.
            return
        for name, kind in there.items():
            if here[name] != kind:
                raise SchemaMismatchError(
                    f"{where}: column {name!r} is {here[name]}, but {kind} in {where_first}; {_advice(name)}"
                )
        fields = {field.name: field for field in self.schema}
        for field in first.schema:
            if has_more_nulls(fields[field.name], field):
                raise SchemaMismatchError(
                    f"{where}: values of column {field.name!r} may be missing, but not in {where_first}: "
                    "missing='null' (--missing null) takes all as what may be missing"
                )
        for name, source in first.projections.items():
            if (shows := self.projections.get(name)) != source:
                what = "is no projected field" if shows is None else f"shows {shows!r}"
                raise SchemaMismatchError(
                    f"{where}: {name!r} {what}, but one of {source!r} in {where_first}; {_advice(name)}"
                )
        for name in self.attributes.keys() & first.attributes.keys():
            values, others = (one.attributes[name].schema for one in (self, first))
            if not values.equals(others):
                raise SchemaMismatchError(
                    f"{where}: attribute set {name!r} has other values than in {where_first}"
                )

    def check_precision(self, first: InputTable) -> None:
        """Raise SchemaMismatchError if numbers would lose bits that the first input has not."""
        here = _types_in(self.schema)
        for path, text in _types_in(first.schema).items():
            if any(word in text for word in _PACKED) and here.get(path) != text:
                raise SchemaMismatchError(
                    f"{self.tree.location}: column {path!r} is {here.get(path, 'stored with all bits')}, but {text} in "
                    f"{first.tree.location}, which has fewer bits: give inputs with more bits first, or {_advice(path)}"
                )


def _types_in(schema: pa.Schema) -> dict[str, str]:
    return {path: text for field in schema for path, text in recorded_in(field, field.name)}


def _of_notes(notes: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"note {name!r}", why) for name, why in notes]


def _advice(name: str) -> str:
    return f'leave it out of all: "!{name}" among the columns'


def table_of(
    tree: Tree,
    path: str,
    columns: Columns,
    options: Options,
    first: InputTable | None,
    *,
    style: Style,
    define: Define = None,
    of_all: pa.Schema | None = None,
    aliases: Mapping[str, Alias] | None = None,
    of_row: OfRow | None = None,
    is_decoded: bool = False,
) -> InputTable | None:
    """Return a table of an input with chosen columns; None if it is empty and has no columns.

    The branches that count lists among the columns come, too: those that do in the first input.

    of_all: the columns that all inputs deliver, though they differ, projected fields among them; what this one lacks is
    null. None: they may not. aliases: those of all inputs; None: those of the first count, for all. of_row: what else
    it has of all inputs.

    is_decoded: its columns are read, though its entries may be copied as their bytes are.

    Raises: what choosing raises; UnsupportedError if no column can be read; SchemaMismatchError if it has entries, and
    other columns or types than the first input.
    """
    if not tree.branches and not tree.num_entries:
        return None
    choice = Choice.of(columns)
    if aliases is None and first is not None:
        aliases = first.chain.aliases
    chain = Chain(tree, aliases, of_row)
    if of_all is not None:
        chain = OneOfDiffering(tree, of_all, aliases=aliases, of_row=of_row)
    with warnings.catch_warnings():
        # They are told with all else that is left out.
        warnings.simplefilter("ignore", UnsupportedColumnWarning)
        outputs, scope = chain.outputs(choice, options, define)
    form = style.form_of(tree)
    projections: Mapping[str, str] = {}
    if of_all is None:
        names_read = [name for name, expression in outputs.columns.items() if expression is None]
        projections = kept_projections(tree.projections, names_read, form)
    names = [name for name in outputs.columns if name not in projections]
    if of_all is None and first is None:
        names = with_counters_of(tree.branches, names)
    elif first is not None and of_all is None:
        names += [name for name in first.columns if name not in names and tree.has_branch(name)]
    if not names:
        raise UnsupportedError(f"{tree.location}: it has no column that can be read")
    outputs = outputs._replace(columns={name: outputs.columns.get(name) for name in names})
    # Inputs that differ tell at once what is left out of all.
    stored = outputs.stored(choice) if of_all is None else None
    left_out = [
        (f"{path}: column {name!r}", f"{kind} is not readable yet")
        for name, kind in (tree.selection(stored).left_out if stored else ())
    ]
    sets, unread = sets_of(tree)
    left_out += [(f"{path}: attribute set {name!r}", why) for name, why in unread]
    made = outputs.of(chain.source(outputs.needed, (0, 0), options), (0, 0)).schema()
    is_stored = [of_all is None and outputs.columns[name] is None for name in made.names]
    schema = with_types(with_counters(_as_stored(made, tree, is_stored), tree), tree)
    table = InputTable(path, tree, outputs, scope, schema, made, left_out, chain, projections, sets, form)
    # Files without events often have fewer columns.
    if first is not None and tree.num_entries:
        table.check_like(first)
        # Numbers that differ are stored with all bits.
        if of_all is None and first.branches is None:
            table.check_precision(first)
    if not is_decoded and tree.num_entries:
        table = _picked(
            table, None if stored is None else tree.selection(stored).left_out, choice, style, first
        )
    return table


def _picked(
    table: InputTable,
    unreadable: Iterable[tuple[str, str]] | None,
    choice: Choice,
    style: Style,
    first: InputTable | None,
) -> InputTable:
    """Return a table with the branches that are copied as their bytes are, if there are objects among them."""
    tree = table.tree
    if (
        table.form != "ttree"
        or "RNTuple" in tree.class_name
        or (first is not None and first.branches is None)
    ):
        return table
    names = [
        name
        for name, expression in table.outputs.columns.items()
        if expression is None and tree.has_branch(name)
    ]
    is_all = choice.columns is None and choice.filter_name is None
    branches = (
        [one.path for one in tree.branches] if is_all else [*names, *(name for name, _ in unreadable or ())]
    )
    fault = tree.pick_fault(branches) if branches else ""
    if fault is None and style.is_said:
        fault = "layout, codec, or sizes of pieces were said"
    elif fault is None and not table.is_as_stored:
        fault = "inputs may differ" if isinstance(table.chain, OneOfDiffering) else "columns are computed"
    if fault is None:
        return table._replace(branches=branches, left_out=[])
    if first is not None:
        why = fault or "it has no objects"
        raise UnsupportedError(
            f"{tree.location}: its entries cannot be copied as those of {first.tree.location}: {why}"
        )
    return table._replace(taken_apart=fault)


def _as_stored(schema: pa.Schema, tree: Tree, is_stored: Iterable[bool]) -> pa.Schema:
    """Return a schema in which columns of a tree may be missing only where it stores that they are."""
    stored = {field.name: field for field in tree.stored_schema()}
    fields = [
        nullable_as(field, stored[field.name]) if is_column and field.name in stored else field
        for field, is_column in zip(schema, is_stored, strict=True)
    ]
    return pa.schema(fields, metadata=schema.metadata)


def with_counters_of(branches: Sequence[CountedBranch], names: Sequence[str]) -> list[str]:
    """Return columns with those that count them, each before the first that it counts."""
    counters = {branch.path: branch.counter for branch in branches if branch.counter is not None}
    if not counters:
        return list(names)
    known = {branch.path for branch in branches if not branch.is_group and branch.unsupported is None}
    found: list[str] = []
    for name in names:
        counter = counters.get(name, "")
        found += [counter, name] if counter in known and counter not in names else [name]
    return list(dict.fromkeys(found))
