"""Some entries from all over a file far away: requests and time of arrowroot and of ROOT with its tree cache.

A task of remote.py. Its other cases read one entry in a hundred, which touches every basket; here so few are read that
the requests are for single baskets. ROOT reads on one thread, with the tree cache that it has by default.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import catalogue
from .paths import RESULTS
from .runner import ask, difference

if TYPE_CHECKING:
    from .remote_stores import Case, Store


@dataclass(frozen=True)
class Reader:
    """An engine that reads a list, and the store that it reads from."""

    name: str
    engine: str
    store: str


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


def listed(case: Case, n_entries: int, seed: int) -> Case:
    """The case with some of the tree's entries, sorted, the same each time; all of them if there are no more."""
    n_entries = min(n_entries, case.n_entries)
    entries = sorted(random.Random(seed).sample(range(case.n_entries), n_entries))  # noqa: S311 - no secret
    path = RESULTS / f"{case.name.partition(':')[0]}-{n_entries}.entries"
    path.write_text("".join(f"{entry}\n" for entry in entries))
    return replace(case, entries=str(path))


def measure(case: Case, timed: dict[str, Store], counted: dict[str, Store], repeat: int) -> list[ListRow]:
    """All readers of lists of all lengths; repetitions go round. They must read what ROOT reads locally."""
    told = catalogue.load("remote")["lists"]
    readers = [Reader(**reader) for reader in told["readers"] if reader["store"] in timed]
    root = next(e for e in map(catalogue.engine, (r["engine"] for r in told["readers"])) if e.role == "peer")
    rows: list[ListRow] = []
    for n_entries in told["n_entries"]:
        chosen = listed(case, n_entries, told["seed"])
        wanted = ask(root, chosen.job(file=str(case.file), threads=1))
        if "checksum" not in wanted:
            sys.exit(f"ROOT cannot read {case.name} locally: {wanted}")
        group = {reader: ListRow(case.name, n_entries, reader.name) for reader in readers}
        for stores, times in ((timed, repeat), (counted, 1)):
            for _ in range(times):
                for reader, row in group.items():
                    store = stores[reader.store]
                    store.relay.link(*told["link"])
                    before = store.n_requests() if stores is counted else 0
                    answer = store.read(catalogue.engine(reader.engine), chosen, threads=1)
                    if "checksum" not in answer:
                        row.error = str(answer.get("error") or answer.get("unsupported"))
                    elif wrong := difference(answer, wanted):
                        row.error = f"wrong content: {wrong}"
                    elif stores is counted:
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
