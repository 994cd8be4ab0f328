"""Profiles: TProfile, TProfile2D and TProfile3D."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from arrowroot._errors import InvalidRequestError, UnsupportedError
from arrowroot._objects.histogram import Histogram, effective

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._objects.axis import Axis

#: Meanings of the errors of a profile, as letters of its options, by the number stored (``fErrorMode``).
ERROR_MODES = ("", "s", "i", "g")


class _Sums(NamedTuple):
    """Sums stored for each bin, over weights w and profiled values y."""

    w: npt.NDArray[np.float64]
    wy: npt.NDArray[np.float64]
    wyy: npt.NDArray[np.float64]
    #: Effective number of entries.
    n: npt.NDArray[np.float64]


class Profile(Histogram):
    """A profile: the mean of a quantity in each bin.

    ``values()`` are the means, ``counts()`` the effective numbers of entries.

        >>> profile = objects["profile"]
        >>> profile.values(), profile.errors(), profile.error_mode
        (array([4., 7.]), array([...]), '')
    """

    kind = "MEAN"

    @property
    def error_mode(self) -> str:
        """What the errors mean: "" of the mean, "s" the spread, "i" for integer values, "g" from Gaussian weights."""
        mode = self.integer_of("fErrorMode")
        return ERROR_MODES[mode] if 0 <= mode < len(ERROR_MODES) else ""

    def _with_limits(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return axes  # the buffer of a profile has other columns

    @property
    def is_weighted(self) -> bool:
        """Whether the sum of squares of weights is stored for each bin."""
        return "fBinSumw2" in self._as_root and len(self.array_of("fBinSumw2")) > 0

    def values(self, *, flow: bool = False) -> npt.NDArray[np.float64]:
        """Return the mean in each bin, 0 where there are no entries, as ROOT's ``GetBinContent``.

        flow: with what is below and above the range.
        """
        sums = self._sums()
        return self._cut(_ratio(sums.wy, sums.w), flow)

    def variances(self, *, flow: bool = False) -> npt.NDArray[np.float64]:
        """Return the squares of the errors; ``flow``: as for :meth:`values`."""
        return self.errors(flow=flow) ** 2

    def errors(self, *, flow: bool = False, mode: str | None = None) -> npt.NDArray[np.float64]:
        """Return the errors, as ROOT's ``GetBinError``: 0 where there are no entries, NaN of negative sums of weights.

        flow: as for :meth:`values`.
        mode: see ``error_mode``, which is used if it is not given.
        """
        import numpy as np

        mode = self.error_mode if mode is None else mode
        if mode not in ERROR_MODES:
            raise InvalidRequestError(f"mode={mode!r}: expected one of {', '.join(map(repr, ERROR_MODES))}")
        sums = self._sums()
        spread = np.sqrt(np.abs(_ratio(sums.wyy, sums.w) - _ratio(sums.wy, sums.w) ** 2))
        # A negative number has no root: NaN, as in ROOT.
        with np.errstate(invalid="ignore"):
            if mode == "s":
                errors = spread
            elif mode == "g":
                errors = _ratio(np.ones_like(sums.w), np.sqrt(sums.w))
            else:
                root = np.sqrt(sums.n)
                errors = _ratio(spread, root)
                if mode == "i":
                    errors = np.where(spread != 0, errors, _ratio(np.ones_like(root), np.sqrt(12 * sums.n)))
        return self._cut(np.where(sums.w == 0, 0, errors), flow)

    def counts(self, *, flow: bool = False) -> npt.NDArray[np.float64]:
        """Return the effective number of entries of each bin; ``flow``: as for :meth:`values`."""
        return self._cut(self._sums().n, flow)

    def _buffered(self) -> NoReturn:
        raise UnsupportedError(
            f"{self.class_name} {self.name!r}: its last {self._n_buffered()} entries wait in a buffer "
            "(member fBuffer); call p.BufferEmpty() in ROOT before writing to have them in bins"
        )

    def _weights_of_bins(self) -> npt.NDArray[np.float64]:
        return self._cut(self._sums().w, flow=True)

    def _sums(self) -> _Sums:
        if self._n_buffered():
            self._buffered()
        weights = self._stored("fBinEntries")
        n = effective(weights, self._stored("fBinSumw2")) if self.is_weighted else weights
        return _Sums(weights, self._stored("fArray"), self._stored("fSumw2"), n)

    def _storage(self, storages: Any) -> Any:
        return storages.WeightedMean() if self.is_weighted else storages.Mean()

    def _filled_places(self, number: int) -> npt.NDArray[np.intp]:
        import numpy as np

        others = tuple(other for other in range(self.n_dimensions) if other != number)
        return np.flatnonzero((self._cut(self._sums().w, flow=True) != 0).any(axis=others))

    def _fill_view(self, view: Any, indices: Sequence[npt.NDArray[np.intp]]) -> None:
        import numpy as np

        chosen = np.ix_(*indices)
        sums = _Sums(*(self._cut(array, flow=True)[chosen] for array in self._sums()))
        squares = self._cut(self._stored("fBinSumw2"), flow=True)[chosen] if self.is_weighted else None
        fill_means(view, (sums.w, sums.wy, sums.wyy), squares)


def fill_means(
    view: Any, sums: Sequence[npt.NDArray[np.float64]], squares: npt.NDArray[np.float64] | None
) -> None:
    """Give the means of bins to a view of boost-histogram's.

    sums: of weights w, of w*y and of w*y*y; squares: sums of squares of weights, None if there are no weights.
    """
    w, wy, wyy = sums
    mean = _ratio(wy, w)
    if squares is not None:
        view["sum_of_weights"] = w
        view["sum_of_weights_squared"] = squares
        view["_sum_of_weighted_deltas_squared"] = wyy - wy * mean
    else:
        view["count"] = w
        view["_sum_of_deltas_squared"] = wyy - wy * mean
    view["value"] = mean


def _ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the quotient, and 0 where the divisor is 0."""
    import numpy as np

    result = np.zeros(below.shape, np.float64)
    np.divide(above, below, out=result, where=below != 0)
    return result
