"""Histograms are filled in one pass that reads what they need, by sample and by variation."""

import subprocess
import sys

import awkward as ak
import hist
import numpy as np
import pytest

import arrowroot as ar


@pytest.fixture
def files(tmp_path):
    for i in range(3):
        lists = [[float(j + i) for j in range(k % 3)] for k in range(30)]
        ar.write(
            f"{tmp_path}/{i}.root:t", {"x": np.arange(30.0) + i, "v": ak.Array(lists), "other": np.arange(30)}
        )
    return {
        "a": {"files": [f"{tmp_path}/0.root", f"{tmp_path}/1.root"], "metadata": {"xsec": 2}},
        "b": {"files": [f"{tmp_path}/2.root"]},
    }


def test_samples_and_variations_are_axes(files):
    scan = ar.scan(files, "t")
    wanted = ar.Hist(
        (5, 0, 5), x="v", weight="x", variations={"up": {"weight": "2*x"}, "shifted": {"x": "v + 1"}}
    )
    found = scan.hist({"v": wanted}, by_sample=True)["v"]
    assert [axis.name for axis in found.axes] == ["dataset", "variation", "x"]
    whole = ar.scan(files, "t", ["v", "x"], origin="sample").to_awkward()
    for sample in ("a", "b"):
        own = whole[whole["sample"] == sample]
        weights = ak.flatten(ak.broadcast_arrays(own.x, own.v)[0])
        for variation, values, factor in (("nominal", own.v, 1), ("up", own.v, 2), ("shifted", own.v + 1, 1)):
            expected, _ = np.histogram(ak.flatten(values), np.arange(6), weights=factor * weights)
            assert found[sample, variation, :].values().tolist() == expected.tolist()


def test_one_pass_has_the_filter_and_the_entries_of_the_scan(files):
    tree = ar.open(files["a"]["files"][0])["t"]
    scan = tree.scan(filter="x > 3", entries=slice(0, 20))
    axis = hist.axis.Regular(5, 0, 30, name="mine")
    made = scan.hist(
        {"x": ar.Hist(axis, x="x"), "again": ar.Hist([0, 5, 30], x="x", cut="c")}, cuts={"c": "x < 9"}
    )
    assert made["x"].sum() == 16
    assert made["x"].axes.name == ("mine",)
    assert made["again"].values().tolist() == [1, 4]
    assert [(cut.name, cut.num_entries) for cut in made.cuts] == [("all", 16), ("c", 5)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda scan: scan.hist({"h": ar.Hist((2, 0, 1), x="x", cut="c")}),
            "there is no cut 'c'; there are none",
        ),
        (lambda scan: scan.hist([3]), "expected histograms by names"),
        (lambda scan: scan.hist({"h": ar.Hist((2, 0, 1), x="v", y="x")}), "2|1 axes for x, y"),
        (lambda scan: scan.hist({"h": ar.Hist(3, x="x")}), "an axis is \\(n, low, high\\)"),
        (
            lambda scan: scan.hist({"h": ar.Hist((2, 0, 1), x="x", cut="c")}, cuts={"c": "v > 1"}),
            "is a list for each",
        ),
        (lambda _: ar.Hist((2, 0, 1), x="x", variations={"up": {"weight": "2"}}), "variation 'up'"),
    ],
)
def test_what_is_no_histogram_is_refused(files, make, message):
    with pytest.raises(ar.InvalidRequestError, match=message):
        make(ar.scan(files, "t"))


def test_without_the_library_an_error_says_how_to_install_it(files):
    program = (
        "import sys; sys.modules['hist'] = None; import arrowroot as ar\n"
        f"try: ar.scan({files['a']['files'][0]!r}).hist({{'h': ar.Hist((2, 0, 1), x='x')}})\n"
        "except ar.MissingLibraryError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip().endswith(
        "filling histograms needs hist, which is not installed: pip install hist"
    )
