"""Settings of writing are understood in every spelling, and what makes no sense is told with what would."""

from pathlib import Path

import pytest

import arrowroot as ar
from arrowroot._layout.settings import (
    TRIED,
    BasketRule,
    FlushRule,
    basket_rule,
    codec_number,
    codec_numbers,
    flush_rule,
    page_bytes,
)
from arrowroot._writing.location import local_path, path_and_name


@pytest.mark.parametrize(
    ("codec", "number"),
    [
        ("zstd", 505),
        ("ZSTD:7", 507),
        (("zstd", 5), 505),
        (505, 505),
        (None, 0),
        (0, 0),
        ("none", 0),
        ("zlib", 101),
        ("lz4", 404),
        ("lzma", 207),
        ("default", None),
        ("auto", TRIED),
    ],
)
def test_codecs_in_every_spelling(codec, number):
    assert codec_number(codec) == number


@pytest.mark.parametrize(
    "codec",
    [
        "zstandard",
        "zstd:",
        "zstd:0",
        "zstd:10",
        "zstd:x",
        pytest.param("zstd:" + "9" * 5000, id="a huge level in a text"),
        pytest.param(10**5000, id="a huge number"),
        pytest.param(("zstd", 10**5000), id="a huge level"),
        ("zstd",),
        ("zstd", "5"),
        1,
        305,
        599,
        1.5,
        True,
        ("lz4", True),
    ],
)
def test_other_codecs_are_refused_with_what_is_possible(codec):
    with pytest.raises(ar.InvalidRequestError, match="zstd, zlib, lz4 and lzma, levels 1 to 9"):
        codec_number(codec)


def test_codecs_by_column_are_those_of_the_first_pattern():
    names = ["Muon_pt", "Muon_eta", "run"]
    rules = {"Muon_pt": None, "Muon_*": "lz4"}
    assert codec_numbers(rules, None, "ttree", names, "t") == [0, 404, 101]
    assert codec_numbers(rules, None, "rntuple", names, "t") == [0, 404, 505]
    assert codec_numbers({"*": "default"}, 207, "ttree", names, "t") == [207] * 3
    with pytest.raises(ar.NoSuchColumnError, match="Moun"):
        codec_numbers({"Moun_*": "lz4"}, None, "ttree", names, "t")


def test_clusters_end_by_bytes_by_entries_or_never():
    assert flush_rule("30 MB", "ttree") == FlushRule("bytes", 30_000_000, 300_000_000)
    assert flush_rule(1000, "rntuple") == FlushRule("entries", 1000)
    assert flush_rule(None, "ttree") == FlushRule("never", 0)
    assert flush_rule("auto", "ttree") == FlushRule("bytes", 30_000_000)
    assert flush_rule("auto", "rntuple") == FlushRule("bytes", 128 << 20)


@pytest.mark.parametrize(
    "flush", [0, -1, "1000", "x MB", 1.5, True, pytest.param(10**5000, id="a huge number")]
)
def test_other_clusters_are_refused(flush):
    with pytest.raises(ar.InvalidRequestError, match="flush"):
        flush_rule(flush, "ttree")


def test_an_rntuple_has_clusters():
    with pytest.raises(ar.InvalidRequestError, match="clusters"):
        flush_rule(None, "rntuple")


def test_sizes_of_baskets_and_pages_are_bounded():
    assert basket_rule(None, "rntuple") == BasketRule("fitted")
    assert basket_rule("32 kB", "ttree") == BasketRule("fixed", 32_000)
    assert page_bytes("32 kB", "rntuple") == 32_000
    with pytest.raises(ar.InvalidRequestError, match="basket_size"):
        basket_rule("2 GB", "ttree")


def test_a_size_of_what_the_format_does_not_have_is_told():
    with pytest.raises(ar.InvalidRequestError, match=r"basket_size.*page_size"):
        basket_rule("32 kB", "rntuple")
    with pytest.raises(ar.InvalidRequestError, match=r"page_size.*basket_size"):
        page_bytes("32 kB", "ttree")


def test_titles_are_texts(tmp_path):
    for options in ({"title": 5}, {"titles": 5}, {"titles": {"x": 5}}, {"titles": {5: "x"}}):
        with pytest.raises(ar.InvalidRequestError, match="title"):
            ar.write(f"{tmp_path}/out.root:t", {"x": [1]}, **options)
    assert list(tmp_path.iterdir()) == []


def test_paths_of_this_machine_are_written_and_other_stores_are_told_what_to_do(tmp_path, monkeypatch):
    assert local_path(tmp_path / "x.root") == str(tmp_path / "x.root")
    assert local_path("file:///data/a%20b.root") == "/data/a b.root"
    monkeypatch.setenv("HOME", "/home/me")
    assert local_path("~/x.root") == "/home/me/x.root"
    for url, hint in [
        ("root://host//x.root", "xrdcp"),
        ("s3://bucket/x.root", "aws s3 cp"),
        ("https://h/x.root", "copy"),
    ]:
        with pytest.raises(ar.InvalidRequestError, match=hint):
            local_path(url)
    with pytest.raises(ar.InvalidRequestError, match="written on this machine") as error:
        local_path("https://user:SECRET@host/x.root")
    assert "SECRET" not in str(error.value)
    for wrong in ("", "file://host/x.root", 5):
        with pytest.raises(ar.InvalidRequestError):
            local_path(wrong)


def test_a_table_is_named_after_its_file():
    assert path_and_name("out.root:Events") == ("out.root", "Events")
    assert path_and_name("dir/out.root:a/Events") == ("dir/out.root", "a/Events")
    with pytest.raises(ar.InvalidRequestError, match=r"'out:Events' names no tree.*\.root"):
        path_and_name("out:Events")


@pytest.mark.parametrize("path", ["s3://b/f.parquet", "root://host//f.parquet", "https://h/f.out:x"])
def test_a_store_is_refused_before_a_suffix(path):
    with pytest.raises(ar.InvalidRequestError, match="written on this machine"):
        path_and_name(path)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("f.parquet", "f.root"),
        ("f.root:t", r"create\('f.root'\).*tree\('t'"),
    ],
)
def test_a_file_of_root_is_called_like_one(tmp_path, monkeypatch, path, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ar.InvalidRequestError, match=words):
        ar.create(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("out.root", "out.root:Events"),
        (Path("out.root"), "out.root:Events"),
        (b"out.root", "out.root:Events"),
        ("out", "out.root:Events"),
        ("out:", "out.root:Events"),
        ("out:Events", "out.root:Events"),
        (Path("out.root:Events"), "out.root:Events"),
        ("out.parquet", "out.root:Events"),
        ("dir.d/out.feather", "dir.d/out.root:Events"),
        ("dir/", "dir/data.root:Events"),
    ],
)
def test_advice_is_taken(path, advice):
    with pytest.raises(ar.InvalidRequestError) as caught:
        path_and_name(path)
    assert repr(advice) in str(caught.value)
    assert path_and_name(advice) == tuple(advice.split(":"))
