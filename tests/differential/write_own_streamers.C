// Classes that are written by code of their own, of which streamer information tells something else. Compiled by ACLiC.
#include <TBuffer.h>
#include <TFile.h>
#include <TObject.h>
#include <TTree.h>
#include <TVirtualStreamerInfo.h>

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
