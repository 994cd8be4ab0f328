"""ROOT merges our histograms as it merges its own: by the labels of categories, whatever stands beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boost_histogram as bh
import hist
import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from . import merged_with_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N_DRAWN, N_FILES = 60, 3
TEXTS = ["ee", "mm", "tt", "em", "µτ", "a b"]
#: Axes whose bins may be others in every file.
OF_FILES = ("text", "growing", "numbers", "range")

AXES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "text": lambda one: hist.axis.StrCategory(one["labels"]),
    "growing": lambda one: hist.axis.StrCategory(one["labels"], growth=True),
    "numbers": lambda one: hist.axis.IntCategory(list(map(int, one["labels"]))),
    "truth": lambda _: hist.axis.Boolean(),
    "regular": lambda one: hist.axis.Regular(one["n_bins"], one["low"], one["low"] + one["n_bins"]),
    "range": lambda one: hist.axis.Regular(
        one["n_bins"], one["low"], one["low"] + one["n_bins"], growth=True
    ),
    "integers": lambda one: hist.axis.Integer(one["low"], one["low"] + one["n_bins"]),
}


def drawn_axis(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    labels, low, n_bins = None, 0, 3
    if kind in ("text", "growing"):
        labels = rng.permutation(TEXTS)[: rng.integers(kind == "text", 5)].tolist()
    elif kind == "numbers":
        labels = rng.permutation(["11", "-13", "15"])[: rng.integers(1, 4)].tolist()
    elif kind == "truth":
        labels = ["False", "True"]
    elif kind == "range":
        low, n_bins = int(rng.integers(-2, 2)), int(rng.integers(2, 6))
    n_bins = n_bins if labels is None else len(labels)
    return {"kind": kind, "labels": labels, "low": low, "n_bins": n_bins, "grows": kind == "range"}


def drawn(seed: int) -> list[dict[str, Any]]:
    """Draw a histogram for each file: axes of the same kinds, other categories in another order, other entries."""
    rng = np.random.default_rng(seed)
    n_axes = int(rng.choice([1, 1, 2, 3, 4]))
    kinds = [str(rng.choice(["text", "text", "growing", "numbers", "truth", "range"]))]
    kinds += map(str, rng.choice(["regular", "integers", "text", "growing", "truth", "numbers"], n_axes - 1))
    is_weighted, is_profile = bool(rng.random() < 0.4), bool(n_axes < 4 and rng.random() < 0.25)
    overflows = rng.random() < 0.2
    # Bins of sparse histograms are merged by their numbers, those of ROOT's own, too.
    shared = [drawn_axis(kind, rng) for kind in kinds]
    found = []
    for _ in range(N_FILES):
        axes = [
            drawn_axis(kind, rng) if kind in OF_FILES and n_axes < 4 else one
            for kind, one in zip(kinds, shared, strict=True)
        ]
        ends = [one["n_bins"] + int(overflows and one["kind"] in ("text", "regular")) for one in axes]
        is_empty = rng.random() < 0.15 or 0 in ends
        entries = [
            (
                [int(rng.integers(end)) for end in ends],
                float(rng.integers(1, 9)),
                float(rng.choice([0.5, 1, 2])) if is_weighted else 1.0,
            )
            for _ in range(0 if is_empty else int(rng.integers(1, 30)))
        ]
        found.append({"axes": axes, "entries": entries, "is_weighted": is_weighted, "is_profile": is_profile})
    return found


def filled(case: dict[str, Any]) -> Any:
    storages = bh.storage.WeightedMean() if case["is_weighted"] else bh.storage.Mean()
    if not case["is_profile"]:
        storages = bh.storage.Weight() if case["is_weighted"] else bh.storage.Double()
    made = hist.Hist(*(AXES[one["kind"]](one) for one in case["axes"]), storage=storages)
    for places, value, weight in case["entries"]:
        at: list[Any] = []
        for one, place in zip(case["axes"], places, strict=True):
            kind, labels = one["kind"], one["labels"]
            if labels is None:
                at.append(one["low"] + place + (0 if kind == "integers" else 0.5))
            elif kind == "truth":
                at.append(bool(place))
            else:
                label = labels[place] if place < len(labels) else "of no category"
                at.append(int(label) if kind == "numbers" else label)
        options = {"sample": value} if case["is_profile"] else {}
        made.fill(*at, **options, **({"weight": weight} if case["is_weighted"] else {}))
    return made


def merged(directory: Path, cases: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    files = [directory / f"part{number}.root" for number in range(N_FILES)]
    for number, path in enumerate(files):
        with ar.create(path) as out:
            for name, case in cases.items():
                out[name] = filled(case[number])
    added = directory / "added.root"
    root.program("hadd", added, *files)
    told: dict[str, Any] = root.run(merged_with_root.merge_all, directory, cases, added, files)
    return told


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return merged(tmp_path_factory.mktemp("merged"), {str(seed): drawn(seed) for seed in range(N_DRAWN)})


@pytest.mark.parametrize("seed", range(N_DRAWN))
@pytest.mark.parametrize("how", ["TFileMerger", "hadd"])
def test_root_merges_histograms_as_its_own(told, how, seed):
    ours, own = told[how][str(seed)], told["own"][str(seed)]
    assert ours["bins"].keys() == own["bins"].keys()
    for place, values in own["bins"].items():
        np.testing.assert_allclose(ours["bins"][place], values, rtol=1e-12, err_msg=place)
    # Of weights it is not known how many there were.
    compared = own.keys() - {"bins"} - ({"entries"} if drawn(seed)[0]["is_weighted"] else set())
    assert {name: ours[name] for name in compared} == {name: own[name] for name in compared}
