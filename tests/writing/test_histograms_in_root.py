"""Histograms of hist, boost-histogram and NumPy as ROOT reads them: bins, axes, labels, entries, statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import boost_histogram as bh
import hist
import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from . import histograms_with_root

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(1)
N = 500
X, Y, Z = RANDOM.normal(0, 1, N), RANDOM.normal(1, 2, N), RANDOM.random(N)
WEIGHTS = RANDOM.normal(1, 0.5, N)
LETTERS = list(np.array(["a", "b", "other"])[RANDOM.integers(0, 3, N)])

EDGES = [-2.0, -0.5, 0.0, 1.0, 4.0]


def filled(histogram: Any, *values: Any, **options: Any) -> Any:
    histogram.fill(*values, **options)
    return histogram


def negative() -> Any:
    """Weights whose sum is negative."""
    return filled(bh.Histogram(bh.axis.Regular(4, -1, 1), storage=bh.storage.Weight()), X, weight=-np.ones(N))


CASES: dict[str, Callable[[], Any]] = {
    "regular": lambda: filled(bh.Histogram(bh.axis.Regular(10, -2, 2)), X),
    "variable": lambda: filled(bh.Histogram(bh.axis.Variable(EDGES)), X),
    "integers": lambda: filled(bh.Histogram(bh.axis.Integer(-2, 3)), X.astype(int)),
    "int64": lambda: filled(bh.Histogram(bh.axis.Regular(5, -2, 2), storage=bh.storage.Int64()), X),
    "no_flow": lambda: filled(bh.Histogram(bh.axis.Regular(5, -2, 2, underflow=False, overflow=False)), X),
    "circular": lambda: filled(bh.Histogram(bh.axis.Regular(5, -2, 2, circular=True)), X),
    "weights": lambda: filled(
        bh.Histogram(bh.axis.Regular(7, -2, 2), storage=bh.storage.Weight()), X, weight=WEIGHTS
    ),
    "negative": negative,
    "letters": lambda: filled(hist.Hist(hist.axis.StrCategory(["a", "b"], name="letter")), LETTERS),
    "numbers": lambda: filled(hist.Hist(hist.axis.IntCategory([3, 1, 2])), [1, 1, 2, 3, 7]),
    "named": lambda: filled(hist.Hist(hist.axis.Regular(5, -2, 2, name="x", label="p_{T} [GeV]"), label="title"), X),
    "empty": lambda: bh.Histogram(bh.axis.Regular(3, 0, 1)),
    "two": lambda: filled(bh.Histogram(bh.axis.Regular(4, -2, 2), bh.axis.Variable(EDGES)), X, Y),
    "two_weights": lambda: filled(
        bh.Histogram(bh.axis.Regular(4, -2, 2), bh.axis.Integer(0, 3), storage=bh.storage.Weight()), X, Y.astype(int),
        weight=WEIGHTS,
    ),
    "two_letters": lambda: filled(
        hist.Hist(hist.axis.StrCategory(["a", "b"]), hist.axis.Regular(3, -2, 2)), LETTERS, X
    ),
    "three": lambda: filled(
        bh.Histogram(bh.axis.Regular(2, -2, 2), bh.axis.Variable(EDGES), bh.axis.Regular(3, 0, 1)), X, Y, Z
    ),
    "three_weights": lambda: filled(
        bh.Histogram(
            bh.axis.Regular(2, -2, 2), bh.axis.Variable(EDGES), bh.axis.Regular(3, 0, 1), storage=bh.storage.Weight()
        ), X, Y, Z, weight=WEIGHTS,
    ),
    "profile": lambda: filled(bh.Histogram(bh.axis.Regular(5, -2, 2), storage=bh.storage.Mean()), X, sample=Y),
    "profile_weights": lambda: filled(
        bh.Histogram(bh.axis.Variable(EDGES), storage=bh.storage.WeightedMean()), X, sample=Y, weight=abs(WEIGHTS)
    ),
    "profile_two": lambda: filled(
        bh.Histogram(bh.axis.Regular(3, -2, 2), bh.axis.Regular(2, 0, 3), storage=bh.storage.Mean()), X, Y, sample=Z
    ),
    "profile_three": lambda: filled(
        bh.Histogram(*[bh.axis.Regular(2, -1, 1)] * 3, storage=bh.storage.WeightedMean()), X, Y, Z, sample=Z,
        weight=abs(WEIGHTS),
    ),
}  # fmt: skip
NUMPY: dict[str, Callable[[], Any]] = {
    "numpy": lambda: np.histogram(X, 10, (-2, 2)),
    "numpy_variable": lambda: np.histogram(X, EDGES),
    "numpy_two": lambda: np.histogram2d(X, Y, (3, 4)),
    "numpy_three": lambda: (*np.histogramdd((X, Y, Z), 3)[:1], *np.histogramdd((X, Y, Z), 3)[1]),
}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("histograms")
    with ar.create(directory / "histograms.root") as out:
        for name, make in (CASES | NUMPY).items():
            out[name] = make()
    path = directory / "histograms.root"
    # A profile of ROOT that has weights says it, too, when it is rebinned.
    but = ("profile bin weights structure already created",)
    found: dict[str, Any] = root.run(histograms_with_root.show, directory, path, complaints_but=but)
    return found


def whole(histogram: Any, part: Any) -> Any:
    """Values with bins of flow on both sides, as ROOT orders them."""
    widths = [(int(not axis.traits.underflow), int(not axis.traits.overflow)) for axis in histogram.axes]
    return np.pad(np.asarray(part, np.float64), widths).T.reshape(-1)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_bins_axes_and_labels_are_those_that_were_written(read, name):
    histogram, found = CASES[name](), read[name]
    n_axes = len(histogram.axes)
    is_profile = histogram.kind == bh.Kind.MEAN
    assert found["class"] == (
        ["TProfile", "TProfile2D", "TProfile3D"][n_axes - 1] if is_profile else f"TH{n_axes}D"
    )
    assert (found["name"], found["title"]) == (name, getattr(histogram, "label", None) or "")
    values = whole(histogram, histogram.values(flow=True))
    counts = whole(histogram, histogram.counts(flow=True))
    close(found["contents"], np.where(counts == 0, 0, np.nan_to_num(values)) if is_profile else values)
    variances = histogram.variances(flow=True)
    if not is_profile:
        errors = np.sqrt(whole(histogram, values_or(variances, histogram)))
        close(found["errors"], errors)
    for axis, of_root in zip(histogram.axes, found["axes"], strict=True):
        is_category = isinstance(axis, bh.axis.StrCategory | bh.axis.IntCategory)
        edges = np.arange(len(axis) + 1) if is_category else axis.edges
        close(of_root["edges"], edges)
        assert of_root["labels"] == (
            [str(axis.bin(k)) for k in range(len(axis))] if is_category else [""] * len(axis)
        )
        assert of_root["is_variable"] == isinstance(axis, bh.axis.Variable)
        assert of_root["title"] == (getattr(axis, "label", None) or getattr(axis, "name", None) or "")


def values_or(variances: Any, histogram: Any) -> Any:
    return histogram.values(flow=True) if variances is None else variances


@pytest.mark.parametrize("name", CASES)
def test_entries_and_statistics_are_those_of_the_bins(read, name):
    histogram, found = CASES[name](), read[name]
    is_profile = histogram.kind == bh.Kind.MEAN
    inside = histogram.view()
    if is_profile:
        weights = inside["count" if "count" in inside.dtype.names else "sum_of_weights"]
    else:
        weights = histogram.values()
    total = weights.sum()
    for place, axis in enumerate(histogram.axes):
        is_category = isinstance(axis, bh.axis.StrCategory | bh.axis.IntCategory)
        centres = np.arange(len(axis)) + 0.5 if is_category else axis.centers
        projected = weights.sum(axis=tuple(k for k in range(weights.ndim) if k != place))
        mean = (projected * centres).sum() / total if total else 0
        close(found["mean"][place], mean)
        if total:
            spread = math.sqrt(abs((projected * centres**2).sum() / total - mean**2))
            close(found["deviation"][place], spread)
    if not is_profile:
        close(found["integral"], total)
    if not is_profile:
        all_weights = histogram.values(flow=True)
        all_squares = values_or(histogram.variances(flow=True), histogram)
    elif "count" in inside.dtype.names:
        all_weights = all_squares = histogram.view(flow=True)["count"]
    else:
        all_weights, all_squares = (
            histogram.view(flow=True)[part] for part in ("sum_of_weights", "sum_of_weights_squared")
        )
    # As many as would have such an error, if all had the same weight.
    close(found["entries"], all_weights.sum() ** 2 / (all_squares.sum() or 1))
    close(found["added"], (1 if is_profile else 2) * found["contents"][1])


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("profile")])
def test_errors_of_profiles_are_those_of_the_mean(read, name):
    histogram, found = CASES[name](), read[name]
    view = histogram.view(flow=True)
    if "count" in view.dtype.names:
        weights, deltas = view["count"], view["_sum_of_deltas_squared"]
        squares = weights
    else:
        weights, deltas = view["sum_of_weights"], view["_sum_of_weighted_deltas_squared"]
        squares = view["sum_of_weights_squared"]
    close(found["bin_entries"], whole(histogram, weights))
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = np.where(squares > 0, weights**2 / squares, 0)
        errors = np.where(effective > 0, np.sqrt(deltas / weights / effective), 0)
    close(found["effective"], whole(histogram, effective))
    several = whole(histogram, effective) > 1  # of one entry ROOT says that of all
    close(np.asarray(found["errors"])[several], whole(histogram, errors)[several])


@pytest.mark.parametrize("name", NUMPY)
def test_histograms_of_numpy_have_their_counts_and_edges(read, name):
    (counts, *edges), found = NUMPY[name](), read[name]
    close(found["contents"], np.pad(counts, 1).T.reshape(-1))
    assert found["entries"] == counts.sum()
    for axis, of_root in zip(edges, found["axes"], strict=True):
        close(of_root["edges"], axis)


def test_counts_that_a_double_does_not_hold_are_an_error(tmp_path):
    histogram = bh.Histogram(bh.axis.Regular(2, 0, 1), storage=bh.storage.Int64())
    histogram.view()[0] = 2**53 + 1
    with ar.create(tmp_path / "h.root") as out:
        with pytest.raises(ar.UnsupportedError, match=r"h: .*9007199254740993"):
            out["h"] = histogram
        histogram.view()[0] = 2**53
        out["h"] = histogram
    with ar.open(tmp_path / "h.root") as file:
        assert file["h"].values().tolist() == [2**53, 0]
