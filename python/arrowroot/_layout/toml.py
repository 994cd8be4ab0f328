"""Layouts as TOML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from arrowroot._errors import InvalidRequestError, StorageError, nearest
from arrowroot._layout.columns import BY_COLUMN
from arrowroot._render import printable
from arrowroot._storage import toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Most bytes of a layout.
_MAX_BYTES = 1 << 20
_KEYS = (
    "base", "format", "flush", "basket_size", "page_size", "autosave", "io_features", "compression",
)  # fmt: skip
#: Keys of tables.
_OF_NAMES = (*BY_COLUMN, "records", "projections")
#: Values that TOML has no word for.
_NONE = "none"
_MAY_BE_NONE = (
    "flush", "basket_size", "page_size", "autosave", "io_features", "compression", "split",
    "precision", "projections",
)  # fmt: skip


def load(source: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Return where a layout comes from, for messages, and what is said of it: by a file, or a text of several lines.

    See ``Layout.from_toml``.
    """
    if isinstance(source, str) and "\n" in source:
        return "layout", _of_text(source, "layout")
    path = os.fspath(source)
    where = f"layout {printable(path)}"
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is a tenth of our import time
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise StorageError(f"{where}: {error.strerror}") from error
    if len(content) > _MAX_BYTES:
        raise InvalidRequestError(f"{where}: more than {_MAX_BYTES:,} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"{where}: byte {error.start} is no UTF-8") from None
    return where, _of_text(text, where)


def _of_text(text: str, where: str) -> dict[str, Any]:
    if len(text) > _MAX_BYTES:
        raise InvalidRequestError(f"{where}: more than {_MAX_BYTES:,} bytes")
    try:
        given = toml.parsed(text)
    except toml.TomlError as error:
        raise InvalidRequestError(f"{where}: {error}") from None
    known = (*_KEYS, *_OF_NAMES)
    for key in given:
        if key not in known:
            near = nearest(key, known)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidRequestError(f"{where}: there is no key {key[:60]!r}, but {', '.join(known)}{hint}")
    base = given.pop("base", "ttree")
    if not isinstance(base, str) or base.endswith(".toml"):
        raise InvalidRequestError(f"{where}: base={str(base)[:60]!r}: the name of a preset")
    return {"base": base, **{key: _value(key, value) for key, value in given.items()}}


def _value(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {glob: _value(key, one) for glob, one in value.items()}
    return None if value == _NONE and key in _MAY_BE_NONE else value


def dump(layout: Mapping[str, Any]) -> str:
    """Return the fields of a layout as TOML. See ``Layout.to_toml``."""
    lines = []
    tables = []
    for key, value in layout.items():
        if key in _OF_NAMES:
            if value:
                tables += ["", f"[{key}]", *_pairs(value)]
        elif key == "compression" and not isinstance(value, str | int | tuple | None):
            tables += ["", f"[{key}]", *_pairs(value.items())]
        else:
            lines.append(f"{key} = {_literal(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _pairs(rules: Iterable[tuple[str, Any]]) -> list[str]:
    return [f"{_literal(glob)} = {_literal(value)}" for glob, value in rules]


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return f'"{_NONE}"'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple) and type(value) is tuple:
        # A codec and its level.
        return _literal(":".join(map(str, value)))
    text = str(value)
    escaped = "".join(
        f"\\u{ord(letter):04x}" if letter < " " or letter == "\x7f" else letter
        for letter in text.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f'"{escaped}"'
