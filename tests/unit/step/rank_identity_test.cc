// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/rank_identity.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "mapcore/segment/segment_create.h"
#include "mapcore/step/ranks.h"
#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

using Variables = std::map<std::string, std::string>;

const Variables kRankThree = {
    {"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "2"},
    {"SLURM_PROCID", "3"},  {"PMIX_NAMESPACE", "slurm.pmix.17.2"},
    {"PMIX_RANK", "3"},     {"ONDELOC_STEP", "v1 fd=7 transport=shm job=17 step=2"}};

Variables changed(const std::string& name, const std::string& value) {
  Variables variables = kRankThree;
  variables[name] = value;
  return variables;
}

std::string environ_text(const Variables& variables) {
  std::string text = std::string("HOME=/root") + '\0';
  for (const auto& [name, value] : variables) text += name + "=" + value + '\0';
  return text;
}

// A /proc with the environments of process 20 and of the task 10.
bool are_same(const std::string& of_process, const std::string& of_task) {
  const TempDir root;
  for (const auto& [pid, text] : {std::pair("20", of_process), {"10", of_task}}) {
    std::filesystem::create_directories(root.file(std::string("proc/") + pid));
    write_text(root.file(std::string("proc/") + pid + "/environ"), text);
  }
  return is_same_rank(20, 10, root.path());
}

// `sleep` with these variables, a child of the test.
class Sleeper {
 public:
  explicit Sleeper(const Variables& variables) {
    std::vector<std::string> words;
    for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& word : words) environment.push_back(word.data());
    environment.push_back(nullptr);
    char name[] = "sleep", time[] = "600";
    char* arguments[] = {name, time, nullptr};
    REQUIRE(posix_spawnp(&pid_, "sleep", nullptr, nullptr, arguments, environment.data()) == 0);
    REQUIRE(shows_environment());
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  pid_t pid() const { return pid_; }

 private:
  // posix_spawn() can return before the kernel shows the environment of the new program.
  bool shows_environment() const {
    for (int turn = 0; turn < 5000; ++turn) {
      if (!read_text("/proc/" + std::to_string(pid_) + "/environ").empty()) return true;
      usleep(1000);
    }
    return false;
  }
  pid_t pid_ = 0;
};

// The state of a rank after the process has announced itself as the rank of the task.
RankState announced(pid_t task, pid_t process) {
  const std::vector<std::uint32_t> world = {3};
  const UniqueFd segment = *create_segment(
      {.world_ranks = 4, .world_of_local = world, .uid = getuid(), .gid = getgid()});
  const std::vector<std::uint64_t> mask = {1};
  write_task_slot(segment.get(), {0, 3, task, process_start_time(task), std::span(mask)});
  const SegmentView view = *SegmentView::open(segment.get());
  ondeloc_record_attach told{};
  told.head.world_rank = 3;
  told.head.pid = static_cast<std::uint32_t>(process);
  Ranks ranks(1);
  ranks.attach(view, told);
  return std::move(ranks.at(LocalRank(0)));
}

}  // namespace

TEST_CASE("a process with the environment of a task is the rank of the task") {
  const std::string task = environ_text(kRankThree);
  CHECK(are_same(task, task));
  CHECK(are_same("A=b" + std::string(1, '\0') + task, task));
  CHECK(are_same(task.substr(0, task.size() - 1), task));  // the last zero byte is missing
}

TEST_CASE("a process of another job, step or rank is not the rank of the task") {
  const std::string task = environ_text(kRankThree);
  for (const auto& [name, value] : kRankThree) {
    CAPTURE(name);
    CHECK(!are_same(environ_text(changed(name, value + "1")), task));
    CHECK(!are_same(environ_text(changed(name, "")), task));
    Variables without = kRankThree;
    without.erase(name);
    CHECK(!are_same(environ_text(without), task));
    CHECK(!are_same(task, environ_text(without)));
    CHECK(!are_same(environ_text(without), environ_text(without)));
  }
}

TEST_CASE("the first value of a variable counts, and names that only begin alike do not") {
  const std::string task = environ_text(kRankThree);
  CHECK(!are_same("SLURM_PROCID=4" + std::string(1, '\0') + task, task));
  CHECK(are_same(task + "SLURM_PROCID=4" + '\0', task));
  CHECK(are_same("SLURM_PROCID_OLD=4" + std::string(1, '\0') + task, task));
}

TEST_CASE("an environment that is missing or too long names no rank") {
  const std::string task = environ_text(kRankThree);
  CHECK(!are_same("", task));
  CHECK(!are_same(task, ""));
  CHECK(!are_same("", ""));
  CHECK(!are_same(task + std::string(1 << 20, 'x'), task));
  CHECK(!is_same_rank(20, 10, "/nonexistent"));
}

TEST_CASE("a rank that has left its task is attached, and a process of another step is refused") {
  const Sleeper task(kRankThree), rank(kRankThree);
  const Sleeper of_other_step(changed("SLURM_STEP_ID", "1"));
  const Sleeper of_other_rank(changed("PMIX_RANK", "2"));
  const RankState moved = announced(task.pid(), rank.pid());
  CHECK(moved.process == rank.pid());
  CHECK(moved.movable());
  for (const pid_t other : {of_other_step.pid(), of_other_rank.pid()}) {
    const RankState refused = announced(task.pid(), other);
    CHECK(refused.refused);
    CHECK(!refused.attached());
  }
}
