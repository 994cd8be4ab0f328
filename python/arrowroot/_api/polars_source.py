"""Trees as a source of Polars' lazy frames, which say what they need of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from arrowroot._api.dataset import DatasetOptions, Request
from arrowroot._api.scan import Scan
from arrowroot._api.tree import Tree
from arrowroot._arguments import takes
from arrowroot._arrow.convert import empty_batch
from arrowroot._errors import missing_library
from arrowroot._options import Options
from arrowroot._select.columns import Choice
from arrowroot._storage.config import StorageOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl
    import pyarrow as pa
    from typing_extensions import Unpack

    from arrowroot._filter.bind import Mask
    from arrowroot._select.columns import Columns
    from arrowroot._storage.filesets import Files


class _PolarsFilter:
    """An expression of Polars on the columns of entries; Polars computes it."""

    def __init__(self, predicate: pl.Expr) -> None:
        self._predicate = predicate
        self.text = str(predicate)
        self.columns = list(dict.fromkeys(predicate.meta.root_names()))

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[int], int]) -> Mask:
        del entry_of  # Polars does not say where something went wrong
        import polars as pl

        frame = cast("pl.DataFrame", pl.from_arrow(batch))
        selected = frame.select(self._predicate).to_series().fill_null(value=False)
        return cast("Mask", selected.to_numpy())


def _frames(
    request: Request,
    with_columns: list[str] | None,
    predicate: pl.Expr | None,
    n_rows: int | None,
    batch_size: int | None,  # noqa: ARG001 - a hint
) -> Iterator[pl.DataFrame]:
    """Yield what Polars asks for: columns, of the first entries, those for which a predicate holds."""
    import polars as pl
    import pyarrow as pa

    chain = request.chain
    # A frame without columns has no length.
    names = request.names[:1] if with_columns == [] else with_columns or request.names
    entries = None if n_rows is None else (0, min(n_rows, chain.num_entries))
    options = Options.default()
    bound = None if predicate is None else _PolarsFilter(predicate)
    needed = list(dict.fromkeys([*names, *(bound.columns if bound else [])]))
    outputs, _ = chain.outputs(Choice(needed), options, None)
    # A condition on what is computed, aliases of the tree, is looked at behind it.
    behind = None
    if bound is not None and any(outputs.columns[name] for name in bound.columns):
        bound, behind = None, predicate
    else:
        outputs = outputs._replace(columns={name: outputs.columns[name] for name in names})
    chain.require(outputs.needed if bound is None else [*outputs.needed, *bound.columns])
    passes = chain.passes(outputs.needed, entries, options, bound)
    scan = Scan(
        lambda: outputs.of(passes(options), entries), chain.location, "" if bound is None else bound.text
    )
    found = False
    for batch in scan:
        found = True
        frame = cast("pl.DataFrame", pl.from_arrow(batch))
        yield frame if behind is None else frame.filter(behind).select(names)
    if not found:  # Polars 1.22 panics where a source yields no frame.
        schema = pa.schema([request.schema.field(name) for name in names])
        yield cast("pl.DataFrame", pl.from_arrow(empty_batch(schema)))


@takes(
    DatasetOptions.__annotations__,
    explained_by=Tree.scan.__doc__,
    unlisted=StorageOptions.__annotations__,
)
def scan_root(
    paths: Files, tree: str | None = None, columns: Columns = None, **options: Unpack[DatasetOptions]
) -> pl.LazyFrame:
    """Return a ``polars.LazyFrame`` of trees of files; columns and entries that a query does not need are not read.

    paths, tree, columns, friends, missing, promote: as for ``scan``.

    The columns of a condition are read first, the others only where it selected something. The files stay open. The
    types are known at once.

    Raises: what ``scan`` raises; UnsupportedError for variants, which Polars does not have, once it is collected.

        >>> import polars as pl
        >>> ar.scan_root("run*.root", "Events").filter(pl.col("MET_pt") > 49).select("MET_pt").collect().height
        2
    """
    try:
        import polars as pl
        from polars.io.plugins import register_io_source
    except ImportError as error:
        raise missing_library("polars", "scan_root()") from error
    request = Request(paths, tree, columns, options)
    empty: Any = pl.from_arrow(empty_batch(request.schema))
    return register_io_source(partial(_frames, request), schema=empty.schema)
