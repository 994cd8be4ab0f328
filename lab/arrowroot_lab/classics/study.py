"""The page of a classic: made of its results, ``classic.toml``, ``page.jinja`` and its statements.

``classic.toml`` has the published figures, the tables and the pictures; ``page.jinja`` is the prose: plain text, in
parts that begin with a line such as ``# answer``. In both ``of`` is what the classic's ``found`` makes of its results.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

import jinja2

from arrowroot_lab.errors import LabError
from arrowroot_lab.figures.bars import bars
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.figures.headlines import Headline, Pair
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, ResultTable

from .classic import Classic, points
from .results import Claim, Results

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from arrowroot_lab.figures.figure import Figure

    from .results import Row

    Of = TypeVar("Of", bound="Study")
    #: The kind, the text, and what must be true of the results; None: it is not stated of these. The kind is "found" or
    #: "given"; with " at size" it may not hold below the original's size.
    Statement = tuple[str, str, Callable[[Of], bool | None]]

#: How a column is shown whose key begins or ends so.
_FORMS = (
    (re.compile(r"n_"), "count"),
    (re.compile(r".*_ns$"), "time"),
    (re.compile(r".*_bytes$"), "bytes"),
    (re.compile(r".*_?share$"), "share"),
    (re.compile(r"ratio"), "ratio"),
    (re.compile(r".*_per_s$"), "rate"),
)


def _folder(name: str) -> str:
    return name.replace("-", "_")


@cache
def definition(name: str) -> dict[str, Any]:
    """Return the definition of a classic: what its ``classic.toml`` has."""
    place = files(__package__).joinpath(_folder(name)).joinpath("classic.toml")
    told: dict[str, Any] = tomllib.loads(place.read_text(encoding="utf-8"))
    return told


@cache
def _environment() -> jinja2.Environment:
    # Plain text: pages escape it.
    environment = jinja2.Environment(  # noqa: S701
        loader=jinja2.PackageLoader("arrowroot_lab", "classics"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(f=format, shown=shown)
    return environment


class Study(Results):
    """The results of a classic. Each classic adds the figures that its prose, tables and statements are made of."""

    @property
    def definition(self) -> dict[str, Any]:
        """The tables and pictures of the classic, and what was published."""
        return definition(self.name)

    def part(self, name: str) -> dict[str, Any]:
        """Return the definition of the table or the picture that has a name."""
        parts: list[dict[str, Any]] = self.definition["tables"] + self.definition["figures"]
        return next(part for part in parts if part.get("name") == name)

    def pairs(self) -> Iterable[Pair]:
        """Return the published figures of the headline beside ours."""
        raise NotImplementedError

    def page(self, claims: Iterable[Claim]) -> Classic:
        """Return the page, with what it states."""
        told = self.definition
        prose = self._prose()
        return Classic(
            name=self.name,
            title=told["title"],
            answer=" ".join(prose["answer"]),
            headline=Headline(
                **told["headline"], pairs=tuple(self.pairs()), note=" ".join(prose.get("note", ()))
            ),
            figures=tuple(figure for one in told["figures"] for figure in self.pictures(one)),
            tables=tuple(table for one in told["tables"] if (table := self.table(one)).rows),
            claims=tuple(claims),
            **{part: prose[part] for part in ("scale", "same", "differs", "today", "sources")},
            command=f"arrowroot lab classics {self.name}",
            real_command=told["real_command"],
            measured=self.measured(),
        )

    def _prose(self) -> dict[str, tuple[str, ...]]:
        template = _environment().get_template(f"{_folder(self.name)}/page.jinja")
        parts = re.split(r"^# (\w+)$", self._rendered(template), flags=re.MULTILINE)
        return {name: points(part) for name, part in zip(parts[1::2], parts[2::2], strict=True)}

    def _rendered(self, template: jinja2.Template) -> str:
        try:
            return template.render(of=self)
        except jinja2.UndefinedError as error:
            raise LabError(f"{self.name}: the results lack what the page tells: {error}") from error

    def table(self, told: dict[str, Any]) -> ResultTable:
        """Return a table: its title, the names of its columns, its notes, and whose rows they are.

        They are those of a ``study``, or what the method returns that ``rows`` names; a cell is the figure of its row
        that the key of the column names. Rows that are tuples are cells already.
        """
        columns = tuple(map(column, told["columns"]))
        rows = self.rows(told["study"]) if "study" in told else list(getattr(self, told["rows"])())
        cells = (
            row if isinstance(row, tuple) else tuple(self.figure(row, one.key) for one in columns)
            for row in rows
        )
        notes = (_environment().from_string(note) for note in told.get("notes", ()) if rows)
        return ResultTable(told["title"], columns, tuple(cells), tuple(map(self._rendered, notes)))

    def figure(self, row: Row, key: str) -> Any:
        """Return what a row has by a key, else what the method of that name makes of it."""
        if key not in row and not hasattr(self, key):
            raise LabError(f"{self.name}: a row of {row.get('study')} lacks {key}")
        return row[key] if key in row else getattr(self, key)(row)

    def cpu_share(self, row: Row, wall: str = "wall_ns") -> float:
        """Return the share of the wall time in which the job works."""
        return float(row["work_ns"] if "work_ns" in row else row["think_ns"]) / float(row[wall])

    def series(self, name: str, rows: Iterable[Row], x: str, y: str) -> Series:
        """Return two figures of rows as points of a line."""
        return Series(name, tuple(Point(self.figure(row, x), self.figure(row, y)) for row in rows))

    def pictures(self, told: dict[str, Any]) -> list[Figure]:
        """Return what a method draws; else bars if a definition says by what they are grouped, and curves if not.

        There is none without data.
        """
        if "draw" in told:
            return list(getattr(self, told["draw"])())
        title, caption, axes = told["title"], told["caption"], [column(text) for text in told["columns"]]
        data = tuple(getattr(self, told["data"])())
        if not data:
            return []
        if "by" in told:
            group, series = told["by"]
            return [bars(title, caption, data, *axes, group=group, series=series)]
        log, zero = told.get("log", ""), "from_zero" in told
        return [curves(title, caption, data, *axes, is_log_x="x" in log, is_log_y="y" in log, from_zero=zero)]


def column(text: str) -> Column:
    """Return a column of its key and title: ``wall_ns Wall time``; ``wall:time Wall time`` says how it is shown."""
    key, _, title = text.partition(" ")
    key, _, form = key.partition(":")
    return Column(key, title, form or next((form for keys, form in _FORMS if keys.match(key)), "text"))


def stated(of: Of, statements: Iterable[Statement[Of]]) -> list[Claim]:
    """Return what a page states of results, each with whether they bear it out."""
    return [
        Claim(text, holds, kind.startswith("given"), kind.endswith("at size"))
        for kind, text, condition in statements
        if (holds := condition(of)) is not None
    ]


def is_near(value: float, other: float, share: float) -> bool:
    """True if a value is another one, but for a share of that."""
    return abs(value / other - 1) <= share
