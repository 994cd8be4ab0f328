"""One source of tables: ``draw`` has any kinds of columns, ``every_kind`` all; ``shrunk`` makes one that fails smaller.

A table has what is easily written wrongly: empty lists and texts, NaN and infinities, the ends of the ranges of
numbers, missing values at every depth, names that no format takes as they are, lists that share a counter, and chunks
that begin in the middle of their buffers.
"""

from .drawn import (
    KINDS,
    NUMBERS,
    TIMES,
    Chance,
    Stream,
    draw,
    draw_array,
    draw_type,
    every_kind,
    list_of,
    required,
    struct,
)
from .shrunk import shrunk

__all__ = [
    "KINDS", "NUMBERS", "TIMES", "Chance", "Stream", "draw", "draw_array", "draw_type", "every_kind", "list_of",
    "required", "shrunk", "struct",
]  # fmt: skip
