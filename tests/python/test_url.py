from itertools import permutations
from pathlib import Path

from arrowroot._storage import url
from arrowroot._storage.url import expand, natural_key
from tests.recorded import session


def test_files_and_trees_are_told_apart(tmp_path):
    session("urls", tmp_path, {**vars(url), "Path": Path})


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
