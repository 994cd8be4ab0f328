"""Readings of the machine while a sample is taken, and whether they say that it was disturbed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from . import proc

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

#: /proc/diskstats counts sectors of so many bytes, whatever the disk's own are.
SECTOR_BYTES = 512
#: The share of all cores' time that others may take, by other processes or other machines.
MAX_STOLEN, MAX_OTHERS = 0.02, 0.10
#: By how much the control kernel may be slower than usual. Not than the fastest one: a processor that is faster for a
#: moment, as in its first seconds, would have nothing counted ever after.
MAX_CONTROL = 1.10
#: /proc/stat counts in ticks of 10 ms, so that shares of short samples are rough.
SHORTEST_NS = 200_000_000


class Readings:
    """Reads the machine before and after what is in its ``with``; the differences are in ``values`` then.

    Args:
        data: a path whose disk is watched; None: no disk.
    """

    def __init__(self, data: str | Path | None = None) -> None:
        self._disk = proc.block_device(data) if data is not None else None
        self.values: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._begin_ns, self._begin = time.perf_counter_ns(), self._now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end = self._now()
        self.values = {
            key: value - self._begin[key] for key, value in end.items() if key in self._begin
        }  # what came or went meanwhile has no difference
        self.values["elapsed_ns"] = float(time.perf_counter_ns() - self._begin_ns)
        if (load := proc.text("/proc/loadavg")) is not None:
            self.values["load_1_minute"] = float(load.split()[0])
        mhz = [float(line.partition(":")[2]) for line in (proc.text("/proc/cpuinfo") or "").splitlines()
               if line.startswith("cpu MHz")]  # fmt: skip
        if mhz:
            self.values["cpu_mhz"] = sum(mhz) / len(mhz)

    def _now(self) -> dict[str, float]:
        return {**_cpu(), **_pressure(), **_network(), **(_disk(self._disk) if self._disk else {})}


def disturbed(
    values: dict[str, float], sample_cpu_ns: int, control_ns: tuple[int, int], usual_control_ns: float
) -> list[str]:
    """Return why a sample is not to be counted, as sentences; empty if it is.

    Args:
        values: of `Readings`
        sample_cpu_ns: CPU time of the sample's own processes, servers included
        control_ns: the control kernel before and after
        usual_control_ns: the median of its times in this run
    """
    reasons = []
    slow = max(control_ns) / usual_control_ns if usual_control_ns else 1.0
    if slow > MAX_CONTROL:
        reasons.append(f"the control kernel took {slow:.2f} times its usual time")
    elapsed = values.get("elapsed_ns", 0.0)
    if elapsed < SHORTEST_NS:
        return reasons
    cores = values.get("cpu_total_ns", 0.0)
    if cores and values.get("cpu_stolen_ns", 0.0) > MAX_STOLEN * cores:
        reasons.append(f"the host took {values['cpu_stolen_ns'] / cores:.0%} of the cores (steal time)")
    others = values.get("cpu_busy_ns", 0.0) - sample_cpu_ns
    if cores and others > MAX_OTHERS * cores:
        reasons.append(f"other processes took {others / cores:.0%} of the cores")
    return reasons


def _cpu() -> dict[str, float]:
    """CPU time of all cores since the start of the machine, in ns: busy (user, nice, system), stolen, and all."""
    words = (proc.text("/proc/stat") or "").splitlines()[:1]
    if not words:
        return {}
    user, nice, system, idle, iowait, irq, softirq, steal, *_ = (
        int(word) * 1e7 for word in words[0].split()[1:]
    )
    return {
        "cpu_busy_ns": user + nice + system + irq + softirq,
        "cpu_iowait_ns": iowait,
        "cpu_stolen_ns": steal,
        "cpu_total_ns": user + nice + system + idle + iowait + irq + softirq + steal,
    }


def _pressure() -> dict[str, float]:
    """Time for which some task waited for a resource, in ns (/proc/pressure)."""
    found = {}
    for name in ("cpu", "io", "memory"):
        for line in (proc.text(f"/proc/pressure/{name}") or "").splitlines():
            if line.startswith("some"):
                found[f"pressure_{name}_ns"] = float(line.rpartition("total=")[2]) * 1e3
    return found


def _network() -> dict[str, float]:
    """Bytes that came and went on all interfaces, the loopback apart."""
    totals = {"network_in_bytes": 0.0, "network_out_bytes": 0.0, "loopback_bytes": 0.0}
    lines = (proc.text("/proc/net/dev") or "").splitlines()[2:]
    for line in lines:
        name, _, counts = line.partition(":")
        words = counts.split()
        if name.strip() == "lo":
            totals["loopback_bytes"] += float(words[0])
        else:
            totals["network_in_bytes"] += float(words[0])
            totals["network_out_bytes"] += float(words[8])
    return totals if lines else {}


def _disk(name: str) -> dict[str, float]:
    """Reads, bytes and busy time of a disk (/proc/diskstats)."""
    for line in (proc.text("/proc/diskstats") or "").splitlines():
        words = line.split()
        if words[2] == name:
            return {
                "device_reads": float(words[3]),
                "device_read_bytes": float(words[5]) * SECTOR_BYTES,
                "device_written_bytes": float(words[9]) * SECTOR_BYTES,
                "device_busy_ns": float(words[12]) * 1e6,
            }
    return {}
