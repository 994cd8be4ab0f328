"""Traces: the logical and physical reads of one pass in one table, as Parquet or Arrow IPC.

One row is one basket that the format needed (``kind`` "logical", in the order of need), or one range that the store
was asked for ("physical"; the ranges of a vector read share ``request``). Times are in ns since the scan began.

A trace carries a checksum of its file, in the metadata of its schema. It is verified before anything else looks at the
file: a bit that is wrong is an error, and never another number.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot._errors import CorruptFileError, InvalidRequestError, NoSuchFileError, StorageError
from arrowroot._report.replay import Protocol
from arrowroot._saving import checksum

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot import File, Scan, Tree
    from arrowroot._cost.plan import LogicalRead, PhysicalRead

FORM = "arrowroot.trace/2"
SUFFIXES = (".parquet", ".arrow")
_KEY = b"arrowroot"
#: A row is some 100 bytes in memory, and no less than one in a file of many, as each has its times.
_MAX_ROWS, _FEW_ROWS = 50_000_000, 100_000
_MAX_FILE_BYTES = 1 << 60


def schema(metadata: Mapping[str, Any] | None = None) -> pa.Schema:
    """Return the columns of a trace; ``metadata`` is kept beside them as JSON."""
    import json

    import pyarrow as pa

    name = pa.dictionary(pa.int32(), pa.string())
    fields = [
        pa.field("kind", name, nullable=False),
        pa.field("layer", name, nullable=False),
        pa.field("operation", name, nullable=False),
        pa.field("request", pa.uint64()),
        pa.field("branch", name),
        pa.field("first_entry", pa.uint64()),
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("n_bytes", pa.uint64(), nullable=False),
        pa.field("start_ns", pa.uint64(), nullable=False),
        pa.field("end_ns", pa.uint64()),
        pa.field("decode_ns", pa.uint64()),
    ]
    content = None if metadata is None else {_KEY: json.dumps({"form": FORM, **metadata}).encode()}
    return pa.schema(fields, metadata=content)


@dataclass(frozen=True)
class Logical:
    """The logical reads of a trace, in the order of need, one element each."""

    offsets: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.uint64]
    entries: npt.NDArray[np.uint64]
    #: Numbers of branches.
    branches: npt.NDArray[np.uint64]
    decode_ns: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True)
class Log:
    """A trace: what was recorded with it, and its reads."""

    metadata: dict[str, Any]
    #: How the store made requests when the trace ended, by what it had found out until then.
    protocol: Protocol
    logical: Logical
    #: Names of the branches that ``logical.branches`` has by their numbers.
    branch_names: list[str]
    n_requests: int
    n_ranges: int
    physical_bytes: int

    @property
    def file_bytes(self) -> int:
        """Size of the file that was read."""
        return int(self.metadata["file_bytes"])

    @property
    def kept(self) -> list[tuple[int, int]]:
        """The ranges that came with the opening of the file, which no read asked for: (offset, length) in bytes."""
        return [(offset, n_bytes) for offset, n_bytes in self.metadata.get("kept", [])]

    @property
    def payload_bytes(self) -> int:
        """Bytes of the baskets."""
        return int(self.logical.lengths.sum())

    @property
    def order(self) -> str:
        """In which order baskets were needed: "cluster", or "entry"."""
        return str(self.metadata.get("order", "cluster"))

    def in_event_order(self, path: str | Path) -> Logical:
        """Return the reads as they would be needed one entry after the other, in each branch after branch.

        Branches have the order in which they were asked for. Each basket is needed once.

        Raises: InvalidRequestError if the trace does not tell: of picked entries, or with a filter.
        """
        import numpy as np

        if self.order == "entry":
            return self.logical
        entries, columns = self.metadata.get("entries"), self.metadata.get("columns")
        begin = entries.get("begin") if isinstance(entries, dict) and not entries.get("picked") else None
        if self.metadata.get("filter") is not None or not (isinstance(begin, int) and 0 <= begin < 1 << 63):
            raise InvalidRequestError(
                f"{path}: which entries needed a basket is not in it (a filter, picked entries, or an older version):"
                " record it by arrowroot perf --order entry"
            )
        reads = self.logical
        _, once = np.unique(reads.offsets, return_index=True)
        asked = {name: index for index, name in enumerate(columns if isinstance(columns, list) else [])}
        indices = [asked.get(name, len(asked) + number) for number, name in enumerate(self.branch_names)]
        branches = np.array([*indices, 0], dtype=np.uint64)[reads.branches[once].astype(np.int64)]
        needed_at = np.maximum(reads.entries[once], np.uint64(begin))
        order = np.lexsort((branches, needed_at))
        if len(np.unique(np.stack([needed_at, branches]), axis=1).T) < len(once):
            raise InvalidRequestError(
                f"{path}: several pages of one column begin at one entry, as those of lists in an RNTuple:"
                " record it by arrowroot perf --order entry"
            )
        return Logical(*(getattr(reads, name)[once[order]] for name in Logical.__dataclass_fields__))

    @property
    def n_threads(self) -> int:
        """Threads that decoded."""
        return max(1, int(self.metadata.get("n_threads", 1)))


def logical_of(reads: Sequence[LogicalRead]) -> Logical:
    """Return logical reads as arrays."""
    import numpy as np

    numbers = {name: i for i, name in enumerate(dict.fromkeys(read.column for read in reads))}
    rows = [
        (read.offset, read.n_bytes, read.first_entry, numbers[read.column], read.decode_ns) for read in reads
    ]
    columns = np.array(rows, dtype=np.uint64).reshape(-1, 5).T
    return Logical(*(np.ascontiguousarray(column) for column in columns))


def table(
    logical: Sequence[LogicalRead], physical: Sequence[PhysicalRead], metadata: Mapping[str, Any]
) -> pa.Table:
    """Return a trace as a table, the logical reads first."""
    import pyarrow as pa

    n_logical, n_physical = len(logical), len(physical)
    nothing: list[None] = [None]
    columns: dict[str, list[Any]] = {
        "kind": ["logical"] * n_logical + ["physical"] * n_physical,
        "layer": ["engine"] * n_logical + ["store"] * n_physical,
        "operation": ["basket"] * n_logical + [read.operation for read in physical],
        "request": nothing * n_logical + [read.request for read in physical],
        "branch": [read.column for read in logical] + nothing * n_physical,
        "first_entry": [read.first_entry for read in logical] + _first_entries(logical, physical),
        "offset": [*(read.offset for read in logical), *(read.offset for read in physical)],
        "n_bytes": [*(read.n_bytes for read in logical), *(read.n_bytes for read in physical)],
        "start_ns": [read.asked_ns for read in logical] + [read.start_ns for read in physical],
        "end_ns": nothing * n_logical + [read.end_ns for read in physical],
        "decode_ns": [read.decode_ns for read in logical] + nothing * n_physical,
    }
    form = schema(metadata)
    arrays = [pa.array(columns[field.name], type=field.type) for field in form]
    return pa.Table.from_arrays(arrays, schema=form)


def origin(file: File, tree: Tree) -> dict[str, Any]:
    """Return what a trace keeps of where it was recorded; the file is still open, and what was to be read is read."""
    return {
        "url": tree.url,
        "tree": tree.path,
        "file_bytes": file.size_bytes,
        "kept": file.kept,
        "protocol": file.protocol.data(),
    }


def record(
    path: str | Path, scan: Scan, where: Mapping[str, Any], *, work_ns_per_entry: int = 0, **more: Any
) -> None:
    """Write what the latest pass of a scan needed and read, as ``arrowroot perf --trace`` does and replays take it.

    Args:
        path: its suffix says in which form: .parquet or .arrow
        scan: made with ``trace=True``
        where: its ``origin``
        work_ns_per_entry: time of a program's own for each entry, which a replay adds to the decoding
        **more: what else is kept as its metadata, or instead of what is
    """
    logical, stats = scan.logical_reads(), scan.stats
    if work_ns_per_entry and logical:
        # Spread evenly; a replay divides by the threads, which share the decoding, but not this.
        more_ns = work_ns_per_entry * stats.n_entries * stats.n_threads // len(logical)
        logical = [read._replace(decode_ns=read.decode_ns + more_ns) for read in logical]
    metadata = {
        **where, "columns": scan.column_names, "filter": None,
        "n_entries": stats.n_entries, "n_threads": stats.n_threads, "wall_ns": stats.wall_ns,
        "decode_ns": sum(read.decode_ns for read in logical),
    }  # fmt: skip
    write(path, table(logical, scan.physical_reads(), metadata | more))


def _first_entries(logical: Sequence[LogicalRead], physical: Sequence[PhysicalRead]) -> list[int | None]:
    """Return for each range the first entry of the baskets that begin in it; None if none does."""
    import bisect

    by_offset = sorted((read.offset, read.first_entry) for read in logical)
    offsets = [offset for offset, _ in by_offset]
    firsts = []
    for read in physical:
        low = bisect.bisect_left(offsets, read.offset)
        high = bisect.bisect_left(offsets, read.offset + read.n_bytes)
        firsts.append(min((entry for _, entry in by_offset[low:high]), default=None))
    return firsts


def write(path: str | Path, content: pa.Table) -> None:
    """Write a trace; the name says in which form: .parquet or .arrow (IPC).

    Raises: OSError.
    """
    import pyarrow as pa

    metadata = {**(content.schema.metadata or {}), checksum.KEY: checksum.PLACEHOLDER}
    content = content.replace_schema_metadata(metadata)
    if Path(path).suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(content, path, compression="zstd")
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, content.schema) as writer:
            writer.write_table(content)
    checksum.sign(Path(path))


def _verified(path: str | Path) -> bytes:
    """Return the bytes of a trace that are what was written."""
    data = Path(path).read_bytes()
    is_whole = checksum.is_whole(io.BytesIO(data))
    if is_whole is None:
        raise CorruptFileError(
            f"{path}: no trace of arrowroot perf --trace, or a damaged one: record it again"
        )
    if not is_whole:
        raise CorruptFileError(
            f"{path}: it is not what was written, as its checksum says: it is damaged, or was edited; record it again"
        )
    return data


def read(path: str | Path) -> Log:
    """Return a trace that ``arrowroot perf --trace`` wrote.

    Raises: StorageError if it cannot be read, CorruptFileError if it is none.
    """
    import numpy as np
    import pyarrow.compute as pc

    content = _load(path)
    metadata = _metadata(content, path)
    expected = schema()
    for field in expected:
        indices = content.schema.get_all_field_indices(field.name)
        if len(indices) != 1 or content.schema.field(indices[0]).type != field.type:
            raise CorruptFileError(f"{path}: a trace has a column {field.name!r} of {field.type}")
    # A table made elsewhere may have other dictionaries in each chunk.
    content = content.unify_dictionaries().combine_chunks()
    kinds = content["kind"].cast("string")
    logical = content.filter(pc.equal(kinds, "logical"))
    physical = content.filter(pc.equal(kinds, "physical"))
    for part, names in (
        (logical, ("branch", "first_entry", "decode_ns")),
        (physical, ("request", "operation")),
    ):
        for name in ("offset", "n_bytes", *names):
            if part[name].null_count:
                raise CorruptFileError(f"{path}: column {name!r} has nulls where there is a read")

    def numbers(name: str) -> npt.NDArray[np.uint64]:
        return np.ascontiguousarray(logical[name].to_numpy(), dtype=np.uint64)

    # Compared so that nothing overflows.
    left = np.uint64(metadata["file_bytes"]) - np.minimum(
        numbers("offset"), np.uint64(metadata["file_bytes"])
    )
    if np.any(numbers("n_bytes") > left):
        raise CorruptFileError(f"{path}: a basket ends after the file")
    branches = [chunk.indices.to_numpy() for chunk in logical["branch"].chunks]
    arrays = Logical(
        numbers("offset"),
        numbers("n_bytes"),
        numbers("first_entry"),
        np.concatenate([*branches, np.array([], dtype=np.int32)]).astype(np.uint64),
        numbers("decode_ns"),
    )
    requests = set(
        zip(physical["operation"].to_pylist(), physical["request"].to_pylist(), strict=True),
    )
    n_bytes = pc.sum(physical["n_bytes"]).as_py() or 0
    branch_names = [name for chunk in logical["branch"].chunks[:1] for name in chunk.dictionary.to_pylist()]
    protocol = _protocol(metadata, path)
    return Log(metadata, protocol, arrays, branch_names, len(requests), physical.num_rows, n_bytes)


def _load(path: str | Path) -> pa.Table:
    import pyarrow as pa

    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidRequestError(
            f"{path}: a trace, as arrowroot perf --trace writes it, is called something"
            f"{' or '.join(SUFFIXES)}"
        )
    try:
        data = _verified(path)
        file = pa.BufferReader(data)
        if suffix == ".parquet":
            import pyarrow.parquet as pq

            parquet = pq.ParquetFile(file)
            _check_rows(parquet.metadata.num_rows, len(data), path)
            # Without threads: a program may end before they have come up, which Arrow does not survive.
            table = parquet.read(use_threads=False)
        else:
            # What follows the magic number is a stream: all that is read is what was looked at.
            stream = pa.py_buffer(data).slice(8)
            _check_plain(stream, path)
            table = pa.ipc.open_stream(stream).read_all()
            _check_rows(table.num_rows, len(data), path)
        table.validate(full=True)
    except FileNotFoundError:
        raise NoSuchFileError(f"{path}: no such file") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from None
    except (CorruptFileError, InvalidRequestError):
        raise
    except (pa.ArrowException, ValueError) as error:
        raise CorruptFileError(f"{path}: {str(error)[:200]}") from error
    return table


def _check_plain(stream: pa.Buffer, path: str | Path) -> None:
    """Raise CorruptFileError for a stream with compressed buffers, which may claim any size: no trace has them.

    Source: ``Message.fbs`` of Arrow: a message's header is its field 2, a dictionary's batch field 1, and a batch's
    compression field 3.
    """
    import pyarrow as pa

    for message in pa.ipc.MessageReader.open_stream(stream):
        content = message.metadata.to_pybytes()

        def position(table: int, field: int, content: bytes = content) -> int:
            fields = table - int.from_bytes(content[table : table + 4], "little", signed=True)
            if 6 + 2 * field > int.from_bytes(content[fields : fields + 2], "little"):
                return 0
            offset = int.from_bytes(content[fields + 4 + 2 * field :][:2], "little")
            return table + offset if offset else 0

        def inner(index: int, content: bytes = content) -> int:
            return index + int.from_bytes(content[index : index + 4], "little")

        header = inner(position(inner(0), 2))
        batch = inner(position(header, 1)) if message.type == "dictionary" else header
        if message.type != "schema" and position(batch, 3):
            raise CorruptFileError(f"{path}: a trace in Arrow IPC is not compressed, and this one is")


def _check_rows(n_rows: int, file_bytes: int, path: str | Path) -> None:
    if n_rows > _MAX_ROWS:
        raise InvalidRequestError(f"{path}: more than {_MAX_ROWS:,} rows")
    if n_rows > _FEW_ROWS + file_bytes:
        raise CorruptFileError(f"{path}: {n_rows:,} rows in {file_bytes:,} bytes, which no trace has")


def _shown(value: object) -> str:
    return repr(value)[:100]


def _metadata(content: pa.Table, path: str | Path) -> dict[str, Any]:
    import json

    try:
        metadata = json.loads((content.schema.metadata or {})[_KEY])
        if metadata["form"] != FORM:
            raise CorruptFileError(
                f"{path}: a trace of the form {_shown(metadata['form'])}, not {FORM!r}: record it again"
            )
        if not (isinstance(metadata["file_bytes"], int) and 0 <= metadata["file_bytes"] <= _MAX_FILE_BYTES):
            raise CorruptFileError(f"{path}: {_shown(metadata['file_bytes'])} is no size of a file")
        for offset, n_bytes in metadata.get("kept", []):
            is_whole = isinstance(offset, int) and isinstance(n_bytes, int)
            if not (is_whole and offset >= 0 and n_bytes >= 0 and offset + n_bytes <= metadata["file_bytes"]):
                raise CorruptFileError(
                    f"{path}: bytes from {offset} to {offset + n_bytes} were kept of no such file"
                )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, CorruptFileError):
            raise
        raise CorruptFileError(f"{path}: no trace of arrowroot perf --trace") from None
    return dict(metadata)


def _protocol(metadata: Mapping[str, Any], path: str | Path) -> Protocol:
    recorded = metadata.get("protocol")
    if not (isinstance(recorded, dict) and isinstance(recorded.get("name"), str)):
        raise CorruptFileError(
            f"{path}: it does not say how the store that it was recorded at makes requests: record it again"
        )
    limits = {name: limit for name, limit in recorded.items() if name != "name"}
    try:
        return Protocol(recorded["name"], **limits)
    except InvalidRequestError as error:
        raise CorruptFileError(f"{path}: {str(error)[:200]}: record it again") from None
