// The limit of reading: decompress exactly the baskets that the case needs, with the best libraries, from a mapped file
// in the page cache, and swap the bytes (4-byte words) into one final array.
#include <algorithm>
#include <atomic>
#include <thread>

#include "basket_codec.hxx"
#include "job.hxx"
#include "measure.hxx"

static void swap_words(const unsigned char* in, unsigned char* out, long bytes) {
  auto from = reinterpret_cast<const uint32_t*>(in);
  auto to = reinterpret_cast<uint32_t*>(out);
  for (long i = 0; i < bytes / 4; i++) to[i] = __builtin_bswap32(from[i]);
}

int main() try {
  const Job job;
  const MappedFile file(job.text("file"));
  const auto baskets = read_basket_list(job.text("baskets"));
  long largest = 0, total = 0, stored = 0, place = 0;
  std::vector<long> places;
  for (auto& b : baskets) {
    places.push_back(place);
    place += (b.uncompressed_bytes + 63) / 64 * 64;
    largest = std::max(largest, b.uncompressed_bytes);
    total += b.uncompressed_bytes;
    stored += b.compressed_bytes;
  }
  std::vector<unsigned char> final_array(place, 1);  // touched: no page faults in the timing

  struct Sample {
    int64_t wall_ns, cpu_ns;
  };
  std::vector<Sample> samples;
  for (int repetition = 0; repetition < job.number("repetitions", 3); repetition++) {
    std::atomic<size_t> next{0};
    const Stopwatch watch;
    std::vector<std::thread> threads;
    for (int t = 0; t < job.threads(); t++)
      threads.emplace_back([&] {
        constexpr size_t kBatch = 16;
        Decompressor decompressor;
        std::vector<unsigned char> scratch(largest + 64);
        for (size_t first; (first = next.fetch_add(kBatch)) < baskets.size();)
          for (size_t i = first; i < std::min(first + kBatch, baskets.size()); i++) {
            const auto& b = baskets[i];
            decompressor.decompress(file.at(b.offset), b.compressed_bytes, scratch.data(), b.uncompressed_bytes);
            swap_words(scratch.data(), &final_array[places[i]], b.uncompressed_bytes);
          }
      });
    for (auto& t : threads) t.join();
    samples.push_back({watch.wall_ns(), watch.cpu_ns()});
  }
  const auto median = [&](auto member) {
    std::sort(samples.begin(), samples.end(), [&](auto& a, auto& b) { return a.*member < b.*member; });
    return samples[samples.size() / 2].*member;
  };
  finish({{"wall_ns", median(&Sample::wall_ns)},
          {"cpu_ns", median(&Sample::cpu_ns)},
          {"values_bytes", total},
          {"bytes_read", stored},
          {"n_baskets", baskets.size()},
          {"peak_rss_bytes", peak_rss_bytes()}});
} catch (const std::exception& e) {
  fail(e.what());
}
