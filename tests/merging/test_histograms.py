"""Merged histograms are those of hadd: contents, errors, entries, statistics."""

from __future__ import annotations

import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from . import histograms_with_root as made
from .trees_with_root import hadd


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("histograms")
    root.run(made.make, directory)
    return [directory / f"h{number}.root" for number in range(3)]


def test_sums_are_those_of_hadd(inputs):
    directory = inputs[0].parent
    report = ar.merge(directory / "ours.root", inputs)
    rules = {one.path.removeprefix("a/b/"): one.rule for one in report.objects}
    assert {name: rule for name, rule in rules.items() if rule != "add"} == dict.fromkeys(
        ("gTGraph", "gTGraphErrors", "gTGraphAsymmErrors"), "concatenate"
    )
    root.run(hadd, directory, "theirs.root", [path.name for path in inputs])
    ours, theirs = (root.run(made.numbers, directory, name) for name in ("ours.root", "theirs.root"))
    assert len(ours) == len(made.CLASSES) + 12
    assert ours == theirs


def write(path, counts, edges, **more):
    with ar.create(path) as file:
        file["h"] = (np.asarray(counts, float), np.asarray(edges, float))
        for name, value in more.items():
            file[name] = value
    return path


def test_other_axes_are_an_error_that_names_the_axis(tmp_path):
    paths = [write(tmp_path / "1.root", [1, 2], [0, 1, 2]), write(tmp_path / "2.root", [1, 2], [0, 1, 3])]
    with pytest.raises(ar.SchemaMismatchError, match=r"2\.root: h: fXaxis.fXmax differs"):
        ar.merge(tmp_path / "out.root", paths)
    report = ar.merge(tmp_path / "out.root", paths, rules={"h": "first"})
    assert report.objects[0].rule == "first"
    assert ar.open(tmp_path / "out.root")["h"].values().tolist() == [1, 2]


def test_an_object_that_only_some_inputs_have_is_added_of_those(tmp_path):
    paths = [
        write(tmp_path / "1.root", [1, 2], [0, 1, 2]),
        write(tmp_path / "2.root", [3, 4], [0, 1, 2], note="x"),
    ]
    report = ar.merge(tmp_path / "out.root", paths)
    assert [(one.path, one.n_inputs) for one in report.objects] == [("h", 2), ("note", 1)]
    assert ar.open(tmp_path / "out.root")["h"].values().tolist() == [4, 6]


def test_what_is_to_be_unique_is_compared(tmp_path):
    paths = [write(tmp_path / f"{k}.root", [1, 2], [0, 1, 2], note=text) for k, text in enumerate("aab")]
    assert ar.merge(tmp_path / "out.root", paths[:2], rules={"note": "unique"}).objects[1].rule == "unique"
    with pytest.raises(ar.SchemaMismatchError, match="note: it is not that of the inputs before"):
        ar.merge(tmp_path / "out.root", paths, rules={"note": "unique"})


def test_a_bad_input_leaves_the_sums_alone(tmp_path):
    paths = [write(tmp_path / f"{k}.root", [1, 2], [0, 1, 2 + (k == 1)]) for k in range(3)]
    report = ar.merge(tmp_path / "out.root", paths, on_bad_input="skip")
    assert [one.path for one in report.left_out] == [str(paths[1])]
    assert ar.open(tmp_path / "out.root")["h"].values().tolist() == [2, 4]
