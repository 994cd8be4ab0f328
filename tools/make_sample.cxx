// The compiled half of make_sample.py: fills the tree, because a call from Python for each value would take hours.
// Cling compiles it, with ROOT's headers, each time a sample is made.
#pragma cling optimize(3)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>
#include "TFile.h"
#include "TTree.h"

namespace arrowroot_sample {

struct Random { // xorshift64*: quick, and the same everywhere
  std::uint64_t state;
  std::uint32_t bits() {
    state ^= state >> 12; state ^= state << 25; state ^= state >> 27;
    return (state * 0x2545F4914F6CDD1DULL) >> 32;
  }
  float uniform() { return (bits() >> 8) * (1.0f / 16777216.0f); }
  int below(int n) { return (std::uint64_t(bits()) * n) >> 32; }
};

// NanoAOD keeps some 10 bits of the mantissa and leaves zeros for the compressor.
float keep_bits(float value, int bits) {
  std::uint32_t word; std::memcpy(&word, &value, 4);
  word &= ~((1u << (23 - bits)) - 1);
  std::memcpy(&value, &word, 4);
  return value;
}

struct Floats { std::vector<float> values; int shape; };
struct Integers { std::vector<int> values; int below; };
struct Flags { std::vector<char> values; int one_in; };

struct Collection {
  int counter = 0, most; float mean;
  std::vector<std::unique_ptr<Floats>> floats;
  std::vector<std::unique_ptr<Integers>> integers;
  std::vector<std::unique_ptr<Flags>> flags;

  Collection(TTree &tree, const std::string &name, int most_, float mean_, int n_floats, int n_integers, int n_flags)
    : most(most_), mean(mean_) {
    const std::string count = "n" + name, in = "[" + count + "]";
    tree.Branch(count.c_str(), &counter, (count + "/I").c_str());
    auto branch = [&](void *address, const std::string &leaf, const char *type) {
      const std::string full = name + "_" + leaf;
      tree.Branch(full.c_str(), address, (full + in + type).c_str());
    };
    const char *kinematics[] = {"pt", "eta", "phi", "mass"};
    for (int i = 0; i < 4 + n_floats; ++i) {
      floats.push_back(std::make_unique<Floats>(Floats{std::vector<float>(most), i < 3 ? i : 3 + i % 3}));
      branch(floats.back()->values.data(), i < 4 ? kinematics[i] : "float" + std::to_string(i - 4), "/F");
    }
    for (int i = 0; i < n_integers; ++i) {
      integers.push_back(std::make_unique<Integers>(Integers{std::vector<int>(most), 2 << (i % 6)}));
      branch(integers.back()->values.data(), "int" + std::to_string(i), "/I");
    }
    for (int i = 0; i < n_flags; ++i) {
      flags.push_back(std::make_unique<Flags>(Flags{std::vector<char>(most), 2 + i}));
      branch(flags.back()->values.data(), "flag" + std::to_string(i), "/O");
    }
  }

  void draw(Random &random) {
    const float spread = -std::log(1.0f - random.uniform()); // exponential: many entries with few, few with many
    counter = std::min(most, int(mean * spread + random.uniform()));
    for (auto &column : floats)
      for (int i = 0; i < counter; ++i) {
        const float u = random.uniform();
        float value = 0;
        switch (column->shape) {
          case 0: value = keep_bits(10.0f / std::sqrt(1.0f - u), 10); break;      // pt falls
          case 1: value = keep_bits(5.0f * u - 2.5f, 10); break;                  // eta
          case 2: value = keep_bits(6.2831853f * u - 3.1415927f, 10); break;      // phi
          case 3: value = keep_bits(u * u * u, 8); break;                         // an isolation or a score
          case 4: value = u < 0.3f ? 0.0f : keep_bits(u - 0.5f, 10); break;       // an impact parameter
          default: value = u < 0.7f ? -1.0f : keep_bits(u, 6); break;             // mostly a default
        }
        column->values[i] = value;
      }
    for (auto &column : integers)
      for (int i = 0; i < counter; ++i)
        column->values[i] = random.below(column->below) * random.below(2);
    for (auto &column : flags)
      for (int i = 0; i < counter; ++i)
        column->values[i] = random.below(column->one_in) == 0;
  }
};

// Fills FILE until it holds `bytes`, whole clusters, and returns the number of entries.
struct Writer {
  TFile file;
  TTree *tree;
  Random random;
  unsigned run = 1, block = 0;
  unsigned long long event = 0;
  std::vector<float> scalars;
  std::vector<char> triggers;
  std::vector<std::unique_ptr<Collection>> collections;

  Writer(const char *path, unsigned long long seed, int n_scalars, int n_triggers)
    : file(path, "RECREATE", "", 505), tree(new TTree("Events", "Events")), random{seed}, scalars(n_scalars),
      triggers(n_triggers) {
    tree->SetAutoFlush(-10000000); // clusters of some 10 MB, as files for analysis have
    tree->Branch("run", &run, "run/i");
    tree->Branch("luminosityBlock", &block, "luminosityBlock/i");
    tree->Branch("event", &event, "event/l");
  }
  void add_collection(const char *name, int most, float mean, int n_floats, int n_integers, int n_flags) {
    collections.push_back(std::make_unique<Collection>(*tree, name, most, mean, n_floats, n_integers, n_flags));
  }
  void add_scalar(const char *name, int i) { tree->Branch(name, &scalars[i], (std::string(name) + "/F").c_str()); }
  void add_trigger(const char *name, int i) { tree->Branch(name, &triggers[i], (std::string(name) + "/O").c_str()); }

  // One step for the progress bar; returns the bytes written so far.
  long long fill(int n_entries) {
    for (int entry = 0; entry < n_entries; ++entry) {
      run = 1; block = 1 + event / 500; event += 1;
      for (std::size_t i = 0; i < scalars.size(); ++i)
        scalars[i] = i % 4 == 3 ? 1.0f : keep_bits(100.0f * random.uniform(), 10);
      for (std::size_t i = 0; i < triggers.size(); ++i) // from often to all but never
        triggers[i] = random.bits() < (0x80000000u >> (i % 24));
      for (auto &collection : collections) collection->draw(random);
      tree->Fill();
    }
    return file.GetEND();
  }
  long long close() { const auto n = tree->GetEntries(); file.Write(); file.Close(); return n; }
};

} // namespace arrowroot_sample
