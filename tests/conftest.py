"""Settings of the processes that tests start, and what tests tell at the end."""

import os

# ROOT's interpreter compiles what runs once, for a moment: to optimise it takes longer than it saves.
os.environ.setdefault("EXTRA_CLING_ARGS", "-O0")
# The terminal's width is not that of what tests read: workers of pytest-xdist have one of 80.
os.environ.pop("COLUMNS", None)


def pytest_terminal_summary(terminalreporter):
    """Print what tests recorded as ``told``: what a worker of pytest-xdist prints is not seen."""
    for reports in list(terminalreporter.stats.values()):
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, text in report.user_properties:
                    if name == "told":
                        terminalreporter.write_line(f"\n{text}")
