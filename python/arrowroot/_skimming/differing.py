"""Skims of inputs that differ: which columns all of them deliver, found as a scan finds it before one is read."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from arrowroot._api.opened import opened_row
from arrowroot._api.unified import Unified
from arrowroot._errors import UnsupportedColumnWarning
from arrowroot._passes.left_out import LeavingOut
from arrowroot._select.columns import Choice, select
from arrowroot._skimming.inputs import with_each_tree
from arrowroot._skimming.request import check_one_input
from arrowroot._skimming.tables import with_counters_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from arrowroot._expressions.scope import Alias
    from arrowroot._skimming.request import Request
    from arrowroot._storage.config import StorageOptions


class Together(NamedTuple):
    """The columns of the skimmed trees of inputs that differ."""

    #: Those that are written, by their names, definitions among them.
    columns: Sequence[str]
    #: Those that are read, for conditions, too. What an input lacks of them is null.
    schema: pa.Schema
    #: Columns that were meant and can be read nowhere, and why.
    left_out: Sequence[tuple[str, str]]
    #: Of each name the expression that the first input which has one records.
    aliases: Mapping[str, Alias]


def with_columns_of_all(request: Request) -> tuple[Request, Sequence[tuple[str, str]]]:
    """Return a request with the columns of inputs that may differ, and those that can be read nowhere, with reasons.

    Patterns of trees have become these, each an input.
    """
    request = request._replace(files=with_each_tree(request.files, request.storage))
    if request.entries is not None:
        check_one_input(len(request.files))
    if not request.may_differ:
        return request, ()
    found = together(request)
    return request._replace(columns=found.columns, of_all=found.schema, aliases=found.aliases), found.left_out


def together(request: Request) -> Together:
    """Open all inputs and return their columns. Raises: as ``arrowroot.scan``."""
    # An input that cannot be opened is told when it is read.
    leaving_out = LeavingOut(lambda _: None) if request.skips_bad else None
    storage = cast("StorageOptions", request.storage)
    row: Any = opened_row(
        request.files, storage, kind=Unified, leaving_out=leaving_out, differing=request.differing
    )
    choice, options = Choice.of(request.columns), request.read
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedColumnWarning)
        outputs, _ = row.outputs(choice, options, request.define)
    names = with_counters_of(row.branches, list(outputs.columns))
    scope = row.scope(options, request.define)
    conditions = [*(one for _, one in request.cuts), *(one for _, _, one in request.outputs)]
    used = [row.bound(one, options, scope=scope).columns for one in conditions if one is not None]
    used += [one.columns for one in scope.definitions.values()]
    has, where = row.tree.has_branch, row.location
    if request.lumi_mask is not None:
        used.append(row.bound_mask(request.lumi_mask).columns)
    if request.pick is not None:
        used.append(row.id_paths(request.pick.columns_in(has, where)))
    if request.weight is not None:
        used.append(row.id_paths([request.weight]))
    read = [*outputs.needed, *(name for name in names if name not in outputs.columns)]
    stored = outputs.stored(choice)
    left_out = select(row.branches, stored, where).left_out if stored else ()
    return Together(
        names,
        row.first_schema(list(dict.fromkeys([*read, *(name for some in used for name in some)])), options),
        [(f"{row.tree.path}: column {name!r}", f"{kind} is not readable yet") for name, kind in left_out],
        row.aliases,
    )
