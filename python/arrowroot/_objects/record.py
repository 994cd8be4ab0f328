"""Records: the members of an object of any class."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

from arrowroot._errors import (
    ArrowrootError,
    CorruptFileError,
    NoSuchAttributeError,
    NotFoundError,
    UnsupportedError,
    WrongTypeError,
    nearest,
)
from arrowroot._render import clip, printable, text_table
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping

    import numpy.typing as npt
    from typing_extensions import Self

    from arrowroot import _native
    from arrowroot._objects.factory import Factory

_MAX_DEPTH = 200
_REPR_MEMBERS = 60
_REPR_WIDTH = 96
_N_LISTED = 4


class _NotThere:
    """A method of the base that a class has not: half of a mapping would answer for something else than the other."""

    def __get__(self, record: object, kind: type) -> NoReturn:
        raise NoSuchAttributeError


#: For methods of a mapping that a kind of object is not.
NOT_THERE: Any = _NotThere()
_OF_MAPPINGS = ("keys", "values", "items", "get")
#: Attributes of a record that are not there before its members are read.
_PUT_OFF = frozenset({"_members", "_own", "_as_root"})


@runtime_checkable
class TreeInside(Protocol):
    """A tree inside of an object, as what is around it needs to know it: ``arrowroot.Tree``."""

    @property
    def class_name(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def num_entries(self) -> int: ...
    def summary(self) -> str: ...


class Record:
    """An object of any class, read by the file's own streamer information: its members by name.

    ``record["fEntries"]`` and ``record.fEntries`` are the same; members of base classes are among them. Arrays
    of numbers are NumPy arrays, objects are records again, and a pointer to nothing is None. Two pointers to
    one object give one record, and objects may lead to each other in circles.

    It is a mapping of its members. Some classes are one of something else (an ``ObjectMap``), a sequence of other
    objects (an ``ObjectList``), or no mapping, as their content is something else (a ``Histogram``); ``members`` still
    is one of the members.

    Raises: NoSuchAttributeError or NotFoundError (a KeyError), for a member that the class
    does not have; with the nearest names.

        >>> record = objects["named"]
        >>> record.class_name, record["fTitle"], record.fTitle
        ('TNamed', 'a title', 'a title')
        >>> record.is_a("TObject"), list(record.keys()), "a title" in record.values()
        (True, ['fUniqueID', 'fBits', 'fName', 'fTitle'], True)
        >>> dict(record.items())["fName"]
        'named'
    """

    __slots__ = ("__dict__", "_as_root", "_members", "_own", "_unread", "bases", "class_name")

    def __init__(self, class_name: str, bases: tuple[str, ...] = ()) -> None:
        #: The class in C++.
        self.class_name = class_name
        #: The classes that it derives from, near ones first.
        self.bases = bases
        self._members: dict[str, Any] = {}
        self._own: tuple[str, ...] = ()
        self._as_root: dict[str, Any] = self._members
        #: What its members are read from, and the factory of what is among them, until they are.
        self._unread: tuple[_native.Unread, Factory] | None = None

    @classmethod
    def _put_off(
        cls, class_name: str, bases: tuple[str, ...], unread: _native.Unread, factory: Factory
    ) -> Self:
        """Return one that reads its members when they are asked for: ``__getattr__`` is called for others."""
        record = cls.__new__(cls)
        record.class_name = class_name
        record.bases = bases
        record._unread = unread, factory  # noqa: SLF001 - its own class
        return record

    def _read(self) -> None:
        """Read the members, if they were put off."""
        put_off = self._unread
        if put_off is not None:
            unread, factory = put_off
            unread.fill(factory, self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._read()
        return super().__reduce_ex__(protocol)

    def _fill(self, members: dict[str, Any], own: tuple[str, ...]) -> None:
        """Take the members.

        own: names of those that a class adds to the class of ROOT which it derives from; none where it derives from
        no such class.
        """
        self._members = self._as_root = members
        self._own = own
        self._unread = None
        if own:
            as_root = {name: value for name, value in members.items() if name not in own}
            plain = {name: value for name, value in as_root.items() if "::" not in name}
            for name, value in as_root.items():
                # A base's member that another one of the same name hides goes by "CLASS::NAME".
                plain.setdefault(name.rpartition("::")[2], value)
            self._as_root = plain

    def _root_member(self, name: str, *inner: str) -> Any:
        """Return a member of the class of ROOT that this class is or derives from, None if there is none.

        The class may have another member of that name, which ``get`` returns. ``inner``: the names of a member of that
        member, and so on.
        """
        put_off = self._unread
        if put_off is not None:
            unread, factory = put_off
            found = unread.member(factory, name, *inner)
            if found is not NotImplemented:
                return found
        found = self._as_root.get(name)
        if not inner:
            return found
        return found._root_member(*inner) if isinstance(found, Record) else None  # noqa: SLF001 - its own class

    def _member(self, name: str) -> Any:
        """Return such a member, or else the class's own of that name."""
        found = self._root_member(name)
        return self._members.get(name) if found is None else found

    @property
    def own_members(self) -> dict[str, Any]:
        """The members that a class adds to those of a class of ROOT; none where it derives from no such class."""
        return {name: self._members[name] for name in self._own}

    @property
    def members(self) -> dict[str, Any]:
        """The members by name, in the order they are stored."""
        return dict(self._members)

    def _mapping(self) -> Mapping[Any, Any]:
        """Return what it is a mapping of."""
        return self._members

    def __getitem__(self, name: Any) -> Any:
        try:
            return self._mapping()[name]
        except (KeyError, TypeError):
            raise self._no_key(name) from None

    def _no_key(self, name: object) -> NotFoundError:
        return NotFoundError(self._missing(name, "member", self._members))

    def __getattr__(self, name: str) -> Any:
        if name in _PUT_OFF:
            self._read()
            return object.__getattribute__(self, name)
        if name.startswith("__") or name == "_unread":
            raise NoSuchAttributeError(name)
        try:
            return self._members[name]
        except KeyError:
            raise NoSuchAttributeError(self._missing(name, "member", self._members)) from None

    def _missing(self, name: object, what: str, known: Iterable[str]) -> str:
        near = nearest(name, known) if isinstance(name, str) else []
        hint = "; did you mean " + " or ".join(map(repr, near)) + "?" if near else ""
        if name in _OF_MAPPINGS:
            hint = f"; its members are in .members, which has {name}()"
        elif isinstance(name, str) and not name.startswith("_"):
            from arrowroot._hints import for_attribute

            hint = for_attribute(type(self).__name__, name, ()) or hint
        return f"{self.class_name} has no {what} {clip(repr(name), _REPR_WIDTH)}{hint}"

    def get(self, name: Any, default: Any = None) -> Any:
        """Return what ``[name]`` does, or ``default`` if there is nothing of that name.

        >>> objects["named"].get("fNothing", 0)
        0
        """
        return self[name] if name in self else default  # noqa: SIM401 - this is get()

    def array_of(self, name: str) -> npt.NDArray[Any]:
        """Return a member of the class or, before it, of ROOT's class under it that must be an array of numbers.

        Raises: CorruptFileError if there is none, or if the file says that it is something else.
        """
        value = self._member(name)
        if getattr(value, "ndim", None) != 1:
            raise CorruptFileError(f"{self.class_name} without an array of numbers {name!r}")
        array: npt.NDArray[Any] = value
        return array

    def number_of(self, name: str) -> int | float:
        """Return a member of the class or, before it, of ROOT's class under it that must be a number.

        Raises: CorruptFileError if there is none, or if the file says that it is something else.
        """
        value = self._member(name)
        if not isinstance(value, int | float):
            raise CorruptFileError(f"{self.class_name} without a number {name!r}")
        return value

    def integer_of(self, name: str) -> int:
        """Return such a member that must be a whole number.

        Raises: CorruptFileError if there is none, or if the file says that it is something else.
        """
        number = self.number_of(name)
        if number % 1 != 0:  # as it is of what is no number, or infinite
            raise CorruptFileError(f"{self.class_name} without a whole number {name!r}: it is {number}")
        return int(number)

    def keys(self) -> KeysView[Any]:
        """Return the names of the members."""
        return self._mapping().keys()

    def values(self) -> Any:
        """Return the values of the members."""
        return self._mapping().values()

    def items(self) -> ItemsView[Any, Any]:
        """Return names and values of the members."""
        return self._mapping().items()

    def _ipython_key_completions_(self) -> list[str]:
        return [str(name) for name in self._mapping()]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mapping())

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self)[::-1])

    def __len__(self) -> int:
        return len(self._mapping())

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return name in self._mapping()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self._members if name.isidentifier())]

    def to_dict(self) -> dict[str, Any]:
        """Return members as dictionaries, lists and NumPy arrays, all the way down.

        Each has its class under "_typename", and an object that was met before is {"$ref": n}, the n-th of all
        from 0 on, as in ROOT's JSON. Of a tree there are name, title and number of entries. What cannot be read is
        {"_typename": ..., "_error": ...}.

        Raises: UnsupportedError if objects are nested more than 200 deep.

            >>> objects["named"].to_dict()
            {'_typename': 'TNamed', 'fUniqueID': 0, 'fBits': 0, 'fName': 'named', 'fTitle': 'a title'}
        """
        return _Plain().record(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return ``to_dict()`` as JSON; NaN and infinities become null, as JSON has none.

        indent: as of ``json.dumps``.

        >>> objects["named"].to_json()
        '{"_typename": "TNamed", "fUniqueID": 0, "fBits": 0, "fName": "named", "fTitle": "a title"}'
        """
        return json_text(self, indent=indent)

    def is_a(self, class_name: str) -> bool:
        """Return whether it is of that class, or of one that derives from it."""
        return class_name == self.class_name or class_name in self.bases

    def summary(self) -> str:
        """Return what it is, on one line."""
        return counted(len(self._members), "member")

    def _head(self) -> str:
        members = [self._root_member(name) for name in ("fName", "fTitle")]
        label = next((member for member in members if isinstance(member, str) and member), None)
        quoted = "" if label is None else f" {label!r}"
        summary = self.summary()
        return printable(f"{self.class_name}{quoted}" + (f": {summary}" if summary else ""))

    def __repr__(self) -> str:
        return "\n".join([self._head(), *_lines(self._members)])

    def _repr_with_own(self, *lines: str) -> str:
        """Return the head, what the class of ROOT has to show, and the members that the class adds."""
        return "\n".join([self._head(), *lines, *_lines(self.own_members)])


class WithContent(Record):
    """An object with a content that is not its members: bins, or entries.

    Members are found by name: ``found["fEntries"]``, ``get`` and ``in`` are of them, and ``members`` is the mapping. It
    is no mapping itself, as one would go over the content: ``keys``, ``items``, iterating and ``len`` are not there.
    """

    keys = values = items = NOT_THERE
    __iter__ = __reversed__ = None  # type: ignore[assignment]

    def __len__(self) -> NoReturn:
        raise WrongTypeError(f"a {self.class_name} has no len(): its members are in .members")


class Unreadable(Record):
    """An object that cannot be read, inside of one that can: ``error`` says why, ``raw`` are its bytes.

    >>> isinstance(objects["named"], ar.Unreadable)
    False
    """

    __slots__ = ("error", "raw")

    def __init__(self, class_name: str, error: ArrowrootError, raw: bytes) -> None:
        super().__init__(class_name)
        #: Why it cannot be read.
        self.error = error
        #: Its bytes as they are stored, uncompressed.
        self.raw = raw

    def _mapping(self) -> NoReturn:
        raise self.error

    def summary(self) -> str:
        """Return the reason why it cannot be read."""
        return f"not readable, {len(self.raw)} bytes: {self.error}"

    def __repr__(self) -> str:
        return self._head()


def _lines(members: dict[str, Any]) -> list[str]:
    """Return the first members on a line each."""
    rows = [
        [printable(name), value_text(value, _REPR_WIDTH)]
        for name, value in list(members.items())[:_REPR_MEMBERS]
    ]
    left = len(members) - len(rows)
    table = text_table(rows, n_header=0, right=[False, False])
    return [*([table] if table else []), *([f"... {left} more"] if left else [])]


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return what a file holds, a record or not, as JSON: NaN and infinities become null, bytes become text."""
    import json

    return json.dumps(_JsonPlain().value(value), indent=indent, allow_nan=False)


def kind_text(found: Any) -> str:
    """Return what was found in a file where a tree was looked for."""
    if isinstance(found, Record):
        return f"a {found.class_name}"
    return "a value" if isinstance(found, str | list | dict) or hasattr(found, "dtype") else "a directory"


def value_text(value: Any, max_width: int) -> str:
    """Return a member on one line."""
    return clip(printable(_text(value, 0)), max_width)


def _text(value: Any, depth: int) -> str:
    if isinstance(value, Record):
        return value._head()  # noqa: SLF001 - a helper of the same module
    if isinstance(value, TreeInside):
        return f"{value.class_name} {value.name!r}: {value.summary()}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple) or getattr(value, "ndim", None):
        if depth > 2:
            return "..."
        shown = ", ".join(_text(item, depth + 1) for item in value[:_N_LISTED])
        left = len(value) - _N_LISTED
        return f"[{shown}" + (f", ... {left} more]" if left > 0 else "]")
    if isinstance(value, dict):
        pairs = list(value.items())[:_N_LISTED]
        shown = ", ".join(f"{name}: {_text(item, depth + 1)}" for name, item in pairs) if depth <= 2 else ""
        return "{" + shown + (", ..." if len(value) > _N_LISTED else "") + "}"
    return str(value)


class _Plain:
    """Turns records into plain data, and remembers the objects that it met."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._depth = 0

    def record(self, record: Record) -> dict[str, Any]:
        if id(record) in self._numbers:
            return {"$ref": self._numbers[id(record)]}
        self._numbers[id(record)] = len(self._numbers)
        if self._depth >= _MAX_DEPTH:
            raise UnsupportedError(f"objects are nested more than {_MAX_DEPTH} deep")
        self._depth += 1
        result: dict[str, Any] = {"_typename": record.class_name}
        if isinstance(record, Unreadable):
            result["_error"] = str(record.error)
        for name, value in record.members.items():
            result[name] = self.value(value)
        self._depth -= 1
        return result

    def value(self, value: Any) -> Any:
        if isinstance(value, Record):
            return self.record(value)
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {str(self._leaf(name)): self.value(item) for name, item in value.items()}
        if hasattr(value, "dtype"):
            return self._array(value)
        if isinstance(value, TreeInside):
            members = {"fName": value.name, "fTitle": value.title, "fEntries": value.num_entries}
            return {"_typename": value.class_name} | members
        return self._leaf(value)

    def _array(self, array: Any) -> Any:
        return array

    def _leaf(self, value: Any) -> Any:
        return value


class _JsonPlain(_Plain):
    """The same for JSON, which has fewer types."""

    def _array(self, array: Any) -> Any:
        return self.value(array.tolist())

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return None if isinstance(value, float) and not isfinite(value) else value
