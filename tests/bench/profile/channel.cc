// SPDX-License-Identifier: Apache-2.0
// Compares the event channel with two other designs: a buffer of 1 MiB per pair of processes with a
// pair of counters (the design that Chai et al. 2006 improve on), and a pipe with one write per
// message. Every rank is a process; the recorder polls every millisecond as in the product. Flood:
// each rank sends as fast as it can; paced: 1000 messages a millisecond. Cost is the rank's CPU
// time. The designs take turns in every round; compare the ratios of one run.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "mapcore/recorder/event_pools.h"
#include "mapcore/segment/channel_writer.h"
#include "tests/bench/machine.h"

namespace {

using namespace ondeloc;

constexpr std::uint32_t kRanks = 4;
constexpr std::uint64_t kFlood = 3'000'000, kPaced = 200'000;
constexpr int kRounds = 3;

struct Shared {  // of one run, between the processes
  std::atomic<std::uint32_t> ready{0}, done{0};
  std::atomic<std::uint64_t> nanoseconds{0}, dropped{0};
};

char* shared_memory(std::size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return static_cast<char*>(memory);
}

class Design {
 public:
  virtual ~Design() = default;
  virtual const char* name() const = 0;
  virtual void start_rank(std::uint32_t rank) = 0;
  virtual void write(std::uint64_t now, std::uint64_t bytes) = 0;
  virtual std::uint64_t dropped() const = 0;
  virtual std::uint64_t drain() = 0;  // the recorder's turn: events read
};

class Pools : public Design {
 public:
  Pools()
      : size_(ondeloc_channel_size(kRanks, ONDELOC_RECORD_CELLS)),
        base_(shared_memory(size_)),
        pools_(base_, kRanks, ONDELOC_RECORD_CELLS) {}
  ~Pools() override { munmap(base_, size_); }
  const char* name() const override { return "cell pools"; }
  void start_rank(std::uint32_t rank) override {
    rank_ = rank;
    writer_.start(base_, kRanks, ONDELOC_RECORD_CELLS, rank);
  }
  void write(std::uint64_t now, std::uint64_t bytes) override { writer_.write(now, 0, bytes); }
  std::uint64_t dropped() const override { return pools_.drops(rank_).events; }
  std::uint64_t drain() override {
    const auto take = [this](std::uint32_t, std::uint64_t base,
                             std::span<const ondeloc_event> events) {
      for (const ondeloc_event& event : events) sink_ += base + event.after_ns + event.bytes;
    };
    return pools_.drain(take) + pools_.drain_unfinished(take);
  }

 private:
  std::size_t size_;
  char* base_;
  EventPools pools_;
  ChannelWriter writer_;
  std::uint32_t rank_ = 0;
  std::uint64_t sink_ = 0;
};

struct Plain {
  std::uint64_t time, bytes;
};

class PairBuffers : public Design {
 public:
  PairBuffers() : base_(shared_memory(kRanks * sizeof(Buffer))) {}
  ~PairBuffers() override { munmap(base_, kRanks * sizeof(Buffer)); }
  const char* name() const override { return "pair buffers"; }
  void start_rank(std::uint32_t rank) override { mine_ = &at(rank); }
  void write(std::uint64_t now, std::uint64_t bytes) override {
    const std::uint64_t in = mine_->in.load(std::memory_order_relaxed);
    if (in - mine_->out.load(std::memory_order_acquire) == kPlaces) {
      ++dropped_;
      return;
    }
    mine_->events[in % kPlaces] = {now, bytes};
    mine_->in.store(in + 1, std::memory_order_release);
  }
  std::uint64_t dropped() const override { return dropped_; }
  std::uint64_t drain() override {
    std::uint64_t events = 0;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      Buffer& buffer = at(r);
      std::uint64_t out = buffer.out.load(std::memory_order_relaxed);
      const std::uint64_t in = buffer.in.load(std::memory_order_acquire);
      for (; out != in; ++out, ++events) {
        const Plain& event = buffer.events[out % kPlaces];
        sink_ += event.time + event.bytes;
      }
      buffer.out.store(out, std::memory_order_release);
    }
    return events;
  }

 private:
  static constexpr std::uint64_t kPlaces = (1U << 20) / sizeof(Plain);
  struct Buffer {
    alignas(64) std::atomic<std::uint64_t> in;
    alignas(64) std::atomic<std::uint64_t> out;
    Plain events[kPlaces];
  };
  Buffer& at(std::uint32_t rank) const { return reinterpret_cast<Buffer*>(base_)[rank]; }
  char* base_;
  Buffer* mine_ = nullptr;
  std::uint64_t dropped_ = 0, sink_ = 0;
};

class Pipe : public Design {
 public:
  Pipe() {
    if (pipe2(fds_, O_NONBLOCK | O_CLOEXEC) == 0) fcntl(fds_[1], F_SETPIPE_SZ, 1 << 20);
  }
  ~Pipe() override {
    close(fds_[0]);
    close(fds_[1]);
  }
  const char* name() const override { return "pipe"; }
  void start_rank(std::uint32_t) override {}
  void write(std::uint64_t now, std::uint64_t bytes) override {
    const Plain event{now, bytes};
    if (::write(fds_[1], &event, sizeof(event)) != sizeof(event)) ++dropped_;
  }
  std::uint64_t dropped() const override { return dropped_; }
  std::uint64_t drain() override {
    std::uint64_t events = 0;
    for (;;) {
      const ssize_t got = ::read(fds_[0], buffer_, sizeof(buffer_));
      if (got <= 0) return events;
      events += static_cast<std::uint64_t>(got) / sizeof(Plain);
    }
  }

 private:
  int fds_[2] = {-1, -1};
  Plain buffer_[4096];
  std::uint64_t dropped_ = 0;
};

void be_rank(Design& design, Shared& shared, std::uint32_t rank, bool flood) {
  design.start_rank(rank);
  ++shared.ready;
  while (shared.ready < kRanks) std::this_thread::yield();
  std::uint64_t spent = 0;
  const std::uint64_t events = flood ? kFlood : kPaced;
  for (std::uint64_t i = 0; i < events;) {
    const std::uint64_t begin = bench::cpu_ns();
    for (std::uint64_t k = 0; k < 1000; ++k, ++i) design.write(monotonic_ns(), i);
    spent += bench::cpu_ns() - begin;
    if (!flood) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  shared.nanoseconds += spent;
  shared.dropped += design.dropped();
  ++shared.done;
}

struct Outcome {
  double ns_per_message = 0, dropped_share = 0, events_per_second = 0;
  bool exact = true;
};

Outcome run(Design& design, bool flood) {
  auto* shared = new (shared_memory(sizeof(Shared))) Shared;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    if (fork() == 0) {
      be_rank(design, *shared, rank, flood);
      _exit(0);
    }
  }
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t read = 0;
  int pause_ms = 1;  // as the recorder does: 1 ms while events come, up to 20 ms while none do
  for (bool last = false; !last;) {
    last = shared->done == kRanks;
    const std::uint64_t got = design.drain();
    read += got;
    pause_ms = got > 0 ? 1 : std::min(2 * pause_ms, 20);
    if (!last) std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
  const double seconds = bench::seconds_since(start);
  while (wait(nullptr) > 0) {
  }
  const double all = static_cast<double>(kRanks * (flood ? kFlood : kPaced));
  Outcome outcome{static_cast<double>(shared->nanoseconds) / all,
                  static_cast<double>(shared->dropped) / all, static_cast<double>(read) / seconds,
                  static_cast<double>(read + shared->dropped) == all};
  munmap(shared, sizeof(Shared));
  return outcome;
}

using Make = std::unique_ptr<Design> (*)();

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The results of all rounds of one load.
struct Series {
  std::string name;
  std::vector<double> cost, dropped, speed;
};

// Results of the other design divided by those of the pools; medians of the rounds.
void print_ratios(const std::vector<Series>& designs) {
  const Series& pools = designs.front();
  for (const Series& other : designs) {
    if (&other == &pools) continue;
    fmt::print(
        "{} / {}: cost per message {:.2f}, events per second read {:.2f}; dropped {:.1f} % "
        "against {:.1f} %\n",
        other.name, pools.name, median(other.cost) / median(pools.cost),
        median(other.speed) / median(pools.speed), 100 * median(other.dropped),
        100 * median(pools.dropped));
  }
  fmt::print("\n");
}

double clock_cost() {
  const std::uint64_t begin = bench::cpu_ns();
  std::uint64_t sink = 0;
  for (int i = 0; i < 1'000'000; ++i) sink += monotonic_ns();
  const std::uint64_t end = bench::cpu_ns();
  return sink == 0 ? 0 : static_cast<double>(end - begin) / 1e6;
}

}  // namespace

int main() {
  bench::print_machine();
  fmt::print("{} ranks and the recorder as processes; reading the clock alone takes {:.1f} ns\n\n",
             kRanks, clock_cost());
  const Make designs[] = {
      []() -> std::unique_ptr<Design> { return std::make_unique<Pools>(); },
      []() -> std::unique_ptr<Design> { return std::make_unique<PairBuffers>(); },
      []() -> std::unique_ptr<Design> { return std::make_unique<Pipe>(); }};
  bool exact = true;
  fmt::print("{:<6} {:<14} {:>12} {:>10} {:>16}\n", "load", "design", "ns/message", "dropped",
             "events/s read");
  for (const bool flood : {false, true}) {
    std::vector<Series> series(std::size(designs));
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t d = 0; d < series.size(); ++d) {
        const std::unique_ptr<Design> design = designs[d]();
        const Outcome out = run(*design, flood);
        series[d].name = design->name();
        series[d].cost.push_back(out.ns_per_message);
        series[d].dropped.push_back(out.dropped_share);
        series[d].speed.push_back(out.events_per_second);
        exact &= out.exact;
        fmt::print("{:<6} {:<14} {:>12.1f} {:>9.1f}% {:>16.3g}\n", flood ? "flood" : "paced",
                   design->name(), out.ns_per_message, 100 * out.dropped_share,
                   out.events_per_second);
      }
    }
    print_ratios(series);
  }
  if (!exact) fmt::print("messages were lost without a count\n");
  return exact ? 0 : 1;
}
