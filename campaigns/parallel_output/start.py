"""Starts the experiment as a package of the repository, wherever the laboratory's process works."""

import subprocess
import sys
from pathlib import Path

command = [sys.executable, "-m", "campaigns.parallel_output", *sys.argv[1:]]
sys.exit(subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode)
