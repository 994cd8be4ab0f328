"""`arrowroot merge --verify` of columns that nobody can decode."""

from __future__ import annotations

import pytest

import arrowroot as ar
from arrowroot.cli.merge_check import Comparing
from tests.command import done_here


def test_bytes_are_compared_of_what_is_written_by_code_of_its_own(conformance, tmp_path):
    for name, part in (("a", slice(0, 5)), ("b", slice(5, 10))):
        ar.skim(conformance / "skhep" / "uproot-issue-607.root", tmp_path / f"{name}.root", entries=part)
    said = done_here("merge", "out.root", "a.root", "b.root", "--verify", cwd=tmp_path)
    assert "MGTree  10 entries of 2 files" in said
    merged = ar.merge(tmp_path / "again.root", [tmp_path / "a.root", tmp_path / "b.root"]).outputs[0]
    turned = [str(tmp_path / "b.root"), str(tmp_path / "a.root")]
    with pytest.raises(ar.CorruptFileError, match=r"read back, is not what was read: .*event"):
        Comparing({}, None)(merged.path, turned, merged.objects)
