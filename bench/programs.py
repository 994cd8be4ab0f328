"""Compiles what the campaigns of the documents' figures ask for: programs in C++, and examples of the crates."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from campaigns.programs import build

from .paths import RELEASE, REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path


def build_examples(package: str, *names: str) -> list[Path]:
    """Let cargo build examples of a crate. Returns where they are."""
    chosen = [argument for name in names for argument in ("--example", name)]
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", package, *chosen], cwd=REPOSITORY, check=True
    )
    return [RELEASE / "examples" / name for name in names]


def main() -> None:
    """Compile all of them."""
    build.main()
    build_examples("arrowroot", "page_limit", "write_limit")
    build_examples("arrowroot-writer", "write_columns", "parallel_output")
    build_examples("arrowroot-storage", "account_cost")


if __name__ == "__main__":
    main()
