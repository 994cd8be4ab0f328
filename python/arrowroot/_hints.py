"""Answers to names and arguments that are not there: the line to write instead, of the tables.

Nothing here is imported before something is missing.
"""

from __future__ import annotations

import re
from operator import index
from typing import TYPE_CHECKING, Any

from arrowroot._hint_tables import (
    ADD,
    ARGUMENTS,
    ATTRIBUTES,
    BY_POSITION,
    LIBRARIES,
    MAKING,
    NEW,
    OF_ENTRIES,
    TO_FILL,
    TO_LIST,
    TO_MERGE,
    TO_READ,
    TO_SELECT,
    TO_SKIM,
    TO_WRITE,
    TYPES,
)
from arrowroot._native import nearest
from arrowroot._render import shown, without_secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

#: An argument to write, and not a call.
_ARGUMENT = r"(\w+)=(?!=)"
#: A name of a column that needs no quotes in an expression.
_PLAIN = r"[A-Za-z_]\w*"
#: Calls that choose columns and entries as a scan does, and what only that takes besides.
_LIKE_SCANS = ("dataset", "scan_root", "partitions", "dataframe", "awkward", "bag")
_OF_SCANS = ("define", "filter", "objects", "origin", "on_error", "entries", "lumi_mask")
#: Shorter names are like too many others.
_MIN_LENGTH = 3


def lines_of(table: Mapping[str, str], name: str) -> list[str]:
    """Return the lines of a table, whose keys are several names each, for a name."""
    return [line for names, line in table.items() if name in names.split()]


def line_of(table: Mapping[str, str], name: str) -> str | None:
    """Return the first of these lines; None if there is none."""
    return next(iter(lines_of(table, name)), None)


def near(name: str, known: Iterable[str]) -> str:
    """Return a question for the names that look like one; "" if there are none."""
    close = nearest(name, list(known))
    return f"; did you mean {' or '.join(close)}?" if close else ""


def for_attribute(kind: str, name: str, known: Iterable[str]) -> str:
    """Return what to write instead of an attribute that objects of a kind lack; "" if nobody knows what was meant.

    known: the attributes that there are.
    """
    line = line_of(ATTRIBUTES.get(kind, {}), name)  # a class of a user's has none of its own
    if line is not None:
        return f": write {line}"
    return near(name, [one for one in known if not one.startswith("_")]) if len(name) >= _MIN_LENGTH else ""


def with_columns(line: str, of: Any) -> str:
    """Return a line with columns that a tree, a scan or a column has in the place of those that stand for them."""
    if not re.search(r'"[^"]*\b[xynv]\b', line):
        return line
    if hasattr(type(of), "metadata"):
        meant = dict.fromkeys("xv", of.name) if re.fullmatch(_PLAIN, of.name) else {}
    else:
        meant = _numbers_of(of.schema)

    def named(quoted: re.Match[str]) -> str:
        return re.sub(r"\b[xynv]\b", lambda name: meant.get(name[0], name[0]), quoted[0])

    return re.sub(r'"[^"]*"', named, line)


def _numbers_of(schema: Any) -> dict[str, str]:
    """Return columns of numbers in the place of x, y and n, where there are none of these names."""
    from pyarrow import types

    plain = [field for field in schema if re.fullmatch(_PLAIN, field.name)]
    whole = [field.name for field in plain if types.is_integer(field.type)]
    numbers = [field.name for field in plain if types.is_floating(field.type)] + whole
    ours = {"x": numbers[:1], "y": numbers[1:2] or numbers[:1], "n": whole[:1] or numbers[:1]}
    return {name: found[0] for name, found in ours.items() if found and name not in schema.names}


def for_argument(
    call: str, given: Mapping[str, Any], name: str, known: Sequence[str], unlisted: Collection[str] = ()
) -> str:
    """Return what to write instead of an argument that a call lacks.

    given: all that the call got by name, of which the values are kept that mean the same here.
    known: the arguments that it has. Where none is near, all are named but those that are ``unlisted``.
    """
    if call == "append":
        return f": write {BY_POSITION[call]}"
    if (line := _line_for(call, name, given, known)) is not None:
        wrong = [one for one in given if one not in known]
        others = [_line_for(call, one, given, known) for one in wrong]
        # All that is an argument is said at once, where the first one is.
        arguments = dict.fromkeys(
            one.partition("  #")[0] for one in others if one and re.match(_ARGUMENT, one)
        )
        return f": write {', '.join(arguments) if re.match(_ARGUMENT, line) and len(arguments) > 1 else line}"
    if call in _LIKE_SCANS and name in _OF_SCANS:
        return f": a scan has it: write ar.scan(..., {name}={shown(given[name])})"
    own = ", ".join(one for one in known if one not in unlisted)
    return near(name, known) or (f"; its own are {own}" if own else "; it takes none")


def _line_for(call: str, name: str, given: Mapping[str, Any], known: Sequence[str]) -> str | None:
    """Return what to write instead of one argument; None if nobody knows what was meant."""
    if name == "mode" and str(given[name]).lower() in ("w", "wb", "recreate", "create", "new"):
        name, given = "overwrite", {"overwrite": given[name]}
    if call == "create" and name == "overwrite":
        return NEW
    if call in ("create", "update") and name in ("mode", "append", "update", "keep"):
        return ADD
    table = ARGUMENTS.get(call, TO_READ)
    lines = lines_of(table, name)
    if lines and lines[0] == BY_POSITION["Hist"]:
        lines[0] = _axis_line(given) or lines[0]
    if table in (TO_READ, TO_SKIM) and lines:
        lines[0] = _with_values(lines[0], name, given)
    for line in lines:
        argument = re.match(_ARGUMENT, line)
        if argument is None or argument[1] in known:
            return line
    if not lines:
        return None
    argument_alone, mark, more = lines[0].partition("  #")
    of = 'ar.write("new.root:t", data, ' if table is TO_WRITE else "tree.scan("
    return f"{of}{argument_alone}){mark}{more}"


def _with_values(line: str, name: str, given: Mapping[str, Any]) -> str:
    """Return a line of reading with the values that were given, where they are of the kind that is expected."""
    value = given[name]
    if line.startswith("entries="):
        return _entries_line(given) or line
    if name == "library":
        return LIBRARIES.get(value, line) if isinstance(value, str) else line
    argument = line.partition("=")[0]
    if argument == "batch_size" and isinstance(value, int) and value > 0:
        return f"batch_entries={shown(value)}"
    if argument == "batch_size" and isinstance(value, str) and shown(value) == repr(value):
        return f"batch_size={value!r}"
    if argument == "n_threads" and isinstance(value, int) and value >= 0 and not isinstance(value, bool):
        return f"{argument}={shown(value)}"
    if argument == "columns" and isinstance(value, str):
        value = [value]
    if name in ("exclude", "drop") and isinstance(value, list):
        value = ["*", *(f"!{one}" for one in value)]
    is_kept = (argument == "filter" and isinstance(value, str)) or (
        argument == "columns" and isinstance(value, list) and all(isinstance(one, str) for one in value)
    )
    # Long values are shown cut.
    return f"{argument}={value!r}" if is_kept and shown(value) == repr(value) else line


def _axis_line(given: Mapping[str, Any]) -> str | None:
    """Return the histogram of a call that gave bins and their ends as NumPy takes them; None for others."""
    n_bins, ends, x = given.get("bins"), given.get("range"), given.get("x", "x")
    if not (
        isinstance(n_bins, int) and isinstance(x, str) and isinstance(ends, tuple | list) and len(ends) == 2
    ):
        return None
    return for_missing("Hist", [(n_bins, *ends), x])


def _entries_line(given: Mapping[str, Any]) -> str | None:
    """Return the entries of a call that gave begin, end or number; None if one of them is no whole number."""
    ends: dict[str, int] = {}
    for what, names in OF_ENTRIES.items():
        for value in (given[name] for name in names.split() if given.get(name) is not None):
            try:
                ends[what] = index(value)
            except TypeError:
                return None
    start, stop = ends.get("start"), ends.get("stop")
    if "number" in ends:
        stop = (start or 0) + ends["number"]
        if start is not None and start < 0 <= stop:
            stop = None  # to the end, which is no number that counts from there
    if start is None and stop is None:
        return None
    return f"entries=slice({shown(start or 0)}, {shown(stop)})"


def for_positions(call: str) -> str:
    """Return what to write instead of more arguments by position than a call has."""
    return BY_POSITION.get(call, TO_SELECT)


def for_missing(call: str, args: Sequence[object]) -> str | None:
    """Return what to write for a call without all arguments that it needs; ``args``: those by position."""
    if call != "Hist":
        return BY_POSITION.get(call)
    texts = [one for one in args if isinstance(one, str)]
    axes = [one for one in args if not isinstance(one, str)]
    if len(axes) == 3 and all(isinstance(one, int | float) for one in axes):
        axes = [tuple(axes)]  # as ROOT and hist take them
    return f"ar.Hist({shown(axes[0]) if axes else '(100, 0, 10)'}, x={(texts or ['x'])[0]!r})"


def for_swapped(call: str, output: str, other: object) -> str:
    """Return a call that writes, with its arguments in their order; ``other``: the data, or the inputs."""
    output = without_secrets(output)
    if call == "write":
        named = output if re.search(r"\.root:.", output) else f"{output}:Events"
        return f"ar.write({named!r}, data)"
    inputs = list(other) if isinstance(other, list | tuple) else other
    each = (shown(inputs), repr(output)) if call in ("skim", "index") else (repr(output), shown(inputs))
    return f"ar.{call}({', '.join(each)})"


def for_making(kind: str) -> str:
    """Return what gives an object of a class that people do not make themselves."""
    return MAKING[kind]


def for_type(name: object) -> str:
    """Return what to write instead of a text that is no type; what types there are if nobody knows what was meant."""
    line = line_of(TYPES, name) if isinstance(name, str) else None
    return (
        f": write {line!r}"
        if line
        else (
            "; numbers are 'float32' or np.float32, lists pa.list_(pa.float32()), and those of 3 items "
            "pa.list_(pa.float32(), 3)"
        )
    )


def for_column(text: str, known: Collection[str], origins: Collection[str]) -> str:
    """Return what to write instead of a text that names no column, but several or a pattern; else "".

    origins: the names that say where entries come from.
    """
    if pattern := re.fullmatch(r"(?s)/(.+)/[a-z]*", text):
        return f": a regular expression is written re.compile({pattern[1]!r}), or filter_name={text!r}"
    if text in origins:
        return f": where entries come from is an option: write ar.scan(..., origin={text!r})"
    parts = [part for part in re.split(r"[\s,:;]+", text) if part]
    if len(parts) > 1 and all(part in known for part in parts):
        return f": several are a list: write {parts}"
    return ""


def lines() -> list[str]:
    """Return all lines, each once."""
    tables = [
        *ATTRIBUTES.values(),
        TO_READ,
        TO_WRITE,
        TO_LIST,
        TO_MERGE,
        TO_SKIM,
        TO_FILL,
        BY_POSITION,
        MAKING,
    ]
    return list(dict.fromkeys([*(line for table in tables for line in table.values()), TO_SELECT]))
