"""Objects beside the tree of a skim: of one input as they were, of several as a merge has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import arrowroot as ar
from tests.command import run_here
from tests.judge import root

from . import skimmed_with_root as made_by_root


@pytest.mark.parametrize("more", [{}, {"compression": "zstd:5"}], ids=["as they are", "compressed anew"])
def test_objects_of_any_class_are_what_they_were(tmp_path, more):
    root.run(made_by_root.write_beside, tmp_path, "in.root")
    outputs = {str(tmp_path / "one.root"): None, str(tmp_path / "two.root"): "x > 1"}
    made = ar.skim(tmp_path / "in.root", tree="Events", outputs=outputs, **more)
    assert made.left_out == []
    expected = root.run(made_by_root.told_beside, tmp_path, "in.root")
    with ar.open(tmp_path / "in.root") as before:
        for number, path in enumerate(outputs):
            found = root.run(made_by_root.told_beside, tmp_path, Path(path).name)
            assert sorted(found.splitlines()) == sorted(expected.splitlines())
            with ar.open(path) as after:
                assert after["Events"].num_entries == (3, 1)[number]
                assert [after.raw(name) for name in made.objects if name != "d"] == [
                    before.raw(name) for name in made.objects if name != "d"
                ]
                stored = [{key.path: key.stored_bytes for key in file.key_list()} for file in (before, after)]
                assert all(stored[0][name] == stored[1][name] for name in made.objects) == (not more)


def test_objects_of_several_inputs_are_those_of_a_merge(tmp_path):
    paths = [tmp_path / "a.root", tmp_path / "b.root"]
    for number, path in enumerate(paths):
        root.run(made_by_root.write_beside, tmp_path, path.name, number)
        with ar.create(tmp_path / f"{path.stem}_more.root") as file:
            file["Events"] = {"x": np.arange(3.0)}
            file["d/h"] = np.histogram(np.arange(5 + number), bins=3, range=(0, 9))
            file["note"] = f"of {number}"
    # Those that a merge refuses are refused, and rules are its rules.
    with pytest.raises(ar.UnsupportedError, match="points: a TGraph2D is not merged yet"):
        ar.skim(paths, tmp_path / "skim.root", "Events")
    rules = {"points": "first", "numbers": "unique"}
    with pytest.raises(ar.SchemaMismatchError, match="numbers: it is not that of the inputs before"):
        ar.skim(paths, tmp_path / "skim.root", "Events", rules=rules)
    rules["numbers"] = "all"
    more = [tmp_path / "a_more.root", tmp_path / "b_more.root"]
    for given, of_given in ((paths, rules), (more, {})):
        made = ar.skim(given, tmp_path / "skim.root", "Events", filter="x > 0", rules=of_given)
        report = ar.merge(tmp_path / "merged.root", given, rules=of_given)
        assert made.objects == [one.path for one in report.objects if one.path != "Events"]
        with ar.open(tmp_path / "skim.root") as ours, ar.open(tmp_path / "merged.root") as merged:
            keys = [(key.path, key.class_name, key.cycle) for key in merged.key_list()]
            assert sorted((key.path, key.class_name, key.cycle) for key in ours.key_list()) == sorted(keys)
            for path, class_name, cycle in keys:
                if class_name not in ("TTree", "TDirectory"):
                    assert ours.raw(f"{path};{cycle}") == merged.raw(f"{path};{cycle}"), path


def put(path, first, edges=(0, 1, 2), **more):
    with ar.create(path) as file:
        file["t"] = {"x": np.arange(first, first + 3)}
        file["h"] = (np.ones(len(edges) - 1), np.asarray(edges, float))
        for name, value in more.items():
            file[name] = value
    return str(path)


def test_an_input_whose_objects_do_not_fit_is_a_bad_one(tmp_path):
    paths = [put(tmp_path / f"{k}.root", 10 * k, (0, 1, 3) if k == 1 else (0, 1, 2)) for k in range(3)]
    with pytest.raises(ar.SchemaMismatchError, match=r"1\.root: h: fXaxis"):
        ar.skim(paths, tmp_path / "out.root", "t")
    assert not (tmp_path / "out.root").exists()
    outputs = {str(tmp_path / "one.root"): None, str(tmp_path / "two.root"): "x > 0"}
    made = ar.skim(paths, tree="t", outputs=outputs, on_bad_input="skip")
    assert [path for path, _ in made.bad_inputs] == paths[1:2]
    for path, n_entries in zip(outputs, (6, 5), strict=True):
        with ar.open(path) as file:
            assert (file["t"].num_entries, file["h"].values().tolist()) == (n_entries, [2, 2])
    made = ar.skim(paths, tmp_path / "out.root", "t", rules={"h": "drop"})
    assert (made.objects, made.outputs[0].num_entries) == ([], 9)


def test_rules_that_no_object_has_are_told_and_trees_that_are_objects_elsewhere_are_an_error(tmp_path):
    paths = [put(tmp_path / "0.root", 0, both="x"), put(tmp_path / "1.root", 0, both={"y": [1]})]
    made = ar.skim(paths[0], tmp_path / "out.root", "t", rules={"g_*": "first", "h": "first"})
    assert made.unused_rules == made.to_dict()["unused_rules"] == ["g_*"]
    for line in (["merge", tmp_path / "out.root", paths[0]], ["skim", paths[0], tmp_path / "out.root"]):
        ended = run_here(*line, "--force", "--rule", "g_*=first")
        assert (ended.returncode, "--rule g_*: no object has this name or path" in ended.stderr) == (0, True)
    with pytest.raises(ar.InvalidRequestError, match='no rule "frist"'):
        ar.skim(paths[0], tmp_path / "out.root", "t", rules={"h": "frist"})
    (tmp_path / "out.root").unlink()
    for wrong in (["h"], {1: "first"}, {"h": None}, "h"):
        with pytest.raises(ar.InvalidRequestError, match="rules: expected rules by patterns"):
            ar.skim(paths[0], tmp_path / "out.root", "t", rules=wrong)
        with pytest.raises(ar.InvalidRequestError, match="rules: expected rules by patterns"):
            ar.merge(tmp_path / "out.root", paths, rules=wrong)
    for order in (paths, paths[::-1]):
        with pytest.raises(
            ar.SchemaMismatchError, match="'both' is a tree, and another object in some inputs"
        ):
            ar.skim(order, tmp_path / "out.root", "t")
    ended = run_here(
        "skim", *paths, tmp_path / "out.root", "--tree", "t", "--carry", "!both", "--rule", "h=first"
    )
    assert ended.returncode == 0, ended.stderr
    assert ar.open(tmp_path / "out.root")["h"].values().tolist() == [1, 1]


def test_a_list_with_trees_in_a_directory_is_left_out_and_its_neighbours_come_along(tmp_path):
    root.run(made_by_root.write_trees_in_a_list, tmp_path, "in.root")
    made = ar.skim(tmp_path / "in.root", tmp_path / "out.root")
    assert [path for path, _ in made.left_out] == ["d/lst"]
    assert made.objects == ["d/note"]
    with ar.open(tmp_path / "out.root") as file:
        assert {key.path for key in file.key_list()} == {"Events", "d", "d/note"}


def test_an_object_does_not_hide_a_tree_that_gets_its_name(tmp_path):
    with ar.create(tmp_path / "in.root") as file:
        file["Events"], file["h"] = {"x": np.arange(3.0)}, np.histogram([1, 2], bins=3)
    with pytest.raises(ar.SchemaMismatchError, match="'h' is a tree, and another object in some inputs"):
        ar.skim(tmp_path / "in.root", f"{tmp_path}/out.root:h")
    assert not (tmp_path / "out.root").exists()
    ar.skim(tmp_path / "in.root", f"{tmp_path}/out.root:h", carry="!h")
    assert ar.open(tmp_path / "out.root").trees == ["h"]


def test_rules_count_for_one_input_too(tmp_path):
    with ar.create(tmp_path / "in.root") as file:
        file["Events"], file["h"] = {"x": np.arange(3.0)}, np.histogram([1, 2], bins=3)
    made = ar.skim(tmp_path / "in.root", tmp_path / "out.root", rules={"*": "drop"})
    assert made.objects == []
    with pytest.raises(ar.InvalidRequestError, match="frist"):
        ar.skim(tmp_path / "in.root", tmp_path / "out.root", rules={"*": "frist"})
