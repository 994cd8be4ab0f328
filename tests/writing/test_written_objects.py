"""Objects that ROOT wrote, read and written again: the file is the same byte for byte."""

from __future__ import annotations

import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from . import objects_with_root

N_OBJECTS = 30


def records(data: bytes) -> list[tuple[int, bytes]]:
    """The records of a small file, with their offsets."""
    found = []
    at = 100
    while at < len(data):
        n_bytes = int.from_bytes(data[at : at + 4], "big")
        found.append((at, data[at : at + n_bytes]))
        at += n_bytes
    return found


def paths_of(file):
    """Where its objects are, in the order in which they were written."""
    keys = file.key_list()
    return [key.path for key in keys if not key.is_directory]


@pytest.fixture(scope="module")
def of_root(tmp_path_factory):
    """Files of ROOT by seed; with ROOT's fixed date for a clock in UTC."""
    directory = tmp_path_factory.mktemp("objects")
    for seed in range(5):
        root.run(objects_with_root.write, directory, seed)
    return directory


@pytest.mark.parametrize("seed", range(5))
def test_objects_are_written_as_root_writes_them(of_root, tmp_path, seed):
    path = of_root / f"objects-{seed}.root"
    with ar.open(path) as file, ar.create(tmp_path / path.name, reproducible=True, compression="none") as out:
        paths = paths_of(file)
        assert len(paths) == N_OBJECTS
        for name in paths:
            out[name] = file[name]
    ours, theirs = (tmp_path / path.name).read_bytes(), path.read_bytes()
    for mine, other in zip(records(ours), records(theirs), strict=False):
        assert mine == other
    assert ours == theirs


def test_objects_are_read_again_from_a_compressed_file(of_root, tmp_path):
    path = of_root / "objects-0.root"
    written = tmp_path / "written.root"
    with ar.open(path) as file, ar.create(written) as out:
        for name in paths_of(file):
            out[f"in/{name}"] = file[name]
    with ar.open(path) as file, ar.open(written) as again:
        for name in paths_of(file):
            assert repr(again[f"in/{name}"]) == repr(file[name])
        assert written.stat().st_size < path.stat().st_size / 2


def test_what_a_class_does_not_have_is_an_error_and_the_file_goes_on(of_root, tmp_path):
    from arrowroot._writing.objects import record_of

    written = tmp_path / "written.root"
    with ar.create(written) as out:
        with pytest.raises(ar.UnsupportedError, match="fTitle"):
            out["n"] = record_of("TNamed", {"fUniqueID": 0, "fBits": 0, "fName": "n"})
        with pytest.raises(ar.UnsupportedError, match="TNoSuchClass"):
            out["n"] = record_of("TNoSuchClass", {})
        members = {"fUniqueID": 0, "fBits": 0, "fName": "n", "fVal": 0.5}
        with pytest.raises(ar.UnsupportedError, match="fVal"):
            out["n"] = record_of("TParameter<int>", members)
        with ar.open(of_root / "objects-0.root") as file:
            histogram = file["one/d"]
            histogram._members["fArray"] = np.zeros(3)
            with pytest.raises(ar.UnsupportedError, match="3 numbers where"):
                out["h"] = histogram
        out["text"] = "text"
    with ar.open(written) as file:
        assert paths_of(file) == ["text"]
