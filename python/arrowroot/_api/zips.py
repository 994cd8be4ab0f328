"""The way of ``objects=True`` from what a user asks for to lists of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._arrow.vectors import TYPE
from arrowroot._errors import InvalidRequestError
from arrowroot._passes.zipped import TITLE, Zipped
from arrowroot._render import shown
from arrowroot._select.columns import is_test, texts_of
from arrowroot._select.objects import Zip, spelled_out, zipped
from arrowroot._select.origins import chosen as origins_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arrowroot._api.chain import Chain
    from arrowroot._options import Options
    from arrowroot._passes.source import Source
    from arrowroot._select.columns import Columns


class Zips:
    """The objects of a scan: which columns are read for them, and how these are put together."""

    def __init__(self, chain: Chain, columns: Columns, given: Mapping[str, Any]) -> None:
        """``given``: what a user gave of ``ScanOptions``. Raises: InvalidRequestError."""
        if given["objects"] is not True:
            raise InvalidRequestError(f"objects: expected True or False, got {shown(given['objects'])}")
        if given.get("assemble") or given.get("raw"):
            raise InvalidRequestError("objects: not with assemble or raw: they are put together of columns")
        self._branches = chain.own_branches
        self._objects = chain.objects
        self._projections = chain.tree.projections
        self._origin: list[str] = [*origins_of(given.get("origin"))]
        #: The choice, in terms of columns.
        self.columns = columns
        self._named: list[str] | None = None
        if columns is not None and not is_test(columns):
            known = {name for branch in self._branches for name in (branch.path, branch.name)}
            texts = texts_of(columns, "columns")
            self._named = spelled_out(texts, self._objects, known)
            whole = {text: self._objects[text] for text in texts if text in self._objects}
            chain.refuse_more_members(whole)
            self.columns = self._named
        self._zips: list[Zip] = []

    def choose(self, chosen: list[str]) -> list[str]:
        """Return the columns to read, of those that were chosen."""
        inside = [path for one in self._objects.values() for path in one.members.values()]
        parts: dict[str, list[str]] = {}
        for path in inside:
            parts.setdefault(path.rpartition(".")[0], []).append(path)
        # A list of records is read by its members, which get names and notes; no name for one of them is read besides.
        again = {
            name
            for name, path in (self._projections if self._named is None else {}).items()
            if path in inside or path.removeprefix("#") in parts
        }
        paths = [path for one in chosen if one not in again for path in parts.get(one, [one])]
        self._zips = zipped(paths, self._objects, named=self._named)
        return [path for one in self._zips for path in (one.members or {one.name: one.name}).values()]

    def around(self, start: Callable[[Options], Source]) -> Callable[[Options], Source]:
        """Return what makes passes that deliver objects."""
        columns = [*self._zips, *(Zip(name, None) for name in self._origin)]
        read = {path for one in self._zips for path in (one.members or {one.name: one.name}).values()}
        notes = {
            branch.path: {TITLE: branch.title, TYPE: branch.type_name}
            for branch in self._branches
            if branch.path in read
        }
        return lambda options: Zipped(start(options), columns, notes)
