import pickle
import re
import sys

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot._arrow.convert import to_awkward, to_numpy
from tests.recorded import session

from .conftest import N_ENTRIES, write_tree


@pytest.fixture(scope="module")
def tree(sample):
    return ar.open(sample[0])["Events"]


@pytest.fixture(scope="module")
def truth(sample):
    return sample[1]


def test_a_file_gives_its_objects_by_name_and_by_key(sample):
    with ar.open(sample[0]) as file:
        assert set(file) == {"dir", "Events"}
        assert {"/Events", "dir/", "/dir/text;1"} <= {
            name for name in ("/Events", "dir/", "/dir/text;1") if name in file
        }
        for key in (*file.key_list(), *file["dir"].key_list()):
            assert key in file
            assert key in file["dir"] or not key.path.startswith("dir/")
            assert type(file[key]) is type(file[key.path])
        assert file.raw(file["dir"].key_list()[0]) == file.raw("dir/text")
        assert len(file) == 2
        assert {"Events", "Events;1", "dir", "dir/text"} <= {name for name in _names(file) if name in file}
        assert "nothing" not in file
        assert 3 not in file
        assert file.trees == ["Events"]
        keys = file.key_list()
        key = next(key for key in keys if key.path == "Events")
        assert (key.class_name, key.cycle, key.is_tree) == ("TTree", 1, True)
        assert key.stored_bytes > 0
        assert file["Events;1"].num_entries == N_ENTRIES
        assert "Events" in repr(file)
        assert "<table>" in file._repr_html_()
    assert repr(file) == "<closed file>"
    with pytest.raises(ar.InvalidRequestError, match="closed"):
        file.key_list()


def _names(file):
    listed = file.key_list()
    return [*(key.path for key in listed), *(f"{key.path};{key.cycle}" for key in listed), "nothing"]


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    """Return a file of two histograms beside 200 directories that have two each."""
    uproot = pytest.importorskip("uproot", reason="NO UPROOT FOUND: pip install uproot")
    path = tmp_path_factory.mktemp("directories") / "directories.root"
    with uproot.recreate(path) as file:
        for directory in ("", *(f"d{k}/" for k in range(200))):
            for name in ("first", "second"):
                file[directory + name] = np.histogram([0.5], bins=2, range=(0, 1))
    return path


@pytest.mark.parametrize(
    ("look", "n_most"),
    [
        (lambda file: file["first"], 4),  # the list, the object, and what describes its class
        (lambda file: file["d7/second"], 6),  # and the directory, and its list
        (lambda file: file["d7"]["second"], 6),
        (lambda file: file.raw("d7/second"), 4),
        (lambda file: "d7/second" in file, 3),
        (lambda file: "d7;1" in file, 2),
        (lambda file: "nothing" not in file, 1),
        (lambda file: "d7/nothing" not in file, 3),
    ],
)
def test_what_is_looked_for_costs_the_directories_of_its_path_alone(directories, look, n_most):
    with ar.open(directories) as file:
        n_before = file._native.stats()["read_calls"]
        assert look(file)
        assert file._native.stats()["read_calls"] - n_before <= n_most


def test_a_name_that_is_not_there_is_compared_with_those_of_some_directories(directories):
    with ar.open(directories) as file:
        for missing, near in (("secnd", "second"), ("d3/frist", "d3/first"), ("d199/secnd", "d199/second")):
            with pytest.raises(ar.NoSuchKeyError) as error:
                file[missing]
            assert near in error.value.nearest
        assert len(file._native.known_keys()) < len(file.key_list()) == 602


def test_whether_a_name_is_there_is_looked_up(directories, monkeypatch):
    with ar.open(directories) as file:
        monkeypatch.setattr(ar.File, "keys", None)
        assert "d199/second" in file


def test_a_column_is_found_without_a_list_of_all(tree, monkeypatch):
    monkeypatch.setattr(ar.Tree, "branches", property(lambda _: pytest.fail("all branches were listed")))
    assert "weight" in tree
    assert "nothing" not in tree
    assert 3 not in tree
    assert len(tree["weight"]) == N_ENTRIES


def test_a_directory_is_a_mapping_too(sample):
    directory = ar.open(sample[0])["dir"]
    assert isinstance(directory, ar.Directory)
    assert list(directory) == ["text"]
    assert "text" in directory
    assert directory.trees == []
    assert isinstance(directory["text"], ar.Text)


def test_scans_and_plans_are_tables_in_notebooks(tree):
    scan = tree.scan(["run", "pt"], filter="weight < 0 && run > 1")
    html = scan._repr_html_()
    assert "<td>pt</td><td>list&lt;float&gt;</td>" in html
    assert "those with &#x27;weight &lt; 0 &amp;&amp; run &gt; 1&#x27;</caption>" in html
    html = scan.plan._repr_html_()
    assert "<th>baskets</th>" in html
    assert "filter weight &lt; 0 &amp;&amp; run &gt; 1; 1,000 entries" in html
    assert "then, of 1 other column" in html
    n_rows = scan.plan._repr_html_().count("<tr>")
    assert n_rows == 1 + min(5, len(scan.plan.windows))


def test_a_tree_says_what_it_is(tree):
    assert (tree.name, tree.path, tree.num_entries, len(tree)) == ("Events", "Events", N_ENTRIES, N_ENTRIES)
    assert tree.column_names == ["run", "weight", "good", "npt", "pt"]
    assert tree.schema.field("weight").type == pa.float64()
    assert tree.clusters[0] == 0
    assert tree.clusters[-1] == N_ENTRIES
    column = {column.name: column for column in tree.columns}["pt"]
    assert column.n_entries == N_ENTRIES
    assert column.n_baskets == 4
    assert column.unsupported is None
    assert column.compression_ratio == column.memory_bytes / column.stored_bytes
    assert "npt" in repr(tree)
    assert "<table>" in tree._repr_html_()
    assert "run" in tree
    assert "ruin" not in tree


def test_a_table_has_the_values_that_were_written(tree, truth):
    table = tree.to_arrow()
    assert table.column_names == ["run", "weight", "good", "npt", "pt"]
    for name in ("run", "weight", "good", "npt"):
        assert table[name].to_pylist() == truth[name].tolist()
    assert table["pt"].to_pylist() == truth["pt"].tolist()


@pytest.mark.parametrize(
    "entries",
    [
        slice(0, 10),
        slice(-7, None),
        slice(None, None, 97),
        slice(290, 310),
        range(295, 305),
        [999, 0, 300, 300, -1],
        np.array([5, 4, 3]),
        slice(5, 5),
        [],
    ],
)
def test_entries_are_those_asked_for(tree, truth, entries):
    table = tree.to_arrow(["pt", "run"], entries=entries)
    expected = np.arange(N_ENTRIES)[np.array(entries, dtype=int) if isinstance(entries, list) else entries]
    assert table["run"].to_pylist() == truth["run"][expected].tolist()
    assert table["pt"].to_pylist() == truth["pt"][expected].tolist()


def test_a_mask_reads_where_it_is_true(tree, truth):
    table = tree.to_arrow(["weight"], entries=truth["good"])
    assert table["weight"].to_pylist() == truth["weight"][truth["good"]].tolist()


def test_a_scan_delivers_batches_of_the_size_asked_for(tree):
    scan = tree.scan(["weight", "run"], batch_size="2400 B")
    batches = list(scan)
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    assert len(batches) > 2
    assert sum(batch.num_rows for batch in batches) == N_ENTRIES
    assert all(batch.nbytes <= 2 * 2400 for batch in batches)
    assert pa.Table.from_batches(batches).equals(tree.to_arrow(["weight", "run"]))


def test_a_scan_knows_its_plan_before_and_its_cost_after_reading(tree):
    scan = tree.scan(["weight"])
    assert scan.stats.read_calls == 0
    plan = scan.plan
    assert plan.columns == ["weight"]
    assert plan.n_baskets == 4
    scan.read_all()
    assert scan.stats.read_calls == plan.n_reads == sum(len(window.ranges) for window in plan.windows)
    assert scan.stats.read_bytes == plan.read_bytes
    assert scan.stats.payload_bytes == plan.payload_bytes
    assert scan.stats.n_entries == N_ENTRIES
    assert scan.stats.n_baskets == 4


def test_every_pass_over_a_scan_is_new(tree):
    scan = tree.scan(["run"])
    assert scan.read_all().equals(scan.to_arrow())
    for _ in scan:
        break
    assert sum(batch.num_rows for batch in scan) == N_ENTRIES


def test_a_drained_scan_counts_and_reports_progress(tree):
    seen = []
    stats = tree.scan(["run"], batch_size="1000 B").drain(lambda s: seen.append(s.n_entries))
    assert stats.n_entries == N_ENTRIES
    assert seen == sorted(seen)
    assert seen[-1] == N_ENTRIES


def test_a_trace_has_every_read(tree):
    scan = tree.scan(["weight"], trace=True)
    stats = scan.drain()
    reads = scan.trace()
    assert len(reads) == stats.read_calls
    assert sum(read.n_bytes for read in reads) == stats.read_bytes
    assert all(read.start_ns <= read.end_ns for read in reads)


def test_scans_are_arrow_streams(tree, truth):
    duckdb = pytest.importorskip("duckdb")
    for data in (tree.scan(["run", "pt"]), tree.scan(["run", "pt"], batch_size="1 kB")):
        assert pa.table(data).num_rows == N_ENTRIES
        assert pa.RecordBatchReader.from_stream(data).read_all().num_rows == N_ENTRIES
        assert pa.schema(data).names == ["run", "pt"]
        assert pl.DataFrame(data)["run"].to_list() == truth["run"].tolist()
        reader = pa.RecordBatchReader.from_stream(data)
        total = duckdb.from_arrow(reader).aggregate("sum(run)").fetchall()
        assert total == [(int(truth["run"].sum()),)]
        if hasattr(pd.DataFrame, "from_arrow"):
            assert pd.DataFrame.from_arrow(data)["run"].tolist() == truth["run"].tolist()


def test_conversions_have_the_same_values(tree, truth):
    assert tree.to_pandas(["run"])["run"].tolist() == truth["run"].tolist()
    assert tree.to_polars(["pt"])["pt"].to_list() == truth["pt"].tolist()
    array = tree.to_awkward(["pt", "run"], entries=slice(0, 50))
    assert ak.to_list(array["pt"]) == truth["pt"][:50].tolist()
    assert tree.scan(["run"]).to_pandas()["run"].tolist() == truth["run"].tolist()


def test_numpy_views_flat_columns_without_a_copy(tree, truth):
    table = tree.to_arrow()
    arrays = to_numpy(table)
    np.testing.assert_array_equal(arrays["weight"], truth["weight"])
    np.testing.assert_array_equal(arrays["good"], truth["good"])
    assert arrays["good"].dtype == np.bool_
    if table["weight"].num_chunks == 1:
        address = table["weight"].chunk(0).buffers()[1].address
        assert arrays["weight"].__array_interface__["data"][0] == address
    assert arrays["pt"].dtype == object
    assert [row.tolist() for row in arrays["pt"]] == truth["pt"].tolist()
    assert arrays["pt"][0].dtype == np.float32


def test_a_slice_of_a_table_is_converted_from_where_it_begins(tree, truth):
    part = tree.to_arrow(["pt", "run"])[100:110]
    assert [row.tolist() for row in to_numpy(part)["pt"]] == truth["pt"][100:110].tolist()
    assert part.to_pydict()["run"] == truth["run"][100:110].tolist()
    assert part.to_pylist()[0]["run"] == truth["run"][100]


def test_arrays_of_fixed_shape_become_numpy_arrays_of_that_shape():
    inner = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(24, dtype=np.int16)), 3)
    outer = pa.FixedSizeListArray.from_arrays(inner, 2)
    arrays = to_numpy(pa.table({"m": outer, "text": ["a", "b", "c", "d"]}))
    np.testing.assert_array_equal(arrays["m"], np.arange(24, dtype=np.int16).reshape(4, 2, 3))
    assert arrays["text"].tolist() == ["a", "b", "c", "d"]
    nested = pa.table({"v": [[[1], []], [], [[2, 3]]]})
    assert [[list(i) for i in row] for row in to_numpy(nested[1:])["v"]] == [[], [[2, 3]]]


def test_a_missing_library_is_named_with_the_command_that_installs_it(tree, monkeypatch):
    for library in ("pandas", "polars", "awkward"):
        monkeypatch.setitem(sys.modules, library, None)
        for data in (tree, tree.scan(["run"])):
            with pytest.raises(ImportError, match=f"pip install {library}$"):
                getattr(data, f"to_{library}")()


def test_friends_are_read_side_by_side(sample, tmp_path):
    extra = write_tree(tmp_path / "friend.root", seed=8, extra=np.arange(N_ENTRIES) * 0.5)
    friend = ar.open(tmp_path / "friend.root")["Events"]
    both = ar.open(sample[0])["Events"]
    both.add_friend(friend, "f")
    scan = both.scan(["f.run", "run", "extra", "f.pt"], entries=slice(10, 900), batch_size="4 kB")
    assert scan.column_names == ["f.run", "run", "extra", "f.pt"]
    assert all(name in both for name in ("run", "extra", "f.run", "f.extra"))
    assert "f.nothing" not in both
    table = scan.read_all()
    assert table["f.run"].to_pylist() == extra["run"][10:900].tolist()
    assert table["run"].to_pylist() == sample[1]["run"][10:900].tolist()
    assert table["extra"].to_pylist() == extra["extra"][10:900].tolist()
    assert table["f.pt"].to_pylist() == extra["pt"][10:900].tolist()
    assert scan.plan.n_entries == scan.stats.n_entries == 890
    assert "f.weight" in both.schema.names
    assert "extra" in both.schema.names
    assert pl.DataFrame(both.scan(["run", "extra"])).shape == (N_ENTRIES, 2)
    with pytest.raises(ar.InvalidRequestError, match="alias"):
        both.add_friend(friend, "f")
    write_tree(tmp_path / "short.root", n_entries=10)
    with pytest.raises(ar.InvalidRequestError, match="has only 10 entries"):
        both.add_friend(ar.open(tmp_path / "short.root")["Events"])


def test_a_real_file_in_directories_is_read(conformance):
    file = ar.open(conformance / "skhep" / "uproot-nesteddirs.root")
    assert file.trees == ["one/two/tree", "one/tree", "three/tree"]
    assert file["one"]["two/tree"].num_entries == file["one/two/tree"].num_entries == 100
    table = file["one/two/tree"].to_arrow(["Int32", "ArrayInt32", "SliceFloat64"])
    assert table["Int32"].to_pylist() == list(range(100))
    assert to_numpy(table)["ArrayInt32"].shape == (100, 10)


def test_text_that_is_not_utf8_is_an_error_that_says_what_helps(tmp_path):
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "text.root"
    with uproot.recreate(path, compression=None) as file:
        file.mktree("t", {"name": "string"}).extend({"name": ["abc", "defg", "hi"]})
    content = path.read_bytes()
    assert content.count(b"defg") == 1
    tree = ar.open(path)["t"]
    assert tree.to_arrow()["name"].to_pylist() == ["abc", "defg", "hi"]
    assert tree.to_arrow(strings="binary").schema.field("name").type == pa.binary()
    path.write_bytes(content.replace(b"defg", b"d\xe9fg"))
    tree = ar.open(path)["t"]
    with pytest.raises(
        ar.InvalidTextError, match=r"""column "name", entry 1: the text b"d\\xe9fg" .*"binary\""""
    ) as caught:
        tree.to_arrow()
    assert isinstance(caught.value, UnicodeError)
    assert not isinstance(caught.value, ar.InvalidRequestError)
    with pytest.raises(ar.InvalidTextError, match="entry 1:"):
        tree.to_arrow(entries=[2, 1])
    with pytest.raises(ar.InvalidTextError, match="entry 1:"):
        list(tree.scan(batch_size="1 B"))
    replaced = tree.to_arrow(strings="replace")
    assert replaced["name"].to_pylist() == ["abc", "d\ufffdfg", "hi"]
    assert replaced.schema.field("name").type == pa.string()
    expected = [b"abc", b"d\xe9fg", b"hi"]
    assert tree.to_arrow(strings="binary")["name"].to_pylist() == expected
    assert ar.scan(path, strings="binary").read_all()["name"].to_pylist() == expected
    assert list(tree.scan(strings="binary").to_numpy()["name"]) == expected


def test_maps_become_lists_of_pairs_for_awkward():
    kind = pa.list_(pa.map_(pa.string(), pa.list_(pa.int16())))
    table = pa.table({"m": pa.array([[[("a", [1, 2])], []], []], type=kind)})
    assert to_awkward(table)["m"].to_list() == [[[{"key": "a", "value": [1, 2]}], []], []]


def test_errors_are_of_the_package_and_come_alone(sample):
    for name in ar.__all__:
        value = getattr(ar, name)
        if isinstance(value, type) and issubclass(value, Exception):
            assert value.__module__ == "arrowroot", name
    with pytest.raises(ar.UnsupportedError) as caught:
        ar.scan(sample[0], "dir/text")
    assert caught.value.__context__ is None


def test_arrow_types_are_spelled_as_pyarrow_does(conformance):
    for name in ("uproot-nesteddirs.root", "uproot-HZZ-objects.root"):
        file = ar.open(conformance / "skhep" / name)
        for tree in map(file.__getitem__, file.trees):
            schema = tree.schema
            for column in tree.columns:
                if column.arrow_type is not None:
                    kind = str(schema.field(column.name).type)
                    assert column.arrow_type == kind.replace("item: ", "").replace(" not null", "")


def test_columns_of_a_group_are_matched_with_it(conformance):
    tree = ar.open(conformance / "skhep" / "uproot-mc10events.root")["Events"]
    inside = [branch.path for branch in tree.matching("Info")]
    assert inside[0] == "Info"
    assert len(inside) > 1
    assert all(path == "Info" or path.startswith("Info/") for path in inside)


def test_a_column_of_arrays_is_found_by_the_name_that_root_gives_it(conformance):
    tree = ar.open(conformance / "gohep" / "stdvec-bool-fullsplit-6.10.08.root")["tree"]
    assert tree["ArrayBool[10]"].to_arrow().equals(tree["evt/ArrayBool[10]"].to_arrow())
    assert tree["ArrayBool[10]"].type.list_size == 10
    for pattern in ("Array*[10]", "!ArrayBool[10]"):
        with pytest.raises(ar.InvalidRequestError, match="no single column"):
            tree[pattern]


def test_requests_that_make_no_sense_are_refused_with_what_is_near(sample, tmp_path):
    with uproot.recreate(tmp_path / "many.root") as file:
        for i in range(20):
            file[f"run{i:02}/same"] = "text"
        file["samo"] = "text"
    (tmp_path / "text.root").write_text("this is no ROOT file, but it is as long as a header\n" * 9)
    (tmp_path / "sample.root").symlink_to(sample[0])
    session("requests", tmp_path, {"ar": ar})
    with pytest.raises(KeyError) as caught:
        ar.open(sample[0])["events"]
    assert (type(caught.value), caught.value.nearest) == (ar.NoSuchKeyError, ["Events"])
    with pytest.raises(OSError, match="nothing"):
        ar.open("nothing.root")


def test_the_text_of_many_columns_has_the_first_few_and_how_to_list_all(tmp_path, capsys):
    ar.write(f"{tmp_path}/many.root:t", {f"c{number}": [1.0] for number in range(1000)})
    tree = ar.open(tmp_path / "many.root")["t"]
    for listed in (tree.columns, tree.branches):
        text = repr(listed)
        assert len(text.splitlines()) <= 6
        assert len(text) < 1000
        assert "c4" in text
        assert "and 995 more" in text
        assert (len(listed), listed[999].name, len(listed[-2:])) == (1000, "c999", 2)
        assert listed == list(listed)
        assert isinstance(listed, list)
    assert pickle.loads(pickle.dumps(tree.columns)) == tree.columns  # noqa: S301 - of this test
    print_all = re.search(r"print\(.*\)", repr(tree.columns))[0]
    exec(print_all, {"tree": tree})  # noqa: S102 - of this package
    assert len(capsys.readouterr().out.splitlines()) == 1000
    ar.write(f"{tmp_path}/few.root:t", {f"c{number}": [1.0] for number in range(20)})
    few = ar.open(tmp_path / "few.root")["t"].columns
    assert repr(few) == repr(list(few))
