"""A pass over data: over one tree, or over friends side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from arrowroot._errors import ArrowrootError, CorruptFileError, MemoryBudgetWarning, warn
from arrowroot._render import printable
from arrowroot._select.columns import NOT
from arrowroot._sizes import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot import _native
    from arrowroot._cost.cost import Cost
    from arrowroot._cost.plan import Plan, ScanStats
    from arrowroot._errors import UnsupportedError


class ArrowBatch(Protocol):
    """A batch of the engine or of pyarrow."""

    @property
    def num_rows(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class Source(Protocol):
    """One pass: batches, once, in order. Nothing is read before the first ``next_batch``."""

    @property
    def num_entries(self) -> int:
        """Number of entries that the pass delivers, or from which a filter selects."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, as delivered."""

    def schema(self) -> pa.Schema:
        """Return the schema of every batch."""

    def next_batch(self) -> ArrowBatch | None:
        """Return the next batch, None after the last."""

    def place(self) -> str:
        """Return the file that is being read, as people know it."""

    def plan(self) -> Plan:
        """Return the plan of what the pass reads."""

    def stats(self) -> ScanStats:
        """Return the counters so far."""

    def cost(self) -> Cost:
        """Return what the pass has cost so far."""

    def cancel(self) -> None:
        """Stop reading; no batch comes after this."""


class EnginePass(Source, Protocol):
    """A pass of the engine over one tree, or several as one."""

    @property
    def max_ranges(self) -> int | None:
        """Ranges that the server takes in one request; None: the files are on this machine."""

    @property
    def line_bytes(self) -> int:
        """Bytes that the line could carry while the pass reads: its own, or more if its requests take longer."""

    def begin_fetching(self) -> None:
        """Ask a server for what comes first. Does nothing for files on this machine."""

    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        """Return the stored bytes of the baskets that some rows of the pass need, and of those that all need.

        rows: in order.
        """


_S = TypeVar("_S", bound=Source)


class Around(Generic[_S]):
    """A pass that makes its batches of those of another one; all that it does not have itself is that of the other."""

    def __init__(self, source: _S) -> None:
        self._source = source
        #: As ``TreeSource``.
        self.is_of_paths: bool = getattr(source, "is_of_paths", False)

    @property
    def num_entries(self) -> int:
        return self._source.num_entries

    @property
    def column_names(self) -> list[str]:
        return self._source.column_names

    def schema(self) -> pa.Schema:
        return self._source.schema()

    def place(self) -> str:
        return self._source.place()

    def plan(self) -> Plan:
        return self._source.plan()

    def stats(self) -> ScanStats:
        return self._source.stats()

    def cost(self) -> Cost:
        return self._source.cost()

    def cancel(self) -> None:
        self._source.cancel()


def import_schema(native: _native.Table | _native.Scan, where: str) -> pa.Schema:
    """Return the schema of a table or a pass of the engine as pyarrow's. ``where`` names it in errors.

    Raises: CorruptFileError if pyarrow, or whoever has registered an extension type, does not take what is recorded.
    """
    import pyarrow as pa

    try:
        return pa.schema(native)
    except (ArrowrootError, MemoryError):
        raise
    except Exception as error:  # an extension type may raise anything
        raise CorruptFileError(
            f"{where}: the recorded Arrow schema has a type that pyarrow does not take: "
            f"{printable(str(error)[:200])}; raw=True gives the bytes of columns"
        ) from error


def import_batch(batch: ArrowBatch, source: Source) -> pa.RecordBatch:
    """Return a batch of a pass as pyarrow's, without a copy. Raises: CorruptFileError as :func:`import_schema` does."""
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        return batch
    try:
        return pa.record_batch(batch)
    except (ArrowrootError, MemoryError):
        raise
    except Exception:
        source.schema()  # says what is wrong with it, and in which file
        raise


def say_way_around(error: BaseException, source: Source) -> None:
    """Add to an error in one of several columns of a tree how to read the others."""
    column, names = getattr(error, "object", None), source.column_names
    if getattr(source, "is_of_paths", False) and len(names) > 1 and column in names:
        error.args = (f'{error}; "{NOT}{column}" among the columns reads the others',)
        error.is_of_one_column = True  # type: ignore[attr-defined]  # for written_by_code


def written_by_code(error: UnsupportedError) -> str | None:
    """Return the column whose objects turned out to be written by code of their own, if others are read beside it.

    Other reasons, as a codec that is not known, are of some baskets or of all columns: none is left out for these.
    """
    column: str | None = getattr(error, "object", None)
    is_of_code = getattr(
        error, "is_of_one_column", False
    ) and "is most likely written by code of its own" in str(error)
    return column if is_of_code else None


def batches_of(source: Source) -> Iterator[pa.RecordBatch]:
    """Draw a pass to its end, or until the caller has enough."""
    try:
        while (batch := source.next_batch()) is not None:
            ours = import_batch(batch, source)
            del batch
            yield ours
            del ours  # if the caller has let go of it, the next batch takes its memory
    finally:
        # The threads of a loop that was left early must not go on reading. After the last batch this does nothing.
        source.cancel()


class TreeSource:
    """A pass of the engine over one tree."""

    #: True: its columns go by their paths in the tree, so that an error can say how to leave one out.
    is_of_paths = True

    def __init__(self, scan: _native.Scan, file: str, budgets: tuple[int, int]) -> None:
        """``budgets``: the memory budget of all passes of a scan together, and this one's part of it, in bytes."""
        self.native = scan
        self._file = file
        self.budgets = budgets
        self._has_begun = False

    @property
    def num_entries(self) -> int:
        return self.native.num_entries

    @property
    def column_names(self) -> list[str]:
        return self.native.column_names

    def schema(self) -> pa.Schema:
        return import_schema(self.native, self._file)

    def next_batch(self) -> _native.Batch | None:
        self.begin()
        return self.native.next_batch()

    def begin(self) -> None:
        """Warn, before the first batch, of a memory budget for which pieces are decompressed again."""
        if self._has_begun:
            return
        self._has_begun = True
        if (enough_bytes := self.native.enough_budget_bytes) > 0:
            whole_bytes, budget_bytes = self.budgets
            _warn_of_budget(self._file, whole_bytes, -(-enough_bytes * whole_bytes // budget_bytes))

    def place(self) -> str:
        return self._file

    def plan(self) -> Plan:
        from arrowroot._cost.plan import Plan

        return Plan.of_native(self.native.plan(), self._file)

    def stats(self) -> ScanStats:
        from arrowroot._cost.plan import ScanStats

        return ScanStats.of_native(self.native.stats())

    def cost(self) -> Cost:
        from arrowroot._cost.cost import Cost

        return Cost.of_native(self.native)

    def cancel(self) -> None:
        self.native.cancel()

    @property
    def max_ranges(self) -> int | None:
        return self.native.max_ranges if self.native.is_remote else None

    @property
    def line_bytes(self) -> int:
        return self.native.line_bytes

    def begin_fetching(self) -> None:
        if self.native.is_remote:
            self.native.begin_fetching()

    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        return self.native.needed_bytes(rows)


class SideBySide:
    """Passes over the same entries of several trees as one. Each batch has the columns of all, under the names given.

    A batch ends wherever a batch of one of the trees ends. None is copied.
    """

    def __init__(self, parts: Sequence[EnginePass], order: Sequence[tuple[str, int, str]]) -> None:
        """``order``: for each column delivered its name, its part, and its name in the part."""
        self._parts = parts
        self._order = order
        self._rest: list[pa.RecordBatch | None] = [None] * len(parts)

    @property
    def num_entries(self) -> int:
        return self._parts[0].num_entries

    @property
    def column_names(self) -> list[str]:
        return [name for name, _, _ in self._order]

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        schemas = [part.schema() for part in self._parts]
        return pa.schema([schemas[part].field(inner).with_name(name) for name, part, inner in self._order])

    def next_batch(self) -> pa.RecordBatch | None:
        import pyarrow as pa

        current = []
        for i, part in enumerate(self._parts):
            rest = self._rest[i]
            while rest is None or rest.num_rows == 0:
                batch = part.next_batch()
                if batch is None:
                    return None
                rest = import_batch(batch, part)
            current.append(rest)
        n_rows = min(batch.num_rows for batch in current)
        # An empty slice would hold the memory of its batch while the next one is read.
        self._rest = [batch.slice(n_rows) if batch.num_rows > n_rows else None for batch in current]
        heads = [batch.slice(0, n_rows) for batch in current]
        if not self._order:
            return heads[0]  # no columns: only the number of entries counts
        return pa.RecordBatch.from_arrays(
            [heads[part].column(inner) for _, part, inner in self._order], schema=self.schema()
        )

    def place(self) -> str:
        return self._parts[0].place()

    def plan(self) -> Plan:
        from arrowroot._cost.plan import Plan

        plans = [part.plan() for part in self._parts]
        return Plan.joined(plans, columns=self.column_names, n_entries=self.num_entries)

    def stats(self) -> ScanStats:
        from arrowroot._cost.plan import ScanStats

        return ScanStats.joined((part.stats() for part in self._parts), side_by_side=True)

    def cost(self) -> Cost:
        from arrowroot._cost.cost import Cost

        names = {(part, inner): name for name, part, inner in self._order}
        parts = []
        for i, cost in enumerate(part.cost() for part in self._parts):
            logical = [
                read._replace(column=names.get((i, read.column), read.column)) for read in cost.logical
            ]
            parts.append(cost._replace(logical=logical))
        return Cost.joined(parts, side_by_side=True)

    def cancel(self) -> None:
        for part in self._parts:
            part.cancel()

    @property
    def max_ranges(self) -> int | None:
        return min((part.max_ranges for part in self._parts if part.max_ranges is not None), default=None)

    @property
    def line_bytes(self) -> int:
        return sum(part.line_bytes for part in self._parts)

    def begin_fetching(self) -> None:
        for part in self._parts:
            part.begin_fetching()

    def needed_bytes(self, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
        needed, of_all = zip(*(part.needed_bytes(rows) for part in self._parts), strict=True)
        return sum(needed), sum(of_all)


def _warn_of_budget(url: str, budget_bytes: int, enough_bytes: int) -> None:
    """Warn, at the caller's line and once for each budget, that it has pieces decompressed again."""
    warned_of = MemoryBudgetWarning._warned_of  # noqa: SLF001 - whose warnings these are
    if budget_bytes in warned_of:
        return
    warned_of.add(budget_bytes)
    enough = -(-enough_bytes // 1_000_000) * 1_000_000
    warn(
        f"{url}: a memory_budget of {format_bytes(budget_bytes)} has no room for what several batches need, which is "
        f"decompressed again, and may be read again: memory_budget={enough:_} does it once",
        MemoryBudgetWarning,
    )
