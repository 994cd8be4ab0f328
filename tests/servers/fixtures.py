"""Starts servers for tests: what is not installed skips the test loudly, and fails it in CI."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, TypeVar

import pytest

from arrowroot_servers import NotInstalledError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def installed(make: Callable[[], T]) -> T:
    """Return what ``make`` makes; the test ends here if a program for it is not on this machine."""
    try:
        return make()
    except NotInstalledError as lack:
        if os.environ.get("CI"):
            pytest.fail(f"CI needs all servers: {lack}", pytrace=False)
        pytest.skip(f"NOT INSTALLED, remote reading is NOT tested: {lack}")


class Started(contextlib.ExitStack):
    """Servers that end with their ``with`` block."""

    def __call__(self, make: Callable[[], contextlib.AbstractContextManager[T]]) -> T:
        """Start one, or end the test if it is not installed."""
        return self.enter_context(installed(make))
