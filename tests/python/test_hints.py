"""First words of people from uproot, ROOT and pandas: each is answered by a line, and each line runs."""

import inspect
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot import _filter_hints, _hint_tables, _hints
from tests.recorded import session

#: An argument to write, and what stands for a call.
_ARGUMENT = re.compile(r"(\w+)=(?!=)")
#: The files that are there before a line is run.
_INPUTS = ("events.root", "a.root", "b.root", "other.root")


#: Of different lengths, one of them 0, and with a largest item that is negative.
LISTS = [[-0.5, -2.5], [], *[[-float(i)] for i in range(1, 9)]]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Where the files are that the lines name, and what is in each."""
    data = {
        "x": np.arange(10.0),
        "y": np.arange(10.0),
        "n": np.arange(10),
        "v": pa.array(LISTS),
        "Muon_pt": pa.array(LISTS),
        **{name: np.arange(1, 11) for name in ("run", "luminosityBlock", "event")},
    }
    path = tmp_path_factory.mktemp("hints")
    for name in _INPUTS:
        # Of the same size in any directory.
        with ar.create(path / name, reproducible=True) as made:
            made["t"] = data
            made["directory/u"] = data
            made["h"] = np.histogram([1, 2, 2], bins=3)
            made["map"] = np.histogram2d([1, 2, 2], [1, 2, 4], bins=3)
            made["for_filters"] = {**data, "text": pa.array(["a"] * 10), "muon": pa.array([{"pt": 1.0}] * 10)}
    return path, data


@pytest.fixture
def names(
    directory: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """The objects that the lines are about."""
    path, data = directory
    monkeypatch.chdir(path)
    for one in path.glob("*.root"):
        if one.name not in _INPUTS:
            one.unlink()
    file = ar.open("events.root")
    with ar.create("being-written.root") as new:
        table = new.tree("of_the_test")
        table.append(data)
        yield {
            "ar": ar,
            "pa": pa,
            "np": np,
            "file": file,
            "tree": file["t"],
            "scan": file["t"].scan(),
            "column": file["t"]["x"],
            "hist": file["h"],
            "map": file["map"],
            "other": ar.open("other.root")["t"],
            "data": data,
            "more": file["t"],
            "new": new,
            "table": table,
        }


def lines() -> list[str]:
    """All lines, and what their comments have behind a colon."""
    found = _hints.lines()
    return [*found, *(more[1] for line in found if (more := re.search(r"  # .*?: (.+)$", line)))]


@pytest.mark.parametrize("line", lines())
def test_every_line_runs(line: str, names: dict[str, Any]) -> None:
    of_numbers = _hint_tables.ATTRIBUTES["TreeColumn"].values()
    if line in _hint_tables.ATTRIBUTES[_hint_tables.LISTS].values() and line not in of_numbers:
        names["column"] = names["tree"]["v"]
    if "hist(" in line:
        pytest.importorskip("hist")
    if "dask" in line:
        pytest.importorskip("dask.dataframe")
    if "pyarrow.parquet" in line:
        import pyarrow.parquet

        names["pyarrow"] = pyarrow
        pyarrow.parquet.write_table(pa.table({"x": [1]}), "table.parquet")
    if "pd." in line:
        names["pd"] = pytest.importorskip("pandas")
    if "plt." in line:
        names["plt"] = pytest.importorskip("matplotlib.pyplot")
    if "ak." in line:
        names["ak"] = pytest.importorskip("awkward")
    if _ARGUMENT.match(line):
        is_of_writing = line in _hint_tables.TO_WRITE.values()
        line = line.partition("#")[0]
        others = {"tree": 'ar.scan("events.root", ', "target": 'ar.partitions("events.root:t", '}
        of_tree = others.get(line.partition("=")[0], "tree.scan(")
        if line.startswith("rules="):
            of_tree = 'ar.merge("new.root", ["a.root", "b.root"], '
        if line in _hint_tables.TO_FILL.values():
            of_tree = "ar.Hist((100, 0, 10), " + ('x="x", ' if line[:2] != "x=" else "")
        line = f'ar.write("new.root:t", data, {line})' if is_of_writing else f"{of_tree}{line})"
    if 'ar.open("new.root")' in line:
        ar.write("new.root:t", names["data"])
    with redirect_stdout(io.StringIO()):
        exec(line, names)  # noqa: S102 - of this package


def line_for(typed: str, names: dict[str, Any]) -> str:
    """The line that answers what somebody typed."""
    with pytest.raises(ar.ArrowrootError) as raised:
        exec(typed, names)  # noqa: S102 - of this test
    return str(raised.value).partition(": write ")[2]


def value_of(line: str, names: dict[str, Any]) -> Any:
    if "ak." in line:
        names["ak"] = pytest.importorskip("awkward")
    if _ARGUMENT.match(line):
        line = f'tree.to_numpy("x", {line})["x"].tolist()'
    return eval(line, names)  # noqa: S307 - of this package


ITEMS = np.concatenate(LISTS)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("tree.to_numpy(entry_start=5)", [5, 6, 7, 8, 9]),
        ("tree.to_numpy(entry_stop=2)", [0, 1]),
        ("tree.to_numpy(entry_start=5, entry_stop=7)", [5, 6]),
        ("tree.to_numpy(entry_stop=np.int64(7), entry_start=5)", [5, 6]),
        ("tree.to_numpy(entry_start=None, entry_stop=2)", [0, 1]),
        ("tree.to_numpy(entry_start=2, entry_stop=None)", [2, 3, 4, 5, 6, 7, 8, 9]),
        ("tree.to_numpy(entry_start=-2)", [8, 9]),
        ("tree.to_numpy(nrows=2)", [0, 1]),
        ("tree.to_numpy(skiprows=7)", [7, 8, 9]),
        ("tree.to_numpy(skiprows=2, nrows=3)", [2, 3, 4]),
        ("tree.to_numpy(nrows=3, skiprows=2)", [2, 3, 4]),
        ("tree.to_numpy(limit=3)", [0, 1, 2]),
        ("tree.to_numpy(entry_start=-3, nrows=3)", [7, 8, 9]),
        ("tree.to_numpy(entry_start=-3, nrows=5)", [7, 8, 9]),
        ("tree.to_numpy(entry_start=-3, nrows=2)", [7, 8]),
        ("tree.to_numpy(entry_start='a')", [5, 6, 7, 8, 9]),  # an example
        ("tree.to_numpy(entry_start=10**5000, entry_stop=3)", None),
        ("tree[10**5000]", None),
        ("tree.to_numpy(skiprows=[1])", [5, 6, 7, 8, 9]),
        ("tree.to_numpy(cut='(n > 2) & (n < 5)')", [3, 4]),
        ("tree.to_numpy(query='n == 2')", [2]),
        ("tree.Min", 0),
        ("tree.GetMaximum('x')", 9),
        ("tree.Mean('x')", 4.5),
        ("tree.Sum('x')", 45),
        ("tree.StdDev('x')", np.std(np.arange(10), ddof=1)),
        ("tree.std", np.std(np.arange(10))),
        ("tree.count", 10),
        ("tree.GetEntries()", 10),
        ("scan.Count()", 10),
        ("tree['x'].max()", 9),
        ("tree['Muon_pt'].max()", -0.5),
        ("tree['Muon_pt'].min()", -8),
        ("tree['Muon_pt'].mean()", ITEMS.mean()),
        ("tree['Muon_pt'].StdDev()", ITEMS.std(ddof=1)),
        ("tree['Muon_pt'].std()", ITEMS.std()),
    ],
)
def test_a_line_gives_what_was_asked_for(typed: str, expected: Any, names: dict[str, Any]) -> None:
    line = line_for(typed, names)
    if expected is None:
        assert "an integer of 16,610 bits" in line or "too large" in line
        return
    if "tree['Muon_pt']" in typed:
        names["column"] = names["tree"]["Muon_pt"]
    assert value_of(line, names) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("tree.count('x > 1')", 8),
        ("tree.count(filter='x > 1')", 8),
        *[
            (f"tree.{name}('Muon_pt')", getattr(ITEMS, name)())
            for name in ("min", "max", "mean", "sum", "std")
        ],
    ],
)
def test_a_line_has_what_is_asked_for_with_a_condition_and_of_lists(
    typed: str, expected: Any, names: dict[str, Any]
) -> None:
    line = line_for(typed, names)
    more = line.partition("  # ")[2].partition(": ")[2].replace('tree["x"]', 'tree["Muon_pt"]')
    assert value_of(more, names) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("tree[2]", {"x": 2.0}),
        ("tree[-1]", {"x": 9.0}),
        ("tree[np.int64(3)]", {"x": 3.0}),
        ("tree[2:4]", [2, 3]),
        ("tree[-2:]", [8, 9]),
        ("tree[::5]", [0, 5]),
        ("tree[[1, 3]]", [1, 3]),
        ("tree[[n == 4 for n in range(10)]]", [4]),
        ("ar.open('events.root', 't')", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("ar.open('events.root', 'directory/u')", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_a_line_gives_the_entries_meant(typed: str, expected: Any, names: dict[str, Any]) -> None:
    line = line_for(typed, names)
    found = eval(line, names | {"arrowroot": ar})  # noqa: S307 - of this package
    if isinstance(expected, dict):
        assert found["x"] == expected["x"]
    else:
        table = found.to_arrow() if isinstance(found, ar.Tree) else found
        assert table["x"].to_pylist() == expected


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("ar.write('new.root', hist)", {"h": "hist"}),
        ("ar.write('new.root:plots/h2', hist)", {"plots/h2": "hist"}),
        ("ar.write('new.root', np.histogram([1, 2], bins=3))", {"h": "np.histogram([1, 2], bins=3)"}),
        ("ar.write('new.root:t', data)", {"a": "hist", "b": "map"}),
    ],
)
def test_a_line_writes_the_histogram(typed: str, made: dict[str, str], names: dict[str, Any]) -> None:
    names["data"] = {"a": names["hist"], "b": names["map"]}
    line = line_for(typed, names)
    names["hist"] = eval(next(iter(made.values())), names)  # noqa: S307 - of this test
    exec(line, names)  # noqa: S102 - of this package
    found = ar.open("new.root")
    assert [key.path for key in found.key_list() if not key.is_directory] == list(made)
    assert all(isinstance(found[name], ar.Histogram) for name in made)


def test_a_histogram_takes_the_place_of_no_file(names: dict[str, Any]) -> None:
    ar.write("new.root:t", names["data"])
    exec(line_for("ar.write('new.root', hist)", names), names)  # noqa: S102 - of this package
    assert ar.open("new.root").keys() == {"t", "h"}


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_a_member_of_a_column_is_a_column_wherever_columns_are_named(
    tmp_path: Path, layout: str, names: dict[str, Any]
) -> None:
    jets = pa.array([[{"pt": 1.0, "eta": 2.0}], []])
    data = {"jets": jets, "one": pa.array([{"pt": 3.0}, {"pt": 4.0}]), "x": [1.0, 2.0]}
    ar.write(f"{tmp_path}/m.root:t", data, layout=layout)
    tree = ar.open(tmp_path / "m.root")["t"]
    expected = {"jets.pt": [[1.0], []], "x": [1.0, 2.0], "one.pt": [3.0, 4.0]}
    assert tree.to_arrow(["jets.pt", "x", "one.pt"]).to_pydict() == expected
    assert tree.to_arrow("one.pt", filter="x > 1").to_pydict() == {"one.pt": [4.0]}
    assert ar.scan(tmp_path / "m.root", "t", ["jets.pt"]).to_arrow().to_pydict() == {"jets.pt": [[1.0], []]}
    for name in ("jets.ptt", "jts.pt", "x.pt"):
        with pytest.raises(ar.NoSuchColumnError, match=f"no branch '{name}'"):
            tree.to_arrow(["x", name])
    everything = {"jets.pt": [[1.0], []], "jets.eta": [[2.0], []], "x": [1.0, 2.0]}
    assert tree.to_arrow(["jets.*", "x"]).to_pydict() == everything
    assert tree.to_arrow("one.p?").to_pydict() == {"one.pt": [3.0, 4.0]}
    ar.skim(
        tmp_path / "m.root", tmp_path / "s.root", columns=["jets.*", "x", "d*"], define={"double": "2 * x"}
    )
    assert ar.open(tmp_path / "s.root")["t"].to_arrow().to_pydict() == {**everything, "double": [2.0, 4.0]}
    for name in ("jets.q*", "x.*"):
        with pytest.raises(ar.NoSuchColumnError, match=f"no branch matches '{re.escape(name)}'"):
            tree.to_arrow(["x", name])
    # Old versions of pyarrow sort the members.
    with pytest.raises(ar.FilterError, match=r"no member 'ptt', only (pt, eta|eta, pt)"):
        tree.to_arrow("2*jets.ptt")
    if layout == "ttree":
        line = line_for("tree['jets.pt']", names | {"tree": tree})
        assert value_of(line, {"tree": tree, "ak": None}).tolist() == [[1.0], []]
    else:
        assert tree["jets.pt"].to_awkward().tolist() == [[1.0], []]


def test_the_count_of_a_scan_is_of_those_that_a_filter_keeps(names: dict[str, Any]) -> None:
    names["scan"] = names["tree"].scan(["x"], filter="n > 6")
    assert value_of(line_for("scan.Count()", names), names) == 3


@pytest.mark.parametrize(
    "typed", ["tree.hist('x')", "tree.Draw('x')", "tree['x'].hist()", "tree['v'].hist()"]
)
def test_a_line_fills_a_histogram(typed: str, names: dict[str, Any]) -> None:
    pytest.importorskip("hist")
    line = line_for(typed, names)
    assert "ar.Hist(" in line
    assert value_of(line, names).sum(flow=True) == (
        len(ITEMS) if "v" in typed else 7 if "filter" in line else 10
    )


def test_what_people_type_is_answered(names: dict[str, Any]) -> None:
    session("first-words", Path.cwd(), names)


@pytest.mark.parametrize(
    "line",
    [
        line
        for table in (
            _filter_hints.TO_CALL,
            _filter_hints.TO_NAME,
            _filter_hints.TO_SIGN,
            _filter_hints.TO_JOIN,
        )
        for line in table.values()
        if "{0}" not in line
    ],
)
def test_every_line_of_filters_runs(line: str, names: dict[str, Any]) -> None:
    condition = line.partition("  #")[0]
    tree = names["file"]["for_filters"]
    if "=slice" in condition:
        eval(f"tree.to_arrow({condition})", {"tree": tree})  # noqa: S307 - of this package
    else:
        tree.to_arrow("x", filter=f"({condition}) || x > 0")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("v[:, 0]", [one[0] if one else None for one in LISTS]),
        ("v[..., 1]", [one[1] if len(one) > 1 else None for one in LISTS]),
        ("v[:, -1]", [one[-1] if one else None for one in LISTS]),
        ("v[:, :1]", [one[:1] for one in LISTS]),
        ("v[0:2]", [one[:2] for one in LISTS]),
        ("v[:, -1:]", [one[-1:] for one in LISTS]),
        ("v[1:]", [one[1:] for one in LISTS]),
        ("v[..., 1:2]", [one[1:2] for one in LISTS]),
        ("v.mean()", None),
        ("n.isin([1, 2])", [n in (1, 2) for n in range(10)]),
        ("n.between(1, 2)", [1 <= n <= 2 for n in range(10)]),
    ],
)
def test_slices_and_methods_are_answered_by_what_gives_the_same(
    typed: str, expected: list[Any] | None, names: dict[str, Any]
) -> None:
    line = line_for(f"tree.to_arrow({typed!r})", names).partition("\n")[0]
    found = names["tree"].to_arrow(line).column(0).to_pylist()
    if expected is not None:
        assert found == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ([("n", ">", 7)], [8, 9]),
        (("n", "=", 7), [7]),
        ([("n", ">=", 7), ("x", "!=", 8.0)], [7, 9]),
        ([[("n", "<", 1)], [("n", "in", [3, 4]), ("x", ">", 3)]], [0, 4]),
        ([("n", "not in", (0, 1, 2, 3, 4, 5, 6))], [7, 8, 9]),
    ],
)
def test_conditions_of_parquet_are_answered_by_their_text(
    typed: Any, expected: list[int], names: dict[str, Any]
) -> None:
    line = line_for(f"tree.to_arrow('n', filter={typed!r})", names)
    assert eval(f"tree.to_arrow('n', {line})", names)["n"].to_pylist() == expected  # noqa: S307 - of this package


@pytest.mark.parametrize("typed", [[("n", ">", 7), 3], [[[("n", ">", 7)]]], ("n", "like", "a"), [("n", ">")]])
def test_what_is_no_condition_of_parquet_is_not_taken_for_one(typed: Any, names: dict[str, Any]) -> None:
    with pytest.raises(ar.InvalidRequestError, match="expected text or an expression"):
        names["tree"].to_arrow("n", filter=typed)


def test_no_line_is_one_that_the_call_refuses() -> None:
    calls: list[Any] = [ar.open, ar.scan, ar.partitions, ar.pick, ar.create, ar.write, ar.Layout]
    for call in [*calls, ar.Tree.to_numpy, ar.TreeColumn.to_numpy]:
        own = inspect.signature(call).parameters
        for name in " ".join([*_hint_tables.TO_READ, *_hint_tables.TO_WRITE]).split():
            if name in own:
                continue
            with pytest.raises(ar.InvalidRequestError) as raised:
                call(**{name: None})
            text = str(raised.value)
            assert text.startswith(f"{call.__name__}() has no argument")
            line = _ARGUMENT.match(text.partition(": write ")[2])
            assert line is None or line[1] in own


def test_dask_is_imported_when_it_is_named() -> None:
    program = "import arrowroot, sys; assert 'arrowroot.dask' not in sys.modules; arrowroot.dask.dataframe"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_choices_of_columns_as_elsewhere(names: dict[str, Any]) -> None:
    tree = names["tree"]
    for choice in (["x", "y"], lambda name: name in {"x", "y"}, re.compile("[xy]$")):
        assert tree[choice].column_names == ["x", "y"]
        assert tree.to_arrow(choice).column_names == ["x", "y"]
    assert tree.to_arrow(filter_name=[re.compile("x"), lambda name: name == "n"]).column_names == ["x", "n"]
    scan = ar.scan(["a.root", "b.root"], "t", lambda name: name == "x")
    assert scan.to_arrow().num_rows == 20
    with pytest.raises(ar.NoSuchColumnError, match="leaves no column"):
        tree.to_arrow(lambda name: not name)
    with pytest.raises(ar.InvalidRequestError, match="give one"):
        tree.to_arrow(re.compile("x"), filter_name="x")
    with pytest.raises(ar.InvalidRequestError, match="expected a name or several, got 3"):
        tree.to_arrow(3)


def test_a_column_is_read_when_it_is_converted(names: dict[str, Any]) -> None:
    tree, values = names["tree"], names["data"]["x"]
    column = tree["x"]
    assert (column.name, column.type, len(column)) == ("x", pa.float64(), 10)
    assert column.metadata == tree.columns[0]
    assert column.to_arrow().to_pylist() == list(values)
    assert column.to_numpy(filter="n > 7").tolist() == [8.0, 9.0]
    assert column.to_numpy(entries=slice(2, 4)).tolist() == [2.0, 3.0]
    assert column.to_pandas().tolist() == list(values)
    assert tree["v"].to_awkward().tolist() == LISTS
    assert np.asarray(column, dtype="f4").dtype == np.float32
    assert np.mean(column) == values.mean()
    assert pa.array(column).to_pylist() == list(values)
    assert pa.chunked_array(column).to_pylist() == list(values)
    assert "'x'" in repr(column)
    assert "double" in column._repr_html_()
    with pytest.raises(TypeError, match=r"arrowroot\.open"):
        column.__reduce__()
    with pytest.raises(ar.NoSuchColumnError, match="did you mean"):
        tree["luminosityblock"]


def test_a_tree_is_an_arrow_stream(names: dict[str, Any]) -> None:
    table = pa.table(names["tree"].scan(["x", "n"]))
    assert pa.table(names["tree"]).select(["x", "n"]).equals(table)
    assert pa.schema(names["tree"]) == names["tree"].schema


@pytest.mark.parametrize(
    "name", ["scan", "to_arrow", "to_pandas", "to_polars", "to_awkward", "to_numpy", "pick"]
)
def test_signatures_and_help_have_the_options(name: str) -> None:
    call = getattr(ar.Tree, name)
    given = inspect.signature(call).parameters
    assert ("entries" in given) == (name != "pick")
    assert given["memory_budget"].default == "512 MB"
    assert given["filter"].kind is inspect.Parameter.KEYWORD_ONLY
    assert list(given)[:2] == ["self", "ids" if name == "pick" else "columns"]
    assert "filter: keeps the entries" in str(inspect.getdoc(call))
    assert "def " + name in inspect.getsource(call)


@pytest.mark.parametrize("name", ["to_arrow", "to_pandas", "to_polars", "to_awkward", "to_numpy"])
def test_help_of_a_column_has_the_options(name: str) -> None:
    text = str(inspect.getdoc(getattr(ar.TreeColumn, name)))
    assert all(f"{option}: " in text for option in ("entries", "filter", "strings"))
    assert "filter_name" not in text


def test_every_call_that_takes_options_shows_them() -> None:
    for call in (ar.open, ar.scan, ar.partitions, ar.index, ar.pick, ar.WritableDirectory.tree):
        kinds = {one.kind for one in inspect.signature(call).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert "flush: where clusters end" in str(ar.WritableDirectory.tree.__doc__)
    assert "filter: keeps the entries" in str(ar.scan.__doc__)


def test_hints_cost_nothing_before_something_is_missing() -> None:
    program = "import arrowroot, sys; hasattr(arrowroot, '_x'); assert 'arrowroot._hints' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_objects_that_are_closed_or_of_a_users_class_lack_attributes_as_others_do(
    names: dict[str, Any],
) -> None:
    class Mine(ar.Tree):
        pass

    mine = names["tree"]
    mine.__class__ = Mine
    closed = ar.open("events.root")
    closed.close()
    for one in (mine, closed):
        assert not hasattr(one, "nonsense_of_mine")


def test_completion_offers_the_keys(names: dict[str, Any]) -> None:
    file = names["file"]
    assert {"t", "directory", "keys", "trees"} <= set(dir(file))
    assert (file.t.name, file.directory.u.name) == ("t", "u")
    assert all(hasattr(file, name) for name in dir(file))


def test_completion_offers_what_is_for_users() -> None:
    assert {"open", "Tree", "__version__"} <= set(dir(ar))
    assert not {"Any", "TYPE_CHECKING", "warnings", "no_attribute"} & set(dir(ar))
    assert "strategy: 'str | None' = None" in str(inspect.signature(ar.open))


def test_notebooks_show_pictures_and_tables(tmp_path: Path, names: dict[str, Any]) -> None:
    from xml.etree import ElementTree as ET

    with ar.create(tmp_path / "h.root") as made:
        made["one"] = (np.array([1.0, -2.0, 3.0]), np.arange(4.0))
        made["two"] = (np.arange(250.0 * 130).reshape(250, 130), np.arange(251.0), np.arange(131.0))
        made["three"] = (np.ones((2, 2, 2)), np.arange(3.0), np.arange(3.0), np.arange(3.0))
        made["flat"] = (np.zeros(3), np.arange(4.0))
    with ar.open(tmp_path / "h.root") as file:
        for name in ("one", "two", "flat"):
            picture = file[name]._repr_html_().partition("<div>")[0]
            drawn = ET.fromstring(picture)  # noqa: S314 - of this package
            assert drawn.tag.endswith("svg")
            assert "nan" not in picture
        assert file["two"]._repr_html_().count("<rect") <= 100 * 100
        assert file["three"]._repr_html_().startswith("<pre>")
    scan = names["tree"].scan(["x"])
    scan.drain()
    for shown in (
        scan.stats,
        scan.plan,
        ar.configuration("root://host//f"),
        names["new"].cost(),
        names["column"],
        names["tree"].columns[0],
    ):
        assert "<table>" in shown._repr_html_()


def test_batches_are_a_table_wherever_they_are_set(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 3]})
    batches = table.to_batches(max_chunksize=2)
    with ar.create(tmp_path / "b.root") as made:
        made["of_list"] = batches
        made["of_generator"] = (batch for batch in batches)
        made["of_tables"] = [table, table]
        with pytest.raises(ar.NoSuchAttributeError, match=r"write new\['lost'\] = data"):
            made.lost = table
    found = ar.open(tmp_path / "b.root")
    assert [found[name].num_entries for name in found.trees] == [3, 3, 6]
    assert found["of_list"].to_arrow("x").to_pydict() == {"x": [1, 2, 3]}


@pytest.mark.parametrize(
    "typed",
    [
        "tree.arrays()",
        "tree.filter('a')",
        "tree.Define",
        "tree.groupby('k')",
        "tree.Mean('a')",
        "tree.unique('k')",
        "tree.scan().sort_values('a')",
        "tree.Draw('a')",
        "tree['b'].hist()",
    ],
)
def test_lines_name_columns_that_there_are(typed: str, tmp_path: Path) -> None:
    if "hist" in typed or "Draw" in typed:
        pytest.importorskip("hist")
    ar.write(f"{tmp_path}/c.root:t", {"text": ["a"], "a": [1.5], "b": [2.5], "k": [3], "w": [[1.0]]})
    names: dict[str, Any] = {"ar": ar, "tree": ar.open(tmp_path / "c.root")["t"]}
    line = line_for(typed, names)
    assert not re.search(r'"[xyn]"', line)
    names |= {"scan": names["tree"].scan(), "column": names["tree"]["b"]}
    assert value_of(line, names) is not None
