"""Which failures may go by themselves: those of networks and servers, never those of a program."""

from __future__ import annotations

import re

#: How often a sample is tried again.
N_RETRIES = 2
_TRANSIENT = re.compile(
    r"connection (?:was )?(?:refused|reset|aborted|closed)|broken pipe|timed? ?out|temporary failure|unreachable|no route"
    r"|\b50[234]\b|service unavailable|too many requests|stale file handle|end of (?:stream|file) while|server (?:error|busy)"
    r"|operation expired|socket (?:error|timeout)|network is down|try again",
    re.IGNORECASE,
)


def is_transient(reason: str, storage_kind: str) -> bool:
    """Whether a failure may be gone if one tries again. A local disk has no such failures."""
    return storage_kind not in ("local", "simulated") and _TRANSIENT.search(reason) is not None
