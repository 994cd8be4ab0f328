"""Histograms, graphs, lists and other objects that ROOT writes: arrowroot reads what ROOT and uproot read in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import uproot

import arrowroot as ar
from arrowroot.cli import main

from .compare import RootFiles, written
from .with_things import BUFFERED, write

if TYPE_CHECKING:
    from pathlib import Path

#: Members of ROOT's JSON that are other names for what is in arrowroot's, or made from it.
COLLECTIONS = ("TList", "THashList", "TObjArray", "TClonesArray", "TOrdCollection")
#: ROOT's JSON of these is no list of their members.
NOT_IN_JSON = (
    *("reference", "references", "number_map", "symmetric", "canvas"),
    *("workspace", "fit", "poly_line", "poly_markers", "tree_index", "chain"),
)
#: ROOT changes these when it reads them.
NOT_AS_STORED = ("fBits", "fPID", "fModified")


things = written(write)


@pytest.fixture(scope="module")
def file(things: RootFiles) -> ar.File:
    return ar.open(things / "things.root")


def flat(array: Any) -> list[float]:
    """In the order of ROOT's bins: x is the fastest."""
    values: list[float] = array.T.ravel().tolist()
    return values


def test_histograms_have_roots_contents_errors_edges_and_labels(things: RootFiles, file: ar.File) -> None:
    bins = things.expected["bins"]
    assert len(bins) > 40
    for name, expected in bins.items():
        h = file[name]
        assert isinstance(h, ar.Histogram), name
        assert h.num_entries == expected["entries"], name
        labels = [axis.labels or [""] * len(axis) for axis in h.axes]
        assert labels == expected["labels"], name
        for axis, edges in zip(h.axes, expected["edges"], strict=True):
            largest = max(map(abs, edges))
            np.testing.assert_allclose(axis.edges(), edges, rtol=1e-15, atol=1e-15 * largest, err_msg=name)
        np.testing.assert_allclose(flat(h.values(flow=True)), expected["contents"], rtol=1e-14, err_msg=name)
        np.testing.assert_allclose(
            flat(h.errors(flow=True)), expected["errors"], rtol=1e-12, atol=1e-7, err_msg=name
        )
        if expected["effective"]:
            np.testing.assert_allclose(
                flat(h.counts(flow=True)), expected["effective"], rtol=1e-14, err_msg=name
            )
        for number, (mean, std) in enumerate(zip(expected["means"], expected["stds"], strict=True)):
            # Sums in another order, and a spread that is a difference of squares.
            assert h.mean(number) == pytest.approx(mean, rel=1e-9, abs=1e-12), name
            assert h.std("xyz"[number]) == pytest.approx(std, rel=1e-7, abs=1e-7 + 1e-9 * abs(mean)), name
        inside = tuple(slice(1, -1) for _ in h.axes)
        np.testing.assert_array_equal(h.values(), h.values(flow=True)[inside])


def test_the_line_that_answers_what_root_calls_it_gives_what_root_does(
    things: RootFiles, file: ar.File
) -> None:
    n_asked = 0
    for name, expected in things.expected["bins"].items():
        for call, value in expected["asked"].items():
            is_of_all = not call.startswith(("GetMean", "GetStd", "GetRMS", "GetEntries"))
            if "chosen" in name and is_of_all:
                continue  # ROOT's is of the range that was chosen
            if name.startswith("waits") and not is_of_all:
                continue  # a difference of large squares
            with pytest.raises(ar.NoSuchAttributeError) as raised:
                eval(f"hist.{call}", {"hist": file[name]})  # noqa: S307 - of this test
            line = str(raised.value).partition(": write ")[2].replace("[2]", "[1]")
            found = eval(line, {"hist": file[name], "np": np})  # noqa: S307 - of this package
            assert found == pytest.approx(value, rel=1e-5, abs=1e-6), (name, line)
            n_asked += 1
    assert n_asked > 300


def test_histograms_agree_with_uproot(things: RootFiles, file: ar.File) -> None:
    names = things.expected["bins"]
    # uproot takes no notice of buffers, of negative contents, and of profiles of three dimensions.
    left_out = {name for name in names if name.startswith(("limits", "wait"))} | {"negative"}
    with uproot.open(things / "things.root") as other:
        for name in names.keys() - left_out:
            theirs, ours = other[name], file[name]
            if name.startswith("profile3"):
                continue
            np.testing.assert_allclose(
                ours.values(flow=True), theirs.values(flow=True), rtol=1e-14, err_msg=name
            )
            if "profile" not in name:
                np.testing.assert_array_equal(
                    ours.variances(flow=True), theirs.variances(flow=True), err_msg=name
                )
                assert all(
                    np.array_equal(a, b)
                    for a, b in zip(ours.to_numpy()[1:], theirs.to_numpy()[1:], strict=True)
                )


def test_histograms_of_polygons_have_roots_contents_errors_and_corners(
    things: RootFiles, file: ar.File
) -> None:
    bins = things.expected["polygons"]
    assert len(bins) == 10
    for name, expected in bins.items():
        h = file[name]
        assert isinstance(h, ar.PolyProfile if "profile" in name else ar.PolyHistogram), name
        assert (h.num_entries, h.num_bins) == (expected["entries"], len(expected["contents"])), name
        np.testing.assert_array_equal(h.values(), expected["contents"], err_msg=name)
        np.testing.assert_allclose(h.errors(), np.nan_to_num(expected["errors"]), rtol=1e-14, err_msg=name)
        np.testing.assert_allclose(h.variances(), h.errors() ** 2, rtol=1e-14, err_msg=name)
        assert h.outside().T[::-1].ravel().tolist() == expected["outside"], name
        if expected["effective"]:
            np.testing.assert_allclose(h.counts(), expected["effective"], rtol=1e-14, err_msg=name)
        with pytest.raises(ar.UnsupportedError, match=f"{h.class_name} '.*': its bins are polygons"):
            h.to_hist()
    assert file["polygons"].outside().tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert not file["poly"].is_weighted
    assert file["poly_late"].is_weighted
    values, polygons = file["poly_weighted"].to_numpy()
    assert values.shape == (4,)
    assert [[len(part) for part in parts] for parts in polygons] == [[3], [4, 3], [4], [3]]
    assert polygons[0][0].tolist() == [[0, 1], [1, 1], [0.5, 2]]


def test_polygons_are_shown_one_by_one(things: RootFiles, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(name: str) -> list[str]:
        assert main(["show", f"{things / 'things.root'}:{name}"]) == 0
        return capsys.readouterr().out.splitlines()

    few = shown("poly")
    assert few[0].startswith("poly  TH2Poly: 4 polygons in [-1, 3) x [-1, 3), ")
    assert [line.split("  ")[:2] for line in few[1:5]] == [
        ["1", "in [0, 1] x [1, 2]"],
        ["2", "in [-1, 2.5] x [-1, 2.5]"],
        ["3", "in [1, 2] x [0, 1]"],
        ["4", "in [2, 3] x [0, 1]"],
    ]
    assert "no bins yet" in shown("no_polygons")[1]


class Json:
    """Compares a record with what ROOT's JSON says of the object."""

    def __init__(self) -> None:
        self.n_compared = 0

    def same(self, ours: Any, theirs: Any, path: str) -> None:
        self.n_compared += 1
        if isinstance(theirs, dict) and "$ref" in theirs:
            assert isinstance(ours, ar.Record), path
        elif isinstance(theirs, dict) and isinstance(ours, ar.ObjectList | ar.ObjectMap):
            assert ours.class_name == theirs["_typename"], path
            self.collection(ours, theirs, path)
        elif isinstance(theirs, dict) and isinstance(ours, ar.Record):
            assert not isinstance(ours, ar.Unreadable), f"{path}: {ours}"
            assert ours.class_name == theirs["_typename"], path
            self.members(ours, theirs, path)
        elif isinstance(theirs, list):
            ours = self.listed(ours, theirs)
            assert len(ours) == len(theirs), path
            for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                self.same(one, other, f"{path}[{i}]")
        elif isinstance(theirs, float) and not isinstance(ours, str):
            assert float(ours) == pytest.approx(theirs, rel=1e-6, abs=1e-30), path
        elif isinstance(theirs, str) and not isinstance(ours, str):
            assert bytes(ours).decode() == theirs, path  # an array of char
        else:
            assert ours == theirs, path

    def listed(self, ours: Any, theirs: list[Any]) -> list[Any]:
        """What ROOT writes as a list: a map as pairs, arrays in a list one after the other."""
        if isinstance(ours, dict):
            pairs = {pair["first"]: pair["second"] for pair in theirs}
            return theirs if ours == pairs else []
        if ours is None:
            return []
        if len(ours) and hasattr(ours[0], "ndim") and not isinstance(theirs[0], list):
            return [value for array in ours for value in np.atleast_1d(array).tolist()]
        return list(ours)

    def members(self, ours: ar.Record, theirs: dict[str, Any], path: str) -> None:
        for name, value in theirs.items():
            if name not in ("_typename", *NOT_AS_STORED):
                self.same(ours[name], value, f"{path}.{name}")

    def collection(self, ours: Any, theirs: dict[str, Any], path: str) -> None:
        if isinstance(ours, ar.ObjectMap):
            pairs = [(pair["first"], pair["second"]) for pair in theirs["arr"]]
            self.same(
                [item for pair in ours.pairs for item in pair], [x for pair in pairs for x in pair], path
            )
            return
        # Gaps are left out.
        self.same([item for item in ours.objects if item is not None], theirs["arr"], path)
        if "opt" in theirs:
            assert [option or None for option in ours.options] == [
                option or None for option in theirs["opt"]
            ], path


def test_objects_have_the_members_that_roots_json_has(things: RootFiles, file: ar.File) -> None:
    texts = things.expected["things"]
    compared = Json()
    for name, text in texts.items():
        if name not in NOT_IN_JSON:
            compared.same(file[name], json.loads(text), name)
    assert compared.n_compared > 10_000


def test_an_object_that_comes_twice_is_one_object_and_circles_close(file: ar.File) -> None:
    outer = file["list"]
    assert outer[0] is outer[4]
    assert outer["shared"] is outer["inner"]["shared"]
    assert [str(item) for item in outer["inner"][:3]] == ["item 0", "item 1", "item 2"]
    assert outer["inner"].options == ["option 0", "option 1", "option 2", ""]
    assert outer.options[1] == "o" * 300
    circle = file["circle"]
    assert circle[1][0] is circle
    assert circle.to_dict()["fItems"][1]["object"]["fItems"][0]["object"] == {"$ref": 0}
    assert '"$ref": 0' in circle.to_json()


def test_collections_and_small_objects_are_useful(file: ar.File) -> None:
    assert file["text"] == "text with\nlines " * 30
    assert (file["named"].name, file["named"].title) == ("named", "a title")
    values = {"bool": True, "int": -7, "long": 2**40, "Long64_t": -(2**50), "float": 0.5, "double": 1e-300}
    for kind, value in values.items():
        assert file[f"parameter_{kind}"].value == value, kind
    assert file["map"]["key 2"].name == "value 2"
    assert [item is None for item in file["object_array"]] == [True, False, True, True, False]
    assert [(pair["key"], pair["value"]) for pair in file["number_map"]["fPairs"]] == [
        (-i, i * 10**12) for i in range(4)
    ]
    for name in ("clones", "clones_streamed"):
        assert [item.name for item in file[name]] == ["clone 0", "clone 1", "clone 2"], name
    for name in ("clones_lorentz", "clones_lorentz_streamed"):
        assert [item["fP"]["fX"] for item in file[name]] == [0, 1, 2], name
    assert [item.y.tolist() for item in file["clones_graph"]] == [[0], [2], [4]]
    shared = file["list"]["shared"]
    assert file["reference"]["ref"] == shared["fUniqueID"] == file["references"]["refs"][0]
    assert file["std_string"] == "some text"
    assert file["std_vector"].tolist() == [1.5, -2, 1e300]
    assert file["matrix"].to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert file["symmetric"].to_numpy().tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]
    assert file["vector"].to_numpy().tolist() == [1, 2, 3]
    canvas = file["canvas"]
    assert canvas["fPrimitives"]["passed_copy"].values().tolist() == [6, 7, 7, 6]
    assert canvas["fCatt"].class_name == "TAttCanvas"


def test_graphs_have_their_points_and_errors(file: ar.File) -> None:
    points = [[i * scale + 0.25 for i in range(4)] for scale in (1, 2, 3, 4, 5, 6)]
    sides = {
        "graph": [None, None],
        "graph_errors": [(2, 2), (3, 3)],
        "graph_asymmetric": [(2, 3), (4, 5)],
        "graph_bent": [(2, 3), (4, 5)],
        "graph_multi": [(2, 3), (4, 5)],
    }
    for name, expected in sides.items():
        graph = file[name]
        assert isinstance(graph, ar.Graph)
        assert [values.tolist() for values in graph.to_numpy()] == points[:2], name
        for axis, places in zip("xy", expected, strict=True):
            errors = graph.errors(axis)
            if places is None:
                assert errors is None, name
            else:
                assert [side.tolist() for side in errors] == [points[place] for place in places], (name, axis)
    assert [values.tolist() for values in file["graph2d_errors"].to_numpy()] == points[:3]
    assert file["no_points"].num_points == 0
    assert file["no_points"].to_numpy()[0].tolist() == []


def everything(thing: Any, seen: dict[int, Any]) -> dict[int, Any]:
    """An object and all that it holds, by identity."""
    if id(thing) not in seen and isinstance(thing, ar.Record | list | dict):
        seen[id(thing)] = thing
        inside: list[Any] = list(thing.values()) if isinstance(thing, dict) else []
        if isinstance(thing, ar.Record):
            inside = [thing[name] for name in thing.members]
        for part in inside or list(thing):
            everything(part, seen)
    return seen


def test_a_workspace_of_roofit_is_read_with_all_that_is_in_it(file: ar.File) -> None:
    workspace = file["workspace"]
    things = everything(workspace, {}).values()
    assert not [str(thing) for thing in things if isinstance(thing, ar.Unreadable)]
    by_name = {
        thing["fName"]: thing for thing in things if isinstance(thing, ar.Record) and "fName" in thing.members
    }
    assert by_name["model"].class_name == "RooAddPdf"
    assert by_name["category"].class_name == "RooCategory"
    x = by_name["x"]
    assert x.class_name == "RooRealVar"
    assert (x["_binning"]["_xlo"], x["_binning"]["_xhi"], x["_binning"]["_nbins"]) == (-10, 10, 8)
    binned = next(thing for thing in things if getattr(thing, "class_name", "") == "RooDataHist")
    assert (binned["fName"], binned["_arrSize"], sum(binned["_wgt"])) == ("binned", 8, 50)
    assert [len(files) for files in (workspace["_classes"]["_fmap"], workspace["_classes"]["_ehmap"])] == [
        0,
        0,
    ]


def test_a_fit_has_its_parameters_and_shows_them_by_name(
    things: RootFiles, file: ar.File, capsys: pytest.CaptureFixture[str]
) -> None:
    fit = file["fit"]
    parameters = {one["fName"]: one for one in fit["_finalPars"]["_list"]}
    assert sorted(parameters) == ["c", "f", "m", "s"]
    assert all(one["_error"] > 0 for one in parameters.values())
    assert fit["_CM"].class_name.startswith("TMatrixTSym")
    assert main(["show", f"{things / 'things.root'}:fit"]) == 0
    shown = capsys.readouterr().out
    assert all(f"─ {name}  RooRealVar: " in shown for name in parameters), shown


def test_points_in_space_indices_and_chains_are_read_as_their_classes_write_them(file: ar.File) -> None:
    for name, n_points in (("poly_line", 4), ("poly_markers", 3)):
        expected = [value for i in range(n_points) for value in (i, 2 * i, 0.5)]
        assert list(file[name]["fP"]) == expected, name
    index = file["tree_index"]
    assert (index["fMajorName"], index["fMinorName"], index["fN"]) == ("run", "event", 3)
    assert list(index["fIndexValues"]) == [3, 3, 3]
    assert list(index["fIndexValuesMinor"]) == [7, 8, 9]
    assert list(index["fIndex"]) == [1, 2, 0]
    chain = file["chain"]
    assert [(one["fTitle"], one["fName"]) for one in chain["fFiles"]] == [
        ("first.root", "Events"),
        ("second.root", "Events"),
    ]


def test_entries_that_wait_for_limits_are_not_taken_for_an_empty_histogram(file: ar.File) -> None:
    for name in BUFFERED:
        assert file[name].num_entries == 50
        for contents in (file[name].values, file[name].to_boost):
            with pytest.raises(ar.UnsupportedError, match="its 50 entries wait in a buffer"):
                contents()


def test_histograms_become_boost_histograms_with_the_same_contents(file: ar.File) -> None:
    hist = pytest.importorskip("hist")
    bh = pytest.importorskip("boost_histogram")
    storages = {
        "h1D": bh.storage.Double,
        "h2I": bh.storage.Int64,
        "weighted": bh.storage.Weight,
        "variable2": bh.storage.Double,
        "profile": bh.storage.Mean,
        "weighted_profile": bh.storage.WeightedMean,
        "profile3": bh.storage.Mean,
    }
    for name, storage in storages.items():
        h = file[name]
        for made in (h.to_boost(), h.to_hist(), hist.Hist(h)):
            assert made.storage_type is storage, name
            np.testing.assert_allclose(made.values(flow=True), h.values(flow=True), rtol=1e-13, err_msg=name)
            for axis, theirs in zip(h.axes, made.axes, strict=True):
                np.testing.assert_allclose(theirs.edges, axis.edges(), rtol=1e-13, atol=1e-15)
            if h.kind == "COUNT" and storage is bh.storage.Weight:
                np.testing.assert_array_equal(made.variances(flow=True), h.variances(flow=True))
            if h.kind == "MEAN":
                np.testing.assert_allclose(made.counts(flow=True), h.counts(flow=True), rtol=1e-13)
    labels = file["labels"].to_hist()
    assert list(labels.axes[0]) == ["first", "second", "third é"]
    assert labels.values().tolist() == [1, 2, 3]
    named = file["h1F"].to_hist()
    assert (named.name, named.axes[0].name, named.axes[0].label) == ("h1F", "xaxis", "x title")


def test_histograms_follow_the_plottable_protocol_of_uhi(file: ar.File) -> None:
    plottable = pytest.importorskip("uhi.typing.plottable")
    for name in ("h1D", "h3S", "labels", "variable", "profile2"):
        h = file[name]
        assert isinstance(h, plottable.PlottableHistogram), name
        axis = h.axes[0]
        assert axis == file[name].axes[0]
        assert len(list(axis)) == len(axis) == h.values().shape[0]
        assert axis[len(axis) - 1] == axis[-1] == list(axis)[-1]
    assert file["labels"].axes[0].traits.discrete
    assert file["labels"].axes[0][1] == "second"
    assert file["variable"].axes[0][1] == (0.5, 2)
    assert file["h1D"].axes[0] != file["variable"].axes[0]


@pytest.mark.filterwarnings("ignore::arrowroot.RecoveredWarning")
def test_a_file_that_was_not_closed_still_gives_its_histograms(
    things: RootFiles, file: ar.File, tmp_path: Path
) -> None:
    # Neither key list nor streamer information are there before ROOT closes the file.
    data = bytearray((things.directory / "things.root").read_bytes())
    cut = data[: max(file._native.keys(), key=lambda key: key.offset).offset]
    broken = tmp_path / "cut.root"
    broken.write_bytes(bytes(cut))
    recovered = ar.open(broken)
    assert recovered.was_recovered
    for name in ("h1F", "h2D", "profile", "labels", "parameter_int", "list", "graph_bent", "symmetric"):
        whole, other = file[name], recovered[name]
        assert other.to_json() == whole.to_json(), name
