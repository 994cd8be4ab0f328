// The checksum of a column, the same in every engine (campaigns/METHODOLOGY.md, "Checksum").
//
//   n      number of values
//   sum    sum of the values' bit patterns, each zero-extended to 64 bits, modulo 2^64
//   order  sum of (i + 1) * bits(v_i), plus for lists sum of (j + 1) * length_j * K, modulo 2^64
//
// "order" is left out by engines that hand out the entries in no fixed order.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

struct Digest {
  static constexpr uint64_t kLengthFactor = 0x9E3779B97F4A7C15ull;

  uint64_t n = 0, sum = 0, order = 0, n_lists = 0;
  bool ordered = true;

  template <class T>
  void add(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);  // little-endian machines only
    sum += bits;
    order += ++n * bits;
  }
  void add_list(uint64_t length) { order += ++n_lists * length * kLengthFactor; }

  nlohmann::json json() const {
    nlohmann::json j{{"n", n}, {"sum", hex(sum)}};
    if (ordered) j["order"] = hex(order);
    return j;
  }

 private:
  static std::string hex(uint64_t x) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(x));
    return text;
  }
};
