"""Rooms of the laboratory name no engine, and nobody but the API and its command takes what is private to it."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from arrowroot_lab.campaign.providers import registered

REPOSITORY = Path(__file__).parents[2]
LABORATORY = REPOSITORY / "lab" / "arrowroot_lab"
#: The floor of engines and classics; and what a database of an older laboratory is brought up to date by.
MAY_NAME = ("runners/", "classics/", "store/migrations/versions/")
#: Parts of engines' names that are words of everybody's: a kind of workload, a program of Linux, what is read, and
#: an option of caches.
ORDINARY = {"program", "perf", "table", "prefetch"}
NAMES = {
    part
    for one in registered().engines.values()
    for part in (*one.name.split("-"), one.family.name)
    if part not in ORDINARY
}
NAMED = re.compile(rf"(?<![a-z0-9])({'|'.join(sorted(NAMES))})(?![a-z0-9])", re.IGNORECASE)
#: The house's own name: the laboratory's, its command, its variables, its file of a site.
OWN = re.compile(
    r"arrowroot[-_ ]lab|arrowroot_servers|ARROWROOT_[A-Z0-9_]+|arrowroot/site\.toml|arrowroot\.commands"
)
SCHEME = re.compile(r"\b[xX]?roots?://")
SCHEMES = {"roots", "xroot", "xroots", "http", "https", "s3", "dav", "davs"}
#: Directories of a machine, of which one has the name of an engine, too.
DIRECTORIES = {"bin", "etc", "usr"}


def schemes_of(tree: ast.AST) -> set[int]:
    """The constants that are schemes of URLs, or directories, as others of them stand in the same collection."""
    found = set()
    for node in ast.walk(tree):
        within = {ast.Dict: ("keys", "values")}.get(type(node), ("elts",) if hasattr(node, "elts") else ())
        for part in within:
            constants = [one for one in getattr(node, part) if isinstance(one, ast.Constant)]
            texts = {one.value for one in constants if isinstance(one.value, str)}
            if SCHEMES & texts or texts >= DIRECTORIES:
                found |= {id(one) for one in constants}
    return found


def named_in(text: str) -> list[str]:
    """The lines of a module that name an engine: in texts, docstrings among them, and in names of the code.

    ``root`` as a name in code is the top of a directory, and ``root://`` a scheme; comments may cite anybody.
    """
    tree = ast.parse(text)
    schemes = schemes_of(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in schemes:
            found += [
                (node.lineno, one[0]) for one in NAMED.finditer(SCHEME.sub("", OWN.sub("", node.value)))
            ]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string != "root" and not OWN.search(token.string):
            found += [(token.start[0], one[0]) for one in NAMED.finditer(token.string)]
    return [f"{line}: {name}" for line, name in sorted(found)]


def test_rooms_of_the_laboratory_name_no_engine():
    found = {
        room: named_in(path.read_text())
        for path in sorted(LABORATORY.rglob("*.py"))
        if not (room := path.relative_to(LABORATORY).as_posix()).startswith(MAY_NAME)
    }
    assert len(found) > 100
    assert not {room: lines for room, lines in found.items() if lines}, "register it: docs/lab/engines.md"


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("import uproot", 1),
        ("x = 'by ROOT'", 1),
        ("'''Reads as root-rdataframe does.'''", 2),
        ("root = Path(); f'arrowroot lab run {root}'", 0),
        ("{'http': 80, 'root': 1094}; x in ('root', 'xroot')", 0),
        ("'root://host//x.file'", 0),
        ("engine == 'root'", 1),
        ("['arrowroot', 'sample']", 1),
        ("xrootd, sslrootcert = 'xrootd', 'ARROWROOT_SITE'  # as ROOT does", 0),
    ],
)
def test_names_of_engines_are_found(text, n):
    assert len(named_in(text)) == n


def test_private_rooms_of_the_api_are_used_from_inside_alone():
    """Tests look into them; bench, the laboratory, campaigns and tools take what everybody may take."""
    private = re.compile(
        r"^\s*(?:from|import)\s+arrowroot\._\w+|import_module\(.arrowroot\._|-m arrowroot\._", re.MULTILINE
    )
    found = [
        f"{path.relative_to(REPOSITORY)}: {line.strip()}"
        for folder in ("bench", "campaigns", "docs", "fuzz", "lab", "tools")
        for path in sorted((REPOSITORY / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".sh") and "target" not in path.parts
        for line in private.findall(path.read_text(encoding="utf-8"))
    ]
    assert not found
