"""Histograms whose bins are polygons: TH2Poly and TProfile2Poly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from arrowroot._errors import CorruptFileError, UnsupportedError
from arrowroot._objects.axis import Axis
from arrowroot._objects.collections import ObjectList
from arrowroot._objects.graph import Graph
from arrowroot._objects.histogram import effective, entries_text
from arrowroot._objects.profile import ERROR_MODES
from arrowroot._objects.record import Record, WithContent
from arrowroot._objects.simple import Named
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

_Kind = TypeVar("_Kind")

#: Regions beside the polygons: eight around the range, and the rest of it. Source: ``TH2Poly::kNOverflow``.
_N_OUTSIDE = 9


class PolyHistogram(WithContent, Named):
    """A histogram of two dimensions whose bins are polygons: a ``TH2Poly``.

    Arrays have one value for each bin, by its number in ROOT; the first of these is 1. It is no histogram of UHI, hist
    or boost-histogram, where bins are between edges, and has therefore no ``axes``.

    ``values()`` are those of its bins; it is therefore no mapping of its members, which ``members`` is.

        >>> poly = objects["poly"]
        >>> poly.num_bins, poly.values(), poly.errors(), poly.outside().sum()
        (2, array([1., 2.]), array([1.        , 1.41421356]), ...1.0...)
        >>> counts, corners = poly.to_numpy()
        >>> poly.to_hist()
        Traceback (most recent call last):
        arrowroot.UnsupportedError: TH2Poly 'poly': its bins are polygons, ...
    """

    kind = "COUNT"

    @property
    def _called(self) -> str:
        return f"{self.class_name} {self.name!r}"

    @property
    def bins(self) -> list[Record]:
        """The bins with all their members, in order."""
        found = self._root_member("fBins")
        # A histogram without bins has no list.
        return [] if found is None else _checked(_items(found), Record, f"{self._called}: a bin")

    @property
    def num_bins(self) -> int:
        """Number of bins."""
        return len(self.bins)

    @property
    def polygons(self) -> list[list[npt.NDArray[np.float64]]]:
        """The polygons of each bin, mostly one; each is an array of its corners, shape (n_corners, 2).

        The last corner is not always the first one again.
        """
        return [[_corners(graph) for graph in self._graphs(part)] for part in self.bins]

    def _graphs(self, part: Record) -> list[Graph]:
        shape = part.get("fPoly")
        if isinstance(shape, Record) and shape.is_a("TMultiGraph"):
            shape = shape.get("fGraphs")
        return _checked(_items(shape), Graph, f"{self._called}: a polygon")

    def axis(self, index: int | str = 0) -> Axis:
        """Return the axis of x (0, "x") or y (1, "y"), for range and title: its bins are not those of the histogram."""
        name = ("fXaxis", "fYaxis")["xy".index(index) if isinstance(index, str) else index]
        (found,) = _checked([self._root_member(name)], Record, f"{self._called}: an axis")
        return Axis(found)

    @property
    def num_entries(self) -> float:
        """Number of times it was filled, as ROOT counted."""
        return float(self.number_of("fEntries"))

    @property
    def is_weighted(self) -> bool:
        """Whether the sum of squares of weights is stored for each bin (``Sumw2``)."""
        return len(self.array_of("fSumw2")) > 0

    def values(self) -> npt.NDArray[np.float64]:
        """Return the contents of the bins, shape (n_bins,)."""
        return _numbers(self.bins, "fContent")

    def variances(self) -> npt.NDArray[np.float64]:
        """Return the squares of the errors: sums of squares of weights, or |contents| where they are not stored."""
        import numpy as np

        if not self.is_weighted:
            return np.abs(self.values())
        squares, n_bins = self.array_of("fSumw2"), self.num_bins
        # The regions outside come first. Source: TH2Poly::GetBinError (ROOT 6.40).
        if len(squares) != _N_OUTSIDE + n_bins:
            raise CorruptFileError(
                f"{self._called}: fSumw2 has {len(squares)} values for {n_bins} bins and "
                f"{_N_OUTSIDE} regions outside"
            )
        return squares[_N_OUTSIDE:].astype(np.float64)

    def errors(self) -> npt.NDArray[np.float64]:
        """Return the errors, as ROOT's ``GetBinError``."""
        import numpy as np

        return np.sqrt(self.variances())

    def counts(self) -> npt.NDArray[np.float64]:
        """Return the effective number of entries of each bin: contents² / variances, 0 where there are none."""
        return effective(self.values(), self.variances())

    def outside(self) -> npt.NDArray[np.float64]:
        """Return the contents of the regions outside the bins, shape (3, 3).

        The first index goes from below the range in x over inside to above it, the second one does so in y; in the
        middle is what is inside of both ranges and in no polygon.
        """
        return self._arranged(self.array_of("fOverflow"))

    def _arranged(self, regions: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return regions in our order; ROOT has the rows from above to below."""
        import numpy as np

        if len(regions) != _N_OUTSIDE:
            raise CorruptFileError(
                f"{self._called}: contents of {len(regions)} regions outside of its bins, not of {_N_OUTSIDE}"
            )
        return np.ascontiguousarray(regions.astype(np.float64).reshape(3, 3)[::-1].T)

    def to_numpy(self) -> tuple[npt.NDArray[np.float64], list[list[npt.NDArray[np.float64]]]]:
        """Return (values, polygons)."""
        return self.values(), self.polygons

    def to_boost(self) -> Any:
        """Raise UnsupportedError: no axes have these bins."""
        raise UnsupportedError(
            f"{self._called}: its bins are polygons, and no axes of hist and boost-histogram have "
            "such; values(), errors() and polygons have what is in it"
        )

    to_hist = _to_boost_histogram_ = to_boost

    def summary(self) -> str:
        """Return bins, ranges and entries on one line."""
        ranges = " x ".join(f"[{axis.low:g}, {axis.high:g})" for axis in map(self.axis, "xy"))
        return f"{counted(self.num_bins, 'polygon')} in {ranges}, {entries_text(self.num_entries)}"

    def __repr__(self) -> str:
        return self._repr_with_own()


class PolyProfile(PolyHistogram):
    """A profile whose bins are polygons: a ``TProfile2Poly``. ``values()`` are the means in the bins.

    >>> profile = objects["polyprofile"]
    >>> profile.values(), profile.errors(), profile.counts()
    (array([3., 7.]), array([...]), array([1., 1.]))
    """

    kind = "MEAN"

    @property
    def error_mode(self) -> str:
        """What the errors mean: see :attr:`Profile.error_mode`."""
        mode = self.integer_of("fErrorMode")
        return ERROR_MODES[mode] if 0 <= mode < len(ERROR_MODES) else ""

    @property
    def is_weighted(self) -> bool:
        """Whether the sum of squares of weights is stored for each bin: it always is."""
        return True

    def values(self) -> npt.NDArray[np.float64]:
        """Return the mean in each bin, 0 where there are no entries."""
        return _numbers(self.bins, "fAverage")

    def variances(self) -> npt.NDArray[np.float64]:
        """Return the squares of the errors."""
        return self.errors() ** 2

    def errors(self) -> npt.NDArray[np.float64]:
        """Return the errors, as ROOT's ``GetBinError``; 0 where there are no entries, where ROOT may have NaN."""
        import numpy as np

        # What they mean is in them already, but for the spread they are divided.
        errors = _numbers(self.bins, "fError")
        if self.error_mode == "s":
            return errors
        counts = self.counts()
        return np.divide(errors, np.sqrt(counts), out=np.zeros_like(errors), where=counts > 0)

    def counts(self) -> npt.NDArray[np.float64]:
        """Return the effective number of entries of each bin."""
        bins = self.bins
        return effective(_numbers(bins, "fSumw"), _numbers(bins, "fSumw2"))

    def outside(self) -> npt.NDArray[np.float64]:
        """Return the means of the regions outside the bins: see :meth:`PolyHistogram.outside`."""
        found = _items(self._member("fOverflowBins"))
        regions = _checked(found, Record, f"{self._called}: a region outside of its bins")
        return self._arranged(_numbers(regions, "fAverage"))


def _items(value: Any) -> list[Any]:
    """Return the objects of a list of any kind; none if it is no list."""
    if isinstance(value, ObjectList):
        return list(value.objects)
    return value if isinstance(value, list) else [value]


def _checked(items: Iterable[Any], kind: type[_Kind], what: str) -> list[_Kind]:
    """Return objects that must be of a class."""
    found = list(items)
    if not all(isinstance(item, kind) for item in found):
        raise CorruptFileError(f"{what} is no {kind.__name__}")
    return found


def _numbers(records: Iterable[Record], name: str) -> npt.NDArray[np.float64]:
    import numpy as np

    return np.array([record.number_of(name) for record in records], np.float64)


def _corners(graph: Graph) -> npt.NDArray[np.float64]:
    import numpy as np

    return np.stack([graph.x, graph.y], axis=1)
