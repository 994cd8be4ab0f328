"""Trees that hold baskets as objects without their data, which are elsewhere in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import arrowroot as ar
from tests.judge import root

from .with_baskets import N_ENTRIES, write

if TYPE_CHECKING:
    from pathlib import Path


def test_the_data_of_a_basket_that_is_an_object_without_them_are_read(tmp_path: Path):
    seen = root.run(write, tmp_path)
    assert len(seen) > 2
    uproot = pytest.importorskip("uproot")
    for name, values in seen.items():
        assert values == list(range(N_ENTRIES))
        with uproot.open(tmp_path / name) as file:
            assert file["T"]["x"].array(library="np").tolist() == values
        with ar.open(tmp_path / name) as file:
            assert file["T"].to_arrow("x").to_pylist() == [{"x": value} for value in values]
