"""Classes that are written by code of their own, of which no file tells, are told from damage as far as that can be."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest

import arrowroot as ar
from arrowroot._api import chain
from arrowroot._merging.merge import BadInputError
from arrowroot._passes.source import written_by_code
from arrowroot.cli.merge_check import Comparing

from .compare import compiled

MACRO = Path(__file__).with_name("write_own_streamers.C")
#: Entries of a tree and two RNTuples, ``N`` and ``M``, whose fields streamers write. In ``M`` some classes are
#: described, so that the file's descriptions do not count.
SIZES = (1, 5)
OWN = "{} is most likely written by code of its own"
#: An object of a class that is stored as it is described, behind its byte count.
GOOD = bytes.fromhex("0003 11223344 55667788")


files = compiled(MACRO, *(("own.write", f"{n_entries}.root", n_entries) for n_entries in SIZES))


@pytest.mark.parametrize("n_entries", SIZES)
@pytest.mark.parametrize("branch", ["plain", "plains", "large"])
def test_objects_without_a_byte_count_are_unsupported_and_can_be_had_raw(files, branch, n_entries):
    tree = ar.open(files / f"{n_entries}.root")["T"]
    with pytest.raises(ar.UnsupportedError, match=OWN.format("own::Plain")) as caught:
        tree.to_arrow(branch)
    assert "raw=True" in str(caught.value)
    (first, *_) = tree.to_arrow(branch, raw=True).to_pylist()
    assert first[branch].endswith(bytes.fromhex("00000005 3f800000"))


def test_objects_that_all_differ_from_their_description_are_unsupported(files):
    with pytest.raises(ar.UnsupportedError, match=OWN.format("own::Counted")):
        ar.open(files / "5.root")["T"].to_arrow("counted")
    # Of one alone it cannot be known.
    with pytest.raises(ar.CorruptFileError, match="or own::Counted is written by code of its own") as caught:
        ar.open(files / "1.root")["T"].to_arrow("counted")
    assert "raw=True" in str(caught.value)


def test_what_nobody_named_is_left_out_of_tables_with_a_warning(files, monkeypatch):
    tree = ar.open(files / "5.root")["T"]
    assert len(tree.column_names) == 5
    for columns, left in ((None, ["good"]), (["*"], ["good"]), (["g*", "c*"], ["good"])):
        with pytest.warns(ar.UnsupportedColumnWarning, match="written by code of its own: ") as warned:
            found = tree.to_arrow(columns)
        assert found.column_names == left
        (told,) = [str(one.message) for one in warned]
        n_told = "4 branches" if columns is None or columns == ["*"] else "1 branch"
        assert f"left out {n_told} written by code" in told
        assert "counted (own::Counted)" in told
    with pytest.warns(ar.UnsupportedColumnWarning):
        assert tree.to_awkward(entries=slice(1, 3)).fields == ["good"]
    for columns in (["counted", "good"], ["counted"]):
        with pytest.raises(ar.UnsupportedError, match=OWN.format("own::Counted")):
            tree.to_arrow(columns)
    with pytest.raises(ar.UnsupportedError, match=OWN.format("own::Counted")):
        tree.to_arrow(filter="counted.a > 1")
    # Columns may be given by what can be gone through once.
    with pytest.warns(ar.UnsupportedColumnWarning):
        assert tree.to_arrow(iter(["g*", "c*"])).column_names == ["good"]
    with pytest.raises(ar.UnsupportedError, match=OWN.format("own::Counted")):
        tree.to_arrow(iter(["counted", "good"]))
    monkeypatch.setattr(chain, "_N_LEFT_OUT", 3)
    with pytest.raises(ar.UnsupportedError):
        tree.to_arrow()
    monkeypatch.undo()
    with pytest.warns(ar.UnsupportedColumnWarning):
        found = tree.to_arrow(["*", "!plain*"])
    assert found.column_names == ["good"]


def test_what_is_unsupported_for_other_reasons_is_not_left_out_of_tables():
    """As a page elsewhere: only some files may have it."""
    error = ar.UnsupportedError("f.root: x: unsupported: a page outside of a file")
    error.object, error.is_of_one_column = "x", True
    assert written_by_code(error) is None


@pytest.mark.parametrize("n_entries", SIZES)
def test_objects_in_fields_of_rntuples_get_the_same_verdict(files, n_entries):
    ntuple = ar.open(files / f"{n_entries}.root")["N"]
    for field in ("plain", "plains"):
        with pytest.raises(ar.UnsupportedError, match=OWN.format("own::Plain")) as caught:
            ntuple.to_arrow(field)
        # There are no raw bytes to be had.
        assert "raw" not in str(caught.value)
    kind, verdict = (
        (ar.UnsupportedError, OWN.format("own::Counted"))
        if n_entries > 1
        else (ar.CorruptFileError, "or own::Counted is written by code of its own")
    )
    with pytest.raises(kind, match=verdict):
        ntuple.to_arrow("counted")


def test_objects_that_an_rntuple_does_not_describe_are_unsupported_and_others_beside_them_are_read(files):
    ntuple = ar.open(files / "5.root")["M"]
    for field, name in (("plain", "own::Plain"), ("counted", "own::Counted")):
        what = (
            f'field "{field}": objects of {name}, .* class that is written by code of its own nothing is said'
        )
        with pytest.raises(ar.UnsupportedError, match=what):
            ntuple.to_arrow(field)
    with pytest.raises(ar.UnsupportedError, match="own::Plain, which the file does not describe"):
        ntuple.to_arrow("plains")
    good = {"number": 7, "other": 0x55667788}
    found = ntuple.to_arrow(["good", "numbers"]).to_pylist()
    assert found == [{"good": [good] * 2, "numbers": [1.5, -2.0]}] * 5


def test_an_object_is_read_around_one_that_is_not_as_described(files):
    with ar.open(files / "1.root") as file:
        holder = file["holder"]
        assert [holder[name] for name in "ijk"] == [11, 22, 33]
        for name in ("counted", "pointer"):
            assert isinstance(holder[name], ar.Unreadable)
            assert holder[name].class_name == "own::Counted"
        with pytest.raises(ar.CorruptFileError, match="or own::Counted is written by code of its own"):
            file["alone"]
        assert len(file.raw("alone")) > 0


def test_verify_compares_bytes_only_where_a_basket_tells_that_the_objects_are_of_code(files):
    """The one entry of the other file may as well be damaged."""
    for n_entries, is_told in ((5, True), (1, False)):
        path = str(files / f"{n_entries}.root")
        merged = SimpleNamespace(path="T", rule="concatenate", num_entries=n_entries)
        with contextlib.nullcontext() if is_told else pytest.raises(BadInputError):
            Comparing({}, None)(path, [path], [merged])


def test_damage_to_objects_of_which_others_are_as_described_is_no_code_of_their_own(files, tmp_path):
    whole = (files / "5.root").read_bytes()
    assert whole.count(GOOD) == 2 * 5
    # The byte count of the last object, and all of it; what is behind it does not fit either.
    for n_bytes in (4, 14):
        place = whole.rindex(GOOD) - 4
        damaged = tmp_path / f"{n_bytes}.root"
        damaged.write_bytes(whole[:place] + b"\x01" * n_bytes + whole[place + n_bytes :])
        with pytest.raises(ar.CorruptFileError) as caught:
            ar.open(damaged)["T"].to_arrow("good")
        assert "code of its own" not in str(caught.value)
