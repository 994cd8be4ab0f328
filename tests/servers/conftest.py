"""A directory with one file, and servers of it."""

from __future__ import annotations

import pytest

from .fixtures import Started

CONTENT = bytes(range(256)) * 4096


@pytest.fixture
def start():
    with Started() as started:
        yield started


@pytest.fixture(scope="session")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("served")
    (path / "numbers.bin").write_bytes(CONTENT)
    return path
