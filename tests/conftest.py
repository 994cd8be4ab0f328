"""Settings of the processes that tests start."""

import os

# ROOT's interpreter compiles what runs once, for a moment: to optimise it takes longer than it saves.
os.environ.setdefault("EXTRA_CLING_ARGS", "-O0")
