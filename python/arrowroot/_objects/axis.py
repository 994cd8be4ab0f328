"""Axes of histograms."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._errors import CorruptFileError, OutOfRangeError, WrongTypeError
from arrowroot._objects.record import Record
from arrowroot._objects.simple import Text, text_of
from arrowroot._render import shown
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt


#: Bit of ``fBits2`` of an axis whose bins have labels, or get them. Source: ``TAxis::kAlphanumeric`` (ROOT 6.40).
IS_ALPHANUMERIC = 1 << 0
#: Bit of ``fBits2`` of an axis whose range filling extends. Source: ``TAxis::kCanExtend``.
CAN_EXTEND = 1 << 1
#: Bit of ``fBits`` of an axis whose limits are to be integers. Source: ``TAxis::kIsInteger``. We set it where labels
#: are integers or truth values, too.
IS_INTEGER = 1 << 22
#: ``fUniqueID`` of an axis that we wrote of categories that grow: every axis of labels may be extended in ROOT.
GROWING = 1
#: The labels of an axis of truth values.
TRUTH_LABELS = ["False", "True"]


class Traits(NamedTuple):
    """What the UHI protocol asks of an axis."""

    circular: bool
    discrete: bool


class Axis:
    """An axis: a sequence of bins, each (low, high), or its label if every bin has one.

    It follows the ``PlottableAxis`` protocol of UHI. The bins below and above the range, the flow bins, are no items.

        >>> axis = hist.axis(0)
        >>> axis.n_bins, axis.low, axis.high, axis.edges()
        (2, 0.0, 50.0, array([ 0., 25., 50.]))
    """

    def __init__(self, record: Record, limits: tuple[float, float] | None = None) -> None:
        """``limits``: the range, if the record has none yet."""
        #: The ``TAxis`` with all its members.
        self.record = record
        self._limits = limits
        #: Number of bins, without those below and above the range.
        self.n_bins = record.integer_of("fNbins")
        if self.n_bins < 1:
            raise CorruptFileError(f"an axis {self.name!r} of {self.n_bins} bins")

    @property
    def name(self) -> str:
        """Name: "xaxis", "yaxis" or "zaxis" where ROOT gave it."""
        return text_of(self.record.get("fName"))

    @property
    def title(self) -> str:
        """Title."""
        return text_of(self.record.get("fTitle"))

    @property
    def low(self) -> float:
        """Lower end of the range."""
        return self._limits[0] if self._limits else float(self.record.number_of("fXmin"))

    @property
    def high(self) -> float:
        """Upper end of the range."""
        return self._limits[1] if self._limits else float(self.record.number_of("fXmax"))

    @property
    def has_range(self) -> bool:
        """Whether it has limits; ROOT finds those of other axes when it needs them."""
        return self.low < self.high

    @property
    def is_regular(self) -> bool:
        """Whether all bins have one width."""
        return len(self.record.array_of("fXbins")) != self.n_bins + 1

    def edges(self, *, flow: bool = False) -> npt.NDArray[np.float64]:
        """Return the edges of the bins, shape (n_bins + 1,); with ``flow`` also -inf and inf at the ends."""
        import numpy as np

        if self.is_regular:
            edges = np.linspace(self.low, self.high, self.n_bins + 1)
        else:
            edges = np.array(self.record.array_of("fXbins"), np.float64)
        return np.concatenate([[-np.inf], edges, [np.inf]]) if flow else edges

    @property
    def centers(self) -> npt.NDArray[np.float64]:
        """Centers of the bins, shape (n_bins,)."""
        edges = self.edges()
        return (edges[:-1] + edges[1:]) / 2

    @property
    def widths(self) -> npt.NDArray[np.float64]:
        """Widths of the bins, shape (n_bins,)."""
        edges = self.edges()
        return edges[1:] - edges[:-1]

    @property
    def labels(self) -> list[str] | None:
        """The label of each bin, "" where it has none; None if no bin has one."""
        found = self.record.get("fLabels")
        if not isinstance(found, Record):
            return None
        labels: dict[int, str] = {}
        for label in found:
            # The number of the bin, counted from 1, is the label's identifier.
            index = label["fUniqueID"] - 1 if isinstance(label, Text) else -1
            if 0 <= index < self.n_bins:
                labels[index] = label.value
        return [labels.get(index, "") for index in range(self.n_bins)] if labels else None

    @property
    def categories(self) -> list[str] | None:
        """The labels of the bins if these are categories, all different: else None.

        ROOT makes more bins than it needs where labels come while it fills: those behind the last label are not meant.
        """
        labels = self.labels or []
        if self._has(IS_ALPHANUMERIC):
            n_labels = max((index + 1 for index, label in enumerate(labels) if label), default=0)
            labels = labels[:n_labels]
        elif not labels:
            return None
        return labels if all(labels) and len(set(labels)) == len(labels) else None

    @property
    def traits(self) -> Traits:
        """Whether it is circular (never) and discrete (if every bin has a label)."""
        labels = self.labels
        return Traits(circular=False, discrete=labels is not None and all(labels))

    @property
    def can_extend(self) -> bool:
        """Whether filling may extend the range."""
        return self._has(CAN_EXTEND)

    @property
    def is_integer(self) -> bool:
        """Whether limits that ROOT finds are to be integers."""
        return bool(self.record.integer_of("fBits") & IS_INTEGER)

    def _has(self, bit: int) -> bool:
        return "fBits2" in self.record and bool(self.record.integer_of("fBits2") & bit)

    def find(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the bin of each value as ROOT counts: 0 below the range, n_bins + 1 above it and for NaN.

        Source: ``TAxis::FindFixBin`` (ROOT 6.40).

            >>> hist.axis(0).find([5, 30, 150])
            array([1, 2, 3])
        """
        import numpy as np

        values = np.asarray(values)
        if self.is_regular:
            with np.errstate(invalid="ignore", over="ignore"):
                place = self.n_bins * (values - self.low) / (self.high - self.low)
                bins = 1 + np.nan_to_num(place, posinf=0, neginf=0).astype(np.int64)
                # A value on an edge is above it, however that was rounded.
                width = (self.high - self.low) / self.n_bins
                is_below = values < self.low + (bins - 1) * width
                is_above = ~is_below & (values >= self.low + bins * width)
            bins += is_above.astype(np.int64) - is_below
        else:
            bins = np.searchsorted(self.edges(), values, side="right").astype(np.int64)
        bins[values < self.low] = 0
        bins[~(values < self.high)] = self.n_bins + 1
        return bins

    def __len__(self) -> int:
        return self.n_bins

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return list(self)[index]
        try:
            number = range(self.n_bins)[index]
        except IndexError:
            raise OutOfRangeError(
                f"axis {self.name!r} has no bin {index}: it has {counted(self.n_bins, 'bin')}, counted from 0"
            ) from None
        except TypeError:
            raise WrongTypeError(
                f"an axis gives bins by their numbers or slices of these, not by {shown(index)}"
            ) from None
        labels = self.labels
        if labels is not None and all(labels):
            return labels[number]
        low, high = self.edges()[number : number + 2]
        return float(low), float(high)

    def __iter__(self) -> Iterator[Any]:
        labels = self.labels
        if labels is not None and all(labels):
            return iter(labels)
        edges = self.edges().tolist()
        return pairwise(edges)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        import numpy as np

        return self.labels == other.labels and np.array_equal(self.edges(), other.edges())

    __hash__ = None  # type: ignore[assignment] # as it compares by content

    def summary(self) -> str:
        """Return bins and range on one line."""
        labels = self.labels
        if labels is not None and all(labels):
            return counted(self.n_bins, "label")
        kind = "" if self.is_regular else "variable "
        return f"{counted(self.n_bins, kind + 'bin')} in [{self.low:g}, {self.high:g})"

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        return f"<Axis {self.name!r}{title}: {self.summary()}>"
