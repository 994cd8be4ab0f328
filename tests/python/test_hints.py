"""First words of people from uproot, ROOT and pandas: each is answered by a line, and each line runs."""

import inspect
import io
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot import _hints

#: An argument to write, and what stands for a call.
_ARGUMENT = re.compile(r"(\w+)=(?!=)")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Where the files are that the lines name, and what is in each."""
    data = {
        "x": np.arange(10.0),
        "y": np.arange(10.0),
        "n": np.arange(10),
        "v": pa.array([[1.0, 2.0]] * 10),
        **{name: np.arange(1, 11) for name in ("run", "luminosityBlock", "event")},
    }
    path = tmp_path_factory.mktemp("hints")
    for name in ("events.root", "a.root", "b.root", "other.root"):
        with ar.create(path / name) as made:
            made["t"] = data
            made["directory/u"] = data
            made["for_filters"] = {**data, "text": pa.array(["a"] * 10), "muon": pa.array([{"pt": 1.0}] * 10)}
    return path, data


@pytest.fixture
def names(
    directory: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """The objects that the lines are about."""
    path, data = directory
    monkeypatch.chdir(path)
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
            "other": ar.open("other.root")["t"],
            "data": data,
            "new": new,
            "table": table,
        }


@pytest.mark.parametrize("line", _hints.lines())
def test_every_line_runs(line: str, names: dict[str, Any]) -> None:
    if "dask" in line:
        pytest.importorskip("dask.dataframe")
    if "pyarrow.parquet" in line:
        import pyarrow.parquet

        names["pyarrow"] = pyarrow
    if "arrowroot.dask" in line:
        import arrowroot.dask

        names["arrowroot"] = arrowroot
    if _ARGUMENT.match(line):
        is_of_writing = line in _hints.TO_WRITE.values()
        line = line.partition("#")[0]
        line = f'ar.write("new.root:t", data, {line})' if is_of_writing else f"tree.scan({line})"
    if 'ar.open("new.root")' in line:
        ar.write("new.root:t", names["data"])
    with redirect_stdout(io.StringIO()):
        exec(line, names)  # noqa: S102 - of this package


#: What people type, with what must stand in the answer. The shell's words are tested with the shell.
TYPED = {
    'ar.recreate("x.root")': "ar.create",
    'ar.update("x.root")': "ar.create",
    "ar.merge": "ar.scan",
    "ar.convert": "to_arrow",
    "ar.concatenate": "to_awkward",
    "ar.iterate": "for batch in ar.scan",
    'ar.open(["a.root", "b.root"])': "scan",
    'ar.open("events.root:t")': "['t']",
    'ar.open("events.root", library="np")': "tree.to_pandas()",
    "file.classnames()": "key_list",
    "file.ls()": "print(file)",
    'file.Get("t")': 'file["t"]',
    "file.mktree": "ar.create",
    "file.mkrntuple": "ar.create",
    "file.mkdir": "ar.create",
    'file["t"].append(data)': "ar.create",
    'file.__setitem__("t", tree)': "ar.create",
    "tree.arrays()": "tree.to_awkward",
    'tree.array("x")': "tree.to_awkward",
    'tree["x"].array()': "column.to_numpy()",
    "tree.keys()": "tree.column_names",
    "tree.show()": "print(tree)",
    "tree.head()": "entries=slice(0, 5)",
    "tree.iterate()": "tree.scan",
    "tree.Draw": "np.histogram",
    "tree.Scan": "slice",
    "tree.Print": "print(tree)",
    "tree.GetEntries()": "tree.num_entries",
    "tree.typenames()": "tree.schema",
    "tree.pandas.df": "tree.to_pandas",
    "tree.lazy()": "tree.to_awkward",
    'tree["x"] == 2': 'filter="x == 2"',
    'tree["x"] > 2': "tree['x'].to_numpy() > 2",
    'tree["x"] * 2': "to_numpy() * 2",
    'tree["x"][0]': "entries=",
    'list(tree["x"])': "to_numpy()",
    'tree["x > 2"]': "filter='x > 2'",
    "tree[0]": "entries=",
    'tree.to_pandas(library="pd")': "to_pandas() has no argument 'library': write tree.to_pandas()",
    'tree.to_pandas(cut="x > 1")': "to_pandas() has no argument 'cut': write filter=",
    "tree.to_numpy(entry_start=1)": "to_numpy() has no argument 'entry_start': write entries=slice(0, 5)",
    "tree.to_awkward(entry_stop=1)": "to_awkward() has no argument 'entry_stop': write entries=",
    'tree.scan(step_size="100 MB")': "scan() has no argument 'step_size': write batch_size=",
    'tree.to_awkward(how="zip")': "to_awkward() has no argument 'how': write",
    "tree.to_awkward(aliases={})": "events.x + events.y",
    'tree.to_awkward(expressions=["x"])': "write columns=",
    "tree.to_awkward(entries=(0, 5))": "slice(0, 5)",
    "tree.scan(batch_size=1000)": "batch_entries=1000",
    'tree.to_arrow(where="x > 1")': "write filter=",
    'tree.to_arrow("x", "n > 2")': "to_arrow() takes columns by position",
    "tree.to_arrow(n_thread=1)": "did you mean n_threads?",
    "tree.to_arrow(nonsense_of_mine=1)": "its own are columns, filter_name, entries, filter",
    'ar.scan("a.root", cut="x > 1")': "scan() has no argument 'cut': write filter=",
    'ar.scan("a.root", nonsense_of_mine=1)': "its own are paths, tree, columns",
    "tree.Filter": "filter=",
    "tree.Define": "events.x + events.y",
    "tree.Histo1D": "np.histogram",
    "tree.Snapshot": "ar.write",
    "tree.Count": "tree.num_entries",
    "tree.Report": "entries_where",
    "tree.AsNumpy": "to_numpy",
    "tree.Range": "slice(0, 5)",
    "tree.extend": "ar.create",
    "tree.fill": "ar.create",
    "tree.to_root": "ar.write",
    "tree.colum_names": "did you mean column_names",
    "file.t": "write file['t']",
    "tree.x": "write tree['x']",
    "scan.write": "ar.write",
    "scan.arrays": "scan.to_awkward",
    'ar.create("x.root", mode="update")': "create() has no argument 'mode': write",
    'ar.write("x.root", data, tree="t")': 'ar.write("new.root:t", data)',
    'ar.write("x.root", "t", data)': "write() takes path, data by position",
    'ar.write("x.root:t", data, compression_level=3)': "compression=",
    'ar.write("x.root:t", data, autoflush=3)': "flush=",
    'ar.write("x.root:t", data, splitlevel=3)': "split=0",
    "new.mktree": 'new["t"] = data',
    "new.mkrntuple": "rntuple",
    "new.mkdir": "new.directory",
    'new.tree("u", autoflush=3)': "tree() has no argument 'autoflush': write flush=",
    "table.extend": "table.append(data)",
    "table.fill": "table.append(data)",
    'new.tree("u", {"x": "var * float32"})': "pa.list_(pa.float32())",
    'new.tree("u", {"x": "vector<float>"})': "pa.list_(pa.float32())",
    'ar.write("x.root:t", [{"x": 1.0}])': "from_pylist",
}


@pytest.mark.parametrize("typed", TYPED)
def test_what_people_type_is_answered(typed: str, names: dict[str, Any]) -> None:
    with pytest.raises((AttributeError, TypeError, ar.InvalidRequestError)) as caught:
        eval(typed, names)  # noqa: S307 - of this test
    message = str(caught.value)
    assert TYPED[typed] in message
    assert len(message.splitlines()) == 1


#: What people write in filters, with what must stand in the answer.
FILTERS = {
    "x > 1 and x < 3": '"&&"',
    "n in [1, 2]": "isin(n, 1, 2, 3)",
    "x ** 2 > 1": "unexpected '**': write pow(x, 2)",
    "x^2 > 1": "pow(x, n)",
    "~(x > 1)": "unexpected '~': write !(x > 1)",
    "n << 2 > 1": "unexpected '<<': write n * pow",
    "n >> 2 > 1": "unexpected '>>': write n * pow",
    "x > 1 ? n > 1 : n > 2": "write (x > 1 && n > 2)",
    "TMath::Sqrt(x) > 1": "write sqrt(x)",
    "std::abs(x) > 1": "write abs(x)",
    "x > TMath::Pi()": "3.14159",
    "x > M_PI": "no branch 'M_PI': write x > 3.14159",
    "Entry$ > 1": "no branch 'Entry$': write entries=slice(0, 5)",
    "Alt$(v[0], 0) > 1": "len(v) > 0",
    "Any(v > 1)": "any(v > 1)",
    "v.size() > 1": "write len(v)",
    "@v.size() > 1": "write len(v)",
    "v[][0] > 1": "unexpected '[]': write v[0] > 1",
    "int(x) > 1": "floor(x)",
    "Max(v) > 1": "Max$(v)",
    "nonsense_of_mine(x)": "there are any, all, sum, count, len and 29 more",
    "srqt(x) > 1": "did you mean sqrt",
}


@pytest.mark.parametrize("condition", FILTERS)
def test_what_people_write_in_filters_is_answered(condition: str, names: dict[str, Any]) -> None:
    with pytest.raises((ar.FilterError, ar.NoSuchColumnError)) as caught:
        names["tree"].to_numpy("x", filter=condition)
    message = str(caught.value)
    assert FILTERS[condition] in message
    assert "^" in message.splitlines()[-1]


@pytest.mark.parametrize("line", {**_hints.TO_CALL, **_hints.TO_NAME, **_hints.TO_SIGN}.values())
def test_every_line_of_filters_runs(line: str, names: dict[str, Any]) -> None:
    condition = line.partition("  #")[0]
    tree = names["file"]["for_filters"]
    if "=slice" in condition:
        eval(f"tree.to_arrow({condition})", {"tree": tree})  # noqa: S307 - of this package
    else:
        tree.to_arrow("x", filter=f"({condition}) || x > 0")


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
    assert tree["v"].to_awkward().tolist() == [[1.0, 2.0]] * 10
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


def test_every_call_that_takes_options_shows_them() -> None:
    for call in (ar.open, ar.scan, ar.partitions, ar.index, ar.pick, ar.WritableDirectory.tree):
        kinds = {one.kind for one in inspect.signature(call).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert "flush: where clusters end" in str(ar.WritableDirectory.tree.__doc__)
    assert "filter: keeps the entries" in str(ar.scan.__doc__)


def test_hints_cost_nothing_before_something_is_missing() -> None:
    import subprocess

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
    assert {"t", "directory", "keys", "trees"} <= set(dir(names["file"]))


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
    ):
        assert "<table>" in shown._repr_html_()
