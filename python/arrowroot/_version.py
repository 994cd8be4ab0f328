"""The commit of this package, which is looked up when somebody asks for it."""

from __future__ import annotations

from pathlib import Path

from arrowroot._native import built_from

_N_DIGITS = 12


def _commit() -> str:
    """Return the commit that a wheel was built from, or that is checked out; "" if nobody knows."""
    if built_from:
        return built_from
    git = Path(__file__).parents[2] / ".git"
    if git.is_file():  # of a work tree
        git = Path(git.read_text(encoding="utf-8").partition("gitdir: ")[2].strip())
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        name = head.removeprefix("ref: ")
        if name == head:
            return head[:_N_DIGITS]
        common = (
            git / (git / "commondir").read_text(encoding="utf-8").strip()
            if (git / "commondir").exists()
            else git
        )
        if (common / name).exists():
            return (common / name).read_text(encoding="utf-8")[:_N_DIGITS]
        packed = (common / "packed-refs").read_text(encoding="utf-8").splitlines()
        return next((line[:_N_DIGITS] for line in packed if line.endswith(f" {name}")), "")
    except OSError:
        return ""


#: Digits of the commit that a wheel was built from, or that is checked out; "" if nobody knows.
__commit__ = _commit()
