"""The C++ of a schema, for ROOT's interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import types as t

if TYPE_CHECKING:
    from .generate import Schema


def definitions(schema: Schema) -> str:
    """Its classes, and how they are filled."""
    lines = [f"namespace {schema.namespace} {{", "enum Kind { kA = -3, kB = 4, kC = 11 };"]
    lines += [made.definition() for made in schema.classes]
    return "\n".join([*lines, "}"])


def containers(schema: Schema) -> list[tuple[str, str]]:
    """Types of containers and the arguments of their proxies, inner ones first."""
    found: dict[str, str] = {}

    def visit(kind: t.Type) -> None:
        for part in kind.walk():
            if isinstance(part, t.Class):
                for base in part.bases:
                    visit(base)
                for member in part.members:
                    visit(member.type)
            elif part.proxy:
                found.setdefault(part.cpp, part.proxy)

    for branch in schema.branches:
        visit(branch.type)
    return list(found.items())


def description(schema: Schema, known: set[str]) -> str:
    """A function that tells ROOT of the containers, but for those it knows."""
    lines = [f"namespace {schema.namespace} {{", "void describe() {", "  using namespace ROOT::Detail;"]
    lines += [f'  fuzz::describe_class<{made.cpp}>("{made.cpp}");' for made in schema.classes]
    for cpp, proxy in containers(schema):
        if cpp not in known:
            lines.append(f'  fuzz::describe_container<{cpp}, TCollectionProxyInfo::{proxy}>("{cpp}");')
            if schema.namespace not in cpp:
                known.add(cpp)
    return "\n".join([*lines, "}", "}"])


def writer(schema: Schema) -> str:
    """A function that writes the file."""
    lines = [
        f"namespace {schema.namespace} {{",
        "void write(const char *path) {",
        f"  TVirtualStreamerInfo::SetStreamMemberWise({str(schema.is_member_wise).lower()});",
        f'  TFile file(path, "RECREATE", "", {schema.compression});',
        '  TTree tree("T", "");',
    ]
    if schema.offset_map:
        lines.append(
            "  ROOT::TIOFeatures features; features.Set(ROOT::Experimental::EIOFeatures::kGenerateOffsetMap); "
            "tree.SetIOFeatures(features);"
        )
    for i, branch in enumerate(schema.branches):
        lines += [
            f"  auto x{i} = new {branch.type.cpp}();",
            f'  tree.Branch("{branch.name}", &x{i}, {branch.basket_bytes}, {branch.split});',
            f"  fuzz::Draws d{i}{{{schema.value_seed(i)}ULL}};",
        ]
    lines.append(f"  for (int entry = 0; entry < {schema.n_entries}; entry++) {{")
    lines += [f"    fuzz::fill(*x{i}, d{i});" if not isinstance(b.type, t.Class) else f"    fill(*x{i}, d{i});"
              for i, b in enumerate(schema.branches)]  # fmt: skip
    lines += ["    tree.Fill();", "  }", "  tree.Write();", "}", "}"]
    return "\n".join(lines)
