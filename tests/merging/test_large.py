"""Merges to files of more than 2 GB, behind which keys have offsets of 64 bits."""

from __future__ import annotations

import os

import numpy as np
import pytest

import arrowroot as ar
from tests.judge import root

from . import large_with_root


@pytest.mark.skipif(not os.environ.get("ARROWROOT_SOAK"), reason="writes 2.5 GB: make soak-merge")
def test_objects_behind_two_gigabytes_are_what_they_were(tmp_path):
    many, last = tmp_path / "many.root", tmp_path / "last.root"
    h = np.histogram([1, 2, 3.0], bins=5)
    with ar.create(many, compression=0) as file:
        with file.tree("t", flush=2_000_000) as tree:
            for seed in range(5):
                tree.append({"x": np.random.default_rng(seed).random(7_000_000)})
        # References to the class of the first are those of the others.
        file["h"], file["list"], file["note"] = h, [h, "text", "more", h], "x"
    with ar.create(last) as file:
        file["late"], file["late_h"], file["late_list"] = "y", h, ["text", "more"]
    ar.merge(tmp_path / "out.root", [*[many] * 8, last])
    many.unlink()
    assert (tmp_path / "out.root").stat().st_size > 2**31
    told = root.run(large_with_root.told, tmp_path, "out.root")
    once, eight = [0, 1, 0, 1, 0, 1, 0], [0, 8, 0, 8, 0, 8, 0]
    assert told == {
        "t": 8 * 35_000_000,
        "h": eight,
        "list": [eight, "text", "more", eight],
        "note": "x",
        "late": "y",
        "late_h": once,
        "late_list": ["text", "more"],
    }
    with ar.open(tmp_path / "out.root") as file:
        assert file["h"].values(flow=True).tolist() == eight
        assert file["late"] == "y"
