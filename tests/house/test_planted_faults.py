"""Planted faults: the command says which of them are caught, and each has its row in the table."""

import difflib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

spec = importlib.util.spec_from_file_location("planted_faults", REPOSITORY / "tools" / "planted_faults.py")
planted_faults = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = planted_faults  # dataclasses look there
spec.loader.exec_module(planted_faults)

CODE = "def half(n):\n    return n // 2\n\n\ndef double(n):\n    return 2 * n\n"
TESTS = "import sys\nfrom code_of import double, half\nassert half(4) == 2, print('FAILED test_half')\n"
FAULTS = {
    "01-half": ("Half is a third.", CODE, "n // 2", "n // 3"),
    "02-double": ("Double is the triple.", CODE, "2 * n", "3 * n"),
    "03-moved": ("It is not there.", CODE.replace("2 * n", "n + n"), "n + n", "n"),
    "04-chance": ("It fails at times.", CODE, "2 * n", "print('FAILED x') or 2 * n"),
}


def patch_of(what, code, old, new):
    lines = (text.splitlines(keepends=True) for text in (code, code.replace(old, new)))
    return f"{what}\n\n" + "".join(difflib.unified_diff(*lines, "a/code_of.py", "b/code_of.py"))


@pytest.fixture
def repository(tmp_path):
    """A repository with a room of four faults, and an edit that is not committed."""

    def git(*arguments):
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *author, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "code_of.py").write_text(CODE)
    (tmp_path / "judge.py").write_text(
        TESTS
        + "sys.exit('alone' not in sys.argv and double(1) == 2 and 'FAILED' in open('code_of.py').read())\n"
    )
    room = tmp_path / planted_faults.FAULTS / "room"
    room.mkdir(parents=True)
    for name, fault in FAULTS.items():
        (room / f"{name}.patch").write_text(patch_of(*fault))
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "all")
    (tmp_path / "code_of.py").write_text("nonsense")
    return tmp_path


def outcomes(repository):
    return planted_faults.recorded((repository / planted_faults.FAULTS / "README.md").read_text())


def test_faults_are_told_apart_and_compared_with_the_table(repository, monkeypatch, capsys):
    room = planted_faults.Room((sys.executable, "-B", "judge.py"), (), ("alone", "{}"), r"FAILED (\S+)")
    monkeypatch.setattr(planted_faults, "ROOMS", {"room": room})
    readme = repository / planted_faults.FAULTS / "README.md"
    readme.write_text("# Faults\n\n" + planted_faults.table(repository, {}))
    # One does not apply. The other room has no faults, and no fault is there when it is judged.
    assert planted_faults.run(repository, {"room": room, "other": room}, records=True) == 1
    said = capsys.readouterr().out
    assert said.splitlines()[-2:] == ["room: 1 of 4 caught", "other: 0 of 0 caught"], said
    found = {fault: outcome for (_, fault), outcome in outcomes(repository).items()}
    assert found == {
        "01-half": "test_half",
        "02-double": planted_faults.MISSED,
        "03-moved": planted_faults.NOT_APPLIED,
        "04-chance": planted_faults.UNSTEADY,
    }
    assert (repository / "code_of.py").read_text() == "nonsense"

    readme.write_text(readme.read_text().replace("| missed |", "| `test_double` |"))
    (repository / planted_faults.FAULTS / "room" / "03-moved.patch").unlink()
    assert planted_faults.run(repository, {"room": room}, records=False) == 1
    assert "room/02-double: missed, and was caught by test_double" in capsys.readouterr().out
    assert outcomes(repository)["room", "02-double"] == "test_double"

    for patch in (repository / planted_faults.FAULTS / "room").glob("0[24]*"):
        patch.unlink()
    assert planted_faults.run(repository, {"room": room}, records=False) == 0


def test_each_fault_has_its_row_and_says_what_is_wrong():
    found = outcomes(REPOSITORY)
    rooms = {room: planted_faults.patches(REPOSITORY, room) for room in planted_faults.ROOMS}
    assert {(room, patch.stem) for room, paths in rooms.items() for patch in paths} == found.keys()
    assert {len(paths) for paths in rooms.values()} == {10}
    for path in (path for paths in rooms.values() for path in paths):
        what, empty, *diff = path.read_text().splitlines()
        assert what.endswith(".")
        assert "|" not in what
        assert (empty, diff[0][:6]) == ("", "--- a/")
