"""What is said of files that are cut short or damaged, by the API and by the command."""

import json
import random

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


def test_a_replica_that_is_whole_goes_before_one_that_is_not(two_trees, tmp_path):
    page, cut = tmp_path / "page.root", tmp_path / "cut.root"
    page.write_text("<!DOCTYPE html><html><body>Who are you?</body></html>")
    cut.write_bytes(two_trees.read_bytes()[:-2000])
    for urls, expected in (([page, cut, two_trees], two_trees), ([page, cut], cut)):
        with ar.open([str(url) for url in urls]) as file:
            assert (file.url, file.was_recovered) == (str(expected), expected == cut)
    with pytest.raises(ar.CorruptFileError, match="HTML page"):
        ar.open([str(page), str(tmp_path / "nothing.root")])


def damage(path, tree):
    """Make the tree's object longer than its record, which uproot does not compress."""
    with ar.open(path) as file:
        key = next(key for key in file._native.keys() if key.path == tree)  # noqa: SIM118 - no dict
    content = bytearray(path.read_bytes())
    content[key.offset + key.stored_bytes - key.object_bytes + 1] = 0xFF
    path.write_bytes(content)


def test_a_tree_of_less_than_no_entries_is_corrupt(two_trees):
    content = bytearray(two_trees.read_bytes())
    with ar.open(two_trees) as file:
        key = next(key for key in file._native.keys() if key.path == "A")  # noqa: SIM118 - no dict
        n_entries = file["A"].num_entries
    start = key.offset + key.stored_bytes - key.object_bytes
    place = content.index(n_entries.to_bytes(8, "big"), start)
    content[place : place + 8] = (-n_entries).to_bytes(8, "big", signed=True)
    two_trees.write_bytes(content)
    with (
        ar.open(two_trees) as file,
        pytest.raises(ar.CorruptFileError, match=f"a tree of -{n_entries} entries"),
    ):
        file["A"]


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


CUT_SHORT = "the file is cut short, its last"


@pytest.mark.parametrize(
    "command",
    [
        ["ls"],
        ["head"],
        ["perf"],
        ["tune", "--budget-seconds", "0"],
        ["index", "-o", "{folder}/i.parquet", "--columns", "run"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("n_bytes", [None, 0, 3, 50, 200, 1000, "random"])
def test_a_broken_file_is_the_datas_fault_in_every_command(sample, tmp_path, capsys, command, n_bytes):
    path = tmp_path / "broken.root"
    if n_bytes == "random":
        path.write_bytes(random.Random(1).randbytes(10_000))
    elif n_bytes is not None:
        path.write_bytes(sample[0].read_bytes()[:n_bytes])
    arguments = [part.format(folder=tmp_path) for part in command]
    assert main([arguments[0], str(path), *arguments[1:]]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "broken.root: " in error
    assert "bug" not in error


def test_what_is_not_there_in_a_file_that_was_cut_short_may_be_lost(sample, tmp_path, capsys):
    path = tmp_path / "cut.root"
    path.write_bytes(sample[0].read_bytes()[:1000])
    for command in ("head", "perf", "show"):
        assert main([command, f"{path}:Events"]) == 1
        assert CUT_SHORT in capsys.readouterr().err
    with ar.open(path) as file:
        for missed in (lambda: file["Events"], file.only_tree):
            with pytest.raises(ar.LostKeyError) as caught:
                missed()
            assert isinstance(caught.value, ar.NoSuchKeyError)
            assert isinstance(caught.value, ar.CorruptFileError)
    # In a whole file it is the request's.
    assert main(["head", f"{sample[0]}:Nothing"]) == 2


def test_who_reads_what_is_left_of_a_file_is_told(two_trees, tmp_path, capsys):
    two_trees.write_bytes(two_trees.read_bytes()[:-2000])
    assert main(["ls", str(two_trees)]) == 1
    done = capsys.readouterr()
    assert "A  TTree, 1,000 entries" in done.out
    assert done.err.count(CUT_SHORT) == 1
    for arguments in (
        ["ls", f"{two_trees}:A"],
        ["head", f"{two_trees}:A"],
        ["perf", f"{two_trees}:A"],
        ["tune", f"{two_trees}:A", "--budget-seconds", "0"],
        ["index", f"{two_trees}:A", "-o", str(tmp_path / "i.parquet"), "--columns", "run"],
    ):
        assert main(arguments) == 0
        assert capsys.readouterr().err.count(CUT_SHORT) == 1
    with ar.open(two_trees) as file, pytest.warns(ar.CutShortWarning, match=CUT_SHORT) as caught:
        assert file["A"].num_entries == 1000
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(ar.CutShortWarning, match=CUT_SHORT) as caught:
        assert ar.scan([f"{two_trees}:A", f"{two_trees}:A"]).num_entries == 2000
    assert caught[0].filename == __file__


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".xml"])
def test_broken_traces_and_reports_are_the_datas_fault(sample, tmp_path, capsys, suffix):
    whole = tmp_path / f"whole{suffix}"
    assert (
        main(["perf", str(sample[0]), "-c", "run", "--fjr" if suffix == ".xml" else "--trace", str(whole)])
        == 0
    )
    line = ["--latency", "5ms", "--bandwidth", "12MB/s"]
    commands = [["fjr"], ["model", *line]] if suffix == ".xml" else [["replay", *line]]
    content = whole.read_bytes()
    broken = {"none": None, "random": random.Random(1).randbytes(5000)}
    broken |= {str(n): content[:n] for n in (0, 4, 100, len(content) // 2)}
    for name, part in broken.items():
        path = tmp_path / f"{name}{suffix}"
        if part is not None:
            path.write_bytes(part)
        for command, *options in commands:
            capsys.readouterr()
            assert main([command, str(path), *options]) == 1, name
            error = capsys.readouterr().err
            assert error.count("\n") == 1
            assert path.name in error
            assert "bug" not in error


def test_head_shows_what_can_be_read_before_it_fails_for_the_others(two_trees, arrowroot_command):
    uproot = pytest.importorskip("uproot")
    with uproot.open(two_trees) as file:
        key = file["A/weight"].basket_key(0)
    content = bytearray(two_trees.read_bytes())
    content[key.fSeekKey + key.fNbytes // 2 : key.fSeekKey + key.fNbytes] = bytes(
        key.fNbytes - key.fNbytes // 2
    )
    two_trees.write_bytes(content)
    done = arrowroot_command("head", f"{two_trees}:A", "-n", 2, "--json", check=False)
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    assert [entry["run"] for entry in entries] == [7000, 7001]
    assert all(set(entry) == {"run", "good", "npt", "pt"} for entry in entries)
    assert done.returncode == 1
    assert "two.root: weight: corrupt data" in done.stderr
    named = arrowroot_command("head", f"{two_trees}:A", "-n", 2, "-c", "run,weight", check=False)
    assert (named.returncode, named.stdout) == (1, "")
