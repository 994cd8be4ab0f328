"""The Makefile has what the documents promise, and each target says what it does."""

import functools
import os
import re
import subprocess
from pathlib import Path

import pytest

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
