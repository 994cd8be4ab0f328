"""Liverpool 2008: the read-ahead buffer of RFIO, from 4 kB to 128 MB: again in virtual time."""

from __future__ import annotations

from .claims import claims
from .measuring import NAME, measure
from .page import TITLE, page

__all__ = ["NAME", "TITLE", "claims", "measure", "page"]
