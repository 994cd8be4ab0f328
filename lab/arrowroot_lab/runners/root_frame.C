// RDataFrame: an action of our own for each column, all in one loop.
//
// Cling takes a third of a second for each type of an action: root_runner.py adds `take_as` with those that are there.
#include <ROOT/RDataFrame.hxx>
#include <ROOT/RVec.hxx>

namespace arrowroot_lab {

// Takes a column into its digest. With several threads each has its own, and the order is not known.
template <class T>
class TakeHelper : public ROOT::Detail::RDF::RActionImpl<TakeHelper<T>> {
 public:
  using Result_t = Digest;

  TakeHelper(Digest start, unsigned n_slots) : result_(std::make_shared<Digest>()), slots_(n_slots, start) {}
  TakeHelper(TakeHelper&&) = default;
  TakeHelper(const TakeHelper&) = delete;
  std::shared_ptr<Digest> GetResultPtr() const { return result_; }
  void InitTask(TTreeReader*, unsigned) {}
  void Initialize() {}
  void Exec(unsigned slot, const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      slots_[slot].add(value);
    } else if constexpr (std::is_arithmetic_v<typename T::value_type>) {
      slots_[slot].add_list(value);
    } else {
      for (auto& list : value) slots_[slot].add_list(list);
    }
  }
  void Finalize() {
    for (auto& slot : slots_) {
      result_->n += slot.n;
      result_->sum += slot.sum;
      result_->values_bytes += slot.values_bytes;
      result_->order = slot.order;
    }
  }
  std::string GetActionName() { return "Take"; }

 private:
  std::shared_ptr<Digest> result_;
  std::vector<Digest> slots_;
};

struct Frame {
  Pass& pass;
  ROOT::RDF::RNode node;
  unsigned n_slots;
  std::vector<ROOT::RDF::RResultPtr<Digest>> results;

  template <class T>
  void take(const std::string& name) {
    Digest start;
    start.is_whole = pass.wants_checksum;
    results.push_back(node.Book<T>(TakeHelper<T>(start, n_slots), {name}));
  }
};

void take_as(Frame& frame, const std::string& name, const std::string& type);

// names, types: of the columns, as the frame names them.
void read(Pass& pass, ROOT::RDF::RNode node, unsigned n_slots, const std::vector<std::string>& names,
          const std::vector<std::string>& types) {
  Frame frame{pass, node, n_slots, {}};
  for (size_t i = 0; i < names.size(); i++) take_as(frame, names[i], types[i]);
  auto count = node.Count();
  pass.n_entries = static_cast<Long64_t>(*count);
  pass.found = names;
  for (auto& result : frame.results) pass.digests.push_back(std::make_unique<Digest>(*result));
}

}  // namespace arrowroot_lab
