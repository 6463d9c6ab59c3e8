// SPDX-License-Identifier: Apache-2.0
// Sends ten million messages through the real recorder into a file: rank processes write and count
// as the rank library does, and the recorder of ondeloc-mapper runs in a process of its own. Flood:
// each rank sends as fast as it can, with pools of several sizes; paced: at a rate that a node can
// sustain. Prints the rank's cost per message, the dropped share, throughput, the recorder's CPU
// time and memory, and bytes per message. Fails if recorded + dropped differs from sent.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <random>
#include <thread>

#include "mapcore/profile/reader.h"
#include "mapcore/recorder/recorder.h"
#include "mapcore/segment/channel_writer.h"
#include "mapcore/segment/header_check.h"
#include "mapcore/segment/segment_create.h"
#include "tests/bench/machine.h"

namespace {

using namespace ondeloc;

constexpr std::uint32_t kRanks = 4;
constexpr std::uint64_t kEvents = 10'000'000, kEach = kEvents / kRanks;
constexpr std::uint32_t kWorld[kRanks] = {0, 1, 2, 3};
constexpr std::uint64_t kBatch = 1000;

struct Load {
  const char* name;
  std::uint32_t cells;
  std::chrono::microseconds pause;  // after a batch
};

struct Segment {
  UniqueFd fd;
  char* base = nullptr;
  explicit Segment(std::uint32_t cells) {
    SegmentPlan plan;
    plan.world_ranks = kRanks;
    plan.world_of_local = kWorld;
    plan.uid = getuid();
    plan.gid = getgid();
    plan.record_cells = cells;
    fd = std::move(*create_segment(plan));
    struct stat info {};
    fstat(fd.get(), &info);
    base = static_cast<char*>(mmap(nullptr, static_cast<std::size_t>(info.st_size),
                                   PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  }
  ondeloc_header& header() const { return *reinterpret_cast<ondeloc_header*>(base); }
  ondeloc_slot& slot(std::uint32_t local) const {
    return reinterpret_cast<ondeloc_slot*>(base + header().slots_offset)[local];
  }
  char* channel() const { return base + ondeloc_places_of(kRanks, kRanks).segment_size; }
};

// Nanoseconds of CPU time inside write, reading the clock included. (Wall time would not do: there
// are more processes than CPUs.)
std::uint64_t send_all(ChannelWriter& writer, std::uint32_t local, const Load& load) {
  std::uint64_t spent = 0;
  std::minstd_rand random(local + 1);
  for (std::uint64_t sent = 0; sent < kEach; sent += kBatch) {
    const std::uint64_t begin = bench::cpu_ns();
    for (std::uint64_t i = sent; i < sent + kBatch; ++i) {
      const auto any = static_cast<std::uint32_t>(random());
      writer.write(monotonic_ns(), (local + 1 + any % 3) % kRanks, any % 10000);
    }
    spent += bench::cpu_ns() - begin;
    if (load.pause.count() > 0) std::this_thread::sleep_for(load.pause);
  }
  return spent;
}

[[noreturn]] void be_rank(const Segment& segment, std::uint32_t local, const Load& load) {
  const TaskSlot task{local, local, getpid(), process_start_time(getpid()), {}};
  if (write_task_slot(segment.fd.get(), task) != 0) _exit(1);
  ChannelWriter writer;
  writer.start(segment.channel(), kRanks, load.cells, local);
  segment.slot(local).owner_pid = getpid();
  __atomic_store_n(&segment.slot(local).rank_state, ONDELOC_RANK_ATTACHED, __ATOMIC_RELEASE);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // all ranks have started
  const std::uint64_t spent = send_all(writer, local, load);
  ondeloc_cell* row = reinterpret_cast<ondeloc_cell*>(segment.base + segment.header().rows_offset +
                                                      segment.header().row_stride * local);
  row[(local + 1) % kRanks] = {spent, kEach};  // its last message
  __atomic_store_n(&segment.slot(local).rank_state, ONDELOC_RANK_DETACHED, __ATOMIC_RELEASE);
  _exit(0);
}

[[noreturn]] void be_recorder(const Segment& segment, int records, const std::string& path) {
  MapperConfig config;
  config.segment_fd = segment.fd.get();
  config.channel_fd = records;
  config.options = *parse_options("profile:" + path);
  config.node = "bench";
  (void)run_recorder(config);
  _exit(0);
}

void print(const Load& load, const Segment& segment, double seconds, const rusage& recorder,
           ProfileReader& profile) {
  double dropped = 0, nanoseconds = 0;
  for (const RankDrops& drops : profile.drops()) dropped += static_cast<double>(drops.events);
  for (const PairTotal& total : profile.totals()) nanoseconds += static_cast<double>(total.bytes);
  const auto recorded = static_cast<double>(profile.events());
  const auto cpu =
      static_cast<double>(recorder.ru_utime.tv_sec + recorder.ru_stime.tv_sec) +
      1e-6 * static_cast<double>(recorder.ru_utime.tv_usec + recorder.ru_stime.tv_usec);
  fmt::print("{:<6} {:>5} {:>9.1f} {:>9.2f}% {:>13.3g} {:>13.3g} {:>9.1f} {:>9.1f} {:>8.2f}\n",
             load.name, segment.header().record_cells, nanoseconds / kEvents,
             100 * dropped / kEvents, kEvents / seconds, recorded / seconds, cpu / recorded * 1e9,
             static_cast<double>(recorder.ru_maxrss) / 1024,
             static_cast<double>(profile.file_octets()) / recorded);
}

// Returns false if a message is neither in the file nor counted.
bool run(const Load& load, const std::string& path) {
  const Segment segment(load.cells);
  int records[2];
  if (pipe2(records, O_NONBLOCK | O_CLOEXEC) != 0) return false;
  const pid_t recorder = fork();
  if (recorder == 0) be_recorder(segment, records[0], path);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint32_t local = 0; local < kRanks; ++local)
    if (fork() == 0) be_rank(segment, local, load);
  rusage usage{};
  wait4(recorder, nullptr, 0, &usage);
  const double seconds = bench::seconds_since(start) - 0.2;
  while (wait(nullptr) > 0) {
  }
  close(records[0]);
  close(records[1]);
  auto profile = ProfileReader::open(path);
  if (!profile) return false;
  print(load, segment, seconds, usage, *profile);
  std::uint64_t known = profile->events();
  for (const RankDrops& drops : profile->drops()) known += drops.events;
  std::filesystem::remove(path);
  return known == kEvents && profile->complete();
}

}  // namespace

int main() {
  bench::print_machine();
  const auto path =
      (std::filesystem::temp_directory_path() / fmt::format("ondeloc-rec-{}", getpid())).string();
  fmt::print("{} messages of {} ranks, recorder as a process of its own\n\n", kEvents, kRanks);
  fmt::print("{:<6} {:>5} {:>9} {:>10} {:>13} {:>13} {:>9} {:>9} {:>8}\n", "load", "cells",
             "ns/msg", "dropped", "sent/s", "recorded/s", "rec. ns", "rec. MiB", "bytes");
  using std::chrono::microseconds;
  const Load loads[] = {{"paced", ONDELOC_RECORD_CELLS, microseconds(5000)},
                        {"flood", 32, microseconds(0)},
                        {"flood", ONDELOC_RECORD_CELLS, microseconds(0)},
                        {"flood", ONDELOC_RECORD_CELLS_MAX, microseconds(0)}};
  bool exact = true;
  for (const Load& load : loads) exact &= run(load, path);
  fmt::print(
      "rec. ns, rec. MiB: the recorder's CPU time per recorded message and peak memory;\n"
      "bytes: of the file per recorded message\n");
  if (!exact) fmt::print("messages were lost without a count\n");
  return exact ? 0 : 1;
}
