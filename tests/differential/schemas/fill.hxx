// Fills objects of any type with values drawn from a seed. types.py draws the same ones in Python.
#include <TClass.h>
#include <TClassEdit.h>
#include <TCollectionProxyInfo.h>
#include <TFile.h>
#include <TIsAProxy.h>
#include <TString.h>
#include <TTree.h>
#include <TVirtualStreamerInfo.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ROOT/RVec.hxx>

namespace fuzz {

struct Draws {
  uint64_t state;
  uint64_t next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state >> 33;
  }
  int below(int n) { return int(next() % n); }
};

template <class T> std::enable_if_t<std::is_integral_v<T>> fill(T &x, Draws &d) {
  uint64_t high = d.next();
  x = std::is_same_v<T, bool> ? T(high % 2) : T((high << 33) ^ d.next());
}
template <class T> std::enable_if_t<std::is_enum_v<T>> fill(T &x, Draws &d) { x = T(d.below(3) * 7 - 3); }
inline void fill(float &x, Draws &d) { x = (d.below(2048) - 1024) * 0.5f; }
inline void fill(double &x, Draws &d) { x = (d.below(1 << 30) - (1 << 29)) * 0.0078125; }
/// Values that a Double32_t or Float16_t keeps.
template <class T> void fill_packed(T &x, Draws &d) {
  if constexpr (std::is_array_v<T>) {
    for (auto &item : x) fill_packed(item, d);
  } else {
    x = (d.below(2048) - 1024) * 0.5;
  }
}

inline std::string text(Draws &d) {
  int n = d.below(40) == 0 ? 250 + d.below(20) : d.below(6);
  std::string s;
  for (int i = 0; i < n; i++) s += char('a' + d.below(26));
  return s;
}
inline void fill(std::string &x, Draws &d) { x = text(d); }
inline void fill(TString &x, Draws &d) { x = text(d); }

// Declared first: containers of containers find them by their argument Draws.
template <class T, size_t N> void fill(T (&x)[N], Draws &d);
template <class T> void fill(T *&x, Draws &d);
template <class T> void fill(std::unique_ptr<T> &x, Draws &d);
template <class A, class B> void fill(std::pair<A, B> &x, Draws &d);
template <class... T> void fill(std::tuple<T...> &x, Draws &d);
template <class T, size_t N> void fill(std::array<T, N> &x, Draws &d);
template <size_t N> void fill(std::bitset<N> &x, Draws &d);
template <class T> void fill(std::vector<T> &x, Draws &d);
template <class T> void fill(std::deque<T> &x, Draws &d);
template <class T> void fill(std::list<T> &x, Draws &d);
template <class T> void fill(std::forward_list<T> &x, Draws &d);
template <class T> void fill(ROOT::RVec<T> &x, Draws &d);
template <class K> void fill(std::set<K> &x, Draws &d);
template <class K> void fill(std::multiset<K> &x, Draws &d);
template <class K> void fill(std::unordered_set<K> &x, Draws &d);
template <class K> void fill(std::unordered_multiset<K> &x, Draws &d);
template <class K, class V> void fill(std::map<K, V> &x, Draws &d);
template <class K, class V> void fill(std::multimap<K, V> &x, Draws &d);
template <class K, class V> void fill(std::unordered_map<K, V> &x, Draws &d);
template <class K, class V> void fill(std::unordered_multimap<K, V> &x, Draws &d);

template <class T, size_t N> void fill(T (&x)[N], Draws &d) {
  for (auto &item : x) fill(item, d);
}
template <class T> void fill(T *&x, Draws &d) {
  x = nullptr;  // whatever it was: another pointer may lead there
  if (d.below(3)) fill(*(x = new T()), d);
}
template <class T> void fill(std::unique_ptr<T> &x, Draws &d) {
  x.reset();
  if (d.below(3)) x.reset(new T()), fill(*x, d);
}
template <class A, class B> void fill(std::pair<A, B> &x, Draws &d) { fill(x.first, d), fill(x.second, d); }
template <class... T> void fill(std::tuple<T...> &x, Draws &d) {
  std::apply([&d](auto &...items) { (fill(items, d), ...); }, x);
}
template <class T, size_t N> void fill(std::array<T, N> &x, Draws &d) {
  for (auto &item : x) fill(item, d);
}
template <size_t N> void fill(std::bitset<N> &x, Draws &d) {
  for (size_t i = 0; i < N; i++) x[i] = d.below(2);
}
template <class C> void fill_sequence(C &x, Draws &d) {
  x.clear();
  x.resize(d.below(4));
  for (auto &item : x) fill(item, d);
}
inline void fill(std::vector<bool> &x, Draws &d) {
  x.assign(d.below(4), false);
  for (size_t i = 0; i < x.size(); i++) x[i] = d.next() % 2, d.next();
}
template <class T> void fill(std::vector<T> &x, Draws &d) { fill_sequence(x, d); }
template <class T> void fill(std::deque<T> &x, Draws &d) { fill_sequence(x, d); }
template <class T> void fill(std::list<T> &x, Draws &d) { fill_sequence(x, d); }
template <class T> void fill(std::forward_list<T> &x, Draws &d) { fill_sequence(x, d); }
template <class T> void fill(ROOT::RVec<T> &x, Draws &d) { fill_sequence(x, d); }
template <class C> void fill_keys(C &x, Draws &d) {
  x.clear();
  for (int i = d.below(4); i > 0; i--) {
    typename C::value_type key{};
    fill(key, d);
    x.insert(key);
  }
}
template <class K> void fill(std::set<K> &x, Draws &d) { fill_keys(x, d); }
template <class K> void fill(std::multiset<K> &x, Draws &d) { fill_keys(x, d); }
template <class K> void fill(std::unordered_set<K> &x, Draws &d) { fill_keys(x, d); }
template <class K> void fill(std::unordered_multiset<K> &x, Draws &d) { fill_keys(x, d); }
template <class C> void fill_pairs(C &x, Draws &d) {
  x.clear();
  for (int i = d.below(4); i > 0; i--) {
    typename C::key_type key{};
    fill(key, d);
    typename C::mapped_type value{};
    fill(value, d);
    x.emplace(std::move(key), std::move(value));
  }
}
template <class K, class V> void fill(std::map<K, V> &x, Draws &d) { fill_pairs(x, d); }
template <class K, class V> void fill(std::multimap<K, V> &x, Draws &d) { fill_pairs(x, d); }
template <class K, class V> void fill(std::unordered_map<K, V> &x, Draws &d) { fill_pairs(x, d); }
template <class K, class V> void fill(std::unordered_multimap<K, V> &x, Draws &d) { fill_pairs(x, d); }

/// An array that `n` counts.
template <class T> void fill_counted(T *&x, int n, Draws &d) {
  x = n ? new T[n]() : nullptr;
  for (int i = 0; i < n; i++) fill(x[i], d);
}

/// What a dictionary says of a class, without one: ROOT writes no pointers to and no containers of what is interpreted.
template <class T> struct Dictionary {
  static ROOT::TGenericClassInfo &info(const char *name, int version) {
    static ROOT::TGenericClassInfo made(name, version, __FILE__, __LINE__, typeid(T),
                                        ROOT::Internal::DefineBehavior((T *)nullptr, (T *)nullptr), &get,
                                        new TIsAProxy(typeid(T)), 4, sizeof(T));
    return made;
  }
  static TClass *get() { return info(nullptr, 0).GetClass(); }
  static void *create(void *at) { return at ? new (at) T : new T; }
  static void *create_array(Long_t n, void *at) { return at ? new (at) T[n] : new T[n]; }
  static void remove(void *x) { delete static_cast<T *>(x); }
  static void remove_array(void *x) { delete[] static_cast<T *>(x); }
  static void destruct(void *x) { static_cast<T *>(x)->~T(); }
};
template <class T> ROOT::TGenericClassInfo &describe(const char *spelling, int version) {
  using D = Dictionary<T>;
  std::string name;
  TClassEdit::GetNormalizedName(name, spelling);
  auto &info = D::info(strdup(name.c_str()), version);
  info.SetNew(&D::create);
  info.SetNewArray(&D::create_array);
  info.SetDelete(&D::remove);
  info.SetDeleteArray(&D::remove_array);
  info.SetDestructor(&D::destruct);
  return info;
}
template <class T> void describe_class(const char *spelling) {
  describe<T>(spelling, -1);
  TClass::GetClass(spelling);
}
template <class T, class Info> void describe_container(const char *spelling) {
  describe<T>(spelling, -2).AdoptCollectionProxyInfo(ROOT::Detail::TCollectionProxyInfo::Generate(Info()));
  TClass::GetClass(spelling);
}

}  // namespace fuzz
