// SPDX-License-Identifier: Apache-2.0
// The parts of the plugin that need no Slurm: children, inherited settings, masks.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <thread>

#include "tests/unit/catch.h"
#include "tests/unit/step/forbid_call.h"

#include "spank/child.h"
#include "spank/inherited_env.h"
#include "spank/task_cpus.h"

using namespace ondeloc;

namespace {

Program shell(const std::string& script) {
  Program program;
  program.path = "/bin/sh";
  program.arguments = {"-c", script};
  program.environment = {"PATH=/usr/bin:/bin", "ONLY=this"};
  return program;
}

std::string temporary() {
  char name[] = "/tmp/ondeloc-unit.XXXXXX";
  close(mkstemp(name));
  return name;
}

// Returns the output of a detached program, which has no parent that could wait for it.
std::string when_written(const std::string& path) {
  for (int turn = 0; turn < 500; ++turn) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    if (text.str().find("end\n") != std::string::npos) return text.str();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "";
}

}  // namespace

TEST_CASE("run_and_wait gives the exit status and the first line of standard error") {
  auto outcome = run_and_wait(shell("echo lost; echo one >&2; echo two >&2; exit 3"));
  REQUIRE(outcome.ok());
  CHECK(outcome->exit_status == 3);
  CHECK(outcome->sentence == "one");
  outcome = run_and_wait(shell("kill -KILL $$"));
  REQUIRE(outcome.ok());
  CHECK(outcome->exit_status == -1);
  Program missing;
  missing.path = "/nonexistent";
  outcome = run_and_wait(missing);
  REQUIRE(outcome.ok());
  CHECK(outcome->exit_status == 127);
  CHECK(outcome->sentence == "/nonexistent: this file cannot be executed (is it damaged?)");
}

TEST_CASE("a child sees its own environment and no descriptor but the kept ones") {
  setenv("LD_PRELOAD_OF_PARENT", "x", 1);
  const int kept = fcntl(open("/dev/null", O_RDONLY), F_DUPFD_CLOEXEC, 40);
  const int dropped = fcntl(kept, F_DUPFD, 50);
  REQUIRE(kept >= 40);
  REQUIRE(dropped >= 50);
  const std::string fds = "/proc/$$/fd/";
  Program program = shell("test -e " + fds + std::to_string(kept) + " || echo lost >&2; test -e " +
                          fds + std::to_string(dropped) + " && echo leaked >&2; echo seen >&2");
  program.kept = {kept};
  auto outcome = run_and_wait(program);
  REQUIRE(outcome.ok());
  CHECK(outcome->sentence == "seen");
  outcome = run_and_wait(shell("echo $ONLY$LD_PRELOAD_OF_PARENT >&2"));
  REQUIRE(outcome.ok());
  CHECK(outcome->sentence == "this");
  CHECK((fcntl(kept, F_GETFD) & FD_CLOEXEC) != 0);
  close(kept);
  close(dropped);
}

TEST_CASE("a kernel without close_range: what is open is closed, whatever the limit is") {
  const int dropped = fcntl(open("/dev/null", O_RDONLY), F_DUPFD, 500);
  REQUIRE(dropped >= 500);
  std::thread([&] {
    REQUIRE(forbid_call(SYS_close_range, ENOSYS));
    // Numbers up to the limit are not all that may be open.
    const Program program = shell("test -e /proc/$$/fd/" + std::to_string(dropped) +
                                  " && echo leaked >&2; echo seen >&2");
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{100, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    const auto outcome = run_and_wait(program);
    setrlimit(RLIMIT_NOFILE, &before);
    REQUIRE(outcome.ok());
    CHECK(outcome->sentence == "seen");
  }).join();
  close(dropped);
}

TEST_CASE("a detached child is nobody's child nor in its group, ignores the job's signals") {
  const std::string path = temporary();
  REQUIRE(
      start_detached(shell("echo PPid: $PPID >" + path +
                           "; test $(cut -d' ' -f5 /proc/$$/stat) = $$ && echo own group >>" +
                           path + "; grep -E '^(SigBlk|SigIgn|NoNewPrivs)' /proc/self/status >>" +
                           path + "; echo end >>" + path))
          .ok());
  const std::string text = when_written(path);
  unlink(path.c_str());
  CHECK(text.find("PPid: " + std::to_string(getpid()) + "\n") == std::string::npos);
  CHECK(text.find("own group") != std::string::npos);
  CHECK(text.find("SigBlk:\t0000000000000000") != std::string::npos);
  CHECK(text.find("NoNewPrivs:\t1") != std::string::npos);
  // HUP INT QUIT USR1 USR2 PIPE TERM TSTP
  CHECK(text.find("SigIgn:\t0000000000085a07") != std::string::npos);
}

TEST_CASE("our library is taken out of LD_PRELOAD, and nothing else") {
  const std::string ours = "/opt/ondeloc-1/lib/ondeloc/libondeloc_rank.so";
  CHECK(without_rank_library(ours).empty());
  CHECK(without_rank_library("libondeloc_rank.so").empty());
  CHECK(without_rank_library("/lib/a.so:" + ours) == "/lib/a.so");
  CHECK(without_rank_library(ours + " /lib/a.so") == "/lib/a.so");
  CHECK(without_rank_library("/lib/a.so b.so:" + ours + ":c.so " + ours) == "/lib/a.so b.so:c.so");
  for (const char* users :
       {"", ":", " a.so::b.so ", "/x/libondeloc_rank.so.1", "/libondeloc_rank.so/a.so"})
    CHECK(without_rank_library(users) == users);
}

TEST_CASE("our option of the address sanitizer is taken out, and nothing else") {
  const char* const ours = "verify_asan_link_order=0";
  CHECK(without_option(ours, ours).empty());
  CHECK(without_option("detect_leaks=0:verify_asan_link_order=0", ours) == "detect_leaks=0");
  CHECK(without_option("verify_asan_link_order=0,detect_leaks=0", ours) == "detect_leaks=0");
  for (const char* users : {"", "verify_asan_link_order=1", "a=1:verify_asan_link_order=01"})
    CHECK(without_option(users, ours) == users);
}

TEST_CASE("ONDELOC_STEP says what else was set") {
  CHECK(says_set("v1 set=asan", "asan"));
  CHECK(says_set("v1 fd=12 set=asan,policy,hfi", "policy"));
  CHECK(says_set("v1 set=asan,hfi fd=12", "hfi"));
  CHECK_FALSE(says_set("v1 set=asan,hfi fd=12", "policy"));
  for (const char* text : {"", "v1", "v1 fd=12", "v1 set=", "v1 set=asans", "v1 offset=asan",
                           "v1 set= asan", "v1 set=,"})
    CHECK_FALSE(says_set(text, "asan"));
}

TEST_CASE("has_all_cpus finds a full mask, and the mask does not change") {
  const CpuSet before = own_cpus();
  const auto bind = [](std::span<const std::uint64_t> words) {
    return syscall(SYS_sched_setaffinity, 0, words.size_bytes(), words.data()) == 0;
  };
  const std::vector<std::uint64_t> every(128, ~std::uint64_t{0});
  REQUIRE(bind(every));
  const CpuSet all = own_cpus();
  CHECK(has_all_cpus());
  CHECK(own_cpus() == all);
  CpuSet fewer = all;
  fewer.clear(PuOs(all.first()));
  if (!fewer.empty()) {
    REQUIRE(bind(fewer.words()));
    const CpuSet bound = own_cpus();
    CHECK(!has_all_cpus());
    CHECK(own_cpus() == bound);
  }
  CHECK(bind(before.words()));
}
