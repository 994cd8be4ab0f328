"""Every way in which ROOT goes through a tree or an RNTuple of ours finds what was written, and says nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arrowroot as ar
from tests.judge import root

from . import routes_with_root
from .invariants import assert_sound
from .test_root_goes_on import assert_holds, table_of

LAYOUTS = ("ttree", "rntuple")


@pytest.fixture(scope="module")
def tables() -> list[pa.Table]:
    return [table_of(seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, tables: list[pa.Table]) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("routes")
    titles = {"met": "missing p_{T} [GeV]", "Muon_pt": "p[3]/F", "label": "/* two */\nlines"}
    for name, table in zip("ab", tables, strict=True):
        for layout, ending in (("ttree", ""), ("rntuple", "_rntuple")):
            path = directory / f"{name}{ending}.root"
            ar.write(f"{path}:Events", table, layout=layout, flush=90, titles=titles, title="of two")
    ar.write(f"{directory}/friend.root:Events", {"other": np.arange(500.0)})
    read: dict[str, Any] = root.run(routes_with_root.find, directory, complaints_but=root.SAID_OF_ITS_OWN)
    return read


def sums(*tables: pa.Table) -> list[float]:
    """Entries, sums of runs, of met, of all Muon_pt, and of the lengths of labels."""
    whole = pa.concat_tables(tables)
    flat = np.asarray(whole["Muon_pt"].combine_chunks().flatten(), np.float64)
    return [
        whole.num_rows,
        pc.sum(whole["run"]).as_py(),
        float(np.asarray(whole["met"], np.float64).sum()),
        float(flat.sum()),
        pc.sum(pc.binary_length(whole["label"])).as_py(),
    ]


def lists(table: pa.Table) -> list[list[float]]:
    values: list[list[float]] = table["Muon_pt"].to_pylist()
    return values


@pytest.mark.long
def test_readers_and_addresses_find_all_values(found, tables):
    for name, wanted in (
        ("reader", sums(tables[0])[:4]),
        ("reader of a chain", sums(*tables)[:4]),
        ("addresses", sums(tables[0])),
        ("addresses of a chain", sums(*tables)),
        ("ntuple reader", sums(tables[0])),
        ("frame", sums(*tables)[:4]),
        ("frame of ntuples", sums(*tables)[:4]),
        ("cloned", sums(tables[0])),
        ("cloned anew", sums(tables[0])),
        ("copied", sums(tables[0].filter(pc.field("run") > 3))),
    ):
        np.testing.assert_allclose(found[name], wanted, rtol=1e-6, err_msg=name)


def test_draw_and_scan_find_all_values(found, tables):
    met = np.asarray(tables[0]["met"], np.float64)
    assert found["draw"] == sorted(met)
    assert found["draw lists"] == sorted(pt for one in lists(tables[0]) if len(one) > 1 for pt in one)
    assert found["draw of a chain"] == sorted(one[0] for table in tables for one in lists(table) if one)
    assert found["draw a text"] == tables[0]["label"].to_pylist().count("signal")
    np.testing.assert_allclose(found["friends"], sorted(met + np.arange(500.0)), rtol=1e-6)
    assert found["indexed"] == list(range(500))
    assert found["scanned"][0] >= 500
    assert found["scanned"][1]
    assert found["printed"] is True


def test_a_class_that_root_makes_of_a_tree_reads_another(found, tables):
    run, met, pt = (tables[1][name][7].as_py() for name in ("run", "met", "Muon_pt"))
    assert found["made class"] == [run, met, len(pt), True]


def test_the_inspector_of_an_rntuple_knows_it(found):
    assert found["ntuple inspector"] == [500, 1, 1, 1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("options", [(), ("-ff",), ("-f404",), ("-O",), ("-fk",)], ids=" ".join)
def test_hadd_merges_files_of_ours(tmp_path, layout, options):
    tables = [table_of(seed) for seed in (1, 2, 3)]
    # hadd of ROOT 6.40 makes an empty RNTuple of those in directories, of its own too.
    name = "deep/Events" if layout == "ttree" else "Events"
    files = []
    for number, table in enumerate(tables):
        files.append(tmp_path / f"{number}.root")
        with ar.create(files[-1]) as out:
            out.tree(name, layout=layout, flush=100, compression=["zstd", "lz4", None][number]).append(table)
            out["h"] = np.histogram(np.arange(10), 5)
    merged = tmp_path / "merged.root"
    root.program("hadd", *options, merged, *files)
    with ar.open(merged) as file:
        assert file["h"].values().tolist() == [6, 6, 6, 6, 6]
        events = file[name].to_arrow()
    ar.write(f"{tmp_path}/again.root:Events", events)
    assert_holds(tmp_path / "again.root", pa.concat_tables(tables))
    # ROOT describes TIOFeatures twice, as it does when it merges files of its own.
    assert_sound(merged, but=["info-once"])


def test_rootls_lists_what_there_is(tmp_path):
    path = tmp_path / "f.root"
    with ar.create(path) as out:
        out.tree("deep/Events", layout="ttree", title="of mine").append({"x": [1.0]})
        out.tree("Other", layout="rntuple").append({"x": [1.0]})
        out["h"] = np.histogram(np.arange(10), 5)
    listed = root.program("rootls", "-l", path)
    assert "RNTuple" in listed
    assert "TH1D" in listed
    assert "TDirectory" in listed
    assert "x" in root.program("rootls", "-t", f"{path}:deep/Events")
