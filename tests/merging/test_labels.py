"""Histograms whose axes have labels are added by label, as hadd does it."""

from __future__ import annotations

import pytest

import arrowroot as ar
from tests.judge import root

from . import labels_with_root as made
from .trees_with_root import hadd


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("labels")
    root.run(made.make, directory)
    return [directory / f"l{number}.root" for number in range(made.N_INPUTS)]


@pytest.fixture(scope="module")
def merged(inputs):
    directory = inputs[0].parent
    ar.merge(directory / "ours.root", inputs, rules=dict.fromkeys(made.REFUSED, "drop"))
    root.run(hadd, directory, "theirs.root", [path.name for path in inputs])
    return directory


def test_sums_by_label_are_those_of_hadd(merged):
    ours = root.run(made.found, merged, "ours.root", complaints_but=())
    theirs = root.run(made.found, merged, "theirs.root")
    for name in made.SUMS:
        assert ours[name] == theirs[name], name


def test_a_sum_takes_more_labels_in_root(merged):
    filled = root.run(made.filled_again, merged, "ours.root", complaints_but=())
    assert filled[:4] == [("a", 3), ("b", 2), ("c", 2), ("d", 1)]
    assert ("new", 5) in filled


def test_labels_are_read(merged):
    axis = ar.open(merged / "ours.root")["both axes"].axes[1]
    assert [label for label in axis.labels if label] == ["u", "v", "w"]


@pytest.mark.parametrize("name", made.REFUSED)
def test_labels_that_root_adds_wrongly_are_an_error(inputs, tmp_path, name):
    others = [other for other in (*made.SUMS, *made.REFUSED) if other != name]
    with pytest.raises(ar.SchemaMismatchError, match=rf"l[12]\.root: {name}: .*{made.REFUSED[name][1]}"):
        ar.merge(tmp_path / "out.root", inputs, rules=dict.fromkeys(others, "drop"))


def test_a_bad_input_leaves_labels_alone(inputs, tmp_path):
    others = [other for other in (*made.SUMS, *made.REFUSED) if other != "wider"]
    report = ar.merge(tmp_path / "out.root", inputs, rules=dict.fromkeys(others, "drop"), on_bad_input="skip")
    assert [one.path for one in report.left_out] == [str(inputs[1])]
    # That of bc is left out.
    wider = ar.open(tmp_path / "out.root")["wider"]
    assert [*zip(wider.axes[0].labels, wider.values(), strict=True)][:3] == [("a", 3), ("b", 2), ("c", 1)]
