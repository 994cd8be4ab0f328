"""Texts as people may see them: without users and passwords, tokens and keys.

What is hidden is found by its look, by the name before it, or by its value, which the environment or a URL has.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

T = TypeVar("T")

DOTS = "..."
#: A value that is shorter gives nothing away, and occurs by chance.
SHORTEST = 6

#: Ends of names whose values give access.
_STRONG = (
    r"token|pass(?:word|wd|code|[_\s-]?phrase)|pwd|secrets?|credentials?|creds?|authz|authorization|x-auth|"
    r"jwt|signature|cookie|session[_-]?id|"
    r"(?:access|secret|private|api|session|account|ssh)[_\s-]?key(?:[_-]?id)?"
)
_SHORT = "key|sig|pat|pass|pw|auth|oauth|tok"
_NAME = rf"[\w.%+-]*(?:{_STRONG})|(?:[\w.%+-]*[_.%+-])?(?:{_SHORT})"
#: As variables of an environment are written; and in quotes, as keys of objects.
_OF_VARIABLE = r"(?-i:[A-Z][A-Z0-9_]*_(?:KEY|PAT|PASS|AUTH|SIG))"
_OF_KEY = r"""\\?["'](?:[\w-]*[_-])?(?:pass|pw|auth|oauth)(?=\\?["'])"""
_WAY = "(?:bearer|basic|negotiate)"
#: What follows it in sentences.
_PROSE = r"(?:tokens?|auth\w*|access|realm|credentials?|scheme|is|was|not|no|or|and|with|for)\b"
#: What a rule hides: a text in quotes, which stay, what is in parentheses, or a word. What was hidden before stays so.
_VALUE = (
    r"""(?!(?:[bruf]{0,2}\\?["'])?\.\.\.)(?P<quote>[bruf]{0,2}(?P<mark>\\?["']))?"""
    r"""(?(quote)(?:(?!(?P=mark))(?:\\.|.))+|(?:\([^()]*\)?|[^\s"'<>&,][^\s"'<>&]*))"""
)
_OF_HEADER = r"""(?P<quote>\\?["'])?(?:=\\?"[^"\r\n]*"?|\\(?!["'])|[^"'\r\n\\])+"""
#: What looks like no word of a sentence.
_ODD = r"(?=\S*\d|\S{16}|\S+(?-i:[A-Z]))"
#: The value is in the next lines (YAML).
_BLOCK = r"(?:[|>][+-]?\s*\n\s*)?(?![|>][+-]?\s*\n)"
_SAID = rf"(?:{_STRONG})"
_RULES = (
    r"(?P<lead>)(?P<quote>)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    # JSON web tokens and macaroons, wherever they stand.
    r"(?P<lead>)(?P<quote>)\b(?:eyJ[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*)?|MDA[\w-]{40,}={0,2})",
    # All of such a header: its parts may be in quotes.
    rf"""(?<![\w.%+-])(?P<lead>(?:[\w-]*-)?(?:authorization|cookie)\\?["']?\s?:\s*){_OF_HEADER}""",
    # --password X, as an option and the word after it.
    rf"""(?P<lead>(?<![\w.-])--?(?:{_NAME})["']?(?:,\s*|\s+|\\\n\s*))(?!--?[a-z]{{2}}|-u){_VALUE}""",
    rf"""(?P<lead>(?<![\w.-])(?:-u|--(?:proxy-)?user)["']?[\s=,]+)(?=\S+:){_VALUE}""",
    rf"""(?P<lead>(?<![\w.-])-u)(?=[^\s"'=,:]+:){_VALUE}""",
    rf"""(?P<lead>\b(?:sshpass|mysql\w{{0,10}}|mariadb\w{{0,10}})\b[^|;\n]{{0,80}}?\s-p\s?){_VALUE}""",
    # password=X, "password": "X", X-Auth-Token: X. A dotted key before a colon is one of a campaign.
    rf"""(?<![\w.%+-])(?P<lead>(?:{_NAME})\\?["']?\s?(?:=>?|:=|->|→|%(?:25)*3D)\s?)(?!["']?{_WAY}\s){_VALUE}""",
    # After the name of a way to be let in, the next rule strikes out what follows.
    rf"""(?<![\w.%+-])(?P<lead>(?:[\w-]*(?:{_STRONG})|{_OF_VARIABLE}|{_OF_KEY})\\?["']?\s?:\s*{_BLOCK})(?!["']?{_WAY}\s){_VALUE}""",
    # A pair of a name and its value; <password>X</password>; a call with it, as HTTPBasicAuth('me', 'X').
    rf"""(?P<lead>\(\s*b?["'](?:{_NAME})["'],\s*)(?=b?["'][^"']*["']\s*\))(?!["']?{_WAY}\s){_VALUE}""",
    rf"""(?P<lead>\[\s*["'](?-i:[A-Z0-9_]*(?:TOKEN|PASSWORD|SECRET|_KEY))["'],\s*)(?=["'][^"']*["']\s*\]){_VALUE}""",
    rf"""(?P<lead><[\w:.-]*(?:{_STRONG})[^<>\n]*>)(?P<quote>)(?!\.\.\.)[^<]+""",
    rf"""(?P<lead>\b\w*(?:auth|{_STRONG})\()(?=[^()]*["'])(?P<quote>)(?!\.\.\.)[^()]+""",
    # netrc, prompts, sentences.
    rf"(?P<lead>\b(?:login|user)\s+\S{{1,200}}\s+(?:password|pass)\s+){_VALUE}",
    rf"""(?P<lead>\b(?:password|pass[_\s-]?phrase)\s+for\s+(?:["'][^"'\n]{{1,200}}["']|[^\n:"']{{1,200}}):\s*){_VALUE}""",
    rf"(?P<lead>\b{_SAID}\s+(?:is|was)\s?:?\s+){_ODD}{_VALUE}",
    rf"(?P<lead>\b(?:{_SAID}|oauth|digest)\s+)(?![/.~-])(?=\S*\d)(?=\S{{8}})(?=\S*[a-z])(?!\S*[=:]){_VALUE}",
    rf"(?P<lead>\b{_WAY}(?:\s+|%20|\+))(?!{_PROSE}){_VALUE}",
    rf"""(?<![\w.%+-])(?P<lead>{_WAY}\\?["'],\s*)(?=\\?["']){_VALUE}""",
    rf"""(?<![\w.%+-])(?P<lead>bearer\\?["']?\s?[:=]\s*)(?!{_PROSE}){_VALUE}""",
    rf"(?P<lead>\bbearer\s+tokens?(?:\s+(?:is|was))?[\s:=]\s*){_ODD}{_VALUE}",
)
#: Without one of these no rule applies: most texts are looked at once.
_SUSPICIOUS = re.compile(
    rf"[@=?#<]|eyJ|MDA|BEGIN |{_WAY}|-\w|%(?:25)*3d|%(?:25)*40|\uff20|{_STRONG}|{_SHORT}|digest",
    re.IGNORECASE,
)
_WORD = re.compile(r"""[^\s"'<>]+""")
#: What stands between a scheme and a host, or was typed for it.
_SEPARATOR = re.compile(r"//|[a-z0-9][:;,|]/", re.IGNORECASE)
#: Behind it, a user whose password has a slash: what stands where the port does is its beginning.
#: It may be a port all the same, behind a name with dots.
_SLASHED = re.compile(
    r"(?://|[a-z0-9][:;,|]/)[/.]*(?=[^/@:]+:)(?!\[|[^/@:]+:(?:\d*(?:\?|$)|//|:)|(?:[^/@:]*\.[^/@:]*|localhost):\d+[/#])"
)
#: A user whose password has spaces or quotes, or with another "@": what stands where the port does is none.
_SPACED = re.compile(
    r"""(?<=://)(?:(?!\[)[^\s/@:"'<>]+:(?!:|\d*(?:[\s/?#"'<>,;)]|$))(?:[^\s/@"'<>]*(?:%40|\uff20)|"""
    r"""[^@\s"'<>]{0,200}[ "'<>](?:(?!://)[^@\r\n]){0,200}@(?:[^\s"'<>]*@)?))+"""
)
#: A user whose password has spaces behind an "@": another one follows behind mere words.
_SPREAD = re.compile(
    r"""(?<=://)[^\s/@:"'<>]{1,200}:(?!\d*(?:[\s/?#"'<>,;)]|$))[^\s/"'<>@]{0,200}@[^\s/?#"'<>]{0,200}"""
    r"""[ "'](?:(?!//|[,;:.)\]}'"`>]\s)[^@\r\n]){0,200}@"""
)
_AT = r"(?:@|%(?:25)*40|\uff20)"
_HAS_AT = re.compile(_AT)
#: A user behind a scheme, or at the beginning of a place whose scheme is mistyped. Files have paths there.
_USER = re.compile(rf"((?<!file)[:;,.|]//[/.]*|^[^/]*//)[^/]*{_AT}")
#: What may stand before a user elsewhere.
_BEFORE_USER = re.compile(r"[=(,;|\[{\\]")
#: What ends a sentence, or a part of one, is not of the URL before it.
_ENDS = ",:;)]}"
#: Values of queries that are shown: where a database is.
_PLAIN = (
    "host",
    "port",
    "dbname",
    "user",
    "service",
    "sslmode",
    "sslkey",
    "sslcert",
    "sslrootcert",
    "passfile",
)
_OPTION = re.compile(rf"--?(?:{_NAME})", re.IGNORECASE)
_KEY = re.compile(
    rf"[\w.-]*(?:{_STRONG})|(?:[\w.-]*[_-])?(?:pass|pw|auth|oauth)|{_OF_VARIABLE}", re.IGNORECASE
)
#: In a pair, as variables of an environment are. Other lists have names in them.
_OF_PAIR = re.compile(r"[A-Z0-9_]*(?:TOKEN|PASSWORD|SECRET|_KEY)")
#: Programs that take a password behind -p.
_ASKING = re.compile(r"(?:.*/)?(?:sshpass|mysql\w*|mariadb\w*)")
_ACCESS = re.compile(rf"{_NAME}|x-(?:amz|goog)-.*|expires", re.IGNORECASE)
_VARIABLE = re.compile(
    r"TOKEN|PASS(?:WORD|WD|PHRASE)|SECRET|CREDENTIAL|AUTHZ|JWT|(?<!MON)KEY(?!BOARD|MAP)|"
    r"(?:(?<!BY)(?<!COM)PASS|(?<!^)(?<!^OLD)PWD|(?:^|_)(?:PAT|AUTH)|COOKIE)$",
    re.IGNORECASE,
)
#: Longer keys are no names.
_MOST_OF_A_KEY = 100
_PARTS = re.compile(r"""[\s/:@?&=#;,"'<>]+""")


def redacted(told: T, hidden: Collection[str] = ()) -> T:
    """Return a text, or plain values with texts in them, as people may see them. What is shown stays as it is.

    URLs, also mistyped ones, are without user and password, and without the values of their queries; so are values
    whose names say that they give access, and arguments after such an option.

    hidden: texts that are struck out wherever they stand.
    """
    return _redacted(told, sorted(hidden, key=len, reverse=True))  # type: ignore[no-any-return]


def secrets_of(environment: Mapping[str, str] = os.environ) -> set[str]:
    """Return values of variables whose names say that they are secret, and what URLs in others hide.

    Names of files that are there are none, and neither is what is too short.
    """
    found: set[str] = set()
    for name, value in environment.items():
        if _VARIABLE.search(name):
            is_path = value.startswith("/") and os.path.exists(value)  # noqa: PTH110 - it need not be a path
            found |= set() if is_path else {value, quote(value, safe="")}
        elif "@" in value or "=" in value:
            found |= hidden_between(value, redacted(value))
    return {one for one in found if len(one) >= SHORTEST}


def hidden_between(whole: str, shown: str) -> set[str]:
    """Return the words of a text that its shown form does not have, as they stand and decoded."""
    if whole == shown:
        return set()
    kept = set(_PARTS.split(shown))
    words = {word for word in _PARTS.split(whole) if word not in kept and not _KEY.fullmatch(word)}
    return {one for word in words for one in (word, unquote(word)) if len(one) >= SHORTEST}


def distinction_of(url: str) -> str:
    """Return what tells a URL from others: without what gives access, which is new each time."""
    place, mark, query = url.partition("?")
    pairs = (
        pair for pair in query.split("&") if "=" in pair and not _ACCESS.fullmatch(pair.partition("=")[0])
    )
    return redacted(place) + mark + "&".join(pairs)


def _redacted(told: Any, hidden: list[str]) -> Any:
    if isinstance(told, str):
        return _text(told, hidden)
    if isinstance(told, dict):
        return {
            _key(key, hidden): DOTS if _is_named_secret(key, value) else _redacted(value, hidden)
            for key, value in told.items()
        }
    if isinstance(told, list | tuple):
        shown = [_redacted(one, hidden) for one in told]
        for place, (option, value) in enumerate(pairwise(told), 1):
            if isinstance(option, str) and isinstance(value, str):
                is_asked = option == "-p" and place > 1 and _asks(told[place - 2])
                is_pair = len(told) == 2 and _OF_PAIR.fullmatch(option) is not None
                if is_asked or is_pair or _is_hidden_after(option, value):
                    shown[place] = DOTS
                elif value.startswith("-p") and value != "-p" and _asks(option):
                    shown[place] = f"-p{DOTS}"
        return type(told)(shown) if type(told) in (list, tuple) else shown
    return told


def _is_named_secret(key: Any, value: Any) -> bool:
    # Numbers under such names are counts.
    is_value = isinstance(value, str) and value != ""
    return is_value and isinstance(key, str) and len(key) < _MOST_OF_A_KEY and _names_secret(key)


@lru_cache(maxsize=4096)
def _names_secret(key: str) -> bool:
    return _KEY.fullmatch(key) is not None


def _key(key: Any, hidden: list[str]) -> Any:
    is_name = isinstance(key, str) and len(key) < _MOST_OF_A_KEY
    return key if is_name and not hidden and _is_plain(key) else _redacted(key, hidden)


@lru_cache(maxsize=4096)
def _is_plain(key: str) -> bool:
    """True if the key of an object is shown as it is, as nearly all are."""
    return _text(key, []) == key


def _is_hidden_after(option: str, value: str) -> bool:
    """True if an argument is the secret of the option before it."""
    if option in ("-u", "--user", "--proxy-user"):
        return ":" in value
    return (_OPTION.fullmatch(option) is not None and not value.startswith("--")) or option in (
        "Bearer",
        "Basic",
    )


def _asks(program: Any) -> bool:
    return isinstance(program, str) and _ASKING.fullmatch(program) is not None


def _text(text: str, hidden: Iterable[str]) -> str:
    for secret in hidden:
        text = text.replace(secret, DOTS)
    if not _SUSPICIOUS.search(text):
        return text
    text = _SPREAD.sub("", _SPACED.sub("", text))
    for rule in _rules():
        text = rule.sub(_struck, text)
    return _WORD.sub(lambda found: shown_place(found[0]), text)


@cache
def _rules() -> tuple[re.Pattern[str], ...]:
    """The rules, compiled at the first text that needs them: that takes longer than most commands."""
    return tuple(re.compile(rule, re.IGNORECASE | re.DOTALL) for rule in _RULES)


def _struck(found: re.Match[str]) -> str:
    return f"{found['lead']}{found['quote'] or ''}{DOTS}"


def shown_place(text: str) -> str:
    """Return one path or URL without user and password, and without what is in its query."""
    if _HAS_AT.search(text):
        last = text.rfind("@")
        slashed = _SLASHED.search(text)
        if slashed and slashed.end() < last:
            text = text[: slashed.end()] + text[last + 1 :]
        text = "/".join(map(_without_user, _USER.sub(r"\1", text).split("/")))
    if not _SEPARATOR.search(text):
        return text
    rest = text.rstrip(_ENDS)
    place, mark, query = rest.partition("?")
    if not mark:
        # Of a fragment nobody knows what it is; the names of files have one.
        place, mark, query = rest.partition("#") if "://" in rest and "=" in rest else (rest, "", "")
    if query in ("", DOTS):
        return text
    pairs = (pair.partition("=") for pair in re.split("[&#]", query))
    shown = (pair[0] + pair[1] + pair[2] if pair[0] in _PLAIN else _named(*pair) for pair in pairs)
    return place + mark + "&".join(shown) + text[len(rest) :]


def _without_user(part: str) -> str:
    """A part of a path without ``user:password@``, wherever it begins there."""
    before, at, host = part.rpartition("@")
    user, colon, _ = before.partition(":")
    if not (at and colon):
        return part
    marks = list(_BEFORE_USER.finditer(user))
    return user[: marks[-1].end() if marks else 0] + host


def _named(name: str, equals: str, value: str) -> str:
    return f"{name}={DOTS}" if equals and value.strip("=") and re.fullmatch(r"[\w.%-]+", name) else DOTS
