"""Local cases: all engines in turns on one file, as the JSON that is kept and that the tables are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import catalogue
from .data import warm_page_cache
from .runner import Row, compare_contents, run_in_turns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .catalogue import Engine
    from .data import Files, FileSet

#: Passes of the limit in one process, of which the median counts.
N_LIMIT_PASSES, N_LIMIT_PASSES_OF_ALL = 7, 3


@dataclass(frozen=True)
class Measurement:
    """The choice of what is measured, and how often."""

    set: FileSet
    repeat: int
    threads: tuple[int, ...] = (1, 2)
    #: Engines beside those of engines.toml.
    externals: Sequence[Engine] = field(default=())

    def cast(self, names: Sequence[str], task: str, *more: str) -> list[Engine]:
        """The engines that take part in a task: those named, arrowroot, and those from outside."""
        chosen = catalogue.matching([*more, *names, "arrowroot"], task)
        return [*chosen, *(engine for engine in self.externals if task in engine.tasks)]

    def read(
        self, task: str, name: str, codec: str, format_: str, engines: Sequence[Engine]
    ) -> dict[str, Any]:
        """One case of ``read`` or ``aod``."""
        of, _, case = name.partition(":")
        files = self.set.dataset("aod" if task == "aod" else of)
        tree_layout = of if task == "aod" else "ttree"
        path = files.path(codec, "rntuple" if format_ == "rntuple" else tree_layout)
        warm_page_cache(path)
        baskets, sizes = files.baskets(codec, case, tree_layout)
        rows = []
        for engine in engines:
            if not engine.takes(name) or engine.format not in ("any", format_):
                continue
            job = self._job(task, files, format_, path) | {
                "columns": files.columns(case), "entries": files.entries(case), "codec": codec, "layout": tree_layout,
                "what": case.partition("_")[0],
            }  # fmt: skip
            if engine.role == "limit":
                passes = N_LIMIT_PASSES_OF_ALL if case == "all" else N_LIMIT_PASSES
                job |= {"baskets": baskets, "repetitions": passes}
            threads = self.threads if engine.threaded else self.threads[:1]
            rows += [Row(engine, format_, n, job | {"threads": n}) for n in threads]
        run_in_turns(rows, self.repeat)
        compare_contents(rows)
        return told(f"{name} {codec} {format_}", rows, case=name, codec=codec, format=format_, **sizes)

    def open(self, name: str, codec: str, engines: Sequence[Engine]) -> dict[str, Any]:
        """Open a tree's file and list its branches."""
        files = self.set.dataset(name)
        path = files.path(codec, "ttree")
        warm_page_cache(path)
        job = self._job("open", files, "ttree", path) | {"threads": 1}
        rows = [Row(engine, "ttree", 1, job) for engine in engines if engine.format in ("any", "ttree")]
        run_in_turns(rows, self.repeat)
        n_columns = next((row.median("n_columns") for row in rows if row.samples), None)
        for row in rows:
            if row.samples and row.median("n_columns") != n_columns:
                row.wrong = f"{row.median('n_columns')} columns, not {n_columns}"
        return told(f"{name}:ttree {codec}", rows, case=name, codec=codec)

    @staticmethod
    def _job(task: str, files: Files, format_: str, path: Path) -> dict[str, Any]:
        return {
            "task": task, "dataset": files.dataset.name, "format": format_, "file": str(path), "url": None,
            "tree": files.dataset.tree,
        }  # fmt: skip


def told(title: str, rows: Sequence[Row], **facts: Any) -> dict[str, Any]:
    """A case as it is kept; also prints the rows, and complains of what is wrong."""
    print(f"\n{title}", flush=True)
    complaints = [f"{title}: {complaint}" for row in rows if (complaint := row.complaint())]
    for row in rows:
        cpu_ns, wall_ns = row.median("cpu_ns"), row.median("wall_ns")
        if row.error or row.wrong or cpu_ns is None or wall_ns is None:
            print(f"  {row.engine.name:18} {row.threads}  {row.wrong or row.error or 'no result'}")
        else:
            print(
                f"  {row.engine.name:18} {row.threads}  CPU {cpu_ns / 1e6:9.2f} ms  wall {wall_ns / 1e6:9.2f} ms"
            )
    return {"title": title, "complaints": complaints, "rows": [row.as_json() for row in rows], **facts}
