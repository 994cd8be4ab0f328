"""The part of a dataset that a workload chooses: the same columns and entries on every machine."""

from __future__ import annotations

import random
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from arrowroot_lab.errors import CampaignError

from .keys import near

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from .datasets import FoundDataset
    from .model import Campaign, Workload


def columns(campaign: Campaign, workload: Workload, found: FoundDataset) -> list[str] | None:
    """Return the names of the columns that are read, in the dataset's order; None: all of them.

    Raises: CampaignError if a name or glob matches no column.
    """
    names: Sequence[str] = found.identity.columns
    if workload.columns is not None:
        wanted = set()
        for glob in workload.columns:
            # A name may have brackets of its own.
            matching = [glob] if glob in names else [name for name in names if fnmatchcase(name, glob)]
            if not matching:
                key = f"workload.{workload.name}.columns"
                problem = f"dataset {found.dataset.name} has no column {glob!r}{near(glob, names)}"
                raise CampaignError(campaign.path, None, key, problem)
            wanted.update(matching)
        names = [name for name in names if name in wanted]
    if workload.column_share is not None:
        names = _drawn(names, workload.column_share, workload.seed)
    return None if workload.columns is None and workload.column_share is None else list(names)


def write_entries(campaign: Campaign, workload: Workload, n_entries: int, path: Path) -> Path | None:
    """Write the numbers of the entries that are read, one on a line, ascending; return ``path``, None: all are read.

    Raises: CampaignError if a list names an entry that the dataset does not have.
    """
    if workload.entry_list is not None:
        text = (campaign.path.parent / workload.entry_list).read_text(encoding="ascii")
        numbers: Sequence[int] = [int(word) for word in text.split()]
        if numbers and numbers[-1] >= n_entries:
            key = f"workload.{workload.name}.entry_list"
            raise CampaignError(
                campaign.path,
                None,
                key,
                f"entry {numbers[-1]} is not there: the dataset has {n_entries} entries",
            )
    elif workload.entry_share is not None:
        numbers = _drawn(range(n_entries), workload.entry_share, workload.seed)
    else:
        return None
    path.write_text("".join(f"{number}\n" for number in numbers))
    return path


def _drawn(values: Sequence[Any], share: float, seed: int) -> list[Any]:
    """A share of the values, at least one, in their order (Knuth, algorithm S).

    Only ``Random.random`` is promised to give the same numbers in every version of Python.
    """
    draw = random.Random(seed).random  # noqa: S311 - nothing is secret
    n_left = min(len(values), max(1, round(share * len(values))))
    drawn = []
    for i, value in enumerate(values):
        if draw() * (len(values) - i) < n_left:
            drawn.append(value)
            n_left -= 1
    return drawn
