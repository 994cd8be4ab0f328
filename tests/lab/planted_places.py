"""Planted faults of places: how soon they ring, whose fault it is said to be, and how often what is none rings.

``python -m tests.lab.planted_places`` measures the tables of docs/lab/watch.md anew and writes them there: minutes.
"""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from arrowroot_lab.statistics.rises import LEAST_RISE, LEAST_RISE_OF_MEMORY, rises
from arrowroot_lab.watching.alarms import PlaceState, alarms
from tests.lab import hubs
from tests.lab.planted import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from arrowroot_lab.watching.alarms import PlaceAlarm

#: Thresholds were chosen on other seeds: hubs 1,000 to 1,119, series 1 and 10 to 12.
SEED, N_HUBS, N_SERIES = 30_000, 200, 1000
BEGIN, END = "<!-- places: begin -->", "<!-- places: end -->"
#: Series of memory: less noise, and nights that take less more.
OF_MEMORY = {"noises": (0.002, 0.03), "slow": (0.05, 0.5)}
_SLOWER = (PlaceState.SLOWER_ENGINE, PlaceState.SLOWER_PLACE)


def rung(hub: hubs.Hub, night: int) -> list[PlaceAlarm]:
    """The alarms in the morning after a night."""
    at = hubs.FIRST_NIGHT + timedelta(days=night, hours=8)
    return alarms((one for one in hub.figures() if one.created_at < at.isoformat()), at)


def is_blamed(one: PlaceAlarm, fault: hubs.Fault) -> bool:
    """True if an alarm names the place of a fault."""
    if fault.kind == "engine":
        return one.state is PlaceState.SLOWER_ENGINE and len(one.sites) > 1
    part = (
        f", storage {fault.storage}"
        if fault.kind == "storage"
        else f", case {fault.case}"
        if fault.case
        else ""
    )
    return one.place == fault.site + part


@dataclass
class Tally:
    """What became of some faults."""

    n_faults: int = 0
    n_rung: int = 0
    n_blamed: int = 0


@dataclass
class Judged:
    """What became of the faults of some hubs."""

    times: Tally = field(default_factory=Tally)
    memory: Tally = field(default_factory=Tally)
    n_true: int = 0
    n_false: int = 0
    #: Faults that did not ring in three nights: kind, size, noise.
    missed: list[str] = field(default_factory=list)

    def add(self, hub: hubs.Hub) -> None:
        """Judge a hub after three nights of each fault, and every five nights."""
        known: dict[str, bool] = {}
        for night in sorted({one.night + 2 for one in hub.faults} | {14, 19, 24, 29}):
            found = [one for one in rung(hub, night) if one.state in _SLOWER]
            for fault in hub.faults:
                if fault.night + 2 == night and fault.size >= 0.2:
                    self._judge(fault, [one for one in found if _is_of(one, fault)], hub)
            for one in found:
                is_true = any(fault.night <= night and _is_of(one, fault) for fault in hub.faults)
                known.setdefault(one.place, is_true)
        self.n_true += sum(known.values())
        self.n_false += len(known) - sum(known.values())

    def _judge(self, fault: hubs.Fault, found: list[PlaceAlarm], hub: hubs.Hub) -> None:
        is_of_memory = fault.kind == "memory"
        tally = self.memory if is_of_memory else self.times
        tally.n_faults += 1
        tally.n_rung += bool(found)
        tally.n_blamed += any(is_blamed(one, fault) for one in found)
        if not found:
            noise = hub.memory_noise if is_of_memory else hub.noise
            self.missed.append(f"{fault.kind}, {fault.size:.0%}, noise {noise:.1%}, night {fault.night}")


def _is_of(one: PlaceAlarm, fault: hubs.Fault) -> bool:
    if (fault.kind == "memory") is not (one.more == "more memory"):
        return False
    return len(one.sites) > 1 if fault.kind == "engine" else fault.site in one.sites


def null_series(
    seed: int,
    n: int,
    n_nights: int = 60,
    *,
    noises: tuple[float, float] = (0.005, 0.1),
    slow: tuple[float, float] = (0.2, 1.0),
) -> Iterator[tuple[float, np.ndarray]]:
    """Series in which nothing changed: nights alike, one in 33 slow by some share; noise and logarithms."""
    draw = np.random.default_rng(seed)
    for _ in range(n):
        noise = math.exp(draw.uniform(*np.log(noises)))
        values = draw.normal(0, 1, n_nights + 20)
        for night in range(1, len(values)):
            values[night] = 0.5 * values[night - 1] + math.sqrt(0.75) * values[night]
        is_slow = draw.random(n_nights) < 0.03
        yield noise, noise * values[20:] + is_slow * np.log1p(draw.uniform(*slow, n_nights))


def share_of_null(
    seed: int, n: int, least: float = LEAST_RISE, **drawn: tuple[float, float]
) -> tuple[int, int]:
    """How many of ``n`` null series ring at any time, and how many of these still do if measured twice again."""
    n_rung = n_again = 0
    again = random.Random(seed)
    for noise, logs in null_series(seed, n, **drawn):
        found = rises(logs[np.newaxis], {"series": [0]}, least=least)
        n_rung += bool(found)
        n_again += any(
            min(again.gauss(0, noise), again.gauss(0, noise)) > math.log(one.ratio) / 2 for one in found
        )
    return n_rung, n_again


def planted_hub() -> Iterable[tuple[str, str, str, str]]:
    """Each fault of the planted hub: what, the state that it got, the place, and after how many nights."""
    hub = hubs.planted()
    for fault in hub.faults:
        for night in range(fault.night, hub.n_nights):
            found = [
                one
                for one in rung(hub, night)
                if fault.site in one.sites and one.state is not PlaceState.UNKNOWN
            ]
            if found:
                size = "" if fault.kind == "silent" else f", {fault.size:.0%} more"
                what = f"{fault.site}: {fault.storage or fault.kind}{size}"
                nights = f"{night - fault.night + 1}"
                yield what, found[0].state.value, found[0].place, nights
                break
        else:
            yield fault.site, "nothing", "-", "-"


def table() -> str:
    """The tables of the document."""
    judged = Judged()
    for seed in range(SEED, SEED + N_HUBS):
        judged.add(hubs.drawn(seed))
    n_alarms = judged.n_true + judged.n_false
    n_null, n_again = share_of_null(SEED, N_SERIES)
    n_of_memory, n_of_memory_again = share_of_null(SEED, N_SERIES, LEAST_RISE_OF_MEMORY, **OF_MEMORY)
    times, memory = judged.times, judged.memory
    rows = (
        (f"faults of 20 % and more that ring within three nights ({times.n_faults} in {N_HUBS} hubs)",
         times.n_rung / times.n_faults),
        ("the right place or engine is blamed", times.n_blamed / times.n_faults),
        (f"the same of memory ({memory.n_faults}): they ring", memory.n_rung / memory.n_faults),
        ("the right site or case is blamed", memory.n_blamed / memory.n_faults),
        (f"alarms that are true ({n_alarms})", judged.n_true / n_alarms),
        (f"null series of 60 nights that ring at any time ({N_SERIES:,})", n_null / N_SERIES),
        ("the same, still so when measured twice again", n_again / N_SERIES),
        (f"null series of memory that ring at any time ({N_SERIES:,})", n_of_memory / N_SERIES),
        ("the same, still so when measured twice again", n_of_memory_again / N_SERIES),
    )  # fmt: skip
    lines = ["| fault | state | place | seen after nights |", "|---|---|---|---:|"]
    lines += [f"| {' | '.join(row)} |" for row in planted_hub()]
    lines += ["", f"Hubs and series of seed {SEED} on:", "", "| | share |", "|---|---:|"]
    lines += [f"| {what} | {share:.1%} |".replace("%", " %").replace("20  %", "20 %") for what, share in rows]
    missed = Counter(judged.missed)
    lines += ["", f"Missed: {'; '.join(missed) or 'none'}."]
    return "\n".join(lines)


def main() -> None:
    """Write the tables into the document."""
    sys.stdout.write(written("watch.md", BEGIN, END, table()) + "\n")


if __name__ == "__main__":
    main()
