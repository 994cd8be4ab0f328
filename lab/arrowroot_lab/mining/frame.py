"""Results as a pandas DataFrame, for notebooks and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import RequestError
from arrowroot_lab.store import Filter, Store

from .flat_tables import TABLES, flat_table

if TYPE_CHECKING:
    from pathlib import Path


def frame(db: str | Path | None, each: str, filters: dict[str, Any]) -> Any:
    """Do what ``arrowroot_lab.results`` says."""
    name = f"{each}s"
    if name not in TABLES:
        raise RequestError(f"{each}: a row is a result, a sample or a counter")
    where = filter_of(filters)
    with Store.open(db, must_exist=True) as store:
        return flat_table(store, where, name).to_pandas()


def filter_of(told: dict[str, Any]) -> Filter:
    """Return the filter of keyword arguments: a text stands for a list of one.

    Raises: RequestError if there is no such filter.
    """
    values: dict[str, Any] = {}
    for key, value in told.items():
        default = Filter.__dataclass_fields__.get(key)
        if default is None:
            raise RequestError(f"{key}: no such filter; there are {', '.join(Filter.__dataclass_fields__)}")
        is_list = default.default == ()
        values[key] = ((value,) if isinstance(value, str) else tuple(value)) if is_list else value
    return Filter(**values)
