"""Batches as lines of text: JSON, and CSV. All values of a column are written at once.

Both write the same texts: floats as short as they can be read back, times as ISO 8601 has them, durations as the
number of their units, intervals as months, days and ns, bytes in base64. JSON has no NaN and no infinities: they are
null. A cell of CSV has lists and structs as JSON, and is empty where a value is missing.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arrowroot._errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Values of so many bytes are written at once: their texts take several times that.
_PIECE_BYTES = 4 << 20
_TEXT = pa.string()
#: Texts that JSON writes with a backslash, and texts that CSV has in quotes.
_ESCAPED, _QUOTED = r'["\\\x00-\x1f]', r'^$|[",\r\n]|^\s|\s$'

_BYTES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)
#: Values that stand for others; the oldest pyarrow knows little of half floats.
_ENCODED = (pa.DictionaryArray, pa.RunEndEncodedArray, pa.HalfFloatArray)
#: Types that JSON has without quotes.
_BARE = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_duration, pa.types.is_interval)


def json_lines(batch: pa.RecordBatch) -> Iterator[memoryview]:
    """Yield the lines of a batch: a JSON object for each entry. Raises: UnsupportedError for types without a text."""
    heads = [f"{',' if i else '{'}{_quoted_name(name)}:" for i, name in enumerate(batch.schema.names)]
    return _lines(batch, heads, "}", _json_text, "null")


def csv_lines(batch: pa.RecordBatch) -> Iterator[memoryview]:
    """Yield the lines of a batch as CSV, without a header. Raises: as :func:`json_lines`."""
    heads = ["," if i else "" for i in range(batch.num_columns)]
    # Readers pass over empty lines.
    return _lines(batch, heads, "", _csv_text, "" if len(heads) > 1 else '""')


def csv_header(names: Sequence[str]) -> bytes:
    """Return the first line of CSV."""
    (line,) = csv_lines(pa.RecordBatch.from_arrays([pa.array([name]) for name in names], list(names)))
    return bytes(line)


def _lines(
    batch: pa.RecordBatch,
    heads: Sequence[str],
    end: str,
    text_of: Callable[[pa.Array], pa.Array],
    null: str,
) -> Iterator[memoryview]:
    n_rows = max(1, batch.num_rows * _PIECE_BYTES // max(batch.get_total_buffer_size(), 1))
    for first in range(0, batch.num_rows, n_rows):
        piece = batch.slice(first, n_rows)
        parts: list[Any] = []
        for head, name, column in zip(heads, batch.schema.names, piece.columns, strict=True):
            try:
                parts += [head, text_of(column)]
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
                raise UnsupportedError(f"column {name!r}: {column.type} has no text: {error}") from None
        yield _bytes_of(_joined([*parts, f"{end}\n"], null))


def _joined(parts: Sequence[Any], null: str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "", null_handling="replace", null_replacement=null)


def _bytes_of(texts: pa.Array) -> memoryview:
    """Return all texts of an array one behind the other, which is how it has them."""
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(content)[ends[0] : ends[-1]]


def _quoted_name(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _csv_text(array: pa.Array) -> pa.Array:
    if pa.types.is_nested(array.type):
        texts = _json_text(array)
    else:
        texts = _plain_text(array)
        if pa.types.is_floating(array.type):
            # Some readers know no other spelling.
            return pc.if_else(pc.equal(texts, "nan"), "NaN", texts)
    inner = pc.replace_substring(texts, '"', '""')
    return pc.if_else(
        pc.match_substring_regex(texts, _QUOTED), pc.binary_join_element_wise('"', inner, '"', ""), texts
    )


def _json_text(array: pa.Array) -> pa.Array:
    """Return the JSON of each value, null where one is missing."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _json_text(array.storage)
    if isinstance(array, _ENCODED):
        return _json_text(_decoded(array))
    if pa.types.is_union(kind):
        return _of_union(array)
    if isinstance(array, pa.StructArray):
        heads = [f"{',' if i else '{'}{_quoted_name(field.name)}:" for i, field in enumerate(kind)]
        members = [_json_text(array.field(i)) for i in range(kind.num_fields)]
        parts = [part for pair in zip(heads, members, strict=True) for part in pair]
        texts = _joined([*parts, "}"], "null") if parts else pa.repeat("{}", len(array))
        return pc.if_else(array.is_valid(), texts, None)
    if pa.types.is_nested(kind):
        return _of_lists(array)
    texts = _plain_text(array)
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_finite(array), texts, "null")
    return texts if _is_one_of(_BARE, kind) else _quoted(texts)


def _of_lists(array: pa.Array) -> pa.Array:
    """Return the JSON of lists of any kind; that of maps has pairs."""
    if isinstance(array, pa.MapArray):
        ends = np.asarray(array.offsets)
        offsets = ends - ends[0]
        keys, values = (_items(child.slice(ends[0], offsets[-1])) for child in (array.keys, array.items))
        items = pc.binary_join_element_wise("[", keys, ",", values, "]", "")
    else:
        lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        items = _items(array.flatten())
    lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), items, mask=array.is_null())
    return pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")


def _items(array: pa.Array) -> pa.Array:
    return pc.fill_null(_json_text(array), "null")


def _of_union(array: pa.Array) -> pa.Array:
    # pyarrow's own type_codes and offsets forget where a slice begins.
    here = slice(array.offset, array.offset + len(array))
    codes = np.frombuffer(array.buffers()[1], np.int8)[here]
    is_dense = array.type.mode == "dense"
    places = np.frombuffer(array.buffers()[2], np.int32)[here] if is_dense else np.arange(len(array))
    rows = [np.flatnonzero(codes == code) for code in array.type.type_codes]
    texts = [_json_text(array.field(i).take(pa.array(places[of_one]))) for i, of_one in enumerate(rows)]
    order = np.argsort(np.concatenate(rows))
    return pa.concat_arrays(texts).take(pa.array(order))


def _decoded(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary_decode()
    return pc.run_end_decode(array) if isinstance(array, pa.RunEndEncodedArray) else array.cast(pa.float32())


def _plain_text(array: pa.Array) -> pa.Array:
    """Return the text of each value that has no parts, without quotes."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _plain_text(array.storage)
    if isinstance(array, _ENCODED):
        return _plain_text(_decoded(array))
    if _is_one_of(_BYTES, kind):
        return _each(array, lambda value: base64.b64encode(value).decode())
    if pa.types.is_string_view(kind):  # the oldest pyarrow casts none
        return _each(array, str)
    if pa.types.is_interval(kind):
        return _each(array, lambda value: json.dumps(value, separators=(",", ":")))
    if pa.types.is_timestamp(kind):
        # As UTC, which needs no table of time zones.
        texts = pc.cast(array if kind.tz is None else array.cast(pa.timestamp(kind.unit, "UTC")), _TEXT)
        return pc.replace_substring(texts, " ", "T")
    texts = pc.cast(array, _TEXT)
    if pa.types.is_floating(kind):
        # Whole numbers stay floats for who reads them.
        is_whole = pc.match_substring_regex(texts, "^-?[0-9]+$")
        return pc.if_else(is_whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    return texts


def _is_one_of(kinds: Sequence[Callable[[pa.DataType], bool]], kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in kinds)


def _each(array: pa.Array, text_of: Callable[[Any], str]) -> pa.Array:
    return pa.array([None if value is None else text_of(value) for value in array.to_pylist()], _TEXT)


def _quoted(texts: pa.Array) -> pa.Array:
    quoted = pc.binary_join_element_wise('"', texts, '"', "")
    escaped = pc.fill_null(pc.match_substring_regex(texts, _ESCAPED), False)
    if not pc.any(escaped).as_py():
        return quoted
    escapes = pa.array([_quoted_name(text) for text in texts.filter(escaped).to_pylist()], _TEXT)
    return pc.replace_with_mask(quoted, escaped, escapes)
