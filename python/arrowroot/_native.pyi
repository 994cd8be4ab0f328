"""The engine, as Python sees it. Everything here is thin: see ``crates/python``."""

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

__version__: str
#: The commit of a wheel; "" in a checkout.
built_from: str
#: True when the engine was built without optimisation: its times mean nothing.
debug_build: bool
TREE_CACHE_BYTES: int  # of the strategy treecache, if nothing else was said

class ArrowrootError(Exception): ...
class CorruptFileError(ArrowrootError, ValueError): ...
class UnsupportedError(ArrowrootError, NotImplementedError): ...
class StorageError(ArrowrootError, OSError): ...
class NoSuchFileError(StorageError, FileNotFoundError): ...
class AccessDeniedError(StorageError, PermissionError): ...
class NotFoundError(ArrowrootError, KeyError): ...
class InvalidRequestError(ArrowrootError, ValueError): ...
class BatchTooLongError(InvalidRequestError): ...
class WrongTypeError(ArrowrootError, TypeError): ...
class OutOfMemoryError(ArrowrootError, MemoryError): ...
class InvalidTextError(ArrowrootError, UnicodeError): ...
class InternalError(ArrowrootError): ...

@final
class Key:
    """One key of a directory: an object in the file."""

    path: str  # inside the file, "dir/name"
    name: str
    title: str
    class_name: str
    directory: str  # of the path: "", or with "/" after each name
    depth: int  # directories that it is in
    cycle: int
    offset: int  # of the record, in bytes
    stored_bytes: int  # of the record, header included (fNbytes)
    object_bytes: int  # uncompressed (fObjlen)
    is_directory: bool
    is_tree: bool

@final
class Branch:
    """What the metadata says of one branch (a column, or a group of them)."""

    path: str  # from the tree, "/" between nested branches
    name: str
    title: str
    type_name: str  # C++
    #: As writing is asked for it, with versions and bases of classes; of a branch "", or "Double32_t[0,10,12]".
    asked_type: str
    arrow_type: str | None  # None: not readable, or a group
    unsupported: str | None  # why it is not readable
    is_group: bool
    is_part: bool  # its values are inside those of a field around it
    n_entries: int
    n_baskets: int
    stored_bytes: int  # compressed baskets with their keys
    memory_bytes: int  # uncompressed baskets with their keys
    compression: str  # "zstd 5", "none", "lz4 4": the setting of new baskets
    encoding: str  # column types of a field: "SplitIndex64, SplitReal32"; "" for a branch
    depth: int  # 0 for a branch of the tree itself
    counter: str | None  # path of the branch that counts the items of its arrays

@final
class Unread:
    """The object of a key whose members are not made yet."""

    def fill(self, factory: object, record: object) -> None: ...  # the factory that put it off
    # A number, text or array; None: there is none; NotImplemented: it is not so simple.
    def member(self, factory: object, *names: str) -> Any: ...
    def bins(self, factory: object, flow: bool) -> tuple[npt.NDArray[Any], list[int]] | None: ...

class File:
    url: str
    title: str
    size_bytes: int
    root_version: str
    uuid: str  # "" if it has none
    compression: str
    missing_bytes: int  # that the header says there are, of a file that is cut short
    was_recovered: bool  # keys were found by walking the records
    damage: str | None  # what is wrong with its directories, if that was met
    def recovery(self) -> str | None: ...  # what was recovered and why
    def keys(self, directory: str = "", *, recursive: bool = True, cycles: bool = True) -> list[Key]: ...
    def names(self, directory: str) -> list[str]: ...  # directly in it, each once
    def table(self, path: str) -> Table: ...
    def tree_inside(self, path: str) -> Table | None: ...  # of an object that is no tree
    def trees_inside(self, paths: list[str]) -> list[str]: ...  # of trees in the objects of keys
    def key(self, path: str) -> Key: ...
    def contains(self, path: str) -> bool: ...  # an object of that path
    def known_keys(self) -> list[Key]: ...  # for suggestions: not all, where there are many directories
    # An object is made by arrowroot._objects.factory.Factory; a key of a directory or a tree; None: there is none.
    def object(self, path: str, factory: object) -> Any: ...
    def raw(self, path: str) -> bytes: ...  # uncompressed, without its key
    def stats(self) -> dict[str, int]: ...  # storage: see Scan.stats, "read_*"
    def nature(
        self,
    ) -> tuple[float, float, int, int]: ...  # latency s, bytes/s, most requests at once, ranges
    def protocol(self) -> Protocol: ...  # how its store makes requests
    def kept(self) -> list[tuple[int, int]]: ...  # (offset, length) of what came with the opening
    def time_reads(
        self, ranges: Sequence[tuple[int, int]]
    ) -> int: ...  # one vector read: ns; the bytes are dropped
    def ledgers(self) -> list[dict[str, Any]]: ...  # of the store since the opening: see Scan.ledgers

@final
class Types:
    """Arrow types of the columns of a table that can be read."""

    def is_same(self, other: Types) -> bool: ...  # quickly of tables of one schema
    def texts(self) -> list[tuple[str, str]]: ...  # path and type of each, in the order of the branches

@final
class Compact:
    """A table of which little is in memory until it is wanted."""

    def table(self) -> Table: ...
    @property
    def n_bytes(self) -> int: ...  # about what it takes

@final
class Table:
    """A TTree or an RNTuple."""

    path: str
    name: str
    title: str
    class_name: str
    cycle: int
    num_entries: int
    n_leaves: int
    def declared_types(
        self, name: str
    ) -> list[tuple[str, str]]: ...  # C++ types of a field and its members, by path
    entries_reshuffled: bool  # in an order by chance; not recorded by an RNTuple
    aliases: list[tuple[str, str]]  # names of expressions, and these; none of an RNTuple
    friends: list[
        tuple[str, str, str]
    ]  # recorded in the tree: alias, name of the tree, file ("" if the same)
    recorded_index: tuple[str, tuple[str, str] | None] | None  # class, major and minor expressions
    user_info: list[tuple[str, str, str]]  # what users added: class, name, value as text
    stored_bytes: int  # fZipBytes
    memory_bytes: int  # fTotBytes
    written_by: str | None  # version of an RNTuple's format, and the writer
    projections: list[tuple[str, str]]  # of an RNTuple: names, and what they show, "Muon.pt" or "#Muon"
    attribute_sets: list[str]  # of an RNTuple
    def attribute_set(self, name: str) -> Table: ...
    def canonical(self, name: str) -> str | None: ...  # path of the field of that name, however it is spelled
    def column_names(self) -> list[str]: ...  # paths of all branches that are no groups, readable or not
    def branches(self) -> list[Branch]: ...  # all, depth first, groups too
    def asked_types(
        self,
    ) -> dict[str, str]: ...  # C++ types by path, with those inside of others, "" where none is asked for
    def branch(self, name: str) -> Branch: ...
    def pick_fault(self, branches: list[str]) -> str | None:
        """Return why entries of branches cannot be copied as their bytes are; "" if that makes no difference."""
    def digest(
        self,
    ) -> tuple[Types, int, int]: ...  # of all that can be read; columns and groups; baskets or pages
    def compact(self) -> Compact | None: ...  # the same in little memory, if it can be had
    def shared_parts(
        self,
    ) -> list[tuple[int, int]]: ...  # what it shares with others: address, about its bytes
    def has_path(self, path: str) -> bool: ...  # a branch or group of that path
    def columns_named(
        self, names: list[str]
    ) -> list[str] | None: ...  # paths, if each name is one readable column's; else None
    def short_columns(
        self,
    ) -> list[tuple[str, int, int]]: ...  # path, first entry, end: not all entries of the tree
    def clusters(self) -> list[int]: ...  # boundaries: first entries, then the number of entries
    auto_flush: int | None  # fAutoFlush: entries, bytes if negative, 0: no clusters; None: an RNTuple
    def pieces(self) -> dict[str, Any]:
        """Return where all baskets or pages lie.

        "paths": of the branches, or of the fields with their inner ones; arrays of int64, one number for each piece,
        the pieces of a column in the order of their entries: "column" (place in "paths"), "offset" (-1: in the record
        of the tree), "stored_bytes" (key or checksum included), "first_entry", "entry_end".
        """
    def optimized_baskets(self, max_memory_bytes: int) -> dict[str, Any] | None:
        """Return what TTree::OptimizeBaskets would say; None of an RNTuple.

        {"branches": [(path, recorded bytes, bytes by the rule, whether it ends compression), ...],
        "memory_bytes": (recorded, by the rule), "n_baskets": (recorded, by the rule)}, the last two as ROOT counts.
        """
    def stored_schema(
        self,
    ) -> object: ...  # as the next, nullable where validity is stored; a capsule of a schema
    def __arrow_c_schema__(self) -> object: ...  # of all readable columns
    def scan(
        self,
        columns: Sequence[str] | None = None,  # None: all readable ones
        *,
        entries: tuple[int, int]
        | npt.NDArray[np.int64]
        | None = None,  # a half-open range, or a list in any order
        batch_bytes: int | None = None,  # None: one batch if offsets allow it
        batch_entries: int | None = None,  # of each batch but the last; batch_bytes is what it may take
        memory_budget_bytes: int = ...,
        n_threads: int = 0,  # 0: as many as cores
        trace: bool = False,
        strings: str = "utf8",  # "utf8", "replace" (U+FFFD for what is not UTF-8), "binary" (as bytes)
        order: str = "cluster",  # or "entry": one entry after the other, as GetEntry reads
        verify_checksums: bool = True,  # of an RNTuple's pages
        raw: bool = False,  # each column as the bytes of its entries
    ) -> Scan: ...

@final
class Batch:
    num_rows: int
    first_entry: int
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Scan:
    """One pass over the chosen columns. ``next_batch`` and the stream draw from the same pass."""

    num_entries: int
    column_names: list[str]
    n_batches: int
    read_bytes: int
    """Bytes that the plan reads."""
    is_remote: bool
    enough_budget_bytes: int
    """A memory budget with which nothing is decompressed again; 0 if this one does, but for less than a tenth."""
    max_ranges: int
    """Ranges that its store takes in one request."""
    line_bytes: int
    """Bytes that the line could carry while the plan's reads are made: theirs, or more if requests take longer."""
    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        """Return the stored bytes of the baskets that some rows need, of those that all need.

        ``rows``: indices among the entries of the scan, in order. In an RNTuple the items of lists count as spread
        evenly over the entries of a cluster.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def next_batch(self) -> Batch | None: ...
    def plan(self) -> dict[str, Any]:
        """The read plan as plain data, known before the first read.

        {"columns": [name...], "n_entries": int, "n_baskets": int, "n_repeated": int (of those: again), "n_reads": int,
         "payload_bytes": int, "read_bytes": int, "max_gap_bytes": int, "windows": [{"first_entry": int,
         "n_entries": int, "n_baskets": int, "ranges": [(offset, n_bytes), ...]}, ...]}:
         ``ranges`` are the physical reads, in order.
        """
    def stats(self) -> dict[str, int]:
        """Counters so far, exact; times are sums over threads in ns of what they name.

        read_calls, read_bytes (physical), overhead_bytes (of them: not needed, or read again), payload_bytes (asked for
        by the format), read_ns, decoder_read_ns (part of it in threads that decode), unzip_bytes (uncompressed basket
        bytes, keys excluded), stored_bytes (compressed basket bytes, keys included), memory_bytes (the same,
        uncompressed), decompress_ns, decode_ns, wait_ns (threads waiting for a window or a free buffer), place_ns (CPU
        time of giving pieces their places, one thread at a time), lock_ns (the threads' lock is held), n_baskets,
        n_entries (delivered), n_batches, values_bytes (Arrow buffers delivered), n_threads, wall_ns (in next_batch or
        the stream), cpu_ns (of the scan's threads), peak_buffer_bytes (most memory held by windows and undelivered
        batches).
        """
    def trace(self) -> list[tuple[int, int, int, int, int, int]]:
        """Physical reads if asked for: (offset, n_bytes, first entry, end of the entries, start ns, end ns).

        In the order of their start. The entries are those of the read's baskets (half-open, numbers in the tree);
        times count from the making of the scan.
        """
    def begin_fetching(self) -> None:
        """Begin to fetch from a far-away store before the first batch is asked for; near by it does nothing."""
    def ledgers(self) -> list[dict[str, Any]]:
        """What passed each layer boundary, the store's first, one element for each kind of operation there was.

        Keys: layer (below the boundary), operation, n_attempted, n_successful, bytes, total_ns, min_ns, max_ns.
        """
    def physical_reads(self) -> list[tuple[str, int, int, int, int, int]]:
        """Reads of the store if asked for: (operation, request, offset, n_bytes, start ns, end ns).

        The ranges of a vector read share their request number. In the order in which they ended.
        """
    def logical_reads(self) -> list[tuple[int, int, int, str, int, int]]:
        """Baskets needed, in this order, if asked for: (offset, n_bytes, first entry, path, asked ns, decode ns).

        ``path``: of the branch, or of the field with its column.
        """
    def cancel(self) -> None: ...

def schema_counts() -> tuple[int, int, int, int]:
    """Schemas of trees met by the process, columns compiled; schemas that are kept, and the bytes of their records."""

def open_file(urls: Sequence[str], options: Sequence[tuple[str, str, str]]) -> File:
    """Open the first of a file's replicas that can be. ``options``: name, text, and where it was set, for messages."""

def open_reader(reader: Any, options: Sequence[tuple[str, str, str]]) -> File:
    """Open a file that an object reads.

    It has the attributes ``url`` and ``size_bytes``, and ``read_ranges(ranges)``: a list of (offset, length) in, a list
    of bytes out. Any thread may call it.
    """

def create_file(
    path: str, *, compression: int, is_reproducible: bool, n_threads: int, buffer_bytes: int
) -> FileWriter:
    """Begin a file of that path, as ``os.fsdecode`` has it; ``compression``: ROOT's number, of objects."""

def may_have_types(schema: Any, types: Sequence[Sequence[tuple[str, str]]], *, in_tree: bool) -> list[bool]:
    """Return for each column of a schema whether its field in an RNTuple may have C++ types.

    schema: an object with ``__arrow_c_schema__``. types: for each column, by paths of members; "" is itself.
    """

def nullable_as_typed(schema: Any, types: Sequence[Sequence[tuple[str, str]]]) -> object:
    """Return a capsule of a schema that is nullable where types of fields make default values missing ones.

    schema, types: as those of ``may_have_types``.
    """

def name_fault(name: str) -> str | None:
    """Return why ROOT opens no RNTuple, and no attribute set, of a name; None if it does."""

def stored_name(name: str, *, in_tree: bool) -> str:
    """Return the name under which other readers find a column."""

@final
class FileWriter:
    """A file being written. All methods may be called from any thread, and a signal ends the waiting of each."""

    def set_title(self, title: str) -> None: ...
    def make_directory(self, path: str, title: str | None = None) -> None: ...
    def table(
        self,
        directory: str,
        name: str,
        title: str,
        schema: Any,
        kind: str,
        *,
        recorded: Any | None,
        layouts: Sequence[Any],
        compression: Sequence[int | None],
        titles: Sequence[str],
        counters: Sequence[str | None],
        flush: tuple[str, int],
        max_cluster_bytes: int | None,
        baskets: tuple[str, int],
        autosave_bytes: int,
        generates_offsets: bool,
        page_bytes: int | None,
        projections: Sequence[tuple[str, str, str, bool, str, bool]],
        notes: Any,
    ) -> TableWriter:
        """Begin a table. ``schema``: an object with ``__arrow_c_schema__``; nullable: validity is stored.

        recorded: the schema that reading gives, which differs from the other in flags and metadata alone; None: reading
        gives what is stored, branch by branch.
        layouts (``arrowroot._layout.columns.ColumnSettings``, or no one), compression, titles, counters: one for each
        column, None for a codec found by trial and for a counter of its own, "" for the usual title;
        ``kind``: "ttree" or "rntuple"; ``flush``: "bytes", "entries" or "never", and how many; max_cluster_bytes:
        uncompressed, None: what fits the buffers. ``baskets``: "fitted", "fixed" or "optimized", and the bytes of
        one. generates_offsets: baskets of counted arrays store no offsets (``kGenerateOffsetMap``). projections: each
        an ``arrowroot._layout.projections.Projection``. ``notes``: an ``arrowroot._writing.notes.Notes``.
        """
    def write_object(
        self,
        directory: str,
        class_name: str,
        name: str,
        title: str,
        members: Mapping[str, Any],
        itself: object | None,
    ) -> None:
        """Write an object from its members, by the names that its class gives them; those of bases are among them.

        ``itself``: the Record whose members they are, which may lead back to it.
        An object inside is a Record or a tuple (class name, members), or None for a pointer to nothing; one that is
        there twice is one object. Lists hold objects, or for a TList dictionaries of "object" and "option". Arrays are
        NumPy's.
        """
    def complete(self) -> str:
        """Write all that the file lacks and return where it is until it is published. Its tables must be closed."""
    def close(self) -> None:
        """Publish the file, completed."""
    def abort(self, why: str | None = None) -> None:
        """Leave nothing; ``why`` is told to those who still fill it."""
    def watch(self, *, stall_ns: int, growth_ns: int, keeps_intervals: bool) -> None:
        """Say from when on a wait is a stall, how long the queue may grow, and whether intervals are kept."""
    def n_growths(self) -> int:
        """Return how often the queue has grown for longer than it may."""
    def contexts(self) -> list[dict[str, Any]]:
        """Return the reports of contexts; intervals are three arrays: what, from when and until when in ns."""
    def queue(self) -> dict[str, int]:
        """Return the counters of the queue."""
    def ledgers(self) -> list[dict[str, Any]]:
        """Return what the store was asked for, by operation."""

@final
class TableWriter:
    """A table being written."""

    def append(self, batch: Any, text_bytes: Sequence[int]) -> None:
        """Take a batch, an object with ``__arrow_c_array__``, in the schema of the table but for flags inside.

        ``text_bytes``: as :meth:`Incoming.take` has it.
        """
    def attribute_set(self, name: str, values: Any) -> TableWriter: ...  # closed before; ``values``: a schema
    def extend(
        self,
        schema: Any,
        *,
        recorded: Any,
        layouts: Sequence[Any],
        compression: Sequence[int | None],
        titles: Sequence[str],
    ) -> None:
        """Add columns, of which all of this is, behind those that it has; entries before have default values.

        recorded: what reading gives back. The table is as it was if it raises, or the file is given up.
        """
    def check_counts(self, batch: Any, text_bytes: Sequence[int], first_entry: int) -> None:
        """Raise InvalidRequestError for the first entry whose lists are not as long as the counter they share says."""
    def context(
        self, name: str | None, *, is_shared: bool, policy: str, n_buffers: int, order: str, helps: bool
    ) -> FillContext:
        """Return one more place to fill it from; all others come through ``append`` no more."""
    def n_fills(self) -> list[int]:
        """Return how often each buffer was filled from; nothing where entries go to one at a time."""
    def close(self) -> dict[str, int]:
        """Write what is left, and the metadata.

        Returns n_entries, n_clusters, stored_bytes, memory_bytes, n_packed_clusters, packed_bytes.
        """

@final
class FillContext:
    """A place to fill a table from. A signal ends the waiting of the thread that gets signals."""

    def fill(
        self,
        batch: Any,
        text_bytes: Sequence[int],
        first_entry: int | None,
        *,
        waits: bool,
        takes_signals: bool,
    ) -> bool:
        """Take a batch as ``TableWriter.append`` does; False: it would wait and may not, and nothing is taken."""
    def mark_data(self, has_come: bool) -> None:
        """Say that the producer begins to wait for data, or has them."""
    def close(self) -> None: ...

@final
class Packed:
    """The clusters of a table that can be copied to one being written, without being unpacked."""

    def __new__(cls, table: Table, writer: TableWriter) -> Self: ...
    def spans(self) -> list[tuple[int, int, int]]:
        """Return the first entry of each, the one after the last, and the bytes of its pieces."""
    def copy(self, first_entry: int) -> bool:
        """Copy a cluster; False: it has to be written anew."""

@final
class Merger:
    """Merges files that are added one after another into one that is being written."""

    def __new__(
        cls,
        file: FileWriter,
        *,
        columns: str = "strict",
        rules: Sequence[tuple[str, str]],
        rebasket: bool = False,
        provenance: bool = False,
        join: str | None = None,
        repack: bool = False,
        stays: bool = False,
    ) -> Self:
        """``columns``: strict, union or first; ``rules``: patterns of names or paths, and what becomes of them.

        ``rebasket``: small baskets are put together; ``provenance``: tables of the inputs are written beside others;
        ``join``: the pattern of directories that become one; ``repack``: objects that are copied get the file's codec;
        ``stays``: the file takes the place of the one input.
        """

    def add(self, file: File, paths: set[str] | None = None) -> int:
        """Add all of an input, or what has one of some paths; or nothing. Return how many bytes the output has so far.

        Raises: an exception with the attribute ``is_of_input`` if the others can be merged without it.
        """

    def add_picked(
        self,
        file: File,
        paths: set[str],
        picks: Sequence[tuple[Table, str, Sequence[str], npt.NDArray[np.uint64]]],
        tried: Sequence[tuple[Table, str, Sequence[str], npt.NDArray[np.uint64]]],
    ) -> None:
        """Add what has one of some paths, and entries of trees as their bytes are.

        ``picks``: each a tree, its path in the output, paths of its branches, and runs of its entries: the first of
        each run and the one after its last. ``tried``: such that are read before anything is added.

        Raises: as :meth:`add`, with ``is_of_input`` only if nothing was added.
        """

    def rule_of(self, path: str) -> str | None:
        """Return the rule for objects of a path, if one was given."""

    def finish(self) -> dict[str, Any]:
        """Write what the output lacks but its end; return ``n_inputs``, ``objects``, ``picked``, ``unused_rules``.

        An object is told by path, class, rule, inputs, entries, pieces, small ones, those if put together, and notes; a
        tree whose entries were picked by path, entries, clusters and bytes that were copied packed and that were put
        together, and notes.
        """

@final
class Incoming:
    """Takes batches in: what comes out contradicts itself nowhere, and shares at most numbers and bytes with it."""

    def __init__(self, *, copies_all: bool) -> None:
        """``copies_all``: nothing is shared."""
    def take(self, batch: Any, text_bytes: Sequence[int], first_entry: int) -> tuple[Any, Any]:
        """Return an object with ``__arrow_c_array__`` as capsules of its schema and an array.

        text_bytes: of the memory of each array of texts or binary values in it, those inside after those around,
        dictionaries last. first_entry: number of its first entry, for errors.
        """

def as_batch(of: Any, *, is_column: bool) -> tuple[Any, Any]:
    """Return the array of an object with ``__arrow_c_array__``: its schema, and itself.

    is_column: as the only column of a batch. pyarrow, too, makes no array of a column before the batch is checked.
    Raises: InvalidRequestError for pointers that are missing; nothing else in it is looked at.
    """

class Stream:
    """The batches of an object with ``__arrow_c_stream__``, each a schema and an array, as :func:`as_batch` has them.

    is_column: the stream is of one column, which is the only one of each batch.
    """

    def __new__(cls, of: Any, *, is_column: bool) -> Self: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[Any, Any]: ...

def nearest(name: str, names: Sequence[str]) -> list[str]:
    """Return up to three of ``names``, those most like ``name``, the best first."""

def parse_size(text: str) -> int | None:
    """Return the bytes of a size as "64 MB", "64 MiB" or "4096"; None if it is not a size."""

def redacted(url: str) -> str:
    """Return a URL as messages may show it: without what gives access."""

def origin(url: str) -> str | None:
    """Return scheme, host and port of a URL, as the option ``credentials_for`` takes them; None of a local file."""

def may_see_credentials(url: str, options: Sequence[tuple[str, str, str]]) -> bool:
    """Return whether the store of a URL may be shown credentials: ``credentials_for`` among the options names it."""

def check_named(url: str, named_by: str) -> None:
    """Raise InvalidRequestError for a file of this machine that a remote file names."""

def scrubbed(text: str, url: str) -> str:
    """Return what a library says of a URL without what ``redacted`` hides, of it and of other URLs in the text."""

def told(failures: list[tuple[str, str]]) -> str:
    """Return the failures of replicas, URL and error of each, as one text of bounded length."""

def options() -> list[tuple[str, str, str, bool]]:
    """Return all options: name, what it takes, what it does, whether its value must not be shown."""

def strategies() -> list[str]: ...  # their names, the default first
def check_options(options: Sequence[tuple[str, str, str]]) -> list[tuple[str, str | None]]:
    """Return every option as it is in force, None: not set, or secret."""

@final
class Protocol:
    """How a store makes requests of the ranges that it is asked for together, by its own planning.

    ``name``: "plain" (up to 1,024 ranges of any length are one request), "http" (S3, too) or "xrootd", with the limits
    that ``data`` names. Raises: InvalidRequestError for others, and for numbers that no store has.
    """

    def __new__(cls, name: str, /, **limits: int) -> Self: ...
    @staticmethod
    def of_any(kind: str, latency_s: float) -> Protocol: ...  # "http", "s3" or "xrootd", at first
    def data(self) -> dict[str, str | int]: ...  # "name", and the limits
    @property
    def max_ranges(self) -> int: ...  # of one request
    @property
    def max_parallel(self) -> int: ...  # requests at the same time
    def count(self, ranges: Sequence[tuple[int, int]]) -> int: ...  # requests for (offset, length) of each

def entry_spans(
    offset: npt.NDArray[np.int64],
    stored_bytes: npt.NDArray[np.int64],
    first_entry: npt.NDArray[np.int64],
    entry_end: npt.NDArray[np.int64],
    n_entries: int,
) -> dict[str, npt.NDArray[np.int64]]:
    """Return what each entry needs of some pieces, as ``Table.pieces`` has them.

    Arrays with one number for each stretch of entries that need the same: "n_entries" (of the stretch), "span_bytes"
    (from the first to the last byte needed), "stored_bytes" (of the pieces needed), "n_pieces".
    """

def replay(
    offsets: npt.NDArray[np.uint64],
    lengths: npt.NDArray[np.uint64],
    entries: npt.NDArray[np.uint64],
    branches: npt.NDArray[np.uint64],
    think_ns: npt.NDArray[np.uint64],
    file_bytes: int,
    options: Sequence[tuple[str, str, str]],
    latency_s: float,
    bytes_per_second: float,
    n_streams: int,
    n_open_requests: int,
    protocol: Protocol,
    interval_s: float = 0.0,
    kept: Sequence[tuple[int, int]] = (),
    disk: tuple[int, bool] | None = None,
) -> dict[str, int]:
    """Read a trace again from a line in virtual time.

    The arrays have one element for each logical read (a basket), in the order of need: where it is and how long, its
    first entry, the number of its branch, and the work on it in ns. ``options``: name, text and origin of each that is
    set. ``n_streams``: requests under way at a time. ``protocol``: how the store makes requests. ``interval_s``: from
    the beginning of a request to that of the next, at least. ``kept``: (offset, length) of what came with the opening.
    ``disk``: a local disk whose seeks take ``latency_s``; how far its kernel reads ahead, in bytes, and whether the
    page cache has the whole file.

    Returns: wall_ns, wait_ns, think_ns, n_requests and n_ranges (those of opening among them), read_bytes,
    payload_bytes, overhead_bytes, peak_buffer_bytes; n_seeks and device_bytes (0 but of a disk).
    Raises: InvalidRequestError for options, arrays or a line that make no sense; StorageError for reads after the end.
    """
