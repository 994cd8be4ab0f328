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
        ("gTGraph", "gTGraphErrors", "gTGraphAsymmErrors", "gTGraphBentErrors"), "concatenate"
    )
    root.run(hadd, directory, "theirs.root", [path.name for path in inputs])
    ours, theirs = (root.run(made.numbers, directory, name) for name in ("ours.root", "theirs.root"))
    assert len(ours) == len(made.CLASSES) + 18
    # TProfile::Add keeps the sums of squares that came with the second, which hadd drops.
    theirs["later_averaged"] = root.run(
        made.added, directory, [path.name for path in inputs], "later_averaged"
    )
    assert ours == theirs


def test_axes_of_graphs_are_those_of_the_first_input(tmp_path):
    root.run(made.make_graphs, tmp_path)
    for names in (["g0.root"], ["g0.root", "g1.root", "g2.root"], ["g2.root", "g0.root"]):
        ar.merge(tmp_path / "ours.root", [tmp_path / name for name in names])
        root.run(hadd, tmp_path, "theirs.root", names)
        ours, theirs = (root.run(made.graphs, tmp_path, name) for name in ("ours.root", "theirs.root"))
        assert ours == theirs


def write(path, counts, edges, **more):
    with ar.create(path) as file:
        file["h"] = (np.asarray(counts, float), np.asarray(edges, float))
        for name, value in more.items():
            file[name] = value
    return path


def test_other_axes_are_an_error_that_names_the_axis(tmp_path):
    paths = [write(tmp_path / "1.root", [1, 2], [0, 1, 2]), write(tmp_path / "2.root", [1, 2], [0, 1, 3])]
    with pytest.raises(ar.SchemaMismatchError, match=r"2\.root: h: fXaxis: its bins do not lie in those"):
        ar.merge(tmp_path / "out.root", paths)
    report = ar.merge(tmp_path / "out.root", paths, rules={"h": "first"})
    assert report.objects[0].rule == "first"
    assert ar.open(tmp_path / "out.root")["h"].values().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("edges", "axis"),
    [([0, 1, 3], "fXaxis.fXmax"), ([0, 1, 2, 3], "fXaxis.fNbins"), ([0.5, 1, 1.5], "fXaxis.fXmin")],
)
def test_other_axes_in_a_list_are_an_error_that_names_the_axis(tmp_path, edges, axis):
    paths = [tmp_path / "1.root", tmp_path / "2.root"]
    for path, one in zip(paths, ([0, 1, 2], edges), strict=True):
        h = (np.ones(len(one) - 1), np.asarray(one, float))
        with ar.create(path) as file:
            file["list"] = [h, h]
    with pytest.raises(ar.SchemaMismatchError, match=rf"2\.root: list: 0\.{axis} differs"):
        ar.merge(tmp_path / "out.root", paths)


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


def test_histograms_in_other_objects_are_added_as_hadd_does(tmp_path):
    root.run(made.make_compounds, tmp_path)
    inputs = [tmp_path / f"c{number}.root" for number in range(3)]
    report = ar.merge(tmp_path / "ours.root", inputs)
    rules = {one.path: one.rule for one in report.objects}
    assert rules == dict.fromkeys(made.COMPOUNDS, "add") | {"texts": "first"}
    root.run(hadd, tmp_path, "theirs.root", [path.name for path in inputs])
    ours, theirs = (root.run(made.compounds, tmp_path, name) for name in ("ours.root", "theirs.root"))
    assert ours == theirs


def test_fills_beyond_the_axes_and_those_that_cancel_leave_the_statistics_of_others(tmp_path):
    """By hadd's statistics. Of fills that cancel it takes the bins' centres; they are in one bin here."""
    root.run(made.make_odd_fills, tmp_path)
    for number, inputs in enumerate(
        (["some", "beyond"], ["beyond", "some"], ["some", "cancelled"], ["some", "beyond", "more"])
    ):
        paths = [f"{name}.root" for name in inputs]
        ar.merge(tmp_path / f"ours{number}.root", [tmp_path / path for path in paths])
        root.run(hadd, tmp_path, f"theirs{number}.root", paths)
        ours, theirs = (
            root.run(made.odd_fills, tmp_path, f"{who}{number}.root") for who in ("ours", "theirs")
        )
        assert ours == theirs


def test_lists_of_other_histograms_are_an_error(tmp_path):
    root.run(made.make_compounds, tmp_path)
    root.run(made.make_other_list, tmp_path)
    with pytest.raises(ar.SchemaMismatchError, match=r"list: .* cannot be added"):
        ar.merge(tmp_path / "out.root", [tmp_path / "c0.root", tmp_path / "other.root"])
    with pytest.raises(ar.UnsupportedError, match=r"trees: .*a TTree in a list"):
        ar.merge(tmp_path / "out.root", [tmp_path / "trees.root"])


def test_fills_in_the_buffer_of_a_later_input_are_not_lost(tmp_path):
    root.run(made.make_buffered, tmp_path)
    paths = [tmp_path / "b0.root", tmp_path / "b1.root"]
    with pytest.raises(ar.UnsupportedError, match=r"b1\.root: h: .*fills that are in no bin yet"):
        ar.merge(tmp_path / "out.root", paths)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_parameters_are_joined_in_their_manner(tmp_path, order):
    root.run(made.make_parameters, tmp_path)
    names = [f"p{number}.root" for number in order]
    ar.merge(tmp_path / "ours.root", [tmp_path / name for name in names])
    ar.skim([tmp_path / name for name in names], tmp_path / "skimmed.root")
    root.run(hadd, tmp_path, "theirs.root", names)
    ours, skimmed, theirs = (
        root.run(made.parameters, tmp_path, f"{name}.root") for name in ("ours", "skimmed", "theirs")
    )
    assert len(theirs) == 6 * 7
    assert ours == theirs
    assert skimmed == theirs


def test_two_objects_of_one_path_are_an_error(tmp_path):
    root.run(made.make_crossing, tmp_path)
    with pytest.raises(ar.SchemaMismatchError, match="d/h: two objects have this path"):
        ar.merge(tmp_path / "out.root", [tmp_path / "x.root"])


def test_the_objects_of_all_inputs_become_cycles_by_rule(tmp_path):
    paths = [write(tmp_path / f"{k}.root", [1, 2], [0, 1, 2], note=f"text {k}") for k in range(3)]
    report = ar.merge(tmp_path / "out.root", paths, rules={"note": "all", "h": "first"})
    assert [(one.path, one.rule, one.n_inputs) for one in report.objects] == [
        ("h", "first", 3),
        ("note", "all", 3),
    ]
    file = ar.open(tmp_path / "out.root")
    assert [str(file[f"note;{cycle}"]) for cycle in (1, 2, 3)] == ["text 0", "text 1", "text 2"]


def test_inputs_with_the_same_objects_in_another_order_are_added_by_name(tmp_path):
    paths = []
    for number, names in enumerate(("ab", "ab", "ba", "bac", "ab")):
        paths.append(tmp_path / f"{number}.root")
        with ar.create(paths[-1]) as file:
            for name in names:
                file[name] = (np.asarray([ord(name), number], float), np.asarray([0, 1, 2], float))
    report = ar.merge(tmp_path / "out.root", paths)
    assert [(one.path, one.n_inputs) for one in report.objects] == [("a", 5), ("b", 5), ("c", 1)]
    file = ar.open(tmp_path / "out.root")
    assert [file[name].values().tolist() for name in "abc"] == [[97 * 5, 10], [98 * 5, 10], [99, 3]]


def test_many_histograms_are_added_by_several_threads(tmp_path):
    # More bytes than one thread is worth.
    values = np.arange(20_000, dtype=float)
    paths = [tmp_path / f"{number}.root" for number in range(3)]
    for path in paths:
        with ar.create(path) as file:
            for number in range(10):
                file[f"h{number}"] = (values + number, np.arange(20_001, dtype=float))
    ar.merge(tmp_path / "out.root", paths)
    file = ar.open(tmp_path / "out.root")
    for number in range(10):
        assert (file[f"h{number}"].values() == 3 * (values + number)).all()
