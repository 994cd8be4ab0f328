"""Sums of squares of weights that only some inputs have are those of all, wherever the histograms are."""

from __future__ import annotations

import itertools

import pytest

import arrowroot as ar
from tests.judge import root

from . import squares_with_root as made
from .trees_with_root import hadd

#: Sums of squares of all weights in each input, of which 0 stands for none.
SQUARES = {"ones": -1, "weights": 4 + 9 + 16 + 25, "nothing": -1, "zeros": 0}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("squares")
    root.run(made.make, directory)
    return directory


@pytest.mark.parametrize(
    "names",
    [*itertools.product(made.INPUTS, repeat=2), ("nothing", "ones", "weights"), ("zeros", "ones", "nothing")],
    ids="-".join,
)
def test_sums_are_those_of_hadd(inputs, tmp_path, names):
    paths = [inputs / f"{name}.root" for name in names]
    report = ar.merge(tmp_path / "ours.root", paths)
    assert {one.rule for one in report.objects} == {"add"}
    root.run(hadd, tmp_path, "theirs.root", [str(path) for path in paths])
    ours, theirs = (root.run(made.numbers, tmp_path, name) for name in ("ours.root", "theirs.root"))
    if "weights" in names and len(set(names)) > 1:
        # hadd leaves out those of a TProfile that only some inputs have.
        for profile in (0, 3):
            for numbers in (ours, theirs):
                del numbers["array"][profile]["errors"]
    assert ours == theirs
    # hadd takes the mark of a THn that counts none, -1, for a number.
    squares = [SQUARES[name] for name in names]
    counted = sum(one for one in squares if one >= 0) if max(squares) >= 0 else -1
    assert root.run(made.kept, tmp_path, "ours.root") == (
        names[0],
        ["another"] * 2,
        {"THnD": counted, "THnI": counted},
    )


def test_what_may_refer_to_what_moves_is_an_error(inputs):
    root.run(made.make_with_function, inputs)
    paths = [inputs / "function.root", inputs / "weights.root"]
    with pytest.raises(ar.UnsupportedError, match=r"two: .*Sumw2.*functions.*unless it comes first"):
        ar.merge(inputs / "out.root", paths, rules={"[!t]*": "drop"})
    ar.merge(inputs / "out.root", paths[::-1])
