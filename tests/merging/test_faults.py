"""Merging that is disturbed: damaged inputs, a full disk, signals."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import arrowroot as ar
from tests.command import run_here

N_DAMAGED = 60


@pytest.fixture
def inputs(tmp_path):
    paths = [tmp_path / f"in{number}.root" for number in range(2)]
    for number, path in enumerate(paths):
        with ar.create(path, compression="zlib:1") as file:
            file["t"] = {"a": np.arange(300) + number, "b": [[k] * (k % 3) for k in range(300)]}
            file["d/h"] = (np.arange(50.0), np.arange(51.0))
            file["note"] = "text"
    return paths


def test_damaged_inputs_are_an_error_or_merged_and_never_more(inputs, tmp_path):
    whole = inputs[1].read_bytes()
    n_errors = 0
    for seed in range(N_DAMAGED):
        draw = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(draw.choice((1, 3, 20))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        inputs[1].write_bytes(damaged)
        output = tmp_path / "out.root"
        try:
            ar.merge(output, inputs, rebasket=bool(seed % 2), provenance=bool(seed % 3))
        except (ar.ArrowrootError, OSError):
            n_errors += 1
            assert not output.exists(), seed
        else:
            with ar.open(output) as merged:
                assert merged["t"].num_entries >= 300, seed
            output.unlink()
        assert names(tmp_path) == {"in0.root", "in1.root"}, seed
    assert n_errors > N_DAMAGED / 4


@pytest.mark.parametrize("verify", [False, True])
def test_damage_that_a_checksum_or_a_look_at_all_values_shows_leaves_an_input_out(tmp_path, verify):
    """LZ4's checksums are compared as baskets are copied; what zlib packed is only unpacked by --verify."""
    for number in range(3):
        with ar.create(tmp_path / f"in{number}.root", compression="zlib:1" if verify else "lz4:1") as file:
            file["t"] = {"a": np.arange(30_000) // 7 + number}
    place = tmp_path / "in1.root"
    damaged = bytearray(place.read_bytes())
    at = damaged.index(b"ZL\x08" if verify else b"L4\x01", 300) + 60
    damaged[at : at + 40] = bytes(40)
    place.write_bytes(damaged)
    words = ["merge", "-f", "out.root", "in0.root", "in1.root", "in2.root", *(["--verify"] if verify else [])]
    ended = run_here(*words, cwd=tmp_path)
    assert ended.returncode == 1, ended.stdout
    assert "in1.root" in ended.stderr
    assert not (tmp_path / "out.root").exists()
    ended = run_here(*words, "--on-bad-input", "skip", cwd=tmp_path)
    assert ended.returncode == 4, ended.stderr
    assert "in1.root was left out" in ended.stderr
    with ar.open(tmp_path / "out.root") as file:
        found = file["t"].to_numpy()["a"]
    assert np.array_equal(found, np.concatenate([np.arange(30_000) // 7, np.arange(30_000) // 7 + 2]))


def names(directory):
    return {path.name for path in directory.iterdir()}


def merging(tmp_path, *inputs, **options):
    command = [sys.executable, "-m", "arrowroot", "merge", "-f", "out.root", *map(str, inputs)]
    return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, **options)


def test_a_full_disk_leaves_the_older_output(tmp_path):
    ar.write(f"{tmp_path / 'in.root'}:t", {"a": np.random.default_rng(1).random(100_000)})
    (tmp_path / "out.root").write_text("older")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))  # noqa: E731 - of the child alone
    process = merging(tmp_path, "in.root", "in.root", preexec_fn=limit)
    _, said = process.communicate()
    assert (process.returncode, "out.root" in said, "Traceback" in said) == (1, True, False)
    assert (tmp_path / "out.root").read_text() == "older"
    assert names(tmp_path) == {"in.root", "out.root"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_leaves_the_older_output(inputs, tmp_path, number):
    (tmp_path / "out.root").write_text("older")
    (tmp_path / "files.txt").write_text(f"{inputs[0]}\n" * 3_000)
    before = names(tmp_path)
    process = merging(tmp_path, "@files.txt")
    while process.poll() is None and names(tmp_path) == before:
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate()
    assert process.returncode != 0
    assert (tmp_path / "out.root").read_text() == "older"
    left = names(tmp_path) - before
    assert left == ({"out.root.part"} if number == signal.SIGKILL else set())
