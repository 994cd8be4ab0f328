from itertools import permutations
from pathlib import Path

import pytest

import arrowroot as ar
from arrowroot._storage import url
from arrowroot._storage.url import expand, natural_key
from tests.command import run_here
from tests.recorded import session


def test_files_and_trees_are_told_apart(tmp_path):
    session("urls", tmp_path, {**vars(url), "Path": Path})


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("http//host/x.root", "http://host/x.root"),
        ("http:/host/x.root", "http://host/x.root"),
        ("HTTPS:host/x.root", "https://host/x.root"),
        ("root:/host//x.root", "root://host//x.root"),
        ("root//host//x", "root://host//x"),
        ("s3:/bucket/x.root", "s3://bucket/x.root"),
        ("file:/data/x.root", "/data/x.root"),
    ],
)
def test_a_mistyped_url_is_told_with_what_was_meant(tmp_path, monkeypatch, typed, meant):
    monkeypatch.chdir(tmp_path)
    for read in (
        ar.open,
        ar.scan,
        lambda path: ar.merge("o.root", path),
        lambda path: ar.skim(path, "o.root"),
    ):
        with pytest.raises(ar.NoSuchFileError) as caught:
            read(typed)
        assert str(caught.value).endswith(f"; did you mean {meant}?")
    for words in (["ls", typed], ["convert", typed, "o.parquet"]):
        assert run_here(*words).stderr.endswith(f"; did you mean {meant}?\n")


def test_mistyped_urls_of_other_formats_and_patterns_are_told_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for typed in ("http:/host/x.parquet", "http//host/x.arrow"):
        said = run_here("convert", typed, "o.root").stderr
        assert f"there is no such file; did you mean http://host/x.{typed.rpartition('.')[2]}?" in said
    for read in (ar.open, ar.scan):
        with pytest.raises(ar.NoSuchFileError, match=r"did you mean http://host/\*\.root\?"):
            read("http:/host/*.root")
    # The secret of a URL stays out of it.
    assert "word" not in url.meant_url("http:/me:word@host/x.root")


@pytest.mark.parametrize(
    "name", ["x.root", "data/x.root", "http/x.root", "root/x.root", "a:b.root", "roots", "s3:x"]
)
def test_a_path_that_looks_like_no_url_is_told_as_it_is(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ar.NoSuchFileError) as caught:
        ar.open(name)
    assert "did you mean" not in str(caught.value)


def test_equal_numbers_are_in_the_order_of_their_texts():
    names = ["run0.root", "run00.root", "run01.root", "run1.root", "run1", "run", "run1.root2"]
    natural = ["run", "run0.root", "run00.root", "run1", "run01.root", "run1.root", "run1.root2"]
    for found in permutations(names):
        assert sorted(found, key=natural_key) == natural
    long = "stream " + "0" * 5000
    names = [long + "7" * 5000, long + "7" * 4999 + "8", long + "1" * 5001, long + "9"]
    assert sorted(names, key=natural_key) == [names[3], names[0], names[1], names[2]]


def test_globs_expand_recursively_in_natural_order(tmp_path):
    for name in ("run10.root", "run2.root", "deep/er/run1.root", "[x].root", "note.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    flat = [str(tmp_path / name) for name in ("run2.root", "run10.root")]
    assert expand(f"{tmp_path}/run*.root", "T") == [(path, "T") for path in flat]
    assert expand([f"{tmp_path}/run*.root:U", tmp_path / "note.txt"], "T") == [
        *((path, "U") for path in flat),
        (str(tmp_path / "note.txt"), "T"),
    ]
    assert len(expand(f"{tmp_path}/**/*.root", None)) == 4
    assert expand(f"{tmp_path}/[x].root", None) == [(f"{tmp_path}/[x].root", None)]
