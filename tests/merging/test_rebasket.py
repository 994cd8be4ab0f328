"""Small baskets that are put together: fewer baskets, the same values, and large ones as they were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.command import run_here
from tests.judge import root

from . import trees_with_root as made

N_FILES = 12
N_ENTRIES = 300


@pytest.fixture
def small(tmp_path):
    """Files with baskets of some hundred bytes, of every kind of column."""
    paths = [tmp_path / f"small{number:02}.root" for number in range(N_FILES)]
    for number, path in enumerate(paths):
        first = number * N_ENTRIES
        entries = range(first, first + N_ENTRIES)
        columns = {
            "i": np.arange(first, first + N_ENTRIES, dtype=np.int32),
            "pair": pa.array([[k, k + 0.5] for k in entries], pa.list_(pa.float64(), 2)),
            "list": pa.array([list(range(k % 4)) for k in entries], pa.list_(pa.int16())),
            "text": [f"{k}" * (k % 3) for k in entries],
            "nested": pa.array([[[k] * (k % 3)] for k in entries], pa.list_(pa.list_(pa.int32()))),
        }
        ar.write(f"{path}:t", columns, layout="ttree")
    return paths


def table(path, name="t"):
    return ar.open(path)[name].to_arrow().combine_chunks()


def concatenated(paths, name="t"):
    return pa.concat_tables(table(path, name) for path in paths).combine_chunks()


def baskets(path, column):
    with uproot.open(path) as file:
        return file["t"][column].num_baskets


def test_what_is_held_back_counts_as_part_of_the_output(small, tmp_path):
    report = ar.merge(tmp_path / "out.root", small, rebasket=True, max_size=2 * small[0].stat().st_size)
    assert len(report.outputs) > 2
    outputs = [output.path for output in report.outputs]
    assert concatenated(outputs).equals(concatenated(small))


def test_small_baskets_become_few(small, tmp_path):
    report = ar.merge(tmp_path / "out.root", small, rebasket=True)
    assert table(tmp_path / "out.root").equals(concatenated(small))
    plain = ar.merge(tmp_path / "plain.root", small)
    for column in ("i", "list", "text"):
        assert (baskets(tmp_path / "plain.root", column), baskets(tmp_path / "out.root", column)) == (
            N_FILES,
            1,
        )
    assert report.objects[0].n_baskets < plain.objects[0].n_baskets / 3
    # 57,600 bytes of two doubles are more than one basket has.
    assert baskets(tmp_path / "out.root", "pair") == 2


def test_uproot_and_root_read_the_same_values(small, tmp_path):
    ar.merge(tmp_path / "out.root", small, rebasket=True)
    expected = concatenated(small)
    with uproot.open(tmp_path / "out.root") as file:
        read = file["t"].arrays(["i", "pair", "list", "text"])
    for column in read.fields:
        assert read[column].to_list() == expected[column].to_pylist(), column
    theirs = root.run(made.listed, tmp_path, "out.root", "t", ["i", "list"])
    assert theirs == [[one["i"], one["list"]] for one in expected.select(["i", "list"]).to_pylist()]


def test_trees_of_root_keep_their_values(tmp_path):
    root.run(made.make, tmp_path)
    inputs = [tmp_path / f"in{number}.root" for number in range(len(made.N_ENTRIES))]
    ar.merge(tmp_path / "out.root", inputs, rebasket=True)
    with_entries = [path for path, n_entries in zip(inputs, made.N_ENTRIES, strict=True) if n_entries]
    assert table(tmp_path / "out.root", "sub/t").equals(concatenated(with_entries, "sub/t"))
    theirs = root.run(made.values, tmp_path, "out.root", "sub/t")
    assert theirs == [
        entry for path in inputs for entry in root.run(made.values, tmp_path, path.name, "sub/t")
    ]


def test_large_baskets_are_copied_as_they_are(small, tmp_path):
    large = tmp_path / "large.root"
    n = 50_000
    values = np.random.default_rng(1).integers(0, 2**31, n, dtype=np.int32)
    columns = {
        "i": values,
        "pair": pa.array([[1.0, 2.0]] * n, pa.list_(pa.float64(), 2)),
        "list": pa.array([[1]] * n, pa.list_(pa.int16())),
        "text": ["text"] * n,
        "nested": pa.array([[[1], []]] * n, pa.list_(pa.list_(pa.int32()))),
    }
    ar.write(f"{large}:t", columns, layout="ttree")
    inputs = [*small[:3], large, *small[3:]]
    ar.merge(tmp_path / "out.root", inputs, rebasket=True)
    assert table(tmp_path / "out.root").equals(concatenated(inputs))
    with uproot.open(large) as before, uproot.open(tmp_path / "out.root") as after:
        stored = [before["t"]["i"].basket(k).compressed_bytes for k in range(before["t"]["i"].num_baskets)]
        branch = after["t"]["i"]
        sizes = [branch.basket(k).compressed_bytes for k in range(branch.num_baskets)]
    # The small ones before, and behind, are one each.
    assert sizes[1:-1] == stored


@pytest.mark.parametrize("columns", ["union", "first"])
def test_columns_that_some_inputs_lack_are_filled(small, tmp_path, columns):
    for path in (small[1], small[4]):
        lacking = table(path).drop_columns(["text", "i"])
        ar.write(f"{path}:t", lacking, layout="ttree")
    ar.merge(tmp_path / "out.root", small, columns=columns, rebasket=True)
    ar.merge(tmp_path / "plain.root", small, columns=columns)
    assert table(tmp_path / "out.root").equals(table(tmp_path / "plain.root"))


def test_a_bad_input_leaves_nothing_of_its_baskets(small, tmp_path):
    bad = bytearray(small[5].read_bytes())
    # The last basket: others of the input are held already.
    place = bad.rindex(b"\x07TBasket") + 8 + 2
    place = bad.rindex(b"\x07TBasket", 0, place)
    at = bad.index(b"\x01t", place) + 2 + 2 + 4 + 4
    bad[at + 3] ^= 1
    small[5].write_bytes(bad)
    report = ar.merge(tmp_path / "out.root", small, rebasket=True, on_bad_input="skip")
    assert [one.path for one in report.left_out] == [str(small[5])]
    assert table(tmp_path / "out.root").equals(concatenated(small[:5] + small[6:]))


def test_the_command_says_what_it_would_save(small, tmp_path):
    said = run_here("merge", "-f", "out.root", "small*.root", cwd=tmp_path)
    assert "are smaller than 4 kB" in said.stderr
    assert "; --rebasket makes" in said.stderr
    assert len(small) == N_FILES
    said = run_here("merge", "-f", "out.root", "small*.root", "--rebasket", "--verify", cwd=tmp_path)
    assert (said.returncode, "--rebasket makes" in said.stderr) == (0, False)
    # The columns of all files together have not so many bytes.
    assert "what can be put together has been" in said.stderr
    assert "copied" not in said.stdout
