"""The laboratory of arrowroot: the same I/O tests over many storages, layouts, engines and versions."""

from __future__ import annotations

__version__ = "0.1.0"
