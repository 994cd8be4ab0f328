"""CMS 2010: original reads, a tree cache with coalescing, and lazy download: again in virtual time."""

from __future__ import annotations

from .claims import claims
from .measuring import NAME, measure
from .page import TITLE, page
from .real import rows as real_rows

__all__ = ["NAME", "TITLE", "claims", "measure", "page", "real_rows"]
