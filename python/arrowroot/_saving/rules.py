"""Rules of what becomes of objects of several inputs."""

from __future__ import annotations

from typing import Any

from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown


def checked_rules(given: Any) -> dict[str, str]:
    """Return rules by patterns of names; None: there are none. Raises: InvalidRequestError for what is none."""
    if given is None:
        return {}
    if not hasattr(given, "items") or not all(isinstance(one, str) for rule in given.items() for one in rule):
        raise InvalidRequestError(f'rules: expected rules by patterns, {{"h_*": "add"}}, got {shown(given)}')
    return dict(given)
