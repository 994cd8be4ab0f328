"""Layouts: one value for all that can be chosen of how a table is stored."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from arrowroot._arguments import takes
from arrowroot._arrow.kinds import stored_schema
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._layout import settings
from arrowroot._layout.columns import (
    BY_COLUMN,
    LARGEST,
    ColumnSettings,
    Matcher,
    check_matched,
    check_of_use,
    check_order,
    has_floats,
    has_objects,
    largest_collection,
    merged,
    rules_of,
)
from arrowroot._layout.precision import OF_NTUPLE, OF_TREE, parse_precision
from arrowroot._layout.projections import checked_source
from arrowroot._layout.types import check_types, checked_type, is_late, types_in_tree, types_of
from arrowroot._render import shown
from arrowroot._sizes import parse_size

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence
    from typing import TypeAlias, TypeVar

    import pyarrow as pa

    from arrowroot._layout.columns import Encoding, Lists, Rules
    from arrowroot._layout.precision import Precision
    from arrowroot._layout.projections import ProjectionsLike
    from arrowroot._layout.settings import Compression, Flush, Format
    from arrowroot._writing.plan import LayoutPlan

    T = TypeVar("T")
    #: One value for all columns, or values by column: globs in order, the first that matches counts.
    ByColumn: TypeAlias = T | Mapping[str, T]
    #: A layout, the name of a preset, "ttree", "rntuple", or the path of a TOML file.
    LayoutLike: TypeAlias = "Layout | str | os.PathLike[str]"


class Unsaid(Enum):
    """The value of an option that nobody has said: the layout says it."""

    OF_LAYOUT = "as the layout says"

    def __repr__(self) -> str:
        return f"<{self.value}>"


OF_LAYOUT: Final = Unsaid.OF_LAYOUT
#: The entries from which the largest collection is told, where clusters have no number of entries.
_N_LOOKED_AT = 1000
_FORMATS = ("ttree", "rntuple")
#: The feature of ``ROOT::TIOFeatures``: offsets of counted arrays are not stored.
GENERATED_OFFSETS: Final = "kGenerateOffsetMap"
#: Fields that a format does not have.
_OF_TREE = ("split", "memberwise", "lists", "counters", "classes")
_OF_NTUPLE = ("encoding", "records", "projections")
#: Letters of a message of a file that are shown.
_MAX_MESSAGE = 500


@dataclass(frozen=True, init=False, repr=False)
class Layout:
    """How a table is stored, all of it: ``layout=`` of :func:`arrowroot.write` and its kin takes one.

        ar.Layout(split={"tracks": 99, "*": 0}, memberwise=True, flush=10)
        ar.Layout("aod-2011", flush=20)

    base: what is not said is as in this: a layout, or the name of a preset ("old-aod", "aod-2011", "esd-2011", "d3pd",
        "nanoaod", "nanoaod-rntuple"), "ttree", "rntuple", or the path of a TOML file. What is said by column comes
        before what it says.
    format: "ttree" or "rntuple".
    flush: where clusters end: "30 MB" compressed, 10 entries, None for never; "auto": ROOT's default.
    basket_size: of a tree: bytes, None for baskets that fit the cluster, or "optimized": the sizes that ROOT gives at
        the first flush, so that a basket of each branch takes as much together as the first cluster before compression.
    page_size: of an RNTuple, uncompressed.
    autosave: of a tree: after so many compressed bytes, "300 MB", it is saved on the way, so that the ``.part`` which a
        killed process leaves can be read up to there; ROOT goes on so, too. None: never.
    io_features: of a tree: "kGenerateOffsetMap" (``ROOT::TIOFeatures``): baskets of counted arrays do not store where
        entries begin, as the counter tells it; None for none.
    compression: as :func:`arrowroot.write` has it; "auto" finds codec and level by trial.

    The others are one value for all columns, or values by column; globs are tried in order, and the first that matches
    counts. A pattern that begins with * need not match any; a name that is given must be a column that can be so.

    split: of records and lists of records in a tree: 0 for one branch of objects, 1 to 99 for branches of their
        members, so many levels deep, as ROOT has it; None: the members are branches of their own, of no class. The
        pattern "@largest" is the list of records that takes most bytes in the first cluster (in the first 1,000
        entries, where clusters have no number of them; in the first that are filled, where contexts fill).
    memberwise: whether lists of records that are one branch are stored member by member.
    lists: "counted": numbers in lists are arrays that a branch counts; "vector": ``std::vector``.
    counters: which branch counts them: "own": one of each column's own; the name of one that several share, as
        ``{"Muon_*": "nMuon"}``; "named": the one that their names say, if the first entries agree; "auto": that one
        where it is known that all entries agree, or a column of that name counts them.
    classes: the names of the classes of records, by column.
    precision: None, "Double32[0,10,12]", "Float16[0,0,10]", "mantissa:10", "Real32Trunc:16", "Real32Quant:12[0,1]".
    encoding: of the numbers of an RNTuple: "auto", "split" or "plain".
    records: of an RNTuple: flat columns that become members of records: "own" for none; the name of the record, as
        ``{"Muon_*": "Muon"}``; "named": the record that their names say, ``Muon`` of ``Muon_pt``, a list of records if
        they are lists that a column ``nMuon`` counts, or that have one length in the first entries. What is said of
        other columns by name is then said of the records.
    projections: of an RNTuple, further names of columns, members and lengths, which take no bytes of pages:
        ``{"Muon_pt": "Muon.pt", "nMuon": "#Muon"}``; "flat": the names that a flat tree has for the members and lengths
        of all records and lists; None for none.
    types: C++ types of the fields of an RNTuple, by column, and by ``column.member`` of members of structs:
        ``{"hits": "std::set<int>", "muons": "std::vector<Muon>"}``; of the branches of a tree, by column: containers of
        numbers and texts, ``Double32_t``, ``Float16_t``. Also as ``arrowroot:type`` in the metadata of Arrow fields.

    Layouts are values: equal if all of that is, and hashable.

    Raises: InvalidRequestError for what makes no sense, naming the key and what is possible.

        >>> layout = ar.Layout("rntuple", compression="zstd:3", flush="10 MB")
        >>> ar.write("new.root:t", data, layout=layout)
    """

    format: Format
    flush: Flush
    basket_size: int | str | None
    page_size: int | str | None
    autosave: int | str | None
    io_features: str | None
    compression: Compression
    split: Rules[int | None]
    memberwise: Rules[bool]
    lists: Rules[Lists]
    counters: Rules[str]
    classes: Rules[str]
    precision: Rules[Precision | None]
    encoding: Rules[Encoding]
    records: Rules[str]
    projections: Rules[str]
    types: Rules[str]

    @takes()
    def __init__(
        self,
        base: LayoutLike = "ttree",
        *,
        format: Format | Unsaid = OF_LAYOUT,  # noqa: A002 - what everybody calls it
        flush: Flush | Unsaid = OF_LAYOUT,
        basket_size: int | str | Unsaid | None = OF_LAYOUT,
        page_size: int | str | Unsaid | None = OF_LAYOUT,
        autosave: int | str | Unsaid | None = OF_LAYOUT,
        io_features: str | Unsaid | None = OF_LAYOUT,
        compression: Compression | Unsaid = OF_LAYOUT,
        split: ByColumn[int | None] | Unsaid = OF_LAYOUT,
        memberwise: ByColumn[bool] | Unsaid = OF_LAYOUT,
        lists: ByColumn[Lists] | Unsaid = OF_LAYOUT,
        counters: ByColumn[str] | Unsaid = OF_LAYOUT,
        classes: Mapping[str, str] | Unsaid = OF_LAYOUT,
        precision: ByColumn[str | None] | Unsaid = OF_LAYOUT,
        encoding: ByColumn[Encoding] | Unsaid = OF_LAYOUT,
        records: ByColumn[str] | Unsaid = OF_LAYOUT,
        projections: ProjectionsLike | Unsaid = OF_LAYOUT,
        types: Mapping[str, str] | Unsaid = OF_LAYOUT,
    ) -> None:
        said = {name: value for name, value in locals().items() if name not in ("self", "base")}
        said = {name: value for name, value in said.items() if value is not OF_LAYOUT}
        start = vars(_ROOTS) if base == "ttree" else vars(layout_of(base))
        for name, value in start.items():
            object.__setattr__(self, name, value)
        for name, value in said.items():
            object.__setattr__(self, name, self._checked(name, value))
        self._check()

    def _checked(self, name: str, value: Any) -> Any:
        if name == "projections" and value is None:
            return ()
        if name in _CHECKS:
            check: Any = _CHECKS[name]
            rules = rules_of(value, name, check)
            return merged(rules, getattr(self, name)) if isinstance(value, Mapping) else rules
        if name == "compression":
            settings.check_compression(value)
            value = settings.as_text(value)
            return self._codecs(value) if isinstance(value, Mapping) else value
        if name == "format":
            return settings.checked_format(value, "format")
        if name == "io_features" and value not in (None, GENERATED_OFFSETS):
            raise InvalidRequestError(
                f"io_features={shown(value)}: None, or {GENERATED_OFFSETS!r}, all that ROOT has"
            )
        if name == "autosave" and value is not None:
            parse_size(value, name)
        # NumPy's integers are others to TOML.
        is_number = hasattr(value, "__index__") and not isinstance(value, bool)
        return operator.index(value) if is_number else value

    def _codecs(self, given: Mapping[str, Any]) -> _Codecs:
        check_order(list(given), "compression")
        base = self.compression if isinstance(self.compression, Mapping) else {"*": self.compression}
        return _Codecs(dict(merged(tuple(given.items()), tuple(base.items()))))

    def _check(self) -> None:
        settings.flush_rule(self.flush, self.format)
        settings.basket_rule(self.basket_size, self.format)
        settings.page_bytes(self.page_size, self.format)
        if self.flush is None and self.basket_size == settings.OPTIMIZED:
            raise InvalidRequestError(
                "basket_size='optimized', flush=None: ROOT gives sizes at the first flush, and there is none"
            )
        for name in _OF_TREE if self.format == "rntuple" else _OF_NTUPLE:
            rules = getattr(self, name)
            if rules != getattr(_ROOTS, name):
                what = "an RNTuple has none" if self.format == "rntuple" else "a tree has none"
                what += ": it has aliases" if name == "projections" else ""
                raise InvalidRequestError(f"{name}={dict(rules)!r}: {what}; format={self.format!r}")
        for name in ("io_features", "autosave") if self.format == "rntuple" else ():
            value = getattr(self, name)
            if value != getattr(_ROOTS, name):
                raise InvalidRequestError(f"{name}={shown(value)}: an RNTuple has none; format='rntuple'")
        others = OF_TREE if self.format == "rntuple" else OF_NTUPLE
        for glob, precision in self.precision:
            if precision is not None and precision.kind in others:
                raise InvalidRequestError(
                    f"precision[{glob!r}]='{precision}': format={self.format!r} has no {precision.kind}, but "
                    f"{', '.join(OF_NTUPLE if self.format == 'rntuple' else OF_TREE)} and mantissa"
                )

    @property
    def n_looked_at(self) -> int:
        """The number of first entries that say what some columns are like; 0: the layout says all."""
        if all(glob != LARGEST for glob, _ in self.split):
            return 0
        return self.flush if isinstance(self.flush, int) else _N_LOOKED_AT

    def columns(
        self,
        schema: pa.Schema,
        first: Sequence[pa.Table],
        where: str,
        *,
        may_grow: bool = False,
        projected: Collection[str] = (),
    ) -> list[ColumnSettings]:
        """Return what it says of each column of a schema; ``first``: the first entries, to find the largest.

        may_grow: other columns may come up later: it may name them. projected: names of projected fields, whose types
        it may say, too.

        Raises: NoSuchColumnError for a pattern that no column matches; InvalidRequestError for what a column that is
            named cannot have.
        """
        if not may_grow:
            check_names(self, schema.names, where, projected)
        if self.format == "ttree":
            types = types_in_tree(self.types, schema)
        else:
            rules_of_types = _without(self.types, projected)
            types = [(of, None) for of in types_of(rules_of_types, schema, self.precision, may_grow=may_grow)]
        schema = stored_schema(schema)
        n_entries = self.n_looked_at if first else 0
        largest = largest_collection(schema, first, n_entries) if n_entries else None
        rules: dict[str, Matcher[Any]] = {what: Matcher(getattr(self, what)) for what in BY_COLUMN}
        named = {glob for what in _OF_TREE for glob, _ in getattr(self, what)}
        for field in schema:
            if field.name in named:
                check_of_use(field, rules, largest, where)
        columns = [
            self._column(field, rules, largest, where, packed)
            for field, (_, packed) in zip(schema, types, strict=True)
        ]
        return [column._replace(types=of) for column, (of, _) in zip(columns, types, strict=True)]

    def _column(
        self,
        field: pa.Field,
        rules: Mapping[str, Matcher[Any]],
        largest: str | None,
        where: str,
        packed: Precision | None,
    ) -> ColumnSettings:
        """Return what it says of a column; ``packed``: how its numbers are packed if no rule is of them."""
        name, kind = field.name, field.type
        usual = ColumnSettings()
        glob, precision = rules["precision"].first(name, packed)
        if precision is not None and not has_floats(kind, precision.width):
            if glob == name:
                sizes = " or ".join(f"float{width}" for width in precision.width)
                raise InvalidRequestError(
                    f"{where}: precision[{glob!r}]='{precision}': the column is of {kind}, where {sizes} is needed"
                )
            precision = None
        glob, encoding = rules["encoding"].first(name, usual.encoding)
        if self.format == "rntuple":
            is_own = precision is not None and precision.kind in OF_NTUPLE
            if is_own and glob == name and encoding != usual.encoding:
                raise InvalidRequestError(
                    f"{where}: encoding[{name!r}]={encoding!r}: precision '{precision}' is an encoding of its own"
                )
            return usual._replace(precision=precision, encoding=encoding)
        lists = rules["lists"].first(name, usual.lists)[1]
        split = rules["split"].first(name, None, largest)[1]
        if split is None or not has_objects(kind):
            return usual._replace(lists=lists, precision=precision)
        class_name = rules["classes"].first(name, "")[1] or None
        memberwise = rules["memberwise"].first(name, usual.memberwise)[1]
        return ColumnSettings(split, memberwise, lists, class_name, precision, encoding)

    def plan(self, data: Any, n_entries: int | None = None, name: str = "Events") -> LayoutPlan:
        """Return what becomes of data, before they are written: branches, baskets, clusters, sizes, errors.

        data: a pyarrow schema, or data as :func:`arrowroot.write` takes them, from whose first clusters it is told:
            these are written to a temporary file.
        n_entries: of all data, where ``data`` are some.
        name: of the table, after which classes are called.

        Raises: what writing them would raise.

            >>> ar.Layout("nanoaod").plan(data).n_clusters
            1
        """
        import arrowroot  # what writes stands above this

        return arrowroot.LayoutPlan.of(self, data, n_entries, name)

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Layout:
        """Return a layout from a TOML file, or from TOML itself if the text has more than one line.

        Raises: InvalidRequestError, naming the key; StorageError if there is no such file.

            >>> ar.Layout.from_toml(ar.Layout("rntuple", flush=10).to_toml()).flush
            10
        """
        from arrowroot._layout.toml import load

        where, values = load(source)
        try:
            return cls(**values)
        except InvalidRequestError as error:
            message = str(error.args[0])
            # It quotes what the file says.
            quoted = message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 1] + "…"
            error.args = (quoted if quoted.startswith(f"{where}=") else f"{where}: {quoted}",)
            raise

    def to_toml(self) -> str:
        """Return it as TOML, whole: :meth:`from_toml` gives an equal one.

        >>> print(ar.Layout(flush=10).to_toml())
        format = "ttree"
        flush = 10
        basket_size = "none"
        page_size = "none"
        autosave = "300 MB"
        io_features = "none"
        compression = "default"
        """
        from arrowroot._layout.toml import dump

        return dump(vars(self))

    def __repr__(self) -> str:
        said = {name: value for name, value in vars(self).items() if value != getattr(_ROOTS, name)}
        by_column = {name: _shown(value) for name, value in said.items() if name in _CHECKS}
        inside = ", ".join(f"{name}={shown(value)}" for name, value in {**said, **by_column}.items())
        return f"Layout({inside})"


def check_names(layout: Layout, names: Sequence[str], where: str, projected: Collection[str] = ()) -> None:
    """Raise NoSuchColumnError for a pattern of a layout that none of these columns matches; not for one of codecs.

    projected: names of projected fields, of which it may say types.
    """
    for name in BY_COLUMN:
        if name != "types":
            check_matched(getattr(layout, name), name, names, where)
    check_types(_without(layout.types, projected), names, where)


def _without(rules: Rules[str], projected: Collection[str]) -> Rules[str]:
    return tuple(rule for rule in rules if rule[0] not in projected)


def check_members_came(
    layout: Layout, schema: pa.Schema | None, columns: Sequence[str], where: str, projected: Collection[str]
) -> None:
    """Raise NoSuchColumnError for a type of a member that a record of an RNTuple might have got, and has not.

    columns: those of the schema, and members that came up later. projected: names of projected fields.
    """
    if schema is None or layout.format == "ttree":
        return
    for glob, _ in _without(layout.types, projected):
        around = [field for field in schema if glob.startswith(f"{field.name}.")]
        if glob not in columns and any(is_late(field, glob[len(field.name) + 1 :]) for field in around):
            raise NoSuchColumnError(
                f"{where}: types: no member is called {glob!r}",
                glob,
                nearest(glob, columns),
                known=columns,
            )


class _Codecs(Mapping[str, Any]):
    """Codecs by column that do not change: a layout is a value."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._items = tuple(given.items())

    def __getitem__(self, glob: str) -> Any:
        return dict(self._items)[glob]

    def __iter__(self) -> Any:
        return iter(dict(self._items))

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and list(self.items()) == list(other.items())

    def __repr__(self) -> str:
        return repr(dict(self._items))


def _shown(rules: Rules[Any]) -> object:
    values = {glob: str(value) if isinstance(value, tuple) else value for glob, value in rules}
    return values["*"] if list(values) == ["*"] else values


def _checked_split(value: object, what: str) -> int | None:
    if value is None:
        return None
    level = operator.index(value) if hasattr(value, "__index__") and not isinstance(value, bool) else -1
    if 0 <= level <= 99:
        return level
    raise InvalidRequestError(
        f"{what}={shown(value)}: 0 to 99, or None for branches of the members themselves"
    )


def _checked_flag(value: object, what: str) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidRequestError(f"{what}={shown(value)}: True or False")


def _checked_lists(value: object, what: str) -> Lists:
    if value in ("counted", "vector"):
        return value
    raise InvalidRequestError(f"{what}={shown(value)}: 'counted' or 'vector'")


def _checked_counter(value: object, what: str) -> str:
    if isinstance(value, str) and value and "\0" not in value:
        return value
    raise InvalidRequestError(
        f"{what}={shown(value)}: 'auto', 'own', 'named' or the name of a counter, as 'nMuon'"
    )


def _checked_record(value: object, what: str) -> str:
    if isinstance(value, str) and value and "\0" not in value:
        return value
    raise InvalidRequestError(f"{what}={shown(value)}: 'own', 'named' or the name of a record, as 'Muon'")


def _checked_class(value: object, what: str) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", value, re.ASCII):
        return value
    raise InvalidRequestError(f"{what}={shown(value)}: the name of a C++ class, as 'Muon' or 'xAOD::Muon'")


def _checked_encoding(value: object, what: str) -> Encoding:
    if value in ("auto", "split", "plain"):
        return value
    raise InvalidRequestError(f"{what}={shown(value)}: 'auto', 'split' or 'plain'")


_CHECKS = {
    "split": _checked_split,
    "memberwise": _checked_flag,
    "lists": _checked_lists,
    "counters": _checked_counter,
    "classes": _checked_class,
    "precision": parse_precision,
    "encoding": _checked_encoding,
    "records": _checked_record,
    "projections": checked_source,
    "types": checked_type,
}


def _roots() -> Layout:
    """Return the layout of a tree of which nobody says anything."""
    made = object.__new__(Layout)
    usual = {
        "format": "ttree",
        "flush": settings.AUTO,
        "basket_size": None,
        "page_size": None,
        "autosave": "300 MB",
        "io_features": None,
        "compression": settings.DEFAULT,
    }
    for field in fields(Layout):
        object.__setattr__(made, field.name, usual.get(field.name, ()))
    return made


_ROOTS: Final = _roots()


def layout_of(given: LayoutLike) -> Layout:
    """Return a layout from what names one.

    Raises: InvalidRequestError for a name that there is not, with those there are; for what is wrong in a file.
    """
    if isinstance(given, Layout):
        return given
    if isinstance(given, str):
        if given == "ttree":
            return _ROOTS
        found = _preset(given)
        if found is not None:
            return found
    if _is_path(given):
        return Layout.from_toml(given)
    from arrowroot._layout.presets import names

    known = [*_FORMATS, *(name for name in names() if name not in _FORMATS)]
    near = (
        [one for one in known if given in one] or nearest(given, known)
        if isinstance(given, str) and given
        else []
    )
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise InvalidRequestError(
        f"layout={shown(given)}: expected a Layout, {', '.join(map(repr, known))}, or the path of a file .toml{hint}"
    )


@cache
def _preset(name: str) -> Layout | None:
    from arrowroot._layout.presets import preset

    found = preset(name)
    return None if found is None else Layout(found.base, **found.values)


def _is_path(given: object) -> bool:
    return hasattr(given, "__fspath__") or (isinstance(given, str) and given.endswith(".toml"))
