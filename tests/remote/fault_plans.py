"""What goes wrong in a run, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from . import data, places

KINDS = [kind for kind in places.KINDS if kind != "http-0-ranges"]
#: Faults by how often they are drawn. The last three change what the client receives.
FAULTS = {"reset": 5, "close": 5, "stall": 3, "delay": 3, "refuse": 2, "flip": 6, "drop": 2, "repeat": 2}
CHANGES_BYTES = ("flip", "drop", "repeat")
#: Codecs whose payload carries a checksum in ROOT's files: adler32 (zlib), xxhash64 (lz4), crc32 (xz). zstd
#: frames there have none, and stored baskets have none.
CHECKED_CODECS = ("zlib", "lz4", "lzma")
CODECS = ("zstd", "zstd", "lz4", "zlib", "lzma", "none")
STRATEGIES = ("auto", "auto", "auto", "direct", "storage-only", "readahead", "treecache", "lazy-download")
N_BRANCHES = 12


@dataclass(frozen=True)
class Run:
    """One reading of a file under faults."""

    seed: int
    kind: str
    codec: str
    read: str
    strategy: str
    faults: tuple[str, ...]

    @property
    def file(self) -> str:
        """Name of the file that it reads."""
        return f"faults-{self.codec}.root"

    @property
    def may_be_wrong(self) -> bool:
        """Whether bytes were to change that no checksum of the format protects."""
        return self.codec not in CHECKED_CODECS and self.changes_bytes

    @property
    def changes_bytes(self) -> bool:
        """Whether the plan has faults that change what is received."""
        return any(fault.split(":")[3] in CHANGES_BYTES for fault in self.faults)

    def options(self) -> dict[str, Any]:
        """Patience of the run, so that it ends soon."""
        return {"timeout": 0.5, "deadline": DEADLINE_S, "retries": 4, "strategy": self.strategy}


DEADLINE_S = 3.0
#: Each read may take the deadline; a plan has few faults, which hit few reads.
MOST_S = 3 * DEADLINE_S


def draw(seed: int, kinds: list[str], size_bytes: dict[str, int]) -> Run:
    """Return the run of a seed. ``size_bytes``: sizes of the files by codec, for faults at every point of them."""
    rng = random.Random(seed)
    kind, codec = rng.choice(kinds), rng.choice(CODECS)
    read = rng.choice(list(data.reads(N_BRANCHES)))
    faults = [_fault(rng, size_bytes[codec]) for _ in range(rng.choice((1, 1, 2, 3, 4)))]
    return Run(seed, kind, codec, read, rng.choice(STRATEGIES), tuple(faults))


def _fault(rng: random.Random, size_bytes: int) -> str:
    kind = rng.choices(list(FAULTS), list(FAULTS.values()))[0]
    # Most connections carry little: every scale of offsets gets its share.
    scale = rng.choice((50, 500, 5_000, 50_000, size_bytes))
    offset = rng.randrange(min(scale, size_bytes))
    direction = "up" if kind in ("reset", "close", "stall", "delay") and rng.random() < 0.2 else "down"
    if direction == "up":
        offset %= 600
    connection = rng.choice(("0", "0", "1", "2", "3", "*"))
    if kind == "refuse" and connection == "*":
        connection = "0"
    argument = {
        "delay": f":{rng.choice((1, 20, 100, 400))}",
        "flip": f":{1 << rng.randrange(8)}",
        "drop": f":{rng.choice((1, 8, 100, 4096))}",
        "repeat": f":{rng.choice((1, 8, 100, 4096))}",
    }.get(kind, "")
    return f"{connection}:{direction}:{offset}:{kind}{argument}"
