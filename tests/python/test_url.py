from itertools import permutations

import pytest

from arrowroot import InvalidRequestError, NoSuchFileError
from arrowroot._storage.url import each, expand, natural_key, split_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run.root", ("run.root", None)),
        ("run.root:Events", ("run.root", "Events")),
        ("run.root:dir/Events;2", ("run.root", "dir/Events;2")),
        ("a:b.root", ("a:b.root", None)),
        ("a:b.root:T", ("a:b.root", "T")),
        ("root://host:1094//x.root", ("root://host:1094//x.root", None)),
        ("root://host:1094//x.root:T", ("root://host:1094//x.root", "T")),
        ("https://host/x.root", ("https://host/x.root", None)),
        ("run:", ("run:", None)),
        (":T", (":T", None)),
        ("data/*.root:T", ("data/*.root", "T")),
        ("run.root:dir/a::b", ("run.root", "dir/a::b")),
        ("root://host:1094//x.root:a:b/c", ("root://host:1094//x.root", "a:b/c")),
        ("root://host:1094//x", ("root://host:1094//x", None)),
    ],
)
def test_the_tree_stands_after_the_last_colon_behind_a_file_name(text, expected):
    assert split_url(text) == expected


@pytest.mark.parametrize("text", ["run.root:", "root://host//x.root:", "data/*.root::"])
def test_a_colon_without_a_tree_is_told(text):
    with pytest.raises(InvalidRequestError, match="names no tree") as caught:
        split_url(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("path", ["a\0b", b"root\0\0", "f.root:a\0"])
def test_no_path_has_a_nul(path):
    with pytest.raises(InvalidRequestError, match="has no NUL"):
        expand(path, None)


def test_a_colon_in_the_name_of_an_existing_file_is_no_separator(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "12:30").touch()
    (tmp_path / "x.root:T").touch()
    (tmp_path / "plain").touch()
    assert split_url("12:30") == ("12:30", None)
    assert split_url("12:30:T") == ("12:30", "T")
    assert split_url("x.root:T") == ("x.root:T", None)
    assert split_url("plain:T") == ("plain", "T")
    assert split_url("pl*:T") == ("pl*", "T")
    (tmp_path / "a.root").touch()
    assert split_url("a.root:b.root:c/T") == ("a.root", "b.root:c/T")
    assert split_url("gone.root:b.root:c/T") == ("gone.root:b.root", "c/T")


def test_natural_order_counts():
    assert sorted(["run10", "run2", "a", "2", "run2b"], key=natural_key) == [
        "2",
        "a",
        "run2",
        "run2b",
        "run10",
    ]


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


def test_nothing_to_read_is_an_error(tmp_path):
    with pytest.raises(NoSuchFileError, match="no file matches"):
        expand(f"{tmp_path}/*.root", None)
    with pytest.raises(InvalidRequestError, match="empty"):
        expand([], None)


def test_a_mapping_has_the_tree_of_each_file(tmp_path):
    for name in ("a1.root", "a2.root", "b.root"):
        (tmp_path / name).touch()
    given = {f"{tmp_path}/a*.root": "T", tmp_path / "b.root": "U", f"{tmp_path}/a1.root:V": None}
    assert expand(given, "W") == [
        (f"{tmp_path}/a1.root", "T"),
        (f"{tmp_path}/a2.root", "T"),
        (f"{tmp_path}/b.root", "U"),
        (f"{tmp_path}/a1.root", "V"),
    ]
    assert expand({"x.root": None}, "W") == [("x.root", "W")]
    with pytest.raises(InvalidRequestError, match="which tree, 'T' or 'U'"):
        expand({"x.root:T": "U"}, None)
    with pytest.raises(InvalidRequestError, match="the name of its tree, got 3"):
        expand({"x.root": 3}, None)
    with pytest.raises(InvalidRequestError, match="not trees by their files"):
        each({"x.root": "T"})


def test_open_files_are_not_taken_for_lists_of_names(tmp_path):
    (tmp_path / "x").write_bytes(b"root")
    with (tmp_path / "x").open("rb") as file, pytest.raises(InvalidRequestError, match="not the file object"):
        each(file)
