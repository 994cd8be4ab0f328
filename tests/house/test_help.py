"""The help of all commands fits 80 columns, and the examples that it shows are commands that the parsers take."""

import argparse
import re
import shlex
from itertools import takewhile

import pytest

from arrowroot.cli.parser import parser
from arrowroot_lab.cli import parser as lab_parser


def commands_of(top):
    """The parser of each command, by its name."""
    return next(one for one in top._actions if isinstance(one, argparse._SubParsersAction)).choices


COMMANDS = [
    (program, top, name, command)
    for program, top in (("arrowroot", parser()), ("arrowroot lab", lab_parser()))
    for name, command in commands_of(top).items()
    if name != "lab"
]


NAMES = [f"{program} {name}" for program, _, name, _ in COMMANDS]


@pytest.mark.parametrize(("top", "command"), [(one[1], one[3]) for one in COMMANDS], ids=NAMES)
def test_help_fits_80_columns(top, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for one in (top, command):
        assert max(map(len, one.format_help().splitlines())) <= 80
    assert "\nexamples:\n  " in command.format_help()


@pytest.mark.parametrize(("program", "top", "name", "command"), COMMANDS, ids=NAMES)
def test_examples_of_the_help_are_taken(program, top, name, command, capsys):
    lines = [
        line.strip() for line in command.format_help().splitlines() if line.startswith(f"  {program} {name}")
    ]
    assert lines
    for line in lines:
        # What follows many blanks says what the command does; what follows a pipe or ">" is the shell's.
        words = shlex.split(re.split(r" {3,}", line)[0], comments=True)
        try:
            top.parse_args([*takewhile(lambda word: word not in "|>", words)][len(program.split()) :])
        except SystemExit:
            pytest.fail(f"{line}: {capsys.readouterr().err}")
