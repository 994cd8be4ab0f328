"""Collections of Dask have the same values as one scan, whatever their workers are, and read no more than they use."""

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

from .conftest import write_tree

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")
dak = pytest.importorskip("dask_awkward")
ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

ard = pytest.importorskip("arrowroot.dask")

pytestmark = [
    # Dask's own, of its imports.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    for i, n in enumerate((900, 350)):
        write_tree(folder / f"run{i}.root", n_entries=n, seed=i)
    return str(folder / "run*.root")


@pytest.fixture(scope="module")
def whole(files):
    return ar.scan(files, tree="Events").read_all()


@pytest.fixture
def client():
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def asked(monkeypatch):
    """The columns that pieces were asked for, in this process."""
    from arrowroot._api.partitions import Partition

    seen = []
    read = Partition.read

    def watched(self, columns=None, **options):
        seen.append(columns)
        return read(self, columns, **options)

    monkeypatch.setattr(Partition, "read", watched)
    return seen


def test_the_sum_over_worker_processes_is_the_whole(client, files, whole):
    frame = ard.dataframe(files, "Events", ["run", "weight", "npt"], target="3 kB")
    assert frame.npartitions > 4
    sums = client.compute(frame.sum()).result()
    assert int(sums["run"]) == sum(whole["run"].to_pylist())
    assert int(sums["npt"]) == sum(whole["npt"].to_pylist())
    assert len(client.run(lambda: __import__("os").getpid())) == 2
    array = ard.awkward(files, "Events", target="3 kB")
    total = client.compute(dak.sum(dak.num(array.pt, axis=1))).result()
    assert int(total) == sum(whole["npt"].to_pylist())
    entries = ard.bag(files, "Events", ["run", "npt"], target="3 kB", filter="npt > 2")
    runs = client.compute(entries.pluck("run").sum()).result()
    assert runs == sum(r["run"] for r in whole.to_pylist() if r["npt"] > 2)


def test_a_frame_has_the_values_in_order_and_reads_what_is_used(files, whole, asked):
    frame = ard.dataframe(files, "Events", target="3 kB", filter="npt >= 1 && weight > 0")
    assert asked == []
    rows = [r for r in whole.to_pylist() if r["npt"] >= 1 and r["weight"] > 0]
    assert list(frame.columns) == whole.column_names
    found = frame[["run", "weight"]].compute(scheduler="synchronous")
    assert found["run"].tolist() == [r["run"] for r in rows]
    assert found["weight"].tolist() == [r["weight"] for r in rows]
    assert asked == [["run", "weight"]] * frame.npartitions
    assert frame.dtypes.to_dict() == frame.compute(scheduler="synchronous").dtypes.to_dict()


def test_definitions_are_columns(files, asked):
    options = {"define": {"double": "2 * weight", "leading": "Max$(pt)"}, "filter": "double > 0"}
    found = ar.scan(files, "Events", ["run", "double", "leading"], **options).to_arrow()
    frame = ard.dataframe(files, "Events", target="3 kB", **options)
    assert frame["double"].compute(scheduler="sync").tolist() == found["double"].to_pylist()
    assert asked == [["double"]] * frame.npartitions
    array = ard.awkward(files, "Events", target="3 kB", **options)
    assert array.leading.compute(scheduler="sync").tolist() == found["leading"].to_pylist()
    entries = ard.bag(files, "Events", ["run", "double"], target="3 kB", **options).compute(scheduler="sync")
    assert entries == found.select(["run", "double"]).to_pylist()


def test_lists_in_a_frame_are_arrays_and_texts_are_texts(tmp_path):
    lists, texts = [[1.5, -0.25], [], [3.0] * 100], ["one", "", "three"]
    with uproot.recreate(tmp_path / "texts.root") as file:
        file.mkrntuple("Events", {"numbers": ak.Array(lists), "text": ak.Array(texts)})
    frame = ard.dataframe(tmp_path / "texts.root", "Events")
    found = frame.compute(scheduler="sync")
    assert [np.asarray(x).tolist() for x in found.numbers] == lists
    assert found.text.tolist() == texts
    assert (frame.dtypes == found.dtypes).all()
    assert found.dtypes.tolist() == [object, "string[pyarrow]"]


def test_an_array_has_the_values_in_order_and_reads_what_is_used(files, whole, asked):
    array = ard.awkward(files, "Events", target="3 kB")
    assert array.divisions[-1] == whole.num_rows
    found = array.pt.compute(scheduler="synchronous")
    assert found.to_list() == whole["pt"].to_pylist()
    assert asked == [["pt"]] * array.npartitions
    asked.clear()
    good = array.weight[array.npt > 2].compute(scheduler="synchronous")
    assert good.to_list() == [r["weight"] for r in whole.to_pylist() if r["npt"] > 2]
    assert {tuple(sorted(columns)) for columns in asked} == {("npt", "weight")}
    assert len(array.compute(scheduler="synchronous")) == whole.num_rows


def test_processes_of_the_multiprocessing_scheduler_read_too(files, whole):
    frame = ard.dataframe(files, "Events", ["weight"], target="10 kB")
    total = frame.weight.sum().compute(scheduler="processes", num_workers=2)
    assert np.isclose(total, sum(whole["weight"].to_pylist()))


def test_what_is_not_installed_is_named(files, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dask_awkward", None)
    with pytest.raises(ImportError, match=r"pip install dask-awkward$"):
        ard.awkward(files, "Events")


def test_the_categories_of_a_frame_are_not_known_before_it_is_read(tmp_path):
    texts = ["a", "b", None, "a"]
    ar.write(f"{tmp_path}/f.root:t", pa.table({"c": pa.array(texts).dictionary_encode(), "n": [1, 2, 3, 4]}))
    frame = ard.dataframe(tmp_path / "f.root", "t")
    assert not frame.c.cat.known
    assert frame.categorize().c.cat.categories.tolist() == ["a", "b"]
    assert frame.c.compute(scheduler="sync").dropna().tolist() == ["a", "b", "a"]


def test_a_frame_that_was_written_with_an_index_has_it_as_a_column(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": pd.array([1, None, 3], "Int64")}, index=pd.Index(["a", "b", "c"], name="i"))
    ar.write(f"{tmp_path}/f.root:t", pa.Table.from_pandas(frame))
    found = ard.dataframe(tmp_path / "f.root", "t")
    assert list(found.columns) == ["n", "i"]
    assert found.compute(scheduler="sync")["i"].tolist() == ["a", "b", "c"]
    assert found[["n"]].compute(scheduler="sync")["n"].tolist() == [1, pd.NA, 3]
