"""The C++ types of projected fields: kept by skims, and asked for, where what they show is stored so."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from . import drawn_types_with_root
from . import projections_with_root as with_root

RVEC = "ROOT::VecOps::RVec"
WIDE = "ROOT::RNTupleCardinality<std::uint64_t>"
NARROW = "ROOT::RNTupleCardinality<std::uint32_t>"


def shows(source: str, *parts: str) -> dict[str, str]:
    """What a field shows, and the parts of it as far as their paths say it."""
    return {"": source, **{part: source + part for part in parts}}


FIRST = {"": "pairs", "._0": "pairs._0._0"}
PAIRS = shows("pairs", "._0", "._0._0", "._0._1")
#: Types of projected fields, and what they and their parts show: all that ROOT projects.
OF_ROOT = {
    "first": ("std::vector<std::int32_t>", FIRST),
    "first_rvec": (f"{RVEC}<std::int32_t>", FIRST),
    "first_multiset": ("std::multiset<std::int32_t>", FIRST),
    "n_wide": (WIDE, shows("pairs")),
    "n_narrow": (NARROW, shows("pairs")),
    "tuples": ("std::vector<std::tuple<std::int32_t,float>>", PAIRS),
    "pairs_rvec": (f"{RVEC}<std::pair<std::int32_t,float>>", PAIRS),
    "v_rvec": (f"{RVEC}<std::int32_t>", shows("v", "._0")),
    "v_set": ("std::set<std::int32_t>", shows("v", "._0")),
    "v_optional": ("std::optional<std::int32_t>", shows("v", "._0")),
    "s_vector": ("std::vector<std::int32_t>", shows("s", "._0")),
    "s_set": ("std::unordered_set<std::int32_t>", shows("s", "._0")),
    "m_pairs": (
        "std::vector<std::pair<std::string,std::int32_t>>",
        shows("m", "._0", "._0._0", "._0._1"),
    ),
    "o_vector": ("std::vector<std::int32_t>", shows("o", "._0")),
    "o_pointer": ("std::unique_ptr<std::int32_t>", shows("o", "._0")),
    "x2": ("float", shows("x")),
    "d_double": ("std::vector<double>", shows("d", "._0")),
    "d_narrow": (f"{RVEC}<Double32_t>", shows("d", "._0")),
}


def test_skims_keep_the_types_that_root_projects_and_their_values(tmp_path):
    projected = {
        name: (kind, {name + part: source for part, source in sources.items()})
        for name, (kind, sources) in OF_ROOT.items()
    }
    root.run(with_root.write_types, tmp_path, "in.root", projected)
    for source, made in (("in", "once"), ("once", "twice")):
        ar.skim(tmp_path / f"{source}.root", tmp_path / f"{made}.root")
    ar.skim(tmp_path / "in.root", tmp_path / "some.root", filter="x > 0.3")
    names = ["in.root", "once.root", "twice.root", "some.root"]
    first, *others = (
        root.run(with_root.types, tmp_path, name, "t", complaints_but=root.SAID_OF_ITS_OWN) for name in names
    )
    assert first["n_wide"] == (WIDE, "")
    assert first["d_narrow"] == (f"{RVEC}<double>", f"{RVEC}<Double32_t>")
    assert others == [first] * 3
    asked = [(str(tmp_path / name), [(one, "") for one in OF_ROOT], False) for name in names]
    (values, _), *rest = root.run(
        drawn_types_with_root.read, tmp_path, drawn_types_with_root.SETS_OF_NUMBERS, asked
    )
    assert not any("error" in text for text in values.values()), values
    assert values["first_rvec"] == "[[],[10],[20,21],[],[40]]"
    assert values["n_wide"] == "[0,1,2,0,1]"
    assert [one for one, _ in rest[:2]] == [values] * 2
    assert rest[2][0]["n_wide"] == "[2,0,1]"
    with ar.open(tmp_path / "in.root") as file, ar.open(tmp_path / "twice.root") as again:
        assert again["t"].to_arrow().equals(file["t"].to_arrow())
        assert again["t"].to_arrow().schema.field("n_wide").type == pa.uint64()


MUON = pa.list_(pa.field("item", pa.struct([pa.field("pt", pa.float32(), nullable=False)]), nullable=False))
MAP = pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))
DATA = pa.table(
    [
        pa.array([[{"pt": 1.5}], [], [{"pt": 2.5}, {"pt": 0.5}]], MUON),
        pa.array([[1, 2], [], [3]], pa.list_(pa.field("item", pa.int32(), nullable=False))),
        pa.array([[("a", 1)], [], [("b", 2), ("c", 3)]], MAP),
        pa.array([5, None, 7], pa.int32()),
        pa.array([0.5, 1.5, 2.5], pa.float32()),
    ],
    schema=pa.schema(
        [
            pa.field("Muon", MUON, nullable=False),
            pa.field("v", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
            pa.field("m", MAP, nullable=False),
            pa.field("o", pa.int32()),
            pa.field("x", pa.float32(), nullable=False),
        ]
    ),
)
SOURCES = {"Muon.p": "Muon.pt", "nMuon": "#Muon", "v2": "v", "m2": "m", "o2": "o", "x2": "x"}


def write(path: Any, types: dict[str, str], **options: Any) -> None:
    ar.write(f"{path}:Events", DATA, schema=DATA.schema, layout="rntuple", types=types, **options)


def test_types_of_projected_fields_are_asked_for_by_their_names(tmp_path):
    types = {
        "Muon.p": "RVec<Float_t>", "nMuon": "ROOT::RNTupleCardinality<unsigned long>",
        "v2": "std::multiset<int>", "m2": "std::unordered_map<std::string,int>", "o2": "std::vector<int>",
        "v": "ROOT::RVec<int>",
    }  # fmt: skip
    write(tmp_path / "t.root", types, projections=SOURCES)
    found = root.run(with_root.types, tmp_path, "t.root", "Events", complaints_but=root.SAID_OF_ITS_OWN)
    expected = {
        "Muon_x2e_p": f"{RVEC}<float>", "nMuon": WIDE, "v2": "std::multiset<std::int32_t>",
        "m2": "std::unordered_map<std::string,std::int32_t>", "o2": "std::vector<std::int32_t>",
        "v": f"{RVEC}<std::int32_t>", "x2": "float",
    }  # fmt: skip
    assert {name: found[name][0] for name in expected} == expected
    with ar.open(tmp_path / "t.root") as file:
        events = file["Events"]
        assert events.projections == SOURCES
        read = events.to_arrow(list(SOURCES))
    assert read.schema.field("nMuon").type == pa.uint64()
    assert read.to_pydict() == {
        "Muon.p": [[1.5], [], [2.5, 0.5]], "nMuon": [1, 0, 2], "v2": [[1, 2], [], [3]],
        "m2": [[("a", 1)], [], [("b", 2), ("c", 3)]], "o2": [[5], [], [7]], "x2": [0.5, 1.5, 2.5],
    }  # fmt: skip


def test_a_flat_name_has_the_type_that_is_asked_for(tmp_path):
    layout = ar.Layout("rntuple", projections="flat", types={"nMuon": WIDE, "Muon_pt": "RVec<float>"})
    ar.write(f"{tmp_path}/t.root:Events", DATA, schema=DATA.schema, layout=layout)
    assert layout.plan(DATA).branches
    with ar.open(tmp_path / "t.root") as file:
        types = {one.path: one.type_name for one in file["Events"].branches}
    assert (types["nMuon"], types["Muon_pt"], types["nv"]) == (WIDE, f"{RVEC}<float>", NARROW)


@pytest.mark.parametrize(
    ("types", "told"),
    [
        (
            {"nMuon": "std::uint64_t"},
            "lengths are shown: possible are ROOT::RNTupleCardinality<std::uint32_t>",
        ),
        ({"nMuon": "ROOT::RNTupleCardinality<short>"}, "lengths are shown: possible are"),
        ({"v2": WIDE}, "lists are shown: possible are std::vector<T>, ROOT::RVec<T>, std::multiset<T>"),
        ({"v2": "std::vector<long>"}, "std::int32_t is shown: possible are std::int32_t"),
        ({"v2": "std::set<int>"}, "possible are std::vector<T>, ROOT::RVec<T>, std::multiset<T>"),
        ({"v2": "std::optional<int>"}, "lists are shown"),
        ({"v2": "std::map<int,int>"}, "lists are shown"),
        ({"m2": "std::set<int>"}, "a pair or tuple is shown: possible are std::pair<T,U>, std::tuple"),
        ({"m2": "std::vector<std::tuple<std::string>>"}, "a pair or tuple is shown"),
        ({"o2": "int"}, "std::optional<T>, std::unique_ptr<T>"),
        ({"x2": "Double32_t"}, "Double32_t where float is shown: possible are float"),
        ({"x2": "vectr<float>"}, "no field has the template"),
        ({"x2": "Muon"}, "float is shown: possible are float"),
        ({"v": WIDE}, "lists are: possible are"),
    ],
)
def test_a_type_of_another_representation_is_refused_with_those_that_there_are(tmp_path, types, told):
    with pytest.raises(ar.InvalidRequestError) as refused:
        write(tmp_path / "t.root", types, projections=SOURCES)
    assert told in str(refused.value)


def test_a_kept_type_that_what_is_shown_is_no_longer_of_is_left_out(tmp_path):
    types = {"v2": "std::multiset<int>", "x2": "float"}
    write(tmp_path / "in.root", types, projections=SOURCES)
    layout = ar.Layout("rntuple", types={"x": "std::atomic<float>", "v2": "ROOT::RVec<int>"})
    ar.skim(tmp_path / "in.root", tmp_path / "out.root", layout=layout)
    with ar.open(tmp_path / "out.root") as file:
        types = {one.path: one.type_name for one in file["Events"].branches}
    assert types["x2"] == "std::atomic<float>"
    assert types["v2"] == f"{RVEC}<std::int32_t>"
