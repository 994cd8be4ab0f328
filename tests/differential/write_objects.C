// Classes of all shapes, written split and not, object by object and member by member. Compiled by ACLiC.
#include <TArrayD.h>
#include <TBufferJSON.h>
#include <TClonesArray.h>
#include <TDatime.h>
#include <TFile.h>
#include <TLorentzVector.h>
#include <TNamed.h>
#include <TObjString.h>
#include <TRef.h>
#include <TTree.h>
#include <TVector2.h>
#include <TVector3.h>
#include <TVirtualStreamerInfo.h>

#include <array>
#include <bitset>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ar {

enum Colour { kRed = 1, kGreen = 7 };

struct Point {
  float x = 0;
  double y = 0;
  short n = 0;
};

struct Tagged : Point {
  std::string tag;
  std::vector<int> counts;
  TString label;
  unsigned char byte = 0;
};

struct Deep : Tagged {
  Long64_t id = 0;
  std::vector<Point> points;
  std::map<int, float> weights;
};

class Base : public TObject {
public:
  int b = 0;
  float values[3] = {0, 0, 0};
  ClassDef(Base, 2)
};

class Track : public Base {
public:
  int n = 0;
  float *hits = nullptr;  //[n]
  Double32_t low = 0;     //[0,100,16]
  Float16_t half = 0;
  Point vertex;
  Point corners[2];
  Track() = default;
  Track(const Track &) = delete;
  ~Track() { delete[] hits; }
  void fill(int k) {
    b = k;
    for (int i = 0; i < 3; i++) values[i] = k + 0.25f * i;
    n = k % 4;
    delete[] hits;
    hits = n ? new float[n] : nullptr;
    for (int i = 0; i < n; i++) hits[i] = k - 0.5f * i;
    half = k;
    vertex.x = k + 0.5f;
    vertex.y = -k;
    vertex.n = k;
    for (int i = 0; i < 2; i++) corners[i].x = i + k, corners[i].y = 0.125 * k, corners[i].n = -i;
  }
  ClassDef(Track, 3)
};

class Event : public TNamed {
public:
  Colour colour = kRed;
  bool flag = false;
  int grid[2][3] = {};
  Point point;
  Tagged tagged;
  TDatime when;
  TLorentzVector lorentz;
  TVector2 flat;
  TVector3 space;
  TArrayD doubles;
  Point *maybe = nullptr;
  Point *again = nullptr;
  TObjString *text = nullptr;
  Tagged *never = nullptr;
  std::unique_ptr<Point> owned;
  std::vector<Point> points;
  std::vector<Point *> pointers;
  std::vector<Tagged> tags;
  std::vector<Deep> deep;
  std::vector<std::vector<Point>> nested;
  std::list<Tagged> list;
  std::deque<Point> deque;
  std::set<int> set;
  std::map<int, Point> by_number;
  std::map<std::string, std::vector<float>> by_name;
  std::map<int, std::string> names;
  std::map<int, Deep> deep_by_number;
  std::multimap<short, double> many;
  std::unordered_map<int, int> unordered;
  std::map<int, std::map<int, float>> maps;
  std::pair<int, Point> pair;
  std::vector<std::pair<int, std::string>> pairs;
  std::vector<std::pair<float, Tagged>> tagged_pairs;
  std::array<int, 3> three{};
  std::array<std::vector<float>, 2> curves;
  std::vector<short> two[2];
  std::string words[2];
  std::vector<Point> point_lists[2];
  std::vector<bool> bits;
  std::vector<std::string> strings;
  std::vector<TString> tstrings;
  std::vector<TLorentzVector> lorentzes;
  std::vector<Colour> colours;
  std::vector<int> *heap = nullptr;
  std::vector<Point> *heap_points = nullptr;
  int n_loop = 0;
  Point *loop = nullptr;  //[n_loop]
  int last = 0;

  Event() = default;
  ~Event() { clear(); }
  void clear() {
    delete maybe;
    delete text;
    delete heap;
    delete heap_points;
    for (auto p : pointers)
      if (p != maybe) delete p;
    delete[] loop;
    maybe = again = nullptr;
    text = nullptr;
    loop = nullptr;
    pointers.clear();
  }
  static Point make(int k) { return Point{k + 0.5f, k - 0.25, short(k)}; }
  static void tag(Tagged &t, int k) {
    static_cast<Point &>(t) = make(k);
    t.tag = std::string(k % 5, 'a' + k % 26);
    t.counts.assign(k % 3, k);
    t.label = TString::Format("label%d", k % 7);
    t.byte = k;
  }
  static void dig(Deep &d, int k) {
    tag(d, k);
    d.id = 1000000007LL * k;
    d.points.clear();
    for (int i = 0; i < k % 4; i++) d.points.push_back(make(k + i));
    d.weights.clear();
    for (int i = 0; i < k % 3; i++) d.weights[i] = k + 0.5f;
  }
  void fill(int k) {
    clear();
    SetNameTitle(TString::Format("event %d", k), "");
    colour = k % 2 ? kRed : kGreen;
    flag = k % 3 == 0;
    for (int i = 0; i < 6; i++) grid[i / 3][i % 3] = 10 * k + i;
    point = make(k);
    tag(tagged, k + 1);
    when = TDatime(950101 + k % 20, 124500);
    lorentz.SetXYZT(k, 2, 3, 4.5);
    flat.Set(k, 0.5);
    space.SetXYZ(1, k, 2);
    doubles.Set(k % 4);
    for (int i = 0; i < k % 4; i++) doubles[i] = k * i;
    if (k % 2) maybe = new Point(make(k + 7)), again = maybe;
    if (k % 3 == 1) text = new TObjString(TString::Format("text %d", k));
    owned.reset(k % 3 ? new Point(make(3 * k)) : nullptr);
    points.clear(), tags.clear(), deep.clear(), nested.clear(), list.clear(), deque.clear(), set.clear();
    by_number.clear(), by_name.clear(), names.clear(), deep_by_number.clear(), many.clear(), unordered.clear();
    maps.clear(), pairs.clear(), tagged_pairs.clear(), bits.clear(), strings.clear(), tstrings.clear();
    lorentzes.clear(), colours.clear();
    for (int i = 0; i < k % 5; i++) {
      points.push_back(make(k + i));
      pointers.push_back(i == 1 ? nullptr : i == 2 && maybe ? maybe : new Point(make(k * i)));
      tags.emplace_back(), tag(tags.back(), k + 2 * i);
      deep.emplace_back(), dig(deep.back(), k + 3 * i);
      nested.emplace_back();
      for (int j = 0; j < i; j++) nested.back().push_back(make(j));
      list.emplace_back(), tag(list.back(), i);
      deque.push_back(make(-i));
      set.insert(k * i);
      by_number[i] = make(i);
      by_name["n" + std::to_string(i)] = std::vector<float>(i, 0.5f * k);
      names[i] = std::string(i, 'z');
      dig(deep_by_number[i], k + i);
      many.emplace(i / 2, i + 0.5);
      maps[i][k] = 0.5f * i;
      pairs.emplace_back(i, std::to_string(k));
      tagged_pairs.emplace_back(), tagged_pairs.back().first = i, tag(tagged_pairs.back().second, k + i);
      bits.push_back((k + i) % 2);
      strings.push_back(std::string(i, 's'));
      tstrings.push_back(TString::Format("t%d", i));
      lorentzes.emplace_back(k, i, 0, 1);
      colours.push_back(i % 2 ? kRed : kGreen);
    }
    if (k % 5) unordered[k] = k + 1;
    pair = {k, make(k)};
    for (int i = 0; i < 3; i++) three[i] = k + i;
    for (int i = 0; i < 2; i++) curves[i].assign((k + i) % 4, k + 0.5f * i);
    for (int i = 0; i < 2; i++) {
      two[i].assign((k + i) % 3, i);
      words[i] = std::string((k + i) % 4, 'w');
      point_lists[i].assign((k + 2 * i) % 3, make(i));
    }
    heap = new std::vector<int>(k % 3, k);
    heap_points = new std::vector<Point>(k % 2, make(k));
    n_loop = k % 3;
    loop = n_loop ? new Point[n_loop] : nullptr;
    for (int i = 0; i < n_loop; i++) loop[i] = make(k + i);
    last = -k;
  }
  ClassDef(Event, 1)
};

struct Columns {
  std::vector<Deep> deep;
  std::vector<Tagged> tags;
};

/// Arrays in containers are objects of their own, in other places no more than what is in them.
struct Arrays {
  std::array<float, 2> plain;
  std::array<Point, 2> points;
  std::vector<std::array<double, 3>> in_vector;
  std::list<std::array<std::string, 2>> of_texts;
  std::deque<std::array<Point, 2>> of_points;
  std::vector<std::array<std::vector<short>, 2>> of_vectors;
  std::vector<std::vector<std::array<int, 2>>> in_vectors;
  std::array<std::vector<std::array<short, 2>>, 2> of_vectors_of_arrays;
  std::map<int, std::array<float, 2>> in_map;
  std::vector<std::pair<int, std::array<float, 2>>> in_pairs;
  std::vector<std::tuple<int, std::string>> tuples;
  int last;
  std::map<short, std::array<unsigned char, 1>> behind_it;  // nothing comes after the smallest pairs there can be

  template <class T> static std::array<T, 2> two(int k) { return {T(k), T(k + 1)}; }
  void fill(int k) {
    *this = {};
    plain = two<float>(k);
    points[0].x = k, points[1].x = -k;
    of_vectors_of_arrays[1].assign(k % 3, two<short>(k));
    for (int i = 0; i < k % 4; i++) {
      in_vector.push_back({double(k), double(i), 0.5});
      of_texts.push_back({std::string(i, 'a'), std::to_string(k)});
      of_points.emplace_back(points);
      of_vectors.push_back({std::vector<short>(i, k), std::vector<short>(k % 3, i)});
      in_vectors.emplace_back(i, two<int>(k));
      in_map[k + i] = two<float>(i);
      in_pairs.emplace_back(i, two<float>(k));
      tuples.emplace_back(k, std::to_string(i));
    }
    last = k;
    for (int i = 0; i < k; i++) behind_it[i] = {(unsigned char)(k)};
  }
};

std::string json(const void *object, const char *name) {
  return std::string(TBufferJSON::ConvertToJSON(object, TClass::GetClass(name), 3).Data());
}

/// One line of JSON for each entry and branch, in turn.
std::vector<std::string> write(const char *path, int n_entries, int split, bool member_wise) {
  std::vector<std::string> lines;
  TVirtualStreamerInfo::SetStreamMemberWise(member_wise);
  TFile file(path, "RECREATE");
  TTree tree("T", "");
  auto event = new Event;
  auto deep = new std::vector<Deep>;
  auto tags = new std::list<Tagged>;
  auto numbers = new std::map<int, Deep>;
  auto columns = new Columns;
  auto lorentz = new TLorentzVector;
  auto arrays = new Arrays;
  auto tracks = new TClonesArray("ar::Track");
  tree.Branch("event.", &event, 4000, split);
  tree.Branch("deep", &deep, 4000, split);
  tree.Branch("tags", &tags, 4000, 0);  // ROOT 6.40 does not split a list of what has a base
  tree.Branch("numbers", &numbers, 4000, split);
  tree.Branch("columns", &columns, 4000, split);
  tree.Branch("lorentz", &lorentz, 4000, split);
  tree.Branch("arrays", &arrays, 4000, 0);  // of a split container of arrays ROOT 6.40 stores nothing
  if (split) tree.Branch("tracks", &tracks, 4000, split);
  for (int k = 0; k < n_entries; k++) {
    event->fill(k);
    deep->clear(), tags->clear(), numbers->clear(), tracks->Clear("C");
    for (int i = 0; i < k % 6; i++) {
      deep->emplace_back(), Event::dig(deep->back(), k + i);
      tags->emplace_back(), Event::tag(tags->back(), k * i);
      Event::dig((*numbers)[i], k + 5 * i);
      static_cast<Track *>(tracks->ConstructedAt(i))->fill(k + i);
    }
    columns->deep = *deep;
    columns->tags.assign(tags->begin(), tags->end());
    lorentz->SetXYZT(k, 1, 2, 3);
    arrays->fill(k);
    tree.Fill();
    lines.push_back(json(event, "ar::Event"));
    lines.push_back(json(deep, "vector<ar::Deep>"));
    lines.push_back(json(tags, "list<ar::Tagged>"));
    lines.push_back(json(numbers, "map<int,ar::Deep>"));
    lines.push_back(json(columns, "ar::Columns"));
    lines.push_back(json(lorentz, "TLorentzVector"));
    lines.push_back(json(arrays, "ar::Arrays"));
    lines.push_back(json(tracks, "TClonesArray"));
  }
  tree.Write();
  TVirtualStreamerInfo::SetStreamMemberWise(true);
  return lines;
}

struct Nothing {
  virtual ~Nothing() {}
  ClassDef(Nothing, 1)
};
struct Bare : Nothing {
  ClassDef(Bare, 1)
};
struct OnBare : Bare {
  int x = 0;
  ClassDef(OnBare, 1)
};

/// Split arrays, of which ROOT 6.40 makes branches and fills those of maps only, and classes without members.
void write_hollow(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "");
  std::vector<std::array<double, 3>> in_vector;
  std::array<double, 3> alone{};
  int beside;
  auto bare = new Bare;
  auto on_bare = new OnBare;
  tree.Branch("bare.", &bare, 4000, 99);
  tree.Branch("on_bare.", &on_bare, 4000, 99);
  tree.Branch("in_vector", &in_vector, 4000, 99);
  tree.Branch("alone", &alone, 4000, 99);
  std::map<int, std::array<Point, 2>> in_map;
  tree.Branch("in_map", &in_map, 4000, 99);
  tree.Branch("beside", &beside);
  for (beside = 0; beside < n_entries; beside++) {
    in_vector.assign(beside % 3, alone);
    in_map.clear();
    in_map[beside][1].x = in_map[beside + 2][0].y = beside;
    alone[1] = on_bare->x = beside;
    tree.Fill();
  }
  tree.Write();
}

}  // namespace ar

#ifdef __CLING__
#pragma link C++ nestedclasses;
#pragma link C++ enum ar::Colour;
#pragma link C++ struct ar::Point+;
#pragma link C++ struct ar::Tagged+;
#pragma link C++ struct ar::Deep+;
#pragma link C++ struct ar::Columns+;
#pragma link C++ struct ar::Arrays+;
#pragma link C++ class std::vector<std::array<double, 3>>+;
#pragma link C++ class std::list<std::array<std::string, 2>>+;
#pragma link C++ class std::deque<std::array<ar::Point, 2>>+;
#pragma link C++ class std::vector<std::array<std::vector<short>, 2>>+;
#pragma link C++ class std::vector<std::array<int, 2>>+;
#pragma link C++ class std::vector<std::vector<std::array<int, 2>>>+;
#pragma link C++ class std::vector<std::array<short, 2>>+;
#pragma link C++ class std::map<int, std::array<float, 2>>+;
#pragma link C++ class std::map<short, std::array<unsigned char, 1>>+;
#pragma link C++ class std::map<int, std::array<ar::Point, 2>>+;
#pragma link C++ class std::vector<std::pair<int, std::array<float, 2>>>+;
#pragma link C++ class std::tuple<int, std::string>+;
#pragma link C++ class std::vector<std::tuple<int, std::string>>+;
#pragma link C++ class ar::Base+;
#pragma link C++ class ar::Nothing+;
#pragma link C++ class ar::Bare+;
#pragma link C++ class ar::OnBare+;
#pragma link C++ class ar::Track+;
#pragma link C++ class ar::Event+;
#pragma link C++ class std::vector<ar::Point>+;
#pragma link C++ class std::vector<ar::Point*>+;
#pragma link C++ class std::vector<ar::Tagged>+;
#pragma link C++ class std::vector<ar::Deep>+;
#pragma link C++ class std::vector<ar::Colour>+;
#pragma link C++ class std::vector<std::vector<ar::Point>>+;
#pragma link C++ class std::list<ar::Tagged>+;
#pragma link C++ class std::deque<ar::Point>+;
#pragma link C++ class std::map<int, ar::Point>+;
#pragma link C++ class std::map<int, ar::Deep>+;
#pragma link C++ class std::map<std::string, std::vector<float>>+;
#pragma link C++ class std::map<int, std::string>+;
#pragma link C++ class std::map<int, std::map<int, float>>+;
#pragma link C++ class std::multimap<short, double>+;
#pragma link C++ class std::unordered_map<int, int>+;
#pragma link C++ class std::pair<int, ar::Point>+;
#pragma link C++ class std::vector<std::pair<int, std::string>>+;
#pragma link C++ class std::vector<std::pair<float, ar::Tagged>>+;
#pragma link C++ class std::vector<TString>+;
#pragma link C++ function ar::write;
#pragma link C++ function ar::write_hollow;
#endif
