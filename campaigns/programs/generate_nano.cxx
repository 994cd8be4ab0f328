// generate_nano DEFINITION N OUT COMPRESSION SEED
//
// A NanoAOD-like file of any size from committed data alone (reading/nano.json; bench/nano_schema.py made it): flat
// branches and counted arrays. Multiplicities and values are drawn from the distributions of a real file, each branch for
// itself. The transverse momenta of a collection are sorted. Floats keep the mantissa truncation of their branch, so that
// they compress as real data do.
#include <TFile.h>
#include <TTree.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "random.hxx"

// A table of frequent values with their counts, and points of the distribution of all others.
template <class T>
class Distribution {
 public:
  explicit Distribution(const nlohmann::json& told) : zero_bits_(told.value("zero_bits", 0)) {
    for (const auto& pair : told.at("values")) {
      if (pair[0].is_string())  // "nan"
        values_.push_back(static_cast<T>(std::nan("")));
      else
        values_.push_back(pair[0].get<T>());
      edges_.push_back((edges_.empty() ? 0 : edges_.back()) + pair[1].get<uint64_t>());
    }
    total_ = (edges_.empty() ? 0 : edges_.back()) + told.value("others", uint64_t(0));
    if (told.contains("quantiles")) quantiles_ = told["quantiles"].get<std::vector<double>>();
  }

  T operator()(Random& random) const {
    if (total_ == 0) return T();
    const uint64_t place = random.below(total_);
    const auto edge = std::upper_bound(edges_.begin(), edges_.end(), place);
    if (edge != edges_.end()) return values_[edge - edges_.begin()];
    const double position = random.uniform() * (quantiles_.size() - 1);
    const auto below = static_cast<size_t>(position);
    const double value = quantiles_[below] + (position - below) * (quantiles_[below + 1] - quantiles_[below]);
    if constexpr (std::is_same_v<T, float>) return truncated(static_cast<float>(value));
    return static_cast<T>(std::llround(value));
  }

 private:
  float truncated(float value) const {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= ~((1u << zero_bits_) - 1);
    std::memcpy(&value, &bits, sizeof bits);
    return value;
  }

  std::vector<T> values_;
  std::vector<uint64_t> edges_;
  std::vector<double> quantiles_;
  uint64_t total_ = 0;
  unsigned zero_bits_;
};

struct Entry {
  long number;
  Random* random;
};

struct Branch {
  std::string name, counter, code;
  int largest = 0;           // of a counter
  std::vector<char> buffer;  // what the tree's branch reads
  std::function<void(Branch&, const Entry&, int)> fill;
};

template <class T>
std::function<void(Branch&, const Entry&, int)> filler(const nlohmann::json& told, bool sorted) {
  return [draw = Distribution<T>(told), sorted](Branch& b, const Entry& entry, int n) {
    auto out = reinterpret_cast<T*>(b.buffer.data());
    for (int i = 0; i < n; i++) out[i] = draw(*entry.random);
    if (sorted) std::sort(out, out + n, std::greater<T>());
  };
}

static std::function<void(Branch&, const Entry&, int)> filler_of(const std::string& code, const nlohmann::json& told,
                                                                 bool sorted) {
  switch (code[0]) {
    case 'F': return filler<float>(told, sorted);
    case 'D': return filler<double>(told, sorted);
    case 'I': return filler<int32_t>(told, sorted);
    case 'i': return filler<uint32_t>(told, sorted);
    case 'B': return filler<int8_t>(told, sorted);
    case 'b': case 'O': return filler<uint8_t>(told, sorted);
    case 'S': return filler<int16_t>(told, sorted);
    case 's': return filler<uint16_t>(told, sorted);
    case 'L': return filler<int64_t>(told, sorted);
    case 'l': return filler<uint64_t>(told, sorted);
  }
  throw std::runtime_error("unknown type " + code);
}

// Numbers of events and of luminosity blocks grow, as in a real file.
template <class T, class F>
std::function<void(Branch&, const Entry&, int)> counted(F&& value) {
  return [value](Branch& b, const Entry& entry, int) {
    const T number = value(entry);
    std::memcpy(b.buffer.data(), &number, sizeof number);
  };
}

static std::vector<Branch> read_definition(const char* path) {
  const auto definition = nlohmann::json::parse(std::ifstream(path));
  std::vector<Branch> branches;
  std::map<std::string, int> largest;  // of each counter
  for (const auto& told : definition.at("branches")) {
    double most = 0;
    for (const auto& pair : told.at("values"))
      if (pair[0].is_number()) most = std::max(most, pair[0].get<double>());
    if (told.contains("quantiles")) most = std::max(most, told["quantiles"].back().get<double>());
    largest[told.at("name")] = static_cast<int>(std::min(most, 1e6));
  }
  for (const auto& told : definition.at("branches")) {
    Branch b;
    b.name = told.at("name"), b.code = told.at("type"), b.counter = told.value("counter", "");
    b.buffer.resize(8 * (b.counter.empty() ? 1 : largest.at(b.counter) + 1));
    const auto underscore = b.name.find('_');
    const bool sorted = !b.counter.empty() && underscore != std::string::npos && b.name.substr(underscore) == "_pt";
    if (b.name == "event")
      b.fill = counted<uint64_t>([](const Entry& e) { return 1000000 + e.number * 3 + e.random->below(3); });
    else if (b.name == "luminosityBlock")
      b.fill = counted<uint32_t>([](const Entry& e) { return 1 + e.number / 1000; });
    else
      b.fill = filler_of(b.code, told, sorted);
    branches.push_back(std::move(b));
  }
  return branches;
}

int main(int argc, char** argv) try {
  if (argc != 6) return std::fprintf(stderr, "usage: generate_nano DEFINITION N OUT COMPRESSION SEED\n"), 2;
  auto branches = read_definition(argv[1]);
  const long n = std::atol(argv[2]);
  const uint64_t seed = std::strtoull(argv[5], nullptr, 10);

  TFile target(argv[3], "RECREATE", "", std::atoi(argv[4]));
  auto tree = new TTree("Events", "Events");
  tree->SetAutoFlush(-30000000);
  std::map<std::string, Branch*> counters;
  for (auto& b : branches) {
    const std::string length = b.counter.empty() ? "" : "[" + b.counter + "]";
    tree->Branch(b.name.c_str(), b.buffer.data(), (b.name + length + "/" + b.code).c_str());
    if (!b.counter.empty()) counters[b.counter] = nullptr;
  }
  for (auto& b : branches)
    if (counters.count(b.name)) counters[b.name] = &b;
  for (long e = 0; e < n; e++) {
    Random random(seed, e);
    const Entry entry{e, &random};
    for (auto& [name, counter] : counters) counter->fill(*counter, entry, 1);
    for (auto& b : branches) {
      if (counters.count(b.name)) continue;
      int size = 1;
      if (!b.counter.empty()) std::memcpy(&size, counters[b.counter]->buffer.data(), sizeof size);
      b.fill(b, entry, size);
    }
    tree->Fill();
  }
  tree->Write();
  target.Close();
} catch (const std::exception& e) {
  return std::fprintf(stderr, "generate_nano: %s\n", e.what()), 1;
}
