"""Files import each other in circles of at most four, of one folder: a newcomer can read the code in some order."""

import functools
import importlib.util
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LARGEST = 4

spec = importlib.util.spec_from_file_location("import_circles", REPOSITORY / "tools" / "import_circles.py")
import_circles = importlib.util.module_from_spec(spec)
spec.loader.exec_module(import_circles)

PLACES = [*sorted(path.parent.name for path in REPOSITORY.glob("crates/*/Cargo.toml")), "python/arrowroot"]


@functools.cache
def of_the_repository():
    """The imports of all places, read when the first test asks: each worker of pytest-xdist imports this file."""
    return import_circles.of_repository(REPOSITORY)


def test_all_places_are_looked_at():
    assert set(of_the_repository()) == set(PLACES)
    files = {file for imports in of_the_repository().values() for file in imports}
    assert set((REPOSITORY / "python" / "arrowroot").rglob("*.py")) <= files


@pytest.mark.parametrize("place", PLACES)
def test_circles_of_files_are_small_and_stay_in_a_folder(place):
    circles = import_circles.circles(of_the_repository()[place])
    wrong = [circle for circle in circles if len(circle) > LARGEST or not is_of_one_folder(circle)]
    text = "\n\n".join("\n".join(str(file.relative_to(REPOSITORY)) for file in circle) for circle in wrong)
    assert not wrong, f"these import each other, at most {LARGEST} of one folder may:\n{text}"


def is_of_one_folder(circle):
    """True if all stand in one folder. `foo.rs` stands in `foo`, too, as `foo/mod.rs` would."""
    folders = ({file.parent, file.with_suffix("")} for file in circle)
    return bool(set.intersection(*folders))


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def names(folder, imports):
    """What imports what, by path, of those that import something."""
    short = {file: file.relative_to(folder).with_suffix("").as_posix() for file in imports}
    return {
        short[file]: sorted(short[other] for other in others) for file, others in imports.items() if others
    }


class TestRust:
    def imports(self, folder, **files):
        write(folder, {f"{name.replace('__', '/')}.rs": text for name, text in files.items()})
        return names(folder, import_circles.of_crate(folder))

    def test_each_form_of_a_path_leads_to_the_file_that_defines_the_name(self, tmp_path):
        found = self.imports(
            tmp_path,
            lib="mod a; mod b; mod c; mod d; mod e;",
            a="use crate::e::{self, inner::{Deep, other as renamed}};\nfn f() { e::g() }",
            b="fn f(x: crate::a::Missing) -> bool { super::c::there() }",
            c="use std::e::Thing;\nuse crate::d;\npub fn there() { d::Kind::Of.x() }",
            d="pub(crate) enum Kind { Of }",
            e__mod="pub mod inner;\npub fn g() {}",
            e__inner="pub struct Deep; pub fn other() {}",
        )
        assert found == {"a": ["e/inner", "e/mod"], "b": ["a", "c"], "c": ["d"]}

    def test_a_name_that_is_handed_on_is_of_the_file_that_defines_it(self, tmp_path):
        found = self.imports(
            tmp_path,
            lib="mod face; mod glob; mod user; pub use face::{A, B, C};",
            user="use crate::{A, face::{B as Renamed, D}};",
            face__mod="mod a; mod b; pub use a::*; pub(crate) use b::{B, C, D}; fn f(_: C) {}",
            glob="use crate::face::*;",
            face__a="pub struct A;",
            face__b="use super::A; pub struct B; pub type C = B; pub type D = B;",
        )
        assert found == {
            "user": ["face/a", "face/b"],
            "glob": ["face/mod"],
            "face/mod": ["face/b"],
            "face/b": ["face/a"],
        }

    def test_tests_comments_and_strings_import_nothing(self, tmp_path):
        found = self.imports(
            tmp_path,
            lib="mod a; mod b; mod c;",
            a="""
            // use crate::b::B;
            /* crate::b::f() */
            const C: char = '"'; const TEXT: &str = "crate::b::f() \\" { "; const RAW: &str = r#"crate::b"::f"#;
            #[cfg(test)]
            pub(crate) fn made(a: [u8; 4]) { crate::b::f() }
            #[cfg(test)]
            #[path = "x.rs"]
            mod elsewhere;
            fn f<'a>(x: &'a str) { crate::c::f() }
            #[cfg(test)]
            mod tests { use crate::b::B; fn g() { if true { crate::b::f() } } }
            """,
            b="pub struct B; pub fn f() {}",
            c="pub fn f() {}",
        )
        assert found == {"a": ["c"]}

    def test_names_that_lead_in_a_circle_end(self, tmp_path):
        found = self.imports(
            tmp_path,
            lib="mod a; mod b;",
            a="pub use super::b::X; pub use super::b::*; pub use proptest::prelude::*;",
            b="pub use super::a::X; pub use super::a::*; fn f() { X::new(); Y::new() }",
        )
        assert found == {}


class TestPython:
    def imports(self, folder, **files):
        write(folder / "pack", {f"{name.replace('_of_', '/')}.py": text for name, text in files.items()})
        return names(folder / "pack", import_circles.of_package(folder / "pack"))

    def test_imports_count_in_functions_and_not_for_types(self, tmp_path):
        found = self.imports(
            tmp_path,
            __init__="",
            a="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.b import B\nelse:\n    import pack.c",
            b="def f():\n    from . import a\n    from .sub.d import D",
            c="import os\nfrom os import path",
            sub_of___init__="",
            sub_of_d="from ..c import C",
        )
        assert found == {"a": ["c"], "b": ["a", "sub/d"], "sub/d": ["c"]}

    def test_a_name_that_is_handed_on_is_of_the_file_that_defines_it(self, tmp_path):
        found = self.imports(
            tmp_path,
            __init__="from pack.sub import D\nfrom pack.a import A\nfrom pack.b import B\nB()",
            a="from pack import D, Other",
            b="",
            sub_of___init__="from pack.sub.d import D",
            sub_of_d="",
        )
        assert found == {"__init__": ["b"], "a": ["__init__", "sub/d"]}


def test_circles_are_found_whole_and_the_largest_first():
    arrows = {"a": "b", "b": "c", "c": "ad", "d": "e", "e": "d", "f": "af", "g": ""}
    imports = {Path(file): {Path(other) for other in others} for file, others in arrows.items()}
    assert import_circles.circles(imports) == [[Path("a"), Path("b"), Path("c")], [Path("d"), Path("e")]]
