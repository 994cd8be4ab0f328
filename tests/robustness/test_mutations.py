"""Damaged files give errors or values, within bounds. All of them: ``python -m tests.robustness.mutate``."""

from __future__ import annotations

import os
import random

import pytest

from . import mutate as driver
from . import own_files
from .mutations import find_regions, mend, mutate

N_MUTATIONS = int(os.environ.get("ARROWROOT_MUTATIONS", "200"))
N_NTUPLES = 12
SEED = int(os.environ.get("ARROWROOT_MUTATIONS_SEED", "20"))


def test_damage_depends_on_the_seed_alone():
    data = random.Random(1).randbytes(5000)
    regions = find_regions(data)
    assert mutate(data, regions, "a") == mutate(data, regions, "a")
    assert len({mutate(data, regions, str(k))[0] for k in range(50)}) > 40


def test_mended_checksums_are_those_of_a_sound_file(tmp_path):
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
    files = driver.written_ntuples(tmp_path, N_NTUPLES)
    assert all(len(file.regions.envelopes) >= 2 and file.regions.anchors for file in files)
    summary = driver.run(files, N_MUTATIONS, SEED)
    record_property("told", str(summary))
    again = f"python -m tests.robustness.mutate --ntuples {N_NTUPLES} --replay NAME"
    assert not summary.failures, f"again with: {again}\n{summary}"
    assert summary.outcomes["error"] > 0


def test_damaged_files_of_our_own_writing_give_errors_or_values(tmp_path, record_property):
    """They are of every layout and codec, with recorded schemas, objects and histograms."""
    summary = driver.run(driver.own(tmp_path), max(1, N_MUTATIONS * 3 // 8), SEED)
    record_property("told", str(summary))
    assert not summary.failures, (
        f"again with: python -m tests.robustness.mutate --own --replay NAME\n{summary}"
    )
    assert summary.outcomes["error"] > 0


def test_values_that_a_checksum_guards_are_never_other_ones(tmp_path):
    """All of an RNTuple, and the baskets of a tree that zlib, LZ4 or LZMA compressed. A warning is no silence."""
    files = {name: file for name, file in own_files.write(tmp_path).items() if file.checked}
    right = {name: own_files.values(file.path)[0] for name, file in files.items()}
    content = {name: file.path.read_bytes() for name, file in files.items()}
    path, n_errors, n_unseen = tmp_path / "damaged.root", 0, 0
    for number in range(max(1, N_MUTATIONS // 4)):
        name = list(files)[number % len(files)]
        chance = random.Random(f"{SEED}.{number}")
        damaged = bytearray(content[name])
        start, stop = chance.choice(files[name].checked)
        place = chance.randrange(start, stop)
        n_bytes = min(chance.choice([1, 1, 8, 64]), stop - place)
        damaged[place : place + n_bytes] = chance.choice(
            [bytes(n_bytes), chance.randbytes(n_bytes), bytes([damaged[place] ^ (1 << chance.randrange(8))])]
        )[:n_bytes].ljust(n_bytes, b"\0")
        path.write_bytes(damaged)
        found, has_error = own_files.values(path)
        wrong = [column for column, values in found.items() if values != right[name][column]]
        assert not wrong, f"{SEED}.{number}: {n_bytes} bytes at {place} of {name}: {wrong}"
        n_errors += has_error
        if has_error and name == "rntuple-None.root":
            unchecked, _ = own_files.values(path, verify_checksums=False)
            n_unseen += any(values != right[name][column] for column, values in unchecked.items())
    # Damage was there, and without its checksums nobody would have seen it.
    assert n_errors > number // 2
    assert n_unseen > 0 or number < 50


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
