"""The documents that the laboratory keeps: what was asked, and what came of it (docs/lab/documents.md).

Keys are added, and never redefined; what a reader does not know it keeps. The documents are JSON; these classes
are what the programs that write them agree on.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any, TypedDict, cast

from . import clock
from .canonical import key_of
from .errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable

#: The version counts how often keys were added. A reader takes newer ones, too: it keeps what it does not know.
FORM, FORM_VERSION = "arrowroot-lab/result", 2

#: Bounds of a document, as it may come from anywhere: its text, its depth, and its integers, which are SQL's.
MAX_BYTES, MAX_DEPTH, MAX_INTEGER = 64 * 2**20, 40, 2**63 - 1
#: Counts of cores, and versions of the form, have columns of 32 bits.
_MAX_SHORT = 2**31 - 1
#: Years of dates: times in ns of 64 bits have no others.
_FIRST_YEAR, _LAST_YEAR = 1970, 2261

#: Digits of a commit, where people read it.
N_COMMIT = 12
_COMMIT = re.compile("[0-9a-f]{40}")
#: A date by the calendar, as all begin; by weeks, or without its dashes, it would not sort as text.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]([01][0-9]|2[0-3]):[0-9]{2}.*")
#: Half a surrogate pair stands where Python could not decode a file's name.
_NUL_OR_HALF = re.compile("[\0\ud800-\udfff]")

#: Values of the metrics of one layer ("application", "store", "line", "device", ...), exact counts and bytes.
Counters = dict[str, dict[str, int]]


def now() -> str:
    """Return the time in UTC, as the documents have it."""
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def in_utc(date: str) -> str:
    """Return a date of a document as ``now`` writes it, so that dates sort as text."""
    if (
        len(date) == 24 and date[10] + date[19] + date[23] == "T.Z"
    ):  # it is written so already, as nearly all are
        return date
    told = datetime.fromisoformat(date.replace("Z", "+00:00")).astimezone(timezone.utc)
    return told.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Outcome(str, Enum):
    """How a case, or a sample, ended."""

    OK = "ok"
    #: The program ended with an error, or its values are wrong.
    FAILED = "failed"
    TIMED_OUT = "timed out"
    #: Not tried: an engine cannot do it, or is not there.
    SKIPPED = "skipped"
    #: Not measured, as it would not be what it is called.
    REFUSED = "refused"


class CaseDocument(TypedDict, total=False):
    """A case: all that is asked. Its hash is the key of the case; no reading and no version is in it."""

    dataset: str  # hash of its values
    layout: str  # hash of its layout
    dataset_name: str  # not hashed, as are storage_name and workload_name
    storage_name: str
    workload_name: str
    storage: dict[str, Any]  # kind, line, cache, cold: what it is, not where, but for a hash in `place`
    engine: str  # its name, without a version
    workload: dict[str, Any]
    strategy: dict[str, Any]  # name, cache_bytes, options
    threads: int
    workers: int


#: Keys of a case that are for people: the names that a campaign gives.
NOT_HASHED = ("dataset_name", "storage_name", "workload_name")


@dataclass
class Sample:
    """One measurement, in its order."""

    #: Its place in the turns: all cases have their first sample before any has its second.
    turn: int
    #: UTC.
    started_at: str
    outcome: Outcome
    reason: str | None = None
    #: None if the program told no times.
    wall_ns: int | None = None
    cpu_ns: int | None = None
    peak_rss_bytes: int | None = None
    peak_virtual_bytes: int | None = None
    #: User and system time of the whole job: its start is in it, other than in ``cpu_ns``.
    user_ns: int | None = None
    system_ns: int | None = None
    #: The time within ``wall_ns`` in which a thread of it waited for a processor: the most of any of its threads.
    queued_ns: int | None = None
    counters: Counters = field(default_factory=dict)
    #: Time of the control kernel just before, and just after.
    control_ns: tuple[int, int] | None = None
    #: Load, steal time, pressure, traffic, device reads and busy time while it ran: see machine/readings.py.
    readings: dict[str, float] = field(default_factory=dict)
    #: Why it is not counted; empty: it is. A disturbed sample is kept, and another one taken.
    disturbed: list[str] = field(default_factory=list)
    #: The proof of a cold read: the share of the file in the page cache before it, and what the device read.
    cold: dict[str, float] | None = None
    #: All else that the runner told.
    details: dict[str, Any] = field(default_factory=dict)
    #: Keys that this version does not know.
    others: dict[str, Any] = field(default_factory=dict)

    def is_counted(self) -> bool:
        """True if figures are made of it: it ended well and undisturbed."""
        return self.outcome is Outcome.OK and not self.disturbed


@dataclass
class Result:
    """All samples of one case in one run of a campaign."""

    case: CaseDocument
    site: str
    #: CPU model, cores, memory class, storage kind: what makes two machines the same for a history. ``shared``: others
    #: used it meanwhile, which is another machine.
    machine: dict[str, Any]
    #: The versions of the engine ("engine": what people call it), its libraries and the server, and the commit.
    versions: dict[str, str]
    #: name, values, layout, file (hashes), file_bytes, n_entries.
    dataset: dict[str, Any]
    #: name, path, commit, is_dirty, hash of its text, and run: the UUID of the run.
    campaign: dict[str, Any]
    samples: list[Sample] = field(default_factory=list)
    outcome: Outcome = Outcome.OK
    reason: str | None = None
    #: The whole fingerprint: CPU, cores, memory, kernel, storage type, packages.
    environment: dict[str, Any] = field(default_factory=dict)
    #: Round trip and bandwidth of the storage, before and after.
    line: dict[str, float] = field(default_factory=dict)
    #: The answers of a runner's `predict`: wall_ns, error_share, counters, by; with line and predicted_at.
    predictions: list[dict[str, Any]] = field(default_factory=list)
    #: Where and when a read before the samples read the files: n_reads, and lists of equal length: entries (None: of no
    #: entry), offsets, n_bytes, end_ns. Of many reads some are kept, at even distances.
    reads: dict[str, Any] | None = None
    #: The checksum of the values; the engine whose checksum it was compared with, and what came of it.
    checksum: dict[str, Any] | None = None
    checked: dict[str, Any] | None = None
    #: The command that repeats this result alone.
    command: list[str] = field(default_factory=list)
    #: Hash of the runner's program.
    runner: str | None = None
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: str = field(default_factory=now)
    #: Keys of a document that this version does not know.
    others: dict[str, Any] = field(default_factory=dict)

    @property
    def case_id(self) -> str:
        """The key of the case: the hash of what is asked."""
        return case_id(self.case)

    @property
    def series_id(self) -> str:
        """The key of the series: case, site and coarse machine."""
        return key_of([self.case_id, self.site, self.machine])

    def is_answered_by(self, versions: dict[str, str], file: str | None) -> bool:
        """True if one of the case with these versions, which may be more, on the file of this hash tells the same."""
        return self.versions.items() <= versions.items() and self.dataset.get("file") in (None, file)

    def counted(self) -> list[Sample]:
        """The samples that figures are made of: those that ended well and undisturbed."""
        return [sample for sample in self.samples if sample.is_counted()]

    @property
    def is_shared(self) -> bool:
        """True if it was measured on a node that others used meanwhile, where all samples count."""
        return self.machine.get("shared") is True

    @property
    def version(self) -> str:
        """The version of the engine, for people: the key "engine", else the one with the engine's name.

        A name in capitals goes before the same one in small letters, as a program's own version does before that of
        its package; of a commit there are its first digits.
        """
        engine = self.case.get("engine", "")
        named: dict[str, str] = {}
        for name, version in sorted(self.versions.items()):  # upper case first
            named.setdefault(name.lower(), version)
        for name in ("engine", engine.lower(), engine.lower().partition("-")[0]):
            if name in named:
                return version_text(named[name])
        return ", ".join(f"{name} {version}" for name, version in sorted(self.versions.items()))


def version_text(version: str) -> str:
    """Return a version as people read it: a commit by its first digits."""
    return version[:N_COMMIT] if _COMMIT.fullmatch(version) else version


def case_id(case: CaseDocument) -> str:
    """Return the key of what is asked."""
    return key_of({key: value for key, value in case.items() if key not in NOT_HASHED})


def to_json(result: Result) -> dict[str, Any]:
    """Return the document of a result, as plain values. Keys whose value is None are left out."""
    document = {"form": FORM, "version": FORM_VERSION, **_plain(result)}
    document["samples"] = [_plain(sample) for sample in result.samples]
    return document


def encode(result: Result) -> str:
    """Return the text of a result's document."""
    return text_of(to_json(result))


def text_of(document: dict[str, Any]) -> str:
    """Return the text of a document."""
    return json.dumps(document, allow_nan=False, ensure_ascii=True, separators=(",", ":"))


def from_json(document: Any) -> Result:
    """Return the result that a document tells.

    Raises: DocumentError, with the key, what was expected there, and what was found.
    """
    check_plain(document, "", 0)
    known = _object(document, "")
    form = known.pop("form", None)
    if form != FORM:
        raise DocumentError("form", f"expected {FORM!r}, found {_shown(form)}")
    _integer(known.pop("version", None), "version", 1, _MAX_SHORT)
    arguments = _checked(known, _RESULT_KEYS, "")
    for key in _REQUIRED:
        if key not in arguments:
            raise DocumentError(key, "the key is missing")
    return Result(**arguments)


def decode(text: str | bytes) -> Result:
    """Return the result that the text of a document tells.

    Raises: DocumentError if the text is not UTF-8, not JSON, too large, or not a result.
    """
    if len(text) > MAX_BYTES:
        raise DocumentError("", f"a document has at most {MAX_BYTES:,} bytes, this one has {len(text):,}")
    try:
        told = text.decode() if isinstance(text, bytes) else text
        document = json.loads(told, parse_constant=_refuse_constant, object_pairs_hook=_refuse_doubles)
    except UnicodeDecodeError as error:
        raise DocumentError("", f"expected UTF-8: {error}") from error
    except json.JSONDecodeError as error:
        raise DocumentError("", f"expected JSON: {error}") from error
    except RecursionError:
        raise DocumentError("", f"it is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # an integer of thousands of digits
        raise DocumentError("", str(error)) from error
    return from_json(document)


def _plain(value: Result | Sample) -> dict[str, Any]:
    """The keys of one object of the document; the samples of a result are left to the caller."""
    plain: dict[str, Any] = {}
    for one in fields(value):
        item = getattr(value, one.name)
        if one.name == "others" or item is None:
            continue
        if isinstance(item, Outcome):
            item = item.value
        plain[one.name] = list(item) if isinstance(item, tuple) else item
    return {**value.others, **plain}


def _refuse_constant(name: str) -> Any:
    raise DocumentError("", f"{name} is not a number that JSON has")


def _refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    told = dict(pairs)
    if len(told) < len(pairs):
        keys = [key for key, _ in pairs]
        raise DocumentError(next(key for key in keys if keys.count(key) > 1), "the key is there twice")
    return told


def _shown(value: Any) -> str:
    """A value in an error, cut to what a line can hold."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_plain(value: Any, key: str, depth: int) -> None:
    """Check what holds for each value: plain, finite, in SQL's range, and text that a database can hold.

    Raises: DocumentError with the key.
    """
    if depth > MAX_DEPTH:
        raise DocumentError(key[:100], f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        if "\0" in value or not (value.isascii() or _is_whole(value)):
            raise DocumentError(key, f"the text has a NUL or half a character: {_shown(value)}")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise DocumentError(key, f"expected a finite number, found {value}")
    elif isinstance(value, bool | None):
        pass
    elif isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise DocumentError(key, f"expected an integer of 64 bits, found {_shown(value)}")
    elif isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise DocumentError(key, f"expected keys that are text, found {_shown(name)}")
            check_plain(name, key, depth)
            check_plain(item, f"{key}.{name}" if key else name, depth + 1)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            check_plain(item, f"{key}[{place}]", depth + 1)
    else:
        raise DocumentError(key, f"expected a plain value, found {_shown(value)}")


def _is_whole(text: str) -> bool:
    """True if no half of a surrogate pair is in it: no encoding has those."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def whole_text(text: str) -> str:
    """Return a text as a document can hold it: a NUL, or half a character, becomes U+FFFD."""
    return _NUL_OR_HALF.sub("\ufffd", text)


def _object(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DocumentError(key, f"expected an object, found {_shown(value)}")
    return dict(value)


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise DocumentError(key, f"expected text, found {_shown(value)}")
    return value


def _name(value: Any, key: str) -> str:
    told = _text(value, key)
    if not told or len(told) > 200:
        raise DocumentError(key, f"expected 1 to 200 characters, found {_shown(value)}")
    return told


def _integer(value: Any, key: str, least: int = 0, most: int = MAX_INTEGER) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DocumentError(key, f"expected an integer of at least {least}, found {_shown(value)}")
    if value > most:
        raise DocumentError(key, f"expected an integer of at most {most}, found {_shown(value)}")
    return value


def _number(value: Any, key: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DocumentError(key, f"expected a number, found {_shown(value)}")
    return value


def _date(value: Any, key: str) -> str:
    try:
        told = _text(value, key)
        date = datetime.fromisoformat(told.replace("Z", "+00:00"))
        if _DATE.fullmatch(told) and date.tzinfo and _FIRST_YEAR <= date.year <= _LAST_YEAR:
            return told
    except ValueError:
        pass
    raise DocumentError(
        key,
        f"expected a time with its zone, as 2026-01-31T12:00:00.000Z, of {_FIRST_YEAR} to {_LAST_YEAR}, "
        f"found {_shown(value)}",
    )


def _uuid(value: Any, key: str) -> str:
    try:
        told = _text(value, key)
        if str(uuid.UUID(told)) == told:
            return told
    except ValueError:
        pass
    raise DocumentError(key, f"expected a UUID in lower case, found {_shown(value)}")


def _outcome(value: Any, key: str) -> Outcome:
    try:
        return Outcome(value)
    except ValueError:
        names = ", ".join(outcome.value for outcome in Outcome)
        raise DocumentError(key, f"expected one of {names}, found {_shown(value)}") from None


def _of(each: Callable[[Any, str], Any]) -> Callable[[Any, str], dict[str, Any]]:
    """An object whose values are all of one kind."""
    return lambda value, key: {
        name: each(item, f"{key}.{name}") for name, item in _object(value, key).items()
    }


def is_counter(layer: str, name: str) -> bool:
    """True if ``LAYER.NAME`` tells both: a layer has no dot, and neither is empty."""
    return bool(layer and name) and "." not in layer


def _counters(value: Any, key: str) -> Counters:
    told = _of(_of(_integer))(value, key)
    for layer, names in told.items():
        for name in names:
            if not is_counter(layer, name):
                raise DocumentError(
                    key, f"expected layers without dots, and names, found {_shown({layer: name})}"
                )
    return told


def _list_of(each: Callable[[Any, str], Any]) -> Callable[[Any, str], list[Any]]:
    def check(value: Any, key: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise DocumentError(key, f"expected a list, found {_shown(value)}")
        return [each(item, f"{key}[{place}]") for place, item in enumerate(value)]

    return check


def _with(keys: dict[str, Callable[[Any, str], Any]]) -> Callable[[Any, str], dict[str, Any]]:
    """An object of which these keys are checked where they have a value."""

    def check(value: Any, key: str) -> dict[str, Any]:
        told = _object(value, key)
        for name, each in keys.items():
            if told.get(name) is not None:
                each(told[name], f"{key}.{name}")
        return told

    return check


def _or_none(each: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    return lambda value, key: None if value is None else each(value, key)


def _control(value: Any, key: str) -> tuple[int, int]:
    times = _list_of(_integer)(value, key)
    if len(times) != 2:
        raise DocumentError(key, f"expected two times, before and after, found {len(times)}")
    return times[0], times[1]


def _texts(value: Any, key: str) -> Any:
    return value if isinstance(value, str) else _list_of(_text)(value, key)


def _case(value: Any, key: str) -> CaseDocument:
    case = _object(value, key)
    for name in ("dataset", "engine"):
        _name(case.get(name), f"{key}.{name}")
    for name, check in (("storage", _STORAGE), ("workload", _WORKLOAD), ("strategy", _object)):
        check(case.get(name), f"{key}.{name}")
    _name(case["storage"].get("kind"), f"{key}.storage.kind")
    for name in ("layout", *NOT_HASHED):
        if name in case:
            _name(case[name], f"{key}.{name}")
    n_cores = 1
    for name in ("threads", "workers"):
        if name in case:
            n_cores *= _integer(case[name], f"{key}.{name}", 1, _MAX_SHORT // n_cores)
    return cast("CaseDocument", case)


def _campaign(value: Any, key: str) -> dict[str, Any]:
    campaign = _with(dict.fromkeys(("run", "commit", "path"), _text))(value, key)
    _name(campaign.get("name"), f"{key}.name")
    return campaign


def _sample(value: Any, key: str) -> Sample:
    arguments = _checked(_object(value, key), _SAMPLE_KEYS, f"{key}.")
    for name in ("turn", "started_at", "outcome"):
        if name not in arguments:
            raise DocumentError(f"{key}.{name}", "the key is missing")
    return Sample(**arguments)


def _checked(told: dict[str, Any], keys: dict[str, Callable[[Any, str], Any]], prefix: str) -> dict[str, Any]:
    """The arguments that make the object: known keys checked, null as if it were not there, and ``others``."""
    known = {
        key: keys[key](value, prefix + key)
        for key, value in told.items()
        if key in keys and value is not None
    }
    known["others"] = {key: value for key, value in told.items() if key not in keys}
    return known


_LINE = _with({"latency_ns": _number, "bytes_per_s": _number})
_STORAGE = _with({"line": _LINE, "origin_line": _LINE, "cache": _text})
_WORKLOAD = _with({"kind": _name, "columns": _texts, "work_ns_per_entry": _number})
_PREDICTION = _with({"wall_ns": _integer, "cpu_ns": _integer, "error_share": _number, "error": _number})
_READS = _with(
    {
        "n_reads": _integer,
        "entries": _list_of(_or_none(_integer)),
        **dict.fromkeys(("offsets", "n_bytes", "end_ns"), _list_of(_integer)),
    }
)
_DATASET = _with(
    {
        **dict.fromkeys(("name", "values", "layout", "file"), _text),
        "file_bytes": _integer,
        "n_entries": _integer,
    }
)
_SAMPLE_KEYS: dict[str, Callable[[Any, str], Any]] = {
    "turn": _integer,
    "started_at": _date,
    "outcome": _outcome,
    "reason": _text,
    "wall_ns": _integer,
    "cpu_ns": _integer,
    "peak_rss_bytes": _integer,
    **dict.fromkeys(("peak_virtual_bytes", "user_ns", "system_ns", "queued_ns"), _integer),
    "counters": _counters,
    "control_ns": _control,
    "readings": _of(_number),
    "disturbed": _list_of(_text),
    "cold": _of(_number),
    "details": _with({"n_entries": _integer, "open_ns": _number}),
}
_RESULT_KEYS: dict[str, Callable[[Any, str], Any]] = {
    "uuid": _uuid,
    "created_at": _date,
    "case": _case,
    "site": _name,
    "machine": _object,
    "versions": _of(_text),
    "dataset": _DATASET,
    "campaign": _campaign,
    "samples": _list_of(_sample),
    "outcome": _outcome,
    "reason": _text,
    "environment": _object,
    "line": _of(_number),
    "predictions": _list_of(_PREDICTION),
    "reads": _READS,
    "checksum": _of(_object),
    "checked": _object,
    "command": _list_of(_text),
    "runner": _text,
}
_REQUIRED = ("uuid", "created_at", "case", "site", "machine", "versions", "dataset", "campaign", "outcome")
