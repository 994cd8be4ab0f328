"""What arrowroot reads, in forms that can be compared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.conformance.reader import plain_values
from tests.judge import macros, root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class RootFiles:
    """Where files of ROOT are, and what ROOT reads in them."""

    directory: Path
    expected: Any

    def __truediv__(self, name: str) -> Path:
        return self.directory / name


def written(function: Callable[..., Any], *arguments: Any, scope: Any = "module", **options: Any) -> Any:
    """Return a fixture: the files that a function writes in ROOT's process, and what it returns. See ``root.run``."""

    @pytest.fixture(scope=scope)
    def files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
        directory = tmp_path_factory.mktemp("root")
        return RootFiles(directory, root.run(function, directory, *arguments, **options))

    return files


def compiled(macro: Path, *calls: tuple[Any, ...]) -> Any:
    """Return a fixture: the files that functions of a macro write, and what they return."""
    return written(macros.call, macro.read_text(), list(calls), True)


_encode = json.JSONEncoder(sort_keys=True).encode


def values_of(table: Any, name: str) -> list[Any]:
    """A column of anything that speaks the Arrow stream interface, as plain Python values."""
    return list(plain_values(pa.table(table).column(name)))


def assert_same_values(found: list[Any], wanted: list[Any], what: str) -> None:
    """Equal with NaN equal to NaN, and with types and the sign of zero kept apart."""
    assert len(found) == len(wanted), f"{what}: {len(found)} entries, not {len(wanted)}"
    for entry, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if a != b or type(a) is float or type(a) is not type(b):
            assert _encode(a) == _encode(b), f"{what}, entry {entry}: {_short(a)}, not {_short(b)}"


def as_bytes(table: Any) -> bytes:
    """The schema and every buffer of a table, chunks joined."""
    joined = pa.table(table).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, joined.schema) as writer:
        if joined.num_rows:  # none may be no chunk or an empty one
            writer.write_table(joined)
    return sink.getvalue().to_pybytes()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else f"{text[:200]}..."
