"""Skims of inputs that differ: which columns all of them deliver, found as a scan finds it before one is read."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from arrowroot._api.opened import opened_row
from arrowroot._api.unified import Unified
from arrowroot._errors import ArrowrootError, UnsupportedColumnWarning
from arrowroot._passes.left_out import LeavingOut
from arrowroot._select.columns import Choice, select
from arrowroot._select.origins import NAMES
from arrowroot._skimming.inputs import as_opened, with_each_tree
from arrowroot._skimming.request import check_one_input
from arrowroot._skimming.tables import with_counters_of
from arrowroot._storage.config import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from arrowroot._api.row import Row
    from arrowroot._errors import NoSuchColumnError
    from arrowroot._expressions.scope import Alias, Scope
    from arrowroot._skimming.request import Request
    from arrowroot._storage.config import StorageOptions


_ORIGINS = re.compile(rf"\b({'|'.join(NAMES)})\b")


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
    #: Names of origins that conditions and definitions ask for.
    origins: frozenset[str]


def with_columns_of_all(request: Request) -> tuple[Request, Sequence[tuple[str, str]]]:
    """Return a request with the columns of inputs that may differ, and those that can be read nowhere, with reasons.

    Patterns of trees have become these, each an input.
    """
    request = request._replace(files=with_each_tree(request.files, request.storage))
    if request.entries is not None:
        check_one_input(len(request.files))
    if not request.may_differ:
        return request._replace(origins=_origins_in_first(request)), ()
    found = together(request)
    wanted: dict[str, Any] = {
        "columns": found.columns,
        "of_all": found.schema,
        "aliases": found.aliases,
        "origins": found.origins,
    }
    return request._replace(**wanted), found.left_out


def _origins_in_first(request: Request) -> frozenset[str] | None:
    """Return which names are no columns in the first input, and say where entries come from; None: none is there.

    Later inputs may have columns of these names, which are not meant.
    """
    texts = [*(request.define or {}).values(), *request.conditions]
    if not any(isinstance(text, str) and _ORIGINS.search(text) for text in texts):
        return None
    try:
        row = _row(request._replace(files=request.files[:1]))
        scope = row.scope(request.read, request.define)
        _bound(row, request, scope)
    except ArrowrootError:
        # Whoever reads the input meets it again, and says so.
        return None
    _warn_of_no_origin(request, row, scope)
    return frozenset(scope.origins_used)


def _warn_of_no_origin(request: Request, first: Row, scope: Scope) -> None:
    """Warn of samples, files and trees that conditions and definitions name, and that are none of the inputs'.

    The first input alone is open. The trees of all are known if these go by one name.
    """
    from arrowroot._expressions.origins import warn_of_none

    known = {
        "sample": list(dict.fromkeys(request.samples.values())),
        "file": list(dict.fromkeys(redacted(as_opened(location)) for location, _ in request.files)),
    }
    if len({tree for _, tree in request.files}) == 1:
        known["tree"] = first.origins.texts("tree")[0]
    warn_of_none({one[:3]: one for one in scope.asked}.values(), known.get)


def _row(request: Request, **options: Any) -> Row:
    """Return the inputs as a row of files; ``options``: of the kind of row."""
    samples = [request.samples.get(location, "") for location, _ in request.files]
    return opened_row(request.files, cast("StorageOptions", request.storage), samples=samples, **options)


def _bound(row: Row, request: Request, scope: Scope) -> list[str]:
    """Bind all conditions and return the columns that they need."""
    return [name for one in request.conditions for name in row.bound(one, request.read, scope=scope).columns]


def say_alias_of_others(request: Request, error: NoSuchColumnError) -> None:
    """Say in an error of the first input which other one has an alias of the name that is not there."""
    if len(request.files) == 1:
        return
    try:
        _row(request).say_other_with_alias(error)
    except ArrowrootError:
        return


def together(request: Request) -> Together:
    """Open all inputs and return their columns. Raises: as ``arrowroot.scan``."""
    from arrowroot._expressions.scope import columns_of

    # An input that cannot be opened is told when it is read.
    leaving_out = LeavingOut(lambda _: None) if request.skips_bad else None
    row: Any = _row(request, kind=Unified, leaving_out=leaving_out, differing=request.differing)
    choice, options = Choice.of(request.columns), request.read
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedColumnWarning)
        outputs, _ = row.outputs(choice, options, request.define)
    names = with_counters_of(row.branches, list(outputs.columns))
    scope = row.scope(options, request.define)
    used = [_bound(row, request, scope)]
    row.warn_of_no_origin(scope)
    used.append(columns_of(scope.definitions.values()))
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
        frozenset(scope.origins_used),
    )
