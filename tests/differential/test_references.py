"""References to objects: of those with a UUID, which ROOT writes instead of the process, the rest is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import arrowroot as ar

from . import root_peer
from .compare import values_of
from .with_references import N_ENTRIES

if TYPE_CHECKING:
    from pathlib import Path

HAS_UUID = 1 << 5


@pytest.fixture(scope="module")
def reference_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("references")
    root_peer.run("with_references.py", directory)
    return directory


def test_references_are_read_whether_or_not_their_object_has_a_uuid(reference_files: Path) -> None:
    numbers = json.loads((reference_files / "references.json").read_text())
    wanted = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
    with ar.open(str(reference_files / "references.root")) as file:
        table = pa.table(file["T"].to_arrow())
    refs, holders = values_of(table, "ref"), values_of(table, "holder")
    assert len(wanted) == N_ENTRIES
    assert {has_uuid for has_uuid, *_ in wanted} == {0, 1}
    for entry, (ref, holder, expected) in enumerate(zip(refs, holders, wanted, strict=True)):
        for one, has_uuid in zip((ref, holder["ref"]), expected, strict=False):
            assert bool(one["fBits"] & HAS_UUID) == bool(has_uuid)
            assert (one["@pidf"] is None) == bool(has_uuid)
            assert one["ref"] > 0
        assert (holder["before"], holder["after"]) == (entry, expected[2])
        assert len(holder["refs"]["refs"]) == entry % 3


def test_members_that_are_branches_are_read_alike(reference_files: Path) -> None:
    names = ("ref", "refs", "after")
    with ar.open(str(reference_files / "references.root")) as file:
        table = pa.table(file["T"].to_arrow(["holder", *(f"split./split.{name}" for name in names)]))
    holders = values_of(table, "holder")
    for name in names:
        assert values_of(table, f"split./split.{name}") == [holder[name] for holder in holders], name
