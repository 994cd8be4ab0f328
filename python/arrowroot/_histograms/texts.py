"""Axes of texts, which are filled by the numbers of their bins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arrowroot._errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._expressions.lists import Items

#: So many texts may have bins on an axis that grows, and so many bins a histogram that has one.
MAX_TEXTS = 1_000_000
MAX_BINS = 100_000_000
_CHOOSE = ': choose those that are wanted, hist.axis.StrCategory(["a", "b"])'


def decoded(texts: pa.Array) -> list[str]:
    """Return texts as text, with U+FFFD for what is not UTF-8."""
    return [one if isinstance(one, str) else one.decode(errors="replace") for one in texts.to_pylist()]


def encoded(parts: dict[str, Items], name: str) -> list[str]:
    """Have numbers in the place of texts, those of the texts that are returned. ``parts``: values by their names."""
    of = parts[name]
    found = of.data.dictionary_encode()
    parts[name] = of._replace(data=found.indices.to_numpy().astype(np.int64))
    return decoded(found.dictionary)


class _Bins:
    """The numbers of the bins of an axis of texts; one that grows has more of them with each new text."""

    def __init__(self, axis: Any) -> None:
        self._axis = axis
        self._numbers: dict[str, int] = {}
        for number, text in enumerate(axis):
            self._numbers.setdefault(text, number)
        self._n_bins = axis.size
        self.grows = axis.traits.growth

    def numbers_of(self, texts: list[str], codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of the bin of each code, which is that of a text.

        Raises: InvalidRequestError for more texts than may have bins.
        """
        numbers = np.zeros(len(texts), dtype=np.int64)
        # A text that no item has, by a condition, gets no bin.
        for code in np.flatnonzero(np.bincount(codes, minlength=len(texts))):
            found = self._numbers.get(texts[code])
            if found is None and self.grows:
                found = self._numbers[texts[code]] = self._n_bins
                self._n_bins += 1
            numbers[code] = self._n_bins if found is None else found
        if self.grows and self._n_bins > MAX_TEXTS:
            raise InvalidRequestError(f"more than {MAX_TEXTS:,} different texts{_CHOOSE}")
        return numbers[codes]

    @property
    def n_bins(self) -> int:
        return int(self._n_bins)

    def of_numbers(self, kinds: Any) -> Any:
        """Return an axis with the same bins, by their numbers. ``kinds``: those of ``hist``."""
        if self.grows:
            return kinds.Integer(0, self._n_bins, growth=True)
        return kinds.Integer(0, self._n_bins, underflow=False, overflow=self._axis.traits.overflow)

    def grown(self) -> Any:
        """Return the axis with all texts that have bins."""
        if self._n_bins == self._axis.size:
            return self._axis
        more = list(self._numbers)[self._axis.size - self._n_bins :]
        found = type(self._axis)([*self._axis, *more], growth=True)
        vars(found).update(vars(self._axis))  # its name, its label
        return found


class OfTexts:
    """A histogram with axes of texts that is filled by the numbers of their bins.

    Where boost-histogram is given texts, it looks through all bins for each item, and an array of NumPy has for each
    the place of the longest one.
    """

    def __init__(self, histogram: Any, at: Mapping[str, int]) -> None:
        """``at``: the numbers of the axes of texts, by their coordinates."""
        from hist import axis as kinds

        self._empty = histogram
        self._at = at
        self._bins = {name: _Bins(histogram.axes[number]) for name, number in at.items()}
        axes = list(histogram.axes)
        for name, number in at.items():
            axes[number] = self._bins[name].of_numbers(kinds)
        self.filled = type(histogram)(*axes, storage=histogram.storage_type())

    def by_numbers(self, given: dict[str, Any], texts: Mapping[str, list[str]]) -> None:
        """Have the numbers of bins in the place of those of texts. ``given``: arrays by their coordinates.

        Raises: InvalidRequestError for more texts, and more bins, than there may be.
        """
        for name, bins in self._bins.items():
            given[name] = bins.numbers_of(texts[name], given[name].astype(np.int64))
        if any(bins.grows for bins in self._bins.values()):
            extents = list(self.filled.axes.extent)
            for name, number in self._at.items():
                extents[number] = max(extents[number], self._bins[name].n_bins)
            if math.prod(extents) > MAX_BINS:
                raise InvalidRequestError(
                    f"{' times '.join(f'{one:,}' for one in extents)} bins are more than {MAX_BINS:,}{_CHOOSE}"
                )

    def finished(self) -> Any:
        """Return the histogram with its texts."""
        axes = list(self.filled.axes)
        for name, number in self._at.items():
            axes[number] = self._bins[name].grown()
        found = type(self._empty)(*axes, storage=self._empty.storage_type())
        found.view(flow=True)[...] = self.filled.view(flow=True)
        return found
