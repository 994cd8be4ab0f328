"""Which result is the newest of its series, version and campaign, and how many there are of these, since when."""

from __future__ import annotations

import sqlalchemy as sa

_OF_EACH = "PARTITION BY series_id, version, campaign"
#: The columns that count, which came later, and what they are.
_COUNTED = {
    "n_results": f"count(*) OVER ({_OF_EACH})",
    "first_at": f"min(created_at) OVER ({_OF_EACH})",
}


def renew(connection: sa.Connection, *, is_counted: bool = True) -> None:
    """Fill the table anew, after series or versions of results have changed.

    is_counted: it has the columns that count, as from step 0008 on
    """
    counted = _COUNTED if is_counted else {}
    names = ", ".join(("series_id, version, campaign, result_id, created_at, uuid", *counted))
    told = "".join(f", {count} AS {name}" for name, count in counted.items())
    connection.execute(sa.text("DELETE FROM newest"))
    connection.execute(
        sa.text(
            f"INSERT INTO newest ({names}) SELECT {names} FROM ("  # noqa: S608 - names of columns, written here, and no input
            f"SELECT series_id, version, campaign, id AS result_id, created_at, uuid, row_number() OVER ({_OF_EACH} "
            f"ORDER BY created_at DESC, uuid DESC) AS place{told} FROM result) AS ranked WHERE place = 1"
        )
    )
