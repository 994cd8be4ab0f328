"""CMS 2017: what streams lose by waiting for one output, by the policy of its buffers: again in virtual time."""

from __future__ import annotations

from .claims import claims
from .measuring import NAME, measure
from .page import TITLE, page

__all__ = ["NAME", "TITLE", "claims", "measure", "page"]
