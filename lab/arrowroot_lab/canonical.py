"""One text, and so one hash, for what is equal."""

from __future__ import annotations

import hashlib
import json
from typing import Any

#: Hexadecimal digits of a hash that is a key: 64 bits, as there are thousands of cases, not billions.
N_DIGITS = 16


def canonical(value: Any) -> str:
    """Return the JSON text of a value: keys in order, no spaces, no NaN. Keys whose value is None are left out.

    So a key that a later version adds, and that an older case lacks, changes no hash.
    """
    return json.dumps(
        _without_none(value), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True
    )


def key_of(value: Any) -> str:
    """Return the key of what is told: 16 hexadecimal digits of the SHA-256 of its canonical text."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:N_DIGITS]


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value
