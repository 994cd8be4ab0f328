"""A matrix with numbers in it: each cell has its value, and its ratio to the best of its row, or to its own past."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column, ResultTable

from .drawing import SMALL, Box, Drawing
from .figure import WIDE, Figure, drawn
from .lettering import text_width, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ROW, _ROW_OF_LEVELS, _LINE, _CELL_PX, _NAMES_PX = 40, 26, 15, 92, 160
#: Ratios to the best, and to what is usual, from which on a cell has the next colour.
_HEAT, _HEAT_OF_LEVELS = (1.05, 1.25, 1.6, 2.5, 5.0), (1.1, 1.2, 1.5, 2.5, 5.0)
_N_HEAD_LINES = 3


@dataclass(frozen=True)
class Cell:
    """A value; without one, the word for why: "failed", "skipped", "disturbed"."""

    value: float | None
    word: str = ""
    #: The reason, in full.
    note: str = ""
    #: A value that does not count, for want of a better one; it is told above the word, and in the table.
    aside: float | None = None
    #: It is an alarm, whatever its value: it has an edge.
    is_ill: bool = False
    #: What is told before the value, if not all cells are of one measure: "CPU ".
    prefix: str = ""

    @property
    def is_bad(self) -> bool:
        """True if something went wrong there; what was skipped, disturbed or never asked for is not bad."""
        return self.value is None and self.word not in ("", "skipped", "disturbed")


@dataclass(frozen=True)
class Axis:
    """What the rows, or the columns, are ("Storage"), and their names in their order."""

    title: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """Cells by row and column; one that is not there is drawn empty."""

    cells: Mapping[tuple[str, str], Cell]
    measure: Column
    rows: Axis
    columns: Axis

    def matrix(self, title: str, caption: str) -> Figure:
        """Return a matrix with ratios to the best, which is the least, of the row.

        Columns that do not fit beside each other follow in blocks below. The table has one line for each cell that is
        there.
        """
        best: dict[str, float] = {}
        n_values: Counter[str] = Counter()
        for (name, _), each in self.cells.items():
            if each.value is not None:
                best[name] = min(each.value, best.get(name, each.value))
                n_values[name] += 1
        # A value that is alone in its row is no best.
        compared = {name: value for name, value in best.items() if n_values[name] > 1}
        columns = (
            Column("ratio", "Ratio to the best of the row", "ratio"),
            Column("outcome", "Outcome"),
            Column("reason", "Reason"),
            Column("aside", "Not counted", self.measure.form),
        )
        return self._drawn(
            title,
            caption,
            columns,
            lambda row, cell: (_ratio(cell, best.get(row)), cell.word or "ok", cell.note or None, cell.aside),
            best=compared,
        )

    def levels(self, title: str, caption: str) -> Figure:
        """Return a matrix of which each value is a ratio to what is usual in that cell: no two cells are compared."""
        columns = Column("of", "Of"), Column("state", "State")
        return self._drawn(
            title,
            caption,
            columns,
            lambda _, cell: (cell.note, cell.word or ("alarm" if cell.is_ill else "ok")),
            is_of_levels=True,
        )

    def _drawn(
        self,
        title: str,
        caption: str,
        more: Sequence[Column],
        tell: Callable[[str, Cell], tuple[object, ...]],
        *,
        best: Mapping[str, float] | None = None,
        is_of_levels: bool = False,
    ) -> Figure:
        """The figure and its table; ``tell`` tells what the table has of a cell besides its value."""
        rows, columns = self.rows, self.columns
        table = ResultTable(
            title,
            (Column("row", rows.title), Column("column", columns.title), self.measure, *more),
            tuple(
                (row, column, cell.value, *tell(row, cell))
                for row in rows.names
                for column in columns.names
                if (cell := self.cells.get((row, column))) is not None
            ),
        )

        def draw(drawing: Drawing, is_narrow: bool) -> float:
            grid = _Drawn(drawing, self.cells, best or {}, self.measure, is_of_levels=is_of_levels)
            return _draw(drawing, grid, rows, columns, is_narrow)

        # Sites by tests are read along their rows: rather a wide picture than blocks.
        most = 2 * WIDE if is_of_levels else WIDE
        return drawn(
            title, caption, table, draw, width=max(WIDE, min(most, _NAMES_PX + _CELL_PX * len(columns.names)))
        )


def _draw(drawing: Drawing, grid: _Drawn, rows: Axis, columns: Axis, is_narrow: bool) -> float:
    """Draw all cells; columns that do not fit beside each other follow in blocks below."""
    names = max((text_width(name, SMALL) for name in rows.names), default=0.0) + 10
    grid.left = min(names, drawing.width * (0.34 if is_narrow else 0.38))
    n_columns = max(len(columns.names), 1)
    n_blocks = -(-n_columns // max(int((drawing.width - grid.left) // _CELL_PX), 1))
    n_beside = -(-n_columns // n_blocks)
    grid.width = min((drawing.width - grid.left - 2) / n_beside, 1.6 * _CELL_PX)
    y = 2.0
    for begin in range(0, n_columns, n_beside):
        y = grid.draw_block(rows.names, columns.names[begin : begin + n_beside], y)
    return y


def _ratio(cell: Cell, best: float | None) -> float | None:
    return cell.value / best if cell.value is not None and best else None


@dataclass
class _Drawn:
    drawing: Drawing
    cells: Mapping[tuple[str, str], Cell]
    best: Mapping[str, float]
    measure: Column
    is_of_levels: bool = False
    #: Where cells begin, and how wide each is.
    left: float = 0.0
    width: float = 0.0

    def draw_block(self, rows: Sequence[str], columns: Sequence[str], y: float) -> float:
        """Draw some of the columns, with all rows; return where it ends."""
        heads = [wrapped(name, self.width - 8, SMALL * 1.15)[:_N_HEAD_LINES] for name in columns]
        n_lines = max((len(lines) for lines in heads), default=1)
        for place, lines in enumerate(heads):
            middle = self.left + (place + 0.5) * self.width
            for index, line in enumerate(lines):
                baseline = y + _LINE * (n_lines - len(lines) + index + 1)
                self.drawing.text(
                    middle, baseline, line, anchor="middle", look="strong", width=self.width - 6
                )
        y += _LINE * n_lines + 8
        for name in rows:
            lines = wrapped(name, self.left - 8, SMALL)[:2]
            for index, line in enumerate(lines):
                baseline = y + self._row / 2 + 4 - 7.5 * (len(lines) - 1) + _LINE * index
                self.drawing.text(2, baseline, line, width=self.left - 8)
            for place, column in enumerate(columns):
                box = Box(self.left + place * self.width + 1, y + 1, self.width - 2, self._row - 2)
                self._draw_cell(box, self.cells.get((name, column)), self.best.get(name))
            y += self._row
        return y + 12

    @property
    def _row(self) -> int:
        return _ROW_OF_LEVELS if self.is_of_levels else _ROW

    def _draw_cell(self, box: Box, cell: Cell | None, best: float | None) -> None:
        middle, room = box.x + box.width / 2, box.width - 6
        drawing = self.drawing
        if cell is None or (cell.value is None and not cell.is_bad):
            word = cell.word if cell else ""
            drawing.rectangle(box, "cell none", (cell.note or word) if cell else "not asked for")
            if cell is not None and cell.aside is not None:
                about = f"about {shown(cell.aside, self.measure.form)}"
                drawing.text(middle, box.y + 17, about, anchor="middle", look="muted", width=room)
            baseline = box.y + (self._row / 2 + 3 if cell is None or cell.aside is None else 32)
            drawing.text(middle, baseline, word or "-", anchor="middle", look="muted", width=room)
            return
        if cell.value is None:
            drawing.rectangle(box, "cell bad", cell.note or cell.word)
            drawing.text(middle, box.y + 23, cell.word, anchor="middle", look="bad strong", width=room)
            return
        if self.is_of_levels:
            heat = sum(cell.value >= limit for limit in _HEAT_OF_LEVELS)
            drawing.rectangle(box, f"cell heat{heat}{' ill' if cell.is_ill else ''}", cell.note)
            look = "strong" if cell.is_ill and not cell.prefix else ""
            sign = "\N{BALLOT X} " if cell.is_ill else ""
            # With the word before it there is room for two digits.
            value = f"{cell.value:.2f}" if cell.prefix else shown(cell.value, self.measure.form)
            text = sign + cell.prefix + value
            drawing.text(middle, box.y + 16, text, anchor="middle", look=look, width=room)
            return
        ratio = _ratio(cell, best)
        heat = 0 if ratio is None else sum(ratio > limit for limit in _HEAT)
        is_best = ratio is not None and ratio <= 1
        drawing.rectangle(box, f"cell heat{heat}{' best' if is_best else ''}", cell.note)
        text = shown(cell.value, self.measure.form)
        drawing.text(middle, box.y + (17 if ratio else 23), text, anchor="middle", look="strong", width=room)
        if ratio:
            word = "best" if is_best else f"{shown(ratio, 'ratio')}\N{MULTIPLICATION SIGN}"
            drawing.text(middle, box.y + 32, word, anchor="middle", width=room)
