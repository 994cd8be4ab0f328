"""Skims of trees of objects: entries are copied as their bytes are, and ROOT reads the objects that were written."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._skimming.picking import PickedEntries, joined, length_of, runs_of
from tests.command import run_here
from tests.judge import root

from . import picked_with_root as of_root

#: Entries of a cluster of the first input.
N = 2000
CONDITION = "run % 7 < 2 || block == 1"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("objects")
    root.run(of_root.write_objects, directory, "a.root", 1, 4, N)
    root.run(of_root.write_objects, directory, "b.root", 2, 3, 400)
    told = [
        line
        for name in ("a", "b")
        for line in root.run(of_root.told_objects, directory, f"{name}.root", "t", 7, 2, "1")
    ]
    return directory, told


def paths_of(inputs):
    return [str(inputs[0] / "a.root"), str(inputs[0] / "b.root")]


def columns_of(path, **options):
    with ar.open(path) as file:
        return file["t"].to_arrow(**options).combine_chunks()


def process_offsets_of(path, branch):
    """Return the first two bytes of ``fSeekPdir`` of each basket: they are added to the numbers of processes."""
    data = path.read_bytes()
    names = b"\x07TBasket" + bytes([len(branch)]) + branch.encode()
    places = [at for at in range(len(data)) if data.startswith(names, at)]
    return [int.from_bytes(data[at - 8 : at - 6], "big") for at in places]


def test_notes_of_columns_that_are_left_out_are_told_and_not_kept(inputs, tmp_path):
    kept = {"scaled": ["run", "block", "leaf", "split"], "": ["run", "split"]}
    for alias, columns in kept.items():
        out = tmp_path / "out.root"
        made = ar.skim(paths_of(inputs), out, "t", columns, filter=CONDITION)
        told = root.run(of_root.told_of_tree, tmp_path, "out.root")
        assert (told["aliases"], bool(told["index"])) == (([alias], True) if alias else ([], False))
        remarks = [remark for _, remark in made.remarks if "left out" in remark]
        assert [remark.split(" was left out")[0] for remark in remarks] == (
            [] if alias else ['alias "scaled"', "its index (TTreeIndex)"]
        )


def test_root_reads_the_objects_of_the_entries_that_were_selected(inputs, tmp_path):
    out = tmp_path / "out.root"
    made = ar.skim(paths_of(inputs), out, "t", filter=CONDITION)
    assert made.left_out == made.notes_left_out == []
    assert made.outputs[0].num_entries == len(inputs[1]) == ar.open(out)["t"].num_entries
    assert root.run(of_root.told_objects, tmp_path, "out.root") == inputs[1]
    # A cluster that passes as a whole is copied packed, if its baskets are not small.
    copied = made.outputs[0].copied
    assert copied.n_packed_clusters == 1
    assert copied.packed_bytes > 50_000 < copied.new_bytes
    before, after = (
        root.run(of_root.told_of_tree, *where) for where in ((inputs[0], "a.root"), (tmp_path, "out.root"))
    )
    assert after["branches"] == before["branches"]
    assert after["aliases"] == ["scaled"]
    assert after["index"] == ["run", "block", len(inputs[1])]
    # TRefs name the process of their input.
    offsets = process_offsets_of(out, "ref")
    assert (set(offsets), offsets) == ({0, 1}, sorted(offsets))
    expected = ar.scan(paths_of(inputs), "t", filter=CONDITION).to_arrow().combine_chunks()
    assert expected.num_columns > 15
    assert columns_of(out).equals(expected)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_bytes_do_not_depend_on_threads_parts_or_who_reads(inputs, tmp_path, n_threads):
    def skim(name, **more):
        # The name of a file is in it.
        (tmp_path / name).mkdir()
        options = {"filter": CONDITION, "reproducible": True, "n_threads": n_threads}
        ar.skim(paths_of(inputs), tmp_path / name / "out.root", "t", **options, **more)
        return (tmp_path / name / "out.root").read_bytes()

    plain = skim("plain")
    assert skim("parts", resume=True) == plain
    with ThreadPoolExecutor(2) as executor:
        assert skim("executor", executor=executor) == plain
    assert skim("skip", on_bad_input="skip") == plain
    assert skim("small", batch_size="10 kB") == plain


def test_several_outputs_have_entries_of_their_own(inputs, tmp_path):
    outputs = {str(tmp_path / "some.root"): CONDITION, str(tmp_path / "all.root:other"): None}
    made = ar.skim(paths_of(inputs), tree="t", outputs=outputs, cuts={"late": "run % 100000 >= 100"})
    kept = [line for line in inputs[1] if int(line.split()[0]) % 100000 >= 100]
    assert root.run(of_root.told_objects, tmp_path, "some.root") == kept
    assert [one.num_entries for one in made.outputs] == [len(kept), 4 * N - 100 + 3 * 400 - 100]
    told = root.run(of_root.told_objects, tmp_path, "all.root", "other", 7, 2, "1")
    assert told == kept


def test_chosen_branches_come_with_those_around_and_those_that_count(inputs, tmp_path):
    out = tmp_path / "out.root"
    ar.skim(paths_of(inputs), out, "t", ["run", "pt", "jets/jets.fE", "leaf"], filter=CONDITION)
    told = root.run(of_root.told_of_tree, tmp_path, "out.root")
    assert [name for name, _, _ in told["branches"]] == ["run", "n_pt", "pt", "leaf", "jets"]
    assert [name for name, _, _ in told["branches"][-1][2]] == ["jets.fE"]
    energies = ar.scan(paths_of(inputs), "t", columns=["jets/jets.fE"], filter=CONDITION).to_arrow()
    flat = pa.compute.list_flatten(energies.column(0).combine_chunks()).to_numpy()
    assert told["drawn"] == [flat.min(), flat.max()]


def test_ranges_of_entries_and_picked_events_are_copied(inputs, tmp_path):
    path = inputs[0] / "a.root"
    ar.skim(path, tmp_path / "range.root", "t", entries=slice(1950, 4500))
    told = root.run(of_root.told_objects, tmp_path, "range.root")
    assert [int(line.split()[0]) for line in told] == list(range(101950, 104500))
    ids = ar.EventList([(100003, 0), (104000, 2)], columns=("run", "block"))
    made = ar.skim(path, tmp_path / "picked.root", "t", pick=ids)
    told = root.run(of_root.told_objects, tmp_path, "picked.root")
    assert [line.split()[:2] for line in told] == [["100003", "0"], ["104000", "2"]]
    assert made.missing_events == []
    ar.skim(path, tmp_path / "none.root", "t", filter="run < 0")
    assert root.run(of_root.told_objects, tmp_path, "none.root") == []


@pytest.mark.parametrize("condition", ["Entry$ % 7 == 3", "entry % 7 == 3"])
def test_numbers_of_entries_alone_select_them(inputs, tmp_path, condition):
    path, out = inputs[0] / "a.root", tmp_path / "out.root"
    made = ar.skim(path, out, "t", filter=condition)
    assert [cut.num_entries for cut in made.cuts] == [4 * N, (4 * N - 3 + 6) // 7]
    told = root.run(of_root.told_objects, tmp_path, "out.root")
    assert [int(line.split()[0]) for line in told] == list(range(100003, 100000 + 4 * N, 7))


def test_inputs_may_have_objects_of_different_classes_behind_pointers(tmp_path):
    root.run(of_root.write_pointers, tmp_path, "one.root", ["TNamed"])
    root.run(of_root.write_pointers, tmp_path, "two.root", ["TObjString", "TNamed"])
    paths = [tmp_path / "one.root", tmp_path / "two.root"]
    assert len({ar.open(path)["t"].schema for path in paths}) == 2
    made = ar.skim(paths, tmp_path / "out.root", "t", filter="k % 2 == 0")
    assert made.outputs[0].num_entries == 20
    told = [root.run(of_root.told_pointers, tmp_path, path.name) for path in paths]
    assert root.run(of_root.told_pointers, tmp_path, "out.root") == [
        line for lines in told for line in lines[::2]
    ]


def test_trees_that_are_carried_stay_trees_of_objects(inputs, tmp_path):
    directory = inputs[0]
    ar.merge(tmp_path / "both.root", [directory / "a.root"])
    with ar.create(tmp_path / "flat.root") as file:
        file["events"] = {"x": np.arange(10)}
    ar.merge(tmp_path / "in.root", [tmp_path / "both.root", tmp_path / "flat.root"])
    made = ar.skim(tmp_path / "in.root", tmp_path / "out.root", "events", filter="x > 3")
    assert made.carried == {"t": 4 * N}
    assert made.outputs[0].copied.n_packed_clusters > 1
    told, expected = (
        root.run(of_root.told_objects, *where) for where in ((tmp_path, "out.root"), (directory, "a.root"))
    )
    assert told == expected


def test_whoever_wants_columns_is_told_that_objects_are_taken_apart(inputs, tmp_path):
    path, out = str(inputs[0] / "a.root"), str(tmp_path / "out.root")
    for more, why in (
        (["--compression", "zstd:5"], "layout, codec, or sizes of pieces were said"),
        (["--define", "double=2*run"], "columns are computed"),
        (["--missing", "null"], "inputs may differ"),
    ):
        done = run_here("skim", f"{path}:t", out, "--force", *more)
        remark = f"arrowroot: t: objects become columns of their members: {why}"
        assert (done.returncode, done.stderr.splitlines()[0]) == (0, remark)
    done = run_here("skim", f"{path}:t", out, "--plan")
    assert done.stdout.startswith(
        "t: ttree: 44 branches, objects among them: entries are copied byte by byte"
    )
    done = run_here("skim", f"{path}:t", out, "--force", "--verify", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["verified"] is True


def test_a_damaged_input_is_left_out_before_anything_of_it_is_written(inputs, tmp_path):
    data = (inputs[0] / "b.root").read_bytes()
    # Behind the key of a basket.
    at = data.rindex(b"unsplit", 0, len(data) // 2)
    (tmp_path / "bad.root").write_bytes(data[: at + 60] + b"\xff" * 40 + data[at + 100 :])
    paths = [paths_of(inputs)[0], str(tmp_path / "bad.root"), paths_of(inputs)[1]]
    outputs = {str(tmp_path / "one.root"): "run % 2 == 0", str(tmp_path / "two.root"): "run % 2 == 1"}
    with pytest.raises(ar.CorruptFileError, match=r"bad\.root"):
        ar.skim(paths, tree="t", outputs=outputs)
    assert not (tmp_path / "one.root").exists()
    made = ar.skim(paths, tree="t", outputs=outputs, on_bad_input="skip")
    assert [url for url, _ in made.bad_inputs] == [paths[1]]
    for number, path in enumerate(outputs):
        expected = ar.scan(paths_of(inputs), "t", filter=f"run % 2 == {number}").to_arrow().combine_chunks()
        assert columns_of(path).equals(expected)


def test_inputs_of_other_classes_do_not_fit(inputs, tmp_path):
    with ar.create(tmp_path / "flat.root") as file:
        file["t"] = {"run": np.arange(3, dtype=np.int32)}
    with pytest.raises(ar.SchemaMismatchError, match="has no column 'block'"):
        ar.skim([paths_of(inputs)[0], tmp_path / "flat.root"], tmp_path / "out.root", "t")


@pytest.mark.parametrize("seed", range(20))
def test_runs_are_the_entries_that_they_were_made_of(seed):
    rng = np.random.default_rng(seed)
    masks = rng.random((3, 50)) < rng.random()
    cuts = np.sort(rng.integers(0, 51, 4))
    picked = PickedEntries(3)
    for start, stop in zip([0, *cuts], [*cuts, 50], strict=True):
        for number, mask in enumerate(masks):
            picked.add(runs_of(start + np.flatnonzero(mask[start:stop])), number)

    def entries(runs):
        assert np.all(runs[1:, 0] > runs[:-1, 1])
        assert np.all(runs[:, 0] < runs[:, 1])
        return [entry for start, end in runs.tolist() for entry in range(start, end)]

    for number, mask in enumerate(masks):
        assert entries(picked.of(number)) == np.flatnonzero(mask).tolist()
        assert length_of(picked.of(number)) == mask.sum()
    assert entries(picked.of_any()) == np.flatnonzero(masks.any(axis=0)).tolist()
    again = PickedEntries.from_lists(json.loads(json.dumps(picked.to_lists())))
    assert all(np.array_equal(again.of(number), picked.of(number)) for number in range(3))
    assert joined([]).shape == (0, 2)
