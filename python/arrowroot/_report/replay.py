"""Replays logical reads under a strategy against a simulated store, in virtual time."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot import _native
from arrowroot._errors import InvalidRequestError, nearest
from arrowroot._sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arrowroot._report.trace import Logical

_SWEEP = re.compile(r"\s*([a-z_-]+)\s*=\s*([^.]+?)\s*\.\.\s*([^.]+?)\s*")
_LARGEST = 1 << 50

Protocol = _native.Protocol


class Disk(NamedTuple):
    """A local disk with the kernel before it. The latency of its line is that of a seek."""

    #: The kernel's window is not larger; 0: it does not read ahead.
    read_ahead_bytes: int = 128 << 10
    #: The page cache has the whole file.
    is_cached: bool = False


class Line(NamedTuple):
    """A store far away: time from asking to the first byte, and what all its streams bring together."""

    latency_s: float
    bytes_per_s: float
    #: Requests that are under way at a time. They change no request: how reads are cut is the protocol's.
    n_streams: int = 1
    #: Requests one after the other before the first read.
    n_open_requests: int = 0
    #: How the store makes requests of what it is asked for.
    protocol: Protocol = Protocol("plain", max_parallel=1)
    #: From the beginning of a request to that of the next, at least: what it keeps server and client busy.
    interval_s: float = 0.0
    #: A disk in the place of a store far away: streams and interval mean nothing then.
    disk: Disk | None = None

    def data(self) -> dict[str, Any]:
        """Return it for JSON."""
        disk = None if self.disk is None else self.disk._asdict()
        return {**self._asdict(), "protocol": self.protocol.data(), "disk": disk}


@dataclass(frozen=True)
class Outcome:
    """The cost of a replay, in virtual time."""

    wall_ns: int
    #: Of the reader for bytes.
    wait_ns: int
    think_ns: int
    #: Requests as the protocol makes them: a vector read is one, or several.
    n_requests: int
    n_ranges: int
    read_bytes: int
    payload_bytes: int
    peak_buffer_bytes: int
    #: The bytes read that were not needed, or had been read before.
    overhead_bytes: int
    #: Seeks of a disk; 0 of others.
    n_seeks: int = 0
    #: Bytes that left the disk, read ahead or not; 0 of others.
    device_bytes: int = 0

    @property
    def over_read(self) -> float | None:
        """Bytes read besides, for each byte needed."""
        return self.overhead_bytes / self.payload_bytes if self.payload_bytes else None

    @property
    def cpu_efficiency(self) -> float | None:
        """Share of the time in which the reader works."""
        return self.think_ns / self.wall_ns if self.wall_ns else None

    def data(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**asdict(self), "over_read": self.over_read, "cpu_efficiency": self.cpu_efficiency}


def replay(
    logical: Logical,
    file_bytes: int,
    line: Line,
    options: Mapping[str, str],
    *,
    n_threads: int = 1,
    kept: Sequence[tuple[int, int]] = (),
) -> Outcome:
    """Return what reading so would have cost.

    ``n_threads``: that share the decoding, evenly; 0: decoding takes no time. ``kept``: (offset, length) of what came
    with the opening: the store is not asked for it.

    Raises: InvalidRequestError for options that make no sense.
    """
    think_ns = logical.decode_ns // n_threads if n_threads else logical.decode_ns * 0
    settings = [(name, text, "argument") for name, text in options.items()]
    result = _native.replay(
        logical.offsets,
        logical.lengths,
        logical.entries,
        logical.branches,
        think_ns,
        file_bytes,
        settings,
        line.latency_s,
        line.bytes_per_s,
        line.n_streams,
        line.n_open_requests,
        line.protocol,
        line.interval_s,
        kept,
        line.disk,
    )
    return Outcome(**{name: int(result[name]) for name in Outcome.__dataclass_fields__})


def shown(options: Mapping[str, str]) -> dict[str, str]:
    """Return options as they may be shown: without secrets, and URLs without the credentials in them."""
    takes = {name: takes for name, takes, _, is_secret in _native.options() if not is_secret}
    return {
        name: _native.redacted(text) if takes[name] == "a URL" else text
        for name, text in options.items()
        if name in takes
    }


def strategies(chosen: Sequence[str] | None) -> list[str]:
    """Return the strategies asked for; "all" is each of them.

    Raises: InvalidRequestError for a name that is none, with the nearest ones.
    """
    known = _native.strategies()
    names = []
    for name in chosen or ["auto"]:
        if name != "all" and name not in known:
            close = nearest(name, known)
            hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
            raise InvalidRequestError(f"there is no strategy {name!r}; {hint}")
        names += known if name == "all" else [name]
    return list(dict.fromkeys(names))


class Sweep(NamedTuple):
    """One option through the powers of two. ``strategy`` None: that of the other options."""

    strategy: str | None
    option: str
    sizes: list[int]


def parse_sweep(text: str) -> Sweep:
    """Return the sweep of "readahead=4k..128M" (a strategy's cache size) or "max_gap=4k..8M" (an option).

    Raises: InvalidRequestError for anything else.
    """
    match = _SWEEP.fullmatch(text)
    if match is None:
        raise InvalidRequestError(f"--sweep {text}: expected NAME=SIZE..SIZE, as readahead=4k..128M")
    name = match[1]
    low, high = (parse_size(size, "--sweep") for size in match.groups()[1:])
    if low > high or high > _LARGEST:
        raise InvalidRequestError(f"--sweep {text}: expected the smaller size first, and none above 1 PiB")
    sizes = [low]
    while sizes[-1] * 2 <= high:
        sizes.append(sizes[-1] * 2)
    if name in _native.strategies():
        return Sweep(name, "cache_size", sizes)
    # The block cache of a replay begins empty and lets nothing go: of its size only 0 makes a difference.
    of_size = [
        option
        for option, takes, *_ in _native.options()
        if takes == "a size" and option != "block_cache_size"
    ]
    if name.replace("-", "_") not in of_size:
        known = [*_native.strategies(), *of_size]
        close = nearest(name, known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
        raise InvalidRequestError(f"--sweep {text}: {name!r} is no strategy and takes no size; {hint}")
    return Sweep(None, name.replace("-", "_"), sizes)
