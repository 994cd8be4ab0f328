"""Histograms whose bins are the same polygons are added as hadd does it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from . import polygons_with_root as made
from .trees_with_root import hadd


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("polygons")
    root.run(made.make, directory)
    return directory


@pytest.fixture(scope="module")
def sums(inputs):
    names = [f"sums{number}.root" for number in range(made.N_INPUTS)]
    ar.merge(inputs / "ours.root", [inputs / name for name in names])
    ar.skim([inputs / name for name in names], inputs / "skimmed.root")
    root.run(hadd, inputs, "theirs.root", names)
    return {name: root.run(made.found, inputs, f"{name}.root") for name in ("ours", "skimmed", "theirs")}


@pytest.mark.parametrize("name", made.SUMS)
def test_sums_of_the_same_polygons_are_those_of_hadd(sums, name):
    assert sums["ours"][name] == sums["theirs"][name]
    assert sums["skimmed"][name] == sums["theirs"][name]


def test_sums_of_polygons_are_read_as_root_reads_them(inputs, sums):
    with ar.open(inputs / "ours.root") as file:
        for name in made.SUMS:
            expected = sums["theirs"][name]
            assert np.array_equal(file[name].values(), expected["contents"][10:]), name
            # Bins without entries have NaN for an error in ROOT's profiles.
            errors = np.nan_to_num([float(error) for error in expected["errors"][10:]])
            assert np.array_equal(file[name].errors(), errors), name


@pytest.mark.parametrize("name", made.REFUSED)
def test_other_polygons_are_an_error_that_names_the_histogram(inputs, tmp_path, name):
    others = dict.fromkeys(set(made.REFUSED) - {name}, "drop")
    paths = [inputs / f"refused{number}.root" for number in range(made.N_INPUTS)]
    with pytest.raises(ar.ArrowrootError, match=rf"refused[01]\.root: {name}: .*({made.REFUSED[name]})"):
        ar.merge(tmp_path / "out.root", paths, rules=others)
    ar.merge(tmp_path / "out.root", paths, rules={**others, name: "first"})
    with ar.open(tmp_path / "out.root") as file:
        assert list(file) == [name]


@pytest.mark.parametrize("member", ["fSumw", "fSumvw", "fAverage", "fError", "fContent"])
def test_sums_and_means_that_are_no_doubles_are_refused(tmp_path, member):
    root.run(made.make_plain, tmp_path)
    plain, other = tmp_path / "plain.root", tmp_path / "other.root"
    # The type of a member, behind its name and title in the description of its class, is that of a Long64_t then.
    name = bytes([len(member)]) + member.encode()
    pattern = re.compile(b"(" + name + rb".[ -~]*\0\0\0)\x08(\0\0\0\x08)", re.DOTALL)
    stored, n_changed = pattern.subn(b"\\1\x10\\2", plain.read_bytes())
    assert n_changed >= 1
    other.write_bytes(stored)
    ar.merge(tmp_path / "out.root", [plain, plain])
    values = ar.open(plain)["profile"].values()
    assert 3.0 in values
    assert np.array_equal(ar.open(tmp_path / "out.root")["profile"].values(), values)
    with pytest.raises(ar.UnsupportedError, match="without its sums and means as doubles"):
        ar.merge(tmp_path / "out.root", [other, other])
