"""Options of the storage. People set them by arguments, URL, environment or TOML files; the first of these wins."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

from arrowroot import _native
from arrowroot._arguments import takes
from arrowroot._errors import InvalidRequestError, StorageError, nearest
from arrowroot._render import shown
from arrowroot._sizes import format_binary, format_bytes, format_seconds, parse_digits
from arrowroot._storage.url import split_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from typing_extensions import Unpack

    #: The name of an option, its text, and where it was set.
    Sourced: TypeAlias = tuple[str, str, str]

#: What an option takes as an argument; text is read as everywhere else.
Value = str | int | float | os.PathLike[str] | None

#: Cache size of the strategy treecache, if no ``cache_size`` was given.
TREE_CACHE_BYTES = _native.TREE_CACHE_BYTES

_PREFIX = "ARROWROOT_"
#: Variables with this prefix that are no options.
_OTHER_VARIABLES = ("CONFIG", "DEBUG", "LAB_CACHE", "PROGRESS")
#: Variables of other tools that count where no option says otherwise: credentials and proxies.
SHARED_VARIABLES = (
    "BEARER_TOKEN",
    "BEARER_TOKEN_FILE",
    "X509_USER_PROXY",
    "X509_USER_CERT",
    "X509_USER_KEY",
    "X509_CERT_DIR",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
)
#: Options that say who is asking.
_CREDENTIALS = ("token", "certificate", "key")
_MAX_FILE_BYTES = 1_000_000
#: Schemes whose URLs have a host. In others a bucket or anything else may stand there.
_SCHEMES_WITH_HOST = ("http", "https", "root", "roots", "xroot", "xroots", "s3+http", "s3+https")


class StorageOptions(TypedDict, total=False):
    """The options that ``open`` and ``scan`` take as keyword arguments; ``arrowroot config`` explains them."""

    strategy: str
    cache_size: int | str
    max_gap: int | str
    max_span: int | str
    prefetch: int | str
    learn_entries: int | str
    download_dir: str | os.PathLike[str]
    download_size: int | str
    block_cache: str | os.PathLike[str]
    block_cache_size: int | str
    timeout: float | str
    deadline: float | str
    retries: int | str
    connections: int | str
    token: str
    certificate: str | os.PathLike[str]
    key: str | os.PathLike[str]
    authorities: str | os.PathLike[str]
    s3_endpoint: str
    s3_region: str
    credentials_for: str | list[str]


class Setting(NamedTuple):
    """One option that somebody set, and where."""

    name: str
    text: str
    origin: str

    def __repr__(self) -> str:
        text = "(hidden)" if self.name in secret_names() else repr(self.text)
        return f"Setting({self.name}={text}, {self.origin})"


class Option(NamedTuple):
    """One option as it is in force. ``value`` None: not set, left to the strategy, or secret.

    >>> option = ar.configuration(strategy="direct").options[0]
    >>> option.name, option.value
    ('strategy', 'direct')
    """

    name: str
    value: str | None
    origin: str
    takes: str
    meaning: str
    is_secret: bool

    @property
    def text(self) -> str:
        """The value to read: "10.0 GB" of a number of bytes, "30.0 s" of one of seconds, and what is secret hidden."""
        if self.is_secret and self.origin != "default":
            return "(hidden)"
        if self.value is None or self.is_secret:
            return "not set"
        if self.takes == "a size" and self.value.isdecimal():
            n_bytes = parse_digits(self.value)
            return format_binary(n_bytes) if n_bytes % (1 << 20) == 0 else format_bytes(n_bytes)
        return format_seconds(float(self.value)) if self.takes == "seconds" else self.value


class Configuration(NamedTuple):
    """The options set for a URL (without credentials), and the configuration files that were looked at.

    >>> found = ar.configuration("root://eos.example.org//store/f.root", timeout="20 s")
    >>> {one.name: one.value for one in found.options if one.origin != "default"}
    {'timeout': '20', 'credentials_for': 'root://eos.example.org:1094'}
    """

    url: str
    files: list[str]
    options: list[Option]
    #: Variables of other tools that are set and count where no option says otherwise, without their values.
    variables: list[str]

    def _repr_html_(self) -> str:
        from arrowroot._render import html_table

        rows = [["option", "value", "set by", "meaning"]]
        rows += [[one.name, one.text, one.origin, one.meaning] for one in self.options]
        return html_table(rows, caption=self.url)


@takes(StorageOptions.__annotations__, unlisted=StorageOptions.__annotations__)
def configuration(url: str = "", **options: Unpack[StorageOptions]) -> Configuration:
    """Return the options in force for a URL, and where each comes from: what ``open`` would use.

    url: of a file; "" for the options that hold for all.

    Nothing is opened. Raises: InvalidRequestError, StorageError as ``open``.

        >>> [one.value for one in ar.configuration(retries=2).options if one.name == "retries"]
        ['2']
    """
    urls, settings = resolve([url] if url else [], options)
    return Configuration(
        _native.redacted(urls[0]) if urls else "",
        files(),
        in_force(settings),
        [name for name in SHARED_VARIABLES if os.environ.get(name)],
    )


def redacted(url: str) -> str:
    """Return a URL without the credentials in it, to be shown."""
    return _native.redacted(url)


@cache
def names() -> tuple[str, ...]:
    """Return the names of all options, in the order of the documentation."""
    return tuple(name for name, *_ in _native.options())


def storage_options(given: Mapping[str, Any]) -> StorageOptions:
    """Return the keyword arguments that are options of the storage."""
    return cast("StorageOptions", {name: value for name, value in given.items() if name in names()})


def secret_names() -> set[str]:
    """Return the names of options whose values are never shown."""
    return {name for name, _, _, is_secret in _native.options() if is_secret}


def resolve(urls: Sequence[str], arguments: Mapping[str, Any]) -> tuple[list[str], list[Setting]]:
    """Return the URLs of a file's replicas without our options in them, and what is set for them.

    A person typed these URLs: their origins are among those that may see credentials. What data name goes through
    :func:`resolve_named`.

    Raises: InvalidRequestError for a name that is no option, with the nearest ones; StorageError for a
    configuration file that cannot be read.
    """
    return Surroundings(arguments).resolve(urls)


class Surroundings:
    """The options around files, looked up once for all of them: when the first one is resolved."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """Take the arguments of the call."""
        self._arguments = arguments
        #: Options of the arguments, and of the environment; and the configuration files. None: nobody has looked.
        self._found: tuple[list[Sourced], list[Sourced], list[str]] | None = None

    def _looked_up(self) -> tuple[list[Sourced], list[Sourced], list[str]]:
        if self._found is None:
            known = names()
            arguments = list(_of_arguments(self._arguments, known))
            self._found = arguments, list(_of_environment(known)), files()
        return self._found

    def resolve(self, urls: Sequence[str]) -> tuple[list[str], list[Setting]]:
        """Return and raise as :func:`resolve`."""
        known = names()
        of_arguments, of_environment, configuration_files = self._looked_up()
        found: dict[str, Setting] = {}

        def add(name: str, text: str, origin: str) -> None:
            found.setdefault(name, Setting(name, _as_path(text) if name in _paths() else text, origin))

        for argument in of_arguments:
            add(*argument)
        plain = []
        for url in urls:
            if not url:
                raise InvalidRequestError("expected a path or URL of a file, got an empty text")
            bare, options = split_options(url)
            plain.append(bare)
            for name, text in options:
                _check_name(name, known, "URL", "arrowroot.")
                if sum(name == other for other, _ in options) > 1:
                    raise InvalidRequestError(f"arrowroot.{name} stands in the URL more than once")
                add(name, text, "URL")
        for variable in of_environment:
            add(*variable)
        for path in configuration_files:
            for name, text, origin in _of_file(path, plain[0] if plain else "", known):
                add(name, text, origin)
        typed = dict.fromkeys(place for url in plain if (place := _native.origin(url)))
        if typed:
            found["credentials_for"] = _with_origins(found.get("credentials_for"), typed, "URL")
        return plain, [found[name] for name in known if name in found]


def resolve_named(url: str, named_by: str, settings: Iterable[Setting]) -> list[Setting]:
    """Return what is set for a URL that a file names, which may have been written by anybody.

    ``named_by``: that file. ``settings``: those by which it was opened, or :func:`arguments_alone`.

    The URL sets no options. Its origin sees credentials only if it is among those of ``credentials_for``, to which
    ``resolve`` has added what was typed; or if a table ``[for."GLOB"]`` of a configuration file names its host and sets
    some credentials, which are then the first to be taken.

    Raises: InvalidRequestError for a local file that a remote one names.
    """
    _native.check_named(url, named_by)
    known = names()
    # Settings that the files make for another URL do not hold here, but who may see credentials does.
    of_files = tuple(files())
    kept = [s for s in settings if s.name == "credentials_for" or not s.origin.startswith(of_files)]
    found = {setting.name: setting for setting in kept}
    origin = _native.origin(url)
    # The URL as the store understands it: no other host must look like the one of a table.
    plain = url if origin is None else f"{origin}/{url.partition('://')[2].partition('/')[2]}"
    own: dict[str, Setting] = {}
    for path in of_files:
        for name, text, where in _of_file(path, plain, known):
            setting = Setting(name, _as_path(text) if name in _paths() else text, where)
            is_for_host = name in _CREDENTIALS and _names_a_host(where)
            (own if is_for_host else found).setdefault(name, setting)
    if own and origin is not None:
        found = {name: setting for name, setting in found.items() if name not in _CREDENTIALS} | own
        where = next(iter(own.values())).origin
        found["credentials_for"] = _with_origins(found.get("credentials_for"), [origin], where)
    return [found[name] for name in known if name in found]


def arguments_alone(arguments: Mapping[str, Any]) -> list[Setting]:
    """Return what arguments and the environment set where no URL was typed."""
    known = names()
    found: dict[str, Setting] = {}
    for name, text, origin in [*_of_arguments(arguments, known), *_of_environment(known)]:
        found.setdefault(name, Setting(name, _as_path(text) if name in _paths() else text, origin))
    return list(found.values())


def _with_origins(before: Setting | None, origins: Iterable[str], where: str) -> Setting:
    words = [] if before is None else [before.text]
    return Setting("credentials_for", ",".join([*words, *origins]), before.origin if before else where)


def _names_a_host(where: str) -> bool:
    """Return whether a table is for URLs of some hosts: its glob is "SCHEME://HOST/..." with letters in the host."""
    import re

    pattern = where.partition('[for."')[2]
    host, slash, _ = pattern.partition("://")[2].partition("/")
    without_port = re.sub(r":[^:\]]*$", "", host)
    return bool(slash) and any(character.isalnum() for character in without_port)


def _of_arguments(arguments: Mapping[str, Any], known: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    for name, value in arguments.items():
        _check_name(name, known, "argument")
        if value is not None:
            yield name, _text(name, value, "argument"), "argument"


def in_force(settings: Sequence[Setting]) -> list[Option]:
    """Return every option with its value and where that comes from.

    Raises: InvalidRequestError if an option does not take what it is set to.
    """
    by_name = {setting.name: setting for setting in settings}
    values = dict(_native.check_options(settings))
    return [
        Option(
            name,
            values[name],
            by_name[name].origin if name in by_name else "default",
            takes,
            meaning,
            is_secret,
        )
        for name, takes, meaning, is_secret in _native.options()
    ]


def files() -> list[str]:
    """Return the configuration files that are there, the one that wins first."""
    # With os.path: pathlib would cost more than the look-up.
    named = os.environ.get(_PREFIX + "CONFIG")
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")  # noqa: PTH111, PTH118 - see above
    usual = [os.path.join(home, "arrowroot", "config.toml"), "/etc/arrowroot/config.toml"]  # noqa: PTH118 - see above
    # A file that was named must be there.
    return ([named] if named else []) + [path for path in usual if os.path.exists(path)]  # noqa: PTH110 - see above


def _check_name(name: str, known: Sequence[str], origin: str, prefix: str = "") -> None:
    if name in known:
        return
    close = nearest(name.replace("-", "_"), known)
    hint = (
        f"; did you mean {' or '.join(repr(prefix + other) for other in close)}?"
        if close
        else f"; there are {', '.join(known)}"
    )
    raise InvalidRequestError(f"{origin}: there is no option {prefix + name!r}{hint}")


def _text(name: str, value: Any, origin: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError:
            raise InvalidRequestError(f"{name} ({origin}): {shown(value)} is too large") from None
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if name == "credentials_for" and isinstance(value, list | tuple | set | frozenset):
        return ",".join(_text(name, one, origin) for one in value if one)
    raise InvalidRequestError(f"{name} ({origin}): expected text or a number, got a {type(value).__name__}")


@cache
def _paths() -> frozenset[str]:
    """Return the names of the options that are paths."""
    return frozenset(
        name for name, takes, *_ in _native.options() if takes.startswith(("a file", "a directory"))
    )


def _as_path(text: str) -> str:
    """Return a path with a home directory in the place of ``~``, which no shell has replaced here."""
    return os.path.expanduser(text) if text.startswith("~") else text  # noqa: PTH111 - text in, text out


def _with_variables(text: str, name: str, origin: str) -> str:
    """Return a path of a file with the values of ``$VARIABLE`` and ``${VARIABLE}`` in it."""
    found = os.path.expandvars(text)
    if "$" in found:
        raise InvalidRequestError(f"{name} ({origin}): {text!r} names a variable that is not set")
    return found


def _of_environment(known: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    for variable in [name for name in os.environ if name.startswith(_PREFIX)]:
        rest = variable[len(_PREFIX) :]
        name = rest.lower()
        if name in known and rest.isupper():
            # An empty variable counts as not set.
            if text := os.environ.get(variable):
                yield name, text, f"environment {variable}"
        # A variable with our prefix may be somebody else's; one that looks like an option's is a slip.
        elif rest not in _OTHER_VARIABLES and (close := nearest(name, known)):
            raise InvalidRequestError(
                f"environment: {variable} is no option; did you mean {_PREFIX}{close[0].upper()}?"
            )


def _of_file(path: str, url: str, known: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    """Return the options of a file that hold for ``url``: those of ``[for."GLOB"]`` first, the last table first."""
    content = _load(path)
    tables = content.pop("for", {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidRequestError(f'{path}: expected tables [for."GLOB"], one for each kind of URL')
    chosen: list[tuple[str, dict[str, Any]]] = []
    for pattern, table in reversed(tables.items()):
        if _matches(url, pattern):
            chosen.append((f'{path} [for."{pattern}"]', table))
        else:
            # A misspelt option is an error, too, in a table that is not for this URL.
            for name in table:
                _check_name(name, known, f'{path} [for."{pattern}"]')
    chosen.append((path, content))
    for origin, table in chosen:
        for name, value in table.items():
            _check_name(name, known, origin)
            text = _text(name, value, origin)
            yield name, _with_variables(text, name, origin) if name in _paths() else text, origin


#: The usual ports, which need not be named.
_USUAL_PORTS = {
    "http": "80",
    "https": "443",
    "root": "1094",
    "roots": "1094",
    "xroot": "1094",
    "xroots": "1094",
}


def _divided(url: str) -> tuple[str, str]:
    """Return scheme and authority of a URL, and the rest. Without an authority all is the rest."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return "", url
    if scheme.lower() not in _SCHEMES_WITH_HOST:
        return scheme + separator, rest
    import re

    # All characters that may end an authority: what follows must not be taken for a part of it.
    end = re.search(r"[/?#\\]", rest)
    n_authority = end.start() if end else len(rest)
    return scheme + separator + rest[:n_authority], rest[n_authority:]


def _spellings(server: str) -> set[str]:
    """Return scheme and authority with and without a user, and with and without the usual port, in lower case."""
    scheme, _, authority = server.lower().partition("://")
    port = _USUAL_PORTS.get(scheme)
    if port is None:
        return {server.lower()}
    bare = authority.rpartition("@")[2]
    host = bare.removesuffix(f":{port}")
    has_port = ":" in bare.rpartition("]")[2]
    hosts = {authority, bare, host} | ({f"{host}:{port}"} if not has_port or host != bare else set())
    return {f"{scheme}://{one}" for one in hosts}


def _matches(url: str, pattern: str) -> bool:
    """Return whether a glob is that of a URL: of scheme and host without case (RFC 3986), of the path with it.

    The glob may leave out a user and the usual port, and have the port where the URL leaves it out.
    """
    import re

    server, path = _divided(url)
    # An address of IPv6 in brackets is no set of characters.
    pattern = re.sub(r"(://(?:[^/]*@)?)\[(?=[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])", r"\1[[]", pattern)
    scheme, separator, rest = pattern.partition("://")
    host, slash, of_path = rest.partition("/")
    if separator and slash and server.partition("://")[2]:
        # Settings for a host must not hold for another host with that name in its path.
        of_server = f"{scheme}://{host}".lower()
        return any(_is_like(one, of_server) for one in _spellings(server)) and _is_like(path, slash + of_path)
    return any(_matches_across(one, path, pattern) for one in _spellings(server))


def _is_like(text: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(text, pattern)


def _matches_across(server: str, path: str, pattern: str) -> bool:
    """Match a glob that does not say where the path begins: a star may cover that place, so each place is tried."""
    import re

    tokens = re.findall(r"\[!?\]?[^]]*\]|.", pattern, re.DOTALL)
    for index in range(len(tokens) + 1):
        is_star = tokens[index : index + 1] == ["*"]
        of_server = "".join(tokens[:index]).lower() + "*" * is_star
        if _is_like(server, of_server) and _is_like(path, "".join(tokens[index:])):
            return True
    return False


def _load(path: str) -> dict[str, Any]:
    from arrowroot._storage import toml

    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is a tenth of our import time
            content = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise StorageError(f"configuration file {path}: {error.strerror}") from error
    if len(content) > _MAX_FILE_BYTES:
        raise InvalidRequestError(f"configuration file {path}: more than {_MAX_FILE_BYTES:,} bytes")
    try:
        # The text itself is not shown: it may hold a token.
        return toml.parsed(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            f"configuration file {path}: no TOML: byte {error.start} is no UTF-8"
        ) from None
    except toml.TomlError as error:
        raise InvalidRequestError(f"configuration file {path}: {error}") from None


def document() -> str:
    """Return the table of options in ``docs/remote.md``."""
    lines = ["| option | takes | default | what |", "|---|---|---|---|"]
    for option in in_force([]):
        # If an option is not set, its meaning says what happens.
        default = "" if option.value is None else f"`{option.value}`"
        lines.append(f"| `{option.name}` | {option.takes} | {default} | {option.meaning} |")
    return "\n".join(lines) + "\n"
