// generate_aod N OUT COMPRESSION LAYOUT SEED
// The AOD-like data set: five vectors of objects with a covariance list each.
// LAYOUT: split99 (autoflush every 30 MB), split0 (one basket for 10 entries), rntuple
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>

#include <ROOT/REntry.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "Aod.h"
#include "random.hxx"

using Objects = std::vector<AodObj>;

static constexpr int kCollections = 5;
static const char* kNames[kCollections] = {"jets", "muons", "electrons", "tracks", "clusters"};
static const int kMeans[kCollections] = {10, 3, 4, 40, 30};

static void generate(AodObj& o, Random& random) {
  o.pt = -20 * std::log(random.uniform() + 1e-7f);
  o.eta = 5 * (random.uniform() - .5f);
  o.phi = 6.2831853f * (random.uniform() - .5f);
  o.m = 0.139f * (1 + static_cast<int>(random.uniform() * 3));
  o.d0 = random.uniform() * .1f;
  o.z0 = 100 * (random.uniform() - .5f);
  o.chi2 = random.uniform() * 5;
  o.iso = random.uniform() < .5f ? 0 : random.uniform();
  o.px = o.pt * std::cos(o.phi);
  o.py = o.pt * std::sin(o.phi);
  o.pz = o.pt * std::sinh(o.eta);
  o.e = std::sqrt(o.pz * o.pz + o.pt * o.pt + o.m * o.m);
  const uint64_t r = random();
  o.id = static_cast<int>(r >> 60) - 8;
  o.charge = (r >> 59) & 1 ? 1 : -1;
  o.nhits = (r >> 32) & 15;
  o.status = (r >> 40) & 3;
  o.flags = (r >> 20) & 0xfff;
  o.t = o.z0 / 29.979;
  o.cls = (r >> 10) & 7;
  o.cov.resize((r >> 4) % 10);
  for (auto& x : o.cov) x = random.uniform() - .5f;
}

static void generate(Objects (&event)[kCollections], uint64_t seed, long entry) {
  Random random(seed, entry);
  for (int k = 0; k < kCollections; k++) {
    event[k].resize((random() >> 32) % (2 * kMeans[k] + 1));
    for (auto& o : event[k]) generate(o, random);
  }
}

int main(int argc, char** argv) {
  if (argc != 6) return std::fprintf(stderr, "usage: generate_aod N OUT COMPRESSION LAYOUT SEED\n"), 2;
  const long n = std::atol(argv[1]);
  const int compression = std::atoi(argv[3]);
  const std::string layout = argv[4];
  const uint64_t seed = std::strtoull(argv[5], nullptr, 10);
  Objects event[kCollections];

  if (layout == "rntuple") {
    auto model = ROOT::RNTupleModel::CreateBare();
    for (auto name : kNames) model->MakeField<Objects>(name);
    ROOT::RNTupleWriteOptions options;
    options.SetCompression(compression);
    auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "T", argv[2], options);
    auto entry = writer->GetModel().CreateBareEntry();
    for (int k = 0; k < kCollections; k++) entry->BindRawPtr(kNames[k], &event[k]);
    for (long e = 0; e < n; e++) {
      generate(event, seed, e);
      writer->Fill(*entry);
    }
    return 0;
  }
  const bool split = layout == "split99";
  TFile file(argv[2], "RECREATE", "", compression);
  TTree tree("T", "T");
  tree.SetAutoFlush(split ? -30000000 : 10);
  Objects* pointers[kCollections];
  for (int k = 0; k < kCollections; k++) {
    pointers[k] = &event[k];
    // The dot at the end puts the collection's name before each member's.
    tree.Branch((std::string(kNames[k]) + ".").c_str(), &pointers[k], split ? 32000 : 4000, split ? 99 : 0);
  }
  for (long e = 0; e < n; e++) {
    generate(event, seed, e);
    tree.Fill();
  }
  tree.Write();
  file.Close();
}
