"""CMS 2017: what streams lose by waiting for one output, by the policy of its buffers: again in virtual time."""

from __future__ import annotations

from .measuring import measure

__all__ = ["measure"]
