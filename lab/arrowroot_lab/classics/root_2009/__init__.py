"""ROOT 2009: the file of many small baskets, the flushed one, and the tree cache: again in virtual time."""

from __future__ import annotations

from .measuring import measure
from .real import rows as real_rows

__all__ = ["measure", "real_rows"]
