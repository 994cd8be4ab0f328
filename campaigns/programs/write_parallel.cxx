// ROOT's parallel writers under a framework's load: streams that work on events, and hand each to one file.
//
//   tbuffermerger     a tree of each stream's own, a cluster each `flush` entries, merged each `autosave` of them
//   rntuple-parallel  a fill context for each stream, a cluster each `flush` entries
//
// A wait is the time of a call of the writer in which its thread had no processor: it waited for another stream's compression
// or merging, or for a core. ROOT says nothing of its own waits. TBufferMerger has no queue any more (6.40), and no autosave of its own: its
// memory over time stands for both.
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>

#include <ROOT/REntry.hxx>
#include <ROOT/RNTupleFillContext.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleParallelWriter.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/TBufferMerger.hxx>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "job.hxx"
#include "measure.hxx"

// xorshift64*, as the example `parallel_output` of the writer's crate has it.
struct Random {
  uint64_t state;
  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dULL;
  }
  int64_t work_ns(int64_t mean_ns) {
    __int128 sum = 0;
    for (int i = 0; i < 12; i++) sum += next() >> 44;
    return std::max<int64_t>(0, mean_ns + int64_t((sum - (6 << 20)) * (mean_ns / 10) / (1 << 20)));
  }
  float value() { return float(next() >> 52) * 0.125f; }
};

static int64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void spin_since(int64_t started, int64_t length_ns) {
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - started < length_ns) {
  }
}

static int64_t rss_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

struct Waits {
  int64_t n_stalls = 0, stalls_ns = 0, stalled_ns = 0, longest_ns = 0, writing_ns = 0, running_ns = 0;

  template <typename W> void during(const W& work) {
    const int64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work();
    const int64_t busy = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    const int64_t waited = std::max<int64_t>(0, clock_ns(CLOCK_MONOTONIC) - wall - busy);
    writing_ns += busy;
    stalled_ns += waited;
    longest_ns = std::max(longest_ns, waited);
    if (waited >= 100000000) {
      n_stalls++;
      stalls_ns += waited;
    }
  }

  void add(const Waits& other) {
    n_stalls += other.n_stalls;
    stalls_ns += other.stalls_ns;
    stalled_ns += other.stalled_ns;
    longest_ns = std::max(longest_ns, other.longest_ns);
    writing_ns += other.writing_ns;
    running_ns += other.running_ns;
  }
};

struct Shape {
  int n_numbers, n_lists, list_length;
  explicit Shape(const std::string& name) {
    const int n_columns = name == "miniaod" ? 400 : name == "aod" ? 1600 : std::stoi(name.substr(5));
    list_length = name == "aod" ? 40 : 15;
    n_numbers = n_columns / 5;
    n_lists = n_columns - n_numbers;
  }
};

struct Event {
  std::vector<float> numbers;
  std::vector<std::vector<float>> lists;
  explicit Event(const Shape& shape) : numbers(shape.n_numbers), lists(shape.n_lists) {}
  void make(Random& random, const Shape& shape) {
    for (auto& number : numbers) number = random.value();
    for (auto& list : lists) {
      list.resize(random.next() % (2 * shape.list_length));
      for (auto& value : list) value = random.value();
    }
  }
};

int main() {
  Job job;
  ROOT::EnableThreadSafety();
  const Shape shape(job.text("shape"));
  const std::string engine = job.text("engine"), out = job.text("out");
  const int n_streams = job.number("n_streams"), codec = job.number("codec");
  const int64_t flush = job.number("flush"), autosave = job.number("autosave"), work_ns = job.number("work_ns"), n_events = job.number("n_events");
  std::atomic<int64_t> n_left{n_events};
  std::mutex mutex;
  Waits all;

  std::unique_ptr<ROOT::TBufferMerger> merger;
  std::unique_ptr<ROOT::RNTupleParallelWriter> writer;
  Stopwatch watch;
  if (engine == "tbuffermerger") {
    merger = std::make_unique<ROOT::TBufferMerger>(out.c_str(), "RECREATE", codec);
  } else {
    auto model = ROOT::RNTupleModel::CreateBare();
    for (int i = 0; i < shape.n_numbers; i++) model->MakeField<float>("n" + std::to_string(i));
    for (int i = 0; i < shape.n_lists; i++)
      model->MakeField<std::vector<float>>("v" + std::to_string(shape.n_numbers + i));
    ROOT::RNTupleWriteOptions options;
    options.SetCompression(codec);
    writer = ROOT::RNTupleParallelWriter::Recreate(std::move(model), "Events", out, options);
  }
  auto stream = [&](int number) {
    Random random{uint64_t(job.number("seed")) * 0x9e3779b97f4a7c15ULL ^ uint64_t(number + 1) * 0xd1342543de82ef95ULL};
    Event event(shape);
    Waits waits;
    int64_t n_filled = 0;
    auto events = [&](auto fill, auto end) {
      while (n_left.fetch_sub(1) > 0) {
        const int64_t started = clock_ns(CLOCK_MONOTONIC), begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        event.make(random, shape);
        spin_since(begun, random.work_ns(work_ns));
        waits.running_ns += clock_ns(CLOCK_MONOTONIC) - started;
        waits.during([&] {
          fill();
          if (++n_filled % (flush * autosave) == 0) end();
        });
      }
      waits.during(end);
    };
    if (merger) {
      auto file = merger->GetFile();
      auto tree = new TTree("Events", "Events");
      tree->SetDirectory(file.get());
      tree->SetAutoFlush(flush);
      tree->SetAutoSave(0);
      std::vector<std::vector<float>*> lists;
      for (auto& list : event.lists) lists.push_back(&list);
      for (int i = 0; i < shape.n_numbers; i++)
        tree->Branch(("n" + std::to_string(i)).c_str(), &event.numbers[i], ("n" + std::to_string(i) + "/F").c_str());
      for (int i = 0; i < shape.n_lists; i++)
        tree->Branch(("v" + std::to_string(shape.n_numbers + i)).c_str(), &lists[i]);
      events([&] { tree->Fill(); }, [&] { file->Write(); });
    } else {
      auto context = writer->CreateFillContext();
      auto entry = context->GetModel().CreateBareEntry();
      for (int i = 0; i < shape.n_numbers; i++) entry->BindRawPtr("n" + std::to_string(i), &event.numbers[i]);
      for (int i = 0; i < shape.n_lists; i++)
        entry->BindRawPtr("v" + std::to_string(shape.n_numbers + i), &event.lists[i]);
      events([&] { context->Fill(*entry); }, [&] { context->FlushCluster(); });
    }
    std::lock_guard<std::mutex> lock(mutex);
    all.add(waits);
  };
  std::atomic<bool> is_over{false};
  nlohmann::json samples = nlohmann::json::array();
  std::thread sampler([&] {
    // As the example of the writer's crate has them; the queue is not known.
    while (!is_over) {
      samples.push_back({watch.wall_ns() / 1000000, nullptr, nullptr, nullptr, rss_bytes()});
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  std::vector<std::thread> threads;
  for (int number = 0; number < n_streams; number++) threads.emplace_back(stream, number);
  for (auto& thread : threads) thread.join();
  const int64_t filled_ns = watch.wall_ns();
  merger.reset();
  writer.reset();
  is_over = true;
  sampler.join();
  nlohmann::json told = {
      {"wall_ns", watch.wall_ns()},      {"filled_ns", filled_ns},         {"n_events", n_events},
      {"work_ns", work_ns},              {"n_stalls", all.n_stalls},       {"stalls_ns", all.stalls_ns},
      {"stalled_ns", all.stalled_ns},    {"longest_ns", all.longest_ns},   {"writing_ns", all.writing_ns},
      {"running_ns", all.running_ns},    {"helping_ns", 0},                {"peak_rss_bytes", peak_rss_bytes()},
      {"cpu_ns", watch.cpu_ns()},        {"queue", samples},
  };
  std::cout << told.dump() << std::endl;
}
