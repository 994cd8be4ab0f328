"""The recipes of a release are well formed, and say of the project what the project says."""

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import rattler_build

import arrowroot
from tests.house.test_package import load_tool

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
WORKFLOW = REPOSITORY / ".github" / "workflows" / "release.yml"
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def check(*command, cwd=REPOSITORY):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_github_would_take_the_workflow():
    programs = Path(sys.executable).parent
    check(programs / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW)
    check(programs / "zizmor", "--offline", "--quiet", WORKFLOW)


def test_the_workflow_calls_what_there_is():
    text, makefile = (
        WORKFLOW.read_text(encoding="utf-8"),
        (REPOSITORY / "Makefile").read_text(encoding="utf-8"),
    )
    targets = re.findall(r"run: make (\w+)", text)
    assert targets == ["wheel", "sdist"]
    assert all(re.search(rf"^{target}: ", makefile, re.MULTILINE) for target in targets)
    tools = re.findall(r"tools/\w+\.py", text)
    assert tools
    assert all((REPOSITORY / tool).is_file() for tool in tools)


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "osx-64", "osx-arm64"])
def test_the_recipe_renders_and_needs_what_the_package_needs(platform):
    recipe = rattler_build.Stage0Recipe.from_file(REPOSITORY / "packaging" / "conda" / "recipe.yaml")
    asked = rattler_build.RenderConfig(
        rattler_build.PlatformConfig(target_platform=platform, build_platform="linux-64")
    )
    variants = {"python": ["3.10.*", "3.14.*"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"]}
    made = [one.recipe.to_dict() for one in recipe.render(rattler_build.VariantConfig(variants), asked)]
    project = PYPROJECT["project"]
    for old_or_new, rendered in zip(("3.10", "3.14"), made, strict=True):
        packages = [
            package.partition(";")[0]
            for package in project["dependencies"]
            if "python_version" not in package or old_or_new == "3.10"
        ]
        assert [one.replace(" ", "") for one in rendered["requirements"]["run"][1:]] == packages
        (maturin,) = (one for one in rendered["requirements"]["host"] if "maturin" in one)
        assert maturin.replace(" ", "") == PYPROJECT["dependency-groups"]["build"][0]
        assert rendered["about"]["summary"] == project["description"]
        assert rendered["about"]["license"] == project["license"]


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Return the tool for a copy of the files that have the version, with a changelog that has a release."""
    tool = load_tool("release_text")
    for name in tool.VERSIONS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    headings = [
        "[Unreleased]",
        f"[{arrowroot.__version__}] - 2027-01-31\n\n### Added\n\n- All.",
        "[0.0.1] - 2026-01-01",
    ]
    text = "# Changelog\n" + "".join(f"\n## {heading}\n" for heading in headings)
    (tmp_path / "CHANGELOG.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(tool, "REPOSITORY", tmp_path)
    return tool.main


def test_the_text_of_a_release_is_its_part_of_the_changelog(release, capsys):
    release(f"v{arrowroot.__version__}")
    assert capsys.readouterr().out == "### Added\n\n- All.\n"


@pytest.mark.parametrize("name", [*load_tool("release_text").VERSIONS, "CHANGELOG.md"])
def test_a_release_that_a_file_knows_nothing_of_is_none(release, tmp_path, name):
    file = tmp_path / name
    file.write_text(
        file.read_text(encoding="utf-8").replace(arrowroot.__version__, "9.9.9"), encoding="utf-8"
    )
    with pytest.raises(SystemExit, match=re.escape(name)):
        release(f"v{arrowroot.__version__}")


def test_the_sources_hold_what_builds_them(tmp_path):
    """The archive that `make sdist` makes: cargo finds all crates of the workspace in it, and their locked versions."""
    check(Path(sys.executable).parent / "maturin", "sdist", "--out", tmp_path)
    (archive,) = tmp_path.glob("arrowroot-*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
        packed.extractall(tmp_path, filter="data")
    assert {"LICENSE", "README.md", "python/arrowroot/py.typed", "python/arrowroot/_native.pyi"} <= names
    assert not [name for name in names if name.startswith(("tests", "lab", "docs")) or name.endswith(".so")]
    (manifest,) = tmp_path.glob("arrowroot-*/Cargo.toml")
    check("cargo", "metadata", "--locked", "--offline", "--format-version=1", "--manifest-path", manifest)


def test_no_page_and_no_message_has_people_install_a_name_that_is_not_reserved():
    """A name with an extra is of what is installed already: an index is not asked for it."""
    pattern = r"(pip|conda|mamba) install ['\"]?arrowroot([-_](lab|relay))?([^-_[a-z]|$)"
    pages = ("--", ":!tests", ":!CHANGELOG.md", ":!docs/releasing.md")
    command = ["git", "grep", "--extended-regexp", "--line-number", pattern, *pages]
    assert subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout == ""
