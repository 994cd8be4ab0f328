"""One column of a tree, which is read when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from arrowroot._api.column import Column, rows_of
from arrowroot._arguments import not_made, takes
from arrowroot._attributes import no_attribute
from arrowroot._errors import (
    ArrowrootError,
    InvalidRequestError,
    WrongTypeError,
    not_picklable,
)
from arrowroot._options import DEFAULTS, ReadOptions, ScanOptions
from arrowroot._render import html_table, printable, type_text
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    import awkward as ak
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from typing_extensions import Unpack

    from arrowroot._api.tree import Tree

#: The options that choose entries of one column, and say how it is read.
_OPTIONS = {name: kind for name, kind in ReadOptions.__annotations__.items() if name != "filter_name"}


def _refuse(done: str, filtered: str = "") -> Callable[..., NoReturn]:
    """Return an operation that is refused. ``done``: how COLUMN and OTHER are written; ``filtered``: as a filter."""

    def refuse(self: TreeColumn, *others: object) -> NoReturn:
        other = repr(others[0]) if others and isinstance(others[0], int | float | str) else "..."
        column = f"tree[{self.name!r}]"
        asked, computed = (
            done.replace("COLUMN", of).replace("OTHER", other) for of in (column, f"{column}.to_numpy()")
        )
        line = filtered and f'tree.to_arrow(filter="{filtered.format(self.name, other)}"), or '
        raise WrongTypeError(f"{asked}: a column is not read before it is asked for: write {line}{computed}")

    return refuse


def _answering(kind: type[TreeColumn]) -> type[TreeColumn]:
    """Have the class answer what Python's operators ask."""
    for name, sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        setattr(kind, f"__{name}__", _refuse(f"COLUMN {sign} OTHER", f"{{}} {sign} {{}}"))
    computed = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
    for name, sign in {**computed, "and": "&", "or": "|", "xor": "^"}.items():
        setattr(kind, f"__{name}__", _refuse(f"COLUMN {sign} OTHER"))
        setattr(kind, f"__r{name}__", _refuse(f"OTHER {sign} COLUMN"))
    for name, sign in {"neg": "-", "pos": "+", "invert": "~"}.items():
        setattr(kind, f"__{name}__", _refuse(f"{sign}COLUMN"))
    kind.__abs__ = _refuse("abs(COLUMN)")  # type: ignore[attr-defined]  # operators come from one table
    return kind


@_answering
@not_made
class TreeColumn:
    """One column of a tree: ``tree["x"]``. It is read when it is converted, and each time anew.

    NumPy, and what takes an Arrow stream (``pyarrow.chunked_array``, ``polars.Series``), take it as it is. Several
    columns are ``tree[["x", "y"]]``, a scan.

        >>> column = tree["MET_pt"]
        >>> column.to_numpy(filter="MET_pt > 48")
        array([48.5, 49. , 49.5], dtype=float32)
        >>> column.name, len(column), column.metadata.type_name
        ('MET_pt', 100, 'float')
    """

    # Two are equal if they are one, but to ask for that is mostly meant of the values: `_answering` refuses it.
    __hash__ = object.__hash__

    def __init__(self, tree: Tree, name: str) -> None:
        """``name``: of one column that can be read."""
        self._tree = tree
        self._name = name

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name, None if name.startswith("_") else self._hints)

    @property
    def name(self) -> str:
        """Its path in the tree."""
        return self._name

    @property
    def metadata(self) -> Column:
        """Types, sizes and compression. Raises: InvalidRequestError for a friend's column, which its tree knows."""
        branch = next((branch for branch in self._tree.branches if branch.path == self._name), None)
        if branch is None:
            raise InvalidRequestError(
                f"{self._tree.location}: {self._name!r} is a friend's column: ask the friend's tree"
            )
        return Column.of(branch)

    @property
    def type(self) -> pa.DataType:
        """Its type in Arrow."""
        return self._tree.scan([self._name]).schema.field(0).type

    @takes(_OPTIONS, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_arrow(self, **options: Unpack[ReadOptions]) -> pa.ChunkedArray:
        """Read it, or some of its entries, into a ``pyarrow.ChunkedArray``.

        >>> tree["MET_pt"].to_arrow(entries=[0, 2]).to_pylist()
        [0.0, 1.0]
        """
        return self._tree.to_arrow([self._name], **options).column(0)

    @takes(_OPTIONS, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_numpy(self, **options: Unpack[ReadOptions]) -> npt.NDArray[Any]:
        """Read it, or some of its entries, into a NumPy array, as :meth:`Scan.to_numpy` does.

        >>> tree["MET_pt"].to_numpy(entries=slice(0, 3))
        array([0. , 0.5, 1. ], dtype=float32)
        """
        return next(iter(self._tree.to_numpy([self._name], **options).values()))

    @takes(_OPTIONS, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_pandas(self, **options: Unpack[ReadOptions]) -> pd.Series:
        """Read it, or some of its entries, into a ``pandas.Series``.

        >>> tree["MET_pt"].to_pandas(filter="MET_pt > 48").tolist()
        [48.5, 49.0, 49.5]
        """
        frame = self._tree.to_pandas([self._name], **options)
        return frame[frame.columns[0]]

    @takes(_OPTIONS, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_polars(self, **options: Unpack[ReadOptions]) -> pl.Series:
        """Read it, or some of its entries, into a ``polars.Series``.

        >>> tree["MET_pt"].to_polars().len()
        100
        """
        return self._tree.to_polars([self._name], **options).to_series()

    @takes(_OPTIONS, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_awkward(self, **options: Unpack[ReadOptions]) -> ak.Array:
        """Read it, or some of its entries, into an ``awkward.Array``.

        >>> tree["Muon_pt"].to_awkward(entries=slice(0, 3)).tolist()
        [[], [10.0], [10.5, 11.0]]
        """
        records = self._tree.to_awkward([self._name], **options)
        return records[records.fields[0]]

    def __len__(self) -> int:
        """Return the number of entries."""
        return self._tree.num_entries

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Read it for NumPy: ``np.asarray(tree["x"])``."""
        import numpy as np

        values = self.to_numpy()
        return np.array(values, dtype=dtype, copy=True) if copy else np.asarray(values, dtype=dtype)

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.ChunkedArray:  # noqa: A002 - pyarrow's name
        """Read it for ``pyarrow.array``."""
        values = self.to_arrow()
        return values if type is None else values.cast(type)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Read it as an Arrow C stream of its values."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def _hints(self) -> str | None:
        """The kind whose lines answer for what it lacks; None: its class, also where its type is not known."""
        from arrowroot._hint_tables import LISTS

        try:
            return LISTS if self._call == "to_awkward" else None
        except ArrowrootError:
            return None

    @property
    def _call(self) -> str:
        """How to convert it: NumPy has no lists of different lengths."""
        import pyarrow as pa

        return "to_awkward" if pa.types.is_nested(self.type) else "to_numpy"

    def __iter__(self) -> NoReturn:
        """Raise WrongTypeError: values are not read one by one."""
        raise WrongTypeError(
            f"tree[{self._name!r}] is not read value by value: write tree[{self._name!r}].{self._call}()"
        )

    def __getitem__(self, entries: object) -> NoReturn:
        """Raise WrongTypeError, with how to read some entries."""
        raise WrongTypeError(
            f"tree[{self._name!r}] is not read by [...]: write tree[{self._name!r}].{self._call}(entries=slice(0, 5))"
        )

    def __reduce__(self) -> NoReturn:
        """Raise WrongTypeError: an open file cannot go to another process."""
        raise not_picklable(
            "a TreeColumn", f"arrowroot.open({self._tree.url!r})[{self._tree.path!r}][{self._name!r}]"
        )

    def __repr__(self) -> str:
        about = f"{type_text(self.type)}, {counted(len(self), 'entry', 'entries')}"
        return f"<TreeColumn {self._name!r} of {printable(self._tree.location)}: {about}>"

    def _repr_html_(self) -> str:
        own = [branch for branch in self._tree.branches if branch.path == self._name]
        return html_table(rows_of([Column.of(branch) for branch in own]), caption=repr(self)[1:-1])
