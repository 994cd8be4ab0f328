"""Histograms of hist, boost-histogram and NumPy become those of ROOT, and are the same when they come back."""

import numpy as np
import pytest

import arrowroot as ar
from arrowroot._writing.objects import object_of, record_of
from tests.recorded import session

bh = pytest.importorskip("boost_histogram")
hist = pytest.importorskip("hist")


def as_record(value, name="h"):
    described = object_of(value, name)
    n = next((n for n in "23" if n in described.class_name), "1")
    return record_of(described.class_name, dict(described.members), (f"TH{n}", "TH1"))


AXES = {
    "regular": lambda: [hist.axis.Regular(7, -1.5, 3.25, name="x", label="GeV")],
    "variable": lambda: [hist.axis.Variable([0, 1, 3, 7.5], name="x")],
    "category": lambda: [hist.axis.StrCategory(["a", "b", "cc"], name="x")],
    "growing": lambda: [hist.axis.StrCategory([], growth=True, name="x"), hist.axis.Boolean(name="y")],
    "numbers": lambda: [hist.axis.IntCategory([11, -13], name="x")],
    "growing numbers": lambda: [hist.axis.IntCategory([7], growth=True, name="x")],
    "text of numbers": lambda: [hist.axis.StrCategory(["11", "-13"], name="x")],
    "growing range": lambda: [hist.axis.Regular(2, 0, 1, growth=True, name="x")],
    "integer": lambda: [hist.axis.Integer(-2, 5, name="x")],
    "growing integer": lambda: [hist.axis.Integer(0, 1, growth=True, name="x")],
    "two": lambda: [hist.axis.Regular(3, 0, 1, name="x"), hist.axis.Variable([0, 2, 5], name="y")],
    "three": lambda: [hist.axis.Regular(n, 0, 1, name=name) for n, name in ((2, "x"), (3, "y"), (4, "z"))],
}
STORAGES = ["Double", "Weight", "Int64", "Mean", "WeightedMean"]


def test_bins_of_sparse_histograms_have_as_many_bits_as_root_gives_them():
    """One more where a power of two is: four axes of two bins and two beyond have three bits each."""
    made = hist.Hist(*(hist.axis.Regular(2, 0, 1, name=f"x{i}") for i in range(4))).fill(*[[0.1]] * 4)
    (chunk,) = object_of(made, "h").members["fBinContent"]
    assert chunk.members["fSingleCoordinateSize"] == 2


def filled(axes, storage):
    rng = np.random.default_rng(5)
    made = hist.Hist(*axes, storage=getattr(bh.storage, storage)(), name="h", label="the title")
    draws = {
        "StrCategory": lambda: rng.choice(["a", "b", "cc"], 300),
        "Integer": lambda: rng.integers(-4, 7, 300),
        "IntCategory": lambda: rng.choice([11, -13, 99], 300),
        "Boolean": lambda: rng.integers(0, 2, 300).astype(bool),
    }
    columns = [draws.get(type(axis).__name__, lambda: rng.normal(0.5, 1.5, 300))() for axis in axes]
    sample = {"sample": rng.normal(2, 1, 300)} if "Mean" in storage else {}
    weight = {} if storage in ("Int64", "Mean") else {"weight": rng.exponential(1, 300)}
    return made.fill(*columns, **weight, **sample)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
def test_a_histogram_of_hist_comes_back(axes, storage):
    made = filled(axes(), storage)
    record = as_record(made)
    assert record.name == "h"
    assert record.title == "the title"
    back = record.to_hist()
    for one, two in zip(made.axes, back.axes, strict=True):
        np.testing.assert_allclose(one.edges, two.edges, atol=1e-12)
        assert type(one) is type(two)
        if not isinstance(one, hist.axis.Regular | hist.axis.Variable):
            assert list(one) == list(two)
        assert one.traits == two.traits
    np.testing.assert_allclose(back.values(), made.values(), rtol=1e-12)
    if storage != "Double":
        np.testing.assert_allclose(back.variances(), made.variances(), rtol=1e-9)
    flow = all(axis.traits.underflow and axis.traits.overflow for axis in made.axes)
    if flow and "Mean" not in storage:
        assert np.array_equal(back.values(flow=True), made.values(flow=True))


@pytest.mark.parametrize("growth", [True, False])
def test_categories_that_there_are_none_of_yet_come_back(growth):
    made = hist.Hist(hist.axis.StrCategory([], growth=growth), hist.axis.Regular(2, 0, 1))
    if not growth:
        made.fill(["other", "other"], [0.2, 0.7])
    back = as_record(made).to_hist()
    assert list(back.axes[0]) == []
    assert np.array_equal(back.values(flow=True), made.values(flow=True)), back


def test_an_axis_is_of_categories_only_if_nothing_is_lost_by_it():
    record = as_record(hist.Hist(hist.axis.StrCategory(["a", "b"]), storage=bh.storage.Double()).fill("b"))
    for place, kind in ((0, "Regular"), (3, "StrCategory")):
        contents = np.zeros(4)
        contents[[2, place]] = 1
        record._fill({**record.members, "fArray": contents}, ())
        back = record.to_hist()
        assert type(back.axes[0]).__name__ == kind
        assert back.sum(flow=True) == 2


@pytest.mark.parametrize("limits", [(10, 0, 1), (7, -0.3, 0.1), (100, 1e5, 1e5 + 1)])
def test_bins_of_equal_width_are_written_as_such_however_their_edges_are_rounded(limits):
    record = as_record(hist.Hist(hist.axis.Regular(*limits)))
    assert len(record["fXaxis"]["fXbins"]) == 0
    assert len(as_record(hist.Hist(hist.axis.Variable([0, 1, 2.0001])))["fXaxis"]["fXbins"]) == 3


def test_classes_and_sums_are_those_of_root():
    made = filled(AXES["regular"](), "Weight")
    record = as_record(made)
    assert record.class_name == "TH1D"
    assert record.is_weighted
    centres = made.axes[0].centers
    assert record["fTsumwx"] == pytest.approx(float((made.values() * centres).sum()))
    assert record["fTsumw2"] == pytest.approx(float(made.variances().sum()))
    assert as_record(filled(AXES["two"](), "Mean")).class_name == "TProfile2D"
    assert as_record(filled(AXES["three"](), "Double")).class_name == "TH3D"


def test_a_histogram_of_numpy():
    contents, edges = np.histogram([1.0, 2.0, 2.5, 9.0], bins=[0, 2, 3])
    record = as_record((contents, edges))
    assert record.values().tolist() == contents.tolist()
    assert record.axis().edges().tolist() == [0, 2, 3]
    two = np.histogram2d([1, 2], [3, 4], bins=(2, 3))
    assert as_record(two).shape == (2, 3)


def test_dictionaries_of_objects_and_of_lists_of_objects_are_maps(tmp_path):
    made = filled(AXES["regular"](), "Double")
    held = {"all": [made, made], "names": ["a", "b"], "one": made, "more": {"text": "t", "none": []}}
    with ar.create(tmp_path / "o.root") as file:
        file["map"] = held
        file["table"] = {"x": ["a", "b"], "y": ["c", "d"]}
    with ar.open(tmp_path / "o.root") as file:
        found = file["map"]
        assert [one.values().tolist() for one in found["all"]] == [made.values().tolist()] * 2
        assert [text["fString"] for text in found["names"]] == ["a", "b"]
        assert [len(found), len(found["more"].pairs), len(found["more"]["none"])] == [4, 2, 0]
        assert file["table"].num_entries == 2
    inside = {}
    inside["x"] = [inside]
    with pytest.raises(ar.UnsupportedError, match="100 deep"), ar.create(tmp_path / "p.root") as file:
        file["circle"] = inside


def test_a_dictionary_of_what_numpy_counts_is_a_map(tmp_path):
    counted = {"pt": np.histogram([1.0, 2.0], bins=3), "two": np.histogram2d([1, 2], [3, 4], bins=(2, 3))}
    with ar.create(tmp_path / "o.root") as file:
        file["all"] = counted
        file["table"] = {"x": np.arange(3), "y": np.arange(3)}
    with ar.open(tmp_path / "o.root") as file:
        for name, (contents, *_) in counted.items():
            assert file["all"][name].values().tolist() == contents.tolist()
        assert file["table"].num_entries == 3


NO_TEXT = "\ud800"


def test_objects_directories_and_texts_that_cannot_be_are_told(tmp_path):
    with ar.create(tmp_path / "o.root") as file:
        file["a"] = "an object"
        session("objects-to-write", tmp_path, {**globals(), "file": file}, [(r" at 0x\w+", "")])
    with ar.open(tmp_path / "o.root") as file:
        assert [key.name for key in file.key_list(cycles=False) if not key.is_directory] == ["a"]


def test_text_is_a_tobjstring():
    assert object_of("hello", "t").members["fString"] == "hello"


def test_a_histogram_is_no_column(tmp_path):
    h = hist.Hist.new.Reg(2, 0, 2).Double().fill([0.5, 0.5, 1.5])
    with pytest.raises(ar.InvalidRequestError, match=r"column 'h': a histogram is no column.*file\[name\]"):
        ar.write(f"{tmp_path}/f.root:t", {"h": h, "x": [1, 2]})
    assert list(tmp_path.iterdir()) == []
