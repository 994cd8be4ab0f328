"""Histograms filled from the batches of one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrowroot._errors import InvalidRequestError
from arrowroot._expressions.lists import Items, Problem, aligned, of_arrow, truth
from arrowroot._histograms.wanted import N_SUMS, Hist
from arrowroot._render import shown
from arrowroot._select.cuts import Cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    Mask = npt.NDArray[np.bool_]


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
        self, wanted: Mapping[str, Hist], cuts: Mapping[str, str], samples: Sequence[str] | None
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
        for name, one in wanted.items():
            if one.cut is not None and one.cut not in cuts:
                raise InvalidRequestError(
                    f"hist: {name}: there is no cut {one.cut!r}; there are {', '.join(map(repr, cuts)) or 'none'}"
                )
        self._wanted = wanted
        self._cuts = cuts
        self._samples = samples
        self.made = Histograms({name: one.made(samples) for name, one in wanted.items()})
        self.made.cuts = [Cut("all", 0), *(Cut(name, 0) for name in cuts)]

    @property
    def expressions(self) -> list[str]:
        """The expressions that are needed, each once, in parentheses: so none is a glob."""
        texts = [text for one in self._wanted.values() for _, fill in one.fills() for text in fill.values()]
        return list(dict.fromkeys(f"({text})" for text in [*texts, *self._cuts.values()]))

    def fill(self, batches: Iterable[pa.RecordBatch]) -> Histograms:
        """Fill from batches of the expressions, and of their samples if there are some. Raises: InvalidRequestError."""
        for batch in batches:
            values: dict[str, Items] = {}
            passed = self._passed(batch, values)
            samples = None if self._samples is None else batch.column("sample").dictionary_decode()
            for name, wanted in self._wanted.items():
                mask = passed[wanted.cut] if wanted.cut is not None else None
                self._fill_one(name, batch, values, mask, samples)
        self.made.update({name: wanted.finished(self.made[name]) for name, wanted in self._wanted.items()})
        return self.made

    def _passed(self, batch: pa.RecordBatch, values: dict[str, Items]) -> dict[str, Mask]:
        """Return which entries pass each cut and all before it, and count them."""
        left = np.ones(batch.num_rows, dtype=np.bool_)
        found: dict[str, Mask] = {}
        counts = [batch.num_rows]
        for name, text in self._cuts.items():
            value = truth(_value(text, batch, values))
            if value.levels:
                raise InvalidRequestError(
                    f"hist: cut {name!r} is a list for each entry: say any(...), all(...)"
                )
            left = left & (value.data if value.valid is None else value.data & value.valid)
            found[name] = left
            counts.append(int(np.count_nonzero(left)))
        self.made.cuts = [
            cut.plus(Cut("", n))._replace(sum_of_weights=None)
            for cut, n in zip(self.made.cuts, counts, strict=True)
        ]
        return found

    def _fill_one(
        self, name: str, batch: pa.RecordBatch, values: dict[str, Items], mask: Mask | None, samples: Any
    ) -> None:
        wanted = self._wanted[name]
        for variation, expressions in wanted.fills():
            parts = [_value(text, batch, values) for text in expressions.values()]
            # The number of the entry goes along with each item: the cut and the sample are of entries.
            rows = Items(np.arange(batch.num_rows))
            try:
                (*data, row), valid, _ = aligned([*parts, rows])
            except Problem as problem:
                raise InvalidRequestError(f"hist: {name}: {problem.message}") from None
            keeps = mask[row] if mask is not None else None
            if valid is not None:
                keeps = valid if keeps is None else keeps & valid
            if keeps is not None:
                data, row = [np.broadcast_to(one, row.shape)[keeps] for one in data], row[keeps]
            given = dict(zip(expressions, data, strict=True))
            front: list[Any] = []
            if samples is not None:
                self._fill_by_sample(name, variation, given, row, samples)
                continue
            if wanted.variations:
                front.append(variation)
            _fill(self.made[name], front, given)

    def _fill_by_sample(
        self, name: str, variation: str, given: dict[str, Any], row: npt.NDArray[np.int64], samples: Any
    ) -> None:
        texts = np.array(samples.to_pylist(), dtype=object)[row]
        for sample in dict.fromkeys(texts.tolist()):
            is_it = texts == sample
            front = [sample, *([variation] if self._wanted[name].variations else [])]
            _fill(
                self.made[name],
                front,
                {one: np.broadcast_to(data, is_it.shape)[is_it] for one, data in given.items()},
            )


def _value(text: str, batch: pa.RecordBatch, values: dict[str, Items]) -> Items:
    if text not in values:
        values[text] = of_arrow(batch.column(f"({text})"))
    return values[text]


def _fill(histogram: Any, front: list[str], given: dict[str, Any]) -> None:
    arrays = {name: np.asarray(data, dtype=np.float64) for name, data in given.items()}
    n = max((len(one) for one in arrays.values() if one.ndim), default=0)
    if n == 0:
        return
    arrays = {name: np.broadcast_to(one, (n,)) for name, one in arrays.items()}
    weight, mean = arrays.pop("weight", None), arrays.pop("mean", None)
    if mean is not None:
        weight = np.ones(n) if weight is None else weight
        for number in range(N_SUMS):
            histogram.fill(*front, *arrays.values(), number, weight=weight * mean**number)
    else:
        histogram.fill(*front, *arrays.values(), **({} if weight is None else {"weight": weight}))
