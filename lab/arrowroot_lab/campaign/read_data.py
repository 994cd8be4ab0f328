"""Reads the tables ``dataset``, ``storage`` and ``limits``, of campaigns and sites."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from arrowroot_lab.location import Location, whole
from arrowroot_lab.quantities import parse_bytes, parse_rate, parse_time_ns

from .model import Dataset, Limits, Line, Recipe, Storage, StorageLimits
from .providers import kind_of, registered

if TYPE_CHECKING:
    from .keys import TomlTable

KINDS = ("local", "url", "xrootd", "http", "s3", "xcache", "simulated")
#: The keys of each kind besides ``kind``.
_KEYS = {
    "local": ("cold", "directory", "push", "limits"),
    "url": ("url", "push", "limits"),
    "xrootd": ("line", "log"),
    "http": ("line", "log"),
    "s3": ("line", "log"),
    "xcache": ("line", "origin_line", "cache", "block", "prefetch"),
    "simulated": ("line", "disk_read_ahead"),
}
#: A campaign names a storage of the site that it is run at so.
AT_SITE = "site"
_ALL_KEYS = tuple(dict.fromkeys([*(key for keys in _KEYS.values() for key in keys), "storage"]))
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s][^\s]*")
_WHERE = "where the datasets are, with {file} for a file's name"
MAX_LATENCY_NS = 60 * 10**9


def read_dataset(table: TomlTable, name: str, directory: Path) -> Dataset:
    """Return the dataset of ``[dataset.NAME]``."""
    recipes = registered().recipes
    sources = ("files", *recipes, "script")
    told = [source for source in sources if source in table]
    if len(told) != 1:
        table.fault(
            None, f"tell one of {', '.join(sources)}" + (f", not {' and '.join(told)}" if told else "")
        )
    files = table.text("files", None) if "files" in table else None
    recipe: Recipe | None = None
    for source in told:
        if source in recipes:
            recipe = resolve_name(recipes[source])(table.table(source))
    if "script" in table:
        recipe = _script(table, directory)
    needs = table.texts("needs") if "needs" in table else ()
    for key in ("arguments", "size", "entries", "needs"):
        if key in table and "script" not in table:
            table.fault(key, "this is a script's, and there is none")
    usual = recipe.table if recipe is not None else None
    if files and not kind_of(Path(whole(files)).name).has_tables:
        usual = ""
    if usual is not None:
        name_in_files = table.text("table", usual)
    else:
        name_in_files = table.required("table", "the name of the table in the files")
    for source in (*sources, "arguments", "size", "entries"):
        table.raw(source)
    table.end()
    return Dataset(name, whole(name_in_files), files, recipe, needs)


def _script(table: TomlTable, directory: Path) -> Recipe:
    script = inside(table, "script", table.text("script", ""), directory)
    arguments = table.texts("arguments") if "arguments" in table else ()
    return Recipe(
        "script",
        (script, *arguments),
        ("{python}", str((directory / script).resolve()), "{directory}"),
        table.parsed("size", None, parse_bytes),
        table.whole("entries", 0, 1, 10**12) if "entries" in table else None,
    )


def inside(table: TomlTable, key: str, told: str, directory: Path) -> str:
    """Return a path below the campaign's directory; note a fault for any other, or if there is no such file."""
    told = whole(told)
    path = PurePosixPath(told)
    if not told:
        return told
    if path.is_absolute() or ".." in path.parts:
        table.fault(key, f"expected a path below the campaign's directory, not {told!r}")
    else:
        file = directory / path
        if not file.is_file():
            table.fault(key, f"there is no file {file}")
        elif not file.resolve().is_relative_to(directory.resolve()):
            table.fault(key, f"{told!r} is a link that leaves the campaign's directory")
    return told


def read_storage(table: TomlTable, name: str, *, may_be_site: bool = True) -> Storage:
    """Return the storage of ``[storage.NAME]``; of kind "site" it is still to be found (``Site.resolved``)."""
    kinds = (*KINDS, AT_SITE) if may_be_site else KINDS
    if "kind" not in table:
        table.required("kind", f"one of {', '.join(kinds)}")
        kind = ""
    else:
        kind = table.one_of("kind", "", kinds)
    keys = ("storage",) if kind == AT_SITE else _KEYS.get(kind, _ALL_KEYS)
    values: dict[str, Any] = {"options": {}}
    if "cold" in keys:
        values["is_cold"] = table.is_true("cold")
    if "directory" in keys and "directory" in table:
        told = table.text("directory", "")
        if not Path(whole(told)).expanduser().is_absolute():
            table.fault("directory", f"expected an absolute path, not {told!r}")
        values["options"]["directory"] = Location(told)
    if kind == "url":
        values["url"] = _url(table, "url", table.required("url", _WHERE))
    if "push" in keys and "push" in table:
        values["push"] = _push(table, values)
    if kind == AT_SITE:
        values["options"]["storage"] = table.text("storage", name)
    for key in ("line", "origin_line"):
        if key in keys and key in table:
            values[key] = _line(table.table(key))
    if "limits" in keys:
        limits = table.table("limits")
        values["limits"] = _read_storage_limits(limits, has_connections=kind == "url")
        limits.end()
    if "log" in keys and table.is_true("log"):
        values["options"]["log"] = True
    if kind == "simulated" and "line" not in table:
        table.fault("line", "this key is missing: a simulated storage is nothing but a line")
    if "disk_read_ahead" in keys:
        values["disk_read_ahead_bytes"] = table.parsed("disk_read_ahead", None, parse_bytes)
    if "cache" in keys:
        values["is_cache_warm"] = table.one_of("cache", "cold", ("cold", "warm")) == "warm"
        if "block" in table:
            values["options"]["block_bytes"] = _block(table)
        if "prefetch" in table:
            values["options"]["prefetch"] = table.whole("prefetch", 0, 0, 128)
    for key in _ALL_KEYS:
        if key in table and key not in keys:
            table.raw(key)
            table.fault(key, f"storages of kind {kind!r} have no such key; they have {', '.join(keys)}")
    if not kind:
        for key in ("url", "push"):
            table.raw(key)
    table.end()
    return Storage(name, kind, **values)


def _block(table: TomlTable) -> int:
    size = table.parsed("block", 1 << 20, parse_bytes)
    # XrdPfc takes whole pages between these bounds.
    if not (4096 <= size <= 512 << 20 and size % 4096 == 0):
        table.fault("block", "expected a multiple of 4 KiB from 4 KiB to 512 MiB")
    return size


def _url(table: TomlTable, key: str, told: str) -> Location:
    url = Location(told)
    text = url.whole()
    if text and (not _URL.fullmatch(text) or text.count("{file}") != 1 or "{" in text.replace("{file}", "")):
        table.fault(key, f"expected a URL with {{file}} for a file's name, not {url!r}")
    return url


def _push(table: TomlTable, values: dict[str, Any]) -> Location | None:
    """Where files are put: where they are read, or at a URL of its own."""
    told = table.raw("push")
    if told is False:
        return None
    if told is not True:
        if not isinstance(told, str) or "url" not in values:
            table.fault("push", "expected true or false, or of a storage of kind 'url' a URL with {file}")
            return None
        return _url(table, "push", told)
    if "url" in values:
        found: Location = values["url"]
        return found
    if "directory" not in values["options"]:
        table.fault("push", "files are put into a directory: tell it by 'directory'")
        return None
    return Location(f"{whole(values['options']['directory'])}/{{file}}")


def read_limits(table: TomlTable, default: Limits) -> Limits:
    """Return the limits of ``[limits]``; ``default``: of what is not told."""
    timeout_ns = table.parsed("timeout", None, parse_time_ns)
    check_ns = table.parsed("check", None, parse_time_ns)
    total_ns = table.parsed("total", None, parse_time_ns)
    disk_bytes = table.parsed("disk", None, parse_bytes)
    storages = _read_storage_limits(table)
    for name, value in (
        ("timeout", timeout_ns), ("check", check_ns), ("total", total_ns), ("disk", disk_bytes),
    ):  # fmt: skip
        if value == 0:
            table.fault(name, "expected more than 0")
    table.end()
    return Limits(
        timeout_s=default.timeout_s if timeout_ns is None else timeout_ns / 1e9,
        check_s=default.check_s if check_ns is None else check_ns / 1e9,
        total_s=default.total_s if total_ns is None else total_ns / 1e9,
        disk_bytes=default.disk_bytes if disk_bytes is None else disk_bytes,
        storages=storages,
    )


def _read_storage_limits(table: TomlTable, *, has_connections: bool = True) -> StorageLimits:
    connections = None
    if has_connections and "connections" in table:
        # arrowroot takes no larger number.
        connections = table.whole("connections", 1, 1, 256)
    rate = table.parsed("rate", None, parse_rate)
    traffic_bytes = table.parsed("traffic", None, parse_bytes)
    pause_ns = table.parsed("pause", None, parse_time_ns)
    for name, value in (("rate", rate), ("traffic", traffic_bytes)):
        if value == 0:
            table.fault(name, "expected more than 0")
    return StorageLimits(connections, rate, traffic_bytes, None if pause_ns is None else pause_ns / 1e9)


def _line(table: TomlTable) -> Line:
    latency_ns = table.parsed("latency", 0, parse_time_ns)
    if latency_ns > MAX_LATENCY_NS:
        table.fault("latency", "expected a round trip of at most a minute")
    rate = table.parsed("bandwidth", None, parse_rate)
    if rate is not None and rate < 1000:
        table.fault("bandwidth", "expected at least 1 kB/s; leave it out for no limit")
    if "latency" not in table and "bandwidth" not in table:
        table.fault(None, "tell latency, bandwidth or both")
    has_handshake = table.is_true("handshake")
    table.end()
    return Line(latency_ns, rate or 0.0, has_handshake)
