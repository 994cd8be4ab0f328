"""Quantities with their units, as people write and read them."""

from __future__ import annotations

import pytest

from arrowroot_lab.quantities import (
    parse_bytes,
    parse_rate,
    parse_share,
    parse_time_ns,
    size_text,
    time_text,
)


def test_quantities_are_read_as_people_write_them():
    assert [parse_time_ns(text) for text in ("50 ms", "1.5s", " 2 min ", "0 ns", "10 µs")] == [
        50_000_000, 1_500_000_000, 120_000_000_000, 0, 10_000,
    ]  # fmt: skip
    assert [parse_bytes(text) for text in ("10 MB", "4KiB", "1.5 kB")] == [10_000_000, 4096, 1500]
    assert [parse_rate(text) for text in ("12 MB/s", "1 Gbit/s")] == [12e6, 125e6]
    assert [parse_share(told) for told in ("2 %", 0.5, "100%", 1)] == [0.02, 0.5, 1.0, 1.0]
    # A quantity is one number however it is written, and so one case.
    for n in range(1, 1001):
        assert parse_share(f"{n / 10} %") == float(f"{n}e-3")
        assert parse_rate(f"{n / 10} MB/s") == n * 1e5 == parse_rate(f"{n * 100} kB/s")
    for parse in (parse_time_ns, parse_bytes, parse_rate, parse_share):
        for wrong in ("", "5", "MB", "-1 s", "1e9 s", "1 parsec", "1 s s", "\u0661 s", "nan s", "inf"):
            with pytest.raises(ValueError):
                parse(wrong)


def test_quantities_are_written_with_three_digits_in_one_unit():
    times = (0, 5, 999.6e3, 45.6e6, 1.234e9, 59.94e9, 59.97e9, 125e9, 59.99 * 60e9, 7260e9, 26 * 3600e9)
    assert [time_text(ns) for ns in times] == [
        "0 s", "5 ns", "1.00 ms", "45.6 ms", "1.23 s", "59.9 s", "1.00 min", "2.08 min", "1.00 h", "2.02 h", "1.08 d",
    ]  # fmt: skip
    assert time_text(float("inf")) == "unknown"
    assert [size_text(n) for n in (0, 12, 1500, 999_999, 2.5e9, 5e18)] == [
        "0 B", "12 B", "1.50 kB", "1.00 MB", "2.50 GB", "5,000 PB",
    ]  # fmt: skip
