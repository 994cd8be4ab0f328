"""The words of ARCHITECTURE's glossary are used for nothing but what it says: second meanings are refused."""

import functools
import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).parents[2]
#: All rules hold here.
PRODUCT = ("crates", "fuzz", "python")
#: Here no type has an empty name.
OTHERS = ("lab", "tests", "tools")


class Rule(NamedTuple):
    """The meanings that a word has not: patterns that no code and no comment matches, and who may name a type by it."""

    code: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    #: Where a type may have this name: beginnings of paths.
    types: tuple[str, ...] = ()


_INTEGER = r"&?(?:mut )?\[?(?:Vec<|Option<|list\[)?&?(?:usize|u32|u64|i64|int)\b"

RULES = {
    "place": Rule(
        code=(
            rf"\bplaces?: {_INTEGER}",
            r"\[[*&]?places?\]",
            r"\.\.places?\b(?!\.)|\bplaces?\.\.",
            r"\bfor \(?places?, .*\benumerate\(",
            r"\bfor places? in (?:range\(|\(?0\.\.)",
            r"\.\.[^|;]*\)\.\w+\(\|&?places?\|",
        ),
        comments=(
            r"\bplaces? in (?:the|this|its) (?:list|array|slice)\b",
            r"\bby (?:its|their) places?\b",
        ),
        types=("crates/format/src/error.rs", "python/arrowroot/_expressions/nodes.py"),
    ),
    "piece": Rule(
        comments=(r"\bpieces? of (?:work|a frame|an answer|a URL)\b",),
        types=("crates/engine/src/scan/plan.rs", "crates/engine/examples/write_limit.rs"),
    ),
    "entry": Rule(
        comments=(r"\bentr(?:y|ies) (?:of|in) (?:a|the|this|its) (?:registry|catalogue|cache|map)\b",)
    ),
    "table": Rule(
        types=("crates/engine/src/table.rs", "crates/python/src/table.rs", "python/arrowroot/_native.pyi")
    ),
    "context": Rule(
        types=("crates/writer/src/contexts",),
        code=(r"\b_?context: &(?!Arc<FillContext>)",),
        comments=(r"\bcontexts? of (?:an error|a scan|a request)\b",),
    ),
    "window": Rule(
        types=(
            "crates/storage/src/windows.rs",
            "crates/engine/src/scan/pass.rs",
            "python/arrowroot/_cost/plan.py",
        )
    ),
    "span": Rule(types=("crates/storage/src/coalesce.rs",)),
    "source": Rule(types=("crates/storage/src/source.rs", "python/arrowroot/_passes/source.py")),
    "sink": Rule(types=("crates/storage/src/sink.rs",)),
    "ledger": Rule(types=("crates/storage/src/account.rs",)),
    "chain": Rule(types=("python/arrowroot/_api/chain.py",)),
    "batch": Rule(types=("crates/python/src/scan.rs", "python/arrowroot/_native.pyi")),
}
#: Names of types that do not say of what.
EMPTY_NAMES = ("State", "Target", "Found", "Pieces", "Held", "Kept")

_NOT_CODE = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|r(?P<hashes>\#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^\\'])'""",
    re.DOTALL,
)
_TYPE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|class) _?(?:Py)?(\w+)", re.MULTILINE)


def of_rust(text: str) -> tuple[str, str]:
    """Return the code of a file and its comments, each with blank lines for the rest."""
    comments = [" " if char != "\n" else char for char in text]
    for found in _NOT_CODE.finditer(text):
        if found["comment"] is not None:
            comments[found.start() : found.end()] = found[0]
    return _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text), "".join(comments)


def of_python(text: str) -> tuple[str, str]:
    """As :func:`of_rust`; strings that stand alone are documentation."""
    code, comments = (text.splitlines(keepends=True) for _ in range(2))
    comments = [re.sub(r"[^\n]", " ", line) for line in comments]
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_text = token.type == tokenize.STRING
        if token.type == tokenize.COMMENT or is_text:
            lines = token.string.splitlines(keepends=True)
            for number, part in enumerate(lines, token.start[0] - 1):
                at = token.start[1] if number == token.start[0] - 1 else 0
                for kept, blank in ((comments, False), (code, True)):
                    if blank or not is_text or before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                        new = re.sub(r"[^\n]", " ", part) if blank else part
                        kept[number] = kept[number][:at] + new + kept[number][at + len(part) :]
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type
    return "".join(code), "".join(comments)


@functools.cache
def product() -> list[tuple[str, str, str]]:
    """Return path, code and comments of each file of the product."""
    split = {".rs": of_rust, ".py": of_python, ".pyi": of_python}
    return [
        (str(path.relative_to(REPOSITORY)), *split[path.suffix](path.read_text(encoding="utf-8")))
        for room in PRODUCT
        for path in sorted((REPOSITORY / room).rglob("*"))
        if path.suffix in split and "target" not in path.parts
    ]


def matches(path: str, text: str, patterns: tuple[str, ...]) -> list[str]:
    """Return the lines of a text that match one of the patterns, with the path and their numbers."""
    wrong = re.compile("|".join(patterns) or "(?!)")
    return [
        f"{path}:{n}: {line.strip()}" for n, line in enumerate(text.splitlines(), 1) if wrong.search(line)
    ]


@pytest.mark.parametrize("word", RULES)
def test_a_word_of_the_glossary_has_no_second_meaning(word):
    rule = RULES[word]
    found = [
        line
        for path, code, comments in product()
        for line in matches(path, code, rule.code) + matches(path, comments, rule.comments)
    ]
    assert not found, f"{word!r} is something else here (ARCHITECTURE.md, Words):\n" + "\n".join(found)


def test_types_are_called_by_words_of_the_glossary_where_they_are_meant_and_by_empty_ones_nowhere():
    wrong = []
    for path, name in ((path, name) for path, code, _ in product() for name in _TYPE.findall(code)):
        rule = RULES.get(name.removesuffix("s").lower())
        if rule is not None and not path.startswith(rule.types):
            wrong.append(f"{path}: {name}")
    texts = [(path, code) for path, code, _ in product()]
    texts += [
        (path, path.read_text(encoding="utf-8"))
        for room in OTHERS
        for path in (REPOSITORY / room).rglob("*.py")
    ]
    wrong += [
        f"{path}: {name}" for path, text in texts for name in _TYPE.findall(text) if name in EMPTY_NAMES
    ]
    assert not wrong, "say of what: " + ", ".join(wrong)


def test_the_glossary_says_what_each_word_with_rules_is_not():
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:\*\*[\w-]+\*\*(?:, )?)+) \|[^|]+\|([^|]*)\|$", text, re.MULTILINE)
    said = {word for words, not_meant in rows if not_meant.strip() for word in re.findall(r"[\w-]+", words)}
    assert set(RULES) <= said


@pytest.mark.parametrize(
    ("word", "split", "text"),
    [
        ("place", of_rust, "fn f(place: usize) {}"),
        ("place", of_rust, "/// The column, by its place."),
        ("place", of_python, "for place, name in enumerate(names):\n    pass"),
        ("place", of_python, "def f(place: int) -> None: ..."),
        ("piece", of_python, 'def f():\n    """Do a piece of work."""'),
        ("context", of_rust, "fn f(context: &Scan) {}"),
    ],
)
def test_a_second_meaning_is_seen_in_code_and_in_comments_and_not_in_strings(word, split, text):
    code, comments = split(text)
    assert matches("f", code, RULES[word].code) + matches("f", comments, RULES[word].comments)
    code, comments = split(f'x = "{text.splitlines()[0].replace(chr(34), "")}";\n'.replace("x =", "x =  "))
    assert not matches("f", code, RULES[word].code) + matches("f", comments, RULES[word].comments)
