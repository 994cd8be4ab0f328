"""Writes docs/api.md: all that the package exports, from signatures and docstrings.

usage: python tools/api_page.py > docs/api.md
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arrowroot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCS = Path(__file__).parents[1] / "docs"
HEAD = """# The Python API

*Made from the docstrings, which `help` shows: `python tools/api_page.py > docs/api.md`.*

In the examples, which a test runs, `ar` is `arrowroot`, `file` is `ar.open("events.root")`, `tree` is
`file["Events"]`, `scan` is a scan of it, `hist` is `file["plots/h_met"]`, `objects` is a file with objects of all
kinds, `data` a dictionary of arrays; `new` and `table` are being written.
"""
_STORAGE = "Options of the storage"
_ROLE = re.compile(r":\w+:`([^`]+)`")
_ITEM = re.compile(r"^(\w+(?:, \w+)*): (?=\S)")
_WIDTH = 100


def is_error(value: Any) -> bool:
    """Return whether it is an exception or a warning."""
    return isinstance(value, type) and issubclass(value, BaseException)


def exported() -> dict[str, Any]:
    """Return all that the package exports, by name."""
    return {name: getattr(arrowroot, name) for name in arrowroot.__all__}


def taught() -> set[str]:
    """Return the names of methods that the other pages call."""
    pages = [page.read_text(encoding="utf-8") for page in DOCS.glob("*.md") if page.name != "api.md"]
    return set(re.findall(r"\.(\w+)\(", "\n".join(pages)))


def methods_of(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of a class that are for users: those that another page calls, or that have an example."""
    known = taught()
    for name, value in vars(kind).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and inspect.isfunction(function):
            doc = inspect.getdoc(function) or ""
            if name in known or ">>> " in doc:
                yield name, function


def signature_of(name: str, function: Callable[..., Any]) -> str:
    """Return the call of a function with its parameters and their defaults."""
    parameters = []
    is_keyword = False
    for one in inspect.signature(function).parameters.values():
        if one.name in ("self", "cls") or (one.kind is one.VAR_POSITIONAL and one.annotation == "NoReturn"):
            continue
        if one.kind is one.KEYWORD_ONLY and not is_keyword:
            parameters.append("*")
            is_keyword = True
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        is_keyword |= stars == "*"
        default = "" if one.default is one.empty else f"={one.default!r}"
        parameters.append(f"{stars}{one.name}{default}")
    text = f"{name}({', '.join(parameters)})"
    if len(text) <= _WIDTH:
        return text
    return f"{name}(\n" + "".join(f"    {one},\n" for one in parameters) + ")"


def _inline(text: str) -> str:
    """Return a line of a docstring as Markdown."""
    text = _ROLE.sub(r"``\1``", text)
    pieces = re.split(r"(``.+?``)", text)
    return "".join(
        f"`{piece[2:-2]}`" if piece.startswith("``") else re.sub(r"([*<])", r"\\\1", piece)
        for piece in pieces
    )


def markdown(doc: str) -> str:
    """Return a docstring as Markdown: paragraphs "NAME: ..." become items, examples blocks of code."""
    lines: list[str] = []
    is_code = is_item = False
    for line in inspect.cleandoc(doc).splitlines():
        stripped = line.strip()
        if stripped.startswith(">>> ") and not is_code:
            lines += ["", "```pycon"]
            is_code = True
        if is_code and not stripped:
            lines += ["```", ""]
            is_code = False
        if is_code:
            lines.append(line.removeprefix("    "))
        elif _ITEM.match(line) and not line.startswith(("Raises", "Warns", "Returns")):
            names, _, rest = line.partition(": ")
            lines += [] if is_item else [""]
            lines.append(f"- {', '.join(f'`{name}`' for name in names.split(', '))}: {_inline(rest)}")
            is_item = True
        elif is_item and line.startswith(" "):
            lines.append(f"  {_inline(stripped)}")
        else:
            lines += [""] if is_item and stripped else []
            lines.append(line if line.startswith("    ") else _inline(line))
            is_item = False
    if is_code:
        lines.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip())


def _first(doc: str | None) -> str:
    return _inline((doc or "").strip().partition("\n\n")[0].replace("\n", " "))


def _function(level: str, shown: str, function: Callable[..., Any]) -> str:
    own = set(inspect.signature(function).parameters)
    storage = [one.name for one in arrowroot.configuration().options if one.name in own]
    more = (
        f"\n\n[{_STORAGE}](#{_STORAGE.lower().replace(' ', '-')}): {', '.join(f'`{name}`' for name in storage)}."
        if len(storage) > 1
        else ""
    )
    text = markdown(inspect.getdoc(function) or "")
    return f"{level} {shown}\n\n```python\n{signature_of(shown, function)}\n```\n\n{text}{more}\n"


def _class(name: str, kind: type) -> str:
    parts = [f"### {name}\n\n{markdown(inspect.getdoc(kind) or '')}\n"]
    fields = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", ())
    if fields:
        parts.append("Fields: " + ", ".join(f"`{one}`" for one in fields if not one.startswith("_")) + ".\n")
    rows = [
        f"| `{one}` | {_first(inspect.getdoc(value))} |"
        for one, value in vars(kind).items()
        if isinstance(value, property) and not one.startswith("_")
    ]
    if rows:
        parts.append("\n".join(["| property | what |", "|---|---|", *rows]) + "\n")
    parts += [_function("####", f"{name}.{one}", function) for one, function in methods_of(kind)]
    return "\n".join(parts)


def _errors() -> str:
    rows = []
    for name, kind in exported().items():
        if not is_error(kind):
            continue
        builtins = [one for one in kind.__mro__ if one.__module__ == "builtins"]
        nearest = [
            one.__name__
            for one in builtins
            if not any(other is not one and issubclass(other, one) for other in builtins)
            and one not in (Exception, UserWarning)
        ]
        ours = [one.__name__ for one in kind.__bases__ if one.__module__ == "arrowroot"]
        ours = [base for base in ours if not base.startswith("_")] or ["NotFoundError"] * (
            name != "ArrowrootError"
        )
        ours = [base for base in ours if base != name]
        if name in ("ArrowrootWarning", "ArrowrootError"):
            ours = []
        rows.append(
            f"| `{name}` | {', '.join(f'`{one}`' for one in [*ours, *nearest])} | {_first(inspect.getdoc(kind))} |"
        )
    return "\n".join(["| class | is a | when |", "|---|---|---|", *rows]) + "\n"


def _options() -> str:
    """Return the table of the options of the storage, as the page on remote files has it."""
    remote = (DOCS / "remote.md").read_text(encoding="utf-8")
    return remote.partition("<!-- options:begin -->\n")[2].partition("<!-- options:end -->")[0]


def document() -> str:
    """Return the page."""
    names = exported()
    functions = {name: value for name, value in names.items() if inspect.isroutine(value)}
    classes = {
        name: value for name, value in names.items() if isinstance(value, type) and not is_error(value)
    }
    return (
        "\n".join(
            [
                HEAD,
                "## Functions\n",
                *(_function("###", f"ar.{name}", value) for name, value in functions.items()),
                f"## {_STORAGE}\n",
                "They are arguments of all that opens files; [settings](settings.md) has other ways to set them.\n",
                _options(),
                "## Exceptions and warnings\n",
                "All that is raised is an `ArrowrootError`, and what Python has for such an error, too.\n",
                _errors(),
                "## Classes\n",
                *(_class(name, value) for name, value in classes.items()),
            ]
        ).rstrip()
        + "\n"
    )


if __name__ == "__main__":
    sys.stdout.write(document())
