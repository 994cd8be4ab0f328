"""One number of many times: how many times faster than a reference, as geometric means, times 1,000."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

import arrowroot
from arrowroot import InvalidRequestError, NoSuchFileError
from arrowroot._render import without_secrets
from arrowroot._saving.replacing import replacing

from . import parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FORM = "arrowroot.stress/1"
#: The number of the reference.
OF_REFERENCE = 1000
#: The one that comes with arrowroot.
REFERENCE = Path(__file__).with_name("reference.json")
_MOST_BYTES = 1 << 20
_OTHER_WORK = (
    "the reference is of other work, as of another version of the stress: make a new one by --save-reference"
)


@dataclass(frozen=True)
class Times:
    """The least time of each part, in ns, by its key; and where they were taken."""

    ns: dict[str, int]
    #: Entries, codecs and so on: times of other work are not compared.
    work: dict[str, Any]
    #: For people.
    machine: dict[str, Any]

    def data(self) -> dict[str, Any]:
        """Return them for JSON."""
        return {"form": FORM, "work": self.work, "machine": self.machine, "parts_ns": self.ns}


@dataclass(frozen=True)
class Marks:
    """Times beside those of a reference: of all, of each group and of each part how many times it is faster."""

    total: float
    groups: dict[str, float]
    parts: dict[str, float]


def work_told() -> dict[str, Any]:
    """Return what must be equal for times to be compared."""
    return {"n_entries": parts.N_ENTRIES, "n_objects": parts.N_OBJECTS, "codecs": list(parts.CODECS)}


def machine_told() -> dict[str, Any]:
    """Return where and with what it is measured, for people."""
    return {
        "arrowroot": arrowroot.__version__,
        "debug_build": arrowroot.debug_build,
        "processor": _processor(),
        "n_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def compare(times: Times, reference: Times) -> Marks:
    """Return the marks.

    Raises: InvalidRequestError if the reference is of other work.
    """
    if reference.work != times.work or reference.ns.keys() != times.ns.keys():
        raise InvalidRequestError(_OTHER_WORK)
    faster = {key: reference.ns[key] / max(1, ns) for key, ns in times.ns.items()}
    groups: dict[str, list[float]] = {}
    for key, ratio in faster.items():
        groups.setdefault(key.partition(":")[0], []).append(ratio)
    of_groups = {name: geometric_mean(ratios) for name, ratios in groups.items()}
    return Marks(OF_REFERENCE * geometric_mean(of_groups.values()), of_groups, faster)


def check_work(reference: Times, parts: Iterable[str] | None = None) -> None:
    """Raise InvalidRequestError if a reference is of other work than what would be measured.

    parts: the names of what is measured, once they are known
    """
    if reference.work != work_told() or (parts is not None and reference.ns.keys() != set(parts)):
        raise InvalidRequestError(_OTHER_WORK)


def save(path: str | Path, times: Times) -> None:
    """Write a reference: whole, or not at all."""
    with replacing(path) as beside:
        Path(beside).write_text(json.dumps(times.data(), indent=1) + "\n", encoding="utf-8")


def load(path: str | Path) -> Times:
    """Return the reference of a file.

    Raises: NoSuchFileError if it is not there; InvalidRequestError if it is none, with what is wrong.
    """
    # As it was typed: a path that is put in order shows what a mistyped URL hides.
    place, shown = Path(path), without_secrets(str(path))
    try:
        if place.stat().st_size > _MOST_BYTES:
            raise InvalidRequestError(f"{shown}: a reference is smaller")
        told = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoSuchFileError(f"{shown}: no reference is there; --save-reference makes one") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidRequestError(
            f"{shown}: this is no reference: {getattr(error, 'strerror', None) or error}"
        ) from None
    if not isinstance(told, dict) or told.get("form") != FORM:
        raise InvalidRequestError(f"{shown}: this is no reference: expected the form {FORM!r}")
    ns, work, machine = (told.get(key) for key in ("parts_ns", "work", "machine"))
    if not isinstance(ns, dict) or not all(_is_time(value) for value in ns.values()):
        raise InvalidRequestError(f"{shown}: parts_ns: expected times above 0, by the names of the parts")
    if not isinstance(work, dict) or not isinstance(machine, dict):
        raise InvalidRequestError(f"{shown}: work, machine: expected objects")
    return Times(ns, work, machine)


def least(rounds: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the least time of each part in several rounds: what disturbs a part makes it slower, never faster."""
    return {key: min(one[key] for one in rounds) for key in rounds[0]}


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 63


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
