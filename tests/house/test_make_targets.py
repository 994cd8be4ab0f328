"""The Makefile has what the documents promise, and each target says what it does."""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conftest

REPOSITORY = Path(__file__).parents[2]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


@functools.cache
def make(*arguments):
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=REPOSITORY,
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def documented_targets():
    names = set()
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (REPOSITORY / document).read_text(encoding="utf-8")
        names |= set(re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.MULTILINE))
    return sorted(names)


def test_help_lists_the_targets_with_descriptions():
    lines = dict(re.findall(r"^ *make ([a-z-]+) +(\S.*)$", make("help"), re.MULTILINE))
    assert {"demo", "test", "bench", "wheel", "fuzz", "lint", "format", "build", "clean"} <= lines.keys()


def test_documents_name_targets():
    assert "demo" in documented_targets()


@pytest.mark.parametrize("target", documented_targets())
def test_documented_target_exists_and_is_in_help(target):
    assert re.search(rf"^ *make {target} +\S", make("help"), re.MULTILINE)


def test_ci_runs_make_test():
    script = REPOSITORY / ".ci" / "run"
    text = script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in text
    assert text.rstrip().endswith("exec make test")


#: Stands for Python and arrowroot: notes what it is asked, and fails or waits at some of it.
PROGRAM = """#!{python}
import os, signal, sys, time
asked = " ".join(sys.argv[1:])
with open("asked", "a") as file:
    file.write(asked + "\\n")
if os.environ.get("WAITS", "nothing") in asked:
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    print("waiting", flush=True)
    time.sleep(60)
sys.exit(os.environ.get("FAILS", "nothing") in asked)
"""


@pytest.fixture
def steps(tmp_path):
    """The script of the classics with programs that only note what they are asked."""
    (tmp_path / "tools").mkdir()
    shutil.copy(REPOSITORY / "tools" / "classics.sh", tmp_path / "tools")
    shutil.copytree(REPOSITORY / "campaigns", tmp_path / "campaigns")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("python", "arrowroot"):
        path = tmp_path / ".venv" / "bin" / name
        path.write_text(PROGRAM.format(python=sys.executable))
        path.chmod(0o755)

    def start(**variables):
        # A shell in the background would have it ignore the interrupt.
        command = ["env", "--default-signal=INT", tmp_path / "tools" / "classics.sh"]
        return subprocess.Popen(
            command, env={**ENVIRONMENT, **variables}, start_new_session=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return start, lambda: (tmp_path / "asked").read_text().splitlines()


def test_a_classic_that_fails_leaves_the_others_their_turn_and_is_told_at_the_end(steps):
    start, asked = steps
    process = start()
    process.communicate()
    assert process.returncode == 0
    whole = asked()
    assert [line for line in whole if line.startswith("lab publish")]
    written = [line for line in whole if line.endswith("--write")]
    assert len(written) == 5
    process = start(FAILS="lab run campaigns/classics/cms-2010.toml")
    _, said = process.communicate()
    assert process.returncode == 1
    assert asked() == 2 * whole
    assert said.splitlines()[-1].endswith("lab run campaigns/classics/cms-2010.toml --db demo/classics.db")
    # A file that was not written again is not taken for new.
    process = start(FAILS="campaigns.parallel_output")
    process.communicate()
    assert process.returncode == 1
    assert set(written) - set(asked()[2 * len(whole) :]) == {
        "lab classics cms-2017 --file demo/peers.json --write"
    }


def test_an_interrupt_ends_the_classics(steps):
    start, asked = steps
    process = start(WAITS="cms-2010.toml")
    assert process.stdout.readline() == "waiting\n"
    os.killpg(process.pid, signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert "cms-2010.toml" in asked()[-1]


def test_without_root_no_classic_is_begun(steps):
    start, asked = steps
    process = start(FAILS="check_root.py")
    _, said = process.communicate()
    assert (process.returncode, asked()) == (1, ["tools/check_root.py"])
    assert "need ROOT" in said


def test_files_that_quick_and_oldest_leave_out_are_there():
    named = [*conftest._SLOW.items(), ("python", conftest._OWN)]
    paths = [REPOSITORY / "tests" / room / f"test_{name}.py" for room, names in named for name in names]
    assert not [path for path in paths if not path.exists()]


def test_the_first_build_and_the_demo_say_what_comes_before_what_takes_long(tmp_path):
    for name in ("Makefile", "pyproject.toml", "lab/pyproject.toml", "Cargo.toml", "crates"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(REPOSITORY / name)
    command = ["make", "--no-print-directory", "--dry-run", "demo"]
    plan = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    lines = plan.stdout.splitlines()
    said = {
        number: line.removeprefix("echo ")[1:-1]
        for number, line in enumerate(lines)
        if line.startswith("echo ")
    }
    assert max(map(len, said.values())) <= 80
    long = (
        "venv --clear",
        "install --group",
        "install --editable",
        "maturin develop",
        "arrowroot sample",
        "lab run",
    )
    for number, line in enumerate(lines):
        if any(words in line for words in long):
            assert re.search(r"\(\d+ (s|min)\b", said[number - 1]), line
    assert len(said) > len(long)


@pytest.mark.skipif(sys.platform != "linux", reason="manylinux is of Linux")
def test_make_wheel_builds_for_old_systems_and_judges_the_wheel():
    lines = make("--dry-run", "wheel").splitlines()
    build, of_relay = (number for number, line in enumerate(lines) if "maturin build" in line)
    (judge,) = (number for number, line in enumerate(lines) if "tools/check_wheel.py" in line)
    for number in (build, of_relay):
        assert re.search(r"--zig --target \S+-linux-gnu --compatibility manylinux_2_17 ", lines[number])
    assert build < of_relay < judge


def test_make_relocatable_installs_the_wheels_and_what_is_asked_for():
    lines = make(
        "--dry-run", "relocatable", "WITH=uproot", "RELOCATABLE_PYTHON=/opt/bin/python3"
    ).splitlines()
    told = " ".join(lines[-2:]).replace("\\", "").split()
    assert told == ["/opt/bin/python3", "tools/relocatable.py", "dist/arrowroot-lab", "dist/*.whl", "uproot"]


def test_a_python_of_the_system_is_not_copied(tmp_path):
    told = "import runpy, sys; sys.base_prefix = '/usr'; sys.argv = ['', sys.argv[1]]; "
    told += f"runpy.run_path({str(REPOSITORY / 'tools' / 'relocatable.py')!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", told, tmp_path / "out"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "the Python of /usr cannot be copied" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not os.environ.get("ARROWROOT_SOAK"), reason="builds for minutes: make wheel")
def test_make_wheel_makes_wheels_that_work_in_a_clean_environment():
    assert re.search(r"wheel: dist/arrowroot-.*, \d\.\d MB, .* work in a clean environment$", make("wheel"))
