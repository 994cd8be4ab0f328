"""Campaigns of the laboratory that are benchmarks: they are measured as far as a database has no results of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(campaign: Path, database: str) -> None:
    """Run a campaign; the programs of this Python are found first. Raises: CalledProcessError if a case fails."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}
    command = [sys.executable, "-m", "arrowroot", "lab", "run", str(campaign), "--db", database]
    subprocess.run(command, check=True, env=environment)
