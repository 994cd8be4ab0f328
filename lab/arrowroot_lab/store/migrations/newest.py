"""Which result is the newest of its series, version and campaign, of all that there are."""

from __future__ import annotations

import sqlalchemy as sa

_FILLED = """
    INSERT INTO newest (series_id, version, campaign, result_id, created_at, uuid)
    SELECT series_id, version, campaign, id, created_at, uuid FROM (
        SELECT result.*, row_number() OVER (
            PARTITION BY series_id, version, campaign ORDER BY created_at DESC, uuid DESC
        ) AS place FROM result
    ) AS ranked WHERE place = 1"""


def renew(connection: sa.Connection) -> None:
    """Fill the table anew, after series or versions of results have changed."""
    connection.execute(sa.text("DELETE FROM newest"))
    connection.execute(sa.text(_FILLED))
