"""Notes that a tree records besides its columns: aliases, an index, friends, and what users add."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrowroot._api.tree_metadata import SCHEMA_RECORD
from arrowroot._errors import InvalidRequestError, UnsupportedError
from arrowroot._render import shown
from arrowroot._sizes import LARGEST
from arrowroot._storage.url import split_url
from arrowroot._writing.texts import checked_text

if TYPE_CHECKING:
    #: Expressions by the names that they go by.
    Aliases = Mapping[str, str]
    #: One column of integers, or two.
    Index = str | Sequence[str]
    #: "TREE" of the same file or "FILE:TREE", several of these, or such by the names that they go by.
    Friends = Mapping[str, str] | Sequence[str] | str
    #: Numbers and texts by name, or texts alone.
    UserInfo = Mapping[str, Any] | Sequence[str]


@dataclass(frozen=True)
class Notes:
    """The same as the engine takes it."""

    aliases: list[tuple[str, str]]
    #: Name that it goes by, path of the tree, file ("" for this one).
    friends: list[tuple[str, str, str]]
    #: Class, name, value as text.
    user_info: list[tuple[str, str, str]]
    index: tuple[str, str | None] | None
    entries_reshuffled: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Notes:
        """Return what the options aliases, friends, user_info, index and entries_reshuffled say.

        Raises: InvalidRequestError for what makes no sense; UnsupportedError for what a tree cannot record.
        """
        index = options.get("index")
        return cls(
            _aliases(options.get("aliases") or {}),
            _friends(options.get("friends") or ()),
            _user_info(options.get("user_info") or ()),
            None if index is None else _index(index),
            bool(options.get("entries_reshuffled")),
        )


def _text(value: object, what: str) -> str:
    checked = checked_text(value, what)
    if not checked or "\0" in checked:
        raise InvalidRequestError(f"{what}: expected text, got {shown(value)}")
    return checked


def _aliases(given: object) -> list[tuple[str, str]]:
    if not isinstance(given, Mapping):
        raise InvalidRequestError(
            f"aliases: expected expressions by name, as {{'pt': 'sqrt(px*px+py*py)'}}, got {shown(given)}"
        )
    return [(_text(name, "aliases"), _text(text, f"aliases[{name!r}]")) for name, text in given.items()]


def _index(given: object) -> tuple[str, str | None]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not 1 <= len(names) <= 2:
        raise InvalidRequestError(
            f"index: expected one column of integers or two, as ('run', 'event'), got {shown(given)}"
        )
    columns = [_text(name, "index") for name in names]
    return columns[0], columns[1] if len(columns) > 1 else None


def _friends(given: object) -> list[tuple[str, str, str]]:
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        pairs = [(_text(alias, "friends"), target) for alias, target in given.items()]
    elif isinstance(given, Sequence):
        pairs = [("", target) for target in given]
    else:
        raise InvalidRequestError(
            f"friends: expected 'TREE' or 'FILE:TREE', or several of them, got {shown(given)}"
        )
    found = []
    for alias, target in pairs:
        file, path = _file_and_tree(_text(target, "friends"))
        found.append((alias or path.rpartition("/")[2], path, file))
    return found


def _file_and_tree(target: str) -> tuple[str, str]:
    url, path = split_url(target)
    if path is not None:
        return url, path
    if ".root" in target or "://" in target:
        raise InvalidRequestError(f"friends: which tree of {target!r}? write 'FILE:TREE'")
    return "", target


def _user_info(given: object) -> list[tuple[str, str, str]]:
    found = _found_user_info(given)
    if any(name == SCHEMA_RECORD for _, name, _ in found):
        raise InvalidRequestError(
            f"user_info: {SCHEMA_RECORD!r} is the name of the schema that arrowroot records"
        )
    return found


def _found_user_info(given: object) -> list[tuple[str, str, str]]:
    if isinstance(given, Mapping):
        return [_parameter(_text(name, "user_info"), value) for name, value in given.items()]
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return [("TObjString", _text(text, "user_info"), "") for text in given]
    raise InvalidRequestError(
        f"user_info: expected numbers and texts by name, as {{'lumi': 12.5}}, or a list of texts, got {shown(given)}"
    )


def _parameter(name: str, value: object) -> tuple[str, str, str]:
    """Return a number as a ``TParameter``, and text as a ``TNamed``."""
    if isinstance(value, str):
        return "TNamed", name, checked_text(value, f"user_info[{name!r}]")
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "TParameter<bool>", name, str(int(bool(value)))
    if isinstance(value, numbers.Integral):
        number = operator.index(value)
        if not -LARGEST - 1 <= number <= LARGEST:
            raise InvalidRequestError(f"user_info[{name!r}]: {shown(number)} needs more than 64 bits")
        return "TParameter<Long64_t>", name, str(number)
    if isinstance(value, numbers.Real):
        return "TParameter<double>", name, repr(float(value))
    raise UnsupportedError(
        f"user_info[{name!r}]: a tree records numbers and texts, not {type(value).__name__}; write other objects "
        "beside it"
    )
