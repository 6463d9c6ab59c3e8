// SPDX-License-Identifier: Apache-2.0
// bench_mapper_cost ONDELOC_MAPPER [INTERVALS [ROWS TRAFFIC]]: measures the CPU time of
// ondeloc-mapper by number of rows. The real program reads a real segment, whose rows are claimed
// and written by as many processes: a ring (two peers), a stencil (up to six) and all-to-all, in a
// mapping that needs no change, which is the usual interval. Each process is bound to a CPU of this
// machine, which the mapper takes for up to 8 NUMA nodes. The kernel tells the mapper's CPU time in
// nanoseconds: after the first six intervals of 500 ms, which contain the start, and INTERVALS
// (default 40) later. ROWS and TRAFFIC, such as 128 all, choose one case.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "mapcore/options/mapper_arguments.h"
#include "mapcore/segment/segment_create.h"
#include "mapcore/segment/segment_view.h"
#include "tests/bench/machine.h"

namespace {

using namespace ondeloc;

constexpr int kIntervalMs = 500;
constexpr int kFirst = 6;  // intervals with the start and the first searches
constexpr int kMostNodes = 8;

enum class Pattern { kRing, kStencil, kAll };

bool talk(Pattern pattern, int from, int to) {
  if (from == to) return false;
  if (pattern == Pattern::kAll) return true;
  const int apart = std::abs(from - to);
  if (pattern == Pattern::kRing) return apart == 1;
  return apart == 1 || apart == 4 || apart == 16;
}

int nodes() { return std::min(kMostNodes, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }
int cores_of_node() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) / nodes(); }
int cpu_of(int rank, int ranks) { return rank * nodes() * cores_of_node() / ranks; }

// A rank: claims its row and adds to it now and then, as the rank library does.
[[noreturn]] void be_rank(int fd, const ondeloc_header& header, int self, Pattern pattern) {
  auto* base = static_cast<char*>(
      mmap(nullptr, header.segment_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (base == MAP_FAILED) _exit(1);
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(static_cast<std::size_t>(cpu_of(self, static_cast<int>(header.local_ranks))), &own);
  if (sched_setaffinity(0, sizeof own, &own) != 0) _exit(1);
  auto* slot = reinterpret_cast<ondeloc_slot*>(base + header.slots_offset) + self;
  auto* row = reinterpret_cast<ondeloc_cell*>(base + header.rows_offset +
                                              static_cast<std::size_t>(self) * header.row_stride);
  const UsedCells used = used_cells_of(row, header.local_ranks, header.world_ranks);
  for (int peer = 0; peer < static_cast<int>(header.local_ranks); ++peer)
    if (talk(pattern, self, peer)) used.mark(static_cast<std::uint32_t>(peer));
  std::strcpy(slot->library, "bench");  // every rank tells the name of its MPI library
  __atomic_store_n(&slot->owner_pid, getpid(), __ATOMIC_RELAXED);
  __atomic_store_n(&slot->rank_state, ONDELOC_RANK_ATTACHED, __ATOMIC_RELEASE);
  for (;;) {
    for (int peer = 0; peer < static_cast<int>(header.local_ranks); ++peer) {
      if (!talk(pattern, self, peer)) continue;
      __atomic_fetch_add(&row[peer].bytes, 1 << 20, __ATOMIC_RELAXED);
      __atomic_fetch_add(&row[peer].messages, 16, __ATOMIC_RELAXED);
    }
    usleep(100000);
  }
}

struct Usage {
  double start_ms = 0, later_ms = 0;  // CPU time of the first intervals and of the later ones
  long peak_kib = 0;
};

struct Step {
  UniqueFd segment;
  std::vector<pid_t> ranks;
  pid_t mapper = -1;
};

[[noreturn]] void be_mapper(const char* program, int fd) {
  fcntl(fd, F_SETFD, 0);
  MapperArguments call;
  call.segment_fd = fd;
  call.node = "bench";
  call.topology = fmt::format("numa:{} core:{} pu:1", nodes(), cores_of_node());
  call.options = fmt::format("online,interval={0}ms,max-interval={0}ms", kIntervalMs);
  const ProgramWords words = call.to_words();
  std::vector<char*> argv{const_cast<char*>(program)};
  for (const std::string& word : words.arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  for (const std::string& word : words.environment) putenv(const_cast<char*>(word.c_str()));
  execv(program, argv.data());
  _exit(127);
}

Result<Step> start(const char* mapper, int ranks, Pattern pattern) {
  std::vector<std::uint32_t> world(static_cast<std::size_t>(ranks));
  std::iota(world.begin(), world.end(), 0U);
  SegmentPlan plan;
  plan.world_ranks = static_cast<std::uint32_t>(ranks);
  plan.world_of_local = world;
  plan.uid = getuid();
  plan.gid = getgid();
  auto segment = create_segment(plan);
  if (!segment) return std::move(segment).error();
  Step step{*std::move(segment), {}, -1};
  auto view = SegmentView::open(step.segment.get());
  if (!view) return std::move(view).error();
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) be_rank(step.segment.get(), view->header(), rank, pattern);
    step.ranks.push_back(pid);
    const auto cpu = static_cast<std::size_t>(cpu_of(rank, ranks));
    std::vector<std::uint64_t> mask(cpu / 64 + 1);
    mask.back() = 1ULL << (cpu % 64);
    write_task_slot(step.segment.get(), {.local_rank = static_cast<std::uint32_t>(rank),
                                         .world_rank = static_cast<std::uint32_t>(rank),
                                         .pid = pid,
                                         .start_time = process_start_time(pid),
                                         .mask = mask});
  }
  step.mapper = fork();
  if (step.mapper == 0) be_mapper(mapper, step.segment.get());
  return step;
}

// CPU time of all threads of the process so far, in milliseconds; below 0 if it has ended.
double cpu_ms(pid_t pid) {
  double sum = -1;
  std::error_code failed;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), failed)) {
    std::ifstream file(thread.path() / "schedstat");
    double nanoseconds = 0;
    if (file >> nanoseconds) sum = std::max(sum, 0.0) + 1e-6 * nanoseconds;
  }
  return sum;
}

// Ends the step. Returns the peak memory of the mapper in KiB, 0 if it failed or ended too early.
long stop(Step& step) {
  const bool lasted = waitpid(step.mapper, nullptr, WNOHANG) == 0;
  for (const pid_t pid : step.ranks) kill(pid, SIGKILL);
  for (const pid_t pid : step.ranks) waitpid(pid, nullptr, 0);
  if (!lasted) return 0;
  rusage usage{};
  int status = 0;
  wait4(step.mapper, &status, 0, &usage);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? usage.ru_maxrss : 0;
}

void wait_for(int intervals) { usleep(static_cast<useconds_t>(intervals) * kIntervalMs * 1000); }

Result<Usage> measure(const char* mapper, int ranks, Pattern pattern, int intervals) {
  auto step = start(mapper, ranks, pattern);
  if (!step) return std::move(step).error();
  wait_for(kFirst);
  const double first = cpu_ms(step->mapper);
  wait_for(intervals);
  const double all = cpu_ms(step->mapper);
  const long peak = stop(*step);
  if (peak == 0 || first < 0) return Error("ondeloc-mapper failed");
  return Usage{first, all - first, peak};
}

struct Case {
  int ranks;
  const char* name;
  Pattern pattern;
};
constexpr Case kCases[] = {{32, "ring", Pattern::kRing},        {32, "stencil", Pattern::kStencil},
                           {32, "all", Pattern::kAll},          {128, "ring", Pattern::kRing},
                           {128, "stencil", Pattern::kStencil}, {128, "all", Pattern::kAll}};

int print_line(const char* mapper, const Case& chosen, int intervals) {
  auto usage = measure(mapper, chosen.ranks, chosen.pattern, intervals);
  if (!usage) {
    fmt::print(stderr, "bench_mapper_cost: {}\n", usage.error().message());
    return 1;
  }
  const double each = usage->later_ms / intervals;
  fmt::print("{:>5} {:<8} {:>12.3f} {:>18.3f} % {:>10.1f} {:>10.1f}\n", chosen.ranks, chosen.name,
             each, 100 * each / kIntervalMs, usage->start_ms - kFirst * each,
             static_cast<double>(usage->peak_kib) / 1024);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return fmt::print(stderr, "bench_mapper_cost ONDELOC_MAPPER [INTERVALS [ROWS TRAFFIC]]\n"), 2;
  const int intervals = argc > 2 ? std::max(1, std::atoi(argv[2])) : 40;
  bench::print_machine();
  fmt::print("rows  traffic  ms/interval  share of one core    start ms   peak MiB\n");
  int failed = 0, run = 0;
  for (const Case& each : kCases) {
    if (argc > 4 && (each.ranks != std::atoi(argv[3]) || std::string(each.name) != argv[4]))
      continue;
    failed += print_line(argv[1], each, intervals);
    ++run;
  }
  if (run == 0) fmt::print(stderr, "bench_mapper_cost: no case has these ROWS and this TRAFFIC\n");
  return failed == 0 && run > 0 ? 0 : 1;
}
