// Objects in ROOT's collections, and behind pointers to their bases, in branches. Compiled by ACLiC.
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TBufferJSON.h>
#include <TClonesArray.h>
#include <TFile.h>
#include <TH1F.h>
#include <TList.h>
#include <TMap.h>
#include <TMatrixDSym.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TTree.h>

#include <memory>
#include <string>
#include <vector>

namespace held {

class Hit : public TObject {
public:
  int id = 0;
  float energy = 0;
  std::vector<int> strips;
  ClassDef(Hit, 2)
};

class BigHit : public Hit {
public:
  double width = 0;
  TObject *partner = nullptr;
  ClassDef(BigHit, 3)
};

// First met behind the entries that are looked at.
class Late : public TObject {
public:
  int number = 0;
  ClassDef(Late, 1)
};

class Cell : public TObject {
public:
  TClonesArray hits{"held::Hit", 2};
  ClassDef(Cell, 1)
};

// Of no base.
struct Plain {
  int number = 0;
};

class Event : public TObject {
public:
  int n = 0;
  TClonesArray *hits = nullptr;
  TObjArray *array = nullptr;
  TList list;
  TObject *any = nullptr;
  Hit *hit = nullptr;
  Hit *same = nullptr;
  TH1F *histogram = nullptr;
  std::vector<Hit *> pointers;
  TObject *fixed[2] = {nullptr, nullptr};
  Plain *plain[2] = {nullptr, nullptr};
  ClassDef(Event, 1)
};

struct Branches {
  TClonesArray *members = nullptr, *objects = nullptr, *cells = nullptr;
  TObjArray *array = nullptr, *late = nullptr;
  TList *list = nullptr;
  TMap *map = nullptr;
  TH1F *histogram = nullptr;
  TObject *any = nullptr;
  std::vector<Hit *> *pointers = nullptr;
  TMatrixDSym *matrix = nullptr;
  Event *event = nullptr;

  void make(TTree &tree, int split) {
    members = new TClonesArray("held::Hit");
    objects = new TClonesArray("held::BigHit");
    cells = new TClonesArray("held::Cell");
    objects->BypassStreamer(false);
    array = new TObjArray;
    late = new TObjArray;
    list = new TList;
    map = new TMap;
    histogram = new TH1F("h", "counts", 3, 0, 3);
    histogram->SetDirectory(nullptr);
    pointers = new std::vector<Hit *>;
    matrix = new TMatrixDSym(2);
    event = new Event;
    event->hits = new TClonesArray("held::Hit");
    event->array = new TObjArray;
    event->histogram = new TH1F("eh", "", 2, 0, 2);
    event->histogram->SetDirectory(nullptr);
    tree.Branch("members", &members, 32000, 0);
    tree.Branch("objects", "TClonesArray", &objects, 32000, -1);
    tree.Branch("cells", &cells, 32000, 0);
    tree.Branch("array", "TObjArray", &array, 32000, 0);
    tree.Branch("late", "TObjArray", &late, 32000, 0);
    tree.Branch("list", "TList", &list, 32000, 0);
    tree.Branch("map", "TMap", &map, 32000, 0);
    tree.Branch("histogram", "TH1F", &histogram, 32000, 0);
    tree.Branch("any", "TObject", &any, 32000, 0);
    tree.Branch("pointers", &pointers, 32000, 0);
    tree.Branch("matrix", "TMatrixTSym<double>", &matrix, 32000, 0);
    tree.Branch("event.", "held::Event", &event, 32000, split);
  }

  void address(TTree &tree) {
    tree.SetBranchAddress("members", &members);
    tree.SetBranchAddress("objects", &objects);
    tree.SetBranchAddress("cells", &cells);
    tree.SetBranchAddress("array", &array);
    tree.SetBranchAddress("late", &late);
    tree.SetBranchAddress("list", &list);
    tree.SetBranchAddress("map", &map);
    tree.SetBranchAddress("histogram", &histogram);
    tree.SetBranchAddress("any", &any);
    tree.SetBranchAddress("pointers", &pointers);
    tree.SetBranchAddress("matrix", &matrix);
    tree.SetBranchAddress("event.", &event);
  }

  void say(std::vector<std::string> &lines) {
    auto one = [&lines](const void *object, const char *type) {
      lines.emplace_back(TBufferJSON::ConvertToJSON(object, TClass::GetClass(type), 3).Data());
    };
    one(members, "TClonesArray");
    one(objects, "TClonesArray");
    one(cells, "TClonesArray");
    one(array, "TObjArray");
    one(late, "TObjArray");
    one(list, "TList");
    one(map, "TMap");
    one(histogram, "TH1F");
    lines.emplace_back(TBufferJSON::ToJSON(any, 3).Data());
    one(pointers, "vector<held::Hit*>");
    const std::vector<double> upper{(*matrix)(0, 0), (*matrix)(0, 1), (*matrix)(1, 1)};
    one(&upper, "vector<double>");
    one(event, "held::Event");
  }
};

Hit *make_hit(int entry, int place) {
  Hit *hit = place % 2 ? new BigHit : new Hit;
  hit->id = 100 * entry + place;
  hit->energy = 0.5F * place;
  hit->strips.assign(place, entry);
  return hit;
}

void write(const char *path, int n_entries, int split, int n_flush) {
  TFile file(path, "RECREATE");
  TTree tree("T", "what holds objects");
  tree.SetAutoFlush(n_flush);
  Branches b;
  b.make(tree, split);
  for (int i = 0; i < n_entries; ++i) {
    for (TClonesArray *clones : {b.members, b.objects, b.cells, b.event->hits}) clones->Clear("C");
    b.array->Clear(), b.late->Clear(), b.list->Clear(), b.map->Clear(), b.pointers->clear();
    b.event->array->Clear(), b.event->list.Clear(), b.event->pointers.clear();
    for (int j = 0; j < i % 4; ++j) {
      Hit *hit = make_hit(i, j);
      static_cast<Hit &>(*static_cast<Hit *>(b.members->ConstructedAt(j))) = *hit;
      static_cast<Hit *>(b.event->hits->ConstructedAt(j))->id = i + j;
      if (j != 1) {
        auto *big = static_cast<BigHit *>(b.objects->ConstructedAt(j));
        big->strips.assign(j, 7), big->width = i, big->partner = nullptr;
      }
      auto *cell = static_cast<Cell *>(b.cells->ConstructedAt(j));
      cell->hits.Clear("C");
      for (int k = 0; k < j; ++k) static_cast<Hit *>(cell->hits.ConstructedAt(k))->id = k;
      if (auto *big = dynamic_cast<BigHit *>(hit)) big->width = 0.25 * i, big->partner = new TNamed("a", "partner");
      b.array->Add(hit);
      if (j == 1) b.array->AddAt(nullptr, 4), b.array->AddAt(make_hit(i, 2), 5);
      b.list->Add(new TObjString(Form("text %d", j)), j == 1 ? "option" : "");
      if (j == 2) b.list->Add(hit), b.list->Add(b.array->At(0)), b.list->Add(hit);
      b.map->Add(new TObjString(Form("key %d", j)), j ? static_cast<TObject *>(hit) : new TNamed("n", "value"));
      b.pointers->push_back(hit), b.pointers->push_back(nullptr);
      b.event->array->Add(hit), b.event->list.Add(hit), b.event->pointers.push_back(hit);
      if (i >= n_entries / 2) {
        auto *late = new Late;
        late->number = i;
        b.late->Add(late);
      }
      b.late->Add(hit);
    }
    b.histogram->Fill(i % 3), b.event->histogram->Fill(i % 2);
    b.any = i % 2 ? static_cast<TObject *>(new TNamed("any", "of them")) : make_hit(i, i % 4);
    (*b.matrix)(0, 0) = i, (*b.matrix)(0, 1) = (*b.matrix)(1, 0) = 2 * i, (*b.matrix)(1, 1) = -i;
    b.event->n = i;
    b.event->any = i % 3 ? b.any : nullptr;
    b.event->hit = make_hit(i, i % 4);
    b.event->same = i % 2 ? b.event->hit : nullptr;
    b.event->plain[i % 2] = new Plain{i}, b.event->plain[1 - i % 2] = nullptr;
    b.event->fixed[i % 2] = b.event->hit, b.event->fixed[1 - i % 2] = nullptr;
    tree.Fill();
  }
  tree.Write();
}

std::vector<std::string> read(const char *path) {
  std::vector<std::string> lines;
  TFile file(path);
  auto *tree = file.Get<TTree>("T");
  for (Long64_t i = 0; i < tree->GetEntries(); ++i) {
    Branches b;  // new objects: ROOT deletes what pointers of the last entry led to, twice if two lead to it
    b.address(*tree);
    tree->GetEntry(i);
    b.say(lines);
    tree->ResetBranchAddresses();
  }
  return lines;
}

// An RNTuple whose fields ROOT's streamers fill.
void write_ntuple(const char *from, const char *to, int n_flush) {
  auto model = ROOT::RNTupleModel::CreateBare();
  model->AddField(std::make_unique<ROOT::RStreamerField>("event", "held::Event"));
  model->AddField(std::make_unique<ROOT::RStreamerField>("late", "TObjArray"));
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "N", to);
  TFile file(from);
  auto *tree = file.Get<TTree>("T");
  for (Long64_t i = 0; i < tree->GetEntries(); ++i) {
    Branches b;
    b.address(*tree);
    tree->GetEntry(i);
    auto entry = writer->CreateEntry();
    entry->BindRawPtr("event", b.event);
    entry->BindRawPtr("late", b.late);
    writer->Fill(*entry);
    if (i % n_flush == n_flush - 1)
      writer->CommitCluster();
    tree->ResetBranchAddresses();
  }
}

}  // namespace held
