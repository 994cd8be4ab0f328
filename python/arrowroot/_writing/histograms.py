"""Histograms of hist, boost-histogram and NumPy as those of ROOT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrowroot._errors import UnsupportedError
from arrowroot._objects.axis import CAN_EXTEND, GROWING, IS_ALPHANUMERIC, IS_INTEGER, TRUTH_LABELS
from arrowroot._writing.records import list_of, named, record_of, text
from arrowroot._writing.sparse import sparse_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from arrowroot._objects.record import Record

    Array = npt.NDArray[np.float64]

#: Bit of ``fBits`` that ROOT sets for a histogram. Source: ``TObject::kMustCleanup`` (6.40).
_MUST_CLEANUP = 1 << 3
_MAX_DIMENSIONS = 3
#: All integers up to this are doubles.
_EXACT = 2.0**53


class _Axis(NamedTuple):
    """An axis: edges of the bins, labels if it has categories, and whether there are bins below and above.

    Categories that there are none of yet have one bin, without a label.
    """

    edges: Array
    is_regular: bool
    title: str
    labels: list[str] | None = None
    has_underflow: bool = True
    has_overflow: bool = True
    #: Whether bins or labels are integers or truth values.
    is_integer: bool = False
    #: Whether it grows with what is filled.
    grows: bool = False


#: The axes of dimensions that a histogram does not have.
_NO_AXIS = _Axis(np.array([0.0, 1.0]), is_regular=True, title="")


class _Bins(NamedTuple):
    """Values by bin, flow bins included, x first."""

    contents: Array
    squares: Array | None = None
    #: Of a profile: sums of weights, and of their squares where they are not the same.
    weights: Array | None = None
    weight_squares: Array | None = None


def is_histogram(value: object) -> bool:
    """Return whether it is a histogram as hist and boost-histogram have them."""
    return all(
        hasattr(value, name) for name in ("axes", "kind", "values", "variances", "view", "storage_type")
    )


def is_numpy_histogram(value: object) -> bool:
    """Return whether it is what numpy.histogram or histogram2d returns: contents, then the edges of each axis."""
    if not isinstance(value, tuple) or len(value) < 2 or not all(isinstance(v, np.ndarray) for v in value):
        return False
    contents, *edges = value
    return contents.ndim == len(edges) <= _MAX_DIMENSIONS and all(
        axis.ndim == 1 and len(axis) == n + 1 for axis, n in zip(edges, contents.shape, strict=True)
    )


def of_numpy(value: tuple[Any, ...], name: str) -> Record:
    """Return what numpy.histogram returned as a histogram of ROOT: a TH1D, TH2D or TH3D with nothing outside."""
    contents, *edges = value
    checked = [_edges_of(one) for one in edges]
    axes = [_Axis(one, _is_regular(one), "") for one in checked]
    inside = _as_doubles(contents, name)
    return _histogram(name, "", axes, _Bins(np.pad(inside, 1)))


def from_uhi(value: Any, name: str) -> Record:
    """Return a histogram of hist or boost-histogram as one of ROOT.

    A TH1D, TH2D or TH3D, of more axes a THnSparseD, with sums of squares where the storage has variances; of means a
    TProfile and its kin.

    Raises: UnsupportedError for no axis, and for storages that ROOT has no class for.
    """
    if not value.axes:
        raise UnsupportedError(f"{name}: a histogram without axes")
    axes = [_axis_of(axis) for axis in value.axes]
    title = str(getattr(value, "label", None) or getattr(value, "title", None) or "")
    view = value.view(flow=True)
    storage = value.storage_type.__name__
    if storage in ("Mean", "WeightedMean"):
        if len(axes) > _MAX_DIMENSIONS:
            raise UnsupportedError(
                f"{name}: means of {len(axes)} axes; ROOT's profiles have 1 to {_MAX_DIMENSIONS}"
            )
        return _histogram(name, title, axes, _sums(view, storage, axes))
    if storage == "Weight":
        bins = _Bins(_whole(view["value"], axes), _whole(view["variance"], axes))
        return _histogram(name, title, axes, bins)
    if view.dtype.names is not None:
        raise UnsupportedError(f"{name}: ROOT has no class for the storage {storage}")
    return _histogram(name, title, axes, _Bins(_whole(_as_doubles(np.asarray(view), name), axes)))


def _as_doubles(counts: npt.NDArray[Any], name: str) -> Array:
    """Return counts as ROOT has them. Raises: UnsupportedError for an integer that a double cannot hold."""
    doubles = counts.astype(np.float64)
    if counts.dtype.kind in "iu":
        for count in counts[np.abs(doubles) >= _EXACT].tolist():
            if int(float(count)) != count:
                raise UnsupportedError(
                    f"{name}: a bin of {count}, which a histogram of doubles does not hold"
                )
    return doubles


def _sums(view: Any, storage: str, axes: Sequence[_Axis]) -> _Bins:
    """Return means and spreads as the sums that a profile has. Source: ``TProfile::Fill`` (ROOT 6.40)."""
    mean = np.asarray(view["value"], np.float64)
    if storage == "Mean":
        weights, deltas = view["count"], view["_sum_of_deltas_squared"]
        squares = None
    else:
        weights, deltas = view["sum_of_weights"], view["_sum_of_weighted_deltas_squared"]
        squares = _whole(view["sum_of_weights_squared"], axes)
    weights = np.asarray(weights, np.float64)
    with np.errstate(invalid="ignore"):
        of_values = np.where(weights == 0, 0, weights * mean)
        of_squares = np.where(weights == 0, 0, deltas + weights * mean**2)
    return _Bins(_whole(of_values, axes), _whole(of_squares, axes), _whole(weights, axes), squares)


def _axis_of(axis: Any) -> _Axis:
    kind, labels = type(axis).__name__, None
    if kind in ("StrCategory", "IntCategory"):
        labels = [str(axis.bin(index)) for index in range(len(axis))]
    elif kind == "Boolean":
        labels = list(TRUTH_LABELS)
    edges = _edges_of(axis.edges if labels is None else np.arange(max(1, len(labels)) + 1))
    label = getattr(axis, "label", None) or getattr(axis, "name", None) or ""
    return _Axis(
        edges,
        _is_regular(edges),
        str(label),
        labels,
        bool(axis.traits.underflow),
        bool(axis.traits.overflow),
        kind in ("Integer", "IntCategory", "Boolean"),
        bool(axis.traits.growth),
    )


def _edges_of(given: Any) -> Array:
    """Return edges as ROOT has them. Raises: UnsupportedError for those that are not finite."""
    edges = np.asarray(given, np.float64)
    if not np.all(np.isfinite(edges)):
        raise UnsupportedError(
            "an axis with edges that are not finite; ROOT's have bins of flow for what is outside"
        )
    return edges


def _is_regular(edges: Array) -> bool:
    """Return whether ROOT finds these edges from the first and the last, up to rounding."""
    rounding = 8 * np.finfo(np.float64).eps * max(abs(edges[0]), abs(edges[-1]))
    return bool(np.all(np.abs(edges - np.linspace(edges[0], edges[-1], len(edges))) <= rounding))


def _whole(values: Any, axes: Sequence[_Axis]) -> Array:
    """Return values with bins below and above each axis, 0 where it has none."""
    widths = [
        (int(not axis.has_underflow) + int(axis.labels == []), int(not axis.has_overflow)) for axis in axes
    ]
    return np.pad(np.asarray(values, np.float64), widths)


def _histogram(name: str, title: str, axes: Sequence[_Axis], bins: _Bins) -> Record:
    n = len(axes)
    if n > _MAX_DIMENSIONS:
        return _sparse(name, title, axes, bins)
    is_profile = bins.weights is not None
    class_name = ("TProfile", "TProfile2D", "TProfile3D")[n - 1] if is_profile else f"TH{n}D"
    none: Array = np.zeros(0)
    contents = _flat(bins.contents)
    squares = none if bins.squares is None else _flat(bins.squares)
    sums = _statistics(axes, bins)
    weights = bins.contents if bins.weights is None else bins.weights
    members = named(name, title, _MUST_CLEANUP) | {
        "fLineColor": 602,
        "fLineStyle": 1,
        "fLineWidth": 1,
        "fFillColor": 0,
        "fFillStyle": 1001,
        "fMarkerColor": 1,
        "fMarkerStyle": 1,
        "fMarkerSize": 1.0,
        "fNcells": contents.size,
        **{
            f"f{letter}axis": _axis_record(letter, axes[i] if i < n else _NO_AXIS)
            for i, letter in enumerate("XYZ")
        },
        "fBarOffset": 0,
        "fBarWidth": 1000,
        "fEntries": _n_entries(weights, bins.weight_squares if is_profile else bins.squares),
        "fMaximum": -1111.0,
        "fMinimum": -1111.0,
        "fNormFactor": 0.0,
        "fContour": none,
        "fSumw2": squares,
        "fOption": "",
        "fFunctions": list_of("TList", []),
        "fBufferSize": 0,
        "fBuffer": none,
        "fBinStatErrOpt": 0,
        "fStatOverflows": 2,
        "fScalefactor": 1.0,
        "fArray": contents,
        **sums,
    }
    if n != 2:
        del members["fScalefactor"]
    if bins.weights is not None:
        # Limits of the profiled values, equal for none, are called by the axis that they would have.
        letter = "YZT"[n - 1]
        members |= {
            "fBinEntries": _flat(bins.weights),
            "fErrorMode": 0,
            f"f{letter}min": 0.0,
            f"f{letter}max": 0.0,
            "fBinSumw2": none if bins.weight_squares is None else _flat(bins.weight_squares),
        }
    bases = ("TH1",) if n == 1 else (f"TH{n}", "TH1")
    return record_of(class_name, members, bases)


def _sparse(name: str, title: str, axes: Sequence[_Axis], bins: _Bins) -> Record:
    described = [
        (_axis_record("X", axis, f"axis{index}"), (axis.edges[:-1] + axis.edges[1:]) / 2)
        for index, axis in enumerate(axes)
    ]
    n_entries = _n_entries(bins.contents, bins.squares)
    return sparse_of((name, title), described, bins.contents, bins.squares, n_entries)


def _n_entries(weights: Array, squares: Array | None) -> float:
    """Return how often it was filled; with weights how many of one weight would have such an error, as ROOT has it.

    Source: ``TH1::ResetStats`` (ROOT 6.40).
    """
    total = float(weights.sum())
    if squares is None:
        return abs(total)
    of_squares = float(squares.sum())
    return total**2 / of_squares if of_squares > 0 else 0.0


def _flat(values: Array) -> Array:
    """Return values in ROOT's order: the bin of x first."""
    return np.ascontiguousarray(values.T).reshape(-1)


def _statistics(axes: Sequence[_Axis], bins: _Bins) -> dict[str, float]:
    """Return the sums over what is in range, of the centres of bins: what ``TH1::ResetStats`` makes (ROOT 6.40)."""
    inside = (slice(1, -1),) * len(axes)
    weights = (bins.contents if bins.weights is None else bins.weights)[inside]
    squares = bins.squares if bins.weights is None else bins.weight_squares
    of_squares = np.abs(weights) if squares is None else squares[inside]
    centres = [(axis.edges[:-1] + axis.edges[1:]) / 2 for axis in axes]
    grids = np.meshgrid(*centres, indexing="ij")
    sums = {"fTsumw": weights.sum(), "fTsumw2": of_squares.sum()}
    for letter, grid in zip("xyz", grids, strict=False):
        sums[f"fTsumw{letter}"] = (weights * grid).sum()
        sums[f"fTsumw{letter}2"] = (weights * grid**2).sum()
    for one, other in ((0, 1), (0, 2), (1, 2)):
        if other < len(axes):
            sums[f"fTsumw{'xyz'[one]}{'xyz'[other]}"] = (weights * grids[one] * grids[other]).sum()
    if bins.weights is not None and bins.squares is not None:
        letter = "yzt"[len(axes) - 1]
        sums[f"fTsumw{letter}"] = bins.contents[inside].sum()
        sums[f"fTsumw{letter}2"] = bins.squares[inside].sum()
    return {name: float(value) for name, value in sums.items()}


def _axis_record(letter: str, axis: _Axis, name: str | None = None) -> Record:
    labels = axis.labels
    # ROOT merges by labels, and takes new ones, where an axis may be extended: its own may once all bins have labels.
    bits = IS_ALPHANUMERIC | CAN_EXTEND if labels is not None else CAN_EXTEND if axis.grows else 0
    members = named(name or f"{letter.lower()}axis", axis.title, IS_INTEGER if axis.is_integer else 0) | {
        "fUniqueID": GROWING if axis.grows and labels is not None else 0,
        "fNdivisions": 510,
        "fAxisColor": 1,
        "fLabelColor": 1,
        "fLabelFont": 42,
        "fLabelOffset": float(np.float32(0.005)),
        "fLabelSize": float(np.float32(0.035)),
        "fTickLength": float(np.float32(0.03)),
        "fTitleOffset": 0.0 if letter == "Y" else 1.0,
        "fTitleSize": float(np.float32(0.035)),
        "fTitleColor": 1,
        "fTitleFont": 42,
        "fNbins": len(axis.edges) - 1,
        "fXmin": float(axis.edges[0]),
        "fXmax": float(axis.edges[-1]),
        "fXbins": np.zeros(0) if axis.is_regular else axis.edges,
        "fFirst": 0,
        "fLast": 0,
        "fBits2": bits,
        "fTimeDisplay": False,
        "fTimeFormat": "",
        "fLabels": None
        if not labels
        else list_of("THashList", [text(label, index + 1) for index, label in enumerate(labels)]),
        "fModLabs": None,
    }
    return record_of("TAxis", members)
