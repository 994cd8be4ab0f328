"""CMS framework job reports: the storage-timing-summary, written and read.

A counter has the subsystem that was asked (a protocol as ``rfio``, or ``tstoragefile``, which is ROOT's file above it),
the operation, how many were attempted and succeeded, megabytes, and milliseconds: sum, least and most. A megabyte
is 2^20 bytes (CMSSW, Utilities/StorageFactory/src/StorageAccount.cc, 3_3 to 14).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from arrowroot._errors import CorruptFileError, InvalidRequestError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot._cost.accounts import Account

MEBIBYTE = 1 << 20
#: Reports are some kilobytes; a job's log that holds some may be long.
_MAX_BYTES = 64 << 20
#: The most counters, and summaries with or without some.
_MAX_COUNTERS = 100_000
_MAX_DEPTH = 1000
_SUMMARY = "storage-timing-summary"
#: The tag of a counter is some 200 bytes.
_PIECE = re.compile(rf"</?{_SUMMARY}\s*>|<counter-value\s[^<>]{{,4096}}>")
#: A tag or a text that is longer than any in a report.
_LONG = re.compile(rb"<[^<]{1048576}")
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,30})?(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]{1,30}")
#: A counter as CMSSW has written it since 2012: Timing-SUBSYSTEM-OPERATION-FIELD.
_METRIC = re.compile(r"Timing-(.+)-([^-]+)-([^-]+)")
_ATTRIBUTES = (
    "num-operations",
    "num-successful-operations",
    "total-megabytes",
    "total-msecs",
    "min-msecs",
    "max-msecs",
)
_METRIC_FIELDS = (
    "numOperations",
    "numSuccessfulOperations",
    "totalMegabytes",
    "totalMsecs",
    "minMsecs",
    "maxMsecs",
)


#: What ``time`` prints in a shell, with minutes or without: three lines.
_TIME = r"[ \t]+(?:([0-9]{1,9})m)?([0-9]{1,12}(?:\.[0-9]{1,9})?)s?[ \t]*"
_TIMES = re.compile(rf"^[ \t]*real{_TIME}\r?\n[ \t]*user{_TIME}\r?\n[ \t]*sys{_TIME}\r?$", re.MULTILINE)
#: Of a shorter time no rate is told.
_SHORTEST_MS = 1e-3


class Counter(NamedTuple):
    """One counter-value. ``megabytes`` are of 2^20 bytes, times in ms, as the report has them."""

    subsystem: str
    name: str
    n_operations: int
    n_successful: int
    megabytes: float
    total_ms: float
    min_ms: float
    max_ms: float

    @property
    def path(self) -> str:
        """The counter as "subsystem/name"."""
        return f"{self.subsystem}/{self.name}"

    @property
    def bytes(self) -> int:
        """Bytes, as exact as the report has them: CMS writes six digits."""
        return round(self.megabytes * MEBIBYTE)

    @property
    def mean_bytes(self) -> float | None:
        """Mean size of a successful operation; None if there was none or it moves no bytes."""
        return self.bytes / self.n_successful if self.n_successful and self.megabytes else None

    @property
    def mean_ms(self) -> float | None:
        """Mean time of an operation; failed ones took time too."""
        return self.total_ms / self.n_operations if self.n_operations else None

    @property
    def bytes_per_s(self) -> float | None:
        """Bytes over the time in these operations; None if it brought none, or took less than a clock tells well."""
        is_told = self.megabytes and self.total_ms >= _SHORTEST_MS
        return self.bytes / (self.total_ms / 1e3) if is_told else None


class Times(NamedTuple):
    """What a shell's ``time`` told of a job, in s."""

    real_s: float
    user_s: float
    sys_s: float


class Report(NamedTuple):
    """One storage-timing-summary. ``line``: where it begins in its file."""

    counters: list[Counter]
    line: int
    #: Of the job, if its log has them beside the summary.
    times: Times | None = None

    def find(self, path: str) -> Counter | None:
        """Return the counter of "subsystem/name"."""
        return next((counter for counter in self.counters if counter.path == path), None)


def read(path: str | Path) -> list[Report]:
    """Return the summaries of a report, or of a log that has some in its text, in their order.

    Raises: StorageError if it cannot be read, CorruptFileError if it has none or contradicts itself.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None  # whose text has the name as it was typed
    if len(content) > _MAX_BYTES:
        raise InvalidRequestError(f"{path}: a job report of more than {_MAX_BYTES >> 20} MiB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = "a job report is a text of XML"
        raise CorruptFileError(f"{path}: byte {error.start} is no UTF-8, and {what}") from None
    try:
        reports = _of_document(content) if text.lstrip().startswith("<") else _of_log(text)
    except CorruptFileError as error:
        raise CorruptFileError(f"{path}: {error}") from None
    if not any(report.counters for report in reports):
        raise CorruptFileError(f"{path}: no {_SUMMARY} with counters in it")
    return [report for report in reports if report.counters]


class _Collector:
    """Takes the elements of a document; everything that is no counter is passed over."""

    def __init__(self, first_line: int = 1) -> None:
        self.reports = [Report([], first_line)]
        self._metrics: dict[tuple[str, str], dict[str, str]] = {}
        self._is_in_metrics = False
        self._first_line = first_line
        self._depth = 0
        # Whatever encoding the document names, it has been read as this one.
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    def parse(self, content: bytes) -> None:
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            line = self._first_line + error.lineno - 1
            raise CorruptFileError(f"line {line}: no XML: {expat.ErrorString(error.code)}") from None

    def line(self) -> int:
        return self._first_line + self._parser.CurrentLineNumber - 1

    def _doctype(self, *_: object) -> None:
        raise CorruptFileError(f"line {self.line()}: a document type; job reports have none")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise CorruptFileError(f"line {self.line()}: more than {_MAX_DEPTH:,} elements in each other")
        if tag == _SUMMARY:
            self._begin_report()
        elif tag == "counter-value":
            # The summary of what ROOT itself counts has megabytes only.
            if all(name in attributes for name in ("subsystem", "counter-name", *_ATTRIBUTES)):
                values = [attributes[name] for name in _ATTRIBUTES]
                self._add(attributes["subsystem"], attributes["counter-name"], values)
        elif tag == "PerformanceSummary" and attributes.get("Metric") == "StorageStatistics":
            self._begin_report()
            self._is_in_metrics = True
        elif tag == "Metric" and self._is_in_metrics:
            match = _METRIC.fullmatch(attributes.get("Name", ""))
            if match and match[3] in _METRIC_FIELDS:
                self._metrics.setdefault((match[1], match[2]), {})[match[3]] = attributes.get("Value", "")
                _check_number(len(self._metrics), "counters", self.line())

    def _begin_report(self) -> None:
        self.reports.append(Report([], self.line()))
        _check_number(len(self.reports), "summaries", self.line())

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if tag == _SUMMARY:
            # A later part without a beginning of its own is another report.
            self._begin_report()
        elif tag == "PerformanceSummary" and self._is_in_metrics:
            self._is_in_metrics = False
            for (subsystem, name), fields in self._metrics.items():
                if len(fields) < len(_METRIC_FIELDS):
                    missing = next(field for field in _METRIC_FIELDS if field not in fields)
                    raise CorruptFileError(f"line {self.line()}: {subsystem}-{name} has no {missing}")
                self._add(subsystem, name, [fields[field] for field in _METRIC_FIELDS])
            self._metrics.clear()

    def _add(self, subsystem: str, name: str, values: Sequence[str]) -> None:
        counts, sizes = values[:2], values[2:]
        if not all(text.isascii() and text.isdigit() and len(text) <= 20 for text in counts):
            raise CorruptFileError(f"line {self.line()}: {subsystem}/{name}: {counts} are no counts")
        if not all(_NUMBER.fullmatch(text) for text in sizes):
            raise CorruptFileError(f"line {self.line()}: {subsystem}/{name}: {sizes} are no sizes and times")
        numbers = [float(text) for text in sizes]
        if max(numbers) > 1e18:
            raise CorruptFileError(f"line {self.line()}: {subsystem}/{name}: {max(numbers)} is out of range")
        counters = self.reports[-1].counters
        counters.append(Counter(subsystem, name, int(counts[0]), int(counts[1]), *numbers))
        _check_number(len(counters), "counters", self.line())


def _check_number(number: int, what: str, line: int) -> None:
    if number > _MAX_COUNTERS:
        raise CorruptFileError(f"line {line}: more than {_MAX_COUNTERS:,} {what}")


def _of_document(content: bytes) -> list[Report]:
    if long := _LONG.search(content):
        line = 1 + content.count(b"\n", 0, long.start())
        raise CorruptFileError(
            f"line {line}: a tag or text of more than 1 MiB, which job reports do not have"
        )
    collector = _Collector()
    collector.parse(content)
    return collector.reports


def _of_log(text: str) -> list[Report]:
    """Return the summaries in a text; a page or a log may have lost where one begins."""
    reports, starts = [Report([], 1)], [0]
    line, seen = 1, 0
    n_counters = 0
    for match in _PIECE.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        if _SUMMARY in match[0]:
            reports.append(Report([], line))
            starts.append(seen)
            _check_number(len(reports), "summaries", line)
            continue
        n_counters += 1
        _check_number(n_counters, "counters", line)
        # A tag that is not closed, as in some logs, would have no end.
        closed = match[0] if match[0].endswith("/>") else match[0][:-1] + "/>"
        collector = _Collector(line)
        collector.parse(closed.encode())
        if not reports[-1].counters:
            reports[-1], starts[-1] = Report([], line), seen
        reports[-1].counters.extend(collector.reports[0].counters)
    found = [(start, report) for start, report in zip(starts, reports, strict=True) if report.counters]
    return _with_times(text, found)


def _with_times(text: str, found: list[tuple[int, Report]]) -> list[Report]:
    """Return reports with the times of their jobs; ``found``: where each begins, in order.

    In a log these come before the summary or behind it: for all as for the first of them.
    """
    times = [(match.start(), _times_of(match)) for match in _TIMES.finditer(text)]
    if not times or not found:
        return [report for _, report in found]
    starts = [start for start, _ in found]
    are_before = times[0][0] < starts[0]
    by_report: dict[int, Times] = {}
    for line, told in times:
        number = bisect_right(starts, line) - (0 if are_before else 1)
        if are_before:
            by_report[number] = told
        else:
            by_report.setdefault(number, told)
    return [report._replace(times=by_report.get(number)) for number, (_, report) in enumerate(found)]


def _times_of(match: re.Match[str]) -> Times:
    values = iter(match.groups())
    return Times(
        *(60 * int(minutes or 0) + float(seconds) for minutes, seconds in zip(values, values, strict=True))
    )


#: Above the store, CMS counts by what ROOT's file did: the operations of our layers by those names.
_OF_ENGINE = {"open": "construct", "read": "read", "readv": "readv"}
_OF_SCAN_STORE = {"read": "read-actual", "readv": "readv-actual"}
_OF_LAYERS = {"cache-hit": "read-via-cache", "prefetch": "read-prefetch-to-cache"}
_PLAIN = {"stage-in": "stagein"}
#: Layers that count what servers were asked; their names are those of protocols.
_OF_SERVERS = ("http", "xrootd")
_REQUESTS = "-requests"
#: Layers around a store: what they count, it counts too, or a local disk answered.
_AROUND = (
    "tables",
    "compress",
    "queue",
    "attempt",
    "readahead",
    "prefetch",
    "lazy-download",
    "block-cache",
    "opening",
    "local-cache",
)
_REPLICA = "replica "


def is_protocol(subsystem: str) -> bool:
    """Whether a subsystem is a storage, and neither ROOT's file above it nor a layer of ours or CMS's around it."""
    return not (
        subsystem == "tstoragefile"
        or subsystem in _AROUND
        or subsystem.startswith(_REPLICA)
        or subsystem.endswith(_REQUESTS)
    )


def counters_of(file: Iterable[Account], scan: Iterable[Account], url: str) -> list[Counter]:
    """Return what a file and a scan of it were asked for, as CMS counts.

    What the store was asked for goes by the URL's protocol. What the engine asked is ``read`` of
    ``tstoragefile``, and what of that reached the store is its ``read-actual`` and ``readv-actual``. No counter is
    there twice: what servers were asked one by one has the subsystem ``http-requests`` or ``xrootd-requests``.
    """
    protocol = url.partition("://")[0].lower() if "://" in url else "file"
    subsystems = {"store": protocol} | {layer: layer + _REQUESTS for layer in _OF_SERVERS}
    counters = [_counter(account, subsystems.get(account.layer, account.layer), _PLAIN) for account in file]
    for account in scan:
        if account.layer == "engine":
            counters.append(_counter(account, "tstoragefile", _OF_ENGINE | _OF_LAYERS | _PLAIN))
        elif account.layer == "store":
            counters.append(_counter(account, "tstoragefile", _OF_SCAN_STORE | _OF_LAYERS | _PLAIN))
        else:
            counters.append(_counter(account, account.layer, _OF_LAYERS | _PLAIN))
    return sorted(counters, key=lambda counter: counter.subsystem == "tstoragefile")


def counters_of_writing(accounts: Iterable[Account]) -> list[Counter]:
    """Return what the layers of writing were asked for, as CMS counts: the store of this machine is ``file``."""
    return [
        _counter(account, "file" if account.layer == "store" else account.layer, {}) for account in accounts
    ]


def _counter(account: Account, subsystem: str, names: dict[str, str]) -> Counter:
    return Counter(
        subsystem,
        names.get(account.operation, account.operation),
        account.n_attempted,
        account.n_successful,
        account.bytes / MEBIBYTE,
        account.total_ns / 1e6,
        account.min_ns / 1e6,
        account.max_ns / 1e6,
    )


def document(counters: Iterable[Counter], *, url: str, n_entries: int, is_output: bool = False) -> str:
    """Return a framework job report. ``url`` must have no credentials in it; it was read, or is the output."""
    file = f"<InputFile><PFN>{escape(url)}</PFN><EventsRead>{n_entries}</EventsRead></InputFile>"
    if is_output:
        file = f"<File><PFN>{escape(url)}</PFN><TotalEvents>{n_entries}</TotalEvents></File>"
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<FrameworkJobReport>",
        file,
        "<StorageStatistics>",
        f"<{_SUMMARY}>",
    ]
    for counter in counters:
        texts = [str(counter.n_operations), str(counter.n_successful)]
        # As short as it can be and still the same number; CMS has six digits.
        texts += [_shortest(number) for number in counter[4:]]
        values = "".join(f" {name}='{text}'" for name, text in zip(_ATTRIBUTES, texts, strict=True))
        name = f"subsystem={_quoted(counter.subsystem)} counter-name={_quoted(counter.name)}"
        lines.append(f" <counter-value {name}{values}/>")
    lines += [f"</{_SUMMARY}>", "</StorageStatistics>", "</FrameworkJobReport>", ""]
    return "\n".join(lines)


def _shortest(number: float) -> str:
    return repr(int(number)) if number.is_integer() else repr(float(number))


def _quoted(text: str) -> str:
    return "'" + quoteattr(text)[1:-1].replace("'", "&apos;") + "'"
