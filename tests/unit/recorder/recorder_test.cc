// SPDX-License-Identifier: Apache-2.0
// The recorder against real processes: children of the test write events as ranks do.
#include "mapcore/recorder/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "mapcore/binding/affinity.h"
#include "mapcore/profile/reader.h"
#include "mapcore/recorder/running_sums.h"
#include "mapcore/segment/channel_writer.h"
#include "mapcore/segment/header_check.h"
#include "mapcore/segment/segment_create.h"
#include "mapcore/step/file_of_node.h"
#include "tests/unit/catch.h"
#include "tests/unit/step/forbid_call.h"

using namespace ondeloc;

namespace {

constexpr std::uint32_t kRanks = 3;
constexpr std::uint64_t kEvents = 20'000;
const std::vector<std::uint32_t> kWorld = {4, 6, 5};  // of a world of eight

struct Rank {
  char* base;
  ondeloc_header& header() const { return *reinterpret_cast<ondeloc_header*>(base); }
  ondeloc_slot& slot(std::uint32_t local) const {
    return reinterpret_cast<ondeloc_slot*>(base + header().slots_offset)[local];
  }
  ondeloc_cell* row(std::uint32_t local) const {
    return reinterpret_cast<ondeloc_cell*>(base + header().rows_offset +
                                           header().row_stride * local);
  }
  char* channel() const { return base + ondeloc_places_of(kRanks, 8).segment_size; }
};

Rank map_segment(int fd) {
  struct stat info {};
  fstat(fd, &info);
  return {static_cast<char*>(mmap(nullptr, static_cast<std::size_t>(info.st_size),
                                  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))};
}

// Sends to the next local rank and now and then off the node, then is silent for a while. A victim
// dies in the middle. `note` is set in its slot before it sends.
[[noreturn]] void be_rank(int fd, std::uint32_t local, bool victim, useconds_t silent_us,
                          useconds_t late_us, std::uint32_t note) {
  usleep(late_us);
  const TaskSlot task{local, kWorld[local], getpid(), process_start_time(getpid()), {}};
  if (write_task_slot(fd, task) != 0) _exit(1);
  const Rank rank = map_segment(fd);
  ChannelWriter writer;
  writer.start(rank.channel(), kRanks, ONDELOC_RECORD_CELLS, local);
  rank.slot(local).owner_pid = getpid();
  rank.slot(local).notes = note;
  __atomic_store_n(&rank.slot(local).rank_state, ONDELOC_RANK_ATTACHED, __ATOMIC_RELEASE);
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    const bool off = i % 100 == 0;
    const std::uint32_t to = (local + 1) % kRanks;
    ondeloc_cell& cell = rank.row(local)[off ? kRanks : to];
    cell.bytes += i;
    cell.messages += 1;
    writer.write(monotonic_ns(), off ? 0 : kWorld[to], i);
    if (victim && i == kEvents / 2) raise(SIGKILL);
    if (i % 1000 == 0) usleep(1000);
  }
  usleep(silent_us);
  __atomic_store_n(&rank.slot(local).rank_state, ONDELOC_RANK_DETACHED, __ATOMIC_RELEASE);
  usleep(50'000);
  _exit(0);
}

struct Step {
  UniqueFd segment;
  UniqueFd records, stepd;  // slurmstepd's pipe: its end says that the node is over
  std::vector<pid_t> pids;
  // late_us: how long it takes the tasks to tell their world ranks; 0: slurmstepd knows them.
  explicit Step(int victim = -1, useconds_t silent_us = 0, useconds_t late_us = 0,
                const std::vector<std::uint32_t>& notes = {0, 0, 0}) {
    const std::vector<std::uint32_t> unknown(kRanks, kRankOfTask);
    SegmentPlan plan;
    plan.world_ranks = 8;
    plan.world_of_local = late_us > 0 ? unknown : kWorld;
    plan.job_id = 17;
    plan.step_id = 3;
    plan.uid = getuid();
    plan.gid = getgid();
    plan.record_cells = ONDELOC_RECORD_CELLS;
    segment = std::move(*create_segment(plan));
    int ends[2];
    REQUIRE(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    records.reset(ends[0]);
    stepd.reset(ends[1]);
    for (std::uint32_t local = 0; local < kRanks; ++local) {
      const pid_t pid = fork();
      if (pid == 0)
        be_rank(segment.get(), local, static_cast<int>(local) == victim, silent_us, late_us,
                notes[local]);
      pids.push_back(pid);
    }
  }
  ~Step() {
    for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  }
};

MapperConfig config_for(const Step& step, const std::string& file) {
  MapperConfig config;
  config.segment_fd = step.segment.get();
  config.channel_fd = step.records.get();
  config.options = *parse_options("profile:" + file + ",verbose");
  config.node = "n1";
  return config;
}

std::string path_of(const Step& step, const MapperConfig& config) {
  return file_of_node(config.options.file, map_segment(step.segment.get()).header(), config.node);
}

std::string temporary_profile() {
  return (std::filesystem::temp_directory_path() / fmt::format("ondeloc-{}-%j.%s.%N", getpid()))
      .string();
}

}  // namespace

TEST_CASE("every message of every rank is in the profile, with exact totals") {
  const std::string pattern = temporary_profile();
  std::string path;
  {
    const Step step;
    const MapperConfig config = config_for(step, pattern);
    const auto lines = run_recorder(config);
    CAPTURE(lines.empty() ? "" : lines.front());
    REQUIRE(lines.size() == 1);  // verbose
    path = path_of(step, config);
  }
  CHECK(path.ends_with("-17.3.n1"));
  auto profile = ProfileReader::open(path);
  REQUIRE(profile.ok());
  CHECK(profile->complete());
  CHECK(profile->header().job == 17);
  CHECK(profile->header().realtime_ns > 0);
  CHECK(profile->ranks() == 8);
  CHECK(profile->events() == kRanks * kEvents);
  const auto recorded = profile->cpus();
  REQUIRE(recorded.size() == kRanks);
  for (std::size_t i = 0; i < kRanks; ++i) {
    CHECK(recorded[i].rank == 4 + i);
    CHECK(recorded[i].cpus.is_subset_of(profile->step_cpus()));
  }
  CHECK(profile->step_cpus() == *get_affinity(0));
  // All ranks were recorded, and nothing was lost.
  REQUIRE(profile->drops().size() == kRanks);
  for (const RankDrops& drops : profile->drops()) CHECK(drops.events == 0);
  std::map<std::pair<std::uint32_t, std::uint32_t>, PairTotal> sums;
  profile->for_each({}, [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& e : events) {
      // Rows have no cell for each destination off the node.
      PairTotal& sum = sums[{e.src, e.dst == 0 ? e.src : e.dst}];
      sum.bytes += e.bytes;
      sum.messages += 1;
    }
  });
  REQUIRE(profile->totals().size() == sums.size());
  for (const PairTotal& total : profile->totals()) {
    CHECK(sums[{total.src, total.dst}].bytes == total.bytes);
    CHECK(sums[{total.src, total.dst}].messages == total.messages);
  }
  std::filesystem::remove(path);
}

TEST_CASE("world ranks that the tasks tell late are those of their messages") {
  std::string path;
  {
    const Step step(-1, 0, 150'000);
    const MapperConfig config = config_for(step, temporary_profile());
    CHECK(run_recorder(config).size() == 1);
    path = path_of(step, config);
  }
  auto profile = ProfileReader::open(path);
  REQUIRE(profile.ok());
  std::map<std::uint32_t, std::uint64_t> by_sender;
  profile->for_each({}, [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& e : events) by_sender[e.src] += 1;
  });
  CHECK(by_sender ==
        std::map<std::uint32_t, std::uint64_t>{{4, kEvents}, {5, kEvents}, {6, kEvents}});
  REQUIRE(profile->totals().size() == 2 * kRanks);  // the next rank, and off the node
  std::filesystem::remove(path);
}

TEST_CASE("the messages of a killed rank are recorded to the last one") {
  std::string path;
  {
    const Step step(1);
    const MapperConfig config = config_for(step, temporary_profile());
    CHECK(run_recorder(config).size() == 1);
    path = path_of(step, config);
  }
  auto profile = ProfileReader::open(path);
  REQUIRE(profile.ok());
  CHECK(profile->events() == (kRanks - 1) * kEvents + kEvents / 2 + 1);
  std::filesystem::remove(path);
}

TEST_CASE(
    "the user is told of messages that are not recorded; all other notes are in the profile only") {
  std::string path;
  const std::vector<std::string> told = {
      "ranks 4, 6: windows of shared memory are used: loads and stores in them are not counted",
      "rank 6: MPI_COMM_WORLD has another size than the step: left alone",
      "rank 5 cannot open ondeloc's shared memory: its messages are not recorded"};
  {
    const Step step(
        -1, 0, 0,
        {ONDELOC_NOTE_SHARED_WINDOW | ONDELOC_NOTE_THREAD_MULTIPLE,
         ONDELOC_NOTE_SHARED_WINDOW | ONDELOC_NOTE_WORLD_SIZE, ONDELOC_NOTE_TRANSPORT_PMIX});
    const MapperConfig config = config_for(step, temporary_profile());
    auto lines = run_recorder(config);
    REQUIRE(!lines.empty());
    lines.pop_back();  // verbose
    CHECK(lines == told);
    path = path_of(step, config);
  }
  auto profile = ProfileReader::open(path);
  REQUIRE(profile.ok());
  const auto has = [&](const std::string& note) {
    return std::count(profile->notes().begin(), profile->notes().end(), note) == 1;
  };
  for (const std::string& note : told) CHECK(has(note));
  CHECK(has("rank 4: MPI_THREAD_MULTIPLE: counters are updated atomically"));
  std::filesystem::remove(path);
}

TEST_CASE("a program without MPI is noted in the profile only") {
  const std::string pattern = temporary_profile();
  const std::vector<std::uint32_t> world = {0};
  const UniqueFd segment = [&] {
    SegmentPlan plan;
    plan.world_ranks = 1;
    plan.world_of_local = world;
    plan.uid = getuid();
    plan.gid = getgid();
    plan.record_cells = ONDELOC_RECORD_CELLS;
    return std::move(*create_segment(plan));
  }();
  const pid_t pid = fork();
  if (pid == 0) {
    const TaskSlot task{0, 0, getpid(), process_start_time(getpid()), {}};
    _exit(write_task_slot(segment.get(), task) == 0 ? 0 : 1);
  }
  MapperConfig config;
  config.segment_fd = segment.get();
  config.options = *parse_options("profile:" + pattern + ",verbose");
  config.node = "n1";
  const auto lines = run_recorder(config);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("n1: 0 messages recorded, 0 B between the ranks of the node and 0 B to other "
                      "nodes, in a file of ") == 0);
  CHECK(lines[0].find("; the event channel: at most ") != std::string::npos);
  CHECK(lines[1] ==
        "n1: no process called MPI_Init with ondeloc's library: nothing was counted or moved");
  waitpid(pid, nullptr, 0);
  const std::string path =
      file_of_node(config.options.file, map_segment(segment.get()).header(), config.node);
  auto profile = ProfileReader::open(path);
  REQUIRE(profile.ok());
  CHECK(std::count(
            profile->notes().begin(), profile->notes().end(),
            "no process called MPI_Init with ondeloc's library: nothing was counted or moved") ==
        1);
  std::filesystem::remove(path);
}

TEST_CASE("a second recorder on one file takes another name and says so") {
  const Step step;
  const MapperConfig config = config_for(step, temporary_profile());
  const std::string path = path_of(step, config);
  const std::string other = fmt::format("{}.17.3.{}", path, getpid());
  profile_format::FileHeader header;
  header.ranks = 8;
  auto first = ProfileWriter::create(path, header);
  REQUIRE(first.ok());
  REQUIRE(first->add({1, 4, 5, 6}).ok());
  REQUIRE(first->flush().ok());
  const auto lines = run_recorder(config);
  REQUIRE(lines.size() == 2);  // verbose
  CHECK(lines[0] == "profile '" + path +
                        "' is locked by another step, or by a process of any user who can read "
                        "the file; this step adds '" +
                        other.substr(path.size()) + "' to the name");
  REQUIRE(first->finish().ok());
  const std::map<std::string, std::uint64_t> wanted = {{path, 1}, {other, kRanks * kEvents}};
  for (const auto& [name, events] : wanted) {
    auto profile = ProfileReader::open(name);
    REQUIRE(profile.ok());
    CHECK(profile->complete());
    CHECK(profile->events() == events);
    std::filesystem::remove(name);
  }
}

TEST_CASE("the user is told the other name of a profile, however long the path is") {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("ondeloc-{}-{}", getpid(), std::string(150, 'x'));
  std::filesystem::create_directory(folder);
  const Step step;
  const MapperConfig config = config_for(step, folder / "app.prof");
  profile_format::FileHeader header;
  header.ranks = 8;
  auto first = ProfileWriter::create(path_of(step, config), header);
  REQUIRE(first.ok());
  const auto lines = run_recorder(config);
  REQUIRE(!lines.empty());
  CHECK(lines[0].find("/app.prof") != std::string::npos);
  CHECK(lines[0].find(fmt::format("'.17.3.{}'", getpid())) < 180);  // the plugin cuts at 200
  REQUIRE(first->finish().ok());
  std::filesystem::remove_all(folder);
}

TEST_CASE("a file system without locks is written as ever, and a finished profile replaced") {
  const std::string path = temporary_profile();
  profile_format::FileHeader header;
  header.ranks = 8;
  auto first = ProfileWriter::create(path, header);
  REQUIRE(first.ok());
  const auto again = ProfileWriter::create(path, header);
  REQUIRE(!again.ok());
  CHECK(again.error().code() == EWOULDBLOCK);
  bool forbidden = false, written = false;
  std::thread([&] {
    forbidden = forbid_call(SYS_flock, ENOSYS);
    written = ProfileWriter::create(path, header).ok();
  }).join();
  CHECK(forbidden);
  CHECK(written);
  REQUIRE(first->finish().ok());
  CHECK(ProfileWriter::create(path, header).ok());
  CHECK(std::filesystem::file_size(path) == 256);  // the header alone
  std::filesystem::remove(path);
}

TEST_CASE("a profile that cannot be written is one line, the ranks run on") {
  const Step step;
  const auto lines = run_recorder(config_for(step, "/nonexistent/dir/file"));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("/nonexistent/dir/file.n1") != std::string::npos);
  CHECK(lines[0].find("nothing is recorded") != std::string::npos);
}

TEST_CASE("without room for a header no file is left, and the message promises no block") {
  const std::string link = temporary_profile(), path = link + ".there";
  REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
  profile_format::FileHeader header;
  header.ranks = 8;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old = signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t room : {rlim_t{0}, rlim_t{100}}) {
    const rlimit tight{room, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
    const auto writer = ProfileWriter::create(link, header);
    setrlimit(RLIMIT_FSIZE, &before);
    REQUIRE(!writer.ok());
    CHECK(writer.error().message() == "profile '" + link + "' cannot be written: File too large");
    CHECK(!std::filesystem::exists(path));
    CHECK(std::filesystem::is_symlink(link));
  }
  signal(SIGXFSZ, old);
  std::filesystem::remove(link);
}

TEST_CASE("a recorder without a file sleeps: it looks after the ranks and nothing else") {
  const Step step(-1, 700'000);
  rusage before{}, after{};
  const auto start = std::chrono::steady_clock::now();
  getrusage(RUSAGE_SELF, &before);
  REQUIRE(run_recorder(config_for(step, "/nonexistent/dir/file")).size() == 1);
  getrusage(RUSAGE_SELF, &after);
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  // Awake every 20 ms, not every one.
  CHECK(static_cast<double>(after.ru_nvcsw - before.ru_nvcsw) < milliseconds / 5);
}

TEST_CASE("drops and totals are in the file before its end, each change once") {
  const Step step;
  for (const pid_t pid : step.pids)
    waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOWAIT);
  auto view = SegmentView::open(step.segment.get());
  REQUIRE(view.ok());
  EventPools pools(view->channel(), kRanks, ONDELOC_RECORD_CELLS);
  const std::string path = temporary_profile();
  profile_format::FileHeader header;
  header.ranks = 8;
  auto writer = ProfileWriter::create(path, header);
  RunningSums sums(*view, pools, kWorld);
  ondeloc_pool_at(view->channel(), kRanks, ONDELOC_RECORD_CELLS, 1)->dropped_events = 5;
  sums.write(*writer);
  auto profile = ProfileReader::open(path);
  REQUIRE(profile.ok());
  CHECK(!profile->complete());
  REQUIRE(profile->drops().size() == kRanks);
  for (const RankDrops& drops : profile->drops())
    CHECK(drops.events == (drops.rank == kWorld[1] ? 5 : 0));
  CHECK(profile->totals().size() == 2 * kRanks);  // the next rank, and off the node
  const std::uint64_t octets = writer->octets();
  for (int i = 0; i < 5; ++i) sums.write(*writer);
  CHECK(writer->octets() == octets);
  const Rank rank = map_segment(step.segment.get());
  rank.row(2)[0].messages += 1;
  sums.write_last(*writer);
  CHECK(writer->octets() > octets);
  std::filesystem::remove(path);
}

TEST_CASE("the first totals are in the file at the first write that has some") {
  const Step step;
  for (const pid_t pid : step.pids)
    waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOWAIT);
  auto view = SegmentView::open(step.segment.get());
  REQUIRE(view.ok());
  EventPools pools(view->channel(), kRanks, ONDELOC_RECORD_CELLS);
  const std::string path = temporary_profile();
  profile_format::FileHeader header;
  header.ranks = 8;
  auto writer = ProfileWriter::create(path, header);
  std::vector<std::uint32_t> world(kRanks, kWorldRankUnknown);
  RunningSums sums(*view, pools, world);
  for (int i = 0; i < 9; ++i) sums.write(*writer);  // ranks are in MPI_Init
  world.assign(kWorld.begin(), kWorld.end());
  sums.write(*writer);
  const auto profile = ProfileReader::open(path);
  REQUIRE(profile.ok());
  CHECK(profile->totals().size() == 2 * kRanks);
  std::filesystem::remove(path);
}
