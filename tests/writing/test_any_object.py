"""Objects of many of ROOT's classes, read and written again: ROOT's own JSON says the same of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import arrowroot as ar
from tests.judge import root

from . import any_object_with_root
from .invariants import violations

if TYPE_CHECKING:
    from pathlib import Path


def assert_as_sound(ours: Path, theirs: Path) -> None:
    """Fail for a rule that ROOT's file does not break: the checker knows few of these classes."""
    broken = {path: {(one.rule, one.where) for one in violations(path)} for path in (theirs, ours)}
    assert broken[ours] <= broken[theirs]
    ours.unlink()


def test_objects_of_many_classes_are_for_root_what_they_were(tmp_path):
    theirs, ours = tmp_path / "theirs.root", tmp_path / "ours.root"
    root.run(any_object_with_root.write, tmp_path, theirs)
    with ar.open(theirs) as file, ar.create(ours) as out:
        keys = file.key_list()
        assert len(keys) > 30
        for key in keys:
            out[key.path] = file[key.path]
    before, after = (root.run(any_object_with_root.show, tmp_path, path) for path in (theirs, ours))
    assert set(before) == set(after)
    for name, text in after.items():
        assert text == before[name], name
    assert_as_sound(ours, theirs)


def test_an_object_that_leads_back_to_itself_is_one_object(tmp_path):
    theirs, ours = tmp_path / "theirs.root", tmp_path / "ours.root"
    root.run(any_object_with_root.write_circle, tmp_path, theirs)
    with ar.open(theirs) as file, ar.create(ours, compression=None) as out:
        out["circle"] = file["circle"]
    before, after = (
        root.run(any_object_with_root.show_circle, tmp_path, path, complaints_but=())
        for path in (theirs, ours)
    )
    assert after == before
    assert after["leads_back"]
    with ar.open(theirs) as their_file, ar.open(ours) as our_file:
        assert our_file.raw("circle") == their_file.raw("circle")
    assert_as_sound(ours, theirs)
