"""Histograms filled from the batches of one pass."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrowroot._errors import InvalidRequestError
from arrowroot._expressions.lists import Items, Problem, aligned, chosen_entries, of_arrow, truth
from arrowroot._expressions.scope import holds_texts
from arrowroot._histograms.texts import OfTexts, encoded
from arrowroot._histograms.wanted import N_SUMS, Hist, is_condition
from arrowroot._options import named
from arrowroot._render import shown
from arrowroot._select.cuts import Cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    import numpy.typing as npt
    import pyarrow as pa

    Mask: TypeAlias = npt.NDArray[np.bool_]
    #: Each by what it is of: a coordinate, the mean, the weight.
    _Expressions: TypeAlias = tuple[tuple[str, str], ...]


class Histograms(dict[str, Any]):
    """Filled histograms of the package ``hist``, by their names; ``cuts`` is the cut flow: all entries come first.

    >>> made = tree.scan().hist({"met": ar.Hist((10, 0, 50), x="MET_pt", cut="high")}, cuts={"high": "MET_pt > 20"})
    >>> made["met"].sum(), made.cuts[-1].num_entries
    (59.0, 59)
    """

    cuts: list[Cut]


class Filling:
    """Histograms that are being filled."""

    def __init__(
        self, wanted: Mapping[str, Hist], cuts: Mapping[str, str] | None, samples: Sequence[str] | None
    ) -> None:
        """``samples``: the names of the samples, if histograms have an axis of them.

        Raises: InvalidRequestError for what is no histogram, and cuts or samples that are not there.
        """
        if not hasattr(wanted, "items") or not all(isinstance(one, Hist) for one in wanted.values()):
            raise InvalidRequestError(
                f'hist: expected histograms by names, {{"m": ar.Hist((20, 0, 100), x="m")}}, got {shown(wanted)}'
            )
        if samples is not None and not samples:
            raise InvalidRequestError(
                'hist: by_sample: the files have no samples: scan {"name": {"files": [...]}} or "@samples.json"'
            )
        cuts = named(cuts, "cuts", 'conditions by their names, {"two muons": "nMuon >= 2"}')
        for name, text in cuts.items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise InvalidRequestError(
                    f'cuts: {name}: expected a condition in text, got {shown(text)}: write {{{name!r}: "x > 1"}}'
                )
        for name, one in wanted.items():
            if one.cut is not None and one.cut not in cuts:
                there_are = f"; there are {', '.join(map(repr, cuts)) or 'none'}"
                hint = f": write where={one.cut!r} for a condition" if is_condition(one.cut) else there_are
                raise InvalidRequestError(f"hist: {name}: there is no cut {one.cut!r}{hint}")
        self._wanted = wanted
        #: What is filled of the same values, by their expressions and the cut: histograms and their variations.
        self._fills: dict[tuple[_Expressions, str | None], list[tuple[str, list[str]]]] = {}
        for name, one in wanted.items():
            for variation, expressions in one.fills():
                fills = self._fills.setdefault((tuple(expressions.items()), one.cut), [])
                fills.append((name, [variation] if one.variations else []))
        self._of_whole_numbers = {name: one.of_whole_numbers for name, one in wanted.items()}
        self._cuts = cuts
        self._samples = samples
        self.made = Histograms()
        for name, one in wanted.items():
            try:
                self.made[name] = one.made(samples)
            except InvalidRequestError as error:
                raise InvalidRequestError(f"hist: {name}: {error}") from None
        #: Those with axes of texts, whose own are filled in the end.
        self._of_texts: dict[str, OfTexts] = {}
        for name, one in wanted.items():
            if one.of_texts:
                n_front = len(self.made[name].axes) - len(one.axes) - one.is_profile
                at = {of: n_front + number for number, of in enumerate(one.coordinates) if of in one.of_texts}
                self._of_texts[name] = OfTexts(self.made[name], at)
        self.made.cuts = [Cut("all", 0), *(Cut(name, 0) for name in cuts)]

    @property
    def expressions(self) -> list[str]:
        """The expressions that are needed, each once, in parentheses: so none is a glob."""
        texts = [text for one in self._wanted.values() for _, fill in one.fills() for text in fill.values()]
        return list(dict.fromkeys(f"({text})" for text in [*texts, *self._cuts.values()]))

    @property
    def needed_where(self) -> dict[str, list[str]]:
        """The conditions of which one holds wherever an expression is needed: cuts, and ``where``. Both as columns."""
        cuts = list(self._cuts.values())
        uses: list[tuple[str, str | None]] = list(zip(cuts, [None, *cuts], strict=False))
        ranks = {text: rank for rank, text in reversed(list(enumerate(cuts)))}
        for expressions, cut in self._fills:
            given = dict(expressions)
            passed = None if cut is None else self._cuts[cut]
            if (where := given.pop("where", None)) is not None:
                uses.append((where, passed))
                ranks.setdefault(where, len(cuts))
            uses += [(text, where or passed) for text in given.values()]
        conditions: dict[str, set[str | None]] = {}
        for text, condition in uses:
            # Each needs only what has a lower rank, and so none needs itself.
            is_lower = condition is not None and ranks[condition] < ranks.get(text, len(cuts) + 1)
            conditions.setdefault(text, set()).add(condition if is_lower else None)
        return {
            f"({text})": [f"({one})" for one in sorted(filter(None, found))]
            for text, found in conditions.items()
            if None not in found
        }

    def fill(
        self,
        batches: Iterable[pa.RecordBatch],
        schema: pa.Schema,
        place_of: Callable[[int | None], tuple[str, int | None]],
    ) -> Histograms:
        """Fill from batches of the expressions, and of their samples if there are some.

        schema: that of the batches. place_of: the tree of a row of the last batch, and the entry there, for messages.

        Raises: InvalidRequestError.
        """
        self._check(schema, place_of(None)[0])
        for batch in batches:
            values: dict[str, Items] = {}
            passed = self._passed(batch, values)
            samples = None if self._samples is None else _Samples.of(batch.column("sample"))
            # One after another, so that no more than one has its arrays in memory.
            for (expressions, cut), fills in self._fills.items():
                parts = {name: _value(text, batch, values) for name, text in expressions}
                texts = {name: encoded(parts, name) for name, one in parts.items() if one.kind == "text"}
                try:
                    found = _arrays(parts, batch.num_rows, None if cut is None else passed[cut], samples)
                except Problem as problem:
                    where, entry = place_of(problem.row)
                    in_entry = "" if entry is None else f", in entry {entry:,}"
                    raise InvalidRequestError(
                        f"{where}: hist: {fills[0][0]}: {problem.message}{in_entry}"
                    ) from None
                names = [name for name, _ in expressions if name != "where"]
                for sample, arrays in found:
                    for name, variation in fills:
                        given: dict[str, npt.NDArray[Any]] = dict(zip(names, arrays, strict=True))
                        for coordinate, axis in self._of_whole_numbers[name].items():
                            given[coordinate] = _whole(given[coordinate], axis)
                        filled = self.made[name]
                        if (of_texts := self._of_texts.get(name)) is not None:
                            try:
                                of_texts.by_numbers(given, texts)
                            except InvalidRequestError as error:
                                raise InvalidRequestError(
                                    f"{place_of(None)[0]}: hist: {name}: {error}"
                                ) from None
                            filled = of_texts.filled
                        _fill(filled, [*sample, *variation], given)
        self.made.update({name: one.finished() for name, one in self._of_texts.items()})
        self.made.update({name: wanted.finished(self.made[name]) for name, wanted in self._wanted.items()})
        return self.made

    def _check(self, schema: pa.Schema, where: str) -> None:
        """Raise InvalidRequestError for values that cannot be filled, or are no cuts, by their types."""
        wanted = [(f"cut {name!r}", "it", text, False) for name, text in self._cuts.items()]
        wanted += [
            (of, name, text, name in self._wanted[of].of_texts)
            for (expressions, _), fills in self._fills.items()
            for of in dict.fromkeys(of for of, _ in fills)
            for name, text in expressions
        ]
        for of, name, text, is_text in wanted:
            try:
                value = (_text if is_text else no_text)(schema.field(f"({text})").type, name)
            except Problem as problem:
                raise InvalidRequestError(f"{where}: hist: {of}: {problem.message}") from None
            if name == "it" and value.levels:
                raise InvalidRequestError(
                    f"{where}: hist: {of} is a list for each entry: say any(...), all(...)"
                )

    def _passed(self, batch: pa.RecordBatch, values: dict[str, Items]) -> dict[str, Mask]:
        """Return which entries pass each cut and all before it, and count them."""
        left = np.ones(batch.num_rows, dtype=np.bool_)
        found: dict[str, Mask] = {}
        counts = [batch.num_rows]
        for name, text in self._cuts.items():
            value = truth(_value(text, batch, values))
            left = left & (value.data if value.valid is None else value.data & value.valid)
            found[name] = left
            counts.append(int(np.count_nonzero(left)))
        self.made.cuts = [
            cut.plus(Cut("", n))._replace(sum_of_weights=None)
            for cut, n in zip(self.made.cuts, counts, strict=True)
        ]
        return found


def refusal(kind: pa.DataType, name: str) -> str | None:
    """Return why no histogram is filled with values of a type, None if some are. ``name``: what they are."""
    try:
        no_text(kind, name)
    except Problem as problem:
        return problem.message
    return None


def no_text(kind: pa.DataType, name: str) -> Items:
    """Return no values of a type with which histograms are filled, or conditions. Raises: Problem for another one.

    name: what they are, for messages: "it" is a cut.
    """
    import pyarrow as pa

    try:
        found = of_arrow(pa.nulls(0, kind))
    except Problem as problem:
        raise Problem(f"{name}: {problem.message}") from None
    if name in ("it", "where"):
        return truth(found)
    if found.kind in ("text", "record"):
        is_axis = found.kind == "text" and name in ("x", "y", "z")
        line = "; an axis of texts is hist.axis.StrCategory([], growth=True)" if is_axis else ""
        raise Problem(f"{name} is a {found.kind}, and histograms are filled with numbers{line}")
    return found


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of a type are texts, or lists of texts, with which axes of texts are filled."""
    return holds_texts(kind)


def _text(kind: pa.DataType, name: str) -> Items:
    """Return no values of a type of texts. Raises: Problem for another one. ``name``: as of :func:`no_text`."""
    import pyarrow as pa

    found = of_arrow(pa.nulls(0, kind))
    if found.kind != "text":
        raise Problem(f"{name} is no text, and its axis is of texts: write (n, low, high) for one of numbers")
    return found


class _Samples(NamedTuple):
    """The samples of a batch, and the number among them of that of each entry."""

    names: list[str]
    codes: npt.NDArray[np.integer[Any]]

    @classmethod
    def of(cls, column: pa.Array) -> _Samples:
        """Return the samples in a column of them."""
        return cls(column.dictionary.to_pylist(), column.indices.to_numpy())

    def masks(self, rows: Any) -> Iterator[tuple[str, Any]]:
        """Yield each sample that is there, and what of ``rows`` is of it, an index of arrays. ``rows``: of items."""
        codes = self.codes[rows]
        present = np.flatnonzero(np.bincount(codes))
        for code in present:
            yield self.names[code], slice(None) if len(present) == 1 else codes == code


def _arrays(
    parts: Mapping[str, Items], n_entries: int, mask: Mask | None, samples: _Samples | None
) -> list[tuple[list[str], list[npt.NDArray[np.float64]]]]:
    """Return the values item by item, of the entries in a mask, that are not null; by sample if there are some.

    parts: the values by what they are of; those for which "where" holds are returned, and not that itself.

    Raises: Problem.
    """
    of_items = {name: truth(part) if name == "where" else part for name, part in parts.items()}
    try:
        return _item_by_item(of_items, n_entries, mask, samples)
    except Problem:
        where = of_items.get("where")
        conditions = [] if mask is None else [mask]
        if where is not None and not where.levels and not where.is_constant:
            conditions.append(where.data if where.valid is None else where.data & where.valid)
        keeps = _all_of(conditions)
        if keeps is None:
            raise
        # Lists that do not go along with each other may be those of entries that are not filled.
        chosen = np.flatnonzero(keeps)
        samples = None if samples is None else samples._replace(codes=samples.codes[chosen])
        narrowed = {name: chosen_entries(part, chosen) for name, part in of_items.items()}
        try:
            return _item_by_item(narrowed, len(chosen), None, samples)
        except Problem as problem:
            row = None if problem.row is None else int(chosen[problem.row])
            raise Problem(problem.message, row) from None


def _item_by_item(
    parts: Mapping[str, Items], n_entries: int, mask: Mask | None, samples: _Samples | None
) -> list[tuple[list[str], list[npt.NDArray[np.float64]]]]:
    """See :func:`_arrays`. Raises: Problem if lists differ in length in any entry."""
    of_items = list(parts.values())
    rows: Any = slice(None)
    if any(part.levels for part in of_items):
        # The number of the entry goes along with each item: the cut and the sample are of entries.
        (*data, rows), valid, _ = aligned([*of_items, Items(np.arange(n_entries))])
    else:
        data, valid, _ = aligned(of_items)
    n_items = n_entries if isinstance(rows, slice) else len(rows)
    by_name = {name: np.broadcast_to(one, (n_items,)) for name, one in zip(parts, data, strict=True)}
    conditions = [None if mask is None else mask[rows], valid, by_name.pop("where", None)]
    keeps = _all_of([one for one in conditions if one is not None])
    data = list(by_name.values())
    if keeps is not None:
        keeps = np.broadcast_to(keeps, (n_items,))
        data = [one[keeps] for one in data]
    arrays = [one.astype(np.float64, copy=False) for one in data]
    if samples is None:
        return [([], arrays)]
    if keeps is not None:
        rows = np.flatnonzero(keeps) if isinstance(rows, slice) else rows[keeps]
    return [([name], [one[of_it] for one in arrays]) for name, of_it in samples.masks(rows)]


def _whole(values: npt.NDArray[np.float64], axis: Any) -> npt.NDArray[np.int64]:
    """Return numbers as an axis of whole numbers takes them; what is no number is above all.

    boost-histogram subtracts the first number of the axis from each, as integers of 32 bits, which wrap. So what is
    outside of the axis is just outside of it here.
    """
    limits = np.iinfo(np.int32)
    low, high = limits.min, limits.max
    whole = np.floor(values)
    if axis.traits.ordered and not axis.traits.growth:
        first, end = int(axis.edges[0]), int(axis.edges[-1])
        if axis.traits.circular:
            whole = first + np.mod(whole - first, end - first)
        else:
            low, high = max(low, first - 1), min(high, end)
    return np.where(np.isnan(whole), high, np.clip(whole, low, high)).astype(np.int64)


def _all_of(conditions: list[Mask]) -> Mask | None:
    """Return where all conditions hold; None if there are none."""
    return np.asarray(functools.reduce(operator.and_, conditions)) if conditions else None


def _value(text: str, batch: pa.RecordBatch, values: dict[str, Items]) -> Items:
    if text not in values:
        values[text] = of_arrow(batch.column(f"({text})"))
    return values[text]


def _fill(histogram: Any, front: list[str], given: dict[str, npt.NDArray[Any]]) -> None:
    weight, mean = given.pop("weight", None), given.pop("mean", None)
    if mean is not None:
        weight = np.ones(len(mean)) if weight is None else weight
        for number in range(N_SUMS):
            histogram.fill(*front, *given.values(), number, weight=weight * mean**number)
    else:
        histogram.fill(*front, *given.values(), **({} if weight is None else {"weight": weight}))
