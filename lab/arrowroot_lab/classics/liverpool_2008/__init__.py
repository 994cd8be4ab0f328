"""Liverpool 2008: the read-ahead buffer of RFIO, from 4 kB to 128 MB: again in virtual time."""

from __future__ import annotations

from .measuring import measure

__all__ = ["measure"]
