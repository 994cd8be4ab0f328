"""`arrowroot layout`: what metadata tell of trees and RNTuples, as text that fits and as JSON."""

import json

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot._report.layout import file_map, layout_of

N_ENTRIES = 6000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layout")
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 6, N_ENTRIES)
    flat = rng.normal(size=lengths.sum()).astype(np.float32)
    lists = pa.ListArray.from_arrays(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), pa.array(flat)
    )
    table = pa.table(
        {"x": rng.normal(size=N_ENTRIES), "event": np.arange(N_ENTRIES), "v_pt": lists, "v_eta": lists}
    )
    ar.write(f"{folder}/clustered.root:Events", table, flush=500)
    ar.write(f"{folder}/unflushed.root:Events", table, flush=None, basket_size="2 kB")
    ar.write(f"{folder}/ntuple.root:Events", table, layout="rntuple", flush=1000, page_size="4 kB")
    return folder


def test_text_fits_eighty_columns_and_says_what_matters(files, arrowroot_command, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    out = arrowroot_command("layout", f"{files / 'unflushed.root'}:Events").stdout
    assert max(map(len, out.splitlines()[1:])) <= 80  # the first line is the file
    assert "never flushed" in out
    assert "span: from the first to the last byte" in out
    assert "Which part of the file which entries need" in out
    assert "ROOT's OptimizeBaskets with 10.0 MB" in out
    assert "\x1b" not in out
    monkeypatch.setenv("COLUMNS", "60")
    narrow = arrowroot_command("layout", files / "clustered.root").stdout
    assert max(map(len, narrow.splitlines()[1:])) <= 60
    assert "flushed after 500 entries" in narrow


def test_of_an_ntuple_pages_and_clusters_are_told(files, arrowroot_command):
    path = files / "ntuple.root"
    document = json.loads(arrowroot_command("layout", f"{path}:Events", "--json").stdout)
    assert (document["form"], document["format"], document["optimize_baskets"]) == (
        "arrowroot.layout/1",
        "rntuple",
        None,
    )
    assert document["clusters"]["n"] == 6
    assert document["clusters"]["entries"] == {"smallest": 1000, "median": 1000, "largest": 1000}
    with uproot.open(path) as file:
        lists = file["Events"].page_link_list
    pages = [page for cluster in lists for column in cluster for page in column.pages]
    assert document["pieces"]["n"] == len(pages)
    # With the checksum behind each.
    stored = sum(page.locator.num_bytes + 8 for page in pages)
    assert sum(column["stored_bytes"] for column in document["columns"]) == stored
    # An entry needs one page at least of each column, all of one cluster.
    assert document["entry"]["n_pieces"]["smallest"] >= len(document["columns"])
    assert document["entry"]["span_bytes"]["largest"] <= document["clusters"]["stored_bytes"]["largest"] * 1.2
    assert document["pieces"]["n_over_clusters"] == 0


def test_json_of_a_tree_has_every_number(files, arrowroot_command):
    document = json.loads(arrowroot_command("layout", f"{files / 'clustered.root'}:Events", "--json").stdout)
    assert (document["format"], document["auto_flush"], document["num_entries"]) == ("ttree", 500, N_ENTRIES)
    assert document["clusters"]["n"] == 12
    with uproot.open(files / "clustered.root") as file:
        branches = {branch.name: branch for branch in file["Events"].branches}
    assert {column["path"] for column in document["columns"]} == set(branches)
    for column in document["columns"]:
        branch = branches[column["path"]]
        assert (column["n_pieces"], column["stored_bytes"]) == (branch.num_baskets, branch.compressed_bytes)
        assert column["basket_bytes"] > 0
        assert column["optimized_bytes"] > 0
    verdict = document["optimize_baskets"]
    assert verdict["max_memory_bytes"] == 10_000_000
    assert 0 < verdict["n_changed"] <= verdict["n_branches"] == len(branches)
    less = json.loads(
        arrowroot_command("layout", files / "clustered.root", "--json", "--basket-memory", "20 kB").stdout
    )
    assert less["optimize_baskets"]["memory_bytes"][1] < verdict["memory_bytes"][1]


def test_columns_are_chosen_by_name_and_with_what_is_inside(files, arrowroot_command):
    def paths(*arguments):
        out = arrowroot_command("layout", *arguments, "--json").stdout
        return [column["path"] for column in json.loads(out)["columns"]]

    assert paths(files / "clustered.root", "-c", "v_*") == ["v_pt", "v_eta"]
    assert paths(files / "clustered.root", "-c", "!v_*,!nv") == ["x", "event"]
    assert paths(files / "ntuple.root", "-c", "v_pt") == ["v_pt", "v_pt._0"]
    # The last word is not the one that counts, as in all commands.
    assert paths(files / "clustered.root", "-c", "!x,event,x") == ["event"]
    assert paths(files / "ntuple.root", "-c", "v_*,!v_eta,!v_pt._0") == ["v_pt"]
    nothing = arrowroot_command("layout", files / "clustered.root", "-c", "!*", check=False)
    assert (nothing.returncode, "'!*' leaves nothing" in nothing.stderr) == (2, True)
    refused = arrowroot_command("layout", files / "clustered.root", "-c", "v_phi", check=False)
    assert (refused.returncode, "v_p" in refused.stderr) == (2, True)


def test_columns_are_found_by_the_names_that_scans_find_them_by(conformance, tmp_path):
    tree = ar.open(conformance / "gohep" / "stdvec-bool-fullsplit-6.10.08.root")["tree"]

    def paths(tree, *names):
        return [column.path for column in layout_of(tree, names).columns]

    for name in ("ArrayBool[10]", "evt/ArrayBool[10]", "ArrayBool", "ArrayB*"):
        assert paths(tree, name) == tree.choose([name]) == ["evt/ArrayBool[10]"]
    assert set(tree.choose("evt")) <= set(paths(tree, "evt"))
    assert paths(tree, "evt", "!ArrayBool[10]") == [
        path for path in paths(tree, "evt") if path != "evt/ArrayBool[10]"
    ]
    records = [[{"pt": 1.5, "n": 2}], []]
    ar.write(f"{tmp_path}/records.root:t", {"muon": records}, layout="rntuple")
    ntuple = ar.open(tmp_path / "records.root")["t"]
    assert paths(ntuple, "muon.pt") == ["muon._0.pt"]
    assert "muon._0.pt" not in paths(ntuple, "!muon.pt")


def test_nothing_but_metadata_is_read(files):
    for name, n_more in (("clustered", 0), ("ntuple", 1)):
        with ar.open(files / f"{name}.root", strategy="direct") as file:
            tree = file["Events"]
            before = sum(account.n_attempted for account in file.accounts)
            layout_of(tree)
            after = sum(account.n_attempted for account in file.accounts)
        assert after - before <= n_more, name


def test_the_map_shows_each_byte_at_its_entries(files):
    with ar.open(files / "clustered.root") as file:
        tree = file["Events"]
        found = layout_of(tree)
        drawn = file_map(found, tree.num_entries, 12, 12)
    assert drawn is not None
    assert drawn.shares.shape == (12, 12)
    # Twelve clusters one after the other: a diagonal.
    assert np.all(np.argmax(drawn.shares, axis=1) == np.arange(12))
    heights = np.diff(drawn.offsets)[:, None]
    in_map = (drawn.shares * heights).sum()
    assert in_map >= found.pieces["stored_bytes"].sum() * 0.999
    with ar.open(files / "unflushed.root") as file:
        spread = file_map(layout_of(file["Events"]), N_ENTRIES, 12, 12)
    assert spread is not None
    assert np.count_nonzero(spread.shares) > np.count_nonzero(drawn.shares) + 5


def test_whole_columns_of_an_empty_table_are_no_error(tmp_path, arrowroot_command):
    for layout in ("ttree", "rntuple"):
        path = tmp_path / f"{layout}.root"
        ar.write(f"{path}:T", pa.table({"x": pa.array([], pa.float64())}), layout=layout)
        out = arrowroot_command("layout", path).stdout
        assert "0 entries" in out
        assert json.loads(arrowroot_command("layout", path, "--json").stdout)["pieces"]["n"] == 0


def test_bytes_that_equal_pages_share_count_once(tmp_path):
    zeros = np.zeros(10_000)
    path = tmp_path / "shared.root"
    ar.write(f"{path}:t", pa.table({"a": zeros, "b": zeros, "c": np.arange(10_000) % 77}), layout="rntuple")
    with ar.open(path) as file:
        tree = file["t"]
        a, b, c = (branch.stored_bytes for branch in tree.branches)
        assert a == b > 0
        assert tree.stored_bytes == a + c
        assert layout_of(tree).cluster_bytes.largest == tree.stored_bytes
