"""What ROOT reads of projected fields, by each of its routes, and what it says that they are."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT

#: Asks an RNTupleReader for values of a type, each as text.
_VIEWS = """
template <typename T> std::string as_text(const T &value) {
   std::ostringstream out; out << std::hexfloat;
   if constexpr (std::is_floating_point_v<T>) out << (double)value;
   else if constexpr (std::is_arithmetic_v<T>) out << +value;
   else if constexpr (std::is_same_v<T, std::string>) out << value;
   else { out << '['; for (const auto &item : value) out << as_text(item) << ' '; out << ']'; }
   return out.str();
}
template <typename T> std::vector<std::string> read_view(const char *path, const char *field) {
   auto reader = ROOT::RNTupleReader::Open("Events", path);
   auto view = reader->GetView<T>(field);
   std::vector<std::string> found;
   for (auto entry : reader->GetEntryRange()) found.push_back(as_text(T(view(entry))));
   return found;
}
std::vector<std::string> read_cardinality(const char *path, const char *field) {
   auto reader = ROOT::RNTupleReader::Open("Events", path);
   auto view = reader->GetView<ROOT::RNTupleCardinality<std::uint32_t>>(field);
   std::vector<std::string> found;
   for (auto entry : reader->GetEntryRange()) found.push_back(std::to_string((std::uint32_t)view(entry)));
   return found;
}
"""


def views(path: str, fields: dict[str, str]) -> dict[str, list[str]]:
    """Read fields by RNTupleReader as the C++ type of each, "#" for lengths; values as text."""
    ROOT.gInterpreter.Declare(_VIEWS)
    found = {}
    for name, kind in fields.items():
        read = ROOT.read_cardinality if kind == "#" else ROOT.read_view[kind]
        found[name] = [str(text) for text in read(path, name)]
    return found


def lengths(path: str, names: list[str]) -> dict[str, list[int | None]]:
    """Read lengths that may be missing by RNTupleReader."""
    ROOT.gInterpreter.Declare("""
    std::vector<std::vector<std::uint32_t>> read_lengths(const char *path, const char *field) {
       auto reader = ROOT::RNTupleReader::Open("Events", path);
       auto view = reader->GetView<std::optional<ROOT::RNTupleCardinality<std::uint32_t>>>(field);
       std::vector<std::vector<std::uint32_t>> found;
       for (auto entry : reader->GetEntryRange()) {
          const auto &length = view(entry);
          found.emplace_back();
          if (length) found.back().push_back(*length);
       }
       return found;
    }
    """)
    return {name: [one[0] if len(one) else None for one in ROOT.read_lengths(path, name)] for name in names}


def frame(path: str, names: list[str]) -> dict[str, list[Any]]:
    """Read columns by RDataFrame."""
    found = ROOT.RDataFrame("Events", path).AsNumpy(names)
    return {name: [_plain(value) for value in found[name]] for name in names}


def _plain(value: Any) -> Any:
    if hasattr(value, "__len__") and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value.item() if hasattr(value, "item") else int(value) if isinstance(value, int) else value


def described(path: str) -> dict[str, Any]:
    """Say which fields are projected, from which, and how many columns and aliases there are."""
    reader = ROOT.RNTupleReader.Open("Events", path)
    descriptor = reader.GetDescriptor()
    found: dict[str, str] = {}
    for field in descriptor.GetTopLevelFields():
        if field.IsProjectedField():
            source = field.GetProjectionSourceId()
            found[str(field.GetFieldName())] = str(descriptor.GetQualifiedFieldName(source))
    titles = {
        str(one.GetFieldName()): str(one.GetFieldDescription()) for one in descriptor.GetTopLevelFields()
    }
    return {
        "projected": found,
        "titles": titles,
        "n_physical": int(descriptor.GetNPhysicalColumns()),
        "n_logical": int(descriptor.GetNLogicalColumns()),
    }


def types(path: str, tree: str) -> dict[str, tuple[str, str]]:
    """Return the types of the fields at the top, and the names under which these are used."""
    reader = ROOT.RNTupleReader.Open(tree, path)
    descriptor = reader.GetDescriptor()
    found = descriptor.GetTopLevelFields()
    return {str(one.GetFieldName()): (str(one.GetTypeName()), str(one.GetTypeAlias())) for one in found}


def write_types(path: str, projected: dict[str, tuple[str, dict[str, str]]]) -> None:
    """Write projected fields of types, each with what its parts show, as ROOT's model has them."""
    adding = "".join(
        'add("{}", "{}", {{{}}});'.format(
            name, kind, ",".join(f'{{"{part}", "{source}"}}' for part, source in sources.items())
        )
        for name, (kind, sources) in projected.items()
    )
    code = """
    void write_types(const char *path) {
       auto model = ROOT::RNTupleModel::Create();
       auto pairs = model->MakeField<std::vector<std::pair<int, float>>>("pairs");
       auto v = model->MakeField<std::vector<int>>("v");
       auto s = model->MakeField<std::set<int>>("s");
       auto m = model->MakeField<std::map<std::string, int>>("m");
       auto o = model->MakeField<std::optional<int>>("o");
       auto x = model->MakeField<float>("x");
       model->AddField(ROOT::RFieldBase::Create("d", "std::vector<Double32_t>").Unwrap());
       auto add = [&](const char *name, const char *type, std::map<std::string, std::string> sources) {
          auto mapping = [=](const std::string &one) { return sources.at(one); };
          model->AddProjectedField(ROOT::RFieldBase::Create(name, type).Unwrap(), mapping).ThrowOnError();
       };
       ADDING
       auto d = model->GetDefaultEntry().GetPtr<std::vector<double>>("d");
       auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "t", path);
       for (int i = 0; i < 5; ++i) {
          pairs->clear();
          for (int k = 0; k < i % 3; ++k) pairs->emplace_back(10 * i + k, 0.5f * k);
          v->assign(i % 2, i);
          s->insert(i);
          (*m)[std::to_string(i)] = i;
          if (i % 2) o->emplace(i); else o->reset();
          *x = 0.25f * i;
          d->assign(i % 3, 0.5 * i);
          writer->Fill();
       }
    }
    """
    ROOT.gInterpreter.Declare(code.replace("ADDING", adding))
    ROOT.write_types(path)


def merge(first: str, second: str, out: str) -> None:
    """Merge two files by ROOT's merger."""
    merger = ROOT.TFileMerger(False)
    merger.OutputFile(out, "RECREATE")
    for path in (first, second):
        assert merger.AddFile(path)
    assert merger.Merge()


def write_parts(path: str) -> None:
    """Write projected fields as ROOT's model has them: of a pair in a vector, its lengths, and a number."""
    ROOT.gInterpreter.Declare("""
    void write_projected(const char *path) {
       auto model = ROOT::RNTupleModel::Create();
       auto pairs = model->MakeField<std::vector<std::pair<int, float>>>("pairs");
       auto x = model->MakeField<float>("x");
       auto add = [&](const char *name, const char *type, std::map<std::string, std::string> sources) {
          auto mapping = [=](const std::string &one) { return sources.at(one); };
          model->AddProjectedField(ROOT::RFieldBase::Create(name, type).Unwrap(), mapping).ThrowOnError();
       };
       add("firsts", "std::vector<int>", {{"firsts", "pairs"}, {"firsts._0", "pairs._0._0"}});
       add("n", "ROOT::RNTupleCardinality<std::uint64_t>", {{"n", "pairs"}});
       add("y", "float", {{"y", "x"}});
       auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path);
       for (int i = 0; i < 5; ++i) {
          pairs->clear();
          for (int k = 0; k < i % 3; ++k) pairs->emplace_back(10 * i + k, 0.5f * k);
          *x = 0.25f * i;
          writer->Fill();
       }
    }
    """)
    ROOT.write_projected(path)
