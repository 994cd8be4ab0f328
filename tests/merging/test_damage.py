"""Merges and skims of inputs with drawn damage: an error that leaves nothing, or values that are right."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.command import run_here

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N_DAMAGED = 200 if os.environ.get("ARROWROOT_SOAK") else 20
N_ENTRIES = 400
COUNTS = np.arange(N_ENTRIES) % 4


def table(first: int) -> pa.Table:
    """Return numbers, lists and texts that differ from entry to entry."""
    numbers = np.arange(first, first + N_ENTRIES)
    lists = [[float(number * 7 + k) for k in range(n)] for number, n in zip(numbers, COUNTS, strict=True)]
    texts = [f"entry {number}" for number in numbers]
    return pa.table({"a": numbers, "b": pa.array(lists, pa.list_(pa.float64())), "c": texts})


def put(path: Path, first: int, layout: str, codec: str) -> bytes:
    """Write an input whose values have checksums."""
    with ar.create(path, compression=codec) as file:
        with file.tree("d/t", layout=layout, flush=100) as tree:
            tree.append(table(first))
        file["d/h"] = (np.arange(50.0) + first, np.arange(51.0))
        file["note"] = "text"
    return path.read_bytes()


def flip(data: bytearray, draw: random.Random) -> None:
    for _ in range(draw.choice((1, 3, 20))):
        data[draw.randrange(len(data))] = draw.randrange(256)


def clear(data: bytearray, draw: random.Random) -> None:
    at, n_bytes = draw.randrange(len(data)), draw.choice((4, 64, 512))
    data[at : at + n_bytes] = bytes(len(data[at : at + n_bytes]))


def repeat(data: bytearray, draw: random.Random) -> None:
    n_bytes = draw.choice((8, 64, 512))
    one, other = (draw.randrange(len(data) - n_bytes) for _ in range(2))
    data[one : one + n_bytes] = data[other : other + n_bytes]


def shift(data: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(data))
    data[at:at] = draw.randbytes(draw.choice((1, 4, 100)))


def lose(data: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(data))
    del data[at : at + draw.choice((1, 4, 100))]


def cut(data: bytearray, draw: random.Random) -> None:
    del data[draw.randrange(len(data)) :]


DAMAGE: tuple[Callable[[bytearray, random.Random], None], ...] = (flip, clear, repeat, shift, lose, cut)


def assert_right(path: Path, seed: int) -> None:
    """Assert that an output has the values of both inputs, or of the sound one alone."""
    expected = pa.concat_tables([table(0), table(1000)])
    with ar.open(path) as file:
        found = file["d/t"].to_arrow()
        expected = expected.slice(0, N_ENTRIES if found.num_rows == N_ENTRIES else 2 * N_ENTRIES)
        assert found.to_pydict() == expected.to_pydict(), seed
        sums = [np.arange(50.0), np.arange(50.0) * 2 + 1000]
        assert any(np.array_equal(file["d/h"].values(), one) for one in sums), seed


@pytest.mark.parametrize("does", ["merge", "skim"])
def test_drawn_damage_is_an_error_or_the_values_are_right(tmp_path, does):
    (tmp_path / "in").mkdir()
    sound, spoilt = (tmp_path / "in" / name for name in ("sound.root", "spoilt.root"))
    output = tmp_path / "out.root"
    n_errors = 0
    for seed in range(N_DAMAGED):
        draw = random.Random(seed)
        layout, codec = draw.choice(("ttree", "rntuple")), draw.choice(("zlib:1", "lz4:1", "zstd:3"))
        put(sound, 0, layout, codec)
        data = bytearray(put(spoilt, 1000, layout, codec))
        draw.choice(DAMAGE)(data, draw)
        spoilt.write_bytes(data)
        command = (
            ["skim", sound, spoilt, output]
            if does == "skim"
            else ["merge", output, sound, spoilt, "--verify"]
        )
        ran = run_here(*command, "--on-bad-input", draw.choice(("fail", "skip")))
        assert "Traceback" not in ran.stderr, (seed, ran.stderr)
        n_errors += ran.returncode in (1, 3, 4)
        # 3: damaged to what is not supported.
        assert ran.returncode == 3 or output.exists() == (ran.returncode in (0, 4)), (seed, ran.stderr)
        if output.exists():
            assert_right(output, seed)
            output.unlink()
        assert [path.name for path in tmp_path.iterdir()] == ["in"], seed
    assert n_errors > N_DAMAGED / 4


@pytest.mark.parametrize(
    ("tail", "is_whole"),
    [
        ("a free record to the end", True),
        ("remains of a free list", True),
        ("zeros", True),
        ("a free record, and one behind it", False),
        ("a record", False),
    ],
)
def test_a_file_is_whole_if_no_record_begins_behind_its_end(tail, is_whole, tmp_path):
    whole = put(tmp_path / "whole.root", 0, "ttree", "zlib:1")
    record = whole[100 : 100 + int.from_bytes(whole[100:104], "big")]
    behind = {
        "a free record to the end": (-2_000_000_000).to_bytes(4, "big", signed=True) + record[4:],
        "remains of a free list": bytes.fromhex("21ff039d15e12f0000003f0004") + record[13:],
        "zeros": bytes(300),
        "a free record, and one behind it": (-len(record)).to_bytes(4, "big", signed=True)
        + record[4:]
        + record,
        "a record": record,
    }
    (tmp_path / "longer.root").write_bytes(whole + behind[tail])
    inputs = [tmp_path / "longer.root", tmp_path / "whole.root"]
    if is_whole:
        ar.merge(tmp_path / "all.root", inputs)
        assert ar.open(tmp_path / "all.root")["d/t"].num_entries == 2 * N_ENTRIES
        return
    with pytest.raises(ar.CorruptFileError, match=r"longer\.root: .*not closed"):
        ar.merge(tmp_path / "all.root", inputs)
