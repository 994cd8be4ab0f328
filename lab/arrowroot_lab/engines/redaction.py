"""Addresses in what programs say, without what is secret in them."""

from __future__ import annotations

import re
from typing import Any

_URL = re.compile(r"""([a-z][a-z0-9+.-]{0,20}://)([^\s"'<>]+)""", re.IGNORECASE)
_QUERY = re.compile(r"[?#]")
#: What ends a sentence, or a part of one, is not of the URL before it.
_ENDS = ".,:;)]}"


def redacted(told: Any) -> Any:
    """Return a text, or plain values with texts in them, as people may see them.

    URLs are without user and password, and without their queries, which have tokens.
    """
    if isinstance(told, str):
        return _URL.sub(_shown, told) if "://" in told else told
    if isinstance(told, dict):
        return {key: redacted(value) for key, value in told.items()}
    return [redacted(value) for value in told] if isinstance(told, list) else told


def _shown(found: re.Match[str]) -> str:
    scheme, rest = found.groups()
    ends = rest[len(rest.rstrip(_ENDS)) :]
    host, slash, path = _QUERY.split(rest.rstrip(_ENDS), maxsplit=1)[0].partition("/")
    return f"{scheme}{host.rpartition('@')[2]}{slash}{path}{ends}"
