"""Files by the hundred: all of one schema share what was found out of it, and none what only looks alike."""

from __future__ import annotations

import os
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot import _native
from arrowroot._storage import config
from arrowroot._storage import readers as _readers

N_FILES = int(os.environ.get("ARROWROOT_FILES", "300"))
N_COLUMNS = 60


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return files of one schema, of different entries, clusters and largest counts, by three writers' runs."""
    folder = tmp_path_factory.mktemp("files")
    kinds = []
    for kind, n in enumerate((3, 40, 7)):
        lists = [np.arange(i % (kind + 2), dtype=np.float32) for i in range(n)]
        columns = {f"c{i}": np.arange(n, dtype=np.int32) + i for i in range(N_COLUMNS)}
        with ar.create(folder / f"kind{kind}") as file:
            table = pa.table({**columns, "list": lists})
            file.tree("T", table.schema, flush=5).append(table)
        kinds.append((folder / f"kind{kind}", n))
    paths = []
    for i in range(N_FILES):
        path, n = kinds[i % 3]
        paths.append((folder / f"f{i:05}.root", n))
        os.link(path, paths[-1][0])
    return paths


@pytest.fixture
def opened(monkeypatch):
    """Return the files that are opened, as they are."""
    found = []
    open_native = _readers.open_native

    def note(urls, *arguments):
        found.append(urls[0])
        return open_native(urls, *arguments)

    monkeypatch.setattr(_readers, "open_native", note)
    return found


@pytest.mark.parametrize("options", [{}, {"filter": "c7 >= 7"}], ids=["plain", "filter"])
def test_files_of_one_schema_are_compiled_and_opened_once(files, opened, options):
    columns = [*(f"c{i}" for i in range(9)), "list"]
    ar.scan(files[0][0], "T", columns, **options).drain()
    assert ar.open(files[0][0])["T"].schema
    opened.clear()
    known = _native.schema_counts()
    scan = ar.scan([path for path, _ in files], "T", columns, **options)
    n_rows = sum(batch.num_rows for batch in scan)
    assert n_rows == sum(n for _, n in files)
    assert _native.schema_counts() == known
    counts = Counter(opened)
    assert len(counts) == len(files)
    n_opened_twice = sum(counts.values()) - len(files)
    # What is kept of them is bounded by bytes.
    assert n_opened_twice == 0 or len(files) > 10_000


def test_what_is_set_around_the_files_of_a_row_is_looked_up_once(files, monkeypatch):
    looked = []
    find = config.files
    monkeypatch.setattr(config, "files", lambda: looked.append(True) or find())
    assert ar.scan([path for path, _ in files[:9]], "T", ["c3"]).num_entries == sum(n for _, n in files[:9])
    assert looked == [True]


def test_values_of_files_of_one_schema_are_their_own(files):
    scan = ar.scan([path for path, _ in files[:6]], "T", ["c3", "list"])
    table = scan.to_arrow()
    expected = [i + 3 for _, n in files[:6] for i in range(n)]
    assert table["c3"].to_pylist() == expected
    lengths = [i % (number % 3 + 2) for number, (_, n) in enumerate(files[:6]) for i in range(n)]
    assert [len(one) for one in table["list"].to_pylist()] == lengths


def test_what_only_looks_alike_is_not_shared(tmp_path):
    kinds = {"int": np.int32, "float": np.float32, "unsigned": np.uint32, "wide": np.int64}
    for _ in range(2):  # the second time each is known, and another was the last
        for name, kind in kinds.items():
            with uproot.recreate(tmp_path / f"{name}.root") as file:
                file.mktree("T", {"x": kind, "y": np.int32})
                file["T"].extend({"x": np.arange(3, dtype=kind), "y": np.arange(3, dtype=np.int32)})
            column = ar.open(tmp_path / f"{name}.root")["T"].to_arrow()["x"]
            assert (
                str(column.type).removesuffix("32").removesuffix("64")
                == {
                    "int": "int",
                    "float": "float",
                    "unsigned": "uint",
                    "wide": "int",
                }[name]
            )
            assert column.to_pylist() == [0, 1, 2]


def test_columns_in_another_order_are_another_schema(tmp_path):
    for name, order in (("a", ["x", "y"]), ("b", ["y", "x"])):
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file.mktree("T", dict.fromkeys(order, np.int32))
            file["T"].extend({"x": np.full(3, 1, np.int32), "y": np.full(3, 2, np.int32)})
    for name in "abab":
        table = ar.open(tmp_path / f"{name}.root")["T"].to_arrow(["x", "y"])
        assert (table["x"].to_pylist(), table["y"].to_pylist()) == ([1] * 3, [2] * 3)


def test_trees_of_one_schema_have_the_columns_that_each_records(tmp_path):
    kinds = {zone: pa.timestamp("s", zone) for zone in ("UTC", "Europe/Paris", "Asia/Tokyo")}
    for zone, kind in kinds.items():
        ar.write(f"{tmp_path}/{zone[:3]}.root:T", {"t": pa.array([1, 2, 3], kind)})
    for _ in range(2):  # the second time some are known
        for zone, kind in kinds.items():
            column = ar.open(tmp_path / f"{zone[:3]}.root")["T"].to_arrow()["t"]
            assert column.type == kind
            assert column.cast(pa.int64()).to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_a_bounded_number_of_schemas_is_kept(tmp_path, layout):
    n_met, *_ = _native.schema_counts()
    for i in range(40):
        table = pa.table({f"only_here_{layout}_{i}": np.arange(3, dtype=np.int32)})
        with ar.create(tmp_path / f"{i}.root") as file:
            file.tree("T", table.schema, layout=layout).append(table)
        assert ar.open(tmp_path / f"{i}.root")["T"].to_arrow().num_rows == 3
    met, _, n_kept, kept_bytes = _native.schema_counts()
    # An RNTuple has an attribute set, which is one, too: of the same schema in all.
    assert 40 <= met - n_met <= 41
    assert n_kept <= 2 * 16
    assert kept_bytes <= 2 * 16 << 20


def test_rntuples_of_one_schema_are_known_by_every_byte_of_it(tmp_path):
    numbers = pa.table({"x": pa.array([1, 2, 3], pa.int32()), "y": [["a"], [], ["b", "c"]]})
    others = {
        "values": pa.table({"x": pa.array([7, 8], pa.int32()), "y": [[], ["d"]]}, numbers.schema),
        "type": pa.table({"x": pa.array([1, 2, 3], pa.uint32()), "y": numbers["y"]}),
        "name": numbers.rename_columns(["x", "z"]),
        "order": numbers.select(["y", "x"]),
    }
    tables = {"first": numbers, **others}
    for name, table in tables.items():
        with ar.create(tmp_path / f"{name}.root") as file:
            file.tree("T", table.schema, layout="rntuple").append(table)
    n_met, *_ = _native.schema_counts()
    for _ in range(2):
        for name, table in tables.items():
            read = ar.open(tmp_path / f"{name}.root")["T"].to_arrow()
            assert read.equals(table), name
    met, *_ = _native.schema_counts()
    assert 4 <= met - n_met <= 5  # "values" has that of the first; their attribute sets have one of their own


def cpu_s(work):
    """Return the CPU time that some work takes."""
    before = time.process_time()
    work()
    return time.process_time() - before


@pytest.mark.skipif(not os.environ.get("ARROWROOT_SOAK"), reason="measures; make soak-files")
def test_the_cost_of_a_file_is_told(files):
    paths = [path for path, _ in files]
    costs = {
        "opening and reading the bytes": cpu_s(lambda: [path.read_bytes() for path in paths]),
        "opening the tree of each": cpu_s(lambda: [ar.open(path)["T"].num_entries for path in paths]),
        "scan of ten columns": cpu_s(lambda: ar.scan(paths, "T", ["c*3", "list"]).drain()),
        "with a filter": cpu_s(lambda: ar.scan(paths, "T", ["c*3", "list"], filter="c7 > 9").drain()),
    }
    for name, cost in costs.items():
        print(f"{name}: {1000 * cost / len(paths):.3f} ms of CPU a file")


@pytest.mark.parametrize("condition", [None, "x >= 0"])
def test_a_file_without_a_uuid_that_became_another_is_an_error(tmp_path, monkeypatch, condition):
    monkeypatch.setattr("arrowroot._api.row._COMPACT_BYTES", 0)
    monkeypatch.setattr("arrowroot._api.row._N_KEPT_OPEN", 1)
    for name, first in (("a", 0), ("b", 100), ("c", 200)):
        path = f"{tmp_path}/{name}.root:T"
        ar.write(path, {"x": np.arange(first, first + 9)}, reproducible=True, compression="none")
    assert (tmp_path / "b.root").stat().st_size == (tmp_path / "c.root").stat().st_size
    scan = ar.scan([tmp_path / "a.root", tmp_path / "b.root"], "T", filter=condition)
    os.utime(tmp_path / "c.root", ns=(0, 10**18))
    (tmp_path / "c.root").replace(tmp_path / "b.root")
    with pytest.raises(ar.StorageError, match=r"b\.root: the file changed"):
        scan.to_arrow()
