"""Nights on a node that others use: real rounds beside busy processes, with planted faults in the last ones."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.read import read
from arrowroot_lab.location import Location
from arrowroot_lab.running import processes
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Filter, Store
from arrowroot_lab.watching.alarms import alarms
from arrowroot_lab.watching.site_results import site_results

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from arrowroot_lab.documents import Result
    from arrowroot_lab.watching.alarms import PlaceAlarm
    from arrowroot_servers import Relay

RUNNER = Path(__file__).with_name("working_runner.py")
FIRST_NIGHT = datetime(2026, 10, 1, 2, tzinfo=timezone.utc)
#: Rounds of work of a job, some 90 ms; the round trip of the storage far away.
WORK, LATENCY_MS = 400, 60.0
N_BEFORE, N_AFTER = 12, 3
BUSY = "while True: pass"


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Other people's jobs: processes that take what they get of the processors."""
    with ExitStack() as stack:
        for _ in range(n):
            process = subprocess.Popen([sys.executable, "-I", "-S", "-c", BUSY])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def hurry() -> None:
    """Let the servers that this process has started answer as those of another machine do: root may do that."""
    for number in processes.descendants():
        os.setpriority(os.PRIO_PROCESS, number, -20)


@dataclass
class Node:
    """A node, with a server that is near, and a relay before it that makes one far away."""

    directory: Path
    near: int
    relay: Relay
    draw: random.Random
    #: All nights so far, with what was planted in them, and how busy the node was.
    load_1_minute: list[float] = field(default_factory=list)

    def night(self, number: int, load: int, *, work: float = 1.0, latency: float = 1.0) -> list[Result]:
        """Measure a round beside some jobs, a few more or less; it is dated as of that night."""
        self.relay.link(LATENCY_MS * latency, 0)
        campaign = self.directory / "shared.toml"
        words = [sys.executable, "-I", "-S", str(RUNNER)]
        campaign.write_text(
            f'shared = true\nrepeats = 5\n[dataset.n]\nfiles = "{self.directory / "n.root"}"\ntable = "T"\n'
            f'[storage.near]\nkind = "url"\nurl = "http://127.0.0.1:{self.near}/{{file}}"\n'
            f'[storage.far]\nkind = "url"\nurl = "http://127.0.0.1:{self.relay.port}/{{file}}"\n'
            f"[engine.usual]\ncommand = {json.dumps([*words, str(WORK)])}\n"
            f"[engine.other]\ncommand = {json.dumps([*words, str(round(WORK * work))])}\n"
            '[workload.all]\ncolumns = ["x"]\n'
        )
        with busy(round(load * self.draw.uniform(0.85, 1.15))), Store.open(self._database(number)) as store:
            found = Session(read(campaign), store, "NODE", Progress(lambda *_: None), is_again=True).run()
        assert not found.has_failed, [one.reason for one in found.results] + found.failures
        begin = FIRST_NIGHT + timedelta(days=number)
        told = []
        for place, result in enumerate(found.results):
            at = f"{(begin + timedelta(seconds=place)).isoformat(timespec='milliseconds')[:-6]}Z"
            # What an engine does, a fault of it as well, is no other case.
            told.append(replace(result, created_at=at))
            self.load_1_minute += [one.readings["load_1_minute"] for one in result.samples]
        return told

    def _database(self, number: int) -> Location:
        path = self.directory / f"night-{number}.db"
        path.unlink(missing_ok=True)
        return Location(str(path))

    def rung(self, nights: list[list[Result]]) -> list[PlaceAlarm]:
        """Return what the laboratory says in the morning after the last of some nights, by imports alone."""
        path = self.directory / "judged.db"
        path.unlink(missing_ok=True)
        at = FIRST_NIGHT + timedelta(days=len(nights) - 1, hours=12)
        with Store.open(Location(str(path))) as store:
            for result in [one for night in nights for one in night]:
                store.put(result)
            return [one for one in alarms(site_results(store, Filter(), at), at) if one.ratios]


def first_night(
    node: Node, before: list[list[Result]], after: list[list[Result]]
) -> tuple[int, list[PlaceAlarm]]:
    """After how many of the later nights something rings, and what; 0: nothing does."""
    for n in range(1, len(after) + 1):
        if found := node.rung([*before, *after[:n]]):
            return n, found
    return 0, []


def spread(nights: list[list[Result]], key: str) -> float:
    """How far the medians of a case are apart from night to night, as a share: the median over the cases."""
    shares = []
    for case in {one.case_id for one in nights[0]}:
        medians = [
            statistics.median(getattr(sample, key) for sample in one.samples)
            for night in nights
            for one in night
            if one.case_id == case
        ]
        shares.append(statistics.stdev(medians) / statistics.mean(medians))
    return float(statistics.median(shares))
