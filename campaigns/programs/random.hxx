// xorshift64*, seeded from (seed, entry), so that any thread can make any entry.
#pragma once
#include <cstdint>

class Random {
 public:
  Random(uint64_t seed, uint64_t entry) : state_(mix(mix(seed) + entry) | 1) {}

  uint64_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1Dull;
  }
  uint64_t below(uint64_t n) { return ((*this)() >> 32) % n; }  // n below 2^32
  float uniform() { return ((*this)() >> 40) * (1.f / 16777216.f); }  // [0, 1)

 private:
  static uint64_t mix(uint64_t x) {  // splitmix64
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  uint64_t state_;
};
