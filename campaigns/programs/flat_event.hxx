// The flat data set: f00..f49 float, i0..i9 int, vf00..vf29 vector<float>, vi0..vi9 vector<int>.
// The vectors form five collections of equal multiplicity, with six vf and two vi each.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "random.hxx"

struct FlatEvent {
  float f[50];
  int i[10];
  std::vector<float> vf[30];
  std::vector<int> vi[10];

  void generate(uint64_t seed, uint64_t entry) {
    Random random(seed, entry);
    for (int k = 0; k < 50; k++) f[k] = scalar_float(k % 5, random.uniform() + 1e-7f);
    for (int k = 0; k < 10; k++) i[k] = scalar_int(k, entry, random());
    static const int largest[5] = {3, 6, 8, 4, 10};
    for (int c = 0; c < 5; c++) {
      const int n = static_cast<int>((random() >> 32) % (largest[c] + 1));
      for (int k = 0; k < 6; k++) {
        vf[c * 6 + k].resize(n);
        for (auto& x : vf[c * 6 + k]) x = item_float(k, random.uniform() + 1e-7f);
      }
      for (int k = 0; k < 2; k++) {
        vi[c * 2 + k].resize(n);
        for (auto& x : vi[c * 2 + k]) {
          const uint64_t r = random() >> 32;
          x = k == 0 ? static_cast<int>(r % 3) - 1 : static_cast<int>(r % 1000);
        }
      }
    }
  }

 private:
  static float scalar_float(int kind, float u) {
    switch (kind) {
      case 0:
        return -30.f * std::log(u);
      case 1:
        return 5.f * (u - .5f);
      case 2:
        return 6.2831853f * (u - .5f);
      case 3:
        return u < 0.6f ? 0.f : u * 100.f;
      default:
        return std::floor(u * 64) / 64.f;
    }
  }
  static int scalar_int(int k, uint64_t entry, uint64_t r) {
    if (k == 0) return static_cast<int>(entry);
    if (k < 4) return static_cast<int>((r >> 32) % (k * 10));
    if (k < 7) return (r >> 60) == 0;
    return static_cast<int>((r >> 32) & 0xffff);
  }
  static float item_float(int kind, float u) {
    switch (kind) {
      case 0:
        return -40.f * std::log(u);
      case 1:
        return 5.f * (u - .5f);
      case 2:
        return 6.2831853f * (u - .5f);
      case 3:
        return u < .5f ? 0.f : u * 10;
      case 4:
        return std::floor(u * 256) / 256.f;
      default:
        return u;
    }
  }
};

// Calls visit(name, member) for each column.
template <class Visitor>
void for_each_column(FlatEvent& event, Visitor&& visit) {
  const auto name = [](const char* prefix, int k, int width) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%0*d", prefix, width, k);
    return std::string(text);
  };
  for (int k = 0; k < 50; k++) visit(name("f", k, 2), event.f[k]);
  for (int k = 0; k < 10; k++) visit(name("i", k, 1), event.i[k]);
  for (int k = 0; k < 30; k++) visit(name("vf", k, 2), event.vf[k]);
  for (int k = 0; k < 10; k++) visit(name("vi", k, 1), event.vi[k]);
}
