"""Reads the tables ``workload`` of a campaign."""

from __future__ import annotations

import hashlib
import os
from string import Formatter
from typing import TYPE_CHECKING, Any

from arrowroot_lab.location import whole
from arrowroot_lab.quantities import parse_share, parse_time_ns

from .model import Workload
from .read_data import inside

if TYPE_CHECKING:
    from pathlib import Path

    from .keys import TomlTable

KINDS = ("read", "write", "program")
REPORTS = ("fjr", "trace", "json", "proc")
#: The words in braces that the command of a program may have.
FIELDS = ("url", "urls", "table", "report", "threads", "entries")
#: A program says itself what it reads; it may be told the entries.
_NOT_OF_PROGRAMS = ("columns", "column_share", "order", "work_per_entry")
MAX_LIST_BYTES = 256 << 20


def read_workloads(table: TomlTable, name: str, directory: Path) -> list[Workload]:
    """Return the workloads of ``[workload.NAME]``: one for each number of threads."""
    kind = table.one_of("kind", "read", KINDS)
    values: dict[str, Any] = {}
    values["columns"] = whole(table.texts("columns")) or None
    values["column_share"] = table.share("column_share", parse_share)
    values["entry_share"] = table.share("entry_share", parse_share)
    if "entry_list" in table:
        values["entry_list"] = inside(table, "entry_list", table.text("entry_list", ""), directory)
        path = directory / values["entry_list"]
        values["entry_list_hash"], values["n_listed"] = _hash_and_number(table, path)
        if "entry_share" in table:
            table.fault("entry_list", "tell a share of the entries or a list, not both")
    values["order"] = table.one_of("order", "cluster", ("cluster", "entry"))
    values["work_ns_per_entry"] = table.parsed("work_per_entry", 0, parse_time_ns)
    values["workers"] = table.whole("workers", 1, 1, 1024)
    numbers = table.wholes("threads", 1, 0, 1024)
    values["seed"] = table.whole("seed", 1, 0, 2**63 - 1)
    if kind == "program":
        values["command"] = _command(table)
        values["report"] = table.one_of("report", "proc", REPORTS)
        values["about_ns"] = table.parsed("takes", None, parse_time_ns)
        values["needs"] = table.texts("needs") if "needs" in table else ()
        for key in _NOT_OF_PROGRAMS:
            if key in table:
                table.fault(key, "a program says itself what it reads")
    else:
        for key in ("command", "report", "takes", "needs"):
            if key in table:
                table.raw(key)
                table.fault(key, f'only workloads of the kind "program" have a {key}, not {kind!r}')
    if "settings" in table:
        settings = table.table("settings")
        values["settings"] = {key: settings.raw(key) for key in settings.names()}
        for key, value in values["settings"].items():
            if not isinstance(value, str | int):
                settings.fault(key, "expected a text, a whole number, true or false")
        if kind != "write":
            table.fault("settings", f'only workloads of the kind "write" have settings, not {kind!r}')
    if kind == "write" and values["workers"] > 1:
        table.fault("workers", "several workers cannot write one file")
    if values["entry_share"] is not None or "entry_list" in values:
        if values["workers"] > 1:
            table.fault("workers", "several workers read whole parts of the entries: no share, no list")
        if values["order"] == "entry":
            table.fault("order", "chosen entries are read by clusters: leave order out")
    table.end()
    # Each number of threads is a case of its own, so "all cores" is told as the number that it is here.
    return [
        Workload(
            f"{name}, {number} threads" if len(numbers) > 1 and number != 1 else name, kind,
            threads=number or len(os.sched_getaffinity(0)), **values,
        )
        for number in numbers
    ]  # fmt: skip


def _command(table: TomlTable) -> tuple[str, ...]:
    if "command" not in table:
        table.required("command", "the program and its arguments, a list of texts")
        return ()
    if isinstance(table.raw("command"), str):
        table.fault("command", "expected a list of texts: no shell splits it")
        return ()
    command = table.texts("command")
    for word in command:
        try:
            fields = [name for _, name, *_ in Formatter().parse(whole(word)) if name is not None]
        except ValueError as error:
            table.fault("command", f"{word!r}: {error}; a brace is written {{{{ or }}}}")
            continue
        for name in fields:
            if name not in FIELDS:
                table.fault("command", f"{word!r}: {{{name}}} is not known, but {', '.join(FIELDS)}")
    return command


def _hash_and_number(table: TomlTable, path: Path) -> tuple[str, int]:
    """The hash of the numbers of a list of entries, and how many; a fault unless they are whole and ascend."""
    try:
        if path.stat().st_size > MAX_LIST_BYTES:
            table.fault("entry_list", f"{path}: a list has at most {MAX_LIST_BYTES >> 20} MiB")
            return "", 0
        text = path.read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        if path.is_file():
            table.fault("entry_list", f"{path}: it cannot be read: {error}")
        return "", 0
    last, n_listed = -1, 0
    whole = hashlib.sha256()
    for line, word in enumerate(text.split("\n"), 1):
        if not word.strip():
            continue
        if not word.strip().isdigit() or (number := int(word)) <= last:
            table.fault(
                "entry_list", f"{path}:{line}: expected a number of an entry, greater than the one before it"
            )
            return "", 0
        last, n_listed = number, n_listed + 1
        whole.update(b"%d\n" % number)
    return whole.hexdigest()[:16], n_listed
