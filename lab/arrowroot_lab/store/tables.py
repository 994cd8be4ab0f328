"""The tables as this version has them; ``migrations`` makes them. Documents hold all, tables what is asked for."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, MetaData, Table, Text

#: An integer of 64 bits; SQLite counts up only what is called INTEGER.
Integer64 = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()

#: One row for each result: its keys, its names, and the figures of its counted samples.
result = Table(
    "result",
    metadata,
    Column("id", Integer64, primary_key=True),
    Column("uuid", Text, nullable=False),
    Column("form_version", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("stored_at", Text, nullable=False),
    Column("case_id", Text, nullable=False),
    Column("series_id", Text, nullable=False),
    Column("site", Text, nullable=False),
    Column("campaign", Text, nullable=False),
    Column("run", Text),
    Column("commit_id", Text),
    Column("engine", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("versions", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("dataset_values", Text, nullable=False),
    Column("dataset_file", Text),
    Column("layout", Text),
    Column("storage", Text, nullable=False),
    Column("storage_kind", Text, nullable=False),
    Column("workload", Text, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("reason", Text),
    Column("n_samples", Integer, nullable=False),
    Column("n_counted", Integer, nullable=False),
    Column("n_disturbed", Integer, nullable=False),
    Column("wall_median_ns", BigInteger),
    Column("wall_minimum_ns", BigInteger),
    Column("cpu_median_ns", BigInteger),
    Column("cpu_minimum_ns", BigInteger),
    Column("peak_rss_bytes", BigInteger),
    Column("n_entries", BigInteger),
    Column("n_cores", Integer, nullable=False, server_default="1"),
    Column("node", Text),
    *(
        Column(name, Text, nullable=False, server_default="")
        for name in ("environment_id", "engine_group", "storage_group", "strategy_group", "layout_group")
    ),
    Column("cpu_model", Text),
    Column("round_trip_ns", BigInteger),
    Column("load_1_minute", Float),
    Column("network_bytes_per_s", BigInteger),
    Column("control_ns", BigInteger),
    Index("result_uuid", "uuid", unique=True),
    Index("result_series", "series_id", "version", "created_at"),
    Index("result_case", "case_id", "site"),
    Index("result_campaign", "campaign", "run"),
    Index("result_created", "created_at"),
)

#: The documents, byte for byte as they came; apart, so that looking through the rows above does not read them.
document = Table(
    "document",
    metadata,
    Column("result_id", Integer64, ForeignKey("result.id"), primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
)

#: One row for each sample; ``place`` is its place in the document, from 0.
sample = Table(
    "sample",
    metadata,
    Column("result_id", Integer64, ForeignKey("result.id"), primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("turn", BigInteger, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("reason", Text),
    Column("is_counted", Integer, nullable=False),
    Column("wall_ns", BigInteger),
    Column("cpu_ns", BigInteger),
    Column("peak_rss_bytes", BigInteger),
    Column("peak_virtual_bytes", BigInteger),
    Column("user_ns", BigInteger),
    Column("system_ns", BigInteger),
    Column("queued_ns", BigInteger),
    Column("control_before_ns", BigInteger),
    Column("control_after_ns", BigInteger),
    Column("n_entries", BigInteger),
    Column("trace", Text),
    Column("load_1_minute", Float),
    Column("network_bytes_per_s", BigInteger),
    sqlite_with_rowid=False,
)

#: One row for each counter of each sample.
counter = Table(
    "counter",
    metadata,
    Column("result_id", Integer64, ForeignKey("result.id"), primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("layer", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

#: The newest result of each series and version in each campaign, how many there are, and when the first was: to find
#: or count them among a million takes a good part of a second and more.
newest = Table(
    "newest",
    metadata,
    Column("series_id", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    Column("campaign", Text, primary_key=True),
    Column("result_id", Integer64, ForeignKey("result.id"), nullable=False),
    Column("created_at", Text, nullable=False),
    Column("uuid", Text, nullable=False),
    Column("n_results", BigInteger, nullable=False, server_default="1"),
    Column("first_at", Text, nullable=False, server_default=""),
)

#: Changes that somebody has accepted: those of one name in one series, from one value to another.
accepted = Table(
    "accepted",
    metadata,
    *(Column(name, Text, primary_key=True) for name in ("series_id", "name", "before", "now")),
    Column("ratio", Float),
    Column("reason", Text, nullable=False),
    Column("accepted_at", Text, nullable=False),
)
