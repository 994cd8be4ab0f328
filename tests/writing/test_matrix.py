"""Drawn tables in drawn layouts of both formats, written by every route: everybody reads what was written.

``make test`` takes the first 72 seeds, ``make soak-write`` 1,000, or a part of them (``SEEDS=200:300``). A case that
fails is made smaller first, and is named with its table, layout and route.
"""

from __future__ import annotations

import random
import re
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot._writing.schema import nullable_as_found
from arrowroot.cli import main
from tests.tables import Stream, draw, shrunk

from . import expected
from .expected import shown
from .expected_objects import ObjectBranch, has_objects, object_branches
from .readers import as_drawn, as_texts, assert_equal, plain
from .root_reading import RootColumn, read_all
from .seeds import seeds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    #: The columns that each way of ROOT reads.
    Read = dict[str, dict[str, RootColumn]]

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

SEEDS = seeds_of(72)
CODECS = [None, "auto", "lz4", "zstd:3", "lzma", {"pt": "lz4", "*": "zlib:2"}]
FLUSHES: list[dict[str, Any]] = [{}, {"flush": 7}, {"flush": "1 kB"}, {"flush": 50}]
OF_TREES = [*FLUSHES, {"flush": None, "basket_size": 1000}, {"flush": 20, "basket_size": "optimized"}]
PRESETS = ["old-aod", "aod-2011", "esd-2011", "d3pd", "nanoaod"]
LEVELS = [None, None, 0, 1, 2, 99, 99]
ROUTES = ["write", "generator", "stream", "append", "filled", "numbered", "tree", "convert"]


@dataclass(frozen=True)
class Case:
    """A table, its layout and its route: all of it drawn from a seed, but for a table that was made smaller."""

    seed: int
    table: pa.Table

    @property
    def format(self) -> str:
        return ("ttree", "ttree", "rntuple")[self.seed % 3]

    @property
    def route(self) -> str:
        return ROUTES[self.seed // 3 % len(ROUTES)]

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the file; a conversion finds for itself of what something is missing."""
        if self.route != "convert":
            return self.table.schema
        return nullable_as_found(self.table.schema, lambda names: iter(self.table.select(names).to_batches()))

    @cached_property
    def layout(self) -> ar.Layout:
        chance = random.Random(f"layout {self.seed}")
        codec = chance.choice(CODECS)
        if isinstance(codec, dict) and "pt" not in self.table.column_names:
            codec = "zlib:2"
        if self.format == "rntuple":
            pages, encoding = chance.choice([None, 64, "1 kB"]), chance.choice(["auto", "split", "plain"])
            settings = {"page_size": pages, "encoding": encoding}
            return ar.Layout("rntuple", compression=codec, **settings, **chance.choice(FLUSHES))
        said: dict[str, Any] = {"compression": codec, **chance.choice(OF_TREES)}
        said["io_features"] = "kGenerateOffsetMap" if self.has_features else None
        if chance.random() < 0.3:
            said["autosave"] = "1 kB"
        if self.route != "write":
            # Only of a whole table is it known which lists have the same lengths.
            said["counters"] = {"*Ele_*": "nEle", "*": "own"}
        if chance.random() < 0.25:
            return ar.Layout(chance.choice(PRESETS), precision="exact", **said)
        return ar.Layout(
            split={
                "".join(f"[{c}]" if c in "*?[" else c for c in field.name): level
                for field in self.schema
                if has_objects(field.type)
                and (level := random.Random(f"{self.seed} {field.name}").choice(LEVELS)) is not None
            },
            memberwise=chance.random() < 0.5,
            lists=chance.choice(["counted", "vector"]),
            **said,
        )

    @property
    def has_features(self) -> bool:
        """True if baskets store no offsets that follow from a counter."""
        return self.seed % 7 == 3

    def put(self, path: Path, route: str, n_threads: int) -> None:
        """Write the table by a route."""
        table, chance = self.table, random.Random(f"route {self.seed}")
        schema, target = self.schema, f"{path}:Events"
        options: Any = {"reproducible": True, "n_threads": n_threads}
        parts = [table.slice(begin, size) for begin, size in _cuts(chance, table.num_rows)]
        source = path.parent / f"source-{self.seed}"
        if route == "convert":
            with pa.ipc.new_file(source.with_suffix(".arrow"), self.table.schema) as file:
                file.write_table(self.table)
            source.with_suffix(".toml").write_text(self.layout.to_toml())
            command = ["convert", f"{source}.arrow", target, "--layout", f"{source}.toml", "--reproducible"]
            with redirect_stdout(StringIO()):
                assert main(command) == 0
        elif route in ("write", "generator", "stream", "tree"):
            if route == "tree":
                ar.write(f"{source}.root:t", table, schema=schema)
            data: Any = {
                "write": lambda: table,
                "generator": lambda: (batch for part in parts for batch in part.to_batches()),
                "stream": lambda: Stream(table),
                "tree": lambda: ar.open(f"{source}.root")["t"],
            }[route]()
            ar.write(target, data, schema=schema, layout=self.layout, **options)
        else:
            producers: Any = {} if route == "append" else {"producers": {"order": route}}
            with (
                ar.create(path, **options) as file,
                file.tree("Events", schema, layout=self.layout, **producers) as tree,
            ):
                _fill(tree, route, parts)

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.route}, {self.layout}, of\n{self.schema}\n{self.table.to_pydict()}"


def _cuts(chance: random.Random, n: int) -> Iterator[tuple[int, int]]:
    """Where parts begin, and how many entries they have: none, too."""
    begin = 0
    while True:
        size = chance.choice([0, 1, 3, 40])
        yield begin, size
        begin += size
        if begin >= n:
            return


def _fill(tree: ar.TableWriter, route: str, parts: list[pa.Table]) -> None:
    if route == "append":
        for part in parts:
            tree.append(part)
        return
    contexts = [tree.context() for _ in range(1 if route == "filled" else 2)]
    first = 0
    for number, part in enumerate(parts):
        contexts[number % len(contexts)].fill(part, *([first] if route == "numbered" else []))
        first += part.num_rows
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Case, Path]]:
    """The file of each case."""
    directory = tmp_path_factory.mktemp("matrix")
    found = {}
    for seed in SEEDS:
        case = Case(seed, draw(seed))
        found[seed] = case, write(case, directory)
    return found


def write(case: Case, directory: Path) -> Path:
    path = directory / f"{case.seed}.root"
    case.put(path, case.route, n_threads=1 + case.seed % 3)
    return path


@pytest.fixture(scope="module")
def read_by_root(written: dict[int, tuple[Case, Path]]) -> dict[Path, Read]:
    return ask_root(list(written.values()))


def ask_root(files: list[tuple[Case, Path]]) -> dict[Path, Read]:
    """The columns that ROOT is asked for, by path and way."""
    of_trees = {path: case for case, path in files if case.format == "ttree"}
    only = {path: list(asked_of_root(case)) for path, case in of_trees.items()}
    # Reading an RNTuple without entries, its own too, makes ROOT 6.40 crash.
    asked = [(path, "Events", case.format) for case, path in files if only.get(path, case.table.num_rows)]
    undrawn = {path: undrawn_of(case) for path, case in of_trees.items()}
    return read_all(asked, files[0][1].parent, only=only, undrawn=undrawn) if asked else {}


def check(case: Case, path: Path, judge: Callable[[Case, Path], None]) -> None:
    """Let a judge judge a file. A case that fails is made smaller, and named."""
    try:
        judge(case, path)
    except Exception as error:
        kind, directory = type(error), path.parent / "smaller"
        directory.mkdir(exist_ok=True)

        def fails(table: pa.Table) -> bool:
            smaller = replace(case, table=table)
            try:
                judge(smaller, write(smaller, directory))
            except kind:
                return True
            except Exception:  # noqa: BLE001 - it fails of something else
                return False
            return False

        raise AssertionError(replace(case, table=shrunk(case.table, fails, n_tries=50))) from error


@pytest.mark.parametrize("seed", SEEDS)
def test_the_table_comes_back_exactly(written, seed):
    check(*written[seed], comes_back)


def comes_back(case: Case, path: Path) -> None:
    with ar.open(str(path)) as file:
        read = file["Events"].to_arrow()
    read.validate(full=True)
    assert list(map(str, read.schema)) == list(map(str, case.schema))
    for name in case.table.column_names:
        found, wanted = (shown(one.column(name)) for one in (read, case.table))
        assert found == wanted, name


@pytest.mark.parametrize("seed", SEEDS)
def test_each_route_and_any_threads_make_the_same_bytes(written, seed):
    check(*written[seed], is_the_same)


def is_the_same(case: Case, path: Path) -> None:
    directory = path.parent / "whole"
    directory.mkdir(exist_ok=True)
    case.put(directory / path.name, "write", n_threads=1)
    assert path.read_bytes() == (directory / path.name).read_bytes()


@pytest.mark.parametrize("seed", SEEDS)
def test_root_reads_what_it_can(written, read_by_root, seed):
    case, path = written[seed]
    judge = {"ttree": root_reads_tree, "rntuple": root_reads_ntuple}[case.format]

    def judge_all(case: Case, path: Path) -> None:
        judge(case, (read_by_root if path in read_by_root else ask_root([(case, path)])).get(path, {}))

    check(case, path, judge_all)


def root_reads_tree(case: Case, ways: Read) -> None:
    assert "crash" not in ways, "ROOT crashed"
    undrawn = undrawn_of(case)
    for way, columns in ways.items():
        for name, (values, of) in asked_of_root(case).items():
            if (name in undrawn and way == "Draw") or has_sizes(case, values, of):
                continue
            column = columns.get(name)
            if column is None:
                # RDataFrame lists no member of an object that is an array.
                assert getattr(of, "is_array", False), f"{way} does not list {name}, only {list(columns)}"
            elif column.values is None:
                is_sure = must_be_read(column) if way != "Draw" else of is not None and of.kind == "numbers"
                assert not is_sure, f"{way}, {name} ({column.type}): {column.error}"
            elif way == "Draw":
                if (of.kind == "numbers" if of else not column.is_text) and is_drawn(column, values):
                    assert [plain(one) for one in column.values] == as_drawn(values), (
                        f"Draw, {name} ({column.type})"
                    )
            else:
                found = as_texts(column) if column.is_text else column.values
                assert_equal(found, values, f"{way}, {name} ({column.type})")


def root_reads_ntuple(case: Case, ways: Read) -> None:
    assert "crash" not in ways, "ROOT crashed"
    for way, columns in ways.items():
        for field in case.schema:
            name = expected.stored_name(field.name)
            values = expected.stored_values(case.table.column(field.name))
            column = columns.get(name)
            if is_simple(field):
                assert column is not None, f"{way} does not list {name}, only {list(columns)}"
                assert column.values is not None, f"{way}, {name} ({column.type}): {column.error}"
            if column is None or column.values is None or pa.types.is_null(field.type):
                continue
            if field.nullable and "optional" not in column.type:  # as lists of one or none
                values = [[] if one is None else [one] for one in values]
            assert_equal(column.values, values, f"{way}, field {name} ({column.type})")


@pytest.mark.parametrize("seed", SEEDS)
def test_uproot_reads_what_it_can(written, seed):
    check(*written[seed], uproot_reads)


def uproot_reads(case: Case, path: Path) -> None:
    with uproot.open(path) as file:
        found = file["Events"]
        assert found.num_entries == case.table.num_rows
        if case.format == "rntuple":
            for field in filter(is_simple, case.schema):
                name = expected.stored_name(field.name)
                values = expected.stored_values(case.table.column(field.name))
                assert_equal(found.arrays([name])[name].to_list(), values, f"uproot, {name}")
            return
        # Leaves of arrays have their dimensions in their names.
        paths = {name.rpartition("/")[2].partition("[")[0]: name for name in found.keys(recursive=True)}
        for name, (values, of) in branches_of(case).items():
            if has_sizes(case, values, of):
                continue
            try:
                read = found[paths[name]].array().to_list()
            except Exception:
                if of is not None and of.kind == "numbers":
                    raise
                continue
            if of is None or of.kind != "objects":
                assert_equal(read, values, f"uproot, {name}")


def branches_of(case: Case) -> dict[str, tuple[list[Any], ObjectBranch | None]]:
    """The branches of objects, and those that are none, with their values."""
    table = case.table
    settings = case.layout.columns(case.schema, [table], "Events")
    levels = {field.name: one.split for field, one in zip(case.schema, settings, strict=True)}
    found: dict[str, tuple[list[Any], ObjectBranch | None]] = {}
    for field in case.schema:
        if (level := levels[field.name]) is not None:
            objects = object_branches(field.name, field, table.column(field.name), level)
            found |= {one.name: (one.values, one) for one in objects}
    names = [name for name, level in levels.items() if level is None]
    others = expected.branches(
        table, pa.schema([case.schema.field(name) for name in names]), levels.keys() - set(names)
    )
    return found | {name: (branch.values, None) for name, branch in others.items()}


def asked_of_root(case: Case) -> dict[str, tuple[list[Any], ObjectBranch | None]]:
    """The branches that ROOT reads, as the table in docs/writing.md says.

    Not whole objects, and neither texts nor lists in split collections; nothing of a split collection that has texts,
    as it may crash of any of its members.
    """
    found = branches_of(case)
    with_texts = {
        of.parent for _, of in found.values() if of is not None and of.is_inside and may_have_texts(of)
    }
    return {
        name: (values, of)
        for name, (values, of) in found.items()
        if of is None
        or (of.kind == "numbers" and of.parent not in with_texts)
        or (of.kind in ("texts", "vectors") and not of.is_inside)
    }


def may_have_texts(of: ObjectBranch) -> bool:
    return of.kind in ("texts", "objects") or any(isinstance(one, str) for one in expected.flat(of.values))


def undrawn_of(case: Case) -> list[str]:
    """The branches that Draw may crash of, and those that it takes for others (docs/writing.md).

    It may crash of any branch of a split collection that has lists, too, and takes a member of one for a column of that
    name.
    """
    branches = branches_of(case)
    found = {name: of for name, (_, of) in branches.items() if of is not None}
    inside = [of for of in found.values() if of.is_inside]
    with_lists = {of.parent for of in inside if of.kind != "numbers"}
    members = {of.name.rpartition(".")[2] for of in inside}
    return [
        name
        for name, (_, of) in branches.items()
        if (
            name in members
            if of is None
            else is_mistaken(of, found) or (of.is_inside and of.parent in with_lists)
        )
    ]


def is_mistaken(of: ObjectBranch, names: Collection[str]) -> bool:
    """True if Draw takes a branch beside for a part of the name: `x.n` for the part `n` of `x.s.n.pt`.

    It looks for the column's name before the part, too: `x.x.x` for the part `x` of `x.x.pt`.
    """
    parts = of.name.removeprefix(f"{of.parent}.").split(".") if of.parent else []
    column = of.name.partition(".")[0]
    asked = parts[1:-1] + [".".join([column, *parts[:n]]) for n in range(1, len(parts))]
    return any(f"{of.parent}.{one}" in names for one in asked)


def has_sizes(case: Case, values: list[Any], of: ObjectBranch | None) -> bool:
    """True if no offsets are stored of a branch: ROOT and uproot read other values of some (docs/writing.md).

    Only those of lists and texts that are no members of objects follow from something else; fixed lists and vectors
    are among these here, too.
    """
    return case.has_features and of is None and any(isinstance(one, list | str) for one in values)


def must_be_read(column: RootColumn) -> bool:
    """Numbers, bools, texts and lists of numbers are read by all."""
    kind = re.sub(r"ROOT::VecOps::|std::|_t\b", "", column.type)
    return re.fullmatch(r"(RVec<)?[A-Za-z0-9 ]+>?", kind) is not None


def is_simple(field: pa.Field) -> bool:
    """True if each reader takes a field of an RNTuple: a number, a bool, a text, or a list of numbers, none missing."""
    kind = expected.stored_type(field.type)
    of = expected.types
    is_bytes = any(
        test(field.type)
        for test in (of.is_binary, of.is_large_binary, of.is_binary_view, of.is_fixed_size_binary)
    )
    if field.nullable or is_bytes:
        return False
    if of.is_list(kind) or of.is_large_list(kind):
        field = kind.value_field
        kind = expected.stored_type(field.type)
        return not field.nullable and is_number(kind)
    return is_number(kind) or of.is_string(kind) or of.is_large_string(kind)


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_drawn(column: RootColumn, values: list[Any]) -> bool:
    """True if Draw shows the numbers of a type as they are: not letters, and not more bits than a double has."""
    is_deep = any(isinstance(one, list) and any(isinstance(inner, list) for inner in one) for one in values)
    return not is_deep and re.search(r"char|Char_t|int8|64|long", column.type) is None
