"""Skims of several trees of one file: patterns of their names, and what a file has besides."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arrowroot as ar
from tests.command import run_here


@pytest.fixture
def frames(tmp_path):
    """Two files of trees in directories, as ALICE writes them, with others beside and a histogram."""
    for number, names in enumerate((["DF_2", "DF_10"], ["DF_3"])):
        with ar.create(tmp_path / f"frames{number}.root") as file:
            for name in names:
                first = 10 * int(name[3:])
                file[f"{name}/O2aod"] = {"x": [first, first + 1, first + 2]}
                file[f"{name}/O2bc"] = {"b": [first]}
            file["meta"] = {"m": [number]}
            file["h"] = np.histogram([0.5, 1.5], bins=2, range=(0, 2))
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"resume": True},
        {"missing": "null"},
        {"on_bad_input": "skip"},
        {"executor": ThreadPoolExecutor(2)},
    ],
)
def test_the_trees_of_a_pattern_become_one_and_what_else_a_file_has_comes_once(frames, options):
    wanted = "x % 10 > 0"
    made = ar.skim(f"{frames}/frames*.root", f"{frames}/o.root:all", "DF_*/O2aod", filter=wanted, **options)
    assert [one.url for one in made.inputs] == [
        f"{frames}/frames0.root:DF_2/O2aod", f"{frames}/frames0.root:DF_10/O2aod", f"{frames}/frames1.root",
    ]  # fmt: skip
    with ar.open(frames / "o.root") as file:
        read = {name: file[name].to_arrow().to_pydict() for name in file.trees}
        assert file["h"].values().tolist() == [2, 2]
    assert read == {
        "all": {"x": [21, 22, 101, 102, 31, 32]}, "meta": {"m": [0, 1]},
        "DF_2/O2bc": {"b": [20]}, "DF_10/O2bc": {"b": [100]}, "DF_3/O2bc": {"b": [30]},
    }  # fmt: skip


def test_the_tree_of_a_pattern_has_the_name_of_the_first(frames):
    done = run_here(
        "skim", f"{frames}/frames*.root:DF_*/O2aod", frames / "o.root", "--carry", "none", "--verify"
    )
    assert (done.returncode, "more than once" in done.stderr) == (0, False), done.stderr
    with ar.open(frames / "o.root") as file:
        assert file.trees == ["DF_2/O2aod"]
        assert file["DF_2/O2aod"].to_arrow()["x"].to_pylist() == [20, 21, 22, 100, 101, 102, 30, 31, 32]
    assert "DF_2/O2aod" in run_here("skim", frames / "frames0.root:DF_*/O2aod", "new.root", "--plan").stdout
    with pytest.raises(ar.NotFoundError, match="no tree matches 'O2\\*'"):
        ar.skim(frames / "frames0.root", frames / "o.root", "O2*")
    with pytest.raises(ar.InvalidRequestError, match="entries: they are those of one input, and there are 2"):
        ar.skim(frames / "frames0.root", frames / "o.root", "DF_*/O2aod", entries=range(1))


def test_a_file_goes_with_the_first_of_its_trees_that_is_bad(frames):
    with ar.create(frames / "bad.root") as file:
        for name, values in {"DF_1/O2aod": ["text"], "DF_2/O2aod": [7]}.items():
            file[name] = {"x": values}
    names = [f"{frames}/frames1.root", f"{frames}/bad.root"]
    made = ar.skim(names, frames / "o.root", "DF_*/O2aod", on_bad_input="skip", carry=False)
    assert [url for url, _ in made.bad_inputs] == [f"{frames}/bad.root:DF_{k}/O2aod" for k in (1, 2)]
    assert made.outputs[0].num_entries == 3
