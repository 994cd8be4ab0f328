"""Storages with lines and limits that are known: the settings that their results recommend, measured again.

``python -m tests.lab.planted_settings`` measures the table of docs/lab/sites.md anew and writes it there: an hour.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot_lab.campaign.read import read
from arrowroot_lab.campaign.site import choose
from arrowroot_lab.mining.format import shown
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Store
from arrowroot_servers import Nginx, Relay, XRootD
from tests.command import done_here
from tests.lab.planted import written
from tests.lab.running import disturb_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot_servers import Server

CAMPAIGN = Path(__file__).parents[2] / "campaigns" / "settings.toml"
BEGIN, END = "<!-- settings: begin -->", "<!-- settings: end -->"
#: A gain that was expected and the one that was measured again are one if they differ by less than this share.
WANTED = 0.2
#: Reads columns with whatever the configuration files say, as a job does; a tiny file first, as imports take time.
READER = """
import sys, time, arrowroot
for _ in arrowroot.open(sys.argv[1]).only_tree().scan(n_threads=1): pass
begin = time.perf_counter()
for _ in arrowroot.open(sys.argv[2])["Events"].scan(sys.argv[3:], n_threads=1): pass
print(time.perf_counter() - begin)
"""


@dataclass(frozen=True)
class Planted:
    """A server behind a line."""

    name: str
    latency_ms: float
    mb_per_s: float
    #: Of nginx; None: it is an xrootd.
    limits: dict[str, int] | None = None
    #: Globs of strategies that are not tried: a minute for each sample tells nobody anything.
    without: str = ""

    def server(self, root: Path) -> Server:
        """Start it."""
        return XRootD(root, trace=False) if self.limits is None else Nginx(root, **self.limits)


PLACES = (
    Planted("near", 1, 100, {}),
    Planted("a slow line", 20, 5, {}),
    Planted("far away, by root", 150, 100),
    Planted("far away, a range a request", 150, 200, {"max_ranges": 1}),
    Planted("300 kB/s a connection", 20, 100, {"bytes_per_s": 300_000}, "readahead*"),
    Planted("15 requests a second, a range each", 20, 100, {"max_ranges": 1, "requests_per_s": 15}),
)  # fmt: skip


@dataclass(frozen=True)
class Told:
    """What was recommended for a storage, and what it gained."""

    advice: dict[str, Any]
    #: The share of the time that is saved with the file; None: nothing was written.
    again: float | None
    config: str | None

    @property
    def is_met(self) -> bool:
        """True if the gain is the expected one; of nothing that is written, if nothing was gained in the results."""
        if self.again is None:
            return self.advice["reason"] is not None and self.advice["setting"] == "auto"
        return abs(self.again - self.advice["gain"]) <= WANTED * self.advice["gain"]


def tried(place: Planted, directory: Path, *, repeats: int = 14, more: str = "", n_pairs: int = 11) -> Told:
    """Measure the campaign at a storage, write its settings, and measure again with them and without, in turns.

    more: TOML for the campaign
    """
    root = directory / "files"
    root.mkdir(parents=True)
    file, tiny, config = root / "nanoaod.root", directory / "tiny.root", directory / "config.toml"
    done_here("sample", "nanoaod", file, "--size", "20 MB")
    done_here("sample", "nanoaod", tiny, "--size", "100 kB")
    text = CAMPAIGN.read_text().replace(
        'sample = { kind = "nanoaod", size = "20 MB" }', f'files = "{file}"\ntable = "Events"'
    )
    text = text.replace("repeats = 14", f"repeats = {repeats}") + more
    if place.without:
        text += f'[[exclude]]\nstrategy = "{place.without}"\n'
    (directory / "settings.toml").write_text(text)
    database = directory / "lab.db"
    with place.server(root) as server, Relay(server.port) as relay:
        relay.link(place.latency_ms, place.mb_per_s, handshake=True)
        url = server.url("{file}", relay.port)
        site = directory / "site.toml"
        site.write_text(f'name = "planted"\n[storage.SE]\nkind = "url"\nurl = "{url}"\n')
        choose(str(site))
        campaign = read(directory / "settings.toml")
        with Store.open(database) as store:
            results = Session(campaign, store, "planted", Progress(lambda *_: None)).run().results
            measured = {one.case["workload_name"] for one in results}
        told = json.loads(
            done_here("lab", "settings", "planted", "--db", database, "--output", config, "--json")
        )
        (advice,) = told["storages"]
        if told["file"] is None:
            assert not config.exists()
            return Told(advice, None, None)
        asked = [tiny, url.replace("{file}", file.name)]
        ratios = [
            statistics.geometric_mean(
                _ratio(asked, workload.columns or ("*",), config)
                for workload in campaign.workloads
                if workload.name in measured
            )
            for _ in range(n_pairs)
        ]
    return Told(advice, 1 - statistics.median(ratios), config.read_text())


def _ratio(asked: list[Any], columns: tuple[str, ...], config: Path) -> float:
    """The time of a read with the file over that of one without."""
    without, with_it = (
        float(
            subprocess.run(
                [sys.executable, "-c", READER, *map(str, asked), *columns],
                env={**os.environ, **more},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
        )
        for more in ({}, {"ARROWROOT_CONFIG": str(config)})
    )
    return with_it / without


def rows() -> Iterator[tuple[Planted, Told]]:
    """Try all storages."""
    for place in PLACES:
        with tempfile.TemporaryDirectory(prefix="arrowroot-settings-") as directory:
            Path(directory).chmod(0o755)  # servers may be other users
            yield place, tried(place, Path(directory))


def table(found: list[tuple[Planted, Told]]) -> str:
    """The table of the document."""
    lines = [
        "| storage | round trip, MB/s | setting | time saved, expected | at least | measured again | within 20 % |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for place, told in found:
        line = f"{place.latency_ms:g} ms, {place.mb_per_s:g}"
        cells = ["-", "-", "-"]
        if told.again is not None:
            figures = (told.advice["gain"], told.advice["least_gain"], told.again)
            cells = [shown(one, "share") for one in figures]
        else:
            cells[0] = f"none: {told.advice['best']} {shown(told.advice['gain'], 'share')}"
        is_met = "yes" if told.is_met else "no"
        lines.append(f"| {place.name} | {line} | {told.advice['setting']} | {' | '.join(cells)} | {is_met} |")
    return "\n".join(lines)


def main() -> None:
    """Write the table into the document."""
    os.environ.setdefault("ARROWROOT_LAB_CACHE", tempfile.mkdtemp(prefix="arrowroot-lab-cache-"))
    disturb_nothing()
    found = []
    for place, told in rows():
        found.append((place, told))
        print(place.name, told, flush=True)
    sys.stdout.write(written("sites.md", BEGIN, END, table(found)) + "\n")


if __name__ == "__main__":
    main()
