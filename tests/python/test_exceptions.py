"""All that arrowroot raises has one base, and what Python has for such an error, too."""

import ast
import builtins
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import arrowroot as ar

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "python" / "arrowroot"
BUILTIN = {
    name
    for name in dir(builtins)
    if isinstance(getattr(builtins, name), type) and issubclass(getattr(builtins, name), BaseException)
}
EXPORTED = [getattr(ar, name) for name in ar.__all__]
ERRORS = [one for one in EXPORTED if isinstance(one, type) and issubclass(one, BaseException)]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_exception_derives_from_the_base_and_is_of_the_package(kind: type[BaseException]) -> None:
    assert issubclass(kind, ar.ArrowrootWarning if issubclass(kind, Warning) else ar.ArrowrootError)
    assert kind.__module__ == "arrowroot"
    if kind.__init__ is ar.ArrowrootError.__init__:
        assert str(kind("what to do")) == "what to do", "a KeyError would show quotes"
        assert str(pickle.loads(pickle.dumps(kind("what to do")))) == "what to do"  # noqa: S301 - our own


def raised_builtins() -> Iterator[str]:
    """Yield where the package makes or raises an exception of Python's, or derives one from these alone."""
    for path in sorted(PACKAGE.rglob("*.py")):
        # The commands are no API, and argparse has exceptions of its own.
        if "cli" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named: list[ast.expr | None] = []
            if isinstance(node, ast.Raise):
                named = [node.exc]
            elif isinstance(node, ast.Call):
                named = [node.func]
            elif isinstance(node, ast.ClassDef) and len(node.bases) == 1 and path.name != "_errors.py":
                named = list(node.bases)
            for one in named:
                if isinstance(one, ast.Name) and one.id in BUILTIN:
                    yield f"{path.relative_to(PACKAGE)}:{one.lineno}: {one.id}"


def test_the_package_raises_no_bare_exception_of_pythons() -> None:
    assert list(raised_builtins()) == []
    made = re.compile(r"\bPy\w+Error::new_err|PyErr::new::<")
    binding = [path for path in (REPOSITORY / "crates/python/src").rglob("*.rs") if path.name != "errors.rs"]
    assert [path.name for path in binding if made.search(path.read_text(encoding="utf-8"))] == []


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> ar.File:
    """A file with a tree and a histogram."""
    path = tmp_path_factory.mktemp("exceptions") / "f.root"
    with ar.create(path) as made:
        made["t"] = {"x": np.arange(3)}
        made["h"] = np.histogram([1.0], bins=2)
    return ar.open(path)


#: Mistakes, what Python has for each, and what the message must have.
MISTAKES: dict[str, tuple[Callable[[ar.File], object], type[Exception], str]] = {
    "no such file": (lambda _: ar.open("nothing.root"), FileNotFoundError, "nothing.root"),
    "no such object": (lambda file: file["T"], KeyError, "did you mean"),
    "no such column": (lambda file: file["t"]["y"], KeyError, "did you mean .x."),
    "a method of uproot's": (lambda file: file["t"].arrays(), AttributeError, r"write tree\.to_awkward"),
    "a name of another module": (lambda _: ar.recreate, AttributeError, r"write with ar\.create"),  # type: ignore[attr-defined]
    "an argument": (lambda file: file["t"].to_pandas(cut="x"), ValueError, "write filter="),
    "entries by number": (lambda file: file["t"][0], TypeError, "write tree"),  # type: ignore[call-overload]
    "a column that is compared": (lambda file: file["t"]["x"] == 1, TypeError, "write tree"),
    "writing to what is read": (lambda file: file.__setitem__("t", 1), TypeError, "write"),  # type: ignore[attr-defined]
    "a bin that is not there": (lambda file: file["h"].axis(0)[5], IndexError, "it has 2 bins"),
    "a bin by name": (lambda file: file["h"].axis(0)["a"], TypeError, "by their numbers"),
    "a member": (lambda file: file["h"]["fNothing"], KeyError, "has no member"),
    "a member as attribute": (lambda file: file["h"].fEntrie, AttributeError, "fEntries"),
    "len of a histogram": (lambda file: len(file["h"]), TypeError, r"in \.members"),
    "pickling": (pickle.dumps, TypeError, r"arrowroot\.open"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_an_error_of_both_and_says_what_to_do(mistake: str, file: ar.File) -> None:
    make, kind, words = MISTAKES[mistake]
    with pytest.raises(ar.ArrowrootError, match=words) as caught:
        make(file)
    assert isinstance(caught.value, kind)
