"""Columns that are members of the same things, delivered as lists of records: which, in which form, at what cost."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._passes import zipped
from arrowroot._select.objects import record_of

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

N = 400


def write(path, *members, seed=3):
    """Write a flat tree with muons, jets, lists that have no more than their lengths in common."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, N)
    lists = ak.unflatten(rng.exponential(20, counts.sum()).astype(np.float32), counts)
    muons = {name: lists * (number + 1) for number, name in enumerate(members)}
    jets = ak.unflatten(np.arange(2 * N), np.full(N, 2))
    with uproot.recreate(path) as file:
        tree = file.mktree(
            "Events",
            {
                "run": "int32",
                "Muon": ak.types.from_datashape(
                    f"var * {{{', '.join(f'{one}: float32' for one in members)}}}", highlevel=False
                ),
                "Jet": ak.types.from_datashape("var * {pt: int64, n: int64}", highlevel=False),
                "alone": "var * float32",
                "Met_pt": "float32",
                "Met_phi": "float32",
            },
        )
        for part in (slice(0, 150), slice(150, N)):
            n = part.stop - part.start
            tree.extend(
                {
                    "run": np.full(n, seed, dtype=np.int32),
                    "Muon": ak.zip({name: values[part] for name, values in muons.items()}),
                    "Jet": ak.zip({"pt": jets[part], "n": -jets[part]}),
                    "alone": lists[part],
                    "Met_pt": np.zeros(n, np.float32),
                    "Met_phi": np.zeros(n, np.float32),
                }
            )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("objects") / "events.root"
    write(path, "pt", "eta", "phi", "mass", "charge")
    return path


@pytest.fixture
def tree(path):
    return ar.open(path)["Events"]


@pytest.fixture
def flat(tree):
    return tree.to_arrow()


def test_a_tree_tells_which_columns_are_members_of_what(tree):
    assert list(tree.objects) == ["Muon", "Jet"]
    muon = tree.objects["Muon"]
    assert muon.members == {name: f"Muon_{name}" for name in ("pt", "eta", "phi", "mass", "charge")}
    assert (muon.counter, muon.record) == ("nMuon", "Momentum4D")
    assert (tree.objects["Jet"].members, tree.objects["Jet"].record) == ({"pt": "Jet_pt", "n": "Jet_n"}, None)


def muons_of(table, *members):
    columns = [table[f"Muon_{name}"].to_pylist() for name in members]
    return [
        [dict(zip(members, one, strict=True)) for one in zip(*lists, strict=True)]
        for lists in zip(*columns, strict=True)
    ]


@pytest.mark.parametrize("batch", [{}, {"batch_entries": 7}, {"batch_size": "2 kB"}], ids=str)
@pytest.mark.parametrize("chosen", [{}, {"entries": slice(100, 300)}, {"entries": [5, 3, 399]}], ids=str)
def test_objects_are_lists_of_records(tree, flat, batch, chosen):
    scan = tree.scan(["Muon.pt", "Muon.eta", "run"], objects=True, **batch, **chosen)
    table = pa.Table.from_batches(scan, scan.schema)
    table.validate(full=True)
    indices = np.arange(N)[chosen["entries"]] if chosen else np.arange(N)
    assert table.column_names == ["Muon", "run"]
    assert table["Muon"].to_pylist() == muons_of(flat.take(indices), "pt", "eta")


def test_without_a_choice_all_objects_are_whole_and_counters_away(tree, flat):
    table = tree.to_arrow(objects=True)
    assert table.column_names == ["run", "Muon", "Jet", "nalone", "alone", "Met_pt", "Met_phi"]
    assert table["Muon"].to_pylist() == muons_of(flat, "pt", "eta", "phi", "mass", "charge")
    assert tree.to_arrow(["nMuon", "Muon"], objects=True).column_names == ["nMuon", "Muon"]


@pytest.mark.parametrize(
    ("columns", "members"),
    [
        ("Muon", ["pt", "eta", "phi", "mass", "charge"]),
        (["Muon", "!Muon.mass"], ["pt", "eta", "phi", "charge"]),
        (["Muon_p*"], ["pt", "phi"]),
        (["Muon.phi", "Muon_pt"], ["phi", "pt"]),
    ],
)
def test_members_are_chosen_by_names_and_patterns(tree, columns, members):
    (field,) = tree.scan(columns, objects=True).schema
    assert [one.name for one in field.type.value_type] == members


def test_what_is_not_there_is_an_error_that_names_the_columns(tree):
    with pytest.raises(ar.NoSuchColumnError, match=r"Muon\.dxy"):
        tree.scan(["Muon.dxy"], objects=True)
    for wrong in ({"objects": 1}, {"objects": True, "assemble": True}, {"objects": True, "raw": True}):
        with pytest.raises(ar.InvalidRequestError, match="objects: "):
            tree.scan(**wrong)


def test_only_the_members_asked_for_are_read(tree):
    scan = tree.scan(["Muon.pt", "Muon.eta"], objects=True, trace=True)
    assert scan.drain().n_entries == N
    assert {read.column for read in scan.logical_reads()} == {"Muon_pt", "Muon_eta"}


def test_no_value_is_copied(tree, monkeypatch):
    taken = []
    whole = zipped.import_batch

    def kept(batch, source):
        taken.append(whole(batch, source))
        return taken[-1]

    monkeypatch.setattr(zipped, "import_batch", kept)
    (batch,) = tree.scan(["Muon.pt", "Muon.eta"], objects=True)
    muons = batch.column("Muon")
    for name in ("pt", "eta"):
        read = taken[0].column(f"Muon_{name}").values
        assert muons.values.field(name).buffers()[1].address == read.buffers()[1].address
    assert muons.buffers()[1].address == taken[0].column("Muon_pt").buffers()[1].address


def test_filters_and_origins_go_with_objects(path, flat):
    scan = ar.scan(
        path, "Events", ["Muon.pt"], objects=True, filter="count(Muon_pt > 20) > 1", origin="entry"
    )
    table = scan.to_arrow()
    expected = [i for i, row in enumerate(flat["Muon_pt"].to_pylist()) if sum(pt > 20 for pt in row) > 1]
    assert table["entry"].to_pylist() == expected
    assert table["Muon"].to_pylist() == muons_of(flat.take(expected), "pt")


def test_awkward_records_have_the_names_of_behaviours(tree):
    muons = tree.to_awkward(["Muon", "run"], objects=True).Muon
    assert (
        ak.parameters(muons.layout.content if hasattr(muons.layout, "content") else muons.layout) is not None
    )
    assert muons.layout.purelist_parameter("__record__") == "Momentum4D"
    assert tree.to_awkward(["Jet"], objects=True).Jet.layout.purelist_parameter("__record__") is None
    assert tree.to_polars(["Muon"], objects=True)["Muon"].list.len().sum() == len(ak.flatten(muons))


def test_lists_are_numbered_by_64_bits_on_request(tree):
    scan = tree.scan(["Muon", "alone"], objects=True)
    narrow = tree.to_awkward(["Muon", "alone"], objects=True)
    for wide in (
        scan.to_awkward(wide_lists=True),
        tree.to_awkward(["Muon", "alone"], objects=True, wide_lists=True),
    ):
        for name in ("Muon", "alone"):
            assert (narrow[name].layout.form.offsets, wide[name].layout.form.offsets) == ("i32", "i64")
        assert wide.Muon.layout.purelist_parameter("__record__") == "Momentum4D"
        assert wide.to_list() == narrow.to_list()


@pytest.mark.parametrize(
    ("members", "record"),
    [
        (["pt", "eta", "phi", "mass"], "Momentum4D"),
        (["px", "py", "pz", "E", "charge"], "Momentum4D"),
        (["pt", "eta", "phi"], "Momentum3D"),
        (["pt", "phi"], None),
        (["eta", "mass"], None),
    ],
)
def test_records_are_vectors_if_they_have_all_of_one(members, record):
    assert record_of(members) == record


def test_titles_and_types_are_metadata_of_members(tree):
    field = tree.scan(["Muon.pt"], objects=True).schema.field("Muon").type.value_type.field("pt")
    assert field.metadata == {b"title": tree.columns[2].title.encode(), b"type": b"float[]"}


@pytest.mark.parametrize("how", [{}, {"filter": "run > 0"}, {"batch_entries": 70}], ids=str)
def test_members_that_a_file_lacks_are_null_in_its_records(path, tmp_path, how):
    write(tmp_path / "more.root", "pt", "dxy", seed=4)
    scan = ar.scan(
        [path, tmp_path / "more.root"],
        "Events",
        ["Muon.pt", "Muon_eta", "Muon_dxy"],
        objects=True,
        missing="null",
        **how,
    )
    muons = scan.to_arrow()["Muon"].to_pylist()
    assert len(muons) == 2 * N
    assert all(one["dxy"] is None and one["eta"] == 2 * one["pt"] for row in muons[:N] for one in row)
    assert all(one["eta"] is None and one["dxy"] == 2 * one["pt"] for row in muons[N:] for one in row)


def test_vectors_in_a_split_collection_are_records_in_its_records(conformance):
    tree = ar.open(conformance / "skhep" / "uproot-issue-1221.root")["TrkAna/trkana"]
    inside = [f"crvcoincs/crvcoincs.pos.fCoordinates.f{axis}" for axis in "XYZ"]
    flat = [tree.to_arrow(path).column(0).to_pylist() for path in inside]
    read = tree.to_arrow(["crvcoincs", "crvsummarymc./crvsummarymc.pos"], objects=True)
    places = [[list(one["pos"].values()) for one in row] for row in read["crvcoincs"].to_pylist()]
    assert any(places)
    assert places == [[list(one) for one in zip(*rows, strict=True)] for rows in zip(*flat, strict=True)]
    assert [one.name for one in read.schema.field(1).type] == ["x", "y", "z"]


def test_a_member_without_items_is_named_with_what_leaves_it_out(conformance):
    """Its bits are in no basket, as ROOT wrote the file."""
    tree = ar.open(conformance / "skhep" / "uproot-mc10events.root")["Events"]
    with pytest.raises(
        ar.CorruptFileError, match=r"'hltMatchBits' of 'Electron' has 0 items .*\"!Electron\.hltMatchBits\""
    ):
        tree.to_arrow(["Electron"], objects=True)
    assert (
        tree.to_arrow(["Electron", "!Electron.hltMatchBits"], objects=True)["Electron"].to_pylist()[0][0]["q"]
        == 1
    )


def test_lists_of_other_lengths_are_no_records():
    lists = [pa.array([[1], [2, 3]]), pa.array([[1, 2], [3]])]
    field = pa.field("m", pa.list_(pa.struct([pa.field("a", pa.int64()), pa.field("b", pa.int64())])))
    with pytest.raises(ar.CorruptFileError, match="has 1 items where another has 2"):
        zipped._zipped(lists, field, "here")


def test_a_list_of_another_name_with_the_same_counter_is_no_member(tmp_path):
    lists = {name: [[1.0], [], [2.0, 3.0]] for name in ("Muon_pt", "Muon_eta", "odd")}
    counters = dict.fromkeys(lists, "nMuon")
    ar.write(f"{tmp_path}/odd.root:T", pa.table(lists), layout=ar.Layout("ttree", counters=counters))
    tree = ar.open(tmp_path / "odd.root")["T"]
    assert tree.objects["Muon"].members == {"pt": "Muon_pt", "eta": "Muon_eta"}
    read = tree.to_arrow(objects=True)
    assert read["odd"].to_pylist() == lists["odd"]
    assert read["Muon"].to_pylist()[2] == [{"pt": 2.0, "eta": 2.0}, {"pt": 3.0, "eta": 3.0}]


def test_flat_files_stay_flat(tmp_path):
    """Names alone make no objects: what looks like members has a counter each, or none."""
    lists = [[1.0], [], [2.0, 3.0]]
    with uproot.recreate(tmp_path / "flat.root") as file:
        file.mktree("T", {"mu_pt": "var * float64", "mu_eta": "var * float64", "el_pt": "float64"})
        file["T"].extend({"mu_pt": ak.Array(lists), "mu_eta": ak.Array(lists), "el_pt": np.arange(3.0)})
    tree = ar.open(tmp_path / "flat.root")["T"]
    assert tree.objects == {}
    assert tree.to_arrow(objects=True).equals(tree.to_arrow())


def test_split_collections_are_objects(conformance):
    tree = ar.open(conformance / "skhep" / "uproot-issue232.root")["fTreeV0"]
    assert list(tree.objects) == ["V0s", "V0Hyper", "MCparticles"]
    assert tree.objects["V0s"].members["fV0pt"] == "V0s/V0s.fV0pt"
    table = tree.to_arrow(["V0s.fV0pt", "V0s.fV0eta"], objects=True)
    flat = tree.to_arrow(["V0s/V0s.fV0pt", "V0s/V0s.fV0eta"])
    for name in ("fV0pt", "fV0eta"):
        found = [[one[name] for one in row] for row in table["V0s"].to_pylist()]
        assert found == flat[f"V0s/V0s.{name}"].to_pylist()


def test_members_of_tobject_are_away_unless_they_are_named(conformance):
    tree = ar.open(conformance / "skhep" / "uproot-issue-76.root")["E"]
    hits = tree.objects["hits"].members
    assert hits["fBits"] == "Evt/hits/hits.fBits"

    def members(columns):
        return [one.name for one in tree.scan(columns, objects=True).schema.field("hits").type.value_type]

    assert "fBits" not in members(["hits"])
    assert members(["hits.fBits", "hits.id"]) == ["fBits", "id"]
    assert members(["hits.fBits", "hits.fUniqueID", "hits.id"]) == ["fBits", "fUniqueID", "id"]


def test_records_of_rntuples_are_read_by_their_members(conformance):
    name = "cmsopendata2015_ttbar_19980_NANOAOD_RNTupleImporter_rntuple_v1-0-0-1.root"
    tree = ar.open(conformance / "skhep" / name)["Events"]
    assert tree.objects["Muon"].record == "Momentum4D"
    muons = tree.to_awkward(["Muon.pt", "Muon.charge"], objects=True).Muon
    flat = tree.to_awkward(["Muon_pt", "Muon_charge"])
    assert muons.pt.to_list() == flat.Muon_pt.to_list()
    assert muons.charge.to_list() == flat.Muon_charge.to_list()
    names = tree.scan(objects=True).column_names
    assert "Muon" in names
    assert not {"Muon_pt", "nMuon", "_collection15"} & set(names)


@pytest.mark.parametrize("names", [["few", "many"], ["many", "few"]])
@pytest.mark.parametrize("options", [{}, {"friends": True}])
def test_an_object_must_have_the_same_members_in_all_files_in_any_order(tmp_path, names, options):
    write(tmp_path / "few.root", "pt", "eta")
    write(tmp_path / "many.root", "pt", "eta", "phi")
    files = [tmp_path / f"{name}.root" for name in names]
    if options:
        ar.write(f"{tmp_path}/friend.root:F", {"w": np.arange(2 * N)})
        options = {"friends": {"f": f"{tmp_path}/friend.root:F"}}
    for columns in (["Muon"], ["Muon", "!Muon.pt"], ["run", "Muon"]):
        with pytest.raises(ar.SchemaMismatchError, match="column 'Muon_phi'"):
            ar.scan(files, "Events", columns, objects=True, **options).to_arrow()
    found = ar.scan(files, "Events", ["Muon.pt", "Muon.eta", "Jet"], objects=True, **options).to_awkward()
    assert found.Muon.fields == ["pt", "eta"]
    if not options:
        common = ar.scan(files, "Events", ["Muon"], objects=True, missing="common").to_awkward()
        assert common.Muon.fields == ["pt", "eta"]


def test_members_of_records_that_may_be_missing_are_columns(tmp_path):
    """All may be null, as pyarrow's types have it unless told otherwise."""
    muons = [[{"pt": 1.5, "charge": 1}, {"pt": None, "charge": -1}], None, []]
    kind = pa.list_(pa.struct([("pt", pa.float64()), ("charge", pa.int64())]))
    data = pa.table({"Muon": pa.array(muons, kind), "run": [1, 2, 3]})
    ar.write(f"{tmp_path}/records.root:T", data, layout="rntuple")
    tree = ar.open(tmp_path / "records.root")["T"]
    assert [branch.path for branch in tree.branches] == ["Muon", "Muon.pt", "Muon.charge", "run"]
    assert tree.column_names == ["Muon", "run"]
    assert tree.objects["Muon"].members == {"pt": "Muon.pt", "charge": "Muon.charge"}
    assert tree.to_arrow("Muon.*").to_pydict() == {
        "Muon.charge": [[1, -1], None, []],
        "Muon.pt": [[1.5, None], None, []],
    }
    assert tree.to_arrow("Muon.pt", objects=True)["Muon"].to_pylist() == [
        [{"pt": 1.5}, {"pt": None}],
        None,
        [],
    ]
    assert tree.to_arrow().to_pydict() == {"Muon": muons, "run": [1, 2, 3]}


def references(*lists):
    of = pa.struct(
        [pa.field("index", pa.int32(), nullable=False), pa.field("collectionID", pa.uint32(), nullable=False)]
    )
    return pa.array([[{"index": one, "collectionID": 7} for one in row] for row in lists], pa.list_(of))


def test_lists_of_references_are_relations_and_subsets(tmp_path):
    """Podio's, since 0.99."""
    relation, subset = "_MC_Parts_daughters", "Muon_objIdx"
    data = pa.table(
        {
            "MC_Parts": [[{"mass": 1.0, "daughters_end": 1}], []],
            relation: references([1], []),
            subset: references([0], []),
            "other": references([2], [3]),
        }
    )
    kinds = dict.fromkeys([relation, subset, "other"], "std::vector<podio::ObjectID>")
    with ar.create(tmp_path / "podio.root") as file:
        file.tree("events", layout="rntuple", types=kinds).append(data)
    tree = ar.open(tmp_path / "podio.root")["events"]
    assert set(tree.objects) == {"MC_Parts", "Muon", "other"}
    assert dict(tree.objects["MC_Parts"].relations) == {"daughters": relation}
    assert tree.objects["Muon"].members == {name: f"{subset}.{name}" for name in ("index", "collectionID")}
    muons = tree.to_arrow(["Muon"], objects=True)["Muon"].to_pylist()
    assert muons == [[{"index": 0, "collectionID": 7}], []]


def test_collections_of_edm4hep_are_those_that_its_metadata_name(conformance):
    file = ar.open(conformance / "coffea" / "test_FCC_Spring2021.root")
    tree = file["events"]
    (names,) = file["metadata"].to_arrow("CollectionIDs/m_names")["CollectionIDs/m_names"].to_pylist()
    # The last holds vector members of tracks, which podio numbers.
    assert set(tree.objects) == {*names, "EFlowTrack_1"}
    assert dict(tree.objects["Particle"].relations) == {"0": "Particle#0", "1": "Particle#1"}
    assert "covMatrix" in tree.objects["Jet"].members
    electrons = tree.to_arrow(["Electron", "Jet.energy"], objects=True)["Electron"].to_pylist()
    indices = tree.to_arrow("Electron#0/Electron#0.index").column(0).to_pylist()
    assert [[one["index"] for one in row] for row in electrons] == indices
    whole = tree.scan(objects=True)
    assert len(set(whole.column_names)) == len(whole.column_names)
    assert [one.name for one in whole.schema.field("Electron").type.value_type] == ["index", "collectionID"]


def test_a_column_of_the_name_of_an_object_keeps_it(tmp_path):
    lists = [[1.0], [], [2.0, 3.0]]
    data = pa.table({"Muon": lists, "Muon_pt": lists, "Muon_eta": lists})
    counters = dict.fromkeys(data.column_names, "nMuon")
    ar.write(f"{tmp_path}/named.root:T", data, layout=ar.Layout("ttree", counters=counters))
    tree = ar.open(tmp_path / "named.root")["T"]
    assert tree.objects == {}
    assert {"Muon", "Muon_pt", "Muon_eta"} <= set(tree.to_arrow(objects=True).column_names)
