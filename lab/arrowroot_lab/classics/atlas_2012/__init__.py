"""ATLAS 2012: unsplit objects and ten events to a cluster, levels, flushes and caches, and reading from far away."""

from __future__ import annotations

from .claims import claims
from .measuring import NAME, measure
from .page import TITLE, page
from .real import rows as real_rows

__all__ = ["NAME", "TITLE", "claims", "measure", "page", "real_rows"]
