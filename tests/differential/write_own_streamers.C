// Classes that are written by code of their own, of which streamer information tells something else. Compiled by ACLiC.
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TBuffer.h>
#include <TFile.h>
#include <TObject.h>
#include <TTree.h>
#include <TVirtualStreamerInfo.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace own {

// Behind a byte count and a version.
class Counted : public TObject {
public:
  int a = 5;
  std::vector<int> v{1, 2};
  ClassDef(Counted, 2)
};

// Behind nothing.
class Plain : public TObject {
public:
  int a = 5;
  double z = 1;
  ClassDef(Plain, 2)
};

class Holder : public TObject {
public:
  int i = 11;
  Counted counted;
  int j = 22;
  Counted *pointer = new Counted;
  int k = 33;
  ClassDef(Holder, 1)
};

// As its streamer information has it.
class Good {
public:
  int number = 0x11223344;
  int other = 0x55667788;
  virtual ~Good() = default;
  ClassDef(Good, 3)
};

inline void Counted::Streamer(TBuffer &b) {
  if (b.IsReading()) {
    UInt_t start, count;
    b.ReadVersion(&start, &count);
    TObject::Streamer(b);
    int n;
    b >> n >> a;
    v.resize(n);
    for (auto &x : v)
      b >> x;
    b.CheckByteCount(start, count, Counted::IsA());
  } else {
    UInt_t count = b.WriteVersion(Counted::IsA(), true);
    TObject::Streamer(b);
    b << static_cast<int>(v.size()) << a;
    for (auto x : v)
      b << x;
    b.SetByteCount(count, true);
  }
}

inline void Plain::Streamer(TBuffer &b) {
  float f = static_cast<float>(z);
  if (b.IsReading()) {
    b >> a >> f;
    z = f;
  } else {
    b << a << f;
  }
}

void write_ntuple(const char *name, std::unique_ptr<ROOT::RNTupleModel> model, TFile &file, int n_entries) {
  auto &entry = model->GetDefaultEntry();
  entry.GetPtr<std::vector<Plain>>("plains")->resize(3);
  if (std::string(name) == "M") {
    auto good = entry.GetPtr<std::vector<Good>>("good");
    good->resize(2);
    for (auto &one : *good)
      one.number = 7;
    *entry.GetPtr<std::vector<double>>("numbers") = {1.5, -2};
  }
  auto writer = ROOT::RNTupleWriter::Append(std::move(model), name, file);
  for (int i = 0; i < n_entries; ++i)
    writer->Fill();
}

void write(const char *file_name, int n_entries) {
  TFile file(file_name, "RECREATE", "", 0);
  Holder holder;
  file.WriteTObject(&holder, "holder");
  Counted alone;
  file.WriteTObject(&alone, "alone");
  TVirtualStreamerInfo::SetStreamMemberWise(false);
  TTree tree("T", "");
  auto *counted = new Counted;
  auto *plain = new Plain;
  auto *plains = new std::vector<Plain>(3);
  auto *large = new std::vector<Plain>(3);
  (*large)[0].a = 123456789;
  auto *good = new std::vector<Good>(2);
  tree.Branch("counted", &counted, 32000, 0);
  tree.Branch("plain", &plain, 32000, 0);
  tree.Branch("plains", &plains, 32000, 0);
  tree.Branch("large", &large, 32000, 0);
  tree.Branch("good", &good, 32000, 0);
  for (int i = 0; i < n_entries; ++i)
    tree.Fill();
  tree.Write();

  auto model = ROOT::RNTupleModel::Create();
  const std::pair<const char *, const char *> fields[] = {
      {"counted", "own::Counted"}, {"plain", "own::Plain"}, {"plains", "std::vector<own::Plain>"}};
  for (auto [name, type] : fields)
    model->AddField(std::make_unique<ROOT::RStreamerField>(name, type));
  // With a class that is described the others are said not to be; without any the file tells of all.
  auto other = model->Clone();
  other->AddField(std::make_unique<ROOT::RStreamerField>("good", "std::vector<own::Good>"));
  other->AddField(std::make_unique<ROOT::RStreamerField>("numbers", "std::vector<double>"));
  write_ntuple("N", std::move(model), file, n_entries);
  write_ntuple("M", std::move(other), file, n_entries);
}

} // namespace own

#ifdef __ROOTCLING__
#pragma link C++ class own::Counted-;
#pragma link C++ class own::Plain-;
#pragma link C++ class own::Holder+;
#pragma link C++ class own::Good+;
#pragma link C++ class std::vector<own::Plain>+;
#pragma link C++ class std::vector<own::Good>+;
#endif
