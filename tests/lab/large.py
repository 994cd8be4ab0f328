"""A large store: what a hub of fifty sites has after five years, and what CPU time the commands take with it.

``python -m tests.lab.large DIRECTORY [N_RESULTS] [URL]`` makes ``large.db`` there unless it is there, or fills the
empty database of a URL of PostgreSQL, and prints the times (``make soak-store``). docs/lab/documents.md has them.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text

from arrowroot_lab.runs import command_of
from arrowroot_lab.store import Filter, Store
from arrowroot_lab.store.migrations.newest import renew
from arrowroot_lab.store.tables import metadata
from tests.lab.hubs import FIRST_NIGHT, LATENCY_NS, MODELS, WORKLOADS, Hub

if TYPE_CHECKING:
    from arrowroot_lab.documents import Result

#: A month is drawn, and put as the laboratory does; the months after it are the same by other dates and UUIDs.
N_NIGHTS, N_SAMPLES = 30, 7
SITES = tuple(f"SITE-{at:02d}" for at in range(50))
VERSIONS = ("6.38.00", "6.40.00")
_TURN_S, _N_IN_TURN = 80, 2 * len(WORKLOADS) * len(LATENCY_NS)
#: Runs of the first month begin with the hub's seed, in eight digits.
_OTHER_RUNS = 1 << 16
#: Months until both versions, which are measured in turns, go on by one.
N_MONTHS = 6
#: Of SQLite, and of PostgreSQL: a date some days before, and a number as the beginning of a UUID.
_LATER = {
    "sqlite": ("strftime('%Y-%m-%dT%H:%M:%fZ', {0}, '-{1} days')", "printf('%08x', {1}) || substr({0}, 9)"),
    "postgresql": (
        "to_char(({0}::timestamptz - interval '{1} days') AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
        "lpad(to_hex({1}), 8, '0') || substr({0}, 9)",
    ),
}


def fill(store: Store, n_results: int) -> None:
    """Put some hundred thousand results of fifty sites into an empty store, by SQL but for the first month."""
    # The newest night is the last one.
    later = datetime.now(timezone.utc) - FIRST_NIGHT - timedelta(days=N_NIGHTS)
    later -= timedelta(seconds=later.seconds, microseconds=later.microseconds)
    for version in VERSIONS:
        hub = Hub(sites=SITES, n_nights=N_NIGHTS, noise=0.03, models=tuple(MODELS)[:2], versions={0: version})
        turns: dict[str, tuple[datetime, int]] = {}
        for result in hub.results():
            if version == VERSIONS[1]:
                result.uuid = f"{result.uuid[:-1]}{int(result.uuid[-1], 16) ^ 1:x}"
            del result.samples[N_SAMPLES:]
            # All that a site measures in a night is one run, so that storages have pairs.
            result.campaign["run"] = f"{command_of(result.campaign['run'])}{0:012x}"
            result.created_at = _later(result.created_at, later)
            begin, n_before = _turns_of(turns, result)
            for sample in result.samples:
                # All of a run take turns, both versions beside each other.
                place = (2 * n_before + (version == VERSIONS[1])) / _N_IN_TURN
                sample.started_at = _date(begin + timedelta(seconds=_TURN_S * (sample.turn + place)))
            store.put(result)
    with store._written() as connection:
        n = store.count()
        for month in range(1, -(-n_results // n)):
            _copy_month(connection, month, month * n)
        renew(connection)
        connection.execute(text("ANALYZE"))
        if connection.dialect.name == "postgresql":
            connection.execute(
                text("SELECT setval(pg_get_serial_sequence('result', 'id'), max(id)) FROM result")
            )


def _turns_of(turns: dict[str, tuple[datetime, int]], result: Result) -> tuple[datetime, int]:
    """When the turns of a result's run begin, and how many of its results came before."""
    run = result.campaign["run"]
    begin, n_before = turns.get(run, (datetime.fromisoformat(result.created_at.replace("Z", "+00:00")), -1))
    turns[run] = begin, n_before + 1
    return turns[run]


def _later(date: str, by: timedelta) -> str:
    return _date(datetime.fromisoformat(date.replace("Z", "+00:00")) + by)


def _date(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _copy_month(connection: Connection, month: int, by: int) -> None:
    """Copy the first month to another one."""
    date, uuid = _LATER[connection.dialect.name]
    n_days, era = month * N_NIGHTS, month // N_MONTHS
    # Runs of a command are told by their beginning: that of a month is no other's.
    told_apart = _OTHER_RUNS + month
    told = {
        "id": f"id + {by}",
        "uuid": uuid.format("uuid", month),
        "run": uuid.format("run", told_apart),
        "created_at": date.format("created_at", n_days),
        **{
            name: f"replace(replace({name}, '6.38.', '6.{38 - 2 * era}.'), '6.40.', '6.{40 - 2 * era}.')"
            for name in ("version", "versions")
        },
        **{
            name: f"substr({name}, 1, 13) || '{era:03d}'"
            for name in ("storage_group", "strategy_group", "layout_group")
        },
    }
    rows = {
        "result": (told, "result.id"),
        "document": (
            {
                "result_id": f"result_id + {by}",
                "text": f"replace(replace(replace(text, result.uuid, {uuid.format('result.uuid', month)}), "
                f"result.run, {uuid.format('result.run', told_apart)}), substr(result.created_at, 1, 11), "
                f"substr({date.format('result.created_at', n_days)}, 1, 11))",
            },
            "document.result_id",
        ),
        "sample": (
            {"result_id": f"result_id + {by}", "started_at": date.format("started_at", n_days)},
            "sample.result_id",
        ),
        "counter": ({"result_id": f"result_id + {by}"}, "counter.result_id"),
    }
    for table, (changed, key) in rows.items():
        names = _columns(table)
        values = ", ".join(changed.get(name, name) for name in names)
        joined = table if table != "document" else "document JOIN result ON result.id = document.result_id"
        connection.execute(
            text(
                f"INSERT INTO {table} ({', '.join(names)}) "  # noqa: S608 - names and numbers of ours
                f"SELECT {values} FROM {joined} WHERE {key} <= {by // month}"
            )
        )


def _columns(table: str) -> list[str]:
    return [column.name for column in metadata.tables[table].columns]


def main() -> None:
    """Make the store and print the times."""
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    directory, n_results = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    place: Any = sys.argv[3] if len(sys.argv) > 3 else directory / "large.db"
    with Store.open(place) as store:
        if not store.count():
            fill(store, n_results)
        print(f"{store.count():,} results of {len(SITES)} sites")
        series = store.rows(Filter(newest=True), ["series_id"])[0].series_id
    for command in (
        ["--help"], ["show"], ["show", "--matrix", "storage"], ["show", "--overview"], ["show", "--at-site", SITES[7]],
        ["compare"], ["compare", "--by", "storage"], ["history"], ["history", "--series", series], ["check"],
        ["publish", str(directory / "pages")],
    ):  # fmt: skip
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "arrowroot",
                "lab",
                *command,
                *([] if "--help" in command else ["--db", str(place)]),
            ],
            capture_output=True,
            check=False,
        )
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
        most = f"{end.ru_maxrss / 1e3:4.0f} MB at most until then"
        print(f"{cpu_s:7.2f} s of CPU, {most}, exit code {done.returncode}: {' '.join(command)}", flush=True)


if __name__ == "__main__":
    main()
