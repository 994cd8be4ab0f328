import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

SOURCE = """
import pathlib, pytest

HERE = pathlib.Path(__file__).parent

def test_passes():
    pass

@pytest.mark.parametrize("name", ["a b", "c"])
def test_fails_beside_others(name):
    marker = HERE / name
    if not marker.exists():
        marker.touch()
        raise AssertionError("the first time")
"""
ALWAYS = """
def test_fails_always():
    assert False
"""
#: The hooks of all our tests.
CONFTEST = """
from tests.conftest import pytest_addoption, pytest_configure
"""


def run(folder: Path, *arguments: str, source: str, is_ci: bool = True) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    (folder / "pytest.ini").touch()
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(source)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI"))}
    environ |= {"PYTHONPATH": str(TESTS.parent), **({"CI": "true"} if is_ci else {})}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "test_it.py"]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_fails_beside_others_alone_is_told_and_no_failure(tmp_path, workers):
    done = run(tmp_path / "it", "-n", workers, source=SOURCE)
    assert done.returncode == 0, done.stdout
    assert "2 failed, 1 passed" in done.stdout
    assert (
        "failed beside others and passed alone, a defect to be mended: "
        "test_it.py::test_fails_beside_others[a b], test_it.py::test_fails_beside_others[c]\n"
    ) in done.stdout


def test_what_fails_again_is_a_failure(tmp_path):
    done = run(tmp_path / "it", source=SOURCE + ALWAYS)
    assert done.returncode == 1
    assert "a defect to be mended" not in done.stdout


def test_many_failures_are_not_asked_again(tmp_path):
    many = "\n".join(ALWAYS.replace("always", f"always_{number}") for number in range(4))
    done = run(tmp_path / "it", source=many)
    assert done.returncode == 1
    assert "once more" not in done.stdout


def test_a_developer_sees_each_failure(tmp_path):
    done = run(tmp_path / "it", source=SOURCE, is_ci=False)
    assert done.returncode == 1
    assert "once more" not in done.stdout
