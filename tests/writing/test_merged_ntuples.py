"""RNTuples that were merged: ROOT, uproot and arrowroot read the entries of the inputs, one after another."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot import _native
from arrowroot._storage.config import resolve
from arrowroot._storage.readers import Opening
from tests.judge import root

from . import merged_ntuples_with_root as with_root

FIELDS = ["number", "list", "text", "pairs", "shown", "n_list"]


def merged(output, inputs, columns="strict"):
    """Merge files; return the output's path."""
    with ar.create(output) as file:
        merger = _native.Merger(
            file.native, columns=columns, rules=[], rebasket=False, provenance=False, join=None
        )
        for path in inputs:
            merger.add(Opening(*resolve([str(path)], {})).open())
        merger.finish()
    return str(output)


def of_root(first, n):
    """What merged_ntuples_with_root.write writes."""
    every = range(first, first + n)
    return {
        "number": list(every),
        "list": [[0.5 * i] * (i % 4) for i in every],
        "text": ["x" * (i % 3) + str(i) for i in every],
        "pairs": [[[i, 0.25 * k] for k in range(i % 3)] for i in every],
        "shown": [[i] * (i % 3) for i in every],
        "n_list": [i % 4 for i in every],
        "late": [i % 100 if i >= first + n // 2 else 0 for i in every],
    }


def joined(*parts):
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def as_lists(values):
    """Records as lists, as JSON has pairs."""
    if isinstance(values, dict):
        return [as_lists(value) for value in values.values()]
    return [as_lists(value) for value in values] if isinstance(values, list | tuple) else values


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Files by ROOT, of other codecs and encodings: 0 does not split numbers."""
    directory = tmp_path_factory.mktemp("parts")
    made = [("a.root", 0, 100, 505), ("b.root", 100, 70, 0), ("c.root", 170, 90, 101)]
    root.run(with_root.write, directory, directory, made)
    return [directory / name for name, *_ in made]


def test_all_read_what_was_merged_of_other_codecs_encodings_and_late_columns(tmp_path, parts):
    path = merged(tmp_path / "out.root", parts)
    expected = joined(of_root(0, 100), of_root(100, 70), of_root(170, 90))
    with ar.open(path) as file:
        ours = file["T"].to_arrow().to_pydict()
    for name, values in expected.items():
        assert as_lists(ours[name]) == values, name
    found = root.run(with_root.read, tmp_path, path, [*FIELDS, "late"])
    for name, values in expected.items():
        assert found[name] == values, name
    assert found["by RDataFrame"] == expected["number"]
    assert found["sums"] == sum(map(sum, expected["list"]))
    with uproot.open(path) as file:
        theirs = file["T"].arrays(["number", "list", "text", "late"])
        for name in theirs.fields:
            assert theirs[name].to_list() == expected[name], name


@pytest.mark.long
def test_it_is_what_roots_own_merger_makes(tmp_path, parts):
    path = merged(tmp_path / "out.root", parts[:1] * 2 + parts[2:])
    root.run(
        with_root.merge, tmp_path, str(tmp_path / "hadd.root"), list(map(str, parts[:1] * 2 + parts[2:]))
    )
    fields = [*FIELDS, "late"]
    ours, theirs = (
        root.run(with_root.read, tmp_path, p, fields) for p in (path, str(tmp_path / "hadd.root"))
    )
    assert ours == theirs


def test_attribute_sets_are_kept_with_their_entries(tmp_path, parts):
    path = merged(tmp_path / "out.root", [*parts, merged(tmp_path / "before.root", parts[:2])])
    expected = [[[0, 100], "from 0"], [[100, 70], "from 100"], [[170, 90], "from 170"]]
    expected += [[[260, 100], "from 0"], [[360, 70], "from 100"]]
    assert root.run(with_root.attributes, tmp_path, path) == expected


def test_root_reads_which_input_entries_come_from(tmp_path, parts):
    ar.merge(tmp_path / "out.root", parts, provenance=True)
    expected = [
        [[first, n], str(part)] for part, first, n in zip(parts, (0, 100, 170), (100, 70, 90), strict=True)
    ]
    read = root.run(with_root.attributes, tmp_path, str(tmp_path / "out.root"), "inputs", "input")
    assert read == expected


@pytest.mark.long
def test_columns_that_an_input_lacks_are_empty_there(tmp_path, parts):
    ar.write(f"{tmp_path}/less.root:T", {"number": pa.array([-1, -2], pa.int32())}, layout="rntuple")
    less, full = tmp_path / "less.root", parts[1]
    expected = of_root(100, 70)
    nothing = {
        "list": [[], []],
        "text": ["", ""],
        "pairs": [[], []],
        "late": [0, 0],
        "shown": [[], []],
        "n_list": [0, 0],
    }
    before = {"number": [-1, -2]} | nothing
    for name, inputs, values in [
        ("first", [less, full], joined(before, expected)),
        ("last", [full, less], joined(expected, before)),
    ]:
        path = merged(tmp_path / f"{name}.root", inputs, "union")
        found = root.run(with_root.read, tmp_path, path, [*FIELDS, "late"])
        with ar.open(path) as file:
            ours = file["T"].to_arrow().to_pydict()
        for field in values:
            assert found[field] == values[field], (name, field)
            assert as_lists(ours[field]) == values[field], (name, field)
        with uproot.open(path) as file:
            assert file["T"]["list"].array().to_list() == values["list"]
    with pytest.raises(ar.ArrowrootError, match="field list is in no input before"):
        merged(tmp_path / "strict.root", [less, full])
    assert not (tmp_path / "strict.root").exists()


@pytest.mark.parametrize("seed", range(4))
def test_chains_of_writing_and_merging_drawn_by_seed(tmp_path, seed):
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c"]

    def drawn(n, columns):
        made = {}
        for name in columns:
            made[name] = {
                "a": lambda: pa.array(rng.integers(-1000, 1000, n), pa.int64()),
                "b": lambda: pa.array(
                    [list(map(float, rng.integers(0, 9, k))) for k in rng.integers(0, 4, n)]
                ),
                "c": lambda: pa.array([None if i % 3 == 0 else "t" * int(i) for i in rng.integers(0, 7, n)]),
            }[name]()
        return pa.table(made)

    files: list[tuple[str, pa.Table]] = []
    for step in range(6):
        path = f"{tmp_path}/{step}.root"
        if len(files) < 2 or rng.random() < 0.5:
            columns = ["a"] if rng.random() < 0.2 else names
            table = drawn(int(rng.integers(0, 300)), columns)
            codec = rng.choice(["zstd", "lz4", "zlib", "none"])
            ar.write(f"{path}:T", table, layout="rntuple", compression=str(codec))
        else:
            chosen = [files[int(i)] for i in rng.integers(0, len(files), int(rng.integers(2, 5)))]
            merged(path, [name for name, _ in chosen], "union")
            columns = [name for name in names if any(name in table.column_names for _, table in chosen)]
            rows = {name: [] for name in columns}
            empty = {"a": 0, "b": [], "c": None}
            for _, table in chosen:
                for name in columns:
                    has = name in table.column_names
                    rows[name] += table[name].to_pylist() if has else [empty[name]] * len(table)
            table = pa.table({name: pa.array(values) for name, values in rows.items()})
        with ar.open(path) as file:
            found = file["T"].to_arrow().to_pydict()
        assert {name: found[name] for name in table.column_names} == table.to_pydict()
        files.append((path, table))


def test_a_damaged_page_is_an_error_before_anything_appears(tmp_path, parts):
    data = bytearray(parts[1].read_bytes())
    at = data.index(b"x100")
    data[at] ^= 1
    (tmp_path / "damaged.root").write_bytes(data)
    with pytest.raises(ar.ArrowrootError, match="checksum"):
        merged(tmp_path / "out.root", [parts[0], tmp_path / "damaged.root"])
    assert not (tmp_path / "out.root").exists()


@pytest.mark.parametrize("is_list", [False, True], ids=["records", "lists of records"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_union_has_the_members_of_all_records_with_their_types_in_arrow(tmp_path, is_list, order):
    day = dt.date(1970, 1, 6)
    records = [
        {"A": True, "deep": {"a": day}},
        {"A": True, "deep": {"a": day, "b": [1]}, "B": True},
        {"C": [day], "deep": {"b": [2], "c": day}},
    ]
    nothing = {
        "A": False,
        "deep": {"a": dt.date(1970, 1, 1), "b": [], "c": dt.date(1970, 1, 1)},
        "B": False,
        "C": [],
    }
    for number, record in enumerate(records):
        data = pa.table({"HLT": [[record] * 2] if is_list else [record]})
        ar.write(f"{tmp_path}/{number}.root:E", data, layout="rntuple")
    ar.merge(tmp_path / "all.root", [tmp_path / f"{number}.root" for number in order], columns="union")
    expected = [
        {**nothing, **records[number], "deep": {**nothing["deep"], **records[number]["deep"]}}
        for number in order
    ]
    with ar.open(tmp_path / "all.root") as file:
        read = file["E"].to_arrow()["HLT"].to_pylist()
    assert read == ([[one] * 2 for one in expected] if is_list else expected)
    with uproot.open(tmp_path / "all.root") as file:
        found = file["E"].arrays()["HLT"].tolist()
    flat = [one for entry in found for one in entry] if is_list else found
    assert {tuple(sorted(one)) for one in flat} == {("A", "B", "C", "deep")}


def test_the_union_of_files_whose_menus_differ_is_read(tmp_path):
    day = pa.array([0, 1], pa.date32())
    flat = [{"nMuon": [1, 2], "Muon_pt": [[1.0], [2.0, 3.0]], "HLT_day": day} for _ in range(2)]
    flat[0] |= {"HLT_A": [True, False]}
    flat[1] |= {"HLT_B": [False, True], "Muon_eta": [[0.5], [1.0, 1.5]]}
    for number, data in enumerate(flat):
        ar.write(f"{tmp_path}/{number}.root:Events", data, layout="nanoaod-rntuple")
    ar.merge(tmp_path / "all.root", [tmp_path / "0.root", tmp_path / "1.root"], columns="union")
    with ar.open(tmp_path / "all.root") as file:
        read = file["Events"].to_arrow(["HLT", "Muon"]).to_pydict()
    assert [sorted(one) for one in read["HLT"]] == [["A", "B", "day"]] * 4
    assert [one["B"] for one in read["HLT"]] == [False, False, False, True]
    assert [[one["eta"] for one in entry] for entry in read["Muon"]] == [[0.0], [0.0, 0.0], [0.5], [1.0, 1.5]]


PRECISIONS = {
    "quantized": "float[Real32Quant:12[0,1]]",
    "of another range": "float[Real32Quant:12[0,2]]",
    "truncated": "float[Real32Trunc:16]",
    "of other bits": "float[Real32Trunc:20]",
}


@pytest.mark.parametrize("first", PRECISIONS)
def test_numbers_of_fewer_bits_are_merged_where_root_reads_them(first, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = {"x": np.linspace(0, 1, 1000, dtype=np.float32)}
    for name, kind in PRECISIONS.items():
        ar.write(f"{name}.root:n", data, layout="rntuple", types={"x": kind})
    ar.write("whole.root:n", data, layout="rntuple")
    for other in (first, "whole"):
        ar.merge("all.root", [f"{first}.root", f"{other}.root"])
        parts = [ar.open(f"{name}.root")["n"].to_numpy()["x"].tolist() for name in (first, other)]
        assert root.run(with_root.numbers, tmp_path, "all.root", "n", "x") == [*parts[0], *parts[1]]
    for name in PRECISIONS.keys() - {first}:
        with pytest.raises(ar.SchemaMismatchError, match="fewer bits, or are of another range"):
            ar.merge("all.root", [f"{first}.root", f"{name}.root"])
    with pytest.raises(ar.SchemaMismatchError, match="fewer bits, or are of another range"):
        ar.merge("all.root", ["whole.root", f"{first}.root"])
