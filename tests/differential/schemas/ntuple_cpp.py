"""The C++ of a schema of an RNTuple, for ROOT's interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import types as t
from .ntuple_types import statements

if TYPE_CHECKING:
    from .ntuple_generate import Field, Schema


def definitions(schema: Schema) -> str:
    """Its classes, and how they are filled."""
    lines = [f"namespace {schema.namespace} {{"]
    lines += [
        f"enum class {name} : {kind} {{ kA = -3, kB = 4, kC = 11 }};" for name, kind in schema.enumerations
    ]
    lines += [made.definition() for made in schema.classes]
    return "\n".join([*lines, "}"])


def description(schema: Schema, known: set[str]) -> str:
    """A function that tells ROOT of the sets and maps, but for those it knows."""
    lines = [f"namespace {schema.namespace} {{", "void describe() {", "  using namespace ROOT::Detail;"]
    kinds = [made.type for made in schema.fields]
    kinds += [member.type for made in schema.classes for member in made.members]
    for part in (part for kind in kinds for part in kind.walk()):
        if isinstance(part, t.Keys | t.Map) and part.cpp not in known:
            lines.append(
                f'  fuzz::describe_container<{part.cpp}, TCollectionProxyInfo::{part.proxy}>("{part.cpp}");'
            )
            known.add(part.cpp)
    return "\n".join([*lines, "}", "}"])


def writer(schema: Schema) -> str:
    """A function that writes the file."""
    lines = [f"namespace {schema.namespace} {{", "void write(const char *path) {"]
    lines += [f"  auto x{place} = new {made.type.cpp}();" for place, made in enumerate(schema.fields)]
    lines += [
        f"  fuzz::Draws d{place}{{{schema.value_seed(place)}ULL}};" for place, _ in enumerate(schema.fields)
    ]
    lines += ["  auto model = ROOT::RNTupleModel::CreateBare();", "  ROOT::RNTupleWriteOptions options;"]
    lines += [f"  options.{option};" for option in schema.options]
    for made in schema.fields:
        if not made.late:
            lines += [f"  {line}" for line in field(made, "model->AddField(std::move(field));")]
    for made in schema.projections:
        lines.append(
            f'  model->AddProjectedField(ROOT::RFieldBase::Create("{made.name}", "{made.cpp}").Unwrap(), '
            f'[](const std::string &) {{ return std::string("{schema.fields[made.of].name}"); }});'
        )
    lines += [
        '  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "N", path, options);',
        "  auto bound = [&](int entry) {",
        "    auto made = writer->GetModel().CreateBareEntry();",
    ]
    lines += [
        f'    if (entry >= {made.late}) made->BindRawPtr("{made.name}", x{place});'
        for place, made in enumerate(schema.fields)
    ]
    lines += ["    return made;", "  };", "  auto entry = bound(0);"]
    lines.append(f"  for (int i = 0; i <= {schema.n_entries}; i++) {{")
    for late in sorted({made.late for made in schema.fields} - {0}):
        lines += [
            f"    if (i == {late}) {{",
            "      entry.reset();",
            "      auto updater = writer->CreateModelUpdater();",
            "      updater->BeginUpdate();",
        ]
        for made in schema.fields:
            if made.late == late:
                lines += [f"      {line}" for line in field(made, "updater->AddField(std::move(field));")]
        lines += ["      updater->CommitUpdate();", "      entry = bound(i);", "    }"]
    lines.append(f"    if (i == {schema.n_entries}) break;")
    for place, made in enumerate(schema.fields):
        fill = f"fuzz::fill(*x{place}, d{place})"
        if isinstance(made.type, t.Class):
            fill = f"fill(*x{place}, d{place})"
        lines.append(f"    if (i >= {made.late}) {fill};")
    lines.append("    writer->Fill(*entry);")
    for after, is_group in schema.clusters.items():
        lines.append(f"    if (i == {after - 1}) writer->CommitCluster({str(is_group).lower()});")
    lines += ["  }", "}", "}"]
    return "\n".join(lines)


def field(made: Field, add: str) -> list[str]:
    """Makes a field and adds it."""
    return [
        "{",
        f'  auto field = ROOT::RFieldBase::Create("{made.name}", "{made.type.cpp}").Unwrap();',
        *(f"  {line}" for line in statements(made.type)),
        f"  {add}",
        "}",
    ]
