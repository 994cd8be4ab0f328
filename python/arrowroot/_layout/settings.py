"""Settings of writing: codecs, clusters and sizes, as users say them and as the engine takes them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._render import shown
from arrowroot._select.globs import Globs, without_match
from arrowroot._sizes import LARGEST, parse_digits, parse_size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, SupportsIndex

    #: One codec: "zstd", "zstd:5", ("zstd", 5), ROOT's number 505, None for none; "default": ROOT's default; "auto": by
    #: trial.
    Codec = str | int | tuple[str, int] | None
    #: One codec for all, or codecs by column: globs in order, the first that matches counts.
    Compression = Codec | Mapping[str, Codec]
    #: Where clusters end: "30 MB", a number of entries, None for never; "auto": ROOT's default.
    Flush = str | int | None
    Format = Literal["ttree", "rntuple"]

#: Memory for what waits to be compressed and written.
BUFFERS = "256 MB"
#: The codec of objects, which are small: zlib, TFile's own default.
OBJECT_CODEC = 101
AUTO = "auto"
DEFAULT = "default"
OPTIMIZED = "optimized"
#: The number, which ROOT does not have, of a codec that is found by trial.
TRIED = -1
#: ROOT's number of each codec, and the level that its name alone means. Source: ``ROOT::RCompressionSetting`` (6.40).
_CODECS = {"zlib": (1, 1), "lzma": (2, 7), "lz4": (4, 4), "zstd": (5, 5)}
_LEVELS = range(1, 10)
#: What ROOT compresses with if nobody says anything: ``TFile`` and ``RNTupleWriteOptions``.
_DEFAULT_CODEC = {"ttree": OBJECT_CODEC, "rntuple": 505}
#: Compressed bytes of a cluster: ``TTree::fAutoFlush``, ``RNTupleWriteOptions``.
_DEFAULT_FLUSH = {"ttree": 30_000_000, "rntuple": 128 << 20}
#: A cluster has so many times the bytes before compression that were asked for after it, at most.
#: Source: ``RNTupleWriteOptions::fMaxUnzippedClusterSize`` (ROOT 6.40).
_MAX_RATIO = 10
_THERE_ARE = "codecs are zstd, zlib, lz4 and lzma, levels 1 to 9"
_HOW = f"write 'zstd', 'zstd:5', ('zstd', 5), 505, None, or 'auto' for what does best; {_THERE_ARE}"
#: ROOT counts the bytes of a basket and of a page in 32 bits, two of which are flags.
_LARGEST_PIECE = (1 << 30) - 1
#: Size of a basket until ROOT gives another. Source: ``TTree::Branch`` (6.40).
_FIRST_BASKET_BYTES = 32_000


class FlushRule(NamedTuple):
    """Where clusters end: ``kind`` is "bytes" (compressed), "entries" or "never".

    max_bytes: of a cluster before it is compressed; None: what fits the buffers.
    """

    kind: Literal["bytes", "entries", "never"]
    amount: int
    max_bytes: int | None = None


class BasketRule(NamedTuple):
    """Sizes of baskets: ``kind`` is "fitted", "fixed" or "optimized".

    n_bytes: of a basket; until they are optimized.
    """

    kind: Literal["fitted", "fixed", "optimized"] = "fitted"
    n_bytes: int = 0


def checked_format(given: object, what: str) -> Format:
    """Return a format. Raises: InvalidRequestError, naming ``what``, for anything but "ttree" and "rntuple"."""
    if given == "ttree":
        return "ttree"
    if given == "rntuple":
        return "rntuple"
    raise InvalidRequestError(f"{what}={shown(given)}: expected 'ttree' or 'rntuple'")


def codec_number(codec: Codec, what: str = "compression") -> int | None:
    """Return ROOT's number of a codec and its level, 0 for no compression, None for "default", TRIED for "auto".

    Raises: InvalidRequestError, naming ``what``, with what is possible.
    """
    if codec is None:
        return 0
    if isinstance(codec, str):
        if codec == DEFAULT:
            return None
        if codec == AUTO:
            return TRIED
        name, colon, level = codec.partition(":")
        if colon and not level.strip().isdecimal():
            raise InvalidRequestError(f"{what}={shown(codec)}: {_HOW}")
        return _number_of(name.strip().lower(), parse_digits(level) if colon else None, what, codec)
    if isinstance(codec, tuple):
        if list(map(type, codec)) != [str, int]:
            raise InvalidRequestError(f"{what}={shown(codec)}: {_HOW}")
        return _number_of(codec[0].lower(), codec[1], what, codec)
    number = _index(codec, what, codec)
    if number == 0:
        return 0
    numbers = {of_codec for of_codec, _ in _CODECS.values()}
    if number // 100 not in numbers or number % 100 not in _LEVELS:
        raise InvalidRequestError(f"{what}={shown(codec)}: not a number of ROOT's; {_HOW}")
    return number


def _index(value: object, what: str, whole: object) -> int:
    try:
        number = operator.index(cast("SupportsIndex", value))
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise InvalidRequestError(f"{what}={shown(whole)}: {_HOW}")
    return number


#: What others call these codecs, and what is nearest to codecs that ROOT does not have.
_OTHERS = {
    **dict.fromkeys(("gzip", "gz", "deflate", "zip"), "zlib"),
    **dict.fromkeys(("zstandard", "zst", "brotli", "blosc"), "zstd"),
    **dict.fromkeys(("snappy", "lzo", "lz4hc"), "lz4"),
    **dict.fromkeys(("xz", "7z", "bz2", "bzip2"), "lzma"),
}


def _number_of(name: str, level: int | None, what: str, whole: object) -> int:
    if name == "none" and level is None:
        return 0
    if name not in _CODECS:
        if name in _OTHERS:
            nearest_level = "" if level is None else f":{min(max(level, _LEVELS[0]), _LEVELS[-1])}"
            same = f"{_OTHERS[name]}{nearest_level}"
            raise InvalidRequestError(
                f"{what}={shown(whole)}: there is no codec {name!r}: write {same!r}; {_THERE_ARE}"
            )
        near = nearest(name, _CODECS)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InvalidRequestError(f"{what}={shown(whole)}: there is no codec {name!r}{hint}: {_HOW}")
    number, usual = _CODECS[name]
    level = usual if level is None else level
    if level not in _LEVELS:
        raise InvalidRequestError(f"{what}={shown(whole)}: there is no such level: {_HOW}")
    return 100 * number + level


def as_text(compression: Compression) -> Compression:
    """Return codecs as TOML has them, too: a name and a level as one text, none as None. They were checked."""
    if isinstance(compression, Mapping):
        return {glob: cast("Codec", as_text(codec)) for glob, codec in compression.items()}
    if isinstance(compression, tuple):
        return f"{compression[0].lower()}:{compression[1]}"
    if isinstance(compression, str):
        return None if compression.strip().lower() == "none" else compression
    return None if compression is None else operator.index(compression)


def check_compression(compression: Compression) -> None:
    """Raise InvalidRequestError for codecs that there are not."""
    if isinstance(compression, Mapping):
        for glob, codec in compression.items():
            codec_number(codec, f"compression[{glob!r}]")
    else:
        codec_number(compression)


def check_codecs_matched(compression: Compression, names: Sequence[str], where: str) -> None:
    """Raise NoSuchColumnError for a pattern that no column matches."""
    globs = compression if isinstance(compression, Mapping) else ()
    missing = without_match((glob for glob in globs if glob != "*"), names)
    if missing is not None:
        raise NoSuchColumnError(
            f"{where}: compression: no column is called {missing!r}",
            missing,
            nearest(missing, names),
            known=names,
        )


def codec_numbers(
    compression: Compression,
    of_file: int | None,
    found: Format,
    names: Sequence[str],
    where: str,
    *,
    may_grow: bool = False,
) -> list[int]:
    """Return ROOT's number for each column.

    of_file: that of the file, which "default" and columns without a pattern have; None: ROOT's for the format.
    may_grow: other columns may come up later, which patterns may name.

    Raises: InvalidRequestError; NoSuchColumnError for a pattern that no column matches.
    """
    otherwise = _DEFAULT_CODEC[found] if of_file is None else of_file
    if not isinstance(compression, Mapping):
        number = codec_number(compression)
        return [otherwise if number is None else number] * len(names)
    numbers = [codec_number(codec, f"compression[{glob!r}]") for glob, codec in compression.items()]
    if not may_grow:
        check_codecs_matched(compression, names, where)
    globs = Globs(compression)
    found_at = [globs.first(name) for name in names]
    told = [None if index is None else numbers[index] for index in found_at]
    return [otherwise if number is None else number for number in told]


def flush_rule(flush: Flush, found: Format) -> FlushRule:
    """Return where clusters end. Raises: InvalidRequestError for what is neither a size, nor a number, nor None."""
    if flush is None:
        if found == "rntuple":
            raise InvalidRequestError(
                "flush=None: an RNTuple has clusters; give a size or a number of entries"
            )
        return FlushRule("never", 0)
    if isinstance(flush, str):
        if flush == AUTO:
            return FlushRule("bytes", _DEFAULT_FLUSH[found])
        # A bare number would be bytes to some and entries to others.
        if flush.strip().isdecimal():
            raise InvalidRequestError(
                f"flush={shown(flush)}: bytes or entries? write '{flush.strip()} B', or {flush.strip()} without quotes"
            )
        n_bytes = parse_size(flush, "flush")
        return FlushRule("bytes", n_bytes, _MAX_RATIO * n_bytes)
    try:
        n_entries = operator.index(flush)
    except TypeError:
        n_entries = 0
    if isinstance(flush, bool) or not 1 <= n_entries <= LARGEST:
        raise InvalidRequestError(
            f"flush={shown(flush)}: write a size as '30 MB', a number of entries, or None"
        )
    return FlushRule("entries", n_entries)


def basket_rule(size: int | str | None, found: Format) -> BasketRule:
    """Return the sizes of the baskets of a tree. Raises: InvalidRequestError, also for an RNTuple, which has none."""
    if size is None:
        return BasketRule()
    if found == "rntuple":
        raise InvalidRequestError(
            f"basket_size={shown(size)}: format 'rntuple' has pages; page_size is what they may have"
        )
    if size == OPTIMIZED:
        return BasketRule("optimized", _FIRST_BASKET_BYTES)
    return BasketRule("fixed", _piece_bytes(size, "basket_size"))


def page_bytes(size: int | str | None, found: Format) -> int | None:
    """Return the size of a page in bytes, None for ROOT's. Raises: InvalidRequestError, also for a tree."""
    if size is None:
        return None
    if found == "ttree":
        raise InvalidRequestError(
            f"page_size={shown(size)}: format 'ttree' has baskets; basket_size is what they may have"
        )
    return _piece_bytes(size, "page_size")


def _piece_bytes(size: int | str, what: str) -> int:
    n_bytes = parse_size(size, what)
    if n_bytes > _LARGEST_PIECE:
        raise InvalidRequestError(
            f"{what}={shown(size)}: more than the {_LARGEST_PIECE} bytes that ROOT can have"
        )
    return n_bytes
