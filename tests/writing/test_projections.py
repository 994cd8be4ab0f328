"""Projected fields: both names are read by ROOT, uproot and arrowroot, and the further ones take no pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uproot

import arrowroot as ar
from arrowroot.cli import main
from tests.judge import root

from . import projections_with_root as with_root

if TYPE_CHECKING:
    from pathlib import Path


def solid(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def lists(kind: pa.DataType) -> pa.DataType:
    return pa.list_(solid("item", kind))


TRACK = pa.struct([solid("chi", pa.float32())])
MUON = pa.struct(
    [
        solid("pt", pa.float32()),
        solid("charge", pa.int8()),
        solid("hits", lists(pa.float32())),
        solid("tracks", lists(TRACK)),
        pa.field("q", pa.int32()),
    ]
)
HLT = pa.struct([solid("IsoMu24", pa.bool_()), solid("p", pa.struct([solid("x", pa.int32())]))])
SCHEMA = pa.schema(
    [
        solid("Muon", lists(MUON)),
        solid("HLT", HLT),
        solid("x", lists(pa.float64())),
        solid("run", pa.int32()),
        solid("name", pa.string()),
        pa.field("weight", pa.float32()),
        solid("a.b", pa.int16()),
    ]
)
#: By the way in which they are shown: as they are, by members, in lists, as lengths.
PROJECTIONS = {
    "Muon_pt": "Muon.pt", "Muon_charge": "Muon.charge", "Muon_hits": "Muon.hits", "Muon_q": "Muon.q",
    "chis": "Muon.tracks.chi", "nMuon": "#Muon", "Muon_nhits": "#Muon.hits", "Muons": "Muon",
    "tracks": "Muon.tracks", "HLT_IsoMu24": "HLT.IsoMu24", "HLT_p": "HLT.p", "px": "HLT.p.x", "x2": "x", "nx": "#x",
    "run2": "run", "name2": "name", "weight2": "weight", "dotted": "a.b",
}  # fmt: skip


def muons(entry: int) -> list[dict[str, Any]]:
    return [
        {
            "pt": 10.5 * entry + k,
            "charge": (-1) ** k,
            "hits": [0.5 * one for one in range((entry + k) % 3)],
            "tracks": [{"chi": 0.25 * one + entry} for one in range(k)],
            "q": None if k % 2 else entry,
        }
        for k in range(entry % 4)
    ]


def table(n_entries: int = 50) -> pa.Table:
    rows = [
        {
            "Muon": muons(i),
            "HLT": {"IsoMu24": i % 3 == 0, "p": {"x": -i}},
            "x": [i / 8] * (i % 5),
            "run": i,
            "name": "n" * (i % 4),
            "weight": None if i % 4 == 0 else i / 2,
            "a.b": i,
        }
        for i in range(n_entries)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def shown_by(data: pa.Table) -> dict[str, list[Any]]:
    """What the projected fields show: a twin of the rules."""
    columns = data.to_pydict()
    each = columns["Muon"]

    def members(name: str) -> list[Any]:
        return [[muon[name] for muon in entry] for entry in each]

    return {
        **{f"Muon_{name}": members(name) for name in ("pt", "charge", "hits", "q")},
        "chis": [[[one["chi"] for one in muon["tracks"]] for muon in entry] for entry in each],
        "nMuon": [len(entry) for entry in each],
        "Muon_nhits": [[len(muon["hits"]) for muon in entry] for entry in each],
        "Muons": each,
        "tracks": members("tracks"),
        "HLT_IsoMu24": [one["IsoMu24"] for one in columns["HLT"]],
        "HLT_p": [one["p"] for one in columns["HLT"]],
        "px": [one["p"]["x"] for one in columns["HLT"]],
        "x2": columns["x"],
        "nx": [len(one) for one in columns["x"]],
        "run2": columns["run"],
        "name2": columns["name"],
        "weight2": columns["weight"],
        "dotted": columns["a.b"],
    }


def write(path: Path, data: pa.Table, **options: Any) -> None:
    ar.write(f"{path}:Events", data, schema=data.schema, layout="rntuple", flush=20, **options)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("projections") / "out.root"
    write(path, table(), projections=PROJECTIONS, titles={"Muon_pt": "in GeV", "run": "its number"})
    return path


def test_both_names_are_read_and_the_further_ones_take_no_pages(written, tmp_path):
    data = table()
    write(tmp_path / "without.root", data)
    with ar.open(str(written)) as file, ar.open(str(tmp_path / "without.root")) as other:
        tree, plain = file["Events"], other["Events"]
        assert tree.projections == PROJECTIONS
        assert tree.column_names == [*data.column_names, *PROJECTIONS]
        assert (tree.stored_bytes, tree.n_leaves) == (plain.stored_bytes, plain.n_leaves)
        assert all(one.n_baskets == 0 for one in tree.branches if one.path in PROJECTIONS)
        assert {one.name: one.title for one in tree.columns if one.title} == {
            "Muon_pt": "in GeV",
            "run": "its number",
        }
        read = tree.to_arrow()
    assert read.select(data.column_names).equals(data)
    assert {name: read[name].to_pylist() for name in PROJECTIONS} == shown_by(data)
    assert read.schema.field("nMuon").type == pa.uint32()


def test_uproot_reads_both_names(written):
    expected, data = shown_by(table()), table().to_pydict()
    with uproot.open(written) as file:
        names = sorted(PROJECTIONS.keys() - {"Muon_q", "Muon_nhits", "Muons", "tracks", "HLT_p", "weight2"})
        found = file["Events"].arrays([*names, "run"])
    assert {name: found[name].tolist() for name in names} == {name: expected[name] for name in names}
    assert found["run"].tolist() == data["run"]


def number_of(text: str) -> Any:
    """A text of the reader as values."""
    if not text.startswith("["):
        return float.fromhex(text) if "x" in text else int(text)
    items, depth, start = [], 0, 1
    for place, letter in enumerate(text[1:-1], 1):
        depth += (letter == "[") - (letter == "]")
        if letter == " " and depth == 0:
            items.append(number_of(text[start:place]))
            start = place + 1
    return items


@pytest.mark.long
def test_root_reads_both_names(written):
    expected = shown_by(table())
    types = {
        "Muon_pt": "std::vector<float>", "Muon_charge": "std::vector<std::int8_t>", "nMuon": "#", "nx": "#",
        "Muon_hits": "std::vector<std::vector<float>>", "chis": "std::vector<std::vector<float>>",
        "HLT_IsoMu24": "bool", "px": "std::int32_t", "x2": "std::vector<double>", "run2": "std::int32_t",
    }  # fmt: skip
    found = root.run(
        with_root.views, written.parent, written.name, types, complaints_but=root.SAID_OF_ITS_OWN
    )
    assert {name: list(map(number_of, texts)) for name, texts in found.items()} == {
        name: expected[name] for name in types
    }
    names = ["Muon_pt", "nMuon", "HLT_IsoMu24", "px", "x2", "nx", "run2", "Muon_hits"]
    assert root.run(with_root.frame, written.parent, written.name, [*names, "run"]) == {
        **{name: expected[name] for name in names},
        "run": table()["run"].to_pylist(),
    }


def test_root_says_what_is_projected(written):
    found = root.run(with_root.described, written.parent, written.name, complaints_but=root.SAID_OF_ITS_OWN)
    sources = {name: text.lstrip("#").replace("a.b", "a_x2e_b") for name, text in PROJECTIONS.items()}
    in_lists = {name: "Muon" for name, text in sources.items() if text.startswith("Muon")}
    assert found["projected"] == sources | in_lists
    assert found["titles"]["Muon_pt"] == "in GeV"
    assert found["n_physical"] < found["n_logical"]


def test_a_merge_by_root_keeps_projected_fields(tmp_path):
    names = ["Muon_pt", "nMuon", "px", "run2", "x2"]
    chosen = {name: PROJECTIONS[name] for name in names}
    for name in ("a.root", "b.root"):
        write(tmp_path / name, table(), projections=chosen)
    root.run(with_root.merge, tmp_path, "a.root", "b.root", "both.root")
    expected = shown_by(pa.concat_tables([table(), table()]))
    with ar.open(str(tmp_path / "both.root")) as file:
        assert file["Events"].projections == chosen
        assert file["Events"].to_arrow(names).to_pydict() == {name: expected[name] for name in names}


def test_flat_names_are_those_of_a_flat_tree(tmp_path):
    write(tmp_path / "out.root", table(), projections={"MuonPt": "Muon.pt", "*": "flat"})
    with ar.open(str(tmp_path / "out.root")) as file:
        found = file["Events"].projections
    assert found == {
        "MuonPt": "Muon.pt", "nMuon": "#Muon", "Muon_pt": "Muon.pt", "Muon_charge": "Muon.charge",
        "Muon_hits": "Muon.hits", "Muon_tracks": "Muon.tracks", "Muon_q": "Muon.q", "HLT_IsoMu24": "HLT.IsoMu24",
        "HLT_p_x": "HLT.p.x", "nx": "#x",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("projections", "error", "why"),
    [
        (
            {"y": "Muon.ptt"},
            ar.NoSuchColumnError,
            "no column or member is called 'Muon.ptt'; did you mean 'Muon.pt'",
        ),
        ({"run": "Muon.pt"}, ar.InvalidRequestError, "there is a column of that name"),
        ({"y": "#run"}, ar.InvalidRequestError, "'run' is of int32: it has no lengths"),
        ({"y": "v"}, ar.InvalidRequestError, "ROOT projects no fixed lists"),
        ({"y": "f.x"}, ar.InvalidRequestError, "ROOT projects no fixed lists"),
        ({"y": 1}, ar.InvalidRequestError, "expected names of columns, members and lengths"),
        ({"y": "flat"}, ar.InvalidRequestError, "expected names of columns, members and lengths"),
        ("all", ar.InvalidRequestError, "expected names of columns, members and lengths"),
    ],
)
def test_what_cannot_be_projected_is_refused(tmp_path, projections, error, why):
    more = {
        "v": pa.array([[1, 2]], pa.list_(pa.int32(), 2)),
        "f": pa.array([[{"x": 1}]], pa.list_(TRACK_OF_ONE, 1)),
    }
    data = pa.table({**{name: table(1)[name] for name in ("Muon", "run")}, **more})
    with pytest.raises(error, match="projections.*" + why.replace("#", "\\#")):
        ar.write(f"{tmp_path}/out.root:Events", data, layout="rntuple", projections=projections)
    assert not list(tmp_path.iterdir())


TRACK_OF_ONE = pa.struct([("x", pa.int32())])


def test_a_tree_has_aliases_and_no_projections(tmp_path):
    with pytest.raises(ar.InvalidRequestError, match="a tree has none: it has aliases"):
        ar.write(f"{tmp_path}/out.root:Events", {"x": [1]}, projections={"y": "x"})


def test_layouts_have_projections_in_toml_too():
    layout = ar.Layout("rntuple", projections={"y": "x", "*": "flat"})
    assert ar.Layout.from_toml(layout.to_toml()) == layout
    assert ar.Layout(layout, projections={"z": "x"}).projections == (("z", "x"), ("y", "x"), ("*", "flat"))
    assert ar.Layout(layout, projections=None) == ar.Layout("rntuple")
    assert ar.Layout.from_toml('base = "rntuple"\nprojections = "flat"\n').projections == (("*", "flat"),)
    assert "projections={'y': 'x', '*': 'flat'}" in repr(layout)


def test_projected_fields_stay_what_they_are_when_a_file_is_skimmed(written, tmp_path, capsys):
    assert main(["skim", str(written), str(tmp_path / "again.root"), "--verify"]) == 0
    with ar.open(str(written)) as file, ar.open(str(tmp_path / "again.root")) as again:
        first, second = file["Events"], again["Events"]
        assert second.projections == first.projections
        assert second.to_arrow().equals(first.to_arrow())
        assert second.stored_bytes <= first.stored_bytes
        assert [one.title for one in second.columns] == [one.title for one in first.columns]
    capsys.readouterr()


def test_projected_fields_without_their_source_become_columns(written, tmp_path, capsys):
    out = tmp_path / "some.root"
    assert main(["skim", str(written), str(out), "--columns", "Muon_pt,run,run2"]) == 0
    with ar.open(str(out)) as file:
        assert file["Events"].projections == {"run2": "run"}
        assert file["Events"].column_names == ["Muon_pt", "run", "run2"]
    capsys.readouterr()


def test_a_tree_made_of_them_has_each_name_once(tmp_path, capsys):
    data = table().select(["Muon", "HLT", "x", "run"])
    write(tmp_path / "in.root", data, projections="flat")
    assert main(["skim", str(tmp_path / "in.root"), str(tmp_path / "out.root"), "--layout", "ttree"]) == 0
    with ar.open(str(tmp_path / "out.root")) as file:
        tree = file["Events"]
        assert tree.column_names == ["Muon", "HLT", "x", "run"]
        assert tree["nMuon"].to_numpy().tolist() == [len(one) for one in data["Muon"].to_pylist()]
        assert tree.to_arrow(["Muon_pt"])["Muon_pt"].to_pylist() == shown_by(table())["Muon_pt"]
    capsys.readouterr()


def test_what_root_projects_is_told_and_kept(tmp_path, capsys):
    root.run(with_root.write_parts, tmp_path, "root.root")
    told = {"firsts": "pairs.0", "n": "#pairs", "y": "x"}
    assert main(["skim", str(tmp_path / "root.root"), str(tmp_path / "ours.root")]) == 0
    with ar.open(str(tmp_path / "root.root")) as file, ar.open(str(tmp_path / "ours.root")) as ours:
        assert file["Events"].projections == told
        assert ours["Events"].projections == told
        first, second = file["Events"].to_arrow(), ours["Events"].to_arrow()
    assert second.to_pydict() == first.to_pydict()
    capsys.readouterr()


def test_members_of_pairs_have_the_names_of_the_data_and_variants_no_flat_name(tmp_path):
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    inner = pa.array([{"a": 1, "b": [2.5]}, {"a": 3, "b": []}])
    data = pa.table({"x": pa.StructArray.from_arrays([inner, union], ["p", "v"])})
    types = {"x.p": "std::pair<std::int64_t, std::vector<double>>"}
    ar.write(f"{tmp_path}/t.root:Events", data, layout="rntuple", types=types, projections="flat")
    with ar.open(tmp_path / "t.root") as file:
        tree = file["Events"]
        assert list(tree.projections) == ["x_p_a", "x_p_b"]
        assert tree.to_arrow(["x_p_a", "x_p_b"]).to_pydict() == {"x_p_a": [1, 3], "x_p_b": [[2.5], []]}


# ROOT projects no member of a `unique_ptr` but into a list.
@pytest.mark.parametrize(
    ("nullable", "expected"), [("optional", {"x_a": [1, 3]}), ("unique_ptr", {"x_a": [[1], [3]]})]
)
def test_members_of_an_optional_pair_whose_values_are_all_there_have_flat_names(tmp_path, nullable, expected):
    data = pa.table({"x": pa.array([{"a": 1, "b": 2.5}, {"a": 3, "b": 4.5}])})
    types = {"x": f"std::{nullable}<std::pair<std::int64_t, double>>"}
    ar.write(f"{tmp_path}/t.root:Events", data, layout="rntuple", types=types, projections="flat")
    with ar.open(tmp_path / "t.root") as file:
        assert file["Events"].to_arrow(["x_a"]).to_pydict() == expected


#: Lists that may be missing, in each place: a column, a member of a record, of records in a list, and of bytes.
MISSING = pa.table(
    {
        "m": [[1.0, 2.0], None, [], [3.0, 4.0, 5.0]],
        "deep": [[[1], []], None, [[2, 3]], []],
        "r": pa.array([{"h": [1]}, {"h": None}, {"h": []}, {"h": [2, 3]}]),
        "b": [b"abc", None, b"", b"d"],
    }
)


def test_lengths_of_lists_that_may_be_missing_are_theirs_and_missing_with_them(tmp_path):
    lengths = {
        "n": [2, None, 0, 3], "ndeep": [2, None, 1, 0], "nh": [1, None, 0, 2], "nb": [3, None, 0, 1],
    }  # fmt: skip
    sources = {"n": "#m", "ndeep": "#deep", "nh": "#r.h", "nb": "#b"}
    path, again = tmp_path / "out.root", tmp_path / "again.root"
    ar.write(f"{path}:Events", MISSING, layout="rntuple", projections=sources)
    assert main(["skim", str(path), str(again), "--verify", "--columns", "m,deep,b,n,ndeep,nb"]) == 0
    with ar.open(str(path)) as file, ar.open(str(again)) as skimmed:
        for tree in (file["Events"], skimmed["Events"]):
            names = [name for name in sources if name in tree.column_names]
            assert tree.projections == {name: sources[name] for name in names}
            assert tree.to_arrow(names).to_pydict() == {name: lengths[name] for name in names}
        assert len(names) == 3
    types = dict.fromkeys(sources, "std::optional<std::uint32_t>")
    found = root.run(with_root.lengths, tmp_path, path.name, list(types), complaints_but=root.SAID_OF_ITS_OWN)
    assert found == lengths
    with uproot.open(path) as file:
        assert file["Events"].arrays(["n"])["n"].tolist() == lengths["n"]


RECORDS = pa.table({"m": pa.array([[{"h": [1]}], None, [{"h": None}, {"h": []}]])})


@pytest.mark.parametrize(
    ("data", "source", "types"),
    [
        (RECORDS, "#m", {}),
        (RECORDS, "#m.h", {}),
        (MISSING.select(["m"]), "#m", {"m": "std::unique_ptr<std::vector<double>>"}),
        (MISSING.select(["m"]), "#m", {"m": "std::vector<std::vector<double>>"}),
        (pa.table({"m": [[1]]}), "#m", {"m": "std::unique_ptr<std::vector<long>>"}),
    ],
)
def test_lengths_that_the_format_does_not_have_are_refused_and_no_flat_names(tmp_path, data, source, types):
    out = f"{tmp_path}/out.root:Events"
    with pytest.raises(ar.InvalidRequestError, match=f'"y" of "{source}": .*std::optional'):
        ar.write(out, data, layout="rntuple", projections={"y": source}, types=types)
    ar.write(out, data, layout="rntuple", projections="flat", types=types)
    with ar.open(tmp_path / "out.root") as file:
        assert not any(text.startswith("#") for text in file["Events"].projections.values())


def test_lengths_of_lists_that_are_all_there_and_optional_are_theirs(tmp_path):
    types = {"m": "std::optional<std::vector<long>>"}
    data = pa.table({"m": [[1, 2], [], [3]]})
    ar.write(f"{tmp_path}/t.root:Events", data, layout="rntuple", types=types, projections={"n": "#m"})
    with ar.open(tmp_path / "t.root") as file:
        assert file["Events"].to_arrow(["n"])["n"].to_pylist() == [2, 0, 1]
        assert file["Events"].projections == {"n": "#m"}


def test_projected_fields_are_of_the_first_columns_and_their_names_are_taken(tmp_path):
    with (
        ar.create(tmp_path / "t.root") as file,
        file.tree("T", layout="rntuple", columns="grow", projections="flat") as table,
    ):
        table.append(pa.table({"k": [[1]]}))
        with pytest.raises(ar.InvalidRequestError, match='"nk": the projected field of "#k" has that name'):
            table.append(pa.table({"k": [[1]], "nk": [5], "new": [6]}))
        table.append(pa.table({"k": [[1, 2]], "new": [7]}))
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow().to_pydict() == {"k": [[1], [1, 2]], "nk": [1, 2], "new": [0, 7]}
    with pytest.raises(ar.NoSuchColumnError, match="those that come up later have none"):
        ar.write(
            f"{tmp_path}/u.root:T", {"x": [1]}, layout="rntuple", columns="grow", projections={"n": "#m"}
        )


#: Columns and projected fields whose names stand otherwise in the file; the schema is recorded for the category.
ODD = {"z z": "run", "é": "Muon.p t", "a.b": "#Muon", "Muon.q": "Muon"}


def odd_table() -> pa.Table:
    muon = pa.array(
        [[{"p t": 1.0}], [], [{"p t": 2.0}, {"p t": 3.0}]], lists(pa.struct([solid("p t", pa.float32())]))
    )
    return pa.table(
        [pa.array([1, 2, 3], pa.int32()), muon, pa.array(["a", "b", "a"]).dictionary_encode()],
        schema=pa.schema(
            [
                solid("run", pa.int32()),
                solid("Muon", muon.type),
                ("c", pa.dictionary(pa.int32(), pa.string())),
            ]
        ),
    )


@pytest.mark.parametrize("columns", [["run", "Muon", "c"], ["run", "Muon"]])
def test_names_of_projected_fields_survive_skims_merges_and_conversions(tmp_path, capsys, columns):
    data = odd_table().select(columns)
    write(tmp_path / "0.root", data, projections=ODD)
    for number in range(3):
        ar.skim(tmp_path / f"{number}.root", tmp_path / f"{number + 1}.root", filter="`z z` > 0")
    ar.merge(tmp_path / "merged.root", [tmp_path / "0.root", tmp_path / "3.root"])
    shown = {"z z": [1, 2, 3], "é": [[1], [], [2, 3]], "a.b": [1, 0, 2], "Muon.q": data["Muon"].to_pylist()}
    for name, times in (("0", 1), ("3", 1), ("merged", 2)):
        with ar.open(tmp_path / f"{name}.root") as file:
            events = file["Events"]
            assert events.projections == ODD
            assert events.column_names == [*columns, *ODD]
            assert events.to_arrow().to_pydict() == {**data.to_pydict(), **shown} | {
                name: values * times for name, values in {**data.to_pydict(), **shown}.items()
            }
    assert main(["convert", f"{tmp_path}/3.root:Events", str(tmp_path / "out.parquet")]) == 0
    capsys.readouterr()
    assert pq.read_table(tmp_path / "out.parquet").column_names == [*columns, *ODD]


def test_root_reads_projected_fields_of_any_name_behind_three_skims(tmp_path):
    write(tmp_path / "0.root", odd_table(), projections=ODD)
    for number in range(3):
        ar.skim(tmp_path / f"{number}.root", tmp_path / f"{number + 1}.root")
    said = root.run(with_root.described, tmp_path, "3.root", complaints_but=root.SAID_OF_ITS_OWN)["projected"]
    assert said == {"z_x20_z": "run", "_u00e9_": "Muon", "a_x2e_b": "Muon", "Muon_x2e_q": "Muon"}
    found = root.run(with_root.frame, tmp_path, "3.root", ["z_x20_z", "a_x2e_b", "_u00e9_"])
    assert found == {"z_x20_z": [1, 2, 3], "a_x2e_b": [1, 0, 2], "_u00e9_": [[1], [], [2, 3]]}
