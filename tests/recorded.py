"""Questions and their whole answers, recorded and reviewed as a diff: ``ARROWROOT_RECORD=1`` records them anew.

A session is a text in ``tests/recorded``. Lines with ``$ `` are commands of arrowroot; lines with ``>>> `` are Python,
which goes on in lines with ``... ``. What follows, indented, is the answer: what the command printed, what it said on
its standard error behind ``! ``, and its exit code if that is not 0; the value, or the error. The rest is remarks.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import warnings
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import run_here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HERE = Path(__file__).with_suffix("")
#: Some tests take the variables of arrowroot away.
RECORDS = bool(os.environ.get("ARROWROOT_RECORD"))


def session(
    name: str, cwd: Path, names: Mapping[str, Any] | None = None, varying: Iterable[tuple[str, str]] = ()
) -> None:
    """Ask what is asked in a session, in a directory, and compare the answers with those that were recorded.

    names: what the lines of Python may use.
    varying: regular expressions of what differs each time, and what stands for it. The directory is called ``/cwd``.
    """
    path = HERE / f"{name}.txt"
    recorded = path.read_text(encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        patch.setenv("COLUMNS", "80")
        answered = "".join(_answered(recorded, {**(names or {})}, [(re.escape(str(cwd)), "/cwd"), *varying]))
    if RECORDS:
        path.write_text(answered, encoding="utf-8")
        return
    lines = (text.splitlines(keepends=True) for text in (recorded, answered))
    changes = "".join(difflib.unified_diff(*lines, "recorded", "answered", n=2))
    assert not changes, f"{path} (ARROWROOT_RECORD=1 records the answers of today)\n{changes}"


def commands(name: str) -> list[str]:
    """Return the commands of a session."""
    lines = (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def _answered(recorded: str, names: dict[str, Any], varying: list[tuple[str, str]]) -> Iterator[str]:
    """The session with the answers of today."""
    asked = [line for line in recorded.splitlines() if not line.startswith("    ")]
    question: list[str] = []
    for line, following in zip(asked, [*asked[1:], ""], strict=True):
        yield f"{line}\n"
        if not line.startswith(("$ ", ">>> ", "... ")):
            continue
        question.append(line.partition(" ")[2])
        if following.startswith("... "):
            continue
        ask = _of_command if line.startswith("$ ") else _of_python
        answer = ask("\n".join(question), names).encode("utf-8", "backslashreplace").decode()
        for pattern, text in varying:
            answer = re.sub(pattern, text, answer)
        yield from (f"    {one.rstrip()}\n" for one in answer.splitlines() if one.strip())
        question.clear()


def _of_command(words: str, _names: dict[str, Any]) -> str:
    done = run_here(*shlex.split(words))
    code = f"[{done.returncode}]" if done.returncode else ""
    return f"{done.stdout}\n{indent(done.stderr, '! ')}\n{code}"


def _of_python(text: str, names: dict[str, Any]) -> str:
    try:
        code = compile(text, "<session>", "eval")
    except SyntaxError:
        code = compile(text, "<session>", "exec")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        try:
            value = eval(code, names)  # noqa: S307 - of the tests
        except Exception as error:  # noqa: BLE001 - it is the answer
            value = f"{type(error).__name__}: {error}"
    answers = [f"{one.category.__name__}: {one.message}" for one in warned]
    if value is not None:
        answers.append(value if isinstance(value, str) else repr(value))
    return "\n".join(answers)
