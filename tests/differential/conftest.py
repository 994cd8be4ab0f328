"""Files that ROOT writes, made once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from . import root_peer

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class RootFiles:
    """Where ROOT's files are, and what ROOT reads in them."""

    directory: Path
    expected: dict[str, Any]

    def path(self, name: str) -> str:
        return str(self.directory / name)


@pytest.fixture(scope="session")
def root_files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
    directory = tmp_path_factory.mktemp("root")
    return RootFiles(directory, root_peer.write_files(directory))
