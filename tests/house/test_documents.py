"""The Python in README and guide runs as it stands, on files with the names it uses; the rest is up to date."""

import doctest
import re
import subprocess
import warnings
from pathlib import Path

import pytest

from arrowroot._cost import metrics
from arrowroot._storage import config
from campaigns.tables import parallel

REPOSITORY = Path(__file__).parents[2]
README = REPOSITORY / "README.md"
MEASURED = REPOSITORY / "docs" / "measured.md"
#: All Markdown that is committed.
DOCUMENTS = subprocess.run(
    ["git", "-C", str(REPOSITORY), "ls-files", "*.md"], capture_output=True, text=True, check=True
).stdout.splitlines()


def blocks(document, language):
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_front_page_of_the_binding_runs(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    page = REPOSITORY / "crates" / "python" / "src" / "lib.rs"
    text = re.sub(r"^//! ?", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    exec(compile(block, str(page), "exec"), {})  # noqa: S102 - the page is ours


@pytest.mark.usefixtures("files_of_the_documents")
def test_snippets_of_the_readme_run_and_read_the_right_columns(capsys):
    names = {}
    found = blocks(README, "python")
    assert len(found) >= 2
    for block in found:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(block, str(README), "exec"), names)  # noqa: S102 - the README is ours
    assert names["table"].column_names == ["Muon_pt", "nMuon"]
    assert names["table"].num_rows == 1010
    printed = capsys.readouterr().out
    assert "Muon_pt" in printed
    assert "count_star()" in printed


@pytest.mark.usefixtures("files_of_the_documents")
def test_the_guide_shows_what_its_code_prints(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    guide = REPOSITORY / "docs" / "guide.md"
    text = "\n".join(blocks(guide, "pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/guide.md", str(guide), 0)
    assert len(test.examples) > 20
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_the_table_of_metrics_is_that_of_the_code():
    expected = metrics.document()
    path = REPOSITORY / "docs" / "metrics.md"
    assert path.read_text(encoding="utf-8") == expected, (
        "python -c 'from arrowroot._cost import metrics; print(metrics.document(), end=\"\")' > docs/metrics.md"
    )


def test_the_table_of_options_is_that_of_the_engine():
    path = REPOSITORY / "docs" / "remote.md"
    table = re.search(
        r"<!-- options:begin -->\n(.*?)<!-- options:end -->", path.read_text(encoding="utf-8"), re.DOTALL
    )
    assert table[1] == config.document(), (
        "between the markers: python -c 'from arrowroot._storage import config; print(config.document(), end=\"\")'"
    )


def test_the_page_of_settings_has_all_variables():
    text = (REPOSITORY / "docs" / "settings.md").read_text(encoding="utf-8")
    ours = [f"ARROWROOT_{name}" for name in config._OTHER_VARIABLES]
    named = set(re.findall(r"`(\w+)`", text))
    assert {
        *ours,
        *(name for name in config.SHARED_VARIABLES if not name.endswith(("PROXY", "proxy"))),
    } <= named


@pytest.mark.parametrize(
    ("page", "name"),
    [
        (README, "bench"),
        (MEASURED, "bench"),
        (REPOSITORY / "docs" / "lab" / "adl.md", "adl"),
        (REPOSITORY / "docs" / "layouts.md", "figures"),
        (REPOSITORY / "docs" / "merging.md", "merging"),
        *((REPOSITORY / "docs" / "parquet.md", f"parquet-{part}") for part in ("sizes", "one", "all")),
        *((MEASURED, f"bench-{name}") for name in ("formats", "kinds", "remote", "servers", "tune", "write")),
        *((REPOSITORY / "docs" / "parallel.md", f"bench-parallel-{part}") for part in parallel.TABLES),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_bench_markers_are_there_once_and_in_order(page, name):
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    assert text.count(begin) == text.count(end) == 1
    assert text.index(begin) < text.index(end)


def headings(text):
    """What links to the headings of a document end with."""
    code = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", code.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_into_the_repository_lead_somewhere(document):
    path = REPOSITORY / document
    text = path.read_text(encoding="utf-8")
    dead = []
    for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        there = path.parent / target if target else path
        if not there.exists() or (heading and heading not in headings(there.read_text(encoding="utf-8"))):
            dead.append(f"{target}#{heading}")
    assert dead == []


def test_nobody_is_sent_to_a_package_whose_name_is_not_reserved():
    found = subprocess.run(
        [
            "git",
            "-C",
            str(REPOSITORY),
            "grep",
            "-nE",
            "pip install [\"']*arrowroot",
            "--",
            "*.md",
            "*.py",
            "*.toml",
        ],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    of_later = ("docs/releasing.md:", "tests/")
    assert [line for line in found if not line.startswith(of_later)] == []


def test_files_that_the_architecture_names_are_there():
    folders = [
        REPOSITORY / name for name in ("bench", "crates", "docs", "fuzz", "lab", "python", "tests", "tools")
    ]
    files = [path for folder in folders for path in folder.rglob("*.*")] + list(REPOSITORY.iterdir())
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/.-]+\.(?:rs|py|toml|md|sh))`", text))
    assert len(named) > 100
    assert [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)] == []


def test_code_is_unsafe_only_where_the_rules_say():
    rules = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rule = rules.partition("**Unsafe** only in")[2].partition("- **")[0]
    allowed = {path.name for path in map(Path, re.findall(r"`([^`]+)`", rule))}
    crates = REPOSITORY / "crates"
    found = {path for path in crates.glob("*/src/**/*.rs") if "expect(unsafe_code" in path.read_text("utf-8")}
    assert found
    assert {path for path in found if not allowed & {path.name, path.parent.name}} == set()
