"""Every file that a test writes is checked, whatever the test is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arrowroot._writing.file import WritableFile

from .invariants import assert_sound

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Larger files are checked by the tests that make them.
LARGEST_BYTES = 50_000_000


@pytest.fixture(autouse=True)
def every_file_is_sound(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check the files that were closed during a test, and are still there, when it is over."""
    written: set[Path] = set()
    close = WritableFile.close

    def closed(file: WritableFile) -> None:
        was_open = not file.is_closed
        close(file)
        if was_open:
            written.add(Path(file.path))

    monkeypatch.setattr(WritableFile, "close", closed)
    yield
    for path in written:
        if path.exists() and path.stat().st_size <= LARGEST_BYTES:
            assert_sound(path)
