"""Options of reading: sizes, threads and the form of text, as users give them and as the engine takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown
from arrowroot._sizes import checked_count, format_bytes, parse_size

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from arrowroot._filter.bind import FilterLike
    from arrowroot._select.columns import NameFilter
    from arrowroot._select.entries import Entries
    from arrowroot._select.lumi import LumiMaskLike

    #: Text as Arrow strings, an error if it is not UTF-8 or with U+FFFD for what is not; or as bytes.
    Strings = Literal["utf8", "replace", "binary"]
    #: In which order baskets are needed.
    Order = Literal["cluster", "entry"]
    #: Expressions by the names of the columns that they are.
    Define = Mapping[str, str] | None

#: Default size of a batch's values, and bound on the memory of a pass, in bytes.
BATCH_SIZE = "64 MB"
#: A smaller size without a unit is taken for a number of entries.
_SMALLEST_BARE_BYTES = parse_size("64 kB")
MEMORY_BUDGET = "512 MB"
NO_WHOLE_BRANCHES = "assemble and raw: not with a filter, computed columns, nor with friends"
#: Whole numbers from here on are written with an exponent.
_LARGE = 2**53
_DEFAULTS = {
    "memory_budget": MEMORY_BUDGET,
    "n_threads": 0,
    "trace": False,
    "order": "cluster",
    "strings": "utf8",
    "verify_checksums": True,
    "assemble": False,
    "raw": False,
}


class ResourceOptions(TypedDict, total=False):
    """The resources of a pass. ``ScanOptions`` explains these options and all that follow."""

    memory_budget: int | str
    n_threads: int


class PassOptions(ResourceOptions, total=False):
    """How a pass delivers batches."""

    batch_size: int | str
    batch_entries: int | None
    trace: bool
    order: Order


class FindOptions(ResourceOptions, total=False):
    """The entries that a filter looks at, and how it sees text."""

    entries: Entries
    strings: Strings
    lumi_mask: LumiMaskLike | None
    define: Define


class ReadOptions(FindOptions, total=False):
    """The keyword arguments of ``Tree.to_arrow``."""

    filter_name: NameFilter
    filter: FilterLike
    verify_checksums: bool
    assemble: bool
    raw: bool
    objects: bool


class ScanOptions(ReadOptions, PassOptions, total=False):
    """The keyword arguments of ``Tree.scan``, and what they mean for all that reads.

    columns: exact paths, names that only one branch has, or globs; in the order given. "!name" or "!glob" leaves
        out of the others, or of all. Or a function that says of a path whether it is meant, or a compiled pattern.
        None: all that can be read, and a warning that names the others.
    filter_name: a glob, "/regex/", a compiled pattern, a function, or several; keeps the columns whose path or name
        matches.
    entries: a slice, a range, entry numbers in any order and with repeats, a boolean mask, or an
        :class:`EventList`: events by their ids, which are looked up at once; or an :class:`EntryList`, which says
        of which trees its entries are.
    filter: keeps the entries for which a condition holds: text as "nMuon >= 2 && Muon_pt[0] > 20" (the guide has
        the grammar), or a ``pyarrow.compute`` expression. Its columns are read first, the others only where it
        selected something.
    define: columns that are computed, by their names: ``{"m": "sqrt(E**2 - p**2)"}``, each in terms of columns, and of
        definitions before it; lists item by item. ``columns`` and ``filter`` may name them; without ``columns``, all
        are delivered. ``columns`` may have expressions themselves.
    lumi_mask: a list of good runs: keeps the entries whose luminosity block it has. The path of a JSON file as CMS's,
        or ranges of blocks by run, both ends included: ``{"273158": [[1, 1279]]}``. The columns are ``run`` and
        ``luminosityBlock``, or others that are usual.
    batch_size: size of the values of one batch as "64 MB" (10^6) or "64 MiB" (2^20), or a number of bytes from
        64,000 on; over 64 MB it needs a budget as large.
    batch_entries: in its place, the number of entries of each batch; the last one may have fewer. It holds for what
        a filter selects, too, and across files. Such batches take whatever memory their entries do.
    memory_budget: bound on the memory for fetched baskets, batches, and baskets that several batches need.
    n_threads: 0 for as many as there are cores. No more than that decode at a time; others read where a disk is slow.
    strings: "utf8": text becomes strings, and text that is not UTF-8 an InvalidTextError; "replace": the
        same with U+FFFD in the place of bytes that are not UTF-8; "binary": text becomes bytes, as they are.
    verify_checksums: compare the pages of an RNTuple with their checksums, if the writer stored any. Baskets of
        TTrees have none but those of their zlib, LZMA and LZ4 blocks, which are always compared.
    trace: record every physical read, for :meth:`Scan.trace`.
    order: in which order baskets are needed, and so asked for; the values are the same. "cluster": as is best for
        the store. "entry": one entry after the other, in each the columns in their order, as ``TTree::GetEntry``
        reads: of each branch one basket is in hand. It is for studies of what such programs do to a storage. In
        an RNTuple the items of lists count as spread evenly over the entries of a cluster.
    assemble: a group of a split object becomes one column: a struct, a list of structs, or a map; without
        ``columns``, every object whole. Members that cannot be read are left out, with a warning. Otherwise
        a group stands for its members.
    objects: columns that are members of the same things (``Tree.objects``) become one column, a list of records:
        ``Muon`` with ``pt`` and ``eta``. A name among ``columns`` stands for all of one, "Muon.pt" for a member; only
        the members asked for are read. Filters go by the columns.
    raw: every column becomes binary: the bytes of each entry as they are stored. This works for branches that
        cannot be read, too, but not for RNTuples.
    """


#: The defaults of options, as signatures show them; None for the others.
DEFAULTS = {"batch_size": BATCH_SIZE, **_DEFAULTS}


class Options(NamedTuple):
    """How to read, checked. ``batch_bytes`` None: all in one batch, unless there are ``batch_entries`` for each."""

    batch_bytes: int | None
    memory_budget_bytes: int
    n_threads: int
    trace: bool
    strings: Strings
    verify_checksums: bool
    assemble: bool = False
    raw: bool = False
    order: Order = "cluster"
    batch_entries: int | None = None
    #: That of all passes of a scan together.
    whole_budget_bytes: int = 0

    @classmethod
    def of(cls, given: Mapping[str, Any], *, batch_size: int | str | None = BATCH_SIZE) -> Options:
        """Return the options that a user gave, of ``ScanOptions``; what else ``given`` has is passed over.

        batch_size: if none was given; None: all in one batch.

        Raises: InvalidRequestError, which names the option.
        """
        values = {**_DEFAULTS, "batch_size": batch_size, **given}
        strings, batch_size, order = values["strings"], values["batch_size"], values["order"]
        if strings not in ("utf8", "replace", "binary"):
            raise InvalidRequestError(
                f"strings: expected 'utf8', 'replace' or 'binary', got {shown(strings)}"
            )
        if order not in ("cluster", "entry"):
            raise InvalidRequestError(f"order: expected 'cluster' or 'entry', got {shown(order)}")
        for name in ("trace", "verify_checksums", "assemble", "raw"):
            value = values[name]
            if not isinstance(value, bool) and str(getattr(value, "dtype", "")) != "bool":
                raise InvalidRequestError(f"{name}: expected True or False, got {shown(value)}")
        if values["assemble"] and values["raw"]:
            raise InvalidRequestError("assemble and raw: bytes are of single branches, not of whole objects")
        batch_entries = values.get("batch_entries")
        if batch_entries is not None:
            if given.get("batch_size") is not None:
                raise InvalidRequestError("batch_size and batch_entries: which of the two? give one")
            batch_entries = checked_count(batch_entries, "batch_entries", lowest=1)
        batch_bytes = None if batch_size is None else batch_bytes_of(batch_size)
        budget_bytes = parse_size(values["memory_budget"], "memory_budget")
        # Smaller budgets are for what is fetched: batches of the default size are not to be made smaller for them.
        if batch_bytes is not None and batch_bytes > max(budget_bytes, parse_size(BATCH_SIZE, "batch_size")):
            raise InvalidRequestError(
                f"batch_size: batches of {format_bytes(batch_bytes)} do not fit a memory_budget of "
                f"{format_bytes(budget_bytes)}: make that larger, too"
            )
        return cls(
            batch_bytes,
            budget_bytes,
            checked_count(values["n_threads"], "n_threads"),
            bool(values["trace"]),
            strings,
            bool(values["verify_checksums"]),
            bool(values["assemble"]),
            bool(values["raw"]),
            order,
            batch_entries,
            budget_bytes,
        )

    def refuse_whole_branches(self) -> None:
        """Raise InvalidRequestError if whole objects or bytes are asked for: no filter or expression knows them."""
        if self.assemble or self.raw:
            raise InvalidRequestError(NO_WHOLE_BRANCHES)

    @classmethod
    def default(cls) -> Options:
        """Return the options of one who gave none."""
        return cls.of({})

    def engine(self) -> dict[str, Any]:
        """Return the options as keyword arguments of the engine's scan."""
        options = self._asdict()
        # The columns chosen say the one, and the other is for a warning.
        del options["assemble"], options["whole_budget_bytes"]
        return options

    def of_ids(self) -> Options:
        """Return the options of a pass over the columns of ids, or of an index, with the same resources."""
        return self._replace(
            batch_bytes=parse_size(BATCH_SIZE),
            batch_entries=None,
            trace=False,
            assemble=False,
            raw=False,
            order="cluster",
        )

    def shared_by(self, n_parts: int) -> Options:
        """Return the options of each of several passes that run side by side."""
        batch_bytes = None if self.batch_bytes is None else max(1, self.batch_bytes // n_parts)
        return self._replace(
            batch_bytes=batch_bytes, memory_budget_bytes=max(1, self.memory_budget_bytes // n_parts)
        )


def named(given: object, what: str, form: str) -> dict[Any, Any]:
    """Return what a user gave by names for the option ``what``; {} for None, as for nothing.

    form: how it is written, for the error. Nothing is asked for its truth, which arrays and expressions do not have.

    Raises: InvalidRequestError for anything else.
    """
    if given is None:
        return {}
    if not hasattr(given, "items"):
        raise InvalidRequestError(f"{what}: expected {form}, got {shown(given)}")
    return dict(given.items())


def definitions_of(given: object) -> dict[Any, Any]:
    """Return expressions by the names of the columns that they are. Raises: InvalidRequestError."""
    text, equals, expression = given.partition("=") if isinstance(given, str) else ("", "", "")
    form = 'expressions by names, {"m": "sqrt(E**2 - p**2)"}'
    if equals:
        meant = {text.strip(): expression.strip()}
        raise InvalidRequestError(f"define: expected {form}, got {shown(given)}: write define={meant!r}")
    return named(given, "define", form)


def as_expression(given: object) -> str | None:
    """Return a finite number as an expression has it; None for all else, which no expression has."""
    import math
    from numbers import Integral, Real

    if isinstance(given, bool) or not isinstance(given, Real):
        return repr(given) if isinstance(given, bool) else None
    try:
        number = float(given)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    return str(int(given)) if isinstance(given, Integral) and abs(number) < _LARGE else repr(number)


def is_word(given: object, word: str) -> bool:
    """Return whether a user gave a word; arrays are compared with none."""
    return isinstance(given, str) and given == word


def batch_bytes_of(size: int | str) -> int:
    """Return the size of a batch. Raises: InvalidRequestError for a bare number that was meant to be of entries."""
    n_bytes = parse_size(size, "batch_size")
    if n_bytes < _SMALLEST_BARE_BYTES and (not isinstance(size, str) or size.strip().isdecimal()):
        raise InvalidRequestError(
            f"batch_size: {n_bytes} would be bytes: batch_entries={n_bytes} makes batches of so many entries; for "
            f"bytes write '{n_bytes} B'"
        )
    return n_bytes
