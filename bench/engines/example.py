"""Engines that are examples of the crates: an engine asks the program that is its first argument."""

from __future__ import annotations

import json
import subprocess
import sys


def ask(arguments: list[object], text: str = "") -> None:
    """Run the program with ``text`` as its standard input, and print its answer, or the end of what it said."""
    done = subprocess.run(
        [sys.argv[1], *map(str, arguments)], input=text, capture_output=True, text=True, check=False
    )
    print(done.stdout.strip() if done.returncode == 0 else json.dumps({"error": done.stderr.strip()[-300:]}))
