"""Files that ROOT writes, made once."""

from __future__ import annotations

from . import with_root_trees
from .compare import written

root_files = written(with_root_trees.write, scope="session")
