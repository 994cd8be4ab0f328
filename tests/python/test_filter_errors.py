"""A wrong filter is told with its place, before anything is read, and what is shown of it drives no terminal."""

import contextlib
import pickle
import random
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot._expressions.scope import Scope
from arrowroot._filter.bind import bind
from tests.recorded import session

from .conftest import write_tree


@pytest.fixture(scope="module")
def tree(sample):
    return ar.open(sample[0])["Events"]


def test_what_is_wrong_is_said_with_its_place_before_anything_is_read(sample, tree, tmp_path):
    with uproot.recreate(tmp_path / "words.root") as file:
        file["T"] = {name: np.arange(4) for name in ("true", "false", "in", "x", "y-z")}
    words = ar.open(tmp_path / "words.root")["T"]
    session("filters", tmp_path, {"tree": tree, "words": words}, [(str(sample[0]), "sample.root")])
    for word in ("true", "false", "in"):
        assert words.entries_where(f"`{word}` == 3 && x > 2").tolist() == [3]
    assert words.entries_where("((1 == 1) && x > 2) || (1 == 0)").tolist() == [3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x > 1;", "unexpected ';': write x > 1  # no sign ends an expression"),
        ("x > 1; x < 3", "write x > 1 && n > 2"),
        ("x is None", "write is_null(x)"),
        ("x IS NULL", "write is_null(x)"),
        ("x is not None", "write !is_null(x)"),
        ("x Is Not NULL", "write !is_null(x)"),
        ("x is NULL", "write is_null(x)"),
        ("x is not 1", "write x != 1"),
        ("x IS NOT 1", "write x != 1"),
        ("x is not nan", "write !isnan(x)"),
        ("x is not in (1, 2)", "write !isin(n, 1, 2, 3)"),
        ("x > 1 Or x < 0", "write x > 1 || n > 2"),
        ("x is 2", "write n == 1"),
        ("x == NULL", "no branch 'NULL': write is_null(x)"),
        ("x == kTRUE", "write n == true"),
        ("x > 1 if x else x < 3", "unexpected 'if': write n > 2 ? x > 1 : x > 3"),
        ("(int)x == 2", "unexpected '(int)x': write int(x)"),
        ("(float) x == 2", "write float(x)"),
        ("(Long64_t)(x + 1) == 2", "write int(x) > 1"),
        ("static_cast<int>(x) == 2", "unexpected 'static_cast<int>': write int(x) > 1"),
        ("static_cast<double>(x) > 2", "write float(n) > 1"),
        ("(int) -x == 2", "no branch 'int': write int(x) > 1"),
        ("bool(x)", "there is no function 'bool': write x != 0"),
        ("x > 1.5f", "numbers have no letters behind them"),
        ("x > 1_000", "numbers have no letters behind them, and no _"),
        ("x ≥ 1", "unexpected '≥': write x >= 1"),
        ("x − 1 > 0", "write x - 1 > 0"),  # noqa: RUF001 - as papers have it
        ("s == “mu”", 'write text == "a"'),
        ("v(0) > 1", "there is no function 'v', but a column: its items are v[0]"),
        ("Length$ > 1", "no branch 'Length$': write Length$(v) > 1"),
        ("MET pt > 1", "the column is `MET pt`, in backticks"),
        ("x > 0 && a/b > 1", "no branch 'a': the column is `a/b`, in backticks"),
        ("s == mu", "no branch 'mu': a text stands in quotes: \"mu\""),
        ("s in (mu, e)", "a text stands in quotes"),
        ("any(texts == mu)", "a text stands in quotes"),
        ("word == 'mu'", "no branch 'word'; there are"),
        ("mu == e", "no branch 'mu'"),
        ("st == mu", "no branch 'mu'; there are"),
        ("st.string == mu", "no branch 'mu'; there are"),
    ],
)
def test_what_is_written_elsewhere_is_answered_by_what_is_written_here(slips, text, said):
    with pytest.raises((ar.FilterError, ar.NoSuchColumnError)) as caught:
        slips.scan(filter=text)
    assert said in str(caught.value).partition("\n")[0]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (2, "2"),
        (np.float32(0.5), "0.5"),
        (True, "True"),
        (np.inf, "2*x"),
        (1e300, "1e+300"),
        (10**400, "2*x"),
    ],
)
def test_numbers_are_answered_by_their_text(slips, given, line):
    with pytest.raises(ar.InvalidRequestError) as caught:
        slips.scan(define={"y": given})
    assert str(caught.value).endswith(f"write {{'y': \"{line}\"}}")
    slips.scan(define={"y": line})


@pytest.fixture(scope="module")
def slips(tmp_path_factory):
    path = tmp_path_factory.mktemp("slips") / "f.root"
    columns = {"x": [1, 2], "MET pt": [1.0, 2.0], "a/b": [1, 2], "s": ["mu", "e"]}
    records = [{"string": 1}, {"string": 2}]
    ar.write(f"{path}:T", columns | {"v": [[1], []], "texts": [["mu"], []], "st": pa.array(records)})
    return ar.open(path)["T"]


def test_the_place_and_the_nearest_names_are_there_for_programs(tree):
    with pytest.raises(ar.NoSuchColumnError) as caught:
        tree.scan(filter="weight > 0 && npts > 3")
    assert caught.value.nearest[0] == "npt"
    with pytest.raises(ar.FilterError) as caught:
        tree.to_arrow("npt", filter="run * 9223372036854775807 > 0")
    assert (caught.value.start, caught.value.end) == (0, 25)
    assert isinstance(caught.value, ar.InvalidRequestError)


def test_names_that_are_more_than_a_name_are_suggested_as_a_filter_has_them(tmp_path):
    with uproot.recreate(tmp_path / "f.root") as file:
        file.mktree("T", {"x[2]": np.dtype((np.int32, 2)), "y-z": np.int32}).extend(
            {"x[2]": np.arange(8, dtype=np.int32).reshape(4, 2), "y-z": np.arange(4, dtype=np.int32)}
        )
    tree = ar.open(tmp_path / "f.root")["T"]
    with pytest.raises(ar.NoSuchColumnError, match=r"no branch 'y_z'; did you mean `y-z`\?") as caught:
        tree.scan(filter="y_z > 1")
    assert caught.value.nearest == ["y-z"]
    # "x" is what ROOT calls it.
    assert tree.entries_where("x[1] > 3").tolist() == tree.entries_where("`x[2]`[1] > 3").tolist() == [2, 3]
    assert tree.to_arrow(["!x"]).column_names == ["y-z"]
    assert tree.to_arrow(["x"])["x[2]"].to_pylist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_a_filter_of_many_dots_looks_for_as_few_names_as_for_one_of_some():
    class Column(NamedTuple):
        path: str
        name: str
        is_group: bool = False
        unsupported: None = None

    def n_looked_for(n_dots):
        looked_for = []
        text = "x" + ".x" * n_dots
        with pytest.raises(ar.NoSuchColumnError):
            bind(text, Scope([Column("y", "y")], lambda _: pa.schema([]), "T", looked_for.append))
        return len(looked_for)

    assert n_looked_for(20_000) == n_looked_for(200)


def test_a_filter_error_survives_the_way_between_processes():
    error = ar.FilterError("wrong", "a + b", 4, 5)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - pickled here
    assert str(again) == str(error)
    assert (again.start, again.end) == (4, 5)


def test_what_an_error_shows_of_names_and_filters_drives_no_terminal(tmp_path):
    path = tmp_path / "a\x1b[31m\n b.root"
    write_tree(path, n_entries=3)
    tree = ar.open(path)["Events"]
    letters = [
        "run",
        "é",
        " ",
        ">",
        "1",
        "\n",
        "\r",
        "\x1b",
        "\u2028",
        "`",
        "'",
        "(",
        ")",
        ".",
        "&&",
        "\x85",
        "\x0b",
    ]
    chance = random.Random(1)
    shown = set()
    for _ in range(2000):
        text = "".join(chance.choices(letters, k=chance.randrange(1, 9)))
        with contextlib.suppress(ar.FilterError, ar.NoSuchColumnError):
            tree.scan(filter=text)
            continue
        with pytest.raises((ar.FilterError, ar.NoSuchColumnError)) as caught:
            tree.scan(filter=text)
        shown.add(str(caught.value))
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - pickled here
    for text in shown:
        lines = text.split("\n")
        assert len(lines) in (1, 3), text
        assert all(line.isprintable() for line in lines), text
    assert len(shown) > 100
    with pytest.raises(ar.NoSuchColumnError) as caught:
        tree.to_arrow("nowhere")
    assert str(caught.value).isprintable()


def test_what_an_error_and_an_index_show_of_its_path_drives_no_terminal(tmp_path):
    path = tmp_path / "a\x1b[31m\n b.parquet"
    for content in (None, b"nothing"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ar.ArrowrootError) as caught:
            ar.EventIndex(path)
        assert str(caught.value).isprintable()
    path.unlink()
    write_tree(tmp_path / "a.root", n_entries=3)
    ar.index(tmp_path / "a.root", path, "Events", columns=["run"])
    index = ar.EventIndex(path)
    assert repr(index).isprintable()
    events = ar.EventList([(10**9,)], index=index)
    assert repr(events).isprintable()
    tree = ar.open(tmp_path / "a.root")["Events"]
    write_tree(tmp_path / "b.root", n_entries=4)
    for read in (lambda: tree.to_arrow(entries=events), lambda: ar.pick(index, [(10**9,)])):
        with pytest.raises(ar.MissingEventsError) as caught:
            read()
        assert str(caught.value).isprintable()
    for ids, one in (([(1, 2)], tree), ([(1,)], ar.open(tmp_path / "b.root")["Events"])):
        with pytest.raises(ar.InvalidRequestError, match="x1b") as caught:
            one.to_arrow(entries=ar.EventList(ids, index=index))
        assert str(caught.value).isprintable()
