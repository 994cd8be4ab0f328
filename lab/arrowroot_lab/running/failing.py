"""What a failure says of a storage: it may go by itself, it wants other credentials, or to be left alone."""

from __future__ import annotations

import re
from enum import Enum

#: How often a sample is tried again.
N_RETRIES = 2
_STATUS = r"(?:http|status|answered|says|error)\W{1,3}"
#: What a server of XRootD says, as arrowroot and its own client tell it: the number stands behind the words, or before.
_XROOTD = r"server (?:says|responded)\b[^\n]*"


class Failure(Enum):
    """The kinds of failures, as what can be done about them."""

    #: Nothing by trying again: of a program, and of whatever is on a disk of this machine.
    FINAL = ()
    #: The server has too much to do, and says so.
    REFUSAL = (
        rf"{_STATUS}(?:429|503)\b|service unavailable|too many requests|slow ?down|overload|server (?:is )?busy",
        r"says to come back in",
        # Over quota, overloaded.
        rf"{_XROOTD}(?:[\[(](?:3021|3024)[\])]|too many\b)",
    )
    #: The server wants other credentials.
    CREDENTIALS = (
        rf"{_STATUS}40[13]\b|unauthori[sz]ed|forbidden|auth\w* failed|(?:access|permission|authori[sz]ation) denied",
        r"(?:token|certificate|proxy|credentials?) (?:has |have |is )?expired|expired (?:token|certificate|proxy|cred)",
        # Not authorized, authentication failed.
        rf"{_XROOTD}[\[(](?:3010|3030)[\])]",
    )
    #: It may be gone if one tries again: of networks and servers.
    TRANSIENT = (
        r"connection (?:was )?(?:refused|reset|aborted|closed|error)|couldn't connect",
        r"broken pipe|timed? ?out|unreachable|temporary failure|no route|network is down|try again|operation expired",
        rf"{_STATUS}50[24]\b|server error|nothing came|gave up after",
        r"stale file handle|end of (?:stream|file) while|socket (?:error|timeout)",
    )


_PATTERNS = {kind: re.compile("|".join(kind.value), re.IGNORECASE) for kind in Failure if kind.value}


def kind_of(reason: str, storage_kind: str) -> Failure:
    """Return the kind of a failure, by the words of whoever failed. A local disk has none but final ones."""
    if storage_kind not in ("local", "simulated"):
        for kind, pattern in _PATTERNS.items():
            if pattern.search(reason):
                return kind
    return Failure.FINAL
