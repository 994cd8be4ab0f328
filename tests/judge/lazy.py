"""ROOT for the modules of jobs, which tests import too: it is imported when something of it is asked for."""

from __future__ import annotations

import importlib
from typing import Any


class _Root:
    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("ROOT"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(importlib.import_module("ROOT"), name, value)


ROOT: Any = _Root()
