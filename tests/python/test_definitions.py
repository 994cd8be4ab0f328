"""Columns that are computed: their values, names and order, and that only what they need is read."""

import math
import warnings

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._expressions import numbers, physics

N = 200


def in_lists(function):
    return [[function(i, j) for j in range(i % 4)] for i in range(N)]


def rounded(value):
    """Return numbers, in lists too, without what the order of additions changes."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return value if value is None else round(value, 9)


COLUMNS = {
    "n": np.arange(N, dtype=np.int32),
    "met": np.arange(N, dtype=np.float32) / 4,
    "pt": in_lists(lambda i, j: 10.0 + (i * 7 + j * 5) % 11),
    "eta": in_lists(lambda i, j: ((i + 3 * j) % 13 - 6) / 3),
    "phi": in_lists(lambda i, j: ((i * 5 + j) % 17 - 8) / 2.7),
    "q": in_lists(lambda i, j: (-1) ** (i + j)),
    "jet": [[1.5 * j - i % 3 for j in range(i % 3)] for i in range(N)],
    "s": [f"e{i % 5}" for i in range(N)],
}


@pytest.fixture(scope="module", params=["ttree", "rntuple"])
def tree(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("definitions") / f"{request.param}.root"
    kept = {name: column for name, column in COLUMNS.items() if name != "jet"}
    with ar.create(path) as new:
        aliases = {"aliases": {"pt2": "pt*pt", "twice": "2*pt2"}} if request.param == "ttree" else {}
        table = new.tree("t", layout=request.param, flush=50, **aliases)
        table.append({**kept, "jet": ak.Array(COLUMNS["jet"])})
    return ar.open(path)["t"]


@pytest.fixture(scope="module")
def events():
    return ak.Array({name: ak.Array(column) for name, column in COLUMNS.items()})


def test_definitions_are_columns_that_others_and_filters_use(tree, events):
    define = {"m2": "2 * met", "m3": "m2 + n", "big": "pt[pt > m2]"}
    found = tree.to_awkward(["m3", "big", "n"], define=define, filter="m3 > 20 and n < 100")
    kept = events[(2 * events.met + events.n > 20) & (events.n < 100)]
    assert found.fields == ["m3", "big", "n"]
    assert found.m3.tolist() == (2.0 * kept.met + kept.n).tolist()
    assert found.big.tolist() == kept.pt[kept.pt > 2 * kept.met].tolist()
    assert (
        tree.entries_where("m3 > 20", define=define).tolist()
        == np.flatnonzero(2 * events.met + events.n > 20).tolist()
    )


def test_a_definition_may_have_the_name_of_a_column_which_it_computes_with(tree, events):
    define = {"before": "n + 1", "n": "10 * n", "behind": "n + 1", "pt": "pt[pt > 12]"}
    everything = tree.to_awkward(define=define)
    assert everything.fields == [*tree.column_names, "before", "behind"]
    assert everything.n.tolist() == (10 * events.n).tolist()
    assert everything.before.tolist() == (events.n + 1).tolist()
    assert everything.behind.tolist() == (10 * events.n + 1).tolist()
    assert everything.pt.tolist() == events.pt[events.pt > 12].tolist()
    scan = tree.scan(["n", "n + 1"], define=define, filter="n >= 1900", trace=True)
    assert scan.to_arrow().to_pydict() == {
        "n": list(range(1900, 2000, 10)),
        "n + 1": list(range(1901, 2001, 10)),
    }
    assert {read.column for read in scan.logical_reads()} == {"n"}
    assert tree.scan(["p*", "!n"], define=define).column_names == ["pt", "phi"]


def test_a_definition_gives_what_a_file_lacks_a_default(tmp_path):
    ar.write(f"{tmp_path}/a.root:t", {"x": np.arange(3), "y": np.arange(3)})
    ar.write(f"{tmp_path}/b.root:t", {"y": np.arange(2)})
    files = [tmp_path / "a.root", tmp_path / "b.root"]
    scan = ar.scan(files, "t", ["x"], define={"x": "coalesce(x, -1)"}, filter="x != 1", missing="null")
    assert scan.to_arrow()["x"].to_pylist() == [0, 2, -1, -1]


def test_a_list_that_is_null_has_another_one_instead(tmp_path):
    rows = {"v": [[1, 2], [3]], "w": [[7], [8, 9]]}
    ar.write(f"{tmp_path}/a.root:t", {name: ak.Array(lists) for name, lists in rows.items()})
    ar.write(f"{tmp_path}/b.root:t", {"w": ak.Array([np.zeros(0, int), [4, 5]])})
    files = [tmp_path / "a.root", tmp_path / "b.root"]

    def found(text):
        return ar.scan(files, "t", ["x"], define={"x": text}, missing="null").to_arrow()["x"].to_pylist()

    assert found("coalesce(v, w)") == [[1, 2], [3], [], [4, 5]]
    assert found("coalesce(v, v)") == [[1, 2], [3], None, None]
    assert found("coalesce(v, Take(v, 1))") == [[1, 2], [3], None, None]
    assert found("coalesce(w, v)") == [[7], [8, 9], [], [4, 5]]
    assert found("coalesce(v, 0.5 * w)") == [[1, 2], [3], [], [2, 2.5]]
    assert found("coalesce(w[v - 1], w)") == [[7, None], [8], [], [4, 5]]
    assert found("coalesce(sum(v), 0)") == [3, 3, 0, 0]
    with pytest.raises(ar.FilterError, match=r"write coalesce\(v, w\) with another list"):
        found("coalesce(v, 0)")


def test_what_is_written_of_a_column_is_its_definition(tmp_path):
    ar.write(f"{tmp_path}/a.root:t", {"x": np.arange(3, dtype=np.int32), "y": np.arange(3)})
    ar.skim(tmp_path / "a.root", tmp_path / "b.root", define={"x": "x / 2"}, filter="x < 1")
    assert ar.open(tmp_path / "b.root")["t"].to_arrow().to_pydict() == {"x": [0.0, 0.5], "y": [0, 1]}


def test_without_columns_all_are_delivered_and_the_definitions_behind_them(tree):
    names = tree.scan(define={"a": "n + 1", "b": "a * 2"}).column_names
    assert names == [*tree.column_names, "a", "b"]
    define = {"a": "n + 1", "ab": "1"}
    assert tree.scan(["!pt", "!a"], define=define).column_names == [
        *(n for n in tree.column_names if n != "pt"),
        "ab",
    ]
    assert tree.scan(["ab", "a*", "n"], define=define).column_names == ["ab", "a", "n"]
    assert tree.scan(filter_name="[ap]*", define=define).column_names == ["pt", "phi", "a", "ab"]


def test_what_is_left_out_is_left_out_of_columns_and_definitions(tmp_path):
    ar.write(f"{tmp_path}/a.root:t", {"x": np.arange(2), "y": np.arange(2), "n_pt": np.arange(2)})
    tree = ar.open(tmp_path / "a.root")["t"]

    def names(*columns, **define):
        return tree.scan(list(columns), define=define).column_names

    assert names("!x", x="10 * x") == ["y", "n_pt"]
    assert names("*", "!x", x="10 * x") == ["y", "n_pt"]
    assert names("y", "a", "!a", a="2 * y") == ["y"]
    assert names("y", "a", "x + 1", "!a", a="2 * y") == ["y", "x + 1"]
    assert names("!*_pt", m_pt="1", a="2") == ["x", "y", "a"]
    assert names("!m_*", m_pt="1", a="2") == ["x", "y", "n_pt", "a"]
    assert names("a*", "!*b", a="1", ab="2") == ["a"]
    assert names("!x", "!y", "!n_pt", a="1") == ["a"]
    assert names("a", "x", "!x", a="1") == ["a"]
    assert tree.to_arrow(["!y"], define={"x": "10 * x"})["x"].to_pylist() == [0, 10]
    for columns in (["x", "!x"], ["a", "!a"], ["!x", "!y", "!n_pt", "!a"]):
        with pytest.raises(ar.InvalidRequestError, match="leaves no column"):
            names(*columns, a="1")
    for columns in (["a", "!b"], ["x", "!b"], ["!b"]):
        with pytest.raises(ar.NoSuchColumnError, match="no branch 'b'"):
            names(*columns, a="1")


def test_an_expression_is_told_from_a_glob(tree):
    assert tree.scan(["p*", "pt*eta", "(n + 1)", "pt[0]", "n"]).column_names == [
        "pt",
        "phi",
        "pt*eta",
        "(n + 1)",
        "pt[0]",
        "n",
    ]
    assert tree.to_arrow("pt[0]", entries=slice(0, 2))["pt[0]"].to_pylist() == [None, 17.0]
    with pytest.raises(ar.NoSuchColumnError, match=r"no branch matches 'Jet_\*'"):
        tree.scan(["Jet_*"])
    with pytest.raises(ar.NoSuchColumnError, match="no branch 'ptt'; did you mean 'pt'"):
        tree.scan(["2 * ptt + n"])
    with pytest.raises(ar.FilterError, match="where the expression ends"):
        tree.scan(["n +"])


def test_only_the_columns_that_are_needed_are_read(tree):
    define = {"double": "2 * pt", "other": "eta + phi", "half": "met / 2"}
    scan = tree.scan(["double"], define=define, filter="half > 3 && n < 60", trace=True)
    scan.drain()
    assert {read.column for read in scan.logical_reads()} >= {"pt", "met", "n"}
    assert not {read.column for read in scan.logical_reads()} & {"eta", "phi", "q", "s", "jet"}
    plain = tree.scan(["pt"], filter="met / 2 > 3 && n < 60")
    plain.drain()
    assert scan.stats.read_bytes == plain.stats.read_bytes


def test_aliases_of_a_tree_are_columns(tree, events):
    if not tree.aliases:
        return
    assert tree.to_awkward(["twice"])["twice"].tolist() == (2 * events.pt**2).tolist()
    assert (
        tree.entries_where("sum(pt2) > 500").tolist()
        == np.flatnonzero(ak.sum(events.pt**2, axis=1) > 500).tolist()
    )
    assert tree.scan(["n", "pt2"]).column_names == ["n", "pt2"]


def test_functions_of_lists_are_those_of_awkward(tree, events):
    pairs, both = ak.combinations(events.pt, 2), ak.cartesian([events.pt, events.jet])
    triples = ak.combinations(ak.concatenate([events.pt, events.eta], axis=1), 3)
    nested = ak.cartesian([events.pt, events.jet], nested=True)
    order = ak.argsort(events.eta, axis=1, stable=True)
    for text, expected in {
        "argmax(pt)": ak.argmax(events.pt, axis=1),
        "eta[argmin(phi)]": ak.firsts(events.eta[ak.argmin(events.phi, axis=1, keepdims=True)]),
        "sorted(eta)": ak.sort(events.eta, axis=1),
        "pt[argsort(eta)]": events.pt[order],
        "reversed(pt)": events.pt[:, ::-1],
        "Take(pt, 2)": events.pt[:, :2],
        "Take(pt, -2)": events.pt[:, -2:],
        "Take(pt, n % 3)": events.pt[ak.local_index(events.pt) < events.n % 3],
        "Take(pt, argsort(eta))": events.pt[order],
        "Concatenate(pt, jet)": ak.concatenate([events.pt, events.jet], axis=1),
        "Concatenate(q, jet > 0)": ak.concatenate([events.q, ak.values_astype(events.jet > 0, int)], axis=1),
        "first(pt) + 2 * second(pt)": pairs["0"] + 2 * pairs["1"],
        "first(pt, jet) - second(pt, jet)": both["0"] - both["1"],
        "first(pt, 2) - second(pt, 2)": pairs["0"] - pairs["1"],
        "first(Concatenate(pt, eta), 3)": triples["0"],
        "second(Concatenate(pt, eta), 3) - third(Concatenate(pt, eta))": triples["1"] - triples["2"],
        "pt - per(pt, jet)": nested["0"] - nested["1"],
        "any(per(pt, jet) > 0.2 * pt)": ak.any(nested["1"] > 0.2 * nested["0"], axis=-1),
        "mean(pt)": ak.nan_to_none(ak.mean(events.pt, axis=1)),
        "prod(eta)": ak.prod(events.eta, axis=1),
        "pt * (Iteration$ == 1)": events.pt * (ak.local_index(events.pt) == 1),
        "pt[Iteration$ < 2]": events.pt[:, :2],
        "n + Iteration$ * eta[q > 0]": events.n
        + ak.local_index(events.eta[events.q > 0]) * events.eta[events.q > 0],
        "Sum$(Iteration$ * first(pt))": ak.sum(ak.local_index(pairs["0"]) * pairs["0"], axis=1),
        "Sum$(Iteration$ * jet) + Iteration$ * pt": ak.sum(ak.local_index(events.jet) * events.jet, axis=1)
        + ak.local_index(events.pt) * events.pt,
        "Sum$(max(per(jet, Iteration$ * pt)))": ak.num(events.jet)
        * ak.fill_none(ak.max(ak.local_index(events.pt) * events.pt, axis=1), 0.0),
        "n + Iteration$": events.n,
        "MaxIf$(pt, eta > 0)": ak.fill_none(ak.max(events.pt[events.eta > 0], axis=1), 0.0),
        "MinIf$(pt, Iteration$ > 0)": ak.fill_none(ak.min(events.pt[:, 1:], axis=1), 0.0),
        "MinIf$(pt, n > 9)": ak.where(events.n > 9, ak.fill_none(ak.min(events.pt, axis=1), 0.0), 0.0),
        "MaxIf$(pt - jet[0], n % 2)": ak.where(
            events.n % 2, ak.fill_none(ak.max(events.pt - ak.firsts(events.jet), axis=1), 0.0), 0.0
        ),
        "MaxIf$(pt, q)": ak.fill_none(ak.max(events.pt, axis=1), 0.0),
        "pt[-1]": ak.firsts(events.pt[:, ::-1]),
        "Alt$(pt[2], -1)": ak.fill_none(ak.pad_none(events.pt, 3)[:, 2], -1.0),
        "is_null(pt[1])": ak.num(events.pt) < 2,
        "q > 0 ? pt : eta": ak.where(events.q > 0, events.pt, events.eta),
        "Sum(pt) + Max(eta) + Min(phi)": ak.sum(events.pt, axis=1)
        + ak.max(events.eta, axis=1)
        + ak.min(events.phi, axis=1),
        "Any(q < 0) && All(pt > 10)": ak.any(events.q < 0, axis=1) & ak.all(events.pt > 10, axis=1),
        "pt.size() + @jet.size()": ak.num(events.pt) + ak.num(events.jet),
    }.items():
        found = tree.to_awkward(["x"], define={"x": text}).x
        assert rounded(found.tolist()) == rounded(expected.tolist()), text


SMALL = pa.table(
    {
        "x": [1.5, -0.5, 0.5, 2.5],
        "i": pa.array([0, 1, -2, 3], pa.int32()),
        "u8": pa.array([2, 1, 0, 255], pa.uint8()),
        "u16": pa.array([2, 1, 0, 2**16 - 1], pa.uint16()),
        "u32": pa.array([2, 1, 0, 2**32 - 1], pa.uint32()),
        "u64": pa.array([2, 2**63, 0, 2**64 - 1], pa.uint64()),
        "b": [True, False, True, False],
        "v": [[1.0, 5.0, 3.0], [], [2.0, 9.0], [4.0]],
        "k": pa.array([[2, 0, 1], [], [1, 0], [0]], pa.list_(pa.int32())),
    }
)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return the values of an expression in a small tree."""
    path = tmp_path_factory.mktemp("small") / "small.root"
    ar.write(f"{path}:t", SMALL)
    tree = ar.open(path)["t"]
    return lambda text: tree.to_arrow(["found"], define={"found": text})["found"]


def test_an_index_may_be_unsigned(small):
    for bits in (8, 16, 32, 64):
        assert small(f"v[u{bits}]").to_pylist() == [3, None, 2, None]


def test_choices_between_integers_do_not_wrap(small):
    u64 = SMALL["u64"].to_pylist()
    for text, expected in {
        "b ? u8 : u64": [2, 2**63, 0, 2**64 - 1],
        "b ? u64 : b": [2, 0, 0, 0],
        "coalesce(u64, u32)": u64,
        "Alt$(v[0] > 1 ? u64 : u8, u16)": [2, 1, 0, 2**64 - 1],
        "b ? u32 : i": [2, 1, 0, 3],
        "i % 2 == 0 ? u64 : i": [2, 1, 0, 3],
        "b ? i : u32": [0, 1, -2, 2**32 - 1],
    }.items():
        found = small(text)
        assert found.to_pylist() == expected, text
        assert found.type == (pa.uint64() if "u64" in text and "i" not in text else pa.int64()), text
    with pytest.raises(ar.FilterError, match="an integer does not fit into int64"):
        small("b ? i : u64")


def test_a_half_is_rounded_as_in_c(small):
    for text, expected in {
        "std::round(x)": [2, -1, 1, 3],
        "TMath::Nint(x)": [2, 0, 0, 2],
        "1 / round(x - 0.75)": [1, -1, -math.inf, 0.5],
        "round(0.49999999999999994 + 0 * x)": [0] * 4,
        "round(x / 0)": [math.inf, -math.inf, math.inf, math.inf],
    }.items():
        assert small(text).to_pylist() == expected, text
    assert np.isnan(small("round(sqrt(-1 - x * x))")).all()


def test_items_of_which_none_is_missing_have_an_order(small):
    for text, expected in {
        "argmax(Take(v, k))": [2, None, 0, 0],
        "argmin(v[k])": [1, None, 1, 0],
        "sorted(v[k])": [[1, 3, 5], [], [2, 9], [4]],
        "argsort(v[k])": [[1, 0, 2], [], [1, 0], [0]],
        "sorted(Concatenate(v, Take(v, k)))": [[1, 1, 3, 3, 5, 5], [], [2, 2, 9, 9], [4, 4]],
        "sorted(per(v, k)[0])": [[0, 1, 2], None, [0, 1], [0]],
    }.items():
        assert small(text).to_pylist() == expected, text
    with pytest.raises(ar.FilterError, match="a list with nulls in it"):
        small("sorted(v[k + 1])")


@pytest.fixture
def n_computed(monkeypatch):
    """How many values were computed by exp, and how many momenta, each time."""
    counts = {"exp": [], "momentum": []}

    def exp(values):
        counts["exp"] += [len(values)] if len(values) else []  # types are found of none
        return np.exp(values)

    def momentum(*parts):
        counts["momentum"] += [len(parts[0])] if len(parts[0]) else []
        return _momentum(*parts)

    _momentum = physics._momentum
    monkeypatch.setitem(numbers._FUNCTIONS, "exp", exp)
    monkeypatch.setattr(physics, "_momentum", momentum)
    return counts


def test_what_expressions_share_is_computed_once(tree, events, n_computed):
    define = {"a": "exp(0.1 * n) + 1", "b": "exp(0.1*n)", "c": "exp(0.1 * n) * pt"}
    found = tree.to_awkward(["a", "b", "c", "2 * exp(0.1 * n)"], define=define)
    assert n_computed["exp"] == [N]
    expected = np.exp(0.1 * events.n)
    assert found.a.tolist() == (expected + 1).tolist()
    assert found.b.tolist() == expected.tolist()
    assert found.c.tolist() == (expected * events.pt).tolist()
    assert found["2 * exp(0.1 * n)"].tolist() == (2 * expected).tolist()
    # Numbers that are equal are not the same.
    kinds = tree.to_arrow([f"({number} + n) * {k}" for number in ("1", "1.0") for k in (2, 3)]).schema.types
    assert kinds == [pa.int64(), pa.int64(), pa.float64(), pa.float64()]


def test_momenta_of_pairs_are_taken_from_those_of_single_particles(tree, events, n_computed):
    parts = "pt, eta, phi, 0.1"
    one, other = (
        ", ".join(f"{place}({part})" for part in ("pt", "eta", "phi")) + ", 0.1"
        for place in ("first", "second")
    )
    define = {"mass": f"InvariantMasses({one}, {other})", "whole": f"InvariantMass({parts})"}
    found = tree.to_awkward(["mass", "whole"], define=define, filter="pt.size() == 2")
    assert n_computed["momentum"] == [len(found) * 2]
    assert rounded(found.mass[:, 0].tolist()) == rounded(found.whole.tolist())
    # Items of different places in their pairs are not of the same particles.
    mixed = one.replace("first(phi)", "second(phi)")
    n_computed["momentum"].clear()
    found = tree.to_awkward(
        ["m"], define={"m": f"InvariantMasses({mixed}, {other})"}, filter="pt.size() == 2"
    )
    assert len(n_computed["momentum"]) == 2
    pairs = [ak.combinations(events[part][ak.num(events.pt) == 2], 2) for part in ("pt", "eta")]
    e = [np.sqrt((pair[k] * np.cosh(eta[k])) ** 2 + 0.01) for pair, eta in [pairs] for k in ("0", "1")]
    z = [pair[k] * np.sinh(eta[k]) for pair, eta in [pairs] for k in ("0", "1")]
    pt = pairs[0]["0"] + pairs[0]["1"]  # both have the angle of the second
    expected = np.sqrt((e[0] + e[1]) ** 2 - (z[0] + z[1]) ** 2 - pt**2)
    assert found.m[:, 0].tolist() == pytest.approx(expected[:, 0].tolist(), abs=1e-6)


PLAIN = {
    "n % 3 == 1 ? n : -n": lambda r: r["n"] if r["n"] % 3 == 1 else -r["n"],
    "n ** 2 ** 0.5": lambda r: r["n"] ** 2**0.5,
    "-n ** 2": lambda r: -float(r["n"] ** 2),
    "n << 2 | 1": lambda r: r["n"] << 2 | 1,
    "n >> 1 & 3": lambda r: r["n"] >> 1 & 3,
    "~n": lambda r: ~r["n"],
    "~(n > 3)": lambda r: not r["n"] > 3,
    "xor(n, 5)": lambda r: r["n"] ^ 5,
    "n in (1, 2, 3) or n not in [5, 7]": lambda r: r["n"] in (1, 2, 3) or r["n"] not in (5, 7),
    "not (n > 3) and True": lambda r: not r["n"] > 3,
    "int(met) + rint(met)": lambda r: int(r["met"]) + round(r["met"]),
    "round(met) - round(-met)": lambda r: 2 * math.floor(r["met"] + 0.5),
    "TMath::Sqrt(n) * TMath::Pi()": lambda r: math.sqrt(r["n"]) * math.pi,
    "TMath::Power(n, 2) + std::abs(n - 5)": lambda r: r["n"] ** 2 + abs(r["n"] - 5),
    "TMath::Max(n, 9) - TMath::Odd(n)": lambda r: max(r["n"], 9) - r["n"] % 2,
    "Entry$ * 2 + rdfentry_": lambda r: 3 * r["n"],
    "s": lambda r: r["s"],
    's == "e1" ? "one" : s': lambda r: "one" if r["s"] == "e1" else r["s"],
    "7": lambda _: 7,
}


@pytest.mark.parametrize("text", PLAIN)
def test_an_expression_is_what_it_says_entry_by_entry(tree, text):
    found = tree.to_arrow(["x"], define={"x": text}, entries=slice(3, 90))["x"].to_pylist()
    rows = tree.to_arrow(["n", "met", "s"], entries=slice(3, 90)).to_pylist()
    expected = [PLAIN[text](row) for row in rows]
    assert found == (expected if isinstance(expected[0], str) else pytest.approx(expected))
    assert len(found) == 87


def test_numbers_of_entries_are_those_that_are_delivered(tree):
    chosen = tree.to_arrow(
        ["e", "n"], define={"e": "Entry$"}, filter="n % 7 == 2 && Entry$ > 20", entries=slice(10, 150)
    )
    assert chosen["e"].to_pylist() == chosen["n"].to_pylist() == [n for n in range(21, 150) if n % 7 == 2]
    for name in ("Entry$", "rdfentry_"):
        assert tree.to_arrow([name, "n"], filter="n > 197")[name].to_pylist() == [198, 199]
    picked = tree.to_arrow(["e", "n"], define={"e": "Entry$"}, entries=[7, 3, 3, 190])
    assert picked["e"].to_pylist() == picked["n"].to_pylist() == [7, 3, 3, 190]


@pytest.mark.parametrize(
    ("define", "message"),
    [
        ({"2x": "met"}, "a name as of a variable"),
        ({"and": "met"}, "a name as of a variable"),
        ({"a": 3}, "an expression in text, got 3: write {'a': \"3\"}"),
        ({"a": "b + 1", "b": "n"}, "no branch 'b': it is defined behind this"),
        ({"a": "a + 1", "b": "n"}, "no branch 'a'; (did|there)"),
        (["a"], "expected expressions by names"),
        ({"a": "n == null"}, r"no branch 'null': write is_null\(x\)"),
        ({"a": "n is not null"}, r"write !is_null\(x\)"),
        ({"a": "s + 1"}, "define: a: .* is of numbers, not of text"),
        ({"a": "not n == 1"}, "write parentheses"),
        ({"a": "n ^ 2"}, "write x \\*\\* n, or xor"),
        ({"a": "n & 1 == 1"}, 'binds less than a comparison in C, and more in Python: write "&&"'),
        ({"a": "first(n)"}, "is of lists"),
        ({"a": "first(pt, 4)"}, "combinations of 2 or 3 items of a list, or of two lists"),
        ({"a": "per(pt, 3)"}, "per\\(\\) is of lists"),
        ({"a": "Concatenate(pt, n)"}, "concatenate\\(\\) is of lists of values"),
        ({"a": "Concatenate(pt, s)"}, "is of lists of values"),
        ({"a": "Take(pt, 1.5)"}, "an integer or a list of indices"),
        ({"a": "Take(n, 1)"}, "take\\(\\) is of a list"),
        ({"a": "DeltaR(eta, phi)"}, "takes 4, not 2"),
        ({"a": "n << 70"}, "a shift is by 0 to 63 bits"),
        ({"a": "MinIf$(n, pt > 1)"}, "is no list: each entry has one value"),
        (
            {"a": f"{'-' * 60}Iteration$ + pt[{'-' * 60}n]"},
            "inside each other",
        ),
    ],
)
def test_what_is_no_definition_is_refused_before_anything_is_read(tree, define, message):
    with pytest.raises((ar.InvalidRequestError, ar.NoSuchColumnError), match=message):
        tree.scan(define=define)


def test_definitions_hold_for_files_in_a_row_and_columns_of_origin(tmp_path):
    for i in range(3):
        ar.write(f"{tmp_path}/{i}.root:t", {"x": np.arange(4) + 10 * i})
    files = {"a": [tmp_path / "0.root", tmp_path / "1.root"], "b": [tmp_path / "2.root"]}
    scan = ar.scan(
        files, "t", ["y"], define={"y": "x + 1", "e": "Entry$"}, filter="y > 3 && e != 6", origin="sample"
    )
    assert scan.to_arrow().to_pylist() == [
        {"y": y, "sample": sample}
        for sample, y in [("a", 4), ("a", 11), ("a", 12), ("a", 14), *(("b", y) for y in range(21, 25))]
    ]
    assert scan.schema.names == ["y", "sample"]


def test_columns_of_friends_and_definitions_go_together(tmp_path):
    ar.write(f"{tmp_path}/a.root:t", {"x": np.arange(4)})
    ar.write(f"{tmp_path}/b.root:w", {"x": np.arange(4) * 10, "z": np.arange(4) * 100})
    scan = ar.scan(
        tmp_path / "a.root",
        "t",
        ["s", "f.x"],
        friends={"f": tmp_path / "b.root"},
        define={"s": "x + f.x + z"},
    )
    assert scan.to_arrow().to_pylist() == [{"s": 111 * i, "f.x": 10 * i} for i in range(4)]


def test_a_warning_says_once_where_draw_would_not_select(tree):
    with pytest.warns(ar.DrawDiffersWarning, match="TTree::Draw selects none") as told:
        tree.scan("n", filter="pt.size() == 0 || pt[0] > 12", batch_size="64 kB").drain()
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (
            "pt[0] > 12",
            "!(pt[0] > 12)",
            "pt.size() > 0 && pt[0] > 12",
            "is_null(pt[2]) || n > 3",
            "Alt$(pt[0], 20) > 12",
        ):
            tree.to_arrow("n", filter=text)
    # Draw looks at both sides of a choice, and selects nothing where an item of one is missing.
    with pytest.warns(ar.DrawDiffersWarning, match="TTree::Draw selects none"):
        tree.to_arrow("n", filter="n % 2 ? pt[0] > 12 : n >= 0")


@pytest.mark.parametrize("forgiving", ["coalesce(b, 0)", "is_null(b) ? 0 : 1"])
def test_what_a_definition_lacks_may_be_forgiven_where_it_is_used(tree, forgiving):
    """Definitions that others use are computed before these."""
    define = {"a": "pt[1]", "b": "a + 1", "c": forgiving}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.to_arrow("n", define=define, filter="c < 100")
    # What is forgiven in one place is not in another.
    with pytest.warns(ar.DrawDiffersWarning, match="TTree::Draw selects none"):
        tree.to_arrow("n", define=define, filter="c < 100 && (n >= 0 || b < 0)")


def test_what_has_a_value_for_each_entry_is_not_nullable(tree):
    define = {
        "a": "n * 2 + sqrt(met)",
        "b": "a > 3 ? sum(pt) : len(eta)",
        "c": "pt[pt > 20]",
        "d": "pt[0]",
        "e": "d + 1",
        "f": "max(pt)",
        "g": "n % 2",
        "h": "n in (1, 2, 3) and not (s == 'e1')",
        "i": "sorted(pt * 2)",
        "j": "pt[argsort(pt)]",
    }
    schema = tree.scan(list(define), define=define).schema
    assert {name for name in define if not schema.field(name).nullable} == {"a", "b", "c", "h", "i"}
    assert not schema.field("c").type.value_field.nullable
    assert not schema.field("i").type.value_field.nullable
    assert schema.field("j").type.value_field.nullable
    for batch in tree.scan(list(define), define=define):
        batch.validate(full=True)


def test_what_cannot_be_computed_is_told_with_its_file_tree_and_entry(tmp_path):
    for name, number in (("a", 1), ("b", 2**62)):
        rows = {"v": [[1, 2], [3], [4]], "w": [[1, 2], [3], [4] * min(number, 2)], "n": [1, 1, number]}
        ar.write(f"{tmp_path}/{name}.root:d/t", {k: ak.Array(of) for k, of in rows.items()})
    files = [f"{tmp_path}/a.root", f"{tmp_path}/b.root"]
    place = rf"{tmp_path}/b\.root:d/t: define: x: .* in entry 2\n"
    for text in ("v + w", "n << 2", "4 * n", "sum(v + w)"):
        for options in ({}, {"filter": "n > 1"}, {"entries": [5, 3]}, {"batch_entries": 5}):
            with pytest.raises(ar.FilterError, match=place):
                ar.scan(files, "d/t", ["x"], define={"x": text}, **options).to_arrow()
    with pytest.raises(ar.FilterError, match=r"b\.root:d/t: filter: .* in entry 2\n"):
        ar.scan(files, "d/t", filter="all(v == w)").to_arrow()
    with pytest.raises(ar.FilterError, match=r'the result of "<<" .*; write x \* 2.0 \*\* n for doubles'):
        ar.scan(files, "d/t", filter="n << 2 > 1").to_arrow()
    with pytest.raises(
        ar.FilterError, match=r"b\.root:d/t: define: x: an integer does not fit .* in entry 2\n"
    ):
        ar.scan(files, "d/t", ["x"], define={"x": "n << 1"}).to_arrow()


def test_a_mean_of_integers_is_a_double_however_large_their_sum(tmp_path):
    lists = pa.array([[2**63, 2**63], [1, 2], [2**53, 1]], pa.list_(pa.uint64()))
    ar.write(f"{tmp_path}/a.root:t", {"u": lists, "i": pa.array([[2**62, -(2**62), 3], [1], [-5, 0]])})
    found = ar.open(f"{tmp_path}/a.root")["t"].to_arrow(["mean(u)", "mean(i)"]).to_pydict()
    assert found == {"mean(u)": [2.0**63, 1.5, (2**53 + 1) / 2], "mean(i)": [1.0, 1.0, -2.5]}


def test_functions_of_draw_are_of_all_items_of_an_entry(tmp_path):
    rows = {
        "v": pa.array([[1.5, 2.5], [], [-3.0]]),
        "w": pa.array([[[1, 2], [], [3]], [], [[]]], pa.list_(pa.list_(pa.int64()))),
        "x": pa.array([1, -2, 3], pa.int32()),
    }
    ar.write(f"{tmp_path}/a.root:t", pa.table(rows), layout="rntuple")
    expected = {
        "Sum$(v)": [4.0, 0.0, -3.0],
        "Max$(v)": [2.5, 0.0, -3.0],
        "Min$(abs(v))": [1.5, 0.0, 3.0],
        "Length$(v)": [2, 0, 1],
        "Sum$(w)": [6, 0, 0],
        "Max$(w)": [3, 0, 0],
        "Min$(w * x)": [1, 0, 0],
        "Length$(w)": [3, 0, 0],
        "Length$(w[0])": [2, 0, 0],
        "Sum$(w > 1)": [2, 0, 0],
        "Sum$(x)": [1, -2, 3],
        "Max$(x)": [1, -2, 3],
        "Length$(x)": [1, 1, 1],
        "Length$(v[1])": [1, 0, 0],
        "Min$(v[1])": [2.5, 0.0, 0.0],
        "Length$(3) + Sum$(2) + x": [4, 1, 6],
    }
    table = ar.open(f"{tmp_path}/a.root")["t"].to_arrow(list(expected))
    assert table.to_pydict() == expected


def test_a_distance_is_the_root_of_the_squares_as_roots(tree, events):
    found = tree.to_awkward(["d"], define={"d": "DeltaR(eta, eta / 3, phi, 0.7)"}).d
    eta, phi = (ak.to_numpy(ak.flatten(events[name])) for name in ("eta", "phi"))
    angle = 0.7 - phi
    angle = np.where(angle > np.pi, angle - 2 * np.pi, np.where(angle < -np.pi, angle + 2 * np.pi, angle))
    expected = np.sqrt((eta / 3 - eta) * (eta / 3 - eta) + angle * angle)
    assert ak.flatten(found).tolist() == expected.tolist()
