"""Files that ROOT writes, made once."""

from __future__ import annotations

import pytest

from tests.judge import root

from . import with_root_trees
from .compare import RootFiles


@pytest.fixture(scope="session")
def root_files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
    directory = tmp_path_factory.mktemp("root")
    return RootFiles(directory, root.run(with_root_trees.write, directory))
