"""Tables that say which entries come from which input."""

from __future__ import annotations

import numpy as np
import pytest

import arrowroot as ar
from tests.command import done_here


@pytest.fixture(params=["ttree", "rntuple"])
def inputs(tmp_path, request):
    paths = [tmp_path / f"in{number}.root" for number in range(4)]
    for number, path in enumerate(paths):
        with ar.create(path) as file:
            for name in ("t", "d/t") if number != 2 else ("t",):
                with file.tree(name, {"a": np.int64}, layout=request.param) as table:
                    table.append({"a": np.arange(10 * number)})
    return paths


def origins(path, name):
    """The origins of a table: those of a tree are beside it, an RNTuple has them itself."""
    with ar.open(path) as file:
        if any(key.class_name == "TTree" for key in file.key_list()):
            return file[f"{name}_inputs"].to_arrow().to_pylist()
        assert not [key for key in file.key_list() if key.name.endswith("_inputs")]
        return file[name].attributes["inputs"].to_arrow().to_pylist()


def test_entries_are_said_to_come_from_their_inputs(inputs, tmp_path):
    report = ar.merge(tmp_path / "out.root", inputs, provenance=True)
    uuids = [ar.open(path).uuid for path in inputs]
    assert origins(tmp_path / "out.root", "t") == [
        {"input": str(path), "uuid": uuid, "first_entry": first, "n_entries": n_entries}
        for path, uuid, first, n_entries in zip(inputs, uuids, (0, 0, 10, 30), (0, 10, 20, 30), strict=True)
    ]
    read = [(one["input"], one["first_entry"]) for one in origins(tmp_path / "out.root", "d/t")]
    assert read == [(str(inputs[0]), 0), (str(inputs[1]), 0), (str(inputs[3]), 10)]
    assert [one.path for one in report.objects] == ["t", "d/t"]


def test_an_input_that_is_left_out_is_not_named(inputs, tmp_path):
    inputs[1].write_bytes(inputs[1].read_bytes()[:-100])
    ar.merge(tmp_path / "out.root", inputs, provenance=True, on_bad_input="skip")
    read = [(one["input"], one["first_entry"]) for one in origins(tmp_path / "out.root", "t")]
    assert read == [(str(inputs[0]), 0), (str(inputs[2]), 0), (str(inputs[3]), 20)]


@pytest.mark.parametrize("inputs", ["ttree"], indirect=True)
def test_a_name_that_is_taken_is_refused_before(inputs, tmp_path):
    ar.merge(tmp_path / "out.root", inputs, provenance=True)
    with pytest.raises(ar.InvalidRequestError, match=r"t_inputs is the name of a table of inputs.*rule drop"):
        ar.merge(tmp_path / "again.root", tmp_path / "out.root", provenance=True)
    done_here("merge", "again.root", "out.root", "--provenance", "--rule", "*_inputs=drop", cwd=tmp_path)
    assert [one["input"] for one in origins(tmp_path / "again.root", "t")] == ["out.root"]


@pytest.mark.parametrize("inputs", ["rntuple"], indirect=True)
def test_an_ntuple_keeps_what_it_says(inputs, tmp_path):
    ar.merge(tmp_path / "out.root", inputs, provenance=True)
    with pytest.raises(
        ar.InvalidRequestError, match=r'out.root: (d/)?t says already .*"inputs".*no provenance'
    ):
        ar.merge(tmp_path / "again.root", tmp_path / "out.root", provenance=True)
    ar.merge(tmp_path / "again.root", [inputs[1], tmp_path / "out.root"])
    read = [(one["input"], one["first_entry"]) for one in origins(tmp_path / "again.root", "t")]
    assert read == [(str(path), first) for path, first in zip(inputs, (10, 10, 20, 40), strict=True)]
