"""Records and what is made of them, from files that uproot writes and from records made by hand."""

import contextlib
import copy
import io
import json
import pickle
import struct
from types import SimpleNamespace

import hist
import numpy as np
import pytest

import arrowroot as ar
from arrowroot._objects.factory import Factory, kind_of
from arrowroot.cli import art
from tests.recorded import session


def record(class_name, members, bases=()):
    factory = Factory(pytest.fail)
    made = factory.record(class_name, bases)
    factory.fill(made, members)
    return made


@pytest.fixture
def histograms(tmp_path):
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "histograms.root"
    with uproot.recreate(path) as file:
        file["dir/h"] = np.histogram([1, 1, 2, 7], bins=4, range=(0, 8))
        file["dir/h"] = np.histogram([5], bins=4, range=(0, 8))
        file["text"] = "some\ttext"
    return path


def test_arrays_are_the_callers_own(histograms):
    h = ar.open(histograms)["dir/h;1"]
    h.values()[:] = -1
    h.values(flow=True)[:] = -1
    assert h.values().tolist() == [2, 1, 0, 1]
    assert h.values().flags.c_contiguous


def test_a_record_can_be_copied_and_sent(histograms):
    h = ar.open(histograms)["dir/h"]
    for other in (pickle.loads(pickle.dumps(h)), copy.deepcopy(h)):  # noqa: S301 - our own bytes
        assert isinstance(other, ar.Histogram)
        assert other.to_json() == h.to_json()


def test_the_contents_of_a_histogram_are_read_without_its_other_members(histograms, monkeypatch):
    monkeypatch.setattr(Factory, "fill", lambda *_: pytest.fail("members were made"))
    h = ar.open(histograms)["dir/h;1"]
    assert (h.name, h.title, h.num_entries, h.n_dimensions, h.shape) == ("h", "", 4, 1, (4,))
    assert h.values().tolist() == [2, 1, 0, 1]
    assert h.values(flow=True).tolist() == [0, 2, 1, 0, 1, 0]


@pytest.mark.parametrize("flow", [False, True])
@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_contents_are_the_same_before_and_behind_the_other_members(n_axes, flow, tmp_path):
    numbers = np.random.default_rng(n_axes)
    for storage in (hist.storage.Double(), hist.storage.Int64(), hist.storage.Weight()):
        axes = [hist.axis.Regular(2 + axis, -1, 1) for axis in range(n_axes)]
        made = hist.Hist(*axes, storage=storage).fill(*numbers.normal(size=(n_axes, 500)))
        with ar.create(tmp_path / "h.root") as new:
            new["h"] = made
        with ar.open(tmp_path / "h.root") as file:
            found = file["h"]
            first = found.values(flow=flow)
            assert first.shape == made.values(flow=flow).shape
            assert np.array_equal(first, made.values(flow=flow))
            first[...] = 0
            again = found.values(flow=flow)
            assert found.members
            assert np.array_equal(again, found.values(flow=flow))
            assert again.dtype == first.dtype


def test_members_that_are_read_when_they_are_asked_for_are_those_that_stay(histograms):
    h = ar.open(histograms)["dir/h;1"]
    before = h.values()
    assert h["fXaxis"] is h["fXaxis"] is h.axis().record
    h["fArray"][1] = 9
    assert (before[0], h.values()[0], h.fArray[1]) == (2, 9, 9)


def histogram(n_values, **members):
    axis = record(
        "TAxis", {"fName": "x", "fTitle": "", "fNbins": 2, "fXmin": 0, "fXmax": 2, "fXbins": np.zeros(0)}
    )
    usual = {
        "fXaxis": axis,
        "fDimension": 1,
        "fArray": np.zeros(n_values),
        "fSumw2": np.zeros(0),
        "fEntries": 0.0,
    }
    return record("TH1D", {"fName": "h", "fTitle": "", **usual, **members}, ("TH1", "TNamed"))


def poly(**members):
    corners = {"fNpoints": 3, "fX": np.array([0, 1.0, 1]), "fY": np.array([0, 0, 1.0])}
    polygon = record("TGraph", {"fName": "", "fTitle": "", **corners}, ("TNamed",))
    one = record("TH2PolyBin", {"fContent": 4.0, "fPoly": polygon})
    usual = {"fBins": [one], "fSumw2": np.zeros(0), "fOverflow": np.arange(9.0), "fEntries": 4.0}
    return record("TH2Poly", {"fName": "h", "fTitle": "", **usual, **members}, ("TH2", "TH1"))


def test_objects_answer_as_was_recorded(histograms):
    made = {"record": record, "histogram": histogram, "poly": poly, "a_map": maps(histograms.parent)["a map"]}
    names = {"ar": ar, "np": np, "art": art, "Factory": Factory, "kind_of": kind_of}
    session("objects", histograms.parent, names | made)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 2.5])
def test_a_number_of_things_that_is_no_whole_number_is_corrupt(number):
    named = {"fName": "g", "fTitle": ""}
    axis = record("TAxis", {**named, "fNbins": number, "fXmin": 0, "fXmax": 2, "fXbins": np.zeros(0)})
    asks = [
        lambda: record("TGraph", {**named, "fNpoints": number}, ("TNamed",)).num_points,
        lambda: record("TMatrixT<double>", {"fNrows": 2, "fNcols": number}).shape,
        lambda: record("TEntryList", {**named, "fN": number}, ("TNamed",)).num_entries,
        lambda: histogram(4, fXaxis=axis).axes,
    ]
    for ask in asks:
        with pytest.raises(ar.CorruptFileError, match=f"without a whole number .*: it is {number}"):
            ask()


@pytest.mark.parametrize(("mode", "expected"), [(0, np.nan), (1, 0.5), (2, np.nan), (3, np.nan)])
def test_errors_of_negative_weights_are_those_of_root_without_a_warning(mode, expected):
    h = histogram(
        4,
        fErrorMode=mode,
        fArray=np.array([0, 4.0, -2.0, 0]),
        fSumw2=np.array([0, 5.0, -2.0, 0]),
        fBinEntries=np.array([0, 4.0, -4.0, 0]),
    )
    profile = record("TProfile", h._members, ("TH1D", "TH1", "TNamed"))
    assert profile.errors(flow=True)[[0, 2, 3]].tolist() == pytest.approx([0, expected, 0], nan_ok=True)


def test_an_object_that_contradicts_itself_hides_no_other_in_a_listing(tmp_path, arrowroot_command):
    uproot = pytest.importorskip("uproot")
    histograms = tmp_path / "histograms.root"
    with uproot.recreate(histograms, compression=None) as file:
        file["one"] = np.histogram([1, 1, 2, 7], bins=4, range=(0, 8))
        file["other"] = np.histogram([5], bins=4, range=(0, 8))
        file["text"] = "some"
    data = bytearray(histograms.read_bytes())
    # The axis of the first histogram: 4 bins from 0 to 8.
    axis = struct.pack(">idd", 4, 0, 8)
    place = data.index(axis)
    data[place : place + 4] = struct.pack(">i", 0x7FFFFFF0)
    histograms.write_bytes(data)
    listed = arrowroot_command("ls", histograms).stdout
    assert "(damaged: arrowroot show says why)" in listed
    assert "4 bins in [0, 8)" in listed
    assert "text" in listed


def test_show_draws_what_there_is(histograms, arrowroot_command):
    shown = arrowroot_command("show", f"{histograms}:dir/h;1").stdout
    assert "TH1D: 4 bins in [0, 8), 4 entries" in shown
    lines = [line for line in shown.splitlines() if line.startswith("[")]
    assert [line.split()[2] for line in lines] == ["2", "1", "0", "1"]
    assert lines[0].count("█") > lines[1].count("█") > lines[2].count("█") == 0
    document = json.loads(arrowroot_command("show", f"{histograms}:dir/h", "--json").stdout)
    assert (document["_typename"], document["fEntries"]) == ("TH1D", 1)
    assert "fBarOffset" in arrowroot_command("show", f"{histograms}:dir/h", "--members").stdout
    assert "\t" not in arrowroot_command("show", f"{histograms}:text").stdout
    listed = arrowroot_command("ls", histograms).stdout
    assert "4 bins in [0, 8), 4 entries" in listed
    assert "4 bins" not in arrowroot_command("ls", histograms, "--keys").stdout
    summaries = [
        key["summary"] for key in json.loads(arrowroot_command("ls", histograms, "--json").stdout)["keys"]
    ]
    assert "some\\ttext" in summaries


@pytest.mark.parametrize("n_bins", [1, 30, 1000])
def test_pictures_fit_the_terminal(n_bins):
    contents = np.zeros(n_bins + 2)
    contents[1:-1] = np.linspace(-3, 5, n_bins)
    contents[1] = np.nan
    h = histogram(0, fArray=contents)
    h["fXaxis"]._members["fNbins"] = n_bins
    for width in (30, 80, 200):
        lines = art.histogram(h, width)
        assert lines
        assert max(map(len, lines)) <= max(width, 52)


LARGEST = 1.7976931348623157e308


@pytest.mark.parametrize(
    "values",
    [
        [1.7e18],
        [-1e17, -1e17],
        [LARGEST, LARGEST],
        [-1e308, 0.0, 1e308],
        [-LARGEST, LARGEST],
        [0.0, 5e-324],
        [5e-324, 1e-323],
        [0.1, 0.2, 0.3],
    ],
    ids=str,
)
def test_graphs_and_histograms_of_any_numbers_are_drawn(values):
    other = [float(i) for i in range(len(values))]
    for x, y in ((values, other), (other, values), (values, values)):
        graph = SimpleNamespace(x=np.array(x), y=np.array(y), n_dimensions=2)
        rows = [line.partition("┤")[2].strip() for line in art.graph(graph, 80)[:16]]
        assert 1 <= len("".join(rows).replace(" ", "")) <= len(values)
        if len(set(y)) > 1:
            # The least is in the lowest row, and the largest in the highest.
            assert rows[0]
            assert rows[15]
    for n_bins in (len(values), 40):
        contents = np.zeros(n_bins + 2)
        contents[1 : len(values) + 1] = values
        h = histogram(0, fArray=contents)
        h["fXaxis"]._members["fNbins"] = n_bins
        drawn = art.histogram(h, 80)
        assert set("".join(drawn)) & set("█▁▒▏▇")


def with_attributes(tmp_path):
    """Return the attribute sets of an RNTuple that has one."""
    with ar.create(tmp_path / "sets.root") as file:
        table = file.tree("T", {"x": "int32"}, layout="rntuple")
        table.append({"x": [1, 2]})
        table.attributes("lumi", {"run": "int32"}).add(range(2), {"run": 7})
    return ar.open(tmp_path / "sets.root")["T"].attributes


def maps(tmp_path):
    """One of each class that has names for what is in it."""
    with ar.create(tmp_path / "mapped.root") as file:
        file["dir/text"] = "t"
        file["T"] = {"x": [1, 2]}
        file["dir/T"] = {"x": [3]}
        file["T2"] = {"x": [1, 2]}
        file["run"] = {"Run": "3", "DataType": "RawData"}
    opened = ar.open(tmp_path / "mapped.root")
    text = record("TObjString", {"fString": "Run"})
    named = record("TNamed", {"fName": "n", "fTitle": "t"})
    pairs = [{"key": text, "value": 1}, {"key": named, "value": named}, {"key": None, "value": 2}]
    graph = {"fName": "g", "fTitle": "", "fNpoints": 1, "fX": np.zeros(1), "fY": np.ones(1)}
    return {
        "a file": opened,
        "a directory": opened["dir"],
        "a written map": opened["run"],
        "a map": record("TMap", {"fPairs": [*pairs, {"key": text, "value": "later"}]}),
        "a map without pairs": record("TMap", {"fPairs": []}),
        "a record": record("Anything", {"a": 1, "b": [2]}),
        "a name": named,
        "a text": text,
        "a number": record("TParameter<int>", {"fName": "p", "fVal": 7}),
        "a graph": record("TGraph", graph),
        "attribute sets": with_attributes(tmp_path),
        "a matrix": record("TMatrixT<double>", {"fNrows": 1, "fNcols": 1, "fElements": np.ones(1)}),
    }


def test_every_class_with_keys_is_a_whole_mapping(tmp_path):
    """All that a mapping answers is of the same names."""
    mapped = maps(tmp_path)
    classes = {getattr(ar, name) for name in ar.__all__ if isinstance(getattr(ar, name), type)}
    with_keys = {one for one in classes if hasattr(one, "__getitem__") and hasattr(one, "keys")}
    # Objects that cannot be read have one answer to all; see below. Histograms that were filled are a dictionary.
    assert with_keys - {ar.Unreadable, ar.Histograms} == {type(one) for one in mapped.values()}
    for found in mapped.values():
        names = list(found)
        assert list(found.keys()) == names
        with contextlib.suppress(TypeError):  # a mapping need not know it
            assert list(reversed(found)) == names[::-1]
        assert len(found) == len(names) == len(set(names))
        assert all(name in found for name in names)
        same = [found[name] for name in names]
        for values in (found.values(), (value for _, value in found.items()), map(found.get, names)):
            for value, expected in zip(values, same, strict=True):
                assert value is expected or repr(value) == repr(expected)
        assert [name for name, _ in found.items()] == names
        assert list(dict(found)) == names
        nothing = object()
        assert found.get("nothing of that name", nothing) is nothing
        assert "nothing of that name" not in found
        with pytest.raises(KeyError, match="nothing of that name"):
            found["nothing of that name"]


@pytest.mark.parametrize(
    "kind", ["Histogram", "Profile", "PolyHistogram", "PolyProfile", "ObjectList", "EntryList"]
)
def test_what_has_other_values_has_no_keys_and_names_its_members(kind):
    """``values`` of a histogram are of its bins, and a list is iterated over by its objects."""
    assert not hasattr(getattr(ar, kind), "items")
    found = getattr(ar, kind)("TThing")
    with pytest.raises(AttributeError, match=r"has no member 'keys'; its members are in \.members"):
        found.keys()


@pytest.mark.parametrize(
    ("class_name", "bases"), [("TH1D", ("TH1",)), ("TProfile", ()), ("TH2Poly", ()), ("TEntryList", ())]
)
def test_what_has_a_content_finds_members_by_name_and_is_not_gone_over(class_name, bases):
    """It has no length and no items that could be taken for those of its content."""
    found = record(class_name, {"fName": "h", "fN": 3}, bases)
    assert (found["fN"], found.get("fN"), found.get(0, 5), "fN" in found, 3 in found) == (
        3,
        3,
        5,
        True,
        False,
    )
    assert found.members == {"fName": "h", "fN": 3}
    for ask in (list, iter, reversed, len, dict):
        with pytest.raises(TypeError):
            ask(found)
    with pytest.raises(TypeError, match=rf"a {class_name} has no len\(\): its members are in \.members"):
        len(found)


def test_an_object_that_cannot_be_read_says_so_whatever_it_is_asked_for():
    found = ar.Unreadable("Odd", ar.CorruptFileError("why not"), b"abc")
    for ask in (
        list,
        reversed,
        len,
        dict,
        lambda one: one["a"],
        lambda one: "a" in one,
        lambda one: one.get("a"),
    ):
        with pytest.raises(ar.CorruptFileError, match="why not"):
            ask(found)
    assert bool(found)


def test_names_that_look_like_paths_and_cycles_lead_to_their_objects(tmp_path):
    path = tmp_path / "odd.root"
    names = {"a": "a", "aX1": "a;1", "Ylead": "/lead", "endY": "end/", "dYin": "d/in", "Z": "Z"}
    with ar.create(path) as file:
        for written, name in names.items():
            file[written] = f"of {name}"
    content = path.read_bytes()
    for written, odd in names.items():
        content = content.replace(written.encode(), odd.encode())
    path.write_bytes(content)
    with ar.open(path) as file:
        found = {name: str(value) for name, value in file.items()}
        assert found == {(f"{name};1" if ";" in name else name): f"of {name}" for name in names.values()}
        assert all(str(file[key]) == f"of {key.name}" for key in file.key_list())
        # Where no name has the slash, or the number is a cycle, they are what they are elsewhere.
        assert (str(file["/a"]), str(file["a/"]), str(file["a;1"])) == ("of a",) * 3


def test_no_object_is_read_to_look_for_trees_where_the_file_describes_none(tmp_path):
    class Counted(io.BytesIO):
        n_reads = 0

        def read(self, size=-1):
            self.n_reads += 1
            return super().read(size)

    with ar.create(tmp_path / "lists.root") as file:
        for i in range(20):
            file[f"list{i}"] = [f"{i}, {j}" * 100 for j in range(100)]
            file[f"h{i}"] = np.histogram([1.0], bins=4, range=(0, 8))
    given = Counted((tmp_path / "lists.root").read_bytes())
    with ar.open(given) as file:
        assert len(file) == 40
        before = given.n_reads
        assert (file.trees, file.trees) == ([], [])
        assert given.n_reads <= before + 1  # the descriptions of the classes


def test_a_directory_lists_its_own_keys_alone(tmp_path):
    path = tmp_path / "f.root"
    with ar.create(path) as file:
        for name in ("a/x", "a/b/y", "ab/z"):
            file[name] = "text"
    with ar.open(path) as file:
        native = file._native
        assert [key.path for key in native.keys("a/", recursive=False)] == ["a/x", "a/b"]
        assert [key.path for key in native.keys("a/")] == ["a/x", "a/b", "a/b/y"]
        assert list(file["a"]) == ["x", "b"]
        assert [key.path for key in file["a"].key_list()] == ["a/x", "a/b", "a/b/y"]
        assert [key.path for key in file.key_list(recursive=False)] == ["a", "ab"]
