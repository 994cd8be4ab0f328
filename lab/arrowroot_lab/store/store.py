"""The store itself: puts documents in, finds them again."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, and_, case, func, or_, select, true

from arrowroot_lab.documents import Outcome, Result, decode, encode, from_json, text_of
from arrowroot_lab.errors import KnownUuidError, NoDatabaseError, RequestError, StoreError
from arrowroot_lab.redaction import redacted

from . import tables
from .accepted import Accepted
from .faults import told
from .filters import Filter
from .place import engine_of, resolve, server_of, shown
from .schema import REVISION, bring_up_to_date, check_foreign, revision_of
from .summary import Summary, load_of, network_of, summary_of
from .taken import Taken, TakenColumns, is_among, taken_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

    from sqlalchemy import URL, Connection, CursorResult, Engine, Select
    from typing_extensions import Self

#: Documents that are in memory at the same time.
_BATCH = 200


class Store:
    """Results in a database. Any number of processes may put and read at the same time.

    Attributes:
        place: where it is, for people: a path, or a URL without its password
        server: the URL of a server, without a password, so that other machines can open it; None of a file
    """

    def __init__(self, engine: Engine, place: str, file: Path | None = None) -> None:
        self._engine = engine
        self.place = place
        self.server = server_of(engine.url)
        self._file = file if file is None else (file, _identity_of(file))

    @classmethod
    def open(
        cls, place: str | Path | None = None, *, must_exist: bool = False, is_foreign: bool = False
    ) -> Store:
        """Open a store; make it if it is not there.

        Args:
            place: a path or URL; None: ARROWROOT_LAB_DB, else the site's, else ./arrowroot-lab.db
            is_foreign: it is not believed to be what a laboratory has made
            must_exist: for reading: make none, and take one that may not be written; an older one is brought up to date

        Raises: StoreError if the database is damaged, another program's, of a newer laboratory, or cannot be reached;
            RequestError if the URL is of another kind, or nothing is there.
        """
        url = resolve(place)
        name = shown(url)
        is_file = url.get_backend_name() == "sqlite"
        path = Path(str(url.database))
        if is_file and must_exist and not path.is_file():
            raise NoDatabaseError(
                f"{name}: no database is there; `arrowroot lab run CAMPAIGN` makes one, --db names another"
            )
        if is_file and not path.parent.is_dir():
            raise RequestError(f"{name}: the directory {path.parent} is not there")
        if (
            is_file
            and not must_exist
            and not all(os.access(one, os.W_OK) for one in (path, path.parent) if one.exists())
        ):
            raise StoreError(
                f"{name}: it may not be written, or its directory may not; name one that may by --db"
            )
        engine = engine_of(url, may_write=not must_exist)
        try:
            with told(name):
                if is_foreign:
                    with engine.connect() as connection:
                        check_foreign(connection, name)
                if not must_exist:
                    bring_up_to_date(engine, name)
                elif _is_old(engine, name):
                    _bring_up_to_date_elsewhere(url, name)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, name, path if is_file else None)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def put(self, result: Result) -> bool:
        """Store a result. Returns False if it was there already.

        Raises: DocumentError, StoreError as ``put_document`` does.
        """
        return self.put_document(encode(result))

    def put_document(self, text: str | bytes) -> bool:
        """Store the text of a document, byte for byte. Returns False if the same document was there already.

        All of it is stored, or nothing. A document with secrets, as older laboratories wrote some, is stored without.

        Raises: DocumentError if it is no result; StoreError if another document has its UUID, or the database cannot
            be written.
        """
        result, kept = _shown(text)
        summary = summary_of(result, json.loads(kept)["version"])
        with self._written() as connection:
            statements = _statements(connection.dialect.name)
            key = connection.execute(statements.result, vars(summary)).scalar_one_or_none()
            if key is None:
                self._check_same(connection, result.uuid, kept)
                return False
            connection.execute(tables.document.insert(), {"result_id": key, "text": kept})
            samples = [_sample_row(key, place, sample) for place, sample in enumerate(result.samples)]
            if samples:
                connection.execute(tables.sample.insert(), samples)
            counters = [
                {"result_id": key, "place": place, "layer": layer, "name": name, "value": value}
                for place, sample in enumerate(result.samples)
                for layer, metrics in sample.counters.items()
                for name, value in metrics.items()
            ]
            if counters:
                connection.execute(tables.counter.insert(), counters)
            newest = {
                name: getattr(summary, name)
                for name in ("series_id", "version", "campaign", "created_at", "uuid")
            }
            newest |= {"result_id": key, "n_results": 1, "first_at": summary.created_at}
            connection.execute(statements.newest, newest)
        return True

    def has(self, asked: Result, outcomes: tuple[Outcome, ...] = (Outcome.OK,)) -> bool:
        """True if a case is measured already: at the site, with all of the versions, on the very file.

        Args:
            asked: a result of the case as it would be; the one in the store may have more versions
            outcomes: that count as measured; of ``ok`` at least one sample must be counted
        """
        columns = tables.result.c
        query = select(columns.versions, columns.dataset_file).where(
            columns.case_id == asked.case_id,
            columns.site == asked.site,
            columns.outcome.in_([outcome.value for outcome in outcomes]),
            or_(columns.outcome != Outcome.OK.value, columns.n_counted > 0),
        )
        with told(self.place), self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return any(asked.is_answered_by(json.loads(row.versions), row.dataset_file) for row in rows)

    def newest(self, site: str) -> str | None:
        """Return when the newest result of a site was complete; None if there is none."""
        query = self._query(Filter(site=(site,)), [tables.result.c.created_at]).limit(1)
        with told(self.place), self._engine.connect() as connection:
            found: str | None = connection.execute(query).scalar()
        return found

    def summaries(self, where: Filter | None = None, *, limit: int | None = None) -> list[Summary]:
        """Return the rows of the results that match, newest first."""
        names = [field.name for field in fields(Summary)]
        query = self._query(where or Filter(), [tables.result.c[name] for name in names]).limit(limit)
        with told(self.place), self._engine.connect() as connection:
            return [Summary(*row) for row in connection.execute(query)]

    def rows(self, where: Filter | None, names: Iterable[str], *, limit: int | None = None) -> list[Row[Any]]:
        """Return some columns of the results that match, newest first: a tenth of the time that all of them take."""
        query = self._query(where or Filter(), [tables.result.c[name] for name in names]).limit(limit)
        with told(self.place), self._engine.connect() as connection:
            return list(connection.execute(query).fetchall())

    def spans(self, where: Filter | None) -> dict[tuple[str, str], tuple[int, str]]:
        """Return (series, version) -> (how many results match, when the first was)."""
        where = where or Filter()
        columns = tables.result.c
        query = select(columns.series_id, columns.version)
        if where.has_counts():
            counted = tables.newest.c
            query = query.add_columns(func.sum(counted.n_results), func.min(counted.first_at))
            query = query.join_from(tables.newest, tables.result, counted.result_id == columns.id)
        else:
            query = query.add_columns(func.count(), func.min(columns.created_at))
        query = query.where(where.conditions(self._engine.dialect.name))
        with told(self.place), self._engine.connect() as connection:
            rows = _plain(connection.execute(query.group_by(columns.series_id, columns.version)))
        return {(series, version): (int(n), first) for series, version, n, first in rows}

    def firsts(self, where: Filter | None) -> dict[tuple[str, str], str]:
        """Return (series, version) -> when the first result was that matches: a look into the index for each."""
        where = where or Filter()
        if where.has_counts():
            return {key: first for key, (_, first) in self.spans(where).items()}
        each = select(tables.newest.c.series_id, tables.newest.c.version).distinct().subquery().c
        columns = tables.result.c
        first = (
            select(func.min(columns.created_at))
            .where(columns.series_id == each.series_id, columns.version == each.version)
            .where(where.conditions(self._engine.dialect.name))
            .scalar_subquery()
        )
        with told(self.place), self._engine.connect() as connection:
            rows = _plain(connection.execute(select(each.series_id, each.version, first)))
        return {(series, version): date for series, version, date in rows if date is not None}

    def newest_of(
        self,
        like: Iterable[int],
        where: Filter,
        names: Iterable[str],
        n: int | None,
        until: str | None = None,
    ) -> list[tuple[Any, ...]]:
        """Return the newest results of the series, version and campaign of each of some results, newest first.

        Args:
            like: keys of these results
            where: what those that are returned match, too
            names: columns
            n: so many of each that are as old as ``until`` or older; None: all
            until: a date; None: the end of time
        """
        result, of, older = tables.result.c, tables.result.alias("of").c, tables.result.alias("older").c
        key = ("series_id", "version", "campaign")
        query = select(*(result[name] for name in names)).where(where.conditions(self._engine.dialect.name))
        if until is not None:
            query = query.where(result.created_at <= until)
        if n is not None:
            first = select(older.created_at).where(*(older[name] == of[name] for name in key))
            if until is not None:
                first = first.where(older.created_at <= until)
            first = first.order_by(older.created_at.desc()).limit(1).offset(n - 1)
            query = query.where(result.created_at >= func.coalesce(first.scalar_subquery(), ""))
        query = query.where(*(result[name] == of[name] for name in key)).order_by(
            result.created_at.desc(), result.id.desc()
        )
        query = query.where(is_among(of.id, list(like), self._engine.dialect.name))
        with told(self.place), self._engine.connect() as connection:
            return _plain(connection.execute(query))

    def keys(self, where: Filter | None) -> list[int]:
        """Return the keys of the rows that match, newest first: what ``flat`` and ``texts`` take."""
        with told(self.place), self._engine.connect() as connection:
            return list(connection.scalars(self._query(where or Filter(), [tables.result.c.id])))

    def flat(self, name: str, columns: Iterable[str], keys: Iterable[int]) -> list[Row[Any]]:
        """Return columns of results, or of samples or counters with those of their results, newest results first."""
        rows, result = {"samples": tables.sample, "counters": tables.counter}.get(name), tables.result
        chosen = [result.c[one] if rows is None or one not in rows.c else rows.c[one] for one in columns]
        query = (
            select(*chosen)
            .where(is_among(result.c.id, list(keys), self._engine.dialect.name))
            .order_by(result.c.created_at.desc(), result.c.id.desc())
        )
        if rows is not None:
            keyed = [column for column in rows.primary_key if column.name != "result_id"]
            query = query.join_from(result, rows, rows.c.result_id == result.c.id).order_by(*keyed)
        with told(self.place), self._engine.connect() as connection:
            return list(connection.execute(query).fetchall())

    def taken(self, uuids: Iterable[str], *keys: str) -> dict[str, list[Taken]]:
        """Return the samples of results, by UUID and in their order, each with its values of some metrics.

        keys: metrics (``mining/metrics.py``), or counters as ``store.n_reads``
        """
        return {
            uuid: [
                Taken(turn, started_at, values, trace)
                for turn, started_at, trace, values in zip(
                    one.turns, one.started_at, one.traces, zip(*one.values, strict=True), strict=True
                )
            ]
            for uuid, one in self.samples(uuids, *keys).items()
        }

    def samples(self, uuids: Iterable[str], *keys: str) -> dict[str, TakenColumns]:
        """Return the same as columns: there may be a hundred thousand samples."""
        nothing = TakenColumns((), (), (), ((),) * len(keys))
        found = dict.fromkeys(uuids, nothing)
        columns, dialect = tables.result.c, self._engine.dialect.name
        known = select(columns.id, columns.uuid).where(is_among(columns.uuid, list(found), dialect))
        with told(self.place), self._engine.connect() as connection:
            uuid_of = dict(_plain(connection.execute(known)))
            rows = _plain(connection.execute(taken_of(list(uuid_of), keys, dialect)))
        for key, of_result in groupby(rows, itemgetter(0)):
            _, turns, started_at, traces, *values = zip(*of_result, strict=True)
            found[uuid_of[key]] = TakenColumns(turns, started_at, traces, values)
        return found

    def results(self, where: Filter | None = None, *, limit: int | None = None) -> Iterator[Result]:
        """Yield the results that match, whole, newest first; documents are read as they are asked for."""
        for text in self.documents(where, limit=limit):
            yield decode(text)

    def of(self, uuids: Iterable[str]) -> Iterator[Result]:
        """Yield the results of whole UUIDs, in their order."""
        keys = list(uuids)
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            query = (
                select(tables.result.c.uuid, tables.document.c.text)
                .join_from(tables.result, tables.document)
                .where(tables.result.c.uuid.in_(batch))
            )
            with told(self.place), self._engine.connect() as connection:
                texts = {row.uuid: row.text for row in connection.execute(query)}
            yield from (decode(texts[key]) for key in batch)

    def documents(self, where: Filter | None = None, *, limit: int | None = None) -> Iterator[str]:
        """Yield the documents that match, newest first, byte for byte as they came."""
        with told(self.place), self._engine.connect() as connection:
            keys = list(connection.scalars(self._query(where or Filter(), [tables.result.c.id]).limit(limit)))
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            query = select(tables.document).where(tables.document.c.result_id.in_(batch))
            with told(self.place), self._engine.connect() as connection:
                texts = {row.result_id: row.text for row in connection.execute(query)}
            yield from (texts[key] for key in batch)

    def texts(self, keys: Sequence[int] | None = None) -> Iterator[tuple[str, str]]:
        """Yield UUID and document, byte for byte as it came, of the rows of some keys; None: of all, newest first."""
        columns = [tables.result.c.uuid, tables.document.c.text]
        joined = tables.result.join(tables.document)
        keys = self.keys(None) if keys is None else keys
        for start in range(0, len(keys), _BATCH):
            query = (
                select(*columns)
                .select_from(joined)
                .where(tables.result.c.id.in_(keys[start : start + _BATCH]))
                .order_by(tables.result.c.created_at.desc(), tables.result.c.id.desc())
            )
            with told(self.place), self._engine.connect() as connection:
                rows = list(connection.execute(query).fetchall())
            yield from ((row.uuid, row.text) for row in rows)

    def document(self, uuid: str) -> str:
        """Return the document of a UUID, or of the beginning of one that is unique.

        Raises: RequestError if none or several have it.
        """
        columns = tables.result.c
        query = (
            select(columns.uuid, tables.document.c.text)
            .join_from(tables.result, tables.document)
            .where(columns.uuid.startswith(uuid, autoescape=True))
            .limit(2)
        )
        with told(self.place), self._engine.connect() as connection:
            rows = connection.execute(query).all()
        if len(rows) != 1 or len(uuid) < 4:
            problem = (
                "no result has this UUID" if not rows else "several results begin so; give more of the UUID"
            )
            raise RequestError(f"{self.place}: {uuid}: {problem} (`arrowroot lab show` lists them)")
        return str(rows[0].text)

    def result(self, uuid: str) -> Result:
        """Return the result of a UUID, or of the beginning of one that is unique; raises as ``document`` does."""
        return decode(self.document(uuid))

    def counter_names(self) -> list[tuple[str, str]]:
        """Return layer and name of each counter that any sample has, in order."""
        columns = tables.counter.c
        query = select(columns.layer, columns.name).distinct().order_by(columns.layer, columns.name)
        with told(self.place), self._engine.connect() as connection:
            return [(row.layer, row.name) for row in connection.execute(query)]

    def names(self, axis: str) -> list[str]:
        """Return the values that results have in a column that can be filtered by, in order."""
        column = tables.result.c[axis]
        query = select(column).distinct().where(column.is_not(None)).order_by(column)
        with told(self.place), self._engine.connect() as connection:
            return list(connection.scalars(query))

    def count(self, where: Filter | None = None) -> int:
        """Return how many results match."""
        query = self._query(where or Filter(), [tables.result.c.id]).order_by(None).subquery()
        with told(self.place), self._engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(query)).scalar_one()

    def accept(self, changes: Iterable[Accepted]) -> None:
        """Keep changes as accepted; one that is known has its reason replaced."""
        with self._written() as connection:
            for one in changes:
                connection.execute(tables.accepted.delete().where(one.is_row()))
                connection.execute(tables.accepted.insert(), one._asdict())

    def take_back(self, changes: Iterable[Accepted]) -> None:
        """Accept changes no longer."""
        with self._written() as connection:
            for one in changes:
                connection.execute(tables.accepted.delete().where(one.is_row()))

    def accepted(self) -> list[Accepted]:
        """Return all accepted changes, oldest first."""
        query = select(*(tables.accepted.c[name] for name in Accepted._fields)).order_by(
            tables.accepted.c.accepted_at, tables.accepted.c.name
        )
        with told(self.place), self._engine.connect() as connection:
            return [Accepted(*row) for row in connection.execute(query)]

    @contextmanager
    def _written(self) -> Iterator[Connection]:
        """A transaction that writes: it waits for other writers, and is done whole or not at all."""
        with (
            told(self.place),
            self._engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            yield connection
        if self._file is not None and _identity_of(self._file[0]) != self._file[1]:
            # What is written to a file without a name is gone with this process.
            self._engine.dispose()
            raise StoreError(
                f"{self.place}: the file was removed or replaced meanwhile, and what was stored since is not there"
            )

    def _query(self, where: Filter, asked: list[Any]) -> Select[Any]:
        dialect = self._engine.dialect.name
        query = select(*asked).where(where.conditions(dialect))
        if where.newest or where.newest_versions:
            query = query.where(tables.result.c.id.in_(self._newest(where)))
        return query.order_by(tables.result.c.created_at.desc(), tables.result.c.id.desc())

    def _newest(self, where: Filter) -> Select[Any]:
        """The ids of the newest results among those that match all but the outcome."""
        if where.narrows():
            rows, key = tables.result.c, tables.result.c.id
            matching = replace(where, outcome=()).conditions(self._engine.dialect.name)
        else:
            rows, key, matching = tables.newest.c, tables.newest.c.result_id, true()
        each = [rows.series_id] if where.newest else [rows.series_id, rows.version, rows.campaign]
        place = func.row_number().over(partition_by=each, order_by=[rows.created_at.desc(), rows.uuid.desc()])
        ranked = select(key.label("id"), place.label("place")).where(matching).subquery()
        return select(ranked.c.id).where(ranked.c.place == 1)

    def _check_same(self, connection: Connection, uuid: str, text: str) -> None:
        query = (
            select(tables.document.c.text)
            .join_from(tables.document, tables.result)
            .where(tables.result.c.uuid == uuid)
        )
        known = connection.execute(query).scalar_one()
        if known != text and json.loads(known) != json.loads(text):
            raise KnownUuidError(
                f"{self.place}: {uuid}: another document with this UUID is stored; a result is never replaced. "
                "A new measurement needs a new UUID"
            )


def _plain(asked: CursorResult[Any]) -> list[tuple[Any, ...]]:
    """The rows as the driver makes them: those that know the names of their columns take twice the time."""
    return list(asked.cursor.fetchall())


def _identity_of(path: Path) -> tuple[int, int] | None:
    """Which file has a name; None: none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _shown(text: str | bytes) -> tuple[Result, str]:
    """Return the result of a document, and the text to be kept: what others made of it may have secrets."""
    result = decode(text)
    kept = text.decode() if isinstance(text, bytes) else text
    document = json.loads(kept)
    shown = redacted(document)
    return (result, kept) if shown == document else (from_json(shown), text_of(shown))


def _is_old(engine: Engine, place: str) -> bool:
    """True if a store that is only read is one of an older laboratory."""
    with engine.connect() as connection:
        revision = revision_of(connection, place)
    if revision is None:
        raise RequestError(f"{place}: the database is empty; `arrowroot lab run CAMPAIGN` fills one")
    return revision != REVISION


def _bring_up_to_date_elsewhere(url: URL, place: str) -> None:
    """Add what an older store lacks, by a connection that may write, once."""
    writer = engine_of(url)
    try:
        with told(place):
            bring_up_to_date(writer, place)
    except StoreError as error:
        raise StoreError(
            f"{error}; it is of an older laboratory, and is brought up to date by whoever may write it: let them run "
            "`arrowroot lab show` once"
        ) from error
    finally:
        writer.dispose()


@dataclass(frozen=True)
class _Statements:
    """Inserts that say what to do where the key is there; made once, as making them costs more than running them."""

    #: Returns the new row's id; no row if the UUID is known.
    result: Any
    #: Counts the new result in the row of its series, version and campaign, and names it there if it is the newest.
    newest: Any


@cache
def _statements(dialect: str) -> _Statements:
    if (
        dialect == "postgresql"
    ):  # its module imports all that can talk to it: who has SQLite does not wait for that
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]
    known, newest = tables.newest.c, insert(tables.newest)
    now = newest.excluded
    is_newer = or_(
        now.created_at > known.created_at, and_(now.created_at == known.created_at, now.uuid > known.uuid)
    )
    values: dict[str, Any] = {
        name: case((is_newer, now[name]), else_=known[name]) for name in ("result_id", "created_at", "uuid")
    }
    values["n_results"] = known.n_results + now.n_results
    values["first_at"] = case((now.first_at < known.first_at, now.first_at), else_=known.first_at)
    return _Statements(
        insert(tables.result).on_conflict_do_nothing(index_elements=["uuid"]).returning(tables.result.c.id),
        newest.on_conflict_do_update(index_elements=["series_id", "version", "campaign"], set_=values),
    )


def _sample_row(key: int, place: int, sample: Any) -> dict[str, Any]:
    before, after = sample.control_ns or (None, None)
    return {
        "result_id": key,
        "place": place,
        "turn": sample.turn,
        "started_at": sample.started_at,
        "outcome": sample.outcome.value,
        "reason": sample.reason,
        "is_counted": int(sample.is_counted()),
        "wall_ns": sample.wall_ns,
        "cpu_ns": sample.cpu_ns,
        "peak_rss_bytes": sample.peak_rss_bytes,
        "peak_virtual_bytes": sample.peak_virtual_bytes,
        "user_ns": sample.user_ns,
        "system_ns": sample.system_ns,
        "queued_ns": sample.queued_ns,
        "control_before_ns": before,
        "control_after_ns": after,
        "n_entries": _integer(sample.details.get("n_entries")),
        "trace": str(sample.details["trace"]) if "trace" in sample.details else None,
        "load_1_minute": load_of(sample),
        "network_bytes_per_s": network_of(sample),
    }


def _integer(told: Any) -> int | None:
    """A whole number that a runner told; None if it is none."""
    return told if isinstance(told, int) and not isinstance(told, bool) else None
