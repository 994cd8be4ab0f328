"""UUIDs of runs. What a command measures on several workers is a run of each, as their samples were not taken in turns.

Such runs differ in the last twelve digits alone, so that the beginning of one names all of them.
"""

from __future__ import annotations

import uuid

_SHARED = len("00000000-0000-0000-0000-")


def new_run() -> str:
    """Return the UUID of a run."""
    return str(uuid.uuid4())


def another_of(run: str) -> str:
    """Return the UUID of another run of the same command."""
    return command_of(run) + new_run()[_SHARED:]


def command_of(run: str) -> str:
    """Return what all runs of the same command begin with."""
    return run[:_SHARED]
