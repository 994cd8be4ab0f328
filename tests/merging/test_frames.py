"""ALICE's data frames are joined to one: rows point to what they pointed to."""

from __future__ import annotations

import pytest
import uproot

import arrowroot as ar
from arrowroot._merging import frames
from tests.command import run_here
from tests.judge import root

from . import frames_with_root as made

#: The tables that columns of rows are about.
TARGETS = {
    "fIndexBCs": ("O2bc_001", "fGlobalBC"),
    "fIndexCollisions": ("O2collision_001", "fKey"),
    "fIndexTracks_Pos": ("O2track_iu", "fKey"),
    "fIndexTracks_Neg": ("O2track_iu", "fKey"),
    "fIndexArray_Mothers": ("O2mcparticle_001", "fKey"),
    "fIndexSlice_Daughters": ("O2mcparticle_001", "fKey"),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("frames")
    root.run(made.make, directory)
    root.run(made.make_others, directory)
    return [directory / f"f{number}.root" for number in range(len(made.FRAMES))]


def resolved(frame):
    """Return the rows of tables with the keys of the rows that they number, and ``None`` for none."""
    return {
        (tree, column): pointed(frame, column, values)
        for tree, columns in frame.items()
        for column, values in columns.items()
    }


def pointed(frame, column, values):
    if column not in TARGETS:
        return values
    tree, key = TARGETS[column]
    keys = frame[tree][key]
    return [[keys[int(row)][0] if row >= 0 else None for row in rows] for rows in values]


@pytest.fixture(scope="module")
def expected(inputs):
    """Return the rows of all directories, one after another."""
    rows = {}
    for path in inputs:
        for frame in root.run(made.tables, path.parent, path.name).values():
            for column, values in resolved(frame).items():
                rows.setdefault(column, []).extend(values)
    return rows


@pytest.mark.parametrize("rebasket", [False, True])
def test_rows_point_to_what_they_pointed_to(inputs, expected, rebasket):
    path = inputs[0].parent / f"joined_{rebasket}.root"
    report = ar.merge(path, inputs, join="DF_*", rebasket=rebasket)
    (frame,) = root.run(made.tables, path.parent, path.name, complaints_but=()).values()
    assert resolved(frame) == expected
    assert {one.path: (one.rule, one.num_entries) for one in report.objects} == {
        "metaData": ("first", None),
        **{f"DF_17/{tree}": ("concatenate", len(next(iter(frame[tree].values())))) for tree in frame},
    }
    # A number that is no row is another one for each directory, as rows with one number are one group.
    collisions = [row for (row,) in frame["O2track_iu"]["fIndexCollisions"]]
    none = [
        {row for row in collisions[first:end] if row < 0} for first, end in ((0, 400), (400, 470), (470, 479))
    ]
    assert none == [{-1, -2}, {-3, -4}, {-5, -6}]


def test_columns_without_rows_are_copied_packed(inputs):
    path = inputs[0].parent / "packed.root"
    ar.merge(path, inputs, join="DF_*")
    with uproot.open(inputs[2]) as before, uproot.open(path) as after:
        of_input, merged = before["DF_21/O2track_iu"]["fX"], after["DF_17/O2track_iu"]["fX"]
        stored = [of_input.basket(k).compressed_bytes for k in range(of_input.num_baskets)]
        sizes = [merged.basket(k).compressed_bytes for k in range(merged.num_baskets)]
    assert any(sizes[k : k + len(stored)] == stored for k in range(len(sizes)))


def test_directories_are_kept_apart_without_the_option(inputs):
    path = inputs[0].parent / "apart.root"
    ar.merge(path, inputs)
    frames = [frame for frames in made.FRAMES for frame in frames]
    assert sorted({tree.split("/")[0] for tree in ar.open(path).trees}) == sorted(frames)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (
            "lacks",
            'DF_0: branch "fIndexCollisions" has numbers of rows, and there is no tree O2collision beside',
        ),
        ("beyond", 'DF_0: branch "fIndexTracks" has numbers of rows, and row 5 of 5'),
        ("short", 'DF_0: branch "fIndexTracks" has numbers of rows, but not of 32 bits'),
        ("two", "two trees O2track of other numbers of rows"),
        ("some", 'DF_1: branch "fIndexTracks" has numbers of rows, and is in some directories only'),
        ("fewer", "DF_1: it has other trees than the directories before"),
    ],
)
def test_directories_that_cannot_be_joined_are_an_error(inputs, tmp_path, name, what):
    with pytest.raises(ar.SchemaMismatchError, match=what):
        ar.merge(tmp_path / "out.root", inputs[0].parent / f"{name}.root", join="DF_*", columns="union")
    assert not (tmp_path / "out.root").exists()


def test_rules_that_joined_directories_do_not_take_are_an_error(inputs, tmp_path):
    with pytest.raises(ar.UnsupportedError, match="only trees are taken, and all of their entries"):
        ar.merge(tmp_path / "out.root", inputs, join="DF_*", rules={"O2bc_001": "first"})


def test_the_command_joins_directories(inputs, tmp_path):
    done = run_here("merge", "-f", tmp_path / "out.root", *inputs, "--join", "DF_*")
    assert done.returncode == 0
    assert "DF_17/O2track_iu" in done.stdout
    assert done.stderr.count("--join") == 0
    done = run_here("merge", "-f", tmp_path / "out.root", *inputs, "--join", "TF_*")
    assert "arrowroot: --join TF_*: no object has this name or path" in done.stderr


@pytest.mark.parametrize("max_size", [[], ["--max-size", "1 kB"]])
def test_joined_directories_are_verified(inputs, tmp_path, max_size):
    done = run_here("merge", "-f", tmp_path / "out.root", *inputs, "--join", "DF_*", "--verify", *max_size)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("column", ["fIndexTracks_Pos", "fIndexArray_Mothers", "fIndexCollisions"])
def test_a_row_of_another_number_is_found(inputs, tmp_path, monkeypatch, column):
    target = frames._target
    other = {column: "O2bc"}
    monkeypatch.setattr(frames, "_target", lambda name, tree: other.get(name) or target(name, tree))
    done = run_here("merge", "-f", tmp_path / "out.root", *inputs, "--join", "DF_*", "--verify")
    assert done.returncode != 0
    assert "read back, is not what was read" in done.stderr
    assert column in done.stderr
    assert not (tmp_path / "out.root").exists()


@pytest.mark.parametrize("bad", ["beyond", "two", "cut"])
def test_an_input_whose_directories_cannot_be_joined_is_left_out(inputs, expected, tmp_path, bad):
    path = inputs[0].parent / f"{bad}.root"
    if bad == "cut":
        path = tmp_path / "cut.root"
        path.write_bytes(inputs[2].read_bytes()[:-300])
    out = tmp_path / "out.root"
    words = [inputs[0], path, *inputs[1:], "--join", "DF_*", "--on-bad-input", "skip", "--verify"]
    done = run_here("merge", "-f", out, *words)
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("was left out") == 1
    assert f"{path} was left out" in done.stderr
    (frame,) = root.run(made.tables, tmp_path, "out.root", complaints_but=()).values()
    assert resolved(frame) == expected
