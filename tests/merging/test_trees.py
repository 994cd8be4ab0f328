"""Merged trees: their baskets are those of the inputs, and ROOT, uproot and arrowroot read the values of these."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import trees_with_root as made


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("trees")
    root.run(made.make, directory)
    return [directory / f"in{number}.root" for number in range(len(made.N_ENTRIES))]


@pytest.fixture(scope="module")
def merged(inputs):
    path = inputs[0].with_name("merged.root")
    report = ar.merge(path, inputs)
    assert [(one.path, one.num_entries, one.n_inputs) for one in report.objects] == [
        ("sub/t", sum(made.N_ENTRIES), 4)
    ]
    return path


def tables(paths):
    parts = [ar.open(path)["sub/t"].to_arrow() for path in paths]
    return pa.concat_tables(part for part in parts if part.num_rows)


def test_values_are_those_of_the_inputs_one_after_another(inputs, merged):
    assert ar.open(merged)["sub/t"].to_arrow().combine_chunks().equals(tables(inputs).combine_chunks())


def read_by_root(directory, *names):
    return [entry for name in names for entry in root.run(made.values, directory, name, "sub/t")]


def test_root_reads_what_it_reads_of_the_inputs(inputs, merged):
    read = read_by_root(merged.parent, "merged.root")
    assert read == read_by_root(merged.parent, *(path.name for path in inputs))
    told = root.run(made.facts, merged.parent, "merged.root", "sub/t")
    assert told["keys"] == ["t"], "the newest cycle alone"
    # Of all inputs: ROOT makes its memory so large.
    assert told["maximum"] == max(len(counted) for _, counted, *_ in read)
    assert told["length"] == 1 + max(len(word) for _, _, word, *_ in read)
    assert told["clusters"][:3] == [0, 7, 307]


def test_root_reads_what_it_reads_of_its_own_merging(inputs, tmp_path):
    # Longest texts first: hadd keeps the length of the first input.
    given = [inputs[3], inputs[2], inputs[1]]
    ar.merge(tmp_path / "ours.root", given)
    root.run(made.hadd, tmp_path, "theirs.root", [str(path) for path in given])
    assert read_by_root(tmp_path, "ours.root") == read_by_root(tmp_path, "theirs.root")
    ours, theirs = (root.run(made.facts, tmp_path, name, "sub/t") for name in ("ours.root", "theirs.root"))
    for fact in ("entries", "maximum", "length", "keys"):
        assert ours[fact] == theirs[fact], fact


def test_uproot_reads_the_same(merged):
    with uproot.open(merged) as file:
        theirs = file["sub/t"].arrays(["i", "n", "x", "v", "name", "text"])
    ours = ar.open(merged)["sub/t"].to_arrow()
    for name in theirs.fields:
        assert theirs[name].to_list() == ours[name].to_pylist(), name


def test_baskets_are_copied_as_they_are(inputs, merged):
    def codecs(path):
        with uproot.open(path) as file:
            branch = file["sub/t"]["i"]
            return [branch.basket(k).compressed_bytes for k in range(branch.num_baskets)]

    # Those in the records of trees become records of their own.
    assert codecs(merged)[-len(codecs(inputs[3])) :] == codecs(inputs[3])


def test_a_file_alone_is_itself_again(inputs, tmp_path):
    ar.merge(tmp_path / "one.root", inputs[2])
    assert ar.open(tmp_path / "one.root")["sub/t"].to_arrow().equals(ar.open(inputs[2])["sub/t"].to_arrow())


def write(path, columns, **options):
    with ar.create(path, reproducible=True) as file, file.tree("t", **options) as tree:
        tree.append(columns)
    return path


@pytest.fixture
def differing(tmp_path):
    lists = [np.arange(k % 3, dtype=np.float32) for k in range(4)]
    first = {"a": np.arange(4), "b": np.arange(4, dtype=np.float32), "l": lists}
    second = {"c": ["x", "yy"], "b": np.array([7, 8], np.float32), "a": np.array([5, 6])}
    return [write(tmp_path / "1.root", first), write(tmp_path / "2.root", second)]


def test_other_columns_are_an_error_that_names_them(differing, tmp_path):
    with pytest.raises(
        ar.SchemaMismatchError, match=r"2.root: t: other branches.*lacks \"nl\", \"l\".*lack \"c\""
    ):
        ar.merge(tmp_path / "out.root", differing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.root", "2.root"]


def test_the_union_of_columns_has_defaults(differing, tmp_path):
    ar.merge(tmp_path / "out.root", differing, columns="union")
    table = ar.open(tmp_path / "out.root")["t"].to_arrow(["a", "b", "l", "c"])
    assert table["a"].to_pylist() == [0, 1, 2, 3, 5, 6]
    assert table["b"].to_pylist() == [0, 1, 2, 3, 7, 8]
    assert table["l"].to_pylist() == [[], [0], [0, 1], [], [], []]
    assert table["c"].to_pylist() == ["", "", "", "", "x", "yy"]
    with uproot.open(tmp_path / "out.root") as file:
        theirs = file["t"].arrays(["l", "c"])
    assert theirs["l"].to_list() == table["l"].to_pylist()
    assert theirs["c"].to_list() == table["c"].to_pylist()


def test_the_columns_of_the_first_input_are_enough(differing, tmp_path):
    ar.merge(tmp_path / "out.root", differing, columns="first")
    table = ar.open(tmp_path / "out.root")["t"].to_arrow()
    assert table.column_names == ["a", "b", "l"]
    assert table["l"].to_pylist() == [[], [0], [0, 1], [], [], []]


def test_columns_of_other_types_are_an_error(tmp_path):
    paths = [
        write(tmp_path / "1.root", {"a": np.arange(3)}),
        write(tmp_path / "2.root", {"a": np.arange(3.0)}),
    ]
    with pytest.raises(
        ar.SchemaMismatchError, match=r'branch "a": TLeafD "a", in the inputs before TLeafL "a"'
    ):
        ar.merge(tmp_path / "out.root", paths, columns="union")


def test_an_index_is_made_anew(tmp_path):
    runs = [np.array([3, 1, 2]), np.array([9, 7])]
    paths = [write(tmp_path / f"{k}.root", {"run": run}, index="run") for k, run in enumerate(runs)]
    ar.merge(tmp_path / "out.root", paths)
    friend = write(tmp_path / "f.root", {"run": np.array([7, 3])})
    joined = ar.scan(friend, columns=["run", "w.run"], friends={"w": tmp_path / "out.root"}).to_arrow()
    assert joined["w.run"].to_pylist() == [7, 3]
    plain = write(tmp_path / "2.root", {"run": np.array([1])})
    (tree,) = ar.merge(tmp_path / "out.root", [*paths, plain]).objects
    assert "its index (TTreeIndex) was left out" in tree.notes[0]


def test_notes_are_joined(tmp_path):
    notes = [{"aliases": {"two": "2*a"}, "user_info": {"n": 1}}, {"aliases": {"two": "2*a", "b": "a"}}]
    paths = [write(tmp_path / f"{k}.root", {"a": np.arange(3)}, **note) for k, note in enumerate(notes)]
    paths.append(write(tmp_path / "2.root", {"a": np.arange(3)}, entries_reshuffled=True))
    report = ar.merge(tmp_path / "out.root", paths)
    assert report.objects[0].notes == ()
    assert ar.open(tmp_path / "out.root")["t"].entries_reshuffled
    with uproot.open(tmp_path / "out.root") as file:
        assert dict(file["t"].aliases) == {"two": "2*a", "b": "a"}


def test_what_users_added_is_that_of_all_inputs(tmp_path):
    infos = [{"lumi": 1.5, "year": "2018"}, {"lumi": 2.5, "year": "2018"}, {"more": 3}, {"lumi": 1.5}]
    paths = [
        write(tmp_path / f"{k}.root", {"a": np.arange(3)}, user_info=info) for k, info in enumerate(infos)
    ]
    (tree,) = ar.merge(tmp_path / "out.root", paths).objects
    assert tree.notes == (
        'the inputs have several objects "lumi" in GetUserInfo: all are kept, and FindObject finds the first',
    )
    assert root.run(made.user_info, tmp_path, "out.root") == ["lumi 1.5", "year 2018", "lumi 2.5", "more 3"]


def test_arrow_types_are_those_of_the_first_input(tmp_path):
    typed = pa.table({"x": pa.array([1, 2], pa.timestamp("ms")), "y": [1.0, 2.0]})
    paths = [tmp_path / "plain.root", tmp_path / "typed.root"]
    for path, data in zip(paths, ({"x": np.arange(2)}, typed), strict=True):
        ar.write(f"{path}:t", data)
    (tree,) = ar.merge(tmp_path / "out.root", paths, columns="first").objects
    assert "the first input records no Arrow types" in tree.notes[0]
    assert ar.open(tmp_path / "out.root")["t"].to_arrow().to_pydict() == {"x": [0, 1, 1, 2]}


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
def test_lists_of_records_and_texts_are_copied(tmp_path):
    record = pa.struct([("x", pa.float32()), ("s", pa.list_(pa.int32()))])
    schema = pa.schema([("r", pa.list_(record)), ("t", pa.list_(pa.string()))])
    entries = [
        [{"r": [{"x": k, "s": [k] * j} for j in range(k)], "t": [str(k)] * k} for k in range(5)],
        [{"r": [{"x": 7, "s": [1, 2]}], "t": []}],
    ]
    paths = []
    for number, part in enumerate(entries):
        paths.append(tmp_path / f"{number}.root")
        ar.write(f"{paths[-1]}:t", pa.Table.from_pylist(part, schema), layout="aod-2011")
    ar.merge(tmp_path / "out.root", paths)
    assert ar.open(tmp_path / "out.root")["t"].to_arrow().to_pylist() == entries[0] + entries[1]


@pytest.fixture
def references(tmp_path):
    """Return files of two processes of ROOT, whose references count by identifiers of their own."""
    for number in range(2):
        root.run(made.make_references, tmp_path, f"refs{number}.root", 10 * number)
    return [tmp_path / f"refs{number}.root" for number in range(2)]


def test_references_lead_to_the_objects_of_their_entries(references, tmp_path):
    names = [f"object {first + entry}" for first in (0, 10) for entry in range(4)]
    ar.merge(tmp_path / "ours.root", references)
    assert root.run(made.referenced, tmp_path, "ours.root") == names
    keys = [key.name for key in ar.open(tmp_path / "ours.root").key_list()]
    assert sorted(keys) == ["ProcessID0", "ProcessID1", "refs"]


def test_an_input_whose_identifier_of_references_is_damaged_is_left_out_whole(references, tmp_path):
    content = references[0].read_bytes()
    # The entry in the list of keys has 4 bytes of its size, 2 of the version, and 4 of the size of the object,
    # which is wrong now.
    size = content.rindex(b"\nTProcessID\nProcessID0") - 26 + 6
    n_bytes = int.from_bytes(content[size : size + 4], "big")
    references[0].write_bytes(content[:size] + (n_bytes + 1).to_bytes(4, "big") + content[size + 4 :])
    report = ar.merge(tmp_path / "ours.root", references, on_bad_input="skip")
    assert [one.path for one in report.left_out] == [str(references[0])]
    assert ar.open(tmp_path / "ours.root")["refs"].num_entries == 4


def test_objects_behind_an_input_without_entries_are_forgotten_as_in_their_own_file(tmp_path):
    """ROOT says of each entry else that an object is there twice (TExMap::Add)."""
    root.run(made.make_behind_empty, tmp_path)
    ar.merge(tmp_path / "out.root", [tmp_path / "e0.root", tmp_path / "e1.root"])
    of_first, of_second, of_all = (
        root.run(made.forgets_objects, tmp_path, name) for name in ("e0.root", "e1.root", "out.root")
    )
    assert of_all == of_second
    assert of_all != of_first
