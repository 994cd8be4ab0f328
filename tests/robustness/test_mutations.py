"""Damaged files give errors or values, within bounds. All of them: ``python -m tests.robustness.mutate``."""

from __future__ import annotations

import os
import random

import pytest

from tests.differential import root_peer

from . import mutate as driver
from .mutations import find_regions, mend, mutate

N_MUTATIONS = int(os.environ.get("ARROWROOT_MUTATIONS", "400"))
N_NTUPLES = 12
SEED = int(os.environ.get("ARROWROOT_MUTATIONS_SEED", "20"))


def test_damage_depends_on_the_seed_alone():
    data = random.Random(1).randbytes(5000)
    regions = find_regions(data)
    assert mutate(data, regions, "a") == mutate(data, regions, "a")
    assert len({mutate(data, regions, str(k))[0] for k in range(50)}) > 40


def test_mended_checksums_are_those_of_a_sound_file(tmp_path):
    if root_peer.python_with_root() is None:
        pytest.skip("NO ROOT FOUND: pip install root, or set ARROWROOT_ROOT_PYTHON to a Python that has it")
    (file,) = driver.written_ntuples(tmp_path, 1)
    mended = bytearray(file.data)
    for _, stop in file.regions.envelopes:
        mended[stop - 8 : stop] = bytes(8)
    for start in file.regions.anchors:
        mended[start + 64 : start + 72] = bytes(8)
    assert mended != file.data
    mend(mended, file.regions)
    assert mended == file.data


def test_damaged_files_give_errors_or_values(tmp_path, record_property):
    files = driver.originals([fresh_file(tmp_path, codec) for codec in ("ZSTD", "ZLIB", "LZ4", "LZMA")])
    if not files:
        pytest.skip("NOTHING TO DAMAGE: no conformance files, no uproot")
    random.Random(SEED).shuffle(files)
    summary = driver.run(files, N_MUTATIONS, SEED)
    record_property("told", str(summary))
    assert not summary.failures, f"again with: python -m tests.robustness.mutate --replay NAME\n{summary}"
    assert summary.outcomes["error"] > 0


def test_damaged_ntuples_give_errors_or_values(tmp_path, record_property):
    if root_peer.python_with_root() is None:
        pytest.skip("NO ROOT FOUND: pip install root, or set ARROWROOT_ROOT_PYTHON to a Python that has it")
    files = driver.written_ntuples(tmp_path, N_NTUPLES)
    assert all(len(file.regions.envelopes) >= 2 and file.regions.anchors for file in files)
    summary = driver.run(files, N_MUTATIONS, SEED)
    record_property("told", str(summary))
    again = f"python -m tests.robustness.mutate --ntuples {N_NTUPLES} --replay NAME"
    assert not summary.failures, f"again with: {again}\n{summary}"
    assert summary.outcomes["error"] > 0


def fresh_file(directory, codec):
    """A file whose whole content is columns that arrowroot reads."""
    uproot = pytest.importorskip("uproot")
    import awkward as ak
    import numpy as np

    rng = np.random.default_rng(3)
    path = directory / f"fresh_{codec}.root"
    counts = rng.integers(0, 5, 400)
    columns = {
        "i": np.arange(400, dtype="i4"),
        "grid": np.ones((400, 2, 2), dtype="f4"),
        "lists": ak.unflatten(rng.integers(0, 9, counts.sum()).astype("f8"), counts),
    }
    types = {"i": "i4", "grid": np.dtype(("f4", (2, 2))), "words": "string"}
    types["lists"] = columns["lists"].type.content
    words = ak.Array([f"word {k}" * (k % 7) for k in range(400)])
    with uproot.recreate(path, compression=getattr(uproot, codec)(5)) as file:
        tree = file.mktree("T", types)
        for first in (0, 150):
            part = slice(first, first + 250 if first else 150)
            tree.extend({**{k: v[part] for k, v in columns.items()}, "words": words[part]})
    return path
