"""Files of ours that ROOT merges, takes snapshots of and updates, or uproot extends: what comes of it is right."""

from __future__ import annotations

import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root
from tests.tables import draw, required

from . import go_on_with_root
from .expected import shown, stored_values
from .invariants import assert_sound
from .seeds import seeds_of
from .test_matrix import Case, branches_of, comes_back, may_have_texts
from .test_matrix import write as written

HERE = Path(__file__).resolve().parent
LAYOUTS = ("ttree", "rntuple")
SEEDS = seeds_of(30)


def table_of(seed: int, n: int = 500) -> pa.Table:
    random = np.random.default_rng(seed)
    lengths = random.poisson(2, n)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    items = int(ends[-1])
    offsets = pa.array(ends)
    return pa.table({
        "run": pa.array(random.integers(0, 9, n).astype(np.int32)),
        "event": pa.array(np.arange(n, dtype=np.uint64) + seed * n),
        "ok": pa.array(random.random(n) < 0.5),
        "met": pa.array(random.exponential(30, n).astype(np.float32)),
        "label": pa.array([["", "signal", "z" * 300][k % 3] for k in range(n)]),
        "Muon_pt": pa.ListArray.from_arrays(offsets, pa.array(random.normal(0, 1, items).astype(np.float32))),
        "Muon_charge": pa.ListArray.from_arrays(offsets, pa.array(random.integers(-1, 2, items).astype(np.int8))),
        "hits": pa.array([[[float(k)] * (k % 3)] * (k % 2) for k in range(n)], type=pa.list_(pa.list_(pa.float64()))),
    })  # fmt: skip


def write(path: Path, table: pa.Table, layout: str, **options: Any) -> Path:
    ar.write(f"{path}:Events", table, layout=layout, flush=200, **options)
    return path


def assert_holds(path: Path, table: pa.Table) -> None:
    with ar.open(str(path)) as file:
        read = file["Events"].to_arrow()
    assert set(read.column_names) >= set(table.column_names)
    for name in table.column_names:
        assert shown(read.column(name)) == shown(table.column(name)), name


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Case, Path]]:
    """Cases of the matrix and their files, beside which is what ROOT made of these."""
    directory = tmp_path_factory.mktemp("drawn")
    cases = [Case(seed, draw(seed)) for seed in SEEDS]
    files = [written(case, directory) for case in cases]
    crashed = root.run(go_on_with_root.go_on, directory, files)
    # Without a dictionary ROOT moves objects with texts as bytes (docs/writing.md).
    lost = [case for case, is_lost in zip(cases, crashed, strict=True) if is_lost]
    for case in lost:
        assert any(of is not None and may_have_texts(of) for _, of in branches_of(case).values()), case
    return {case.seed: (case, path) for case, path in zip(cases, files, strict=True) if case not in lost}


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
@pytest.mark.parametrize("what", ["merged", "updated"])
@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_tables_in_drawn_layouts_are_what_they_were(drawn, seed, what):
    if seed not in drawn:
        pytest.skip("ROOT crashes of texts in objects")
    case, path = drawn[seed]
    if (what, case.format) == ("merged", "rntuple"):
        return  # the types that it leaves are below
    table = pa.concat_tables([case.table] * (2 if what == "merged" else 1))
    comes_back(replace(case, table=table), path.with_name(f"{what}-{path.name}"))
    # Part of the files is reproducible, and has no times; ROOT frees what is at the end, and describes a class twice.
    assert_sound(path.with_name(f"{what}-{path.name}"), but=["file-end", "info-once", "directory-times"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("what", ["merge", "merge-anew"])
def test_merged_files_have_all_entries_in_order(tmp_path, layout, what):
    tables = [table_of(seed) for seed in (1, 2, 3)]
    files = [write(tmp_path / f"{k}.root", table, layout) for k, table in enumerate(tables)]
    root.run(getattr(go_on_with_root, what.replace("-", "_")), tmp_path, tmp_path / "merged.root", *files)
    assert_holds(tmp_path / "merged.root", pa.concat_tables(tables))


#: Columns of each kind whose type a tree records, and an RNTuple until ROOT merges it: what is left then.
RECORDED: list[tuple[pa.DataType, bool, list[Any], str]] = [
    (pa.timestamp("us", "UTC"), False, [1, 2, 3], "int64"),
    (pa.date32(), False, [1, 2, 3], "int32"),
    (pa.time64("us"), False, [1, 2, 3], "int64"),
    (pa.duration("s"), False, [1, 2, 3], "int64"),
    (pa.decimal128(12, 3), False, [Decimal(1), Decimal(2), Decimal("3.5")], "fixed_size_list<uint8>[16]"),
    (pa.binary(), False, [b"a", b"", b"cc"], "list<uint8>"),
    (pa.binary(3), False, [b"abc", b"def", b"ghi"], "fixed_size_list<uint8>[3]"),
    (pa.float16(), False, [1.0, 2.0, 3.5], "float"),
    (pa.dictionary(pa.int32(), pa.string()), False, ["a", "b", "a"], "string"),
    (pa.large_string(), False, ["a", "b", "é"], "string"),
    (pa.large_list(required(pa.float32())), False, [[1.0], [], [2.0, 3.0]], "list<float>"),
    (pa.list_(required(pa.struct([required(pa.int32(), "n")])), 1), False, [[{"n": k}] for k in range(3)],
     "list<struct<n: int32>>"),
    (pa.struct([required(pa.int32(), "n")]), True, [{"n": 1}, None, {"n": 3}], "list<struct<n: int32>>"),
    (pa.null(), True, [None, None, None], "bool"),
    # These are what they were.
    (pa.int32(), True, [1, None, 3], "int32"),
    (pa.string(), True, ["a", None, ""], "string"),
    (pa.map_(pa.string(), required(pa.float32(), "value")), False, [[("a", 1.0)], [], [("b", 2.0)]],
     "map<string, float>"),
    (pa.struct([required(pa.int32(), "a.b")]), False, [{"a.b": k} for k in range(3)], "struct<a.b: int32>"),
]  # fmt: skip


def plain(kind: pa.DataType) -> str:
    """The text of a type without what it says of missing values, and without names of items."""
    return str(kind).replace(" not null", "").replace("item: ", "").replace("element: ", "")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_merged_files_keep_names_and_the_types_that_the_page_says(tmp_path, layout):
    fields = [
        pa.field(f"no.{number} é", kind, nullable=nullable)
        for number, (kind, nullable, _, _) in enumerate(RECORDED)
    ]
    arrays = [pa.array(values, kind) for kind, _, values, _ in RECORDED]
    table = pa.table(arrays, schema=pa.schema(fields))
    files = [write(tmp_path / f"{k}.root", table, layout) for k in range(2)]
    root.run(go_on_with_root.merge, tmp_path, tmp_path / "merged.root", *files)
    read = ar.open(tmp_path / "merged.root")["Events"].to_arrow()
    twice = pa.concat_tables([table, table])
    assert read.column_names == table.column_names
    page = (HERE.parents[1] / "docs" / "writing.md").read_text(encoding="utf-8")
    for (kind, nullable, _, merged), name in zip(RECORDED, read.column_names, strict=True):
        if layout == "ttree":
            assert read[name].equals(twice[name]), kind
            continue
        assert plain(read.schema.field(name).type) == merged, kind
        if merged != plain(kind):
            what = f"{plain(kind)}`, nullable" if nullable else f"{plain(kind)}`"
            assert f"| `{what} | `{merged}` |\n" in page
        expected = stored_values(twice[name])
        if merged == "bool":
            expected = [False] * len(expected)
        elif pa.types.is_struct(kind) and nullable:
            expected = [[] if one is None else [one] for one in expected]
        assert shown(read[name]) == shown(expected), kind


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_of_different_codecs_are_merged(tmp_path, layout):
    tables = [table_of(seed) for seed in (1, 2)]
    files = [
        write(tmp_path / f"{k}.root", table, layout, compression=codec)
        for k, (table, codec) in enumerate(zip(tables, ["lz4", "lzma:2"], strict=True))
    ]
    root.run(go_on_with_root.merge, tmp_path, tmp_path / "merged.root", *files)
    assert_holds(tmp_path / "merged.root", pa.concat_tables(tables))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_snapshot_has_the_same_values(tmp_path, layout):
    table = table_of(1)
    # RDataFrame has a text of a tree as characters, and no dictionary to write vectors of vectors with.
    of_tree, of_ntuple = table.drop_columns(["label", "hits"]), table.append_column("a.b é", table["met"])
    table = of_tree if layout == "ttree" else of_ntuple
    file = write(tmp_path / "ours.root", table, layout)
    root.run(go_on_with_root.snapshot, tmp_path, layout, tmp_path / "snapshot.root", file)
    assert_holds(tmp_path / "snapshot.root", table)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_updated_file_has_what_it_had_and_what_was_added(tmp_path, layout):
    table = table_of(1)
    file = write(tmp_path / "ours.root", table, layout)
    root.run(go_on_with_root.update, tmp_path, tmp_path / "updated.root", file)
    assert_holds(tmp_path / "updated.root", table)
    # What ROOT frees at the end stays there, after fEND.
    assert_sound(tmp_path / "updated.root", but=["file-end"])
    with ar.open(str(tmp_path / "updated.root")) as opened:
        assert opened["second"].title == "other"
        assert opened["added/h"].values().tolist() == [0, 0, 1, 0, 0]


def test_zlib_makes_lists_as_small_as_root_does(tmp_path):
    random = np.random.default_rng(1)
    n = 40_000
    ends = pa.array(np.concatenate([[0], np.cumsum(random.poisson(3, n))]).astype(np.int32))
    n_items = ends[-1].as_py()
    kept = random.exponential(30, n_items).astype(np.float32)
    kept.view(np.uint32)[:] &= np.uint32(0xFFFFF000)  # 11 bits of mantissa, as NanoAOD keeps them
    whole, small = (
        random.normal(0, 1.5, n_items).astype(np.float32),
        random.poisson(4, n_items).astype(np.int32),
    )
    columns = {"C_kept": kept, "C_whole": whole, "C_small": small}
    table = pa.table(
        {name: pa.ListArray.from_arrays(ends, pa.array(values)) for name, values in columns.items()}
    )
    ours, plain, theirs = (tmp_path / name for name in ("ours.root", "plain.root", "theirs.root"))
    ar.write(f"{ours}:Events", table, compression="zlib:1")
    ar.write(f"{plain}:Events", table, compression=None)
    root.run(go_on_with_root.zlib, tmp_path, theirs, plain)
    assert ours.stat().st_size <= 1.02 * theirs.stat().st_size


@pytest.mark.parametrize("compression", [None, "zstd:5"])
def test_uproot_extends_an_rntuple_of_plain_encoding(tmp_path, compression):
    path = tmp_path / "t.root"
    lists = pa.list_(required(pa.list_(required(pa.float64()))))
    table = pa.table({
        "x": np.arange(5, dtype=np.float32),
        "n": np.arange(5, dtype=np.uint16),
        "ok": [True, False] * 2 + [True],
        "word": ["a", "", "bc", "d", "é"],
        "l": pa.array([[[1.0]], [], [[], [2.0, 3.0]], [[4.0]], []], lists),
    })  # fmt: skip
    # A field that is nullable, without a value that is missing, would be recorded.
    table = table.cast(pa.schema([field.with_nullable(False) for field in table.schema]))
    layout = ar.Layout("rntuple", encoding="plain", compression=compression)
    ar.write(f"{tmp_path}/ours.root:t", table, layout=layout)
    shutil.copyfile(tmp_path / "ours.root", path)
    with uproot.update(path) as file:
        file["t"].extend({name: ak.from_arrow(table[name]) for name in table.column_names})
    twice = pa.concat_tables([table, table]).to_pydict()
    assert ar.open(path)["t"].to_arrow().to_pydict() == twice
    with uproot.open(path) as file:
        arrays = file["t"].arrays()
    assert {name: arrays[name].tolist() for name in arrays.fields} == twice
