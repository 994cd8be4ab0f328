"""Names and titles stay what they are; objects of which each input has a part are not kept from one alone."""

from __future__ import annotations

import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from . import kept_with_root as made
from .trees_with_root import hadd


def test_names_that_are_no_paths_and_titles_of_directories_stay(tmp_path):
    root.run(made.make_names, tmp_path)
    paths = [tmp_path / "n0.root", tmp_path / "n1.root"]
    report = ar.merge(tmp_path / "ours.root", paths)
    assert len(report.objects) == 3 * (len(made.NAMES) + 1)
    root.run(hadd, tmp_path, "theirs.root", ["n0.root", "n1.root"])
    ours, theirs = (root.run(made.names, tmp_path, name) for name in ("ours.root", "theirs.root"))
    assert ours == theirs
    assert ours["d"] == ["title 0", dict.fromkeys(made.NAMES, 3.0) | {"t/u": 2}]


@pytest.mark.parametrize("name", made.PARTS)
def test_objects_of_which_each_input_has_a_part_are_an_error_with_the_rules(tmp_path, name):
    root.run(made.make_parts, tmp_path)
    paths = [tmp_path / "part0.root", tmp_path / "part1.root"]
    others = dict.fromkeys(set(made.PARTS) - {name}, "drop")
    with pytest.raises(ar.UnsupportedError, match=rf"part0\.root: {name}: .*the rules first, all or drop"):
        ar.merge(tmp_path / "out.root", paths, rules=others)
    ar.merge(tmp_path / "out.root", paths, rules={**others, name: "all"})
    with ar.open(tmp_path / "out.root") as file:
        assert list(file) == [name]


def test_sums_of_integers_stop_where_those_of_hadd_do(tmp_path):
    root.run(made.make_limits, tmp_path)
    names = [f"i{number}.root" for number in range(3)]
    ar.merge(tmp_path / "ours.root", [tmp_path / name for name in names])
    root.run(hadd, tmp_path, "theirs.root", names)
    ours, theirs = (root.run(made.limits, tmp_path, name) for name in ("ours.root", "theirs.root"))
    assert ours == theirs


def test_fills_in_buffers_that_bins_have_too_are_counted_once(tmp_path):
    """Beside a histogram with all fills: hadd has those of the first input alone."""
    root.run(made.make_buffers, tmp_path)
    ar.merge(tmp_path / "ours.root", [tmp_path / f"b{number}.root" for number in range(3)])
    ours, filled = (root.run(made.buffers, tmp_path, name) for name in ("ours.root", "all.root"))
    assert ours == filled
    assert filled["one"][1] == 18


def test_the_error_says_which_numbers_have_no_sign(tmp_path):
    paths = [tmp_path / "signed.root", tmp_path / "unsigned.root"]
    for path, kind in zip(paths, (np.int32, np.uint32), strict=True):
        ar.write(f"{path}:t", {"x": np.arange(3, dtype=kind)})
    with pytest.raises(
        ar.SchemaMismatchError, match='"x": an unsigned TLeafI "x", in the inputs before TLeafI "x"'
    ):
        ar.merge(tmp_path / "out.root", paths)


def test_one_input_and_an_output_that_is_there_may_both_be_meant_as_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.root", "b.root"):
        ar.write(f"{name}:t", {"x": [1, 2]})
    before = (tmp_path / "a.root").read_bytes()
    with pytest.raises(
        ar.InvalidRequestError, match=r"'a\.root' is there, and a copy of 'b\.root' would replace it"
    ) as raised:
        ar.merge("a.root", "b.root")
    assert (tmp_path / "a.root").read_bytes() == before
    together, replacing = str(raised.value).split("write ")[1].split(", to replace it ")
    exec(together, {"ar": ar})  # noqa: S102 - the line that is told
    assert ar.open("all.root")["t"].num_entries == 4
    exec(replacing, {"ar": ar})  # noqa: S102 - the line that is told
    assert ar.open("a.root")["t"].num_entries == 2
    ar.merge("c.root", "b.root")
    ar.merge("c.root", "b*.root")
