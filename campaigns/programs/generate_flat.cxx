// generate_flat N OUT COMPRESSION LAYOUT SEED
// The flat data set: see flat_event.hxx. LAYOUT: ttree or rntuple.
#include <TFile.h>
#include <TTree.h>

#include <ROOT/REntry.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "flat_event.hxx"

static void write_tree(const char* out, int compression, long n, uint64_t seed) {
  TFile file(out, "RECREATE", "", compression);
  FlatEvent event;
  TTree tree("T", "T");
  for_each_column(event, [&](const std::string& name, auto& value) { tree.Branch(name.c_str(), &value); });
  for (long e = 0; e < n; e++) {
    event.generate(seed, e);
    tree.Fill();
  }
  tree.Write();
  tree.ResetBranchAddresses();
}

static void write_ntuple(const char* out, int compression, long n, uint64_t seed) {
  auto model = ROOT::RNTupleModel::CreateBare();
  FlatEvent event;
  for_each_column(event,
                  [&](const std::string& name, auto& value) { model->MakeField<std::decay_t<decltype(value)>>(name); });
  ROOT::RNTupleWriteOptions options;
  options.SetCompression(compression);
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "T", out, options);
  auto entry = writer->GetModel().CreateBareEntry();
  for_each_column(event, [&](const std::string& name, auto& value) { entry->BindRawPtr(name, &value); });
  for (long e = 0; e < n; e++) {
    event.generate(seed, e);
    writer->Fill(*entry);
  }
}

int main(int argc, char** argv) {
  if (argc != 6) return std::fprintf(stderr, "usage: generate_flat N OUT COMPRESSION LAYOUT SEED\n"), 2;
  const long n = std::atol(argv[1]);
  const int compression = std::atoi(argv[3]);
  const uint64_t seed = std::strtoull(argv[5], nullptr, 10);
  if (std::string(argv[4]) == "rntuple")
    write_ntuple(argv[2], compression, n, seed);
  else
    write_tree(argv[2], compression, n, seed);
}
