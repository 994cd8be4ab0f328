"""Calls whose keyword arguments are described by one TypedDict: their signatures, their help, and what they refuse."""

from __future__ import annotations

import os
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from arrowroot._errors import InvalidRequestError, WrongTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

_C = TypeVar("_C", bound="Callable[..., Any]")
_T = TypeVar("_T", bound=type)
_VARARGS, _VARKEYWORDS = 4, 8
_SELF = ("self", "_cls")
#: The orders in which calls that write take what is read and what is written.
_ORDERS = {
    "write": "the path first, then the data",
    "merge": "the output first, then the inputs",
    "skim": "the inputs first, then the output",
    "index": "the inputs first, then the path of the index",
}


def takes(
    options: Mapping[str, Any] | None = None,
    *,
    defaults: Mapping[str, Any] | None = None,
    explained_by: str | None = None,
    unlisted: Collection[str] = (),
) -> Callable[[_C], _C]:
    """Return what gives a function the options that it takes by ``**``, as if they stood in its signature.

    ``help``, completion and whoever asks for the signature see them, with their defaults. An argument that is not among
    them is refused with what to write instead, under the name of the function that was called.

    options: the annotations of a TypedDict. defaults: None where not given.
    explained_by: a text that has a paragraph "NAME: ..." for options; the docstring gets those that it does not have.
    unlisted: those that a message does not list where none is near what was given.
    """

    def give(function: _C) -> _C:
        # In the order in which they are explained.
        order = [*paragraphs(explained_by or function.__doc__ or ""), *(options or {})]
        annotations = {name: options[name] for name in order if options and name in options}
        code = function.__code__
        n_positional = code.co_argcount
        own = code.co_varnames[: n_positional + code.co_kwonlyargcount]
        known = frozenset((*own, *annotations))
        n_self = sum(name in _SELF for name in own[:1])
        n_needed = n_positional - len(function.__defaults__ or ())
        by_name = [name for name in own[n_positional:] if name not in (function.__kwdefaults__ or {})]
        takes_any_number = bool(code.co_flags & _VARARGS)
        # Objects are made by the name of their class.
        name_of_call = function.__name__
        if name_of_call in ("__init__", "__new__"):
            name_of_call = function.__qualname__.split(".")[0]

        def call(*args: Any, **given: Any) -> Any:
            if not given.keys() <= known:
                refuse(
                    name_of_call,
                    given,
                    [name for name in (*own, *annotations) if name not in _SELF],
                    unlisted,
                )
            if len(args) > n_positional and not takes_any_number:
                _refuse_positions(name_of_call, own, n_positional, len(args))
            missing = [name for name in (*own[len(args) : n_needed], *by_name) if name not in given]
            if missing and (given or len(args) > n_self):
                _refuse_without(name_of_call, missing, args[n_self:])
            return function(*args, **given)

        for name in ("__module__", "__name__", "__qualname__", "__annotations__"):
            setattr(call, name, getattr(function, name))
        call.__doc__ = function.__doc__
        explain(call, known, explained_by)
        # Whoever asks for the signature follows this.
        call.__wrapped__ = _with_options(function, annotations, defaults or {})  # type: ignore[attr-defined]
        return cast("_C", call)

    return give


def not_made(kind: _T) -> _T:
    """Have a class whose objects others make refuse a path, or nothing, with the line that gives one."""
    make = kind.__init__  # type: ignore[misc]  # a class is decorated before it has objects

    def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807 - it is one
        first = args[0] if args else None
        if not (args or given) or isinstance(first, str | bytes) or hasattr(first, "__fspath__"):
            from arrowroot._hints import for_making

            raise WrongTypeError(
                f"{kind.__name__}() is for arrowroot alone: write {for_making(kind.__name__)}"
            )
        make(self, *args, **given)

    __init__.__wrapped__ = make  # type: ignore[attr-defined]
    __init__.__doc__ = make.__doc__
    kind.__init__ = __init__  # type: ignore[misc]
    return kind


def refuse(call: str, given: Mapping[str, Any], known: Sequence[str], unlisted: Collection[str] = ()) -> None:
    """Raise InvalidRequestError if an argument is not among those that a call knows, with what to write instead."""
    wrong = next((name for name in given if name not in known), None)
    if wrong is None:
        return
    from arrowroot._hints import for_argument

    raise InvalidRequestError(
        f"{call}() has no argument {wrong!r}{for_argument(call, given, wrong, known, unlisted)}"
    )


def _refuse_positions(call: str, own: tuple[str, ...], n_positional: int, n_given: int) -> NoReturn:
    from arrowroot._hints import for_positions

    n_self = sum(name in _SELF for name in own[:1])
    names = ", ".join(own[n_self:n_positional]) or "nothing"
    n_more = n_given - n_self
    given = "1 value was" if n_more == 1 else f"{n_more} values were"
    raise InvalidRequestError(
        f"{call}() takes {names} by position, and {given} given: write {for_positions(call)}"
    )


def _refuse_without(call: str, names: Sequence[str], args: Sequence[object]) -> None:
    """Raise InvalidRequestError for arguments that are missing, if there is a line to write; else Python says it."""
    from arrowroot._hints import for_missing

    if (line := for_missing(call, args)) is not None:
        raise InvalidRequestError(f"{call}() needs {', '.join(names)}: write {line}")


def refuse_swapped(call: str, output: object, other: object) -> None:
    """Raise InvalidRequestError, with the line to write, for data or inputs where the output belongs."""
    may_be_swapped = isinstance(output, list | tuple) or (call == "write" and not isinstance(output, bytes))
    if (
        not may_be_swapped
        or isinstance(output, str | os.PathLike)
        or not isinstance(other, str | os.PathLike)
    ):
        return
    from arrowroot._hints import for_swapped

    raise InvalidRequestError(
        f"{call}() takes {_ORDERS[call]}: write {for_swapped(call, os.fspath(other), output)}"
    )


def _with_options(
    function: Callable[..., Any], options: Mapping[str, Any], defaults: Mapping[str, Any]
) -> FunctionType:
    """Return a function with the signature of another one and options besides, which is never called."""
    code = function.__code__
    n_named = code.co_argcount + code.co_kwonlyargcount
    own = code.co_varnames[:n_named]
    rest = code.co_varnames[n_named : n_named + bool(code.co_flags & _VARARGS)]
    more = tuple(name for name in options if name not in own)
    names = (*own, *more, *rest)

    def nothing() -> None: ...

    made = FunctionType(
        nothing.__code__.replace(
            co_argcount=code.co_argcount,
            co_kwonlyargcount=code.co_kwonlyargcount + len(more),
            co_nlocals=len(names),
            co_varnames=names,
            co_flags=code.co_flags & ~_VARKEYWORDS if options else code.co_flags,
            co_filename=code.co_filename,
            co_firstlineno=code.co_firstlineno,
        ),
        function.__globals__,
        function.__name__,
        function.__defaults__,
    )
    made.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **{name: defaults.get(name) for name in more}}
    texts = {name: getattr(options[name], "__forward_arg__", options[name]) for name in more}
    for name, text in texts.items():
        if made.__kwdefaults__[name] is None and isinstance(text, str) and "None" not in text:
            texts[name] = f"{text} | None"
    made.__annotations__ = {
        name: kind for name, kind in function.__annotations__.items() if name != "options"
    } | texts
    made.__qualname__ = function.__qualname__
    return made


def explain(call: Callable[..., Any], options: Collection[str], by: str | None) -> None:
    """Give a docstring the paragraphs of a text about options of which it says nothing itself, before its example."""
    doc = call.__doc__
    if doc is None or by is None:  # as under -OO
        return
    has = paragraphs(doc)
    more = [text for name, text in paragraphs(by).items() if name in options and name not in has]
    if more:
        indent = doc[len(doc.rstrip(" ")) :]
        whole = _indented("".join(dict.fromkeys(more)), indent)
        said, example = doc, ""
        if ">>> " in doc:
            at = doc.rindex("\n\n", 0, doc.index(">>> "))
            said, example = doc[:at], doc[at + 1 :].rstrip() + "\n"
        call.__doc__ = f"{said.rstrip()}\n\n{whole}{example}{indent}"


def _indented(text: str, indent: str) -> str:
    lines = text.splitlines(keepends=True)
    n_cut = len(lines[0]) - len(lines[0].lstrip(" "))
    return "".join(indent + line[n_cut:] for line in lines)


def paragraphs(doc: str) -> dict[str, str]:
    """Return the paragraphs "NAME: ..." of a docstring, with the lines that go on below them, by name."""
    found: dict[str, str] = {}
    last: str | None = None
    depth = 0
    for line in doc.splitlines(keepends=True)[1:]:
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        names, colon, _ = text.partition(": ")
        if colon and names.replace(", ", "").isidentifier() and (last is None or indent <= depth):
            last, depth = names, indent
            found[last] = line
        elif last is not None and text.strip() and indent > depth:
            found[last] += line
        else:
            last = None
    return {name: text for names, text in found.items() for name in names.split(", ")}
