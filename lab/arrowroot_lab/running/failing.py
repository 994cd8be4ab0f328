"""Which failures may go by themselves: those of networks and servers, never those of a program."""

from __future__ import annotations

import re

#: How often a sample is tried again.
N_RETRIES = 2
_WORDS = (
    r"connection (?:was )?(?:refused|reset|aborted|closed)",
    r"broken pipe|timed? ?out|unreachable|temporary failure|no route|network is down|try again|operation expired",
    r"(?:http|status|answered|error)\W{1,3}50[234]\b|service unavailable|too many requests|server (?:error|busy)",
    r"stale file handle|end of (?:stream|file) while|socket (?:error|timeout)",
)
_TRANSIENT = re.compile("|".join(_WORDS), re.IGNORECASE)


def is_transient(reason: str, storage_kind: str) -> bool:
    """True if a failure may be gone if one tries again. A local disk has no such failures."""
    return storage_kind not in ("local", "simulated") and _TRANSIENT.search(reason) is not None
