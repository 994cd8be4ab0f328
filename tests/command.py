"""The command ``arrowroot`` in this process, with streams, a directory, an environment and warnings of its own."""

import io
import os
import subprocess
import sys
import warnings

import pytest

from arrowroot.cli import main


def run_here(*arguments, cwd=None, env=None):
    """Run the command; return what a process of its own would have: its exit code, and what it printed."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    env = os.environ.copy() if env is None else env
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        if cwd is not None:
            patch.chdir(cwd)
        for name in os.environ.keys() - env.keys():
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        try:
            code = main([*map(str, arguments)])
        except SystemExit as ended:
            code = ended.code
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    return subprocess.CompletedProcess(arguments, code, out, err)


def done_here(*arguments, **options):
    """Run the command, which must succeed; return what it printed."""
    ended = run_here(*arguments, **options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
