"""Histograms whose axes have other ranges, or wider bins, are added as hadd does it."""

from __future__ import annotations

import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from . import axes_with_root as made
from .trees_with_root import hadd


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("axes")
    root.run(made.make, directory)
    return directory


@pytest.fixture(scope="module")
def sums(inputs):
    names = [f"l{number}.root" for number in range(made.N_INPUTS)]
    ar.merge(inputs / "ours.root", [inputs / name for name in names])
    root.run(hadd, inputs, "theirs.root", names)
    return [root.run(made.found, inputs, f"{name}.root") for name in ("ours", "theirs")]


@pytest.mark.parametrize("name", made.SUMS)
def test_sums_of_other_axes_are_those_of_hadd(sums, name):
    ours, theirs = sums
    assert ours[name] == theirs[name]


@pytest.mark.parametrize("name", made.REFUSED)
def test_axes_that_root_does_not_add_or_wrongly_are_an_error(inputs, tmp_path, name):
    others = [other for other in made.REFUSED if other != name]
    paths = [inputs / f"no{number}.root" for number in range(made.N_INPUTS)]
    with pytest.raises(ar.SchemaMismatchError, match=rf"no[12]\.root: {name}: .*{made.REFUSED[name][1]}"):
        ar.merge(tmp_path / "out.root", paths, rules=dict.fromkeys(others, "drop"))


def test_edges_are_compared_by_the_bins_that_they_are_of(tmp_path):
    """Those of a logarithmic axis are nearer to each other than a hair of its widest bin."""
    edges = 10.0 ** np.arange(-14, 4.5, 0.5)
    others = edges.copy()
    others[10] *= 2
    for name, these in (("one", edges), ("two", others), ("near", edges * (1 + 1e-15))):
        with ar.create(tmp_path / f"{name}.root") as new:
            new["h"] = (np.ones(len(these) - 1), these)
    with pytest.raises(ar.SchemaMismatchError, match="h: "):
        ar.merge(tmp_path / "all.root", [tmp_path / "one.root", tmp_path / "two.root"])
    ar.merge(tmp_path / "all.root", [tmp_path / "one.root", tmp_path / "near.root"])
    assert ar.open(tmp_path / "all.root")["h"].values().tolist() == [2.0] * (len(edges) - 1)
