"""CMS 2010: original reads, a tree cache with coalescing, and lazy download: again in virtual time."""

from __future__ import annotations

from .measuring import measure
from .real import rows as real_rows

__all__ = ["measure", "real_rows"]
