"""From a campaign to its cases, and from a case to what the documents call one."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from arrowroot_lab.canonical import key_of
from arrowroot_lab.location import whole
from arrowroot_lab.redaction import distinction_of, redacted

from .model import Case

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arrowroot_lab.documents import CaseDocument

    from .identity import Identity
    from .model import Campaign, Line, Storage, Workload

#: The axes of the matrix, from the slowest to the fastest.
AXES = ("dataset", "storage", "engine", "workload", "strategy")
#: Axes whose values have an order, so that those at its ends enclose the others; every dataset and engine counts.
_ORDERED = ("storage", "workload", "strategy")


def cases(campaign: Campaign) -> list[Case]:
    """Return the cells that are measured, in the order of the file, engines and strategies of a place side by side."""
    values = (
        campaign.datasets,
        campaign.storages,
        campaign.engines,
        campaign.workloads,
        campaign.strategies,
    )
    # A glob is asked once of each name, not of each cell of a large matrix.
    include, exclude = (
        [[_places(axis, values[n], one.globs.get(axis)) for n, axis in enumerate(AXES)] for one in selections]
        for selections in (campaign.include, campaign.exclude)
    )

    whole: list[Collection[int]] = [range(len(axis)) for axis in values]
    cells = {cell for one in include or [whole] for cell in product(*one)}
    for one in exclude:
        cells -= {cell for cell in cells if all(at in places for at, places in zip(cell, one, strict=True))}
    return [
        Case(*(axis[at] for axis, at in zip(values, cell, strict=True)))  # type: ignore[arg-type]  # one axis of each kind
        for cell in sorted(cells)
    ]


def _places(axis: str, values: Sequence[Any], globs: Sequence[str] | None) -> Collection[int]:
    """The places of the values of an axis whose name one of the globs matches; all, if the selection tells none.

    A glob of an engine may leave the version out: that means all of its versions.
    """
    if globs is None:
        return range(len(values))
    names = (
        {one.name, one.called()} if axis == "engine" else {one.called() if axis == "strategy" else one.name}
        for one in values
    )
    return {
        place
        for place, told in enumerate(names)
        if any(fnmatchcase(name, glob) for name in told for glob in globs)
    }


def corners(chosen: list[Case]) -> list[bool]:
    """Return for each case whether it is a corner: in the mode "virtual first" the corners are measured for real.

    A corner has the first or the last storage, the first or the last workload and the first or the last strategy of
    those that its dataset and engine are measured with.
    """
    order: dict[tuple[str, str, str], list[str]] = {}
    for case in chosen:
        for axis, name in case.names().items():
            values = order.setdefault((case.dataset.name, case.engine.called(), axis), [])
            if name not in values:
                values.append(name)
    found = []
    for case in chosen:
        names = case.names()
        ends = (order[case.dataset.name, case.engine.called(), axis] for axis in _ORDERED)
        found.append(
            all(names[axis] in (values[0], values[-1]) for axis, values in zip(_ORDERED, ends, strict=True))
        )
    return found


def case_document(case: Case, identity: Identity) -> CaseDocument:
    """Return what is asked, as the results keep it: what things are, not where they are or what they are called."""
    document: CaseDocument = {
        "dataset": identity.values,
        "layout": identity.layout,
        "dataset_name": case.dataset.name,
        "storage_name": case.storage.name,
        "workload_name": case.workload.name,
        "storage": _storage(case.storage),
        "engine": case.engine.name,
        "workload": _workload(case.workload),
        "strategy": {
            "name": case.strategy.name,
            "cache_bytes": case.strategy.cache_bytes,
            "options": case.strategy.options or None,
        },
        "threads": case.workload.threads,
        "workers": case.workload.workers,
    }
    # The store keeps it so: the key of a case is the hash of what is shown of it.
    return redacted(document)


def told_apart(storages: Sequence[Storage]) -> tuple[Storage, ...]:
    """Return the storages of a campaign; those that differ by their place alone have a hash of it in their cases.

    One that is alone has none, so its history goes on where the place is another one.
    """
    n_alike = Counter(storage_key(one) for one in storages)
    return tuple(
        replace(one, place=_hash_of_place(one)) if n_alike[storage_key(one)] > 1 else one for one in storages
    )


def storage_key(storage: Storage) -> str:
    """Return the key of all that a case says of a storage: two with the same one are one."""
    return key_of(_storage(storage))


def _hash_of_place(storage: Storage) -> str | None:
    """None: the files are where they are."""
    if storage.url is not None:
        _, _, rest = distinction_of(storage.url.whole()).partition("://")
        return key_of([server_of(storage.url), rest.partition("/")[2]])
    told = storage.options.get("directory")
    return None if told is None else key_of(os.path.normpath(Path(whole(told)).expanduser()))


def _storage(storage: Storage) -> dict[str, Any]:
    return {
        "kind": storage.kind,
        "line": _line(storage.line),
        "origin_line": _line(storage.origin_line),
        "cold": storage.is_cold or None,
        "cache": ("warm" if storage.is_cache_warm else "cold") if storage.kind == "xcache" else None,
        "disk_read_ahead_bytes": storage.disk_read_ahead_bytes,
        # A server that others run is known by its place alone.
        "server": server_of(storage.url) if storage.url else None,
        "place": storage.place,
        "options": {key: value for key, value in storage.options.items() if key != "directory"} or None,
    }


def server_of(url: str) -> str:
    """Return the scheme and the host of a URL, without credentials."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.partition('/')[0].rpartition('@')[2]}" if separator else "file"


def host_of(storage: Storage) -> str:
    """Return the host that a storage is on, whatever its protocol and port; of one without a server its name."""
    try:
        found = urlsplit(storage.url.whole()).hostname if storage.url is not None else None
    except ValueError:  # half an address of IPv6
        found = None
    return found or storage.name


def _line(line: Line | None) -> dict[str, Any] | None:
    if line is None:
        return None
    told = {"latency_ns": line.latency_ns, "bytes_per_s": line.bytes_per_s}
    return {**told, "handshake": True} if line.has_handshake else told


def _workload(workload: Workload) -> dict[str, Any]:
    draws = workload.column_share is not None or workload.entry_share is not None
    return {
        "kind": workload.kind,
        "columns": workload.columns,
        "column_share": workload.column_share,
        "entry_share": workload.entry_share,
        "entry_list": workload.entry_list_hash or None,
        "order": workload.order,
        "work_ns_per_entry": workload.work_ns_per_entry or None,
        "seed": workload.seed if draws else None,
        "command": workload.command or None,
        "report": workload.report,
        "settings": workload.settings or None,
    }
