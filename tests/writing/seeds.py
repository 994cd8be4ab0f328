"""The seeds that a test of random tables takes."""

from __future__ import annotations

import os


def seeds_of(n_usual: int) -> range:
    """The first ones; 1,000 in a soak, or in parts, as that takes long: ``ARROWROOT_SEEDS=200:300``."""
    part = os.environ.get("ARROWROOT_SEEDS")
    if part:
        first, last = map(int, part.split(":"))
        return range(first, last)
    return range(1000 if os.environ.get("ARROWROOT_SOAK") else n_usual)
