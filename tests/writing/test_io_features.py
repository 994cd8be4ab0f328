"""With ``kGenerateOffsetMap`` ROOT reads other values of some lists, of its own files too: docs/writing.md says which.

A test that fails because ROOT reads rightly calls for another text there and in ``FewReadersWarning``.
"""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from . import io_features_with_root

if TYPE_CHECKING:
    from pathlib import Path

PARTS = ("RDataFrame, filtered", "RDataFrame, from 2", "Draw, cut", "Draw, from 2")
ALL = ("RDataFrame", "TTreeReader", "Draw")
#: How many items the lists have.
COUNTS = {
    "full": [2, 1, 3, 2, 4, 1, 2, 3],
    "empty-first": [0, 0, 1, 3, 2, 4, 1, 2, 3],
    "empty-second": [2, 0, 1, 3, 2, 4, 0, 2, 3],
    "of-arrays": [2, 1, 3, 2, 4, 1, 2, 3],
    "three-columns": [1 + place % 4 for place in range(300)],
}
NAMES = {"three-columns": ("v", "w", "u")}
#: Baskets of these sizes end at different entries.
BASKET_SIZES = {"v": 900, "w": 32000, "u": 1300}


@pytest.fixture(scope="module")
def trees() -> dict[str, dict[str, Any]]:
    chance = random.Random(31)
    return {
        name: {
            "counts": counts,
            "dims": (dims := [3] if name == "of-arrays" else []),
            "basket_sizes": BASKET_SIZES,
            "columns": {
                column: [[value(chance, dims) for _ in range(count)] for count in counts]
                for column in NAMES.get(name, "v")
            },
        }
        for name, counts in COUNTS.items()
    }


def value(chance: random.Random, dims: list[int]) -> Any:
    return [chance.randrange(1000) for _ in range(dims[0])] if dims else chance.randrange(1000)


@pytest.fixture(scope="module")
def read(trees, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The lists that ROOT reads, by file and way."""
    directory = tmp_path_factory.mktemp("features")
    for name, tree in trees.items():
        write(directory / f"{name}-ours.root", tree)
    by_root: dict[str, Any] = root.run(io_features_with_root.write_and_read, directory, trees)
    for name, tree in trees.items():
        for path in directory.glob(f"{name}-*.root"):
            with ar.open(path) as file:
                found = file["t"].to_arrow(list(tree["columns"])).to_pydict()
            assert found == tree["columns"], path.name
    return by_root


def write(path: Path, tree: dict[str, Any]) -> None:
    item = pa.int32()
    for n_items in tree["dims"]:
        item = pa.list_(pa.field("item", item, nullable=False), n_items)
    schema = pa.schema(
        [
            pa.field(name, pa.list_(pa.field("item", item, nullable=False)), nullable=False)
            for name in tree["columns"]
        ]
    )
    layout = ar.Layout(io_features="kGenerateOffsetMap", flush=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ar.FewReadersWarning)
        ar.write(f"{path}:t", pa.table(tree["columns"], schema=schema), schema=schema, layout=layout)


@pytest.mark.long
@pytest.mark.parametrize("by", ["ours", "root"])
@pytest.mark.parametrize("name", ["full", "empty-second"])
def test_all_entries_are_read_where_each_basket_begins_with_items(read, trees, name, by):
    assert_read(read[f"{name}-{by}.root"], trees[name], ALL, rightly=True)


@pytest.mark.parametrize("by", ["ours", "root"])
@pytest.mark.parametrize("name", ["full", "empty-second"])
def test_other_values_are_read_of_parts(read, trees, name, by):
    assert_read(read[f"{name}-{by}.root"], trees[name], PARTS, rightly=False)


@pytest.mark.parametrize("by", ["ours", "root"])
def test_other_values_are_read_behind_an_empty_list_that_begins_a_basket(read, trees, by):
    assert_read(read[f"empty-first-{by}.root"], trees["empty-first"], ALL + PARTS, rightly=False)


@pytest.mark.parametrize("by", ["ours", "root"])
def test_other_values_are_drawn_of_lists_of_arrays(read, trees, by):
    assert_read(read[f"of-arrays-{by}.root"], trees["of-arrays"], ("Draw",), rightly=False)


def test_other_values_are_read_of_columns_whose_baskets_end_at_different_entries(read, trees):
    told = read["three-columns-root.root"]["together"]
    assert told != trees["three-columns"]["columns"]
    assert_read(read["three-columns-root.root"], trees["three-columns"], ALL, rightly=True)


def assert_read(told: dict[str, Any], tree: dict[str, Any], ways: tuple[str, ...], *, rightly: bool) -> None:
    for way in ways:
        first = 2 if way.endswith("from 2") else 0
        least = 3 if way.endswith(("filtered", "cut")) else 0
        wanted = [one for one in tree["columns"]["v"][first:] if len(one) >= least]
        assert (told[way] == (flat(wanted) if way.startswith("Draw") else wanted)) is rightly, way


def flat(values: Any) -> list[int]:
    return [inner for one in values for inner in flat(one)] if isinstance(values, list) else [values]
