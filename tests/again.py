"""Asks once more, alone, what failed beside others, for lack of a processor or by a crash of ROOT's; and tells it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

#: More than these did not fail for lack of a processor.
N_AT_MOST = 3


class Again:
    """A plugin of the process that collects what the others report."""

    def __init__(self) -> None:
        self.failed: dict[str, None] = {}
        self._told = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed, also while it was prepared or cleaned up."""
        if report.failed:
            self.failed[report.nodeid] = None

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
        """Run what failed in a process of its own; nothing else decides the status then."""
        yield
        failed = sorted(self.failed)  # two processes report in any order
        if exitstatus != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed) <= N_AT_MOST:
            return
        print(f"\nonce more, alone: {', '.join(failed)}", flush=True)
        alone = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--alone", *failed]
        options = ["--oldest"] if session.config.getoption("--oldest") else []
        if subprocess.run([*alone, *options], check=False, cwd=session.config.rootpath).returncode == 0:
            session.exitstatus = pytest.ExitCode.OK
            self._told = "failed beside others and passed alone, a defect to be mended: " + ", ".join(failed)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell it behind all else."""
        if self._told:
            terminalreporter.section("NOTE", sep="=", yellow=True)
            terminalreporter.write_line(self._told)
