"""Plans of skims: what would be written, told from the first entries that are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from arrowroot._sizes import counted
from arrowroot._skimming.differing import with_columns_of_all
from arrowroot._skimming.inputs import opened
from arrowroot._skimming.reading import Reading
from arrowroot._writing.options import layout_with
from arrowroot._writing.plan import plan_for

if TYPE_CHECKING:
    from arrowroot._skimming.request import Request
    from arrowroot._skimming.tables import InputTable
    from arrowroot._writing.plan import LayoutPlan


class PickedPlan(NamedTuple):
    """A tree whose entries will be copied as their bytes are."""

    n_branches: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"form": "arrowroot.picked-plan/1", "format": "ttree", **self._asdict()}

    def __str__(self) -> str:
        """Return it as a line."""
        branches = counted(self.n_branches, "branch", "branches")
        return f"ttree: {branches}, objects among them: entries are copied byte by byte"


def plans_of(request: Request) -> list[tuple[str, LayoutPlan | PickedPlan]]:
    """Return the name of each table of the first output and what becomes of it. Nothing is written.

    The first input with entries of the skimmed tree says it. Raises: as ``arrowroot.skim``.
    """
    request, _ = with_columns_of_all(request)
    reading = _first_with_entries(request)
    return [_plan_of(request, reading, table) for table in reading.tables]


def _first_with_entries(request: Request) -> Reading:
    """Return the first input with entries of the skimmed tree, or the last one."""
    found = opened(request.files, request.storage, needs_tree=request.is_of_one_tree)
    given = next(found)[1]()
    main = given.main
    for _, give in found:
        if given.tree is None or given.num_entries:
            break
        given = give()
    return Reading(request, given, main, lambda _: None)


def _plan_of(request: Request, reading: Reading, table: InputTable) -> tuple[str, LayoutPlan | PickedPlan]:
    is_main, is_only = table is reading.table, len(request.files) == 1
    _, renamed, _ = request.outputs[0]
    name = renamed if is_main and renamed is not None else table.path
    if table.branches is not None:
        return name, PickedPlan(len(table.branches))
    portions = (one for one in reading.portions_of(table) if one.output in (None, 0))
    first = next((one.batch for one in portions if one.batch is not None and one.batch.num_rows), None)
    sample = None if first is None else pa.Table.from_batches([first])
    is_known = is_only and not (is_main and request.chooses)
    options = table.written(request.write.style, has_all_entries=is_known, has_all_trees=True).options
    n_entries = table.tree.num_entries if is_known else None
    return name, plan_for(layout_with(options), table.schema, sample, n_entries, name)
