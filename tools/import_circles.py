"""Finds the circles of files that import each other, in each crate and in the Python package.

    python tools/import_circles.py

A circle is a largest set of files from each of which imports lead to all the others. Each circle prints as a line: how
many files it has, and which. Code is read as text, and never run:

- Rust: each path through a module of the crate counts, in a `use` and in code. Items under `#[cfg(test)]` do not count.
  Neither does `mod`: it says where a file stands, not what it needs.
- Python: each import counts, also in a function, but not under `TYPE_CHECKING`.

An import leads to the file that defines the name. A file that hands on a name (`pub use`, or an `__init__.py`) imports
it only if it uses the name itself. Calls of methods are not seen.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).parents[1]

# File -> the files that it imports.
Imports = dict[Path, set[Path]]
# A path as Rust or Python writes it, without the separators.
Names = tuple[str, ...]

_NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | r(\#*)".*?"\1 | "(?:\\.|[^"\\])*" | '(?:\\[^']+|[^\\'])'""",
    re.DOTALL | re.VERBOSE,
)
_TEST = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*")
_USE = re.compile(r"\b(pub\b(?:\([^)]*\))?\s*)?use\s+([^;]+);")
_MODULE = re.compile(r"\bmod\s+(\w+)\s*;")
_DEFINITION = re.compile(r"\b(?:fn|struct|enum|union|trait|type|const|static|mod|macro_rules!)\s+(\w+)")
_PATH = re.compile(r"(?<![\w:])\w+(?:\s*::\s*\w+)+")


def circles(imports: Imports) -> list[list[Path]]:
    """Find the sets of two or more files that import each other, the largest first, each in the order of its paths."""
    reached = {file: _reached(imports, file) for file in imports}
    found = {
        tuple(sorted(other for other in reached[file] if file in reached[other]))
        for file in imports
        if file in reached[file]
    }
    return sorted(
        (list(circle) for circle in found if len(circle) > 1), key=lambda circle: (-len(circle), circle)
    )


def _reached(imports: Imports, start: Path) -> set[Path]:
    reached: set[Path] = set()
    waiting = list(imports[start])
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached.add(file)
            waiting += imports[file]
    return reached


def of_crate(source: Path) -> Imports:
    """Read which files of a crate import which: `source` is the folder of its `lib.rs`, or of a program's `main.rs`."""
    modules: dict[Names, _Module] = {}
    root = next(path for name in ("lib.rs", "main.rs") if (path := source / name).exists())
    waiting: list[tuple[Names, Path]] = [((), root)]
    while waiting:
        name, file = waiting.pop()
        modules[name] = module = _Module(file)
        folder = file.parent if file == root or file.name == "mod.rs" else file.with_suffix("")
        for child in module.children:
            beside = folder / f"{child}.rs"
            waiting.append(((*name, child), beside if beside.exists() else folder / child / "mod.rs"))
    return {
        module.file: {modules[owner].file for owner in _owners(modules, name)} - {module.file}
        for name, module in modules.items()
    }


class _Module:
    """A Rust file, read as text: its modules, what it defines and imports, and the paths that its code follows."""

    def __init__(self, file: Path) -> None:
        text = _without_tests(_NO_CODE.sub(" ", file.read_text(encoding="utf-8")))
        code = _USE.sub(" ", text)
        words = set(re.findall(r"\w+", code))
        self.file = file
        self.children = _MODULE.findall(text)
        self.defined = set(_DEFINITION.findall(code))
        # Name in this file -> the path that it stands for; and the modules of which all names are taken.
        self.imported: dict[str, Names] = {}
        self.globs: list[Names] = []
        self.paths = [tuple(re.split(r"\s*::\s*", path)) for path in _PATH.findall(code)]
        for visible, tree in _USE.findall(text):
            for name, path in _leaves(tree):
                if name == "*":
                    self.globs.append(path)
                else:
                    self.imported[name] = path
                if not visible or name in words:
                    self.paths.append(path)


def _without_tests(text: str) -> str:
    """Cut out the items under `#[cfg(test)]`: each ends with its first `;`, or with its braces if those come first."""
    kept = []
    while found := _TEST.search(text):
        kept.append(text[: found.start()])
        text = text[found.end() :]
        depth = 0
        for at in re.finditer(r"[][(){};]", text):
            depth += (at[0] in "[({") - (at[0] in "])}")
            if depth == 0 and at[0] in ";}":
                text = text[at.end() :]
                break
    return "".join([*kept, text])


def _leaves(tree: str, outer: Names = ()) -> Iterator[tuple[str, Names]]:
    """Yield each name of a use tree with its path: `a::{b, c as d}` is `b` of `a::b`, and `d` of `a::c`."""
    head, braced, inner = tree.partition("{")
    path = outer + tuple(name for name in re.split(r"\s*::\s*", head.strip()) if name)
    if braced:
        for part in re.findall(r"(?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})+", inner.rpartition("}")[0]):
            if part.strip():
                yield from _leaves(part, path)
        return
    last, _, alias = path[-1].partition(" as ")
    path = path[:-1] if last in ("self", "*") else (*path[:-1], last)
    yield "*" if last == "*" else alias or path[-1], path


def _owners(modules: dict[Names, _Module], name: Names) -> Iterator[Names]:
    for path in modules[name].paths:
        owner, is_module = _owner(modules, name, path)
        # What is taken from a module that was imported as a whole is a path of its own.
        if owner is not None and (not is_module or path in modules[name].globs):
            yield owner


def _owner(
    modules: dict[Names, _Module],
    here: Names,
    path: Names,
    tried: frozenset[tuple[Names, Names]] = frozenset(),
) -> tuple[Names | None, bool]:
    """Find the module that defines what `path` says inside of module `here`, and whether it is that module itself.

    None for what is not of this crate. `tried`: the questions that this one helps to answer.
    """
    if (here, path) in tried:
        return None, False
    tried |= {(here, path)}
    for at, part in enumerate(path):
        module = modules[here]
        if part == "crate":
            here = ()
        elif part == "super":
            here = here[:-1]
        elif part in module.children:
            here = (*here, part)
        elif part in module.defined:
            return here, False
        elif part in module.imported:
            return _owner(modules, here, module.imported[part] + path[at + 1 :], tried)
        elif part != "self":
            for glob in module.globs:
                inside, is_module = _owner(modules, here, glob, tried)
                found = (
                    _owner(modules, inside, path[at:], tried)
                    if inside is not None and is_module
                    else (None, False)
                )
                if found[0] is not None:
                    return found
            # A macro has made the name, or it is of another crate.
            return here if at else None, False
    return here, True


def of_package(source: Path) -> Imports:
    """Read which files of a Python package import which: `source` is the folder of its `__init__.py`."""
    files = {_dotted(source, file): file for file in source.rglob("*.py")}
    modules = {name: _Imported(name, file) for name, file in files.items()}
    imports: Imports = {}
    for name, module in modules.items():
        owners = {_defining(modules, *taken) for taken in module.taken}
        imports[files[name]] = {files[owner] for owner in owners if owner is not None} - {files[name]}
    return imports


def _dotted(source: Path, file: Path) -> str:
    parts = file.relative_to(source.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _Imported(ast.NodeVisitor):
    """The imports of a Python file, each a module and a name in it: all that count, and what each name stands for."""

    def __init__(self, name: str, file: Path) -> None:
        self.package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
        self.taken: set[tuple[str, str]] = set()
        self.named: dict[str, tuple[str, str]] = {}
        self.is_typing = False
        tree = ast.parse(file.read_text(encoding="utf-8"))
        words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.used = words if file.name == "__init__.py" else None
        self.visit(tree)

    def visit_If(self, node: ast.If) -> None:
        before, self.is_typing = self.is_typing, self.is_typing or "TYPE_CHECKING" in ast.unparse(node.test)
        for child in node.body:
            self.visit(child)
        self.is_typing = before
        for child in node.orelse:
            self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._take(alias.asname or alias.name, alias.name, "")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        up = self.package[: len(self.package) - node.level + 1] if node.level else []
        module = ".".join([*up, node.module] if node.module else up)
        for alias in node.names:
            self._take(alias.asname or alias.name, module, alias.name)

    def _take(self, name: str, module: str, member: str) -> None:
        self.named[name] = (module, member)
        if not self.is_typing and (self.used is None or name in self.used):
            self.taken.add((module, member))


def _defining(modules: dict[str, _Imported], module: str, member: str) -> str | None:
    """Name the module that defines `member` of `module`; None for what is not of this package."""
    met = set()
    while (module, member) not in met:
        met.add((module, member))
        if f"{module}.{member}" in modules:
            return f"{module}.{member}"
        if module not in modules:
            return None
        named = modules[module].named.get(member)
        if named is None or named[0] not in modules:
            return module
        module, member = named
    return module


def of_repository(root: Path = REPOSITORY) -> dict[str, Imports]:
    """Read the imports of each crate, by the name of its folder, and of the package, as `python/arrowroot`."""
    crates = {
        crate.parent.name: of_crate(crate.parent / "src")
        for crate in sorted(root.glob("crates/*/Cargo.toml"))
    }
    return {**crates, "python/arrowroot": of_package(root / "python" / "arrowroot")}


if __name__ == "__main__":
    for place, imports in of_repository().items():
        print(f"{place}: {len(imports)} files")
        for circle in circles(imports):
            print(f"  {len(circle)}:", *(file.relative_to(REPOSITORY) for file in circle))
