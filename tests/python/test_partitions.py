"""Pieces of trees are together the whole, exactly, wherever they are read."""

import os
import pickle
import threading

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arrowroot as ar
from arrowroot._api import row
from arrowroot._storage import readers

from .conftest import write_tree

SIZES = (900, 350, 1200)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("partitions")
    parts = [write_tree(folder / f"run{i}.root", n_entries=n, seed=i) for i, n in enumerate(SIZES)]
    return folder, {name: np.concatenate([part[name] for part in parts]) for name in ("run", "weight", "npt")}


def whole_of(files):
    return ar.scan(files[0] / "run*.root", tree="Events").read_all()


@pytest.mark.parametrize("target", ["1 kB", "5 kB", "20 kB", "1 GB"])
def test_pieces_are_the_whole_and_end_at_clusters(files, target):
    pieces = ar.partitions(files[0] / "run*.root", "Events", target=target)
    tables = [pickle.loads(pickle.dumps(piece)).read() for piece in pieces]  # noqa: S301 - our own
    assert pa.concat_tables(tables).equals(whole_of(files))
    assert [piece.num_entries for piece in pieces] == [table.num_rows for table in tables]
    for piece in pieces:
        clusters = ar.open(piece.location)["Events"].clusters
        assert set(piece.entries) <= set(clusters)
    n_clusters = sum(-(-n // 300) for n in SIZES)
    assert len(pieces) == {"1 kB": n_clusters, "1 GB": 3}.get(target, len(pieces))
    assert 3 <= len(pieces) <= n_clusters


def test_far_away_files_that_were_not_kept_open_are_opened_again_together(files, monkeypatch):
    expected = ar.partitions(files[0] / "run*.root", "Events", target="1 kB")
    monkeypatch.setattr(row, "_N_KEPT_OPEN", 1)
    monkeypatch.setattr(row, "_COMPACT_BYTES", 0)
    monkeypatch.setattr(readers, "scheme_of", lambda _location: "https")
    both = threading.Barrier(2, timeout=60)
    open_again = row.Member.open_again

    def opened_together(member):
        both.wait()
        return open_again(member)

    monkeypatch.setattr(row.Member, "open_again", opened_together)
    assert ar.partitions(files[0] / "run*.root", "Events", target="1 kB") == expected


def test_no_basket_is_read_twice(files):
    pieces = ar.partitions(files[0] / "run*.root", "Events", ["weight", "pt"], target="1 kB")
    n_baskets = sum(piece.scan().plan.n_baskets for piece in pieces)
    assert (
        n_baskets == ar.scan(files[0] / "run*.root", tree="Events", columns=["weight", "pt"]).plan.n_baskets
    )


def test_a_piece_reads_fewer_columns_if_asked_and_only_its_own(files):
    piece = ar.partitions(files[0] / "run0.root", "Events", ["weight", "pt"], filter="run % 2 == 0")[0]
    assert piece.read("weight")["weight"].to_pylist() == whole_of(files)["weight"].to_pylist()[:900:2]
    assert piece.scan(["pt"]).schema.names == ["pt"]
    with pytest.raises(ar.InvalidRequestError, match="not made with column 'run'"):
        piece.read("run")


def test_the_filter_is_that_of_each_piece(files):
    text = "weight > 0 && npt > 1"
    pieces = ar.partitions(files[0] / "run*.root", "Events", ["run"], filter=text, target="3 kB")
    found = [run for piece in pieces for run in piece.read()["run"].to_pylist()]
    mask = (files[1]["weight"] > 0) & (files[1]["npt"] > 1)
    assert found == files[1]["run"][mask].tolist()
    with pytest.raises(ar.NoSuchColumnError, match="filter"):
        ar.partitions(files[0] / "run*.root", "Events", filter="nothing > 0")


def test_a_filter_of_pyarrow_travels_too(files):
    (piece,) = ar.partitions(files[0] / "run0.root", "Events", ["run"], filter=pc.field("npt") > 2)
    again = pickle.loads(pickle.dumps(piece))  # noqa: S301 - our own
    assert again == piece
    assert len({again, piece}) == 1
    assert again.read() == ar.open(piece.location)["Events"].to_arrow("run", filter="npt > 2")
    assert again != ar.partitions(files[0] / "run0.root", "Events", ["run"])[0]


@pytest.mark.parametrize("condition", [None, "double > 0.5", "last % 2 == 0"])
@pytest.mark.parametrize("columns", [None, ["leading", "run"], ["Sum(pt)", "doubl*"], ["run"]])
def test_definitions_travel_too(files, columns, condition):
    define = {"double": "2 * weight", "leading": "Max(pt) + double", "last": "run % 10"}
    given = {"columns": columns, "filter": condition, "define": define}
    pieces = ar.partitions(files[0] / "run*.root", "Events", target="1 kB", **given)
    whole = ar.scan(files[0] / "run*.root", "Events", **given).to_arrow()
    again = pickle.loads(pickle.dumps(pieces))  # noqa: S301 - our own
    assert again == pieces
    assert pa.concat_tables([piece.read() for piece in again]).equals(whole)
    assert again[0].read(whole.column_names[-1:]).column_names == whole.column_names[-1:]


def test_a_piece_has_the_definitions_that_it_needs(files):
    define = {"double": "2 * weight", "four": "2 * double", "last": "run % 10", "more": "last + 1"}
    given = files[0] / "run0.root", "Events", ["four"]
    (piece,) = ar.partitions(*given, filter="more < 5", define=define)
    assert piece.define == define
    (alone,) = ar.partitions(*given, define=define)
    assert alone.define == {"double": "2 * weight", "four": "2 * double"}
    assert alone != ar.partitions(*given, define={**define, "double": "3 * weight"})[0]
    assert alone.memory_bytes == ar.partitions(*given[:2], ["weight"])[0].memory_bytes
    assert ar.partitions(*given[:2], ["run"], define=define)[0].define is None
    with pytest.raises(ar.NoSuchColumnError, match="define: four"):
        ar.partitions(*given, define={"four": "2 * nothing"})


def test_a_piece_shows_no_secrets_and_takes_its_options_along(files):
    options = {"token": "verysecret", "cache_size": "1 MB"}
    pieces = ar.partitions(files[0] / "run0.root", "Events", ["run"], **options)
    text = repr(pieces[0])
    assert "verysecret" not in text
    assert "token=(hidden)" in text
    assert "cache_size='1 MB'" in text
    again = pickle.loads(pickle.dumps(pieces[0]))  # noqa: S301 - our own
    assert again == pieces[0]
    assert again.storage == options


def test_pieces_of_other_urls_have_other_names_for_dask(files):
    """What is not shown of a URL may say which file it is."""
    (one,), (other,) = (
        ar.partitions(f"file://{files[0]}/run0.root?arrowroot.token={name}", "Events", target="1 GB")
        for name in ("a", "b")
    )
    assert repr(one) == repr(other)
    assert one.__dask_tokenize__() != other.__dask_tokenize__()
    assert one.__dask_tokenize__() == pickle.loads(pickle.dumps(one)).__dask_tokenize__()  # noqa: S301 - our own
    assert not any(secret in str(one.__dask_tokenize__()) for secret in ("token=a", "token=b"))


def test_a_file_that_has_changed_since_is_refused(tmp_path):
    write_tree(tmp_path / "a.root", n_entries=400)
    piece = ar.partitions(tmp_path / "a.root", "Events")[0]
    write_tree(tmp_path / "a.root", n_entries=400, seed=9)
    with pytest.raises(ar.InvalidRequestError, match="has changed since its partitions were made"):
        piece.read()


@pytest.mark.parametrize("replaced", ["a", "friend"])
def test_a_file_without_a_uuid_that_was_replaced_is_refused(tmp_path, replaced):
    (tmp_path / "new").mkdir()
    for folder in (tmp_path, tmp_path / "new"):
        for name, column in (("a", "x"), ("friend", "y")):
            ar.write(f"{folder}/{name}.root:T", {column: np.arange(9)}, reproducible=True, compression="none")
    path, new = tmp_path / f"{replaced}.root", tmp_path / "new" / f"{replaced}.root"
    assert path.stat().st_size == new.stat().st_size
    friends = {"f": f"{tmp_path}/friend.root:T"}
    (piece,) = ar.partitions(tmp_path / "a.root", "T", ["x", "f.y"], friends=friends)
    assert piece.read().num_rows == 9
    copy = pickle.loads(pickle.dumps(piece))  # noqa: S301 - our own
    os.utime(new, ns=(0, path.stat().st_mtime_ns + 1))
    new.replace(path)
    with pytest.raises(
        ar.InvalidRequestError, match=rf"{replaced}\.root:T: has changed since its partitions"
    ):
        copy.read()
    if replaced == "friend":
        assert copy.read(["x"]).num_rows == 9, "a file that is not read may be another"


def test_a_tree_of_nothing_is_one_empty_piece(tmp_path):
    write_tree(tmp_path / "none.root", n_entries=0)
    (piece,) = ar.partitions(tmp_path / "none.root", "Events")
    assert piece.read().num_rows == 0
