"""What is said of files that are cut short or damaged, by the API and by the command."""

import json

import pytest

import arrowroot as ar
from arrowroot.cli import main

from .conftest import write_tree


@pytest.fixture
def two_trees(tmp_path):
    path = tmp_path / "two.root"
    write_tree(path, names=("A", "B"))
    return path


def test_a_file_that_is_cut_short_says_by_how_much(two_trees, arrowroot_command):
    whole = two_trees.read_bytes()
    with ar.open(two_trees) as file:
        assert (file.missing_bytes, file.was_recovered) == (0, False)
        assert "cut short" not in repr(file)
    two_trees.write_bytes(whole[:-2000])
    with ar.open(two_trees) as file:
        assert file.missing_bytes == 2000
        assert file.was_recovered
        assert "cut short by 2.00 kB, recovered" in repr(file)
        with pytest.raises(
            ar.NoSuchKeyError, match=r"'Nothing'; the file is cut short, its last 2.00 kB are"
        ):
            file["Nothing"]
    assert "cut short by 2.00 kB, recovered" in arrowroot_command("ls", two_trees, check=False).stdout
    document = json.loads(arrowroot_command("ls", two_trees, "--json", check=False).stdout)
    assert (document["missing_bytes"], document["was_recovered"]) == (2000, True)


def damage(path, tree):
    """Make the tree's object longer than its record, which uproot does not compress."""
    with ar.open(path) as file:
        key = next(key for key in file._native.keys() if key.path == tree)  # noqa: SIM118 - no dict
    content = bytearray(path.read_bytes())
    content[key.offset + key.stored_bytes - key.object_bytes + 1] = 0xFF
    path.write_bytes(content)


def test_ls_shows_the_other_trees_and_exits_with_the_code_of_the_damage(two_trees, arrowroot_command):
    damage(two_trees, "A")
    done = arrowroot_command("ls", two_trees, check=False)
    assert done.returncode == 1
    assert "A  TTree:" in done.stdout
    assert "B  TTree, 1,000 entries" in done.stdout
    assert done.stderr.startswith("arrowroot: ")
    assert arrowroot_command("ls", two_trees, "--keys").returncode == 0
    assert arrowroot_command("ls", f"{two_trees}:B").returncode == 0


def test_ls_exits_with_3_if_a_tree_is_not_readable_yet(two_trees, monkeypatch, capsys):
    opened = ar.File.__getitem__

    def refuse(file, name):
        if name.startswith("A"):
            raise ar.UnsupportedError("a tree of tomorrow")
        return opened(file, name)

    monkeypatch.setattr(ar.File, "__getitem__", refuse)
    assert main(["ls", str(two_trees)]) == 3
    out = capsys.readouterr()
    assert "a tree of tomorrow" in out.out
    assert "B  TTree, 1,000 entries" in out.out
    assert out.err == "arrowroot: a tree of tomorrow\n"
