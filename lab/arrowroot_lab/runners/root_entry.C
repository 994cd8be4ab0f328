// TTree::GetEntry with the branches that are wanted switched on: every basket is read when its entry comes.
namespace arrowroot_lab {

struct EntryColumn {
  Digest& digest;
  explicit EntryColumn(Digest& d) : digest(d) {}
  virtual ~EntryColumn() = default;
  virtual void take() = 0;
};

template <class T>
struct LeafColumn : EntryColumn {
  TLeaf& leaf;
  bool is_array;
  LeafColumn(Digest& d, TLeaf& l, bool a) : EntryColumn(d), leaf(l), is_array(a) {}
  void take() override {
    auto values = static_cast<T*>(leaf.GetValuePointer());
    const int n = leaf.GetLen();
    for (int i = 0; i < n; i++) digest.add(values[i]);
    if (is_array) digest.end_list(n);
  }
};

template <class T>
struct VectorColumn : EntryColumn {
  std::vector<T>* vector = nullptr;
  VectorColumn(Digest& d, TBranch& branch) : EntryColumn(d) { branch.SetAddress(&vector); }
  void take() override {
    if constexpr (std::is_arithmetic_v<T>)
      digest.add_list(*vector);
    else
      for (auto& list : *vector) digest.add_list(list);
  }
};

template <class T>
std::unique_ptr<EntryColumn> entry_column(Kind kind, Digest& digest, TBranch& branch) {
  if (kind == Kind::kVector) return std::make_unique<VectorColumn<T>>(digest, branch);
  if (kind == Kind::kNested) return std::make_unique<VectorColumn<std::vector<T>>>(digest, branch);
  auto leaf = static_cast<TLeaf*>(branch.GetListOfLeaves()->At(0));
  return std::make_unique<LeafColumn<T>>(digest, *leaf, kind == Kind::kLeafArray);
}

bool read(Pass& pass, TTree& tree) {
  std::vector<Type> types;
  if (!pass.find(tree, types)) return false;
  tree.SetBranchStatus("*", false);
  std::vector<std::unique_ptr<EntryColumn>> columns;
  for (size_t i = 0; i < types.size(); i++) {
    const auto name = pass.found[i].c_str();
    auto branch = tree.GetBranch(name);
    tree.SetBranchStatus(name, true);
    if (auto count = static_cast<TLeaf*>(branch->GetListOfLeaves()->At(0))->GetLeafCount())
      tree.SetBranchStatus(count->GetBranch()->GetName(), true);
    with_type(types[i].item, [&](auto tag) {
      columns.push_back(entry_column<typename decltype(tag)::type>(types[i].kind, *pass.digests[i], *branch));
    });
  }
  pass.each([&](Long64_t entry) {
    if (tree.GetEntry(entry) <= 0) throw std::runtime_error("TTree::GetEntry: entry " + std::to_string(entry) + " cannot be read");
    for (auto& column : columns) column->take();
  });
  tree.ResetBranchAddresses();
  return true;
}

}  // namespace arrowroot_lab
