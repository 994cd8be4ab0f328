"""ATLAS 2012: unsplit objects and ten events to a cluster, levels, flushes and caches, and reading from far away."""

from __future__ import annotations

from .measuring import measure
from .real import rows as real_rows

__all__ = ["measure", "real_rows"]
