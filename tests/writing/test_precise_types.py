"""Precision that is said by types: of fields of an RNTuple at any depth, and of arrays in a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._layout.precision import parse_precision
from tests.judge import root

from . import precision_with_root
from .test_precision import flat

if TYPE_CHECKING:
    from pathlib import Path

QUANTIZED = "Real32Quant:12[-8,8]"
TYPES = {
    "x": "float[Real32Trunc:16]",
    "y": "Double_t[ Real32Quant: 20[-8, 8] ]",
    "lists": f"RVec<double[{QUANTIZED}]>",
    "arrays": "std::array<float[Real32Trunc:12],2>",
    "record.a": "double[Real32Quant:9[-8,8]]",
}
#: As a file has them again.
KEPT = {
    **TYPES, "y": "double[Real32Quant:20[-8,8]]", "lists": f"ROOT::VecOps::RVec<double[{QUANTIZED}]>",
}  # fmt: skip


def solid(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    singles, doubles = rng.uniform(-8, 8, 200).astype(np.float32), rng.uniform(-8, 8, 200)
    ends = np.arange(0, 202, 2, dtype=np.int32)
    arrays = {
        "x": pa.array(singles[:100]),
        "y": pa.array(doubles[:100]),
        "lists": pa.ListArray.from_arrays(ends, doubles, type=pa.list_(solid("item", pa.float64()))),
        "arrays": pa.FixedSizeListArray.from_arrays(singles, type=pa.list_(solid("item", pa.float32()), 2)),
        "record": pa.StructArray.from_arrays(
            [doubles[100:], doubles[100:]], fields=[solid("a", pa.float64()), solid("b", pa.float64())]
        ),
    }
    fields = [solid(name, array.type) for name, array in arrays.items()]
    return pa.table(list(arrays.values()), schema=pa.schema(fields))


def encodings(path: Path) -> dict[str, tuple[str, str]]:
    with ar.open(path) as file:
        return {one.path: (one.asked_type, one.encoding) for one in file["t"].branches}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("precise")
    ar.write(f"{directory}/a.root:t", table(), schema=table().schema, layout="rntuple", types=TYPES)
    return directory


def test_numbers_at_any_depth_have_the_precision_of_their_type(written):
    found = encodings(written / "a.root")
    assert {name: found[name][0] for name in KEPT} == KEPT
    assert found["lists"][1] == "SplitIndex64, Real32Quant of 12 bits"
    assert found["record.a"][1] == "Real32Quant of 9 bits"
    assert found["record.b"][1] == "SplitReal64"
    with ar.open(written / "a.root") as file:
        read = file["t"].to_arrow()
    assert read.schema.equals(table().schema)
    for name, kind in KEPT.items():
        given, of_file = (
            one["record"].combine_chunks().field(0) if name == "record.a" else one[name]
            for one in (table(), read)
        )
        precision = parse_precision(kind[kind.index("[") + 1 : kind.rindex("]")])
        assert precision is not None
        error, how = precision.error
        a, b = flat(given), flat(of_file)
        bounds = error * np.abs(a) if how == "relative" else error + np.spacing(np.float32(8.0))
        assert (np.abs(a - b) <= bounds).all(), name
        assert (a != b).any(), name


def test_root_reads_numbers_of_precise_types_as_arrowroot_does(written):
    root.run(precision_with_root.read, written, complaints_but=("experimental",))
    of_root = np.load(written / "a.npz")
    with ar.open(written / "a.root") as file:
        read = file["t"].to_arrow()
    for name in ("x", "y", "lists", "arrays"):
        np.testing.assert_array_equal(of_root[name].astype(np.float64), flat(read[name]), err_msg=name)
    record = read["record"].combine_chunks()
    np.testing.assert_array_equal(of_root["record.a"], record.field(0).to_numpy())


def test_skims_keep_precision_and_values_and_a_rule_of_the_layout_counts_more(written, tmp_path):
    ar.skim(written / "a.root", tmp_path / "b.root", filter="y == y")
    ar.skim(tmp_path / "b.root", tmp_path / "c.root")
    with ar.open(written / "a.root") as file, ar.open(tmp_path / "c.root") as other:
        assert other["t"].to_arrow().equals(file["t"].to_arrow())
    assert encodings(tmp_path / "b.root") == encodings(tmp_path / "c.root") == encodings(written / "a.root")
    layout = ar.Layout("rntuple", precision={"x": None, "lists": "Real32Trunc:20"})
    ar.skim(written / "a.root", tmp_path / "d.root", layout=layout)
    found = encodings(tmp_path / "d.root")
    assert found["x"] == ("float", "SplitReal32")
    assert found["lists"] == (
        "ROOT::VecOps::RVec<double[Real32Trunc:20]>",
        "SplitIndex64, Real32Trunc of 20 bits",
    )
    assert found["y"][0] == KEPT["y"]
    ar.skim(written / "a.root", tmp_path / "e.root", layout="ttree")
    with ar.open(written / "a.root") as file, ar.open(tmp_path / "e.root") as tree:
        assert tree["t"].to_arrow(["x", "lists"]).equals(file["t"].to_arrow(["x", "lists"]))


def test_what_root_wrote_of_reduced_precision_is_skimmed_to_the_same_numbers(tmp_path):
    root.run(precision_with_root.write_reduced, tmp_path, "a.root")
    ar.skim(tmp_path / "a.root", tmp_path / "b.root", filter="d > 0")
    found = encodings(tmp_path / "a.root")
    # ROOT's setter takes the range of floats as such.
    ends = ",".join(repr(float(np.float32(end))) for end in (-0.3, 0.1))
    assert found["q"] == (f"float[Real32Quant:12[{ends}]]", "Real32Quant of 12 bits")
    assert found["d"][0] == "double[Real32Trunc:18]"
    assert encodings(tmp_path / "b.root") == found
    with ar.open(tmp_path / "a.root") as file, ar.open(tmp_path / "b.root") as skimmed:
        assert skimmed["t"].to_arrow().equals(file["t"].to_arrow())


@pytest.mark.parametrize("bits", [1, 12, 32])
def test_the_end_of_a_range_is_in_it_as_a_float_that_is_behind_it(tmp_path, bits):
    values = np.array([-0.3, 0.0, 0.1], np.float32)
    assert values.astype(float)[2] > 0.1
    types = {"x": f"float[Real32Quant:{bits}[-0.3,0.1]]"}
    ar.write(f"{tmp_path}/a.root:t", {"x": values}, layout="rntuple", types=types)
    ar.skim(tmp_path / "a.root", tmp_path / "b.root", filter="x == x")
    with ar.open(tmp_path / "a.root") as file, ar.open(tmp_path / "b.root") as skimmed:
        read = file["t"]["x"].to_numpy()
        assert (read[[0, 2]] == values[[0, 2]]).all()
        assert (skimmed["t"]["x"].to_numpy() == read).all()
    with pytest.raises(ar.InvalidRequestError, match="make its range larger"):
        ar.write(f"{tmp_path}/c.root:t", {"x": values + np.float32(1e-6)}, layout="rntuple", types=types)


def test_inputs_with_more_bits_than_the_first_are_refused(tmp_path):
    values = np.array([1.2345678, np.pi], np.float32)
    kinds = {"few": "float[Real32Trunc:10]", "all": None, "range": "float[Real32Quant:12[0,4]]"}
    for name, kind in kinds.items():
        types = {} if kind is None else {"types": {"x": kind}}
        ar.write(f"{tmp_path}/{name}.root:t", {"x": values}, layout="rntuple", **types)
    ar.write(f"{tmp_path}/packed.root:t", {"x": values}, types={"x": "Float16_t"})
    ar.write(f"{tmp_path}/tree.root:t", {"x": values})
    for first, second in (("few", "all"), ("range", "all"), ("few", "range"), ("packed", "tree")):
        paths = [tmp_path / f"{name}.root" for name in (first, second)]
        with pytest.raises(
            ar.SchemaMismatchError, match="which has fewer bits: give inputs with more bits first"
        ):
            ar.skim(paths, tmp_path / "out.root")
        with pytest.raises(ar.SchemaMismatchError, match="which has fewer bits"):
            ar.merge(tmp_path / "out.root", paths, rules={"t": "unique"})
    ar.skim([tmp_path / "all.root", tmp_path / "few.root"], tmp_path / "out.root")
    with ar.open(tmp_path / "out.root") as file, ar.open(tmp_path / "few.root") as few:
        assert (file["t"]["x"].to_numpy() == [*values, *few["t"]["x"].to_numpy()]).all()
    ar.skim([tmp_path / "few.root"] * 2, tmp_path / "out.root")
    assert encodings(tmp_path / "out.root") == encodings(tmp_path / "few.root")


def test_atomic_numbers_have_a_precision(tmp_path):
    types = {"x": "std::atomic<float[Real32Trunc:11]>"}
    ar.write(f"{tmp_path}/a.root:t", {"x": np.array([1.999], np.float32)}, layout="rntuple", types=types)
    assert encodings(tmp_path / "a.root") == {"x": (types["x"], "Real32Trunc of 11 bits")}
    with ar.open(tmp_path / "a.root") as file:
        assert file["t"]["x"].to_numpy().tolist() == [1.75]


def test_a_number_that_comes_up_later_needs_a_range_with_0(tmp_path):
    types = {"*x": "double[Real32Quant:12[1,2]]", "l": "std::vector<double[Real32Quant:12[1,2]]>"}
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("t", layout="rntuple", types=types, columns="grow") as new,
    ):
        new.append({"k": [1]})
        new.append({"k": [2], "l": pa.array([[1.5]])})
        with pytest.raises(ar.InvalidRequestError, match="a precision whose range lacks 0"):
            new.append({"k": [3], "l": pa.array([[1.5]]), "x": [1.5]})
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"]["l"].to_arrow().to_pylist()[0] == []


@pytest.mark.parametrize("type_name", ["Double32_t[-8,8,12]", "Double32_t[0,0,10]", "Double32_t"])
def test_arrays_of_a_tree_are_packed_as_their_type_says(tmp_path, type_name):
    data = table().select(["y", "lists"])
    types = {"y": type_name, "lists": type_name}
    with pytest.warns(ar.FewReadersWarning, match="uproot"):
        ar.write(f"{tmp_path}/a.root:t", data, schema=data.schema, types=types)
    precision = type_name.replace("_t", "")
    layout = ar.Layout(precision={"y": precision, "lists": precision})
    with pytest.warns(ar.FewReadersWarning, match="uproot"):
        ar.write(f"{tmp_path}/b.root:t", data, schema=data.schema, layout=layout)
    with ar.open(tmp_path / "a.root") as file, ar.open(tmp_path / "b.root") as other:
        assert file["t"].to_arrow().equals(other["t"].to_arrow())
        assert {one.path: one.asked_type for one in file["t"].branches if one.path in types} == types


NUMBERS = "float[Real32Trunc:16] (10 to 31 bits), float[Real32Quant:12[0,1]]"
SINGLES = f"float, std::atomic<float>, {NUMBERS}"
DOUBLES = "possible are double, std::atomic<double>, Double32_t, double[Real32Trunc:16]"


@pytest.mark.parametrize(
    ("layout", "types", "told"),
    [
        ("rntuple", {"x": "Float16_t[0,10,12]"}, f"Float16_t[0,10,12] where float is: possible are {SINGLES}"),
        ("rntuple", {"x": "Float16_t"}, NUMBERS),
        ("rntuple", {"x": "Double32_t"}, f"Double32_t where float is: possible are {SINGLES}"),
        ("rntuple", {"y": "Double32_t[0,10,12]"}, DOUBLES),
        ("rntuple", {"y": "float[Real32Trunc:16]"}, DOUBLES),
        ("rntuple", {"lists": "std::vector<Double32_t[0,10,12]>"}, DOUBLES),
        ("rntuple", {"x": "float[mantissa:10]"}, f"possible is {NUMBERS}"),
        ("rntuple", {"lists": "std::set<double[Real32Trunc:16]>"}, "may be equal with less precision"),
        ("ttree", {"x": "float[Real32Trunc:16]"}, "precision= packs floating-point numbers"),
        ("ttree", {"x": "Double32_t"}, "Double32_t where float is"),
        ("ttree", {"lists": "std::vector<Double32_t[0,10,12]>"}, "Double32"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
def test_a_precision_that_numbers_do_not_have_is_refused_with_what_is_possible(tmp_path, layout, types, told):
    data = table().select(["x", "y", "lists"])
    with pytest.raises(ar.InvalidRequestError) as refused:
        ar.write(f"{tmp_path}/a.root:t", data, schema=data.schema, layout=layout, types=types)
    assert told in str(refused.value)
    assert not list(tmp_path.iterdir())
