"""Histograms that store their filled bins alone are added as hadd does it."""

from __future__ import annotations

import pytest

import arrowroot as ar
from tests.judge import root

from . import sparse_with_root as made
from .trees_with_root import hadd


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sparse")
    root.run(made.make, directory)
    names = [f"s{number}.root" for number in range(made.N_INPUTS)]
    ar.merge(directory / "ours.root", [directory / name for name in names])
    root.run(hadd, directory, "theirs.root", names)
    return directory


@pytest.fixture(scope="module")
def sums(inputs):
    return [root.run(made.found, inputs, f"{name}.root", complaints_but=()) for name in ("ours", "theirs")]


@pytest.mark.parametrize("name", made.SUMS)
def test_sums_of_filled_bins_are_those_of_hadd(sums, name):
    ours, theirs = sums
    assert_same(ours[name], theirs[name], has_mixed_errors="errors in" in name)


def assert_same(ours, theirs, *, has_mixed_errors=False):
    if has_mixed_errors:
        # hadd takes 1 from the sum of all squares for each histogram without errors, whose mark is -1.
        assert 0 <= ours["sums"].pop(1) - theirs["sums"].pop(1) <= made.N_INPUTS
    bins, others = ours.pop("bins"), theirs.pop("bins")
    assert ours == theirs
    assert bins.keys() == others.keys()
    for place, (content, square) in others.items():
        # ROOT takes the root of squares, and its square.
        assert bins[place] == (content, pytest.approx(square, rel=1e-12))


def test_sums_take_more_fills_in_root(inputs):
    ours, theirs = (
        root.run(made.found, inputs, f"{name}.root", True, complaints_but=()) for name in ("ours", "theirs")
    )
    for name in made.SUMS:
        assert_same(ours[name], theirs[name], has_mixed_errors="errors in" in name)


@pytest.mark.parametrize("name", made.REFUSED)
def test_filled_bins_of_other_axes_are_an_error(inputs, tmp_path, name):
    others = dict.fromkeys([other for other in made.REFUSED if other != name], "drop")
    paths = [inputs / f"no{number}.root" for number in range(made.N_INPUTS)]
    with pytest.raises(ar.ArrowrootError, match=rf"no1\.root: {name}: .*{made.REFUSED[name][1]}"):
        ar.merge(tmp_path / "out.root", paths, rules=others)
    report = ar.merge(tmp_path / "out.root", paths, rules=others, on_bad_input="skip")
    assert [one.path for one in report.left_out] == [str(paths[1])]


def test_chunks_make_no_more_memory_than_an_input_takes(tmp_path):
    n_bins = 77_777
    root.run(made.make_one, tmp_path, n_bins)
    path = tmp_path / "one.root"
    ar.merge(tmp_path / "out.root", [path, path])
    content = path.read_bytes()
    # The first is what the histogram says of chunks to come, the others are those of the chunk.
    path.write_bytes(content.replace(n_bins.to_bytes(4, "big"), (2**24).to_bytes(4, "big"), 1))
    with pytest.raises(ar.InvalidRequestError, match="its chunks have other sizes than it says"):
        ar.merge(tmp_path / "out.root", [path, path])
