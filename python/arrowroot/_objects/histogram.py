"""Histograms: TH1, TH2 and TH3 of all number types."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

from arrowroot._errors import (
    CorruptFileError,
    InvalidRequestError,
    NotFoundError,
    UnsupportedError,
    WrongTypeError,
    missing_library,
)
from arrowroot._objects.axis import Axis
from arrowroot._objects.boost_axes import boost_axis
from arrowroot._objects.limits import good_limits
from arrowroot._objects.moments import COUNTS_ALL, STORED, Sums, has_chosen, of_bins, of_values
from arrowroot._objects.record import Record, WithContent
from arrowroot._objects.simple import Named
from arrowroot._render import printable, shown
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

_AXES = ("fXaxis", "fYaxis", "fZaxis")
#: Bit of ``fBits``: limits are to be powers of two. Source: ``TH1::kAutoBinPTwo`` (ROOT 6.40).
_POWERS_OF_TWO = 1 << 20


class Histogram(WithContent, Named):
    """A histogram of one, two or three dimensions.

    It follows the ``PlottableHistogram`` protocol of UHI, so that mplhep and others draw it. Arrays have one
    dimension for each axis, x first; with ``flow=True`` they have the bins below and above the range, too.

    ``values()`` are those of its bins; it is therefore no mapping of its members, which ``members`` is.

        >>> hist = file["plots/h_met"]
        >>> hist.values(), hist.axis(0).edges()
        (array([50., 50.]), array([ 0., 25., 50.]))
    """

    kind = "COUNT"

    @property
    def n_dimensions(self) -> int:
        """Number of axes: 1, 2 or 3."""
        n_dimensions = self._root_member("fDimension")
        if n_dimensions is None:
            n_dimensions = self._dimension_of_class()
        if n_dimensions not in (1, 2, 3):
            raise CorruptFileError(f"{self.class_name} {self.name!r} of {n_dimensions} dimensions")
        return int(n_dimensions)

    def _dimension_of_class(self) -> int:
        classes = (self.class_name, *self.bases)
        return next((n for n in (3, 2) if f"TH{n}" in classes), 1)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes: x, then y and z if it has them.

        Where entries still wait for limits to be found they are those that ROOT finds when it is asked for contents.

        Raises: CorruptFileError if there are more bins than contents.
        """
        found = [self._root_member(name) for name in _AXES[: self.n_dimensions]]
        if not all(isinstance(axis, Record) for axis in found):
            raise CorruptFileError(f"{self.class_name} {self.name!r} without an axis")
        axes = tuple(Axis(axis) for axis in found)
        n_bins, n_stored = _n_cells([axis.n_bins for axis in axes]), len(self.array_of("fArray"))
        if n_bins > n_stored:
            raise CorruptFileError(
                f"{self.class_name} {self.name!r}: fArray has {n_stored} values for {n_bins} bins"
            )
        return self._with_limits(axes)

    def _with_limits(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """Give axes without a range that which ``TH1::BufferEmpty`` finds, if it looks in the way known here."""
        import numpy as np

        if not self._n_buffered() or all(axis.has_range for axis in axes):
            return axes
        in_other_ways = self.integer_of("fBits") & _POWERS_OF_TWO or any(
            axis.is_integer or axis.labels for axis in axes
        )
        columns = [values[np.isfinite(values)] for values in self._buffered().T[1:]]
        # In one dimension ROOT passes over values that are not finite; in more it computes with them.
        least = 1 if len(axes) == 1 else self._n_buffered()
        if in_other_ways or any(len(values) < least for values in columns):
            return axes
        return tuple(
            axis
            if axis.has_range
            else Axis(axis.record, good_limits(float(values.min()), float(values.max()), axis.n_bins))
            for axis, values in zip(axes, columns, strict=True)
        )

    def _buffered(self) -> npt.NDArray[np.float64]:
        """Return the weight and the coordinates of the entries in the buffer, a row for each."""
        n_entries, n_columns = self._n_buffered(), self.n_dimensions + 1
        stored = self.array_of("fBuffer")[1 : 1 + n_entries * n_columns]
        if len(stored) != n_entries * n_columns:
            raise CorruptFileError(
                f"{self.class_name} {self.name!r}: {n_entries} entries in a smaller buffer"
            )
        return stored.reshape(n_entries, n_columns)

    def axis(self, index: int | str = 0) -> Axis:
        """Return an axis by its number, or as "x", "y" or "z"."""
        return self.axes["xyz".index(index) if isinstance(index, str) else index]

    @property
    def num_entries(self) -> float:
        """Number of times it was filled, as ROOT counted."""
        return float(self.number_of("fEntries")) + self._n_buffered()

    @property
    def is_weighted(self) -> bool:
        """Whether the sum of squares of weights is stored for each bin (``Sumw2``)."""
        return len(self.array_of("fSumw2")) > 0

    @property
    def functions(self) -> list[Any]:
        """Objects attached to it, such as fitted functions and the statistics box."""
        found = self._root_member("fFunctions")
        return list(found) if isinstance(found, Record) else []

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Numbers of bins, without those below and above the ranges."""
        found = [self._root_member(axis, "fNbins") for axis in _AXES[: self.n_dimensions]]
        # The axes know what is wrong with others.
        is_right = all(isinstance(n_bins, int) and n_bins > 0 for n_bins in found)
        return tuple(found if is_right else (axis.n_bins for axis in self.axes))

    def values(self, *, flow: bool = False) -> npt.NDArray[Any]:
        """Return the contents of the bins, in the type they are stored in; shape: bins of each axis.

        flow: with what is below and above the range.
        """
        # Files have thousands of histograms, and nothing else of most is asked for.
        put_off = self._unread
        found = put_off[0].bins(put_off[1], flow) if put_off is not None else None
        if found is not None:
            contents, sizes = found
            return contents if len(sizes) == 1 else _cut(contents, sizes, flow=flow)
        return self._cut(self._filled()[0] if self._n_buffered() else self._stored("fArray"), flow)

    def variances(self, *, flow: bool = False) -> npt.NDArray[np.float64]:
        """Return the squares of the errors: sums of squares of weights, or |contents| where they are not stored.

        flow: as for :meth:`values`.

            >>> hist.variances(), hist.errors()
            (array([50., 50.]), array([7.07106781, 7.07106781]))
        """
        import numpy as np

        contents, squares = self._filled()
        if squares is None:
            squares = np.abs(contents.astype(np.float64))
        return self._cut(squares, flow)

    def errors(self, *, flow: bool = False) -> npt.NDArray[np.float64]:
        """Return the errors, as ROOT's ``GetBinError``; ``flow``: as for :meth:`values`."""
        import numpy as np

        return np.sqrt(self.variances(flow=flow))

    def counts(self, *, flow: bool = False) -> npt.NDArray[np.float64]:
        """Return the effective number of entries of each bin: contents² / variances, 0 where there are none.

        flow: as for :meth:`values`.

            >>> hist.counts()
            array([50., 50.])
        """
        return effective(self.values(flow=flow), self.variances(flow=flow))

    def mean(self, axis: int | str = 0) -> float:
        """Return the mean along an axis, as ROOT's ``GetMean``: of what was filled, not of the centers of bins.

        That is so unless a range of an axis was chosen, or contents were set and not filled: then centers count.

        axis: its number, or "x", "y" or "z".

            >>> hist.mean()
            25.0
        """
        return self._sums_along(axis).mean

    def std(self, axis: int | str = 0) -> float:
        """Return the standard deviation along an axis, as ROOT's ``GetStdDev``.

        axis: as for :meth:`mean`.

            >>> hist.std()
            12.5
        """
        return self._sums_along(axis).std

    def _sums_along(self, axis: int | str) -> Sums:
        number = self._number_of_axis(axis)
        counts_all = self._root_member("fStatOverflows") == COUNTS_ALL
        if not any(map(has_chosen, self.axes)):
            sums = self._sums_of_buffer(number, counts_all=counts_all)
            if sums is None:
                names = ("fTsumw", *STORED[number])
                sums = Sums(*(float(self.number_of(name)) for name in names))
            if sums.w or not self.num_entries:
                return sums
        return of_bins(self._weights_of_bins(), self.axes, number, counts_all=counts_all)

    def _number_of_axis(self, axis: int | str) -> int:
        names = "xyz"[: self.n_dimensions]
        number = names.find(axis) if isinstance(axis, str) and axis else axis
        if number in range(self.n_dimensions):
            return int(number)
        expected = ", ".join(f'{number} or "{name}"' for number, name in enumerate(names))
        raise InvalidRequestError(
            f"{self.class_name} {self.name!r}: axis: expected {expected}, got {shown(axis)}"
        )

    def _sums_of_buffer(self, number: int, *, counts_all: bool) -> Sums | None:
        """Return the sums over the entries that wait in the buffer, before which nothing counts; None: none does."""
        if not self._n_buffered():
            return None
        entries = self._buffered()
        for coordinate, axis in enumerate([] if counts_all else self.axes):
            found = axis.find(entries[:, 1 + coordinate])
            entries = entries[(found > 0) & (found <= axis.n_bins)]
        return of_values(entries[:, 0], entries[:, 1 + number])

    def _weights_of_bins(self) -> npt.NDArray[np.float64]:
        """Return the sum of weights in each bin, those of flow among them."""
        import numpy as np

        return self.values(flow=True).astype(np.float64)

    def to_numpy(self, *, flow: bool = False, dd: bool = False) -> tuple[Any, ...]:
        """Return values and edges as numpy.histogram, histogram2d and, with ``dd``, histogramdd do.

        (values, edges of x, ...), or with ``dd`` (values, [edges of x, ...]); ``flow``: as for :meth:`values`.

            >>> counts, edges = hist.to_numpy()
        """
        edges = [axis.edges(flow=flow) for axis in self.axes]
        return (self.values(flow=flow), edges) if dd else (self.values(flow=flow), *edges)

    def to_boost(self) -> Any:
        """Return a ``boost_histogram.Histogram`` with the same contents, flow bins included.

        Storage: Weight where squares of weights are stored, Int64 for integers, Double for other numbers. An axis
        whose bins have labels is a category axis; of integers or truth values, or growing, if it was when we wrote it.
        An axis that has no place for something that is stored (an underflow of categories) is a plain one.

        Raises: MissingLibraryError if boost-histogram is not installed.

            >>> hist.to_boost().sum()
            100.0
        """
        try:
            import boost_histogram as bh
        except ImportError:
            raise missing_library("boost-histogram", "to_boost()") from None
        return self._converted(bh.Histogram, bh.axis, bh.storage, lambda _: {})

    def _to_boost_histogram_(self) -> Any:
        """Return what boost-histogram and hist ask an object for: ``hist.Hist(h)`` works."""
        return self.to_boost()

    def to_hist(self) -> Any:
        """Return a ``hist.Hist`` with the same contents, names and titles, flow bins included: see ``to_boost``.

        Raises: MissingLibraryError if hist is not installed.

            >>> hist.to_hist().axes[0].name
            'xaxis'
        """
        try:
            import boost_histogram as bh
            import hist
        except ImportError:
            raise missing_library("hist", "to_hist()") from None
        made = self._converted(
            hist.Hist, hist.axis, bh.storage, lambda axis: {"name": axis.name, "label": axis.title}
        )
        made.name, made.label = self.name, self.title
        return made

    def _converted(self, histogram: Any, axis_module: Any, storages: Any, names: Any) -> Any:
        self.values()  # of a histogram without a range the reason, in our words
        axes, indices = [], []
        for number, axis in enumerate(self.axes):
            made, taken = boost_axis(axis, self._filled_places(number), axis_module, names(axis))
            axes.append(made)
            indices.append(taken)
        result = histogram(*axes, storage=self._storage(storages))
        self._fill_view(result.view(flow=True), indices)
        return result

    def _filled_places(self, number: int) -> npt.NDArray[np.intp]:
        """Return the bins of an axis, those of flow among them, that hold anything."""
        import numpy as np

        holds = (self.values(flow=True) != 0) | (self.variances(flow=True) != 0)
        others = tuple(other for other in range(self.n_dimensions) if other != number)
        return np.flatnonzero(holds.any(axis=others))

    def _storage(self, storages: Any) -> Any:
        if self.is_weighted:
            return storages.Weight()
        is_integer = self.values().dtype.kind in "iu"
        return storages.Int64() if is_integer else storages.Double()

    def _fill_view(self, view: Any, indices: Sequence[npt.NDArray[np.intp]]) -> None:
        """Fill a view of boost-histogram; ``indices``: the bins of each axis that it has, in its order."""
        import numpy as np

        chosen = np.ix_(*indices)
        if self.is_weighted:
            view["value"] = self.values(flow=True)[chosen]
            view["variance"] = self.variances(flow=True)[chosen]
        else:
            view[...] = self.values(flow=True)[chosen]

    def _cut(self, array: npt.NDArray[Any], flow: bool) -> npt.NDArray[Any]:
        return _cut(array, self.shape, flow=flow)

    def _stored(self, name: str) -> npt.NDArray[Any]:
        """Return an array with a value for each bin.

        Raises: CorruptFileError if it has another length.
        """
        array = self.array_of(name)
        n_bins = _n_cells(self.shape)
        if len(array) != n_bins:
            raise CorruptFileError(
                f"{self.class_name} {self.name!r}: {name} has {len(array)} values for {n_bins} bins"
            )
        return array

    def _filled(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        """Return contents and sums of squares of all bins, the entries in the buffer included."""
        contents = self._stored("fArray")
        squares = self._stored("fSumw2") if self.is_weighted else None
        if not self._n_buffered():
            return contents, squares
        return self._with_buffer(contents, squares)

    def _n_buffered(self) -> int:
        """Return the number of entries in the buffer that wait for limits; below 0 if none does."""
        # The first says how long the other is.
        if self._root_member("fBufferSize") == 0 or self._root_member("fBuffer") is None:
            return 0
        if not len(self.array_of("fBuffer")):
            return 0
        n_entries = float(self.array_of("fBuffer")[0])
        return int(n_entries) if 0 < n_entries < float("inf") else 0

    def _with_buffer(
        self, contents: npt.NDArray[Any], squares: npt.NDArray[np.float64] | None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        """Fill the entries of the buffer, as ROOT does when it is asked for contents: ``TH1::BufferEmpty``."""
        import numpy as np

        entries = self._buffered()
        n_entries = len(entries)
        bins = np.zeros(n_entries, np.int64)
        for axis, values in reversed(list(zip(self.axes, entries.T[1:], strict=True))):
            found = axis.find(values) if axis.has_range else np.zeros(n_entries, np.int64)
            is_outside = bool(np.any((found == 0) | (found > axis.n_bins)))
            if not axis.has_range or (axis.can_extend and is_outside):
                raise UnsupportedError(
                    f"{self.class_name} {self.name!r}: its {n_entries} entries wait in a buffer, and its limits "
                    "were to be found from them (automatic binning): they are in member fBuffer, as weight "
                    "and coordinates of each; call h.BufferEmpty() in ROOT before writing to have bins"
                )
            bins = bins * (axis.n_bins + 2) + found
        weights = entries[:, 0]
        if squares is None and np.any(weights != 1):
            squares = np.abs(contents.astype(np.float64))
        is_integer = contents.dtype.kind == "i"
        total = contents + np.bincount(bins, np.trunc(weights) if is_integer else weights, len(contents))
        if is_integer:
            # Integers stay at their limits, as in ROOT.
            limit = np.iinfo(contents.dtype).max
            total = np.clip(total, -limit, limit)
        contents = total.astype(contents.dtype)
        if squares is not None:
            squares = squares + np.bincount(bins, weights**2, len(contents))
        return contents, squares

    def _computed(self, *_: object) -> NoReturn:
        """Raise WrongTypeError: what computes with histograms is the library hist."""
        raise WrongTypeError(
            "histograms are added and scaled by the library hist: write hist.to_hist() + hist.to_hist(), or "
            "2 * hist.to_hist()"
        )

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = _computed

    def _no_key(self, name: object) -> NotFoundError:
        found = super()._no_key(name)
        if not isinstance(name, str):
            found.args = (f"{found}: write hist.values()[{shown(name)}] for bins, hist.members for members",)
        return found

    def summary(self) -> str:
        """Return axes and entries on one line."""
        return f"{' x '.join(axis.summary() for axis in self.axes)}, {entries_text(self.num_entries)}"

    def _repr_html_(self) -> str:
        from arrowroot._objects.picture import of_histogram

        return with_picture(self, of_histogram(self))

    def __repr__(self) -> str:
        return self._repr_with_own(*(f"  {axis!r}" for axis in self.axes))


def with_picture(found: Record, picture: str | None) -> str:
    """Return the picture of an object with what it is below, for notebooks; its text where there is no picture."""
    from html import escape

    if picture is None:
        return f"<pre>{escape(repr(found))}</pre>"
    return f"{picture}<div>{escape(printable(found.class_name))}: {escape(printable(found.summary()))}</div>"


def _cut(array: npt.NDArray[Any], sizes: Sequence[int], *, flow: bool) -> npt.NDArray[Any]:
    """Return an array with a dimension for each axis; stored is the bin of x first, flow bins at the ends."""
    shaped: npt.NDArray[Any] = array.reshape([n + 2 for n in reversed(sizes)]).T
    # The array is copied: a change of it must not change the object.
    result: npt.NDArray[Any] = shaped if flow else shaped[(slice(1, -1),) * len(sizes)]
    copied: npt.NDArray[Any] = result.copy()
    return copied


def _n_cells(shape: Sequence[int]) -> int:
    """Return the number of bins, those below and above the ranges among them."""
    return prod(n_bins + 2 for n_bins in shape)


def entries_text(n_entries: float) -> str:
    """Return the number of entries as text; it may be no whole number."""
    return (
        counted(int(n_entries), "entry", "entries") if n_entries.is_integer() else f"{n_entries:.15g} entries"
    )


def effective(sums: npt.NDArray[Any], squares: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return sums² / squares, and 0 where the squares are 0."""
    import numpy as np

    result = np.zeros(sums.shape, np.float64)
    np.divide(sums.astype(np.float64) ** 2, squares, out=result, where=squares != 0)
    return result
