import re
from pathlib import Path

import pytest

import arrowroot
from arrowroot import InvalidRequestError
from arrowroot._sizes import (
    counted,
    format_bytes,
    format_rate,
    format_seconds,
    parse_rate,
    parse_seconds,
    parse_size,
    three_digits,
)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("64 MB", 64_000_000),
        ("64MiB", 64 * 2**20),
        ("1.5 GB", 1_500_000_000),
        (" 4096 ", 4096),
        ("10 b", 10),
        ("2 kib", 2048),
        ("1TB", 10**12),
        ("64 M", 64 * 2**20),
        (12, 12),
    ],
)
def test_a_size_is_an_int_or_text_with_a_unit(text, n_bytes):
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize("wrong", ["", "MB", "64 XB", "-1", "0", "1e6", 0, -5, 1.5, None, "64 X", "1 2"])
def test_what_is_no_size_is_refused_by_name(wrong):
    with pytest.raises(InvalidRequestError, match="batch_size"):
        parse_size(wrong, "batch_size")


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (12_345_678, "12.3 MB"),
        (999_999, "1.00 MB"),
        (-2_500, "-2.50 kB"),
        (5e15, "5.00 PB"),
        (5e18, "5000 PB"),
    ],
)
def test_bytes_are_shown_with_three_digits_in_decimal_units(n_bytes, text):
    assert format_bytes(n_bytes) == text


def test_counts_take_the_plural_that_fits():
    assert counted(1, "entry", "entries") == "1 entry"
    assert counted(2000, "basket") == "2,000 baskets"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (5e-9, "5 ns"),
        (4.2e-6, "4.20 µs"),
        (0.0123, "12.3 ms"),
        (0.9996, "1.00 s"),
        (4.56, "4.56 s"),
        (999, "999 s"),
        (1000, "16.7 min"),
        (90_000, "25.0 h"),
    ],
)
def test_seconds_are_shown_with_three_digits_in_the_unit_that_fits(seconds, text):
    assert format_seconds(seconds) == text


def test_rates_are_sizes_per_second():
    assert format_rate(306e6) == "306 MB/s"
    assert three_digits(float("nan")) == "nan"


def test_units_are_written_nowhere_else():
    """A value formatted with a unit behind it would be a second spelling."""
    with_unit = re.compile(r"""\}(?: ?[kKMGT]B| (?:[mnuµ]?s|min))(?:/s)?["' ,;:)]""")
    found = [
        f"{path.name}: {line.strip()}"
        for path in Path(arrowroot.__file__).parent.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if with_unit.search(line) and path.name != "_sizes.py"
    ]
    # StallMonitor's own table has six digits, and the source of the cost model whole seconds.
    assert [line.partition(":")[0] for line in sorted(found)] == ["model.py", "stalls.py"]


def test_durations_have_a_unit_but_nothing():
    assert [parse_seconds(text) for text in ("5ms", "0.2 s", "0")] == [0.005, 0.2, 0.0]
    with pytest.raises(InvalidRequestError, match="latency"):
        parse_seconds("5", "latency")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_size, "9" * 400),
        (parse_seconds, "1e308 min"),
        (parse_seconds, "1e10 s"),
        (parse_rate, "1e-300 B/s"),
        (parse_rate, "1e400 B/s"),
    ],
)
def test_what_is_beyond_all_is_an_error(parse, text):
    with pytest.raises(InvalidRequestError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("12MB/s", 12e6),
        ("12 mB/s", 12e6),
        ("1 GiB/s", 2**30),
        ("100 Mbit/s", 12.5e6),
        ("100mbit/S", 12.5e6),
        ("80 bit/s", 10),
        ("1e6 B/s", 1e6),
    ],
)
def test_a_rate_is_in_bytes_or_bits_a_second(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("12Mb/s", "'12MB/s' or '12Mbit/s'"),
        ("12 mb/s", "'12mB/s' or '12mbit/s'"),
        ("1.5 Gb/s", "'1.5GB/s' or '1.5Gbit/s'"),
        ("64kb/s", "'64kB/s' or '64kbit/s'"),
        ("800 b/s", "'800B/s' or '800bit/s'"),
        ("8 Mib/s", "'8MiB/s'"),
    ],
)
def test_a_rate_that_could_be_bits_or_bytes_is_refused_with_both(text, instead):
    with pytest.raises(InvalidRequestError, match=f"^bandwidth: .* could be bits or bytes; write {instead}$"):
        parse_rate(text)
    for written in instead.replace("'", "").split(" or "):
        assert parse_rate(written) > 0
