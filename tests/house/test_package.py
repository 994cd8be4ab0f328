"""What is installed is what the sources say."""

import importlib.metadata
import importlib.util
import platform
import re
import stat
import sys
import zipfile
from pathlib import Path

import psutil
import pytest

import arrowroot

REPOSITORY = Path(__file__).parents[2]


def cargo_version():
    text = (REPOSITORY / "Cargo.toml").read_text(encoding="utf-8")
    package = text.partition("[workspace.package]")[2]
    return re.search(r'^version = "(.+)"$', package, re.MULTILINE)[1]


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_version_is_that_of_the_workspace():
    assert arrowroot.__version__ == cargo_version()
    assert importlib.metadata.version("arrowroot") == cargo_version()


def test_extension_is_optimised_and_abi3():
    from arrowroot import _native

    assert not _native.debug_build
    assert ".abi3." in Path(_native.__file__).name or sys.platform == "win32"


def test_package_is_typed():
    package = Path(arrowroot.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_native.pyi").is_file()


def test_stub_names_all_that_the_extension_has():
    from arrowroot import _native

    stub = (REPOSITORY / "python" / "arrowroot" / "_native.pyi").read_text(encoding="utf-8")
    declared = set(re.findall(r"^(?:class |def )?(\w+)[:(]", stub, re.MULTILINE))
    actual = {name for name in vars(_native) if not name.startswith("__")} | {"__version__"}
    assert actual == declared


def test_no_group_of_packages_has_the_name_that_maturin_installs_by_itself():
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    groups = text.partition("[dependency-groups]")[2].partition("[tool.")[0]
    assert re.search(r"^development = ", groups, re.MULTILINE)
    assert not re.search(r"^dev = ", groups, re.MULTILINE)


def test_changelog_has_a_heading_for_what_is_next():
    assert "## [Unreleased]" in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")


def test_tools_are_executable_or_python():
    for tool in (REPOSITORY / "tools").iterdir():
        if tool.suffix == ".sh":
            assert tool.stat().st_mode & stat.S_IXUSR, tool


class TestWheelCheck:
    """`make wheel` must not pass a wheel that lacks something."""

    CONTENT = (
        "arrowroot/__init__.py",
        "arrowroot/py.typed",
        "arrowroot/_native.pyi",
        "arrowroot/_native.abi3.so",
        "arrowroot-1.dist-info/licenses/LICENSE",
        "arrowroot-1.dist-info/entry_points.txt",
    )

    def wheel(self, folder, content, tag="cp310-abi3-linux_x86_64", extension=b""):
        path = folder / f"arrowroot-1-{tag}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name in content:
                archive.writestr(name, extension if name.endswith(".so") else "")
            archive.writestr("arrowroot-1.dist-info/RECORD", "".join(f"{name},,\n" for name in content))
            archive.writestr("arrowroot-1.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
        return path

    def test_complete_wheel_passes(self, tmp_path):
        load_tool("check_wheel").check_content(self.wheel(tmp_path, self.CONTENT))

    @pytest.mark.parametrize("missing", CONTENT)
    def test_missing_file_is_found(self, tmp_path, missing):
        wheel = self.wheel(tmp_path, [name for name in self.CONTENT if name != missing])
        with pytest.raises(SystemExit, match=re.escape(missing.rpartition("/")[2])):
            load_tool("check_wheel").check_content(wheel)

    def test_stray_file_is_found(self, tmp_path):
        with pytest.raises(SystemExit, match="stray"):
            load_tool("check_wheel").check_content(self.wheel(tmp_path, [*self.CONTENT, "tests/stray.py"]))

    def test_wheel_for_one_python_is_found(self, tmp_path):
        with pytest.raises(SystemExit, match="abi3"):
            load_tool("check_wheel").check_content(
                self.wheel(tmp_path, self.CONTENT, "cp311-cp311-linux_x86_64")
            )

    def test_large_wheel_is_found(self, tmp_path):
        wheel = self.wheel(tmp_path, self.CONTENT, extension=bytes(8_000_000))
        with pytest.raises(SystemExit, match=re.escape("8.0 MB, and 8 are the most")):
            load_tool("check_wheel").check_content(wheel)

    @pytest.mark.skipif(sys.platform != "linux", reason="manylinux is of Linux")
    @pytest.mark.parametrize(("library", "fits"), [(arrowroot._native, False), (psutil._psutil_linux, True)])
    @pytest.mark.parametrize("tag", ["manylinux_2_28", "linux"])
    def test_wheel_that_needs_a_newer_system_than_it_says_is_found(self, tmp_path, library, fits, tag):
        extension = Path(library.__file__).read_bytes()
        wheel = self.wheel(tmp_path, self.CONTENT, f"cp310-abi3-{tag}_{platform.machine()}", extension)
        audit = load_tool("check_wheel").audit
        if fits and tag != "linux":
            audit(wheel)
        else:
            with pytest.raises(SystemExit, match="auditwheel finds that it is of manylinux_2_"):
                audit(wheel)
