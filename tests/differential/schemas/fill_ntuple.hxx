// Fills what fields of RNTuples hold and branches do not; and makes the fields. ntuple_types.py draws the same values.
#include "fill.hxx"

#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <variant>

namespace fuzz {

template <class T> void fill(std::atomic<T> &x, Draws &d);
template <class T> void fill(std::optional<T> &x, Draws &d);
template <class... T> void fill(std::variant<T...> &x, Draws &d);
inline void fill(std::byte &x, Draws &d) {
  unsigned char value;
  fill(value, d);
  x = std::byte(value);
}

template <class T> void fill(std::atomic<T> &x, Draws &d) {
  T value;
  fill(value, d);
  x = value;
}
template <class T> void fill(std::optional<T> &x, Draws &d) {
  x.reset();
  if (d.below(3)) x.emplace(), fill(*x, d);
}
template <size_t I = 0, class... T> void hold(std::variant<T...> &x, size_t tag, Draws &d) {
  if constexpr (I < sizeof...(T)) {
    if (tag == I) x.template emplace<I>(), fill(std::get<I>(x), d);
    else hold<I + 1>(x, tag, d);
  }
}
template <class... T> void fill(std::variant<T...> &x, Draws &d) { hold(x, d.below(sizeof...(T)), d); }

/// A field inside of a field.
inline ROOT::RFieldBase &at(ROOT::RFieldBase &field, std::initializer_list<int> path) {
  auto *found = &field;
  for (int place : path) found = found->GetMutableSubfields()[place];
  return *found;
}
template <class T> void truncate(ROOT::RFieldBase &field, int bits) {
  dynamic_cast<ROOT::RField<T> &>(field).SetTruncated(bits);
}
template <class T> void quantize(ROOT::RFieldBase &field, int bits, double low, double high) {
  dynamic_cast<ROOT::RField<T> &>(field).SetQuantized(bits, {T(low), T(high)});
}

}  // namespace fuzz
