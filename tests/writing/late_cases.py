"""Columns that come up later: values of every type, and the triggers of a year."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

N_MENUS, N_PATHS, N_EACH = 50, 20, 37


#: Columns that come up later: their first values, and what they are in an entry before.
KINDS = {
    "number": (pa.array([1.5, 2.5], pa.float32()), 0.0),
    "bits": (pa.array([True, True]), False),
    "text": (pa.array(["a", "bc"]), ""),
    "list": (pa.array([[1, 2], [3]], pa.list_(pa.int32())), []),
    "texts": (pa.array([["x"], ["y", "z"]]), []),
    "deep": (pa.array([[[1.0]], [[], [2.0]]], pa.list_(pa.list_(pa.float64()))), []),
    "fixed": (pa.array([[1, 2, 3], [4, 5, 6]], pa.list_(pa.int16(), 3)), [0, 0, 0]),
    "fixeds": (
        pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], pa.list_(pa.list_(pa.int32(), 2), 2)),
        [[0, 0]] * 2,
    ),
    "record": (
        pa.array([{"a": 1, "b": "x", "c": [1]}, {"a": 2, "b": "y", "c": []}]),
        {"a": 0, "b": "", "c": []},
    ),
    "records": (pa.array([[{"a": 1.0}], [{"a": 2.0}, {"a": 3.0}]]), []),
    "optional": (pa.array([7, None], pa.int64()), None),
    "optional list": (pa.array([[7], None], pa.list_(pa.int64())), None),
    "when": (pa.array([1, 2], pa.timestamp("us", "UTC")), 0),
    "data": (pa.array([b"a", b"\0"]), b""),
    "decimal": (pa.array([Decimal("1.5"), Decimal(2)], pa.decimal128(10, 2)), 0),
    "half": (pa.array(np.array([1, 2], np.float16)), 0.0),
    "category": (pa.array(["u", "v"]).dictionary_encode(), ""),
    "map": (pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())), []),
}


def triggers() -> tuple[list[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """The batches of a year, of which each has new columns and lacks the first ones of earlier ones; and all values."""
    random = np.random.default_rng(5)
    n = N_MENUS * N_EACH
    values = {"run": np.arange(n, dtype=np.int32)}
    batches = []
    for menu in range(N_MENUS):
        start, end = menu * N_EACH, (menu + 1) * N_EACH
        for path in range(N_PATHS):
            values[f"HLT_{menu}_{path}"] = np.arange(n) >= start
        fired = {}
        for name, column in values.items():
            if name != "run":
                # The last path of a menu is not in the menus behind the next one.
                stopped = name.endswith(f"_{N_PATHS - 1}") and int(name.split("_")[1]) + 1 < menu
                column[start:end] = False if stopped else random.random(N_EACH) < 0.3
                if stopped:
                    continue
            fired[name] = column[start:end].copy()
        batches.append(fired)
    return batches, values


def weighted(column: np.ndarray) -> float:
    return float((column * (np.arange(len(column)) + 1.0)).sum())


def defaults(kind: pa.DataType, value: object) -> pa.Array:
    """Five of a value, which is the one that is stored, as a type."""
    values = pa.array([value] * 5, pa.int64()) if pa.types.is_timestamp(kind) else [value] * 5
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)
