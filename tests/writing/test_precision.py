"""Numbers of reduced precision: ROOT, uproot and arrowroot read the same, within the error that the plan tells."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot._layout.precision import parse_precision
from tests.judge import root
from tests.recorded import session
from tests.tables import draw, list_of, struct

from . import precision_with_root
from .expected import stored_values
from .invariants import assert_sound
from .test_matrix import SEEDS, Case

if TYPE_CHECKING:
    from pathlib import Path

N_ENTRIES = 20_000 if os.environ.get("ARROWROOT_SOAK") else 2_000
OF_FLOATS = {
    "ttree": ["Float16", "Float16[0,0,7]", "Float16[-8,8,11]", "mantissa:10", "mantissa:3"],
    "rntuple": [
        "Real32Trunc:10",
        "Real32Trunc:23",
        "Real32Quant:9[-8,8]",
        "Real32Quant:32[-8,8]",
        "mantissa:10",
    ],
}
OF_DOUBLES = {
    "ttree": ["Double32", "Double32[0,0,12]", "Double32[-8,8]", "Double32[-8,8,20]"],
    "rntuple": ["Real32Trunc:17", "Real32Quant:20[-8,8]"],
}


def columns_of(layout: str) -> tuple[pa.Table, dict[str, str]]:
    """Numbers and lists for each precision, and the precisions by column."""
    rng = np.random.default_rng(5)
    arrays: dict[str, Any] = {}
    precisions = {}
    for kind, texts in (("float32", OF_FLOATS[layout]), ("float64", OF_DOUBLES[layout])):
        for number, text in enumerate(texts):
            values = np.clip(rng.normal(size=N_ENTRIES) * 2.0 ** rng.integers(-6, 3, N_ENTRIES), -7.9, 7.9)
            values[:6] = [0.0, -0.0, 1.0, -1.0, 1.99999, 7.9]
            counts = rng.integers(0, 4, N_ENTRIES)
            offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
            items = pa.array(rng.uniform(-7.9, 7.9, offsets[-1]).astype(kind))
            item = pa.field("item", items.type, nullable=False)
            arrays[f"{kind}_{number}"] = pa.array(values.astype(kind))
            arrays[f"list{kind}_{number}"] = pa.ListArray.from_arrays(offsets, items, type=pa.list_(item))
            precisions |= {f"{kind}_{number}": text, f"list{kind}_{number}": text}
    fields = [pa.field(name, array.type, nullable=False) for name, array in arrays.items()]
    return pa.table(list(arrays.values()), schema=pa.schema(fields)), precisions


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("precision")
    for layout in ("ttree", "rntuple"):
        table, precisions = columns_of(layout)
        chosen = ar.Layout(layout, precision=precisions, flush=700, compression="zstd")
        told = pytest.warns(ar.FewReadersWarning, match="uproot") if layout == "ttree" else nullcontext()
        with told:
            ar.write(f"{directory}/{layout}.root:t", table, layout=chosen)
    return directory


def flat(values: Any) -> Any:
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    is_of_lists = pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type)
    return np.asarray(values.flatten() if is_of_lists else values, np.float64)


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_no_value_is_further_away_than_its_precision_says(written, layout):
    table, precisions = columns_of(layout)
    with ar.open(written / f"{layout}.root") as file:
        read = file["t"].to_arrow()
    assert read.schema.equals(table.schema)
    for name, text in precisions.items():
        given, found = flat(table[name]), flat(read[name])
        precision = parse_precision(text)
        assert precision is not None
        error, kind = precision.error
        bounds = error * np.abs(given) if kind == "relative" else error + np.spacing(np.float32(8.0))
        differences = np.abs(found - given)
        assert (differences <= bounds).all(), f"{name}: {text}"
        # And not much less: a column that was not rounded at all would pass otherwise.
        if error > 1e-6:
            assert (differences > 0.2 * bounds).mean() > 0.2, f"{name}: {text}"


@pytest.mark.long
@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_root_reads_what_arrowroot_reads(written, layout):
    if not list(written.glob("*.npz")):
        root.run(precision_with_root.read, written, complaints_but=("experimental",))
    of_root = np.load(written / f"{layout}.npz")
    with ar.open(written / f"{layout}.root") as file:
        read = file["t"].to_arrow()
    for name in read.column_names:
        np.testing.assert_array_equal(of_root[name].astype(np.float64), flat(read[name]), err_msg=name)


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_uproot_reads_what_arrowroot_reads(written, layout):
    import awkward as ak

    _, precisions = columns_of(layout)
    with ar.open(written / f"{layout}.root") as file, uproot.open(written / f"{layout}.root") as peer:
        read = file["t"].to_arrow()
        for name in read.column_names:
            if name.startswith("list") and precisions[name].startswith(("Double32", "Float16")):
                continue  # uproot 5.7 fails, or reads other values: the plan says so
            found = np.asarray(ak.flatten(peer["t"][name].array(), axis=None), np.float64)
            np.testing.assert_allclose(found, flat(read[name]), rtol=1e-6, atol=1e-6, err_msg=name)


def told_apart(value: Any, numbers: list[float]) -> Any:
    """A value without its floating-point numbers, at any depth, which are put to the others."""
    if isinstance(value, float):
        return numbers.append(value)
    if isinstance(value, dict):
        return {name: told_apart(one, numbers) for name, one in value.items()}
    return [told_apart(one, numbers) for one in value] if isinstance(value, list) else value


def write_rounded(path: Path, case: Case, text: str) -> str:
    """Write a table by a precision, or without its range and bits, which items of vectors have not; return which."""
    layout = ar.Layout(case.layout, precision=text)
    try:
        ar.write(f"{path}:t", case.table, schema=case.schema, layout=layout)
    except ar.UnsupportedError as refused:
        if "packs items of vectors without any" not in str(refused) or "[" not in text:
            raise
        return write_rounded(path, case, text.partition("[")[0])
    return text


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
@pytest.mark.parametrize(
    "text",
    [
        "Double32[-8,8,12]", "Double32", "Float16[0,0,7]", "Float16", "mantissa:9",
        "Real32Trunc:17", "Real32Quant:20[-8,8]", "mantissa:10",
    ],
)  # fmt: skip
def test_numbers_of_drawn_tables_are_as_exact_as_is_asked_for_wherever_they_are(tmp_path, text):
    n_rounded = 0
    of_ntuples = text.startswith("Real") or text == "mantissa:10"
    for seed in range(of_ntuples * 2, len(SEEDS), 3):
        case = Case(seed, draw(seed, bound=7.9))
        path = tmp_path / f"{seed}.root"
        precision = parse_precision(write_rounded(path, case, text))
        assert_sound(path)
        assert precision is not None
        error, kind = precision.error
        with ar.open(path) as file:
            read = file["t"].to_arrow()
        assert list(map(str, read.schema)) == list(map(str, case.schema))
        for name in case.table.column_names:
            numbers: tuple[list[float], list[float]] = [], []
            columns = (table[name] for table in (case.table, read))
            rest = [told_apart(stored_values(one), to) for one, to in zip(columns, numbers, strict=True)]
            assert rest[0] == rest[1], (name, case)
            given, found = map(np.asarray, numbers)
            bounds = error * np.abs(given) if kind == "relative" else error + np.spacing(np.float32(8.0))
            assert (np.abs(found - given) <= bounds).all(), (name, text, case)
            if "struct" in str(case.table[name].type):
                n_rounded += np.count_nonzero(found != given)
    assert n_rounded > 10


def of_range(text: str, column: pa.Array) -> Any:
    ar.write("of-range.root:t", {"x": column}, layout=ar.Layout(precision={"x": text}))
    with ar.open("of-range.root") as file:
        return file["t"].to_arrow().to_pylist()


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
def test_a_value_that_has_no_room_is_refused(tmp_path):
    session("precision", tmp_path, {**globals(), "list_of": list_of, "struct": struct})


@pytest.mark.parametrize(
    "text", ["Double32[0,1e-300,12]", "Double32[-1e300,1e300,20]", "Double32[0,123456789.125,9]"]
)
def test_ends_of_a_range_are_exact_however_small_and_large(tmp_path, text):
    precision = parse_precision(text)
    assert precision is not None
    assert precision.range is not None
    values = np.linspace(*precision.range, 100)
    ar.write(f"{tmp_path}/t.root:t", {"x": values}, layout=ar.Layout(precision={"x": text}))
    with ar.open(tmp_path / "t.root") as file:
        found = file["t"].to_numpy()["x"]
    assert (np.abs(found - values) <= precision.error[0] * 1.0001).all()
    with uproot.open(tmp_path / "t.root") as file:
        np.testing.assert_allclose(file["t"]["x"].array(library="np"), found, rtol=1e-12, atol=0)


def test_encodings_are_chosen(tmp_path):
    table = {"x": np.arange(1000, dtype=np.float32), "n": np.arange(1000)}
    layout = ar.Layout("rntuple", encoding={"x": "plain", "n": "split"}, compression={"x": "zstd", "n": None})
    ar.write(f"{tmp_path}/t.root:t", table, layout=layout)
    with ar.open(f"{tmp_path}/t.root") as file:
        encodings = {branch.name: branch.encoding for branch in file["t"].branches}
        assert encodings == {"x": "Real32", "n": "SplitInt64"}
        assert file["t"].to_arrow().column("n").to_pylist() == list(range(1000))


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_codecs_that_are_tried_depend_on_the_values_alone(tmp_path, layout):
    rng = np.random.default_rng(3)
    columns = {
        "noise": np.frombuffer(rng.bytes(8 * 50_000), np.int64),
        "zeros": np.zeros(50_000),
        "digits": rng.integers(0, 10, 50_000),
    }
    fields = [pa.field(name, pa.array(values).type, nullable=False) for name, values in columns.items()]
    table = pa.table(columns, schema=pa.schema(fields))
    files = []
    for n_threads, rows in [(1, 50_000), (4, 777)]:
        path = tmp_path / f"{n_threads}.root"
        with ar.create(path, reproducible=True, n_threads=n_threads) as file:
            tree = file.tree("t", table.schema, layout=layout, compression="auto", flush=20_000)
            for batch in table.to_batches(max_chunksize=rows):
                tree.append(batch)
        files.append(path.read_bytes().replace(path.name.encode(), b"x"))
    assert files[0] == files[1]
    with ar.open(tmp_path / "1.root") as file:
        codecs = {branch.name: branch.compression for branch in file["t"].branches if branch.n_baskets}
        found = file["t"].to_arrow()
    assert codecs["noise"] == "none"
    assert codecs["zeros"].startswith("lz4")
    assert codecs["digits"].startswith("zstd")
    assert found.equals(table.cast(found.schema))


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"io_features": "kGenerateOffsetMap"},
        {"lists": "vector", "basket_size": 2000},
        {"split": 0, "memberwise": True},
        {"split": 99},
        {"autosave": "30 kB"},
        {"base": "rntuple"},
    ],
    ids=str,
)
def test_codecs_are_tried_on_values_and_not_on_where_nothing_begins(tmp_path, layout):
    """The first half of the entries has no values of the lists and texts, in many clusters."""
    rng, n = np.random.default_rng(11), 8000
    noise = rng.normal(size=(n // 2, 3)).tolist()
    record = pa.struct([pa.field("a", pa.float64(), nullable=False)])
    late: dict[str, tuple[list[Any], pa.DataType]] = {
        "list": (noise, pa.list_(pa.field("item", pa.float64(), nullable=False))),
        "nested": (
            [[one] for one in noise],
            pa.list_(
                pa.field("item", pa.list_(pa.field("item", pa.float64(), nullable=False)), nullable=False)
            ),
        ),
        "records": (
            [[{"a": one} for one in three] for three in noise],
            pa.list_(pa.field("item", record, nullable=False)),
        ),
        "text": ([rng.bytes(20).hex() for _ in noise], pa.string()),
    }
    arrays = [
        pa.array(["" if kind == pa.string() else []] * (n // 2) + values, kind)
        for values, kind in late.values()
    ]
    fields = [pa.field(name, kind, nullable=False) for name, (_, kind) in late.items()]
    table = pa.table(arrays, schema=pa.schema(fields))
    said = ar.Layout(**{"flush": 50, **layout}, compression="auto")
    contents = set()
    for n_threads in (1, 2, 4, 2, 4):
        path = tmp_path / "t.root"
        ar.write(f"{path}:t", table, schema=table.schema, layout=said, reproducible=True, n_threads=n_threads)
        contents.add(path.read_bytes())
    assert len(contents) == 1
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"].to_arrow().equals(table)
    if said.format == "rntuple":
        return
    # As if the entries with values were all.
    ar.write(f"{tmp_path}/late.root:t", table.slice(n // 2), schema=table.schema, layout=said)
    whole, alone = (codecs_of(tmp_path / name) for name in ("t.root", "late.root"))
    values = [name for name in whole if name in {"list", "nested", "text", "records_a", "records.a"}]
    values += ["records"] if said.split == (("*", 0),) else []
    assert len(values) == 4
    assert {name: whole[name] for name in values} == {name: alone[name] for name in values}
    # Hexadecimal digits need an entropy coder.
    assert whole["text"] // 100 == 5


def codecs_of(path: Path) -> dict[str, int]:
    """Codec and level that each branch records."""
    with uproot.open(path) as file:
        return {branch.name: branch.member("fCompress") for branch in file["t"].itervalues(recursive=True)}


def leaves(path: str) -> dict[str, tuple[str, str]]:
    """Return the class and the title of the leaf of each branch, by uproot."""
    with uproot.open(path) as file:
        found = {branch.name: branch.member("fLeaves")[0] for branch in file["t"].branches}
        return {name: (leaf.classname, leaf.member("fTitle")) for name, leaf in found.items()}


def test_packed_types_are_kept_with_their_ranges(tmp_path: Path) -> None:
    values = pa.array([0.5, 9.25, 3.0])
    columns = {"x": values, "y": values, "p": values, "f": values.cast(pa.float32())}
    fields = [pa.field(name, column.type, nullable=False) for name, column in columns.items()]
    data = pa.table(list(columns.values()), schema=pa.schema(fields))
    path, copy, skimmed, narrow, again = (f"{tmp_path}/{n}.root" for n in ("a", "b", "c", "d", "e"))
    packed = {"x": "Double32[0,10,12]", "y": "Double32", "f": "Float16[0,0,10]"}
    ar.write(f"{path}:t", data, layout=ar.Layout(precision=packed))
    original = leaves(path)
    assert original["x"] == ("TLeafD32", "x/d[0,10,12]")
    assert original["p"] == ("TLeafD", "p")
    ar.skim(path, skimmed, filter="p >= 0")
    with ar.open(path) as file:
        ar.write(f"{copy}:t", file["t"])
        ar.write(f"{narrow}:t", file["t"], layout="rntuple")
        ar.write(f"{tmp_path}/exact.root:t", file["t"], layout=ar.Layout(precision={"x": "exact"}))
        expected = file["t"].to_arrow()
    assert leaves(copy) == original
    assert leaves(skimmed) == original
    assert leaves(f"{tmp_path}/exact.root") == {**original, "x": ("TLeafD", "x")}
    with uproot.open(narrow) as file:
        aliases = {one.field_name: one.type_alias for one in file["t"].header.field_records if one.type_alias}
    assert aliases == {"x": "Double32_t", "y": "Double32_t"}
    with ar.open(narrow) as file:
        ar.write(f"{again}:t", file["t"])
    # An RNTuple says no range.
    assert leaves(again)["x"] == ("TLeafD32", "x")
    for one in (copy, skimmed, again):
        with ar.open(one) as file:
            read = file["t"].to_arrow()
        assert read["x"].to_pylist() == expected["x"].to_pylist(), one
