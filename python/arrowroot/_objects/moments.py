"""Means and standard deviations of histograms, as ROOT has them.

Source: ``GetStats``, ``GetMean`` and ``GetStdDev`` of TH1, TH2, TH3 and the profiles (ROOT 6.40).
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._objects.axis import Axis

#: The members with the sum of w*x, and of w*x*x, for each axis.
STORED = (("fTsumwx", "fTsumwx2"), ("fTsumwy", "fTsumwy2"), ("fTsumwz", "fTsumwz2"))
#: ``fStatOverflows`` of histograms whose sums have what is below and above the range. Source: ``TH1::kConsider``.
COUNTS_ALL = 1
#: Bit of ``fBits`` of an axis of which a range is chosen: ``fFirst`` to ``fLast``. Source: ``TAxis::kAxisRange``.
_HAS_RANGE = 1 << 11


class Sums(NamedTuple):
    """Sums over weights w and values x."""

    w: float
    wx: float
    wxx: float

    @property
    def mean(self) -> float:
        """The mean; 0 if the weights sum up to 0."""
        return self.wx / self.w if self.w else 0.0

    @property
    def std(self) -> float:
        """The standard deviation; 0 where negative weights leave none."""
        return sqrt(max(0.0, self.wxx / self.w - self.mean**2)) if self.w else 0.0


def of_values(weights: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> Sums:
    """Return the sums over values."""
    weighted = weights * values
    return Sums(float(weights.sum()), float(weighted.sum()), float((weighted * values).sum()))


def has_chosen(axis: Axis) -> bool:
    """Return whether a range of an axis is chosen (``SetRange``)."""
    return bool(axis.record.integer_of("fBits") & _HAS_RANGE)


def of_bins(
    contents: npt.NDArray[np.float64], axes: Sequence[Axis], number: int, *, counts_all: bool
) -> Sums:
    """Return the sums over the centers of bins: of the ranges that are chosen, else of all but those of flow.

    contents: with the bins of flow. number: of the axis. counts_all: those of flow count, where no range is chosen.
    """
    chosen = tuple(_chosen(axis, counts_all=counts_all) for axis in axes)
    others = tuple(other for other in range(len(axes)) if other != number)
    weights = contents[chosen].sum(axis=others)
    axis = axes[number]
    if axis.labels and axis.can_extend:
        # The places of labels mean nothing.
        return Sums(float(weights.sum()), 0.0, 0.0)
    return of_values(weights, _centers(axis)[chosen[number]])


def _chosen(axis: Axis, *, counts_all: bool) -> slice:
    """Return the bins that count, where 0 is the one below the range."""
    if has_chosen(axis):
        return slice(axis.record.integer_of("fFirst"), axis.record.integer_of("fLast") + 1)
    return slice(None) if counts_all else slice(1, -1)


def _centers(axis: Axis) -> npt.NDArray[np.float64]:
    """Return the centers of all bins. Those of flow are as wide as bins of one width would be."""
    import numpy as np

    half = (axis.high - axis.low) / axis.n_bins / 2
    return np.concatenate([[axis.low - half], axis.centers, [axis.high + half]])
