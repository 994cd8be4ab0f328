"""Files with trees of objects that ROOT updates and merges: what comes of it is right, and follows the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from . import go_on_with_root
from .invariants import assert_sound
from .test_root_goes_on import assert_holds

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

LAYOUTS: dict[str, dict[str, Any]] = {
    "split": {"split": 99},
    "object-wise": {"split": 0},
    "member-wise": {"split": 0, "memberwise": True},
}


def table_of(seed: int, n: int = 300) -> pa.Table:
    members = [
        pa.field("pt", pa.float32(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("hits", pa.list_(pa.field("item", pa.int16(), nullable=False)), nullable=False),
    ]
    kind = pa.struct(members)
    values = [
        {
            "pt": 0.5 * (k + seed),
            "name": ["", "signal", "z" * 300][(k + seed) % 3],
            "hits": list(range(k % 4)),
        }
        for k in range(n)
    ]
    lists = [values[k : k + k % 3] for k in range(n)]
    item = pa.field("item", kind, nullable=False)
    schema = pa.schema(
        [pa.field("event", kind, nullable=False), pa.field("tracks", pa.list_(item), nullable=False)]
    )
    return pa.table([pa.array(values, kind), pa.array(lists, pa.list_(item))], schema=schema)


def write(path: Path, table: pa.Table, layout: str, **options: Any) -> Path:
    ar.write(f"{path}:Events", table, layout=ar.Layout(**LAYOUTS[layout]), flush=100, **options)
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_that_root_updated_has_what_it_had(tmp_path, layout):
    table = table_of(3)
    root.run(
        go_on_with_root.update,
        tmp_path,
        tmp_path / "updated.root",
        write(tmp_path / "file.root", table, layout),
    )
    assert_holds(tmp_path / "updated.root", table)
    # The part that ROOT frees at the end stays there, after fEND.
    assert_sound(tmp_path / "updated.root", but=["file-end"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hadd_merges_files_with_objects(tmp_path, layout):
    tables = [table_of(seed) for seed in (1, 2)]
    files = [write(tmp_path / f"{seed}.root", table, layout) for seed, table in enumerate(tables)]
    # It has no dictionary of the classes, and says so.
    root.program("hadd", tmp_path / "merged.root", *files, but=("no dictionary for class Events_",))
    with ar.open(tmp_path / "merged.root") as file:
        assert file["Events"].to_arrow().equals(pa.concat_tables(tables))
    assert_sound(tmp_path / "merged.root", but=["info-once"])
