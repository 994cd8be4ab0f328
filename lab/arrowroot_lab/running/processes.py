"""The processes that this one has started, servers and runners, and the CPU time that all of them have used."""

from __future__ import annotations

import os
from pathlib import Path

from arrowroot_lab.machine import proc

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def descendants() -> dict[int, str]:
    """Return the processes below this one: number -> when it began, in the kernel's ticks."""
    return {number: words[19] for number, words in _tree().items() if number != os.getpid()}


def cpu_ns() -> int:
    """Return the CPU time of this process and all below it, and of those that they have waited for."""
    # utime, stime, cutime, cstime
    return sum(sum(int(word) for word in words[11:15]) for words in _tree().values()) * _TICK_NS


def _tree() -> dict[int, list[str]]:
    """The fields of /proc/PID/stat after the name, of this process and all below it."""
    found: dict[int, list[str]] = {}
    to_see = [os.getpid()]
    while to_see:
        number = to_see.pop()
        try:
            # The name, in parentheses, may have spaces in it.
            text = Path(f"/proc/{number}/stat").read_text(encoding="latin-1")
        except OSError:  # it has ended meanwhile
            continue
        found[number] = text.rpartition(") ")[2].split()
        to_see += children(number)
    return found


def children(number: int) -> list[int]:
    """Return the processes that a process has started and not waited for; none of one that has ended."""
    try:
        tasks = list(Path(f"/proc/{number}/task").iterdir())
    except OSError:
        return []
    # A thread that ends meanwhile takes none of its process's children along.
    told = (proc.text(f"{task}/children") or "" for task in tasks)
    return [int(word) for words in told for word in words.split()]
