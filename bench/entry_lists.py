"""Some entries from all over a file far away: requests and time of arrowroot and of ROOT with its tree cache.

A task of remote.py. The peers kit reads one entry in a hundred, which touches every basket; here so few are read that
the requests are for single baskets. Those of ROOT are made by the kit's own program, on one thread, with the tree cache
that it has by default.
"""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import run

if TYPE_CHECKING:
    from remote import Case, Store

#: Entries in a list.
N_ENTRIES = (10, 100, 1000)
SEED = 1
LATENCY_MS, MB_PER_S = 50.0, 100.0
TIMEOUT_S = 300


@dataclass(frozen=True)
class Reader:
    """Who reads a list, over which store; ``engine`` is that of the kit's ``read_ttree``, None for arrowroot."""

    name: str
    store: str
    engine: str | None = None


READERS = (
    Reader("arrowroot-root", "root"),
    Reader("arrowroot-http", "http"),
    Reader("root-ttreereader", "root", "ttreereader"),
    Reader("root-getentry", "root", "getentry"),
)


@dataclass
class ListRow:
    """All samples of a list of entries and a reader."""

    case: str
    n_entries: int
    reader: str
    #: Wall times in ns.
    wall_ns: list[int] = field(default_factory=list)
    #: Requests for the file by the server's own log, opening included.
    requests: int | None = None
    #: What passed the line.
    wire_bytes: int | None = None
    error: str | None = None


def listed(case: Case, n_entries: int) -> Case:
    """The case with some of the tree's entries, sorted, the same each time."""
    dataset = case.name.partition(":")[0]
    spec = run.peers_directory() / "data" / "default" / "spec" / f"{dataset}.json"
    total = json.loads(spec.read_text())["n_entries"]
    entries = sorted(random.Random(SEED).sample(range(total), n_entries))  # noqa: S311 - no secret
    path = run.RESULTS / f"{dataset}-{n_entries}.entries"
    path.write_text("".join(f"{entry}\n" for entry in entries))
    return replace(case, entries=str(path))


def measure(case: Case, timed: dict[str, Store], counted: dict[str, Store], repeat: int) -> list[ListRow]:
    """All readers of lists of all lengths; repetitions go round. What they read must be the same."""
    rows = []
    for n_entries in N_ENTRIES:
        chosen = listed(case, n_entries)
        group = {
            reader: ListRow(case.name, n_entries, reader.name) for reader in READERS if reader.store in timed
        }
        contents: dict[str, Any] = {}
        for stores, times in ((timed, repeat), (counted, 1)):
            for _ in range(times):
                for reader, row in group.items():
                    store = stores[reader.store]
                    store.relay.link(LATENCY_MS, MB_PER_S)
                    before = store.n_requests() if stores is counted else 0
                    answer = _read(reader, chosen, store)
                    if "checksum" not in answer:
                        row.error = str(answer.get("error") or answer.get("unsupported"))
                        continue
                    if contents.setdefault("checksum", answer["checksum"]) != answer["checksum"]:
                        row.error = "other content"
                    if stores is counted:
                        row.requests = store.n_requests() - before
                    else:
                        row.wall_ns.append(answer["wall_ns"])
                        row.wire_bytes = answer["wire_bytes"]
        rows += group.values()
        for row in group.values():
            print(
                f"  {row.case}, {row.n_entries} entries, {row.reader}: {row.error or row.requests}",
                flush=True,
            )
    return rows


def _read(reader: Reader, case: Case, store: Store) -> dict[str, Any]:
    """One sample: a fresh process reads the list."""
    if reader.engine is None:
        return store.read(case, threads=1)
    return store.read(case, ask=_ask_root, threads=1, engine=reader.engine)


def _ask_root(job: dict[str, Any], _environment: dict[str, str]) -> dict[str, Any]:
    """Let the kit's program do a job."""
    program = run.peers_directory() / "bin" / "read_ttree"
    done = subprocess.run(
        [program], input=json.dumps(job), capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    answer: dict[str, Any] = json.loads(lines[-1]) if lines else {"error": done.stderr.strip()[-1000:]}
    return answer
