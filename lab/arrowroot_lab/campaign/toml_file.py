"""Opens TOML files: campaigns, and those of sites. What is at fault is told with its line and its key."""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import CampaignError
from arrowroot_lab.location import guarded
from arrowroot_lab.redaction import redacted

from .keys import Faults, TomlTable
from .places import lines_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1 << 20
MAX_NAME_CHARACTERS = 60
_MOST_BITS = 1024
_TOO_LARGE = f"a number has more than {_MOST_BITS} bits"

#: Tables and arrays that are in each other, and parts of a key, at most: the parser takes the square of these.
_MAX_DEPTH = 32
#: What is no structure: texts and comments.
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'|#[^\n]*",
    re.DOTALL,
)
_SIGN = re.compile(r"[\[\]{}\n,=.]")
_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def load(path: Path, what: str) -> tuple[str, Faults, TomlTable]:
    """Return the text of a file, a list for its faults, and its top table.

    what: the file for people, as "campaign".

    Raises: CampaignError if it cannot be read, or is not TOML.
    """
    text = _text(path, what)
    _check_depth(path, _TEXT.sub(lambda found: "\n" * found[0].count("\n"), text))
    try:
        values = guarded(tomllib.loads(text))
        lines = lines_of(text)
    except tomllib.TOMLDecodeError as error:
        match = _LINE.search(str(error))
        line = int(match[1]) if match else len(text.splitlines()) or 1
        raise CampaignError(
            path, line, "", f"this is not TOML: {_LINE.sub('', str(error)).strip()}"
        ) from None
    except RecursionError:
        raise CampaignError(path, None, "", "its values are nested too deeply") from None
    except ValueError:
        # Python reads no integer of thousands of digits.
        raise CampaignError(path, None, "", _TOO_LARGE) from None
    _check_numbers(path, values)
    faults = Faults(path, lines)
    return text, faults, TomlTable(faults, (), values)


def _check_depth(path: Path, structure: str) -> None:
    """Raise CampaignError for what is nested too deeply; ``structure``: a text without its texts and comments."""
    depth = n_parts = 0
    line = 1
    for sign in _SIGN.findall(structure):
        line += sign == "\n"
        depth = max(0, depth + (sign in "[{") - (sign in "]}"))
        n_parts = n_parts + 1 if sign == "." else 0
        if max(depth, n_parts) > _MAX_DEPTH:
            raise CampaignError(
                path,
                line,
                "",
                f"its tables, arrays or keys are nested too deeply, in more than {_MAX_DEPTH} levels",
            )


def _check_numbers(path: Path, value: Any) -> None:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise CampaignError(path, None, "", _TOO_LARGE)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_numbers(path, inner)


def campaign_called(name: str, beside: str = ".") -> Path | None:
    """Return the file of a campaign of that name, None if there is none. ``beside``: where it may be, too.

    Campaigns of a checkout are found from anywhere, others in the usual directory.
    """
    from pathlib import Path

    checkout = Path(__file__).parents[3] / "campaigns"
    every = (Path(directory) / f"{name}.toml" for directory in (beside, "campaigns", checkout))
    return next((one for one in every if one.is_file()), None)


def _other_campaigns(path: Path) -> str:
    """Return what to write for a campaign by its name alone, or which there are; "" if there are none."""
    from pathlib import Path

    if (meant := campaign_called(path.stem, str(path.parent))) is not None:
        return f": write {meant}"
    found = sorted(str(one) for one in Path("campaigns").glob("*.toml"))
    return f"; there are {', '.join(found)}" if found else ""


def _text(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        hint = _other_campaigns(path) if what == "campaign" and isinstance(error, FileNotFoundError) else ""
        raise CampaignError(path, None, "", f"it cannot be read: {error.strerror or error}{hint}") from None
    if len(content) > MAX_BYTES:
        raise CampaignError(path, None, "", f"a {what} has at most {MAX_BYTES >> 20} MiB; is this one?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise CampaignError(path, line, "", "this is not UTF-8") from None


def named_tables(table: TomlTable) -> list[tuple[str, TomlTable]]:
    """Return the tables in a table, with the names that a user gave them; names that would not do are faults."""
    found = []
    folded: dict[str, str] = {}
    for name in table.names():
        if problem := _name_problem(name):
            table.fault(name, problem)
        same = folded.setdefault(unicodedata.normalize("NFKC", name).casefold(), name)
        if same != name:
            table.fault(name, f"this name is hard to tell from {same!r}")
        found.append((name, table.table(name)))
    return found


def _name_problem(name: str) -> str | None:
    """Names are shown in tables, matched with globs, and parts of paths: what would not do there is refused."""
    if not name or name != name.strip() or len(name) > MAX_NAME_CHARACTERS:
        return f"a name has 1 to {MAX_NAME_CHARACTERS} characters, and no space around it"
    if name[0] in ".-":
        return "a name begins with neither a dot nor a dash"
    if redacted(name) != name:
        return "a name is shown everywhere: it holds no password, token or key"
    for character in name:
        if not (character.isalnum() or character in " .,+-_%=()"):
            return f"a name has letters, digits, spaces and .,+-_%=() but not {character!r}"
    return None
