"""TOML of others: parsed in time and memory that its size bounds."""

from __future__ import annotations

import re
import sys
from typing import Any

from arrowroot._errors import InvalidRequestError

#: Tables and arrays that are in each other, and parts of a key, at most: the parser takes the square of these.
MAX_DEPTH = 32
_MOST_BITS = 1024
#: What is no structure: texts and comments.
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'|#[^\n]*",
    re.DOTALL,
)
_SIGN = re.compile(r"[\[\]{}\n,=.]")


class TomlError(InvalidRequestError):
    """A text that is no TOML, or more than is taken; its message quotes no value."""


def parsed(text: str) -> dict[str, Any]:
    """Return what a text says. Raises: TomlError."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    _check_depth(_TEXT.sub("_", text))
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"no TOML: {_bounded(str(error))}") from None
    except RecursionError:
        raise TomlError("its values are nested too deeply") from None
    except ValueError:
        # Python reads no integer of thousands of digits.
        raise TomlError(f"a number has more than {_MOST_BITS} bits") from None
    _check_numbers(values)
    return values


def _check_depth(structure: str) -> None:
    """Raise TomlError for what is nested too deeply; ``structure``: a text without its texts and comments."""
    depth = n_parts = 0
    for sign in _SIGN.findall(structure):
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth = max(0, depth - 1)
        n_parts = n_parts + 1 if sign == "." else 0
        if max(depth, n_parts) > MAX_DEPTH:
            raise TomlError(
                f"its tables, arrays or keys are nested too deeply, in more than {MAX_DEPTH} levels"
            )


def _check_numbers(value: Any) -> None:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise TomlError(f"a number has more than {_MOST_BITS} bits")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_numbers(inner)


def _bounded(message: str) -> str:
    return message if len(message) <= 200 else message[:199] + "…"
