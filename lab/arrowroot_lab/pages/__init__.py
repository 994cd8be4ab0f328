"""Pages: a static site, made of tables and figures."""

from __future__ import annotations

from .publishing import Published, publish
from .site import check_place

__all__ = ["Published", "check_place", "publish"]
