// SPDX-License-Identifier: Apache-2.0
// The mapper loop against real processes: children of the test write rows as ranks do, and the test
// reads their masks from outside.
#include "mapcore/mapper/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/proc.h"
#include "mapcore/options/mapper_messages.h"
#include "mapcore/options/option_table.h"
#include "mapcore/report/report_json.h"
#include "mapcore/segment/event_record.h"
#include "mapcore/segment/segment_create.h"
#include "mapcore/step/stopped_time.h"
#include "tests/unit/catch.h"
#include "tests/unit/step/fake_step.h"
#include "tests/unit/step/forbid_call.h"
#include "tests/unit/step/wait_until.h"
#include "tests/unit/temp_dir.h"

namespace run_test {
using namespace ondeloc;

namespace {

using namespace fake_step;

std::string temporary_report() {
  return (std::filesystem::temp_directory_path() /
          fmt::format("ondeloc-{}-%j.%s.%N.json", getpid()))
      .string();
}

nlohmann::json take_json(const std::string& path) {
  std::ifstream in(path);
  auto json = nlohmann::json::parse(in);
  std::filesystem::remove(path);
  return json;
}

bool two_cpus() { return get_affinity(0)->test(PuOs(0)) && get_affinity(0)->test(PuOs(1)); }

MapperConfig config_for(const Step& step, const std::string& report) {
  MapperConfig config;
  config.segment_fd = step.segment.get();
  config.options =
      *parse_options("online,interval=50ms,max-interval=200ms,algorithm=ondeloc:together,verbose");
  config.options.report = report;
  config.node = "n1";
  config.topology = "numa:2 core:1 pu:1";
  config.sample_every = {};  // the tests see by the tick that an interval has ended
  return config;
}

// Each rank has to have sent to its partner: under load a child may start late.
void wait_until_all_sent(const Rank& rows, int bit) {
  for (int local = 0; local < kRanks; ++local)
    wait_until([&] { return rows.cell(local, local ^ bit).messages != 0; });
}

// Runs the mapper until `other` has ended the step, which it is joined for. Closes the channel.
nlohmann::json run_beside(std::thread& other, const Step& step, const int (&channel)[2],
                          Decide decide = Decide::kAuto) {
  const std::string pattern = temporary_report();
  auto config = config_for(step, pattern);
  config.options.decide = decide;
  config.channel_fd = channel[0];
  (void)run_mapper(config);
  other.join();
  for (const int end : channel) close(end);
  return take_json(expand_pattern(pattern, 17, 3, "n1"));
}

}  // namespace

TEST_CASE("partners are brought together while the ranks run, and the report tells it", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  const CpuSet both = *CpuSet::parse_list("0-1");
  // Ranks 0 and 1 begin on one node: partners that are not neighbours have to be brought together.
  Step step(std::vector<CpuSet>(kRanks, both), std::vector<Habit>(kRanks), 2);
  const std::string pattern = temporary_report();
  std::vector<std::string> masks_then;
  const Rank rows = attach(step.segment.get());
  std::thread other([&] {
    const auto mask_of = [&](int local) {
      return *get_affinity(step.pids[static_cast<std::size_t>(local)]);
    };
    // Looks at all four ranks: during a remap two ranks may meet that are not at their place yet.
    const auto together = [&](int bit) {
      for (int local = 0; local < kRanks; ++local)
        if (mask_of(local).count() != 1 || mask_of(local) != mask_of(local ^ bit)) return false;
      return mask_of(0) != mask_of(3 ^ bit);
    };
    auto wait_for = [&](int bit) { wait_until([&] { return together(bit); }); };
    wait_until_all_sent(rows, 2);
    wait_for(2);
    masks_then.push_back(together(2) ? "phase 1 together" : "phase 1 apart");
    *step.partner_bit = 1;
    wait_for(1);
    wait_until_all_sent(rows, 1);
    masks_then.push_back(together(1) ? "phase 2 together" : "phase 2 apart");
    *step.partner_bit = -1;
  });
  const auto lines = run_mapper(config_for(step, pattern));
  other.join();
  CHECK(masks_then == std::vector<std::string>{"phase 1 together", "phase 2 together"});
  REQUIRE(lines.size() >= 3);  // the summary, the verdict and the levels
  CHECK(lines[0].find("n1: 4 ranks") == 0);
  CHECK(lines[1].find("n1: moved ranks in ") == 0);
  const auto report = take_json(expand_pattern(pattern, 17, 3, "n1"));
  CHECK(report["job"] == 17);
  CHECK(report["step"] == 3);
  CHECK(report["options"].size() == key_rows().size());
  for (const KeyRow& row : key_rows()) CHECK(report["options"].contains(std::string(row.name)));
  CHECK(report["options"]["max-interval"] == "200ms");
  CHECK(report["totals"]["remaps"] >= 2);
  CHECK(report["matrix"].size() == 8);
  for (const auto& cell : report["matrix"])
    CHECK(cell["bytes"] == 20'000'000 * cell["messages"].get<std::uint64_t>());
  for (const auto& one : report["ranks"]) CHECK(one["initial_cpus"] == "0-1");
  const auto& remap = *std::find_if(report["intervals"].begin(), report["intervals"].end(),
                                    [](const auto& line) { return line["remapped"] == true; });
  CHECK(remap["remote_share_before"] >= 0.9);
  CHECK(remap["remote_share_after"] <= 0.1);
  CHECK(remap["moved"].size() >= 2);
  CHECK(lines[2].find("across packages") != std::string::npos);
  CHECK(remap["domains"].back()["domain"] == "machine");
  CHECK(remap["domains"].back()["bytes_before"] > remap["domains"].back()["bytes_after"]);
  std::uint64_t sent = 0, before = 0, after = 0;
  for (const auto& cell : report["matrix"]) sent += cell["messages"].get<std::uint64_t>();
  for (const auto& level : report["totals"]["domains"]) {
    before += level["messages_before"].get<std::uint64_t>();
    after += level["messages_after"].get<std::uint64_t>();
  }
  CHECK(before == sent);
  CHECK(after == sent);
  CHECK(report["totals"]["remote_share_before"].is_number());
  CHECK(report["totals"]["remote_share_after"].is_number());
  CHECK(report["topology"]["caches"].size() == 2);
  CHECK(report["model"]["latency"] == "default");
}

TEST_CASE("ranks that talk to other nodes only are kept from loading one memory", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  const CpuSet left = *CpuSet::parse_list("0"), right = *CpuSet::parse_list("1");
  Step step({left, left, right, right});
  *step.partner_bit = kOffNode;
  const auto apart = [&] { return *get_affinity(step.pids[0]) != *get_affinity(step.pids[1]); };
  bool moved = false;
  std::thread other([&] {
    const Rank rows = attach(step.segment.get());
    const auto is_over = [&] { return (moved = apart()) && rows.header().tick >= 3; };
    // The masks are set once the processes run, which is before they send.
    for (int local = 0; local < 2; ++local) {
      wait_until([&] { return rows.cell(local, kRanks).messages != 0; });
    }
    wait_until(is_over);
    *step.partner_bit = -1;
  });
  const std::string pattern = temporary_report();
  auto config = config_for(step, pattern);
  config.options.algorithm = "coordinated";
  (void)run_mapper(config);
  other.join();
  CHECK(moved);
  const auto report = take_json(expand_pattern(pattern, 17, 3, "n1"));
  INFO(report["intervals"].dump());
  CHECK(report["totals"]["remaps"] == 1);
}

// A pipe in place of hwloc's file tells whether somebody reads the topology.
TEST_CASE("the topology is read while ranks are in MPI_Init, and not for programs without MPI") {
  const std::string pipe = temporary_report();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  setenv("HWLOC_XMLFILE", pipe.c_str(), 1);
  const auto is_read = [&](const Habit& habit) {
    Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)), std::vector<Habit>(kRanks, habit));
    bool read = false;
    std::thread other([&] {
      UniqueFd writer;
      wait_until([&] {
        writer = UniqueFd(open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
        return writer.valid() || step.is_over();
      });
      read = writer.valid();
      *step.partner_bit = -1;
    });
    auto config = config_for(step, "");
    config.topology = "";
    (void)run_mapper(config);
    other.join();
    return read;
  };
  CHECK(is_read({.only_starts = true}));
  CHECK_FALSE(is_read({.attaches = false}));
  unsetenv("HWLOC_XMLFILE");
  unlink(pipe.c_str());
}

TEST_CASE("a note compares what a rank says it sent with what came") {
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
  int channel[2];
  REQUIRE(pipe2(channel, O_NONBLOCK | O_CLOEXEC) == 0);
  for (const std::uint32_t sequence : {1U, 4U}) {
    ondeloc_record_sample sample{};
    sample.head = {
        ONDELOC_RECORD_MAGIC, ONDELOC_RECORD_VERSION, ONDELOC_RECORD_SAMPLE, sizeof(sample), 1, 7};
    sample.sequence = sequence;
    REQUIRE(write(channel[1], &sample, sizeof(sample)) == sizeof(sample));
  }
  ondeloc_record_detach detach{};
  detach.head = {
      ONDELOC_RECORD_MAGIC, ONDELOC_RECORD_VERSION, ONDELOC_RECORD_DETACH, sizeof(detach), 1, 7};
  detach.samples = 5;
  detach.local.messages = 1'000'000;
  REQUIRE(write(channel[1], &detach, sizeof(detach)) == sizeof(detach));
  std::thread other([&] {
    usleep(100'000);
    *step.partner_bit = -1;
    close(channel[1]);
  });
  const std::string pattern = temporary_report();
  auto config = config_for(step, pattern);
  config.channel_fd = channel[0];
  (void)run_mapper(config);
  other.join();
  close(channel[0]);
  const auto report = take_json(expand_pattern(pattern, 17, 3, "n1"));
  CHECK(report["events"]["sample"] == 2);
  CHECK(report["events"]["dropped"] == 3);  // two in between, one behind the last
  const std::string notes = report["notes"].dump();
  CHECK(notes.find("messages are missing in the matrix") != notes.npos);
}

TEST_CASE("events are taken together: each wakes the mapper no more often than some milliseconds") {
  using Clock = std::chrono::steady_clock;
  constexpr int kSamples = 200;
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
  int channel[2];
  REQUIRE(pipe2(channel, O_NONBLOCK | O_CLOEXEC) == 0);
  long wakes_before = 0, wakes_after = 0;
  Clock::duration took{};
  std::atomic<pid_t> mapper_thread = 0;
  const auto wakes = [&] {
    std::ifstream status(fmt::format("/proc/self/task/{}/status", mapper_thread.load()));
    std::string word;
    while (status >> word && word != "voluntary_ctxt_switches:") continue;
    long count = 0;
    status >> count;
    return count;
  };
  std::thread other([&] {
    const Rank rows = attach(step.segment.get());
    const auto is_going = [&] { return mapper_thread != 0 && rows.header().tick >= 1; };
    wait_until(is_going);
    wakes_before = wakes();
    const auto start = Clock::now();
    for (std::uint32_t i = 1; i <= kSamples; ++i) {
      ondeloc_record_sample sample{};
      sample.head = {ONDELOC_RECORD_MAGIC,
                     ONDELOC_RECORD_VERSION,
                     ONDELOC_RECORD_SAMPLE,
                     sizeof(sample),
                     1,
                     7};
      sample.sequence = i;
      CHECK(write(channel[1], &sample, sizeof(sample)) == sizeof(sample));
      usleep(1000);
    }
    took = Clock::now() - start;
    wakes_after = wakes();
    *step.partner_bit = -1;
  });
  mapper_thread = gettid();
  const auto report = run_beside(other, step, channel);
  CHECK(report["events"]["sample"] == kSamples);
  // Two for each pause of 5 ms, and what turns and slots need.
  CHECK(wakes_after - wakes_before <= 2 * (took / std::chrono::milliseconds(5)) + 30);
}

TEST_CASE("the moves of an earlier report are repeated at their times", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  const CpuSet both = *CpuSet::parse_list("0-1");
  Step step(std::vector<CpuSet>(kRanks, both), std::vector<Habit>(kRanks), 2);
  const std::string pattern = temporary_report(), series = pattern + ".series";
  std::ofstream(expand_pattern(series, 17, 3, "n1"))
      << R"({"intervals": [{"t": 0.02, "moved": [], "moved_to": []},)"
      << R"({"t": 0.3, "moved": [1, 2], "moved_to": ["1", "0"]}]})";
  auto config = config_for(step, pattern);
  config.options.repeat = series;
  std::vector<CpuSet> masks;
  std::thread other([&] {
    const auto mask = [&](std::size_t local) { return *get_affinity(step.pids[local]); };
    wait_until([&] { return mask(1).first() == 1 && mask(1).count() == 1; });
    for (std::size_t local = 0; local < kRanks; ++local) masks.push_back(mask(local));
    *step.partner_bit = -1;
  });
  (void)run_mapper(config);
  other.join();
  std::filesystem::remove(expand_pattern(series, 17, 3, "n1"));
  const auto report = take_json(expand_pattern(pattern, 17, 3, "n1"));
  CHECK(report["notes"].dump().find("left out") == std::string::npos);
  int remaps = 0;
  for (const auto& line : report["intervals"]) {
    if (line["remapped"] != true) continue;
    ++remaps;
    CHECK(line["decision"] == "repeats");
    CHECK(line["t"] >= 0.3);
    CHECK(line["moved"] == nlohmann::json{1, 2});
  }
  CHECK(remaps == 1);
  CHECK(masks[1] == *CpuSet::parse_list("1"));
}

// Returns the lines of a mapper that ends after two turns, and its report.
auto run_two_turns(Step& step, const MapperConfig& config, const std::string& pattern) {
  std::thread other([&] {
    const Rank rows = attach(step.segment.get());
    wait_until([&] { return rows.header().tick >= 2; });
    *step.partner_bit = -1;
  });
  auto lines = run_mapper(config);
  other.join();
  return std::pair(std::move(lines), take_json(expand_pattern(pattern, 17, 3, "n1")));
}

TEST_CASE("a report of repeat= that cannot be read moves nobody, and one line says so") {
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
  const std::string pattern = temporary_report();
  auto config = config_for(step, pattern);
  config.options.repeat = "/nonexistent/report.json";
  const auto [lines, report] = run_two_turns(step, config, pattern);
  CHECK(report["totals"]["remaps"] == 0);
  REQUIRE(!lines.empty());
  CHECK(lines[0].starts_with("no moves are repeated: "));
}

// Writes into a pipe when somebody opens it to read. A mapper that waits for a writer does not hang
// then.
class Feeder {
 public:
  explicit Feeder(const std::string& path) {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    thread_ = std::thread([this, path] {
      sigset_t gone;  // the reader may have closed the pipe before the write
      sigemptyset(&gone);
      sigaddset(&gone, SIGPIPE);
      (void)pthread_sigmask(SIG_BLOCK, &gone, nullptr);
      while (!over_) {
        const UniqueFd pipe(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
        if (pipe.valid()) (void)!write(pipe.get(), "{}", 2);
        usleep(5000);
      }
    });
  }
  ~Feeder() {
    over_ = true;
    thread_.join();
  }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST_CASE("a pipe as machine= or repeat= is refused and not waited for") {
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
  const std::string pattern = temporary_report();
  const TempDir dir;
  const Feeder machine(dir.file("machine")), moves(dir.file("moves"));
  auto config = config_for(step, pattern);
  config.machine_file = dir.file("machine");
  config.options.repeat = dir.file("moves");
  const auto [lines, report] = run_two_turns(step, config, pattern);
  CHECK(report["notes"].dump().find("machine: not a regular file; name one; predictions") !=
        std::string::npos);
  REQUIRE(!lines.empty());
  CHECK(lines[0].ends_with("moves: not a regular file; name one"));
}

// Room for so many ranks, for the mapper's own descriptor and for one that it opens to read.
// The limit is a number that no descriptor reaches, so descriptors inherited above a gap count.
class FewDescriptors {
 public:
  explicit FewDescriptors(int ranks) {
    (void)getrlimit(RLIMIT_NOFILE, &before_);
    int limit = 0;
    for (int free = ranks + 2; free > 0; ++limit)
      if (fcntl(limit, F_GETFD) < 0) --free;
    const rlimit tight{static_cast<rlim_t>(limit), before_.rlim_max};
    is_set_ = setrlimit(RLIMIT_NOFILE, &tight) == 0;
  }
  ~FewDescriptors() { end(); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

  bool is_set() const { return is_set_; }
  void end() { (void)setrlimit(RLIMIT_NOFILE, &before_); }  // the mapper writes its report with it

 private:
  rlimit before_{};
  bool is_set_ = false;
};

TEST_CASE("a rank without a file descriptor left is reported, and not taken to have ended") {
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
  const std::string pattern = temporary_report();
  auto config = config_for(step, pattern);
  FewDescriptors few(3);
  REQUIRE(few.is_set());
  std::thread other([&] {
    const Rank rows = attach(step.segment.get());
    wait_until([&] { return rows.header().tick >= 1; });
    few.end();
    *step.partner_bit = -1;
  });
  (void)run_mapper(config);
  other.join();
  const auto report = take_json(expand_pattern(pattern, 17, 3, "n1"));
  const std::string notes = report["notes"].dump();
  CHECK(notes.find("the limit of open files") != notes.npos);
}

TEST_CASE("without pidfd_open ranks are followed all the same, to their end") {
  const std::string pattern = temporary_report();
  for (const int error : {ENOSYS, EPERM}) {
    Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
    bool forbidden = false;
    std::thread mapper([&] {
      forbidden = forbid_call(SYS_pidfd_open, error);
      if (forbidden) (void)run_mapper(config_for(step, pattern));
    });
    const Rank rows = attach(step.segment.get());
    const auto follows = [&] { return rows.header().tick >= 3; };  // it goes on, with ranks
    wait_until(follows);
    CHECK(follows());
    // Only its end tells the mapper about that process.
    kill(step.pids[1], SIGKILL);
    *step.partner_bit = -1;
    mapper.join();
    REQUIRE(forbidden);
    const auto report = take_json(expand_pattern(pattern, 17, 3, "n1"));
    CHECK(report["notes"].dump().find("MPI_Init") == std::string::npos);
    for (std::size_t i = 0; i < kRanks; ++i) CHECK(report["ranks"][i]["pid"] == step.pids[i]);
  }
}

TEST_CASE("a rank that dies and a slot with a wrong pid end the mapper without a message") {
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
  // A pid that is not a child of the task: never believed.
  const Rank rank = attach(step.segment.get());
  usleep(50000);
  rank.slot(2).owner_pid = 1;
  kill(step.pids[1], SIGKILL);
  std::thread other([&] {
    usleep(300000);
    *step.partner_bit = -1;
  });
  auto config = config_for(step, "");
  config.topology = "";
  config.options.verbose = false;
  CHECK(run_mapper(config).empty());
  other.join();
}

// The report of a step whose ranks send for some time.
nlohmann::json report_with(const std::vector<Habit>& habits) {
  int channel[2];  // open: the mapper waits for ranks that start late
  REQUIRE(pipe2(channel, O_NONBLOCK | O_CLOEXEC) == 0);
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)), habits);
  std::thread other([&] {
    const Rank rows = attach(step.segment.get());
    wait_until_all_sent(rows, 1);
    usleep(200'000);
    *step.partner_bit = -1;
  });
  return run_beside(other, step, channel);
}

bool has_note(const nlohmann::json& report, const std::string& note) {
  INFO(report["notes"].dump());
  CHECK(!report["notes"].empty());
  return std::count(report["notes"].begin(), report["notes"].end(), note) == 1;
}

TEST_CASE("a process from outside the task is counted but not moved, and the report says so") {
  const Habit stranger{.owner = getpid()};
  const auto all = report_with(std::vector<Habit>(kRanks, stranger));
  CHECK(all["matrix"].size() == kRanks);
  CHECK(has_note(all, "all ranks: attached from outside the task: counted, not moved"));
  CHECK(all["notes"].dump().find("MPI_Init") == std::string::npos);
  const auto some = report_with({{}, stranger, {}, stranger});
  CHECK(has_note(some, "ranks 1, 3: attached from outside the task: counted, not moved"));
  CHECK(some["notes"].dump().find("MPI_Init") == std::string::npos);
}

std::vector<CpuSet> masks_of(const Step& step) {
  std::vector<CpuSet> masks;
  for (const pid_t pid : step.pids) masks.push_back(*get_affinity(pid));
  return masks;
}

// Ranks 0 and 2, 1 and 3 talk across the two CPUs, two ranks on each. Returns the report, and where
// the ranks were in the end: after four looks at traffic of all of them, and then as soon as
// `is_done` says so of their masks. On a busy machine single looks decide nothing.
std::pair<nlohmann::json, std::vector<CpuSet>> report_of_crossed(
    const std::vector<Habit>& habits,
    const std::function<bool(const std::vector<CpuSet>&)>& is_done) {
  const CpuSet left = *CpuSet::parse_list("0"), right = *CpuSet::parse_list("1");
  int channel[2];
  REQUIRE(pipe2(channel, O_NONBLOCK | O_CLOEXEC) == 0);
  Step step({left, left, right, right}, habits);
  *step.partner_bit = 2;
  std::vector<CpuSet> masks;
  std::thread other([&] {
    const Rank rows = attach(step.segment.get());
    wait_until_all_sent(rows, 2);
    const auto tick = rows.header().tick;
    wait_until([&] { return rows.header().tick >= tick + 4; });
    wait_until([&] { return is_done(masks_of(step)); });
    masks = masks_of(step);
    *step.partner_bit = -1;
  });
  auto report = run_beside(other, step, channel);
  return {std::move(report), masks};
}

TEST_CASE("no interval has the time for which the step was stopped, and the report says so") {
  const auto at = StoppedTime::Clock::now();
  StoppedTime stopped;
  CHECK(stopped.woke(at, at + std::chrono::milliseconds(900)).count() == 0);
  CHECK(stopped.note().empty());
  CHECK(stopped.woke(at, at + std::chrono::seconds(7)) == std::chrono::seconds(7));

  int channel[2];
  REQUIRE(pipe2(channel, O_NONBLOCK | O_CLOEXEC) == 0);
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
  const std::string pattern = temporary_report();
  auto config = config_for(step, pattern);
  config.channel_fd = channel[0];
  const pid_t mapper = fork();
  if (mapper == 0) {
    (void)run_mapper(config);
    _exit(0);
  }
  const auto begin = StoppedTime::Clock::now();
  const Rank rows = attach(step.segment.get());
  wait_until([&] { return rows.header().tick >= 2; });
  CHECK(kill(mapper, SIGSTOP) == 0);
  usleep(2'500'000);
  CHECK(kill(mapper, SIGCONT) == 0);
  const auto tick = rows.header().tick;
  wait_until([&] { return rows.header().tick >= tick + 2; });
  *step.partner_bit = -1;
  waitpid(mapper, nullptr, 0);
  const std::chrono::duration<double, std::milli> all = StoppedTime::Clock::now() - begin;
  for (const int end : channel) close(end);
  const auto report = take_json(expand_pattern(pattern, 17, 3, "n1"));
  CHECK(report["totals"]["wall_ms"] < all.count() - 2000);
  CHECK(report["intervals"].back()["t"] < (all.count() - 2000) / 1000);
  CHECK(report["notes"].dump().find("the step was stopped for") != std::string::npos);
}

TEST_CASE("the life of the mapper has the start of its program, as its CPU time has") {
  const Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)),
                  std::vector<Habit>(kRanks, Habit{.attaches = false}));
  const std::string pattern = temporary_report();
  auto config = config_for(step, pattern);
  config.born -= std::chrono::seconds(7000);
  (void)run_mapper(config);
  CHECK(take_json(expand_pattern(pattern, 17, 3, "n1"))["totals"]["wall_ms"] > 7'000'000);
}

std::ptrdiff_t shared_by(const std::vector<CpuSet>& masks, int cpu) {
  return std::count_if(masks.begin(), masks.end(),
                       [&](const CpuSet& mask) { return mask.test(PuOs(cpu)); });
}

TEST_CASE("no rank takes the place of a rank that cannot be moved", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  const auto shared_by = [](const std::vector<CpuSet>& masks, int cpu) {
    return std::count_if(masks.begin(), masks.end(),
                         [&](const CpuSet& mask) { return mask.test(PuOs(cpu)); });
  };
  const Habit stranger{.owner = getpid()};
  // The others can be brought to them: 0 with 2 on one CPU, 1 with 3 on the other.
  const auto [half, half_masks] =
      report_of_crossed({stranger, {}, {}, stranger}, [](const std::vector<CpuSet>& masks) {
        return masks[2] == masks[0] && masks[1] == masks[3];
      });
  CHECK(half_masks[0] == *CpuSet::parse_list("0"));
  CHECK(half_masks[3] == *CpuSet::parse_list("1"));
  CHECK(half_masks[2] == half_masks[0]);
  CHECK(half_masks[1] == half_masks[3]);
  CHECK(half["totals"]["remaps"] >= 1);
  // Both of one CPU stay: two of the three places of a better mapping are theirs.
  const auto [none, none_masks] =
      report_of_crossed({stranger, stranger, {}, {}}, [](const auto&) { return true; });
  CHECK(shared_by(none_masks, 0) == 2);
  CHECK(shared_by(none_masks, 1) == 2);
  double share = 0;  // of the last interval that has traffic: the first may have that of before
  for (const auto& line : none["intervals"])
    if (line["bytes"] > 0) share = line["remote_share_after"];
  CHECK(share >= 0.9);
}

TEST_CASE("no rank takes the place of a rank that the mapper cannot follow", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  const CpuSet left = *CpuSet::parse_list("0"), right = *CpuSet::parse_list("1");
  int channel[2];
  REQUIRE(pipe2(channel, O_NONBLOCK | O_CLOEXEC) == 0);
  Step step({left, left, right, right});
  *step.partner_bit = 2;
  std::vector<CpuSet> masks;
  FewDescriptors few(3);
  REQUIRE(few.is_set());
  std::thread other([&] {
    const Rank rows = attach(step.segment.get());
    wait_until_all_sent(rows, 2);
    const auto tick = rows.header().tick;
    wait_until([&] { return rows.header().tick >= tick + 4; });
    masks = masks_of(step);
    few.end();
    *step.partner_bit = -1;
  });
  const auto report = run_beside(other, step, channel, Decide::kAlways);
  CHECK(shared_by(masks, 0) == 2);
  CHECK(shared_by(masks, 1) == 2);
  CHECK(report["notes"].dump().find("the limit of open files") != std::string::npos);
}

TEST_CASE(
    "the report says what is missing of a rank that counts by itself and ends without DETACH") {
  const Habit crashes{.note = ONDELOC_NOTE_TRANSPORT_PMIX, .detaches = false};
  const Habit ends_well{.note = ONDELOC_NOTE_TRANSPORT_PMIX};
  const auto report = report_with({{.detaches = false}, crashes, ends_well, crashes});
  CHECK(has_note(report,
                 "ranks 1, 3: ended without MPI_Finalize: what was sent since the last interval "
                 "is not counted"));
}

TEST_CASE("if no rank attaches, the report has the CPUs of the step, not of the machine",
          "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  const Habit silent{.attaches = false};
  const std::vector<CpuSet> masks(kRanks, *CpuSet::parse_list("0"));
  const Step step(masks, std::vector<Habit>(kRanks, silent));
  for (const pid_t pid : step.pids)
    waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOWAIT);
  const std::string pattern = temporary_report();
  const auto lines = run_mapper(config_for(step, pattern));
  REQUIRE(lines.size() >= 2);  // verbose: nobody was moved, and why
  CHECK(lines[0].find("0 remaps") != std::string::npos);
  CHECK(lines[1] == "n1: nothing was counted: no process called MPI_Init with ondeloc's library");
  CHECK(std::none_of(lines.begin() + 2, lines.end(),
                     [](const std::string& line) { return line.find("MPI_Init") != line.npos; }));
  const auto report = take_json(expand_pattern(pattern, 17, 3, "n1"));
  CHECK(report["topology"]["cpus"] == "0");
  REQUIRE(report["topology"]["numa"].size() == 1);
  CHECK(report["topology"]["numa"][0]["pus"] == "0");
  CHECK(has_note(
      report, "no process called MPI_Init with ondeloc's library: nothing was counted or moved"));
}

TEST_CASE("the report of a static step names no algorithm") {
  const TempDir dir;
  const Habit silent{.attaches = false};
  const Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)),
                  std::vector<Habit>(kRanks, silent));
  for (const pid_t pid : step.pids)
    waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOWAIT);
  auto config = config_for(step, "");
  config.options = *parse_options("static:ranks.txt");
  config.options.report = dir.file("r.json");
  (void)run_mapper(config);
  const auto report = take_json(dir.file("r.json"));
  CHECK(report["mode"] == "static");
  CHECK(report["algorithm"] == "none");
}

TEST_CASE("a step writes a report for the site only if its user wants none") {
  const TempDir dir;
  const Habit silent{.attaches = false};
  const std::vector<CpuSet> masks(kRanks, *get_affinity(0));
  const auto run = [&](const std::string& own, const std::string& directory,
                       std::uint32_t restarts = 0) {
    const Step step(masks, std::vector<Habit>(kRanks, silent));
    for (const pid_t pid : step.pids)
      waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOWAIT);
    auto config = config_for(step, own);
    config.options.verbose = false;
    config.report_dir = directory;
    config.partition = "batch";
    config.restarts = restarts;
    return run_mapper(config);
  };
  CHECK(run(dir.file("own.json"), dir.path()).empty());
  CHECK(dir.files() == 1);
  CHECK(run("", dir.path()).empty());
  const auto report = take_json(dir.file("ondeloc-17.3.n1.json"));
  CHECK(report["complete"] == true);
  CHECK(report["origin"]["partition"] == "batch");
  CHECK(report["origin"]["user"] == fmt::format("uid {}", getuid()));
  const auto lines = run("", dir.file("none"));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with(std::string(1, kForLog) + "no report: "));
  // A requeued job has the same number, and its steps have the same numbers.
  CHECK(run("", dir.path()).empty());
  CHECK(run("", dir.path(), 1).empty());
  CHECK_FALSE(take_json(dir.file("ondeloc-17.3.n1.json"))["origin"].contains("restarts"));
  CHECK(take_json(dir.file("ondeloc-17.r1.3.n1.json"))["origin"]["restarts"] == "1");
}

TEST_CASE(
    "the site's log has one line of a step, or the summary too, and the user has none of it") {
  const Habit silent{.attaches = false};
  const std::vector<CpuSet> masks(kRanks, *get_affinity(0));
  const auto lines = [&](SiteLog log) {
    const Step step(masks, std::vector<Habit>(kRanks, silent));
    for (const pid_t pid : step.pids)
      waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOWAIT);
    auto config = config_for(step, "");
    config.options.verbose = false;
    config.log = log;
    return run_mapper(config);
  };
  CHECK(lines(SiteLog::kNone).empty());
  const auto one = lines(SiteLog::kLine);
  REQUIRE(one.size() == 1);
  CHECK(one[0].starts_with(std::string(1, kForLog) + "online, 4 ranks, 0 remaps, 0 migrations, "));
  CHECK(one[0].find("; nothing was counted: ") != std::string::npos);
  const auto more = lines(SiteLog::kVerbose);
  CHECK(more.size() > 2);
  for (const std::string& line : more) CHECK(line.front() == kForLog);
}

// A rank ends, and then its DETACH comes, as by way of other daemons.
nlohmann::json report_with_late_detach() {
  int channel[2];
  REQUIRE(pipe2(channel, O_NONBLOCK | O_CLOEXEC) == 0);
  const Habit tells{.note = ONDELOC_NOTE_TRANSPORT_PMIX, .detaches = false};
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)), {tells, {}, {}, {}});
  std::thread other([&] {
    usleep(200'000);
    *step.partner_bit = -1;
    for (const pid_t pid : step.pids)
      waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOWAIT);
    usleep(20'000);  // the mapper has seen the ends by now
    ondeloc_record_detach detach{};
    detach.head = {
        ONDELOC_RECORD_MAGIC, ONDELOC_RECORD_VERSION, ONDELOC_RECORD_DETACH, sizeof(detach), 0, 7};
    CHECK(write(channel[1], &detach, sizeof(detach)) == sizeof(detach));
  });
  return run_beside(other, step, channel);
}

TEST_CASE("the DETACH of a rank that has ended is waited for") {
  // Not for long: on a busy machine it may come too late once.
  nlohmann::json report;
  for (int i = 0; i < 5 && (i == 0 || report["events"]["detach"] == 0); ++i)
    report = report_with_late_detach();
  CHECK(report["events"]["detach"] == 1);
  CHECK(report["notes"].dump().find("without MPI_Finalize") == std::string::npos);
}

TEST_CASE("a bad segment or topology is one line") {
  MapperConfig config;
  config.segment_fd = -1;
  CHECK(run_mapper(config).size() == 1);
  UniqueFd file(memfd_create("x", 0));
  config.segment_fd = file.get();
  CHECK(run_mapper(config).size() == 1);
  Step step(std::vector<CpuSet>(kRanks, *get_affinity(0)));
  config = config_for(step, "");
  config.topology = "nonsense";
  CHECK(run_mapper(config)[0].find("topology 'nonsense'") != std::string::npos);
}

}  // namespace run_test
