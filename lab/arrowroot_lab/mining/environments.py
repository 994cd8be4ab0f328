"""What differs between the environments of two results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .table import Column, ResultTable

if TYPE_CHECKING:
    from arrowroot_lab.store import Store

#: What of a result is its environment, in the order in which differences are told.
_PARTS = ("site", "machine", "versions", "environment", "dataset", "campaign", "line", "runner")


def environment_difference(store: Store, one: str, other: str, *, with_equal: bool = False) -> ResultTable:
    """Return the keys whose values differ between two results, given by UUIDs or their beginnings.

    Args:
        store: where from
        one: the first result
        other: the second one
        with_equal: tell what is equal, too

    Raises: RequestError if one of them is not there.
    """
    results = [store.result(one), store.result(other)]
    sides = [flat({part: getattr(result, part) for part in _PARTS}) for result in results]
    keys = dict.fromkeys((*sides[0], *sides[1]))
    rows = [(key, *(_plain(side.get(key)) for side in sides)) for key in keys]
    different = [row for row in rows if row[1] != row[2]]
    notes = [f"{len(different)} of {len(rows)} keys differ."]
    if results[0].case_id != results[1].case_id:
        notes.append(
            "The two results are of different cases: what is asked differs, too (`lab show RESULT`)."
        )
    titles = [f"{result.uuid[:8]} ({result.created_at[:10]})" for result in results]
    columns = (Column("key", "key"), Column("one", titles[0]), Column("other", titles[1]))
    return ResultTable("What differs", columns, tuple(rows if with_equal else different), tuple(notes))


def flat(value: Any, key: str = "") -> dict[str, Any]:
    """Return the leaves of nested objects, by dotted keys; a list is a leaf."""
    if not isinstance(value, dict):
        return {key: value}
    leaves: dict[str, Any] = {}
    for name, item in value.items():
        leaves |= flat(item, f"{key}.{name}" if key else str(name))
    return leaves


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
