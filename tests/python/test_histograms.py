"""Histograms are filled in one pass that reads what they need, by sample and by variation."""

import subprocess
import sys
import tracemalloc

import awkward as ak
import boost_histogram
import hist
import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._expressions import numbers, orders
from arrowroot._histograms import filling


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


@pytest.mark.parametrize("options", [{}, {"batch_entries": 70}])  # which are of both samples
def test_samples_and_variations_are_axes(files, options):
    scan = ar.scan(files, "t", **options)
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


@pytest.mark.parametrize("options", [{}, {"batch_entries": 70}])
def test_the_entries_of_each_sample_that_pass_a_cut_are_filled(files, options):
    wanted = {
        "x": ar.Hist((40, 0, 40), x="x", cut="even"),
        "again": ar.Hist((4, 0, 40), x="x", cut="even"),
        "list": ar.Hist((5, 0, 5), x="v", mean="x", cut="even"),
        "item": ar.Hist((5, 0, 5), x="v[1]", weight="2", cut="even"),
        "number": ar.Hist((2, 0, 2), x="1", cut="even"),
    }
    made = ar.scan(files, "t", **options).hist(wanted, cuts={"even": "x % 2 == 0"}, by_sample=True)
    whole = ar.scan(files, "t", ["v", "x"], origin="sample").to_awkward()
    for sample in ("a", "b"):
        own = whole[(whole["sample"] == sample) & (whole.x % 2 == 0)]
        expected, _ = np.histogram(own.x.to_numpy(), np.arange(41))
        assert made["x"][sample, :].values().tolist() == expected.tolist()
        assert made["again"][sample, :].values().tolist() == expected.reshape(4, 10).sum(axis=1).tolist()
        items, of_items = (
            ak.flatten(one).to_numpy() for one in (own.v, ak.broadcast_arrays(own.x, own.v)[0])
        )
        expected, _ = np.histogram(items, np.arange(6))
        assert made["list"][sample, :].view()["count"].tolist() == expected.tolist()
        sums, _ = np.histogram(items, np.arange(6), weights=of_items)
        assert (made["list"][sample, :].values() * expected).tolist() == pytest.approx(sums.tolist())
        seconds = ak.flatten(own.v[ak.num(own.v) > 1][:, 1:2])
        expected, _ = np.histogram(seconds.to_numpy(), np.arange(6))
        assert made["item"][sample, :].values().tolist() == (2 * expected).tolist()
        assert made["number"][sample, :].values().tolist() == [0, len(own)]


@pytest.mark.parametrize("options", [{}, {"batch_entries": 70}])
def test_entries_or_items_for_which_a_condition_holds_are_filled(files, options):
    scan = ar.scan(files, "t", **options)
    wanted = {
        "entries": ar.Hist(
            (40, 0, 40), x="x", where="x % 3 == 0", cut="odd", variations={"up": {"where": "x % 5 == 0"}}
        ),
        "items": ar.Hist((5, 0, 5), x="v", where="v > 0.5", weight="x"),
        "null": ar.Hist((40, 0, 40), x="x", where="v[1] > 1"),
        "number": ar.Hist((2, 0, 2), x="1", where="0"),
    }
    made = scan.hist(wanted, cuts={"odd": "x % 2 == 1"}, by_sample=True)
    whole = ar.scan(files, "t", ["v", "x"], origin="sample").to_awkward()
    for sample in ("a", "b"):
        own = whole[whole["sample"] == sample]
        for variation, divisor in (("nominal", 3), ("up", 5)):
            chosen = own.x[(own.x % divisor == 0) & (own.x % 2 == 1)]
            expected, _ = np.histogram(chosen.to_numpy(), np.arange(41))
            assert made["entries"][sample, variation, :].values().tolist() == expected.tolist()
        weights = ak.broadcast_arrays(own.x, own.v)[0][own.v > 0.5]
        expected, _ = np.histogram(
            ak.flatten(own.v[own.v > 0.5]).to_numpy(), np.arange(6), weights=ak.flatten(weights)
        )
        assert made["items"][sample, :].values().tolist() == expected.tolist()
        seconds = ak.fill_none(ak.pad_none(own.v, 2)[:, 1], -1.0)
        expected, _ = np.histogram(own.x[seconds > 1].to_numpy(), np.arange(41))
        assert made["null"][sample, :].values().tolist() == expected.tolist()
        assert expected.sum() > 0
        assert made["number"][sample, :].values().tolist() == [0, 0]


def test_expressions_are_computed_for_entries_in_which_they_are_needed(tmp_path, monkeypatch):
    counts = []

    def exp(values):
        counts.extend([len(values)] if len(values) else [])
        return np.exp(values)

    monkeypatch.setitem(numbers._FUNCTIONS, "exp", exp)
    x, nested = np.arange(60.0), [[[float(i)] * j for j in range(i % 3)] for i in range(60)]
    ar.write(
        f"{tmp_path}/t.root:t", {"x": x, "nested": ak.Array(nested), "s": [f"{i % 4}" for i in range(60)]}
    )
    scan = ar.open(tmp_path / "t.root")["t"].scan(define={"half": "x / 2", "even": "x % 2 == 0"})
    wanted = {
        "cut": ar.Hist((60, 0, 60), x="round(log(exp(half)))", cut="high"),
        "again": ar.Hist((60, 0, 60), x="round(log(exp(half)) + half)", cut="high"),
        "where": ar.Hist((60, 0, 60), x="exp(0 * x) * x", where="even", cut="high"),
        "below": ar.Hist((60, 0, 60), x="x * exp(0 * x)", where="x < 7", weight="exp(0 * half)"),
        "above": ar.Hist((60, 0, 60), x="x * exp(0 * x)", where="x > 55", weight="exp(0 * half)"),
        "text": ar.Hist((4, 0, 4), x='s == "3" ? 3 : 0', cut="high"),
        "lists": ar.Hist((60, 0, 60), x="sum(nested)", cut="higher"),
        "mean": ar.Hist((60, 0, 60), x="x", mean="x", cut="high"),
    }
    made = scan.hist(wanted, cuts={"high": "half >= 20", "higher": "exp(0 * half) + x > 51"})
    # Half of the entries that pass the first cut are even; 11 are below or above, and have weights.
    assert sorted(counts) == [10, 11, 11, 20, 20]
    high = [0] * 40 + [1] * 20
    assert made["cut"].values().sum() == 20
    assert made["again"].values().tolist() == high
    assert made["where"].values().tolist() == [0] * 40 + [1, 0] * 10
    assert made["below"].values().tolist() == [1] * 7 + [0] * 53
    assert made["above"].values().tolist() == [0] * 56 + [1] * 4
    assert made["text"].values().tolist() == [15, 0, 0, 5]
    assert {k: n for k, n in enumerate(made["lists"].values()) if n} == {0: 6, 53: 1, 56: 1, 59: 1}
    assert made["mean"].view()["count"].tolist() == high
    assert [cut.num_entries for cut in made.cuts] == [60, 20, 9]


def test_expressions_that_are_conditions_and_values_of_each_other_are_computed(files):
    wanted = {
        "itself": ar.Hist((2, 0, 2), x="x > 5", where="x > 5", cut="high"),
        "one": ar.Hist((30, 0, 30), x="x", where="x > 5"),
        "other": ar.Hist((2, 0, 2), x="x > 5", where="x"),
        "items": ar.Hist((2, 0, 2), x="v", where="v", weight="x > 5"),
    }
    tree = ar.open(files["a"]["files"][0])["t"]
    made = tree.scan().hist(wanted, cuts={"low": "x < 20", "high": "x > 5", "again": "x < 20"})
    assert made["itself"].values().tolist() == [0, 14]
    assert made["one"].values().tolist() == [0] * 6 + [1] * 24
    assert made["other"].values().tolist() == [5, 24]
    assert made["items"].values().tolist() == [0, 8]
    assert [cut.num_entries for cut in made.cuts] == [30, 20, 14, 14]


LISTS = {
    "v": [[1.0, 5.0, 3.0], [], [2.0, 9.0], [4.0]],
    "w": [[7.0], [1.0, 2.0], [3.0, 4.0], []],
    "l": [[1, None], [], [2, None], [3]],
    "n": [0, 1, 2, 3],
    "s": ["a", "bb", "", "d"],
}


@pytest.fixture
def lists(tmp_path):
    ar.write(f"{tmp_path}/lists.root:t", pa.table(LISTS))
    return ar.open(tmp_path / "lists.root")["t"]


@pytest.mark.parametrize("narrowing", [{"cut": "c"}, {"where": "len(v) == len(w)"}])
def test_lists_that_differ_where_nothing_is_filled_are_no_error(lists, narrowing):
    wanted = {"h": ar.Hist((10, 0, 10), x="v", weight="w", **narrowing)}
    made = lists.scan().hist(wanted, cuts={"c": "len(v) == len(w)"})["h"]
    assert made.values().tolist() == [0, 0, 3, 0, 0, 0, 0, 0, 0, 4]
    with pytest.raises(ar.InvalidRequestError, match="3 and 1 items"):
        lists.scan().hist({"h": ar.Hist((10, 0, 10), x="v", weight="w")})


@pytest.mark.parametrize("x", ["first(v, 3)", "second(w, w)", "per(w, w)"])
def test_too_many_combinations_are_an_error(tmp_path, x):
    lists = {"v": pa.array([list(range(1000))]), "w": pa.array([list(range(10_001))])}
    ar.write(f"{tmp_path}/long.root:t", lists)
    scan = ar.scan(f"{tmp_path}/long.root", "t")
    with pytest.raises(ar.FilterError, match="more than 100,000,000 combinations"):
        scan.hist({"h": ar.Hist((10, 0, 10), x=x)})


def test_lists_that_are_put_together_again_and_again_are_an_error(tmp_path, monkeypatch):
    path = f"{tmp_path}/long.root:t"
    ar.write(path, {"v0": [list(range(100))]})
    monkeypatch.setattr(
        orders, "_MOST_ITEMS", 10_000
    )  # of what it is, each item takes some hundred bytes on the way
    define = {f"v{i}": f"Concatenate(v{i - 1}, v{i - 1})" for i in range(1, 9)}
    with pytest.raises(ar.FilterError, match="more than 10,000 items in a batch"):
        ar.scan(path, define=define).hist({"h": ar.Hist((10, 0, 10), x="v8")})


def test_nulls_of_entries_that_a_cut_leaves_out_are_no_error(lists):
    wanted = {"h": ar.Hist((5, 0, 5), x="sorted(l)", cut="c")}
    made = lists.scan().hist(wanted, cuts={"c": "count(is_null(l)) == 0"})["h"]
    assert made.values().tolist() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("axis", "x", "expected"),
    [
        (hist.axis.Integer(0, 3), "n", [0, 1, 1, 1, 1]),
        (hist.axis.Integer(0, 3), "n - 0.5", [1, 1, 1, 1, 0]),
        (hist.axis.IntCategory([0, 3]), "n", [1, 1, 2]),
        (hist.axis.Boolean(), "n > 0", [1, 3]),
        ((np.int64(4), 0, 4), "n", [0, 1, 1, 1, 1, 0]),
    ],
)
def test_axes_of_whole_numbers_are_filled(lists, axis, x, expected):
    assert lists.scan().hist({"h": ar.Hist(axis, x=x)})["h"].values(flow=True).tolist() == expected


@pytest.fixture
def words(tmp_path):
    texts = ["mu", "e", "", "mu", "a b", "e" * 40]
    path = f"{tmp_path}/words.root:t"
    columns = {
        "s": pa.array([*texts, None], pa.string()),
        "x": np.arange(7.0),
        "l": pa.array([[texts[j % 6] for j in range(i)] for i in range(7)]),
    }
    ar.write(path, pa.table(columns), layout="rntuple")
    return ar.open(path.removesuffix(":t"))["t"]


@pytest.mark.parametrize("options", [{}, {"batch_entries": 2}])
@pytest.mark.parametrize("weight", [None, "x + 1"])
@pytest.mark.parametrize("axis", [hist.axis.StrCategory([], growth=True), hist.axis.StrCategory(["e", "mu"])])
def test_texts_are_filled_as_hist_fills_them(words, axis, weight, options):
    made = words.scan(**options).hist(
        {
            "s": ar.Hist(axis, x="s", weight=weight),
            "l": ar.Hist(axis, x="l", weight=weight),
            "both": ar.Hist((2, 0, 7), axis, x="x", y="s", weight=weight, cut="some"),
            "twice": ar.Hist(axis, axis, x="s", y="l", weight=weight, where="x > 2"),
        },
        cuts={"some": "x > 0"},
    )
    rows = words.to_arrow().to_pylist()
    items = {
        "s": [((row["s"],), row["x"]) for row in rows if row["s"] is not None],
        "l": [((one,), row["x"]) for row in rows for one in row["l"]],
        "both": [((row["x"], row["s"]), row["x"]) for row in rows[1:] if row["s"] is not None],
        "twice": [
            ((row["s"], one), row["x"]) for row in rows[3:] if row["s"] is not None for one in row["l"]
        ],
    }
    for name, found in made.items():
        expected = found.copy().reset()
        for coordinates, x in items[name]:
            expected.fill(*coordinates, weight=1 if weight is None else x + 1)
        # Categories that come as they are met may come in another order here than there.
        assert found.project(*range(found.ndim)) == expected, name


def test_many_texts_are_filled_at_once(tmp_path, monkeypatch):
    calls = []
    fill = filling._fill
    monkeypatch.setattr(filling, "_fill", lambda *given: (calls.append(1), fill(*given)))
    path = f"{tmp_path}/many.root"
    names = [f"t{i % 900}" for i in range(2000)]
    ar.write(f"{path}:t", pa.table({"s": names, "r": names[::-1]}), layout="rntuple")
    growing = hist.axis.StrCategory(["t5"], growth=True, name="mine", label="L")
    some = hist.axis.StrCategory(["t3", "t1"])
    wanted = {"one": ar.Hist(growing, x="s"), "two": ar.Hist(growing, some, x="s", y="r")}
    made = ar.open(path)["t"].scan().hist(wanted)
    assert len(calls) == 2
    expected = hist.Hist(growing).fill(names)
    assert made["one"] == expected
    assert (made["one"].axes[0].name, made["one"].axes[0].label) == ("mine", "L")
    assert list(made["one"].axes[0]) == list(dict.fromkeys(["t5", *names]))
    assert made["two"] == hist.Hist(growing, some).fill(names, names[::-1])


def test_texts_of_a_condition_that_fails_have_no_bins(words):
    axis = hist.axis.StrCategory([], growth=True)
    made = words.scan(batch_entries=2).hist({"h": ar.Hist(axis, x="s", where="x > 3")})["h"]
    assert list(made.axes[0]) == ["a b", "e" * 40]


def test_zeros_at_the_end_of_texts_and_what_is_not_utf_8_are_kept(tmp_path):
    path = f"{tmp_path}/zeros.root"
    table = pa.table({"s": ["a\0", "a", "a\0"], "b": pa.array([b"\xff", b"\xfe", b"b"], pa.binary())})
    ar.write(f"{path}:t", table, layout="rntuple")
    axis = hist.axis.StrCategory([], growth=True)
    made = ar.open(path)["t"].scan().hist({"s": ar.Hist(axis, x="s"), "b": ar.Hist(axis, x="b")})
    assert dict(zip(made["s"].axes[0], made["s"].values(), strict=True)) == {"a\0": 2, "a": 1}
    assert dict(zip(made["b"].axes[0], made["b"].values(), strict=True)) == {"\ufffd": 2, "b": 1}


def test_an_item_has_no_copy_of_its_text(tmp_path):
    path = f"{tmp_path}/long.root"
    ar.write(f"{path}:t", pa.table({"s": [f"{i % 2}" * 20_000 for i in range(600)]}), layout="rntuple")
    scan = ar.open(path)["t"].scan()
    tracemalloc.start()
    scan.hist({"h": ar.Hist(hist.axis.StrCategory([], growth=True), x="s")})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6


def test_bins_of_texts_are_bounded(tmp_path):
    path = f"{tmp_path}/many.root"
    ar.write(f"{path}:t", pa.table({"s": [str(i) for i in range(11_000)]}), layout="rntuple")
    axis = hist.axis.StrCategory([], growth=True)
    with pytest.raises(
        ar.InvalidRequestError, match=r"hist: h: .*11,000 times 11,000 bins are more than 100"
    ):
        ar.open(path)["t"].scan().hist({"h": ar.Hist(axis, axis, x="s", y="s")})
    batch = pa.record_batch({"(s)": pa.array(range(1_000_001)).cast(pa.string())})
    started = filling.Filling({"h": ar.Hist(axis, x="s")}, None, None)
    with pytest.raises(ar.InvalidRequestError, match="h: more than 1,000,000 different texts: choose"):
        started.fill([batch], batch.schema, lambda _: ("f.root:t", None))


def test_texts_have_means_samples_and_variations(files, words):
    axis = hist.axis.StrCategory([], growth=True)
    mean = words.scan().hist({"h": ar.Hist(axis, x="s", mean="x")})["h"]
    assert dict(zip(mean.axes[0], mean.values().tolist(), strict=True))["mu"] == 1.5
    made = ar.scan(files, "t").hist(
        {"h": ar.Hist(axis, x="sample", variations={"up": {"x": "tree"}})}, by_sample=True
    )
    assert made["h"]["a", "nominal", :].values().tolist() == [60, 0, 0]
    assert made["h"]["b", "up", "t"] == 30


@pytest.mark.parametrize("axis", [boost_histogram.axis.Regular(2, 0, 30), boost_histogram.axis.Integer(0, 2)])
def test_axes_of_boost_histogram_are_filled(files, axis):
    wanted = ar.Hist(axis, x="other", weight="1", variations={"up": {"weight": "2"}})
    made = ar.scan(files, "t").hist({"h": wanted})["h"]
    assert made["up", :].values().sum() == 2 * made["nominal", :].values().sum() > 0


@pytest.mark.parametrize("value", [2**31 - 1, 2**31, 2**40, 1e10, np.inf, np.nan])
@pytest.mark.parametrize("first", [-1, 0, 2, 1 - 2**31, 2**31 - 5])
def test_numbers_far_outside_of_an_axis_of_whole_numbers_are_on_their_side(tmp_path, first, value):
    path = f"{tmp_path}/far.root:t"
    ar.write(path, {"x": [value, value, -value]})
    axis = hist.axis.Integer(first, first + 4)
    found = ar.scan(path).hist({"h": ar.Hist(axis, x="x")})["h"].values(flow=True)
    is_above = value >= first + 4
    expected = [1, 0, 0, 0, 0, 2] if is_above else [1, 0, 0, 0, 2, 0]
    if np.isnan(value):
        expected = [0, 0, 0, 0, 0, 3]
    elif -value >= first:
        expected = [0, *(1 if -value == first + n else 0 for n in range(4)), 2]
    assert found.tolist() == expected


def test_a_circular_axis_of_whole_numbers_goes_round(tmp_path):
    path = f"{tmp_path}/round.root:t"
    ar.write(path, {"x": [2**40, 2**40 + 1, -4, 7]})
    axis = hist.axis.Integer(1, 4, circular=True)
    found = ar.scan(path).hist({"h": ar.Hist(axis, x="x")})["h"].values(flow=True)
    assert found.tolist() == [2, 2, 0]


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
        (
            lambda scan: scan.hist({"h": ar.Hist((2, 0, 1), x="x", where="'a'")}),
            "h: a text is no condition",
        ),
        (
            lambda _: ar.Hist((2, 0, 1), x="x", variations={"up": {"weight": "2"}}),
            "variation 'up' changes 'weight', and the histogram has x: write weight=\"1\" for it",
        ),
        (
            lambda _: ar.Hist((2, 0, 1), x="x", variations={"nominal": {"x": "2"}}),
            "'nominal' is what is not varied",
        ),
        (lambda _: ar.Hist((2, 0, 1), x="x", weight=0.5), 'write weight="0.5"'),
        (lambda _: ar.Hist((2, 0, 1), x="x", weight=np.float64(0.5)), 'write weight="0.5"'),
        (lambda _: ar.Hist((2, 0, 1), x="x", weight=np.int8(-2)), 'write weight="-2"'),
        (lambda _: ar.Hist((2, 0, 1), x="x", weight=float("nan")), 'write weight="2\\*x"'),
        (lambda _: ar.Hist((2, 0, 1), x="x", weight=10**400), 'write weight="2\\*x"'),
        (lambda scan: scan.hist({"h": ar.Hist((2, 0, 1), x="'a'")}), "h: x is a text, and histograms"),
        (
            lambda scan: scan.hist({"h": ar.Hist((2, 0, 1), x="x")}, cuts={"c": "'a'"}),
            "cut 'c': a text is no condition",
        ),
        (
            lambda scan: scan.hist({"h": ar.Hist(hist.axis.StrCategory(["a"]), x="x")}),
            "h: x is no text, and its axis is of texts",
        ),
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


@pytest.mark.parametrize("options", [{}, {"filter": "n > 0"}, {"entries": slice(1, None)}])
@pytest.mark.parametrize("more", [{}, {"where": "n > 0"}, {"cut": "c"}])
def test_lists_that_differ_are_told_with_their_file_tree_and_entry(tmp_path, options, more):
    for name in ("a", "b"):
        rows = {"v": [[1, 2], [3], [4]], "w": [[1, 2], [3], [4] * (1 + (name == "b"))], "n": [0, 1, 2]}
        ar.write(f"{tmp_path}/{name}.root:d/t", {k: ak.Array(of) for k, of in rows.items()})
    scan = ar.scan({"s": [f"{tmp_path}/a.root", f"{tmp_path}/b.root"]}, "d/t", **options)
    wanted = ar.Hist((2, 0, 1), (2, 0, 1), x="v", y="w", **more)
    for by_sample in (False, True):
        with pytest.raises(
            ar.InvalidRequestError, match=r"/b\.root:d/t: hist: h: .* 1 and 2 items, in entry 2$"
        ):
            scan.hist({"h": wanted}, cuts={"c": "n > 0"}, by_sample=by_sample)


def test_values_that_are_no_numbers_are_refused_before_anything_is_read(tmp_path):
    ar.write(f"{tmp_path}/a.root:t", {"s": ["a", "b"], "x": [1, 2]})
    scan = ar.open(f"{tmp_path}/a.root")["t"].scan(trace=True)
    for wanted, message in (
        (ar.Hist((2, 0, 1), x="s"), "h: x is a text"),
        (ar.Hist((2, 0, 1), x="x", weight="s"), "h: weight is a text"),
        (ar.Hist((2, 0, 1), x="x", where="s"), "h: a text is no condition"),
    ):
        with pytest.raises(ar.InvalidRequestError, match=rf"a\.root:t: hist: {message}"):
            scan.hist({"h": wanted})


def test_axes_of_one_name_are_told(files):
    axis = hist.axis.Regular(2, 0, 1, name="variation"), hist.axis.Regular(2, 0, 1, name="dataset")
    varied = ar.Hist(axis[0], x="x", variations={"u": {"x": "2*x"}})
    for wanted, name in (
        (varied, "variation"),
        (ar.Hist(axis[1], x="x"), "dataset"),
        (ar.Hist(axis[1], axis[1], x="x", y="x"), "dataset"),
        (ar.Hist((2, 0, 1), hist.axis.Regular(2, 0, 1, name="x"), x="x", y="x"), "x"),
    ):
        with pytest.raises(ar.InvalidRequestError, match=f"hist: h: two axes are called '{name}': give"):
            ar.scan(files, "t").hist({"h": wanted}, by_sample=True)


def test_what_is_computed_of_some_entries_is_as_of_all(tmp_path):
    """Rows in rows: columns with the same lists, other lists, single values and texts, by cuts and conditions."""
    rng = np.random.default_rng(5)
    n = 400
    counts = rng.integers(0, 5, n)
    lists = {name: ak.unflatten(rng.normal(size=counts.sum()), counts) for name in ("a", "b")}
    columns = {
        **lists,
        "c": [[1.0] * (i % 3) for i in range(n)],
        "x": np.arange(n),
        "t": [str(i % 7) for i in range(n)],
    }
    ar.write(f"{tmp_path}/a.root:t", columns)
    define = {
        "s": "Sum(DeltaR(a, b, b, a)) + Sum(c)",
        "m": "t == '3' ? InvariantMass(a, b, a, b) : max(a + b)",
        "p": "DeltaPhi(9 * a, b)[0] + x",
    }
    cuts = {"one": "x % 2 == 0", "two": "len(a) > 1", "three": "s > 1"}
    scan = ar.open(f"{tmp_path}/a.root")["t"].scan(define=define)
    wanted = {
        name: ar.Hist((20, -50, 450), x=name, weight="x + 1", cut="three", where="x % 3 == 0")
        for name in define
    }
    made = scan.hist(wanted, cuts=cuts)
    read = ar.open(f"{tmp_path}/a.root")["t"].to_arrow(["x", "a", *define], define=define).to_pylist()
    kept = [one for one in read if one["x"] % 6 == 0 and len(one["a"]) > 1 and one["s"] > 1]
    assert len(kept) > 10
    for name in define:
        values = [one[name] for one in kept if one[name] is not None]
        weights = [one["x"] + 1 for one in kept if one[name] is not None]
        expected, _ = np.histogram(values, 20, (-50, 450), weights=weights)
        assert made[name].values().tolist() == pytest.approx(expected.tolist())


def test_columns_with_the_same_lists_are_narrowed_by_the_same_indices(tmp_path, monkeypatch):
    from arrowroot._expressions import lists

    counts = np.arange(300) % 4
    columns = {
        name: ak.unflatten(np.arange(counts.sum()) * factor, counts)
        for name, factor in zip("abcd", range(4), strict=True)
    }
    ar.write(f"{tmp_path}/a.root:t", {"x": np.arange(300), **columns})
    taken = []
    taken_lists = lists.taken_lists

    def count(level, chosen):
        taken.append(len(chosen))
        return taken_lists(level, chosen)

    monkeypatch.setattr(lists, "taken_lists", count)
    scan = ar.open(f"{tmp_path}/a.root")["t"].scan()
    wanted = {"h": ar.Hist((4, 0, 1e6), x="sum(a * b + c * d)", cut="some")}
    made = scan.hist(wanted, cuts={"some": "x >= 200 && sum(a) >= 0 && sum(b + c + d) >= 0"})
    assert made["h"].sum(flow=True) == 100
    assert taken == [100]
