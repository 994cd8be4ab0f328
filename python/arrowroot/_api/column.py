"""The metadata of a column, and tables of a few of them."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar

from arrowroot._errors import WrongTypeError
from arrowroot._render import N_QUOTED, clip, html_table, printable
from arrowroot._sizes import compression_ratio, counted, format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot import _native

_T = TypeVar("_T")

_SHOWN_COLUMNS = 20
_TYPE_WIDTH = 40


def refuse_call(name: str, what: str) -> NoReturn:
    """Raise WrongTypeError for a property that was called, as it is a method elsewhere. ``what``: it is."""
    raise WrongTypeError(f"{name} is {what}, no method: write it without ()")


class NumEntries(int):
    """A number of entries, which says so if it is called. It is an ``int`` wherever it goes, and out of a pickle."""

    __slots__ = ()

    def __call__(self) -> NoReturn:
        refuse_call("num_entries", "a number")

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


class Listed(list[_T]):
    """A list of a tree's columns or branches, whose text has the first few where there are many."""

    def __repr__(self) -> str:
        if len(self) <= _SHOWN_COLUMNS:
            return super().__repr__()
        first = "".join(f"{one!r},\n " for one in self[:N_QUOTED])
        return (
            f"[{first}... and {len(self) - N_QUOTED:,} more: tree.column_names has the names, "
            "print(*tree.columns, sep='\\n') all]"
        )

    def __call__(self) -> NoReturn:
        refuse_call("columns", "a list")


class Column(NamedTuple):
    """The metadata of one column. Bytes are of its baskets with their keys.

    >>> column = tree.columns[-1]
    >>> column.name, column.arrow_type, column.n_baskets
    ('Muon_pt', 'list<float>', 1)
    """

    name: str
    title: str
    #: In C++.
    type_name: str
    #: In Arrow; None if it cannot be read, and then ``unsupported`` says why.
    arrow_type: str | None
    unsupported: str | None
    n_entries: int
    n_baskets: int
    stored_bytes: int
    memory_bytes: int
    #: Codec and level.
    compression: str

    @property
    def compression_ratio(self) -> float | None:
        """Uncompressed over compressed bytes of its baskets, both with their keys; None if there are none."""
        return compression_ratio(self.memory_bytes, self.stored_bytes)

    def __repr__(self) -> str:
        return (
            f"<Column {self.name!r} {printable(self.type_name)}: {counted(self.n_entries, 'entry', 'entries')}, "
            f"{printable(self.arrow_type or 'not readable')}, {format_bytes(self.stored_bytes)} stored>"
        )

    def _repr_html_(self) -> str:
        return html_table(rows_of([self]), caption=repr(self)[1:-1])

    @classmethod
    def of(cls, branch: _native.Branch) -> Column:
        """What is known of a branch."""
        # Many columns of a tree have the same type, and long texts say so.
        arrow_type = branch.arrow_type
        return cls(
            branch.path,
            branch.title,
            intern(branch.type_name),
            arrow_type and intern(arrow_type),
            branch.unsupported,
            branch.n_entries,
            branch.n_baskets,
            branch.stored_bytes,
            branch.memory_bytes,
            branch.compression,
        )


def rows_of(columns: Sequence[Column]) -> list[list[str]]:
    """Return a table of the first columns, its header first."""
    return [
        ["column", "C++ type", "Arrow type", "stored"],
        *(
            [
                printable(column.name),
                clip(printable(column.type_name), _TYPE_WIDTH),
                clip(column.arrow_type or "(not readable yet)", _TYPE_WIDTH),
                format_bytes(column.stored_bytes),
            ]
            for column in columns[:_SHOWN_COLUMNS]
        ),
    ]
