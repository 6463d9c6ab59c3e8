// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/binder.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/proc.h"
#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

CpuSet cpus(const char* list) { return *CpuSet::parse_list(list); }

// A made-up /proc and /sys, gone at the end of the test.
class FakeRoot {
 public:
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(dir_.path() + path).parent_path());
    write_text(dir_.path() + path, text);
  }
  const std::string& path() const { return dir_.path(); }

 private:
  TempDir dir_;
};

}  // namespace

TEST_CASE("a mask keeps its relative place") {
  CHECK(relocate_mask(cpus("0-3"), cpus("0-3"), cpus("8-11")) == cpus("8-11"));
  CHECK(relocate_mask(cpus("1"), cpus("0-3"), cpus("8-11")) == cpus("9"));
  CHECK(relocate_mask(cpus("1,3"), cpus("0-3"), cpus("8-11")) == cpus("9,11"));
  CHECK(relocate_mask(cpus("6"), cpus("0-7"), cpus("8-11")) == cpus("10"));
  CHECK(relocate_mask(cpus("5"), cpus("0-3"), cpus("8-11")).empty());
  CHECK(relocate_mask(cpus("0-7"), cpus("0-3"), cpus("8-11")).empty());
}

TEST_CASE("processes exchange their CPUs, and one with an empty slot stays") {
  const CpuSet all = *get_affinity(0);
  const auto list = all.to_vector();
  CpuSet first, second;
  first.set(list.front());
  second.set(list.back());
  std::vector<pid_t> children;
  for (const CpuSet& mask : {first, second, first}) {
    children.push_back(fork());
    if (children.back() == 0) {
      for (;;) pause();
    }
    REQUIRE(set_affinity(children.back(), mask).ok());
  }
  const auto results = move_processes(std::vector<ProcessMove>{
      {children[0], first, second}, {children[1], second, first}, {children[2], first, {}}});
  CHECK(*get_affinity(children[0]) == second);
  CHECK(*get_affinity(children[1]) == first);
  CHECK(*get_affinity(children[2]) == first);
  REQUIRE(results.size() == 3);
  CHECK(results[2].threads == 0);
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

TEST_CASE("all threads of a process move, with real masks", "[cpus]") {
  const CpuSet all = *get_affinity(0);
  if (all.count() < 2) ONDELOC_SKIP("one CPU only: masks cannot differ here");
  const auto list = all.to_vector();
  CpuSet first, second;
  first.set(list[0]);
  second.set(list[1]);
  int runs[2];
  REQUIRE(pipe(runs) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<bool> never{false};
    const auto run = [&] {
      if (write(runs[1], "r", 1) == 1) never.wait(false);
    };
    std::thread one(run), two(run);
    run();
    _exit(0);
  }
  for (int thread = 0; thread < 3; ++thread) {
    char byte;
    REQUIRE(read(runs[0], &byte, 1) == 1);
  }
  // Three, and those that a sanitizer runs.
  const auto threads = static_cast<int>(read_threads(child).size());
  CHECK((kThreadSanitizer ? threads >= 3 : threads == 3));
  const BindResult there = move_process(child, all, first);
  CHECK(there.threads == threads);
  CHECK(there.moved == threads);
  const BindResult back = move_process(child, first, second);
  CHECK(back.moved == threads);
  for (const pid_t tid : read_threads(child)) CHECK(*get_affinity(tid) == second);
  CHECK(move_process(child, first, second).moved == 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(move_process(child, second, first).threads == 0);
  for (const int end : runs) close(end);
}

TEST_CASE("a thread that has the new mask already keeps it, also inside the old one", "[cpus]") {
  const CpuSet all = *get_affinity(0);
  if (all.count() < 2) ONDELOC_SKIP("one CPU only: masks cannot differ here");
  CpuSet last;  // by its place in `all` it would go to the first CPU of the new slot
  last.set(all.to_vector().back());
  CpuSet pair = last;
  pair.set(all.to_vector()[all.to_vector().size() - 2]);
  for (const CpuSet& slot : {last, pair}) {
    int runs[2];
    REQUIRE(pipe(runs) == 0);
    const pid_t child = fork();
    if (child == 0) {
      if (write(runs[1], "r", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    REQUIRE(read(runs[0], &byte, 1) == 1);
    for (const int end : runs) close(end);
    // A sanitizer's own thread is there by now.
    for (const pid_t tid : read_threads(child)) REQUIRE(set_affinity(tid, slot).ok());
    const BindResult result = move_process(child, all, slot);
    CHECK(*get_affinity(child) == slot);
    CHECK(result.moved == 0);
    CHECK(result.left_alone == 0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

TEST_CASE("a thread that the kernel gave the whole cpuset moves with its process", "[cpus]") {
  const CpuSet all = *get_affinity(0);
  if (all.count() < 2) ONDELOC_SKIP("one CPU only: masks cannot differ here");
  CpuSet slot;
  slot.set(all.to_vector().back());
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  REQUIRE(set_affinity(child, all).ok());
  CHECK(move_processes(std::vector<ProcessMove>{{child, slot, slot}}).front().left_alone > 0);
  CHECK(*get_affinity(child) == all);
  CHECK(move_processes(std::vector<ProcessMove>{{child, slot, slot, all}}).front().moved > 0);
  CHECK(*get_affinity(child) == slot);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("after a change of the cpuset, threads are moved from the rest of their process's slot") {
  const auto set = [](const char* list) { return *CpuSet::parse_list(list); };
  // One thread on each core, each with the rest of its mask: the main thread's mask is not the
  // slot.
  const CpuSet slot = left_of_slot(set("4-7"), set("0-7"), set("4"));
  CHECK(slot == set("4-7"));
  CHECK(relocate_mask(set("5"), slot, set("0-3")) == set("1"));
  CHECK(left_of_slot(set("4-7"), set("0-5"), set("4-5")) == set("4-5"));
  CHECK(left_of_slot(set("4-7"), set("0-5"), set("0-5")) == set("0-5"));  // before Linux 6.2
  CHECK(left_of_slot(set("4-7"), set("0-3"), set("0-3")) == set("0-3"));  // nothing is left
}

TEST_CASE("the own process is read from /proc") {
  CHECK(read_process_stat(getpid())->parent == getppid());
  CHECK(read_process_stat(getpid())->start > 0);
  CHECK(*read_process_uid(getpid()) == getuid());
  CHECK(*read_private_bytes(getpid()) > 100000);
  CHECK(read_huge_bytes(getpid()) <= *read_private_bytes(getpid()));
  CHECK(descends_from(getpid(), getppid()));
  CHECK(!descends_from(getppid(), getpid()));
  CHECK(!read_process_stat(-1));
}

TEST_CASE("hostile and missing /proc files") {
  const FakeRoot root;
  root.file("/proc/7/stat", "7 (a) b) S) R 3 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 1 1");
  CHECK(read_process_stat(7, root.path())->parent == 3);
  CHECK(read_process_stat(7, root.path())->start == 12345);
  CHECK(!read_process_stat(7, root.path())->over);
  root.file("/proc/6/stat", "6 (a R) Z 3 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 1 1");
  CHECK(read_process_stat(6, root.path())->over);
  root.file("/proc/8/stat", "8 (x");
  CHECK(!read_process_stat(8, root.path()));
  root.file("/proc/5/status", "VmRSS:\t 300 kB\nRssAnon:\t  20 kB\nRssShmem:\t 280 kB\n");
  CHECK(read_private_bytes(5, root.path()) == 20 * 1024);
  root.file("/proc/4/status", "VmRSS:\t 300 kB\n");
  CHECK(read_private_bytes(4, root.path()) == 300 * 1024);
  root.file("/proc/4/smaps_rollup", "559 [rollup]\nRss:  300 kB\nAnonHugePages:    2048 kB\n");
  CHECK(read_huge_bytes(4, root.path()) == 2048 * 1024);
  CHECK(read_huge_bytes(5, root.path()) == 0);  // before Linux 4.14
  root.file("/proc/9/status", "Name:\tx\nUid:\tabc\n");
  CHECK(!read_process_uid(9, root.path()));
  CHECK(read_threads(10, root.path()).empty());
}

TEST_CASE("the memory that the limits of the cgroups leave: v2, v1, and none") {
  const FakeRoot root;
  const std::string scope = "/sys/fs/cgroup/system.slice/slurmstepd.scope";
  const std::string job = scope + "/job_5", task = job + "/step_0/user/task_0";
  root.file("/proc/1/cgroup", "0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_0\n");
  CHECK(!read_cgroup_room(1, root.path()));  // no memory controller
  root.file(task + "/memory.max", "max\n");
  root.file(task + "/memory.high", "max\n");
  root.file(task + "/memory.current", "5000\n");
  CHECK(!read_cgroup_room(1, root.path()));
  root.file(job + "/memory.max", "100000\n");
  CHECK(read_cgroup_room(1, root.path()) == 100000);
  root.file(job + "/memory.current", "60000\n");
  CHECK(read_cgroup_room(1, root.path()) == 40000);
  root.file(job + "/memory.stat", "anon 40000\ninactive_file 15000\nfile_dirty 5000\n");
  CHECK(read_cgroup_room(1, root.path()) == 50000);
  root.file(job + "/memory.high", "70000\n");
  CHECK(read_cgroup_room(1, root.path()) == 20000);
  root.file(scope + "/memory.max", "90000\n");
  root.file(scope + "/memory.current", "95000\n");  // more than the limit
  CHECK(read_cgroup_room(1, root.path()) == 0);
  // In a container the mounted root is the cgroup with the limit.
  root.file("/sys/fs/cgroup/memory.max", "9000\n");
  root.file("/proc/2/cgroup", "0::/\n");
  CHECK(read_cgroup_room(2, root.path()) == 9000);

  const std::string v1 = "/sys/fs/cgroup/memory/slurm/uid_1/job_5";
  root.file("/proc/3/cgroup", "5:memory:/slurm/uid_1/job_5/step_0\n0::/\n");
  root.file(v1 + "/step_0/memory.limit_in_bytes", "9223372036854771712\n");
  root.file(v1 + "/step_0/memory.usage_in_bytes", "4096\n");
  root.file(v1 + "/memory.limit_in_bytes", "50000\n");
  root.file(v1 + "/memory.usage_in_bytes", "30000\n");
  root.file(v1 + "/memory.stat", "inactive_file 1\ntotal_inactive_file 9000\ntotal_dirty 1000\n");
  CHECK(read_cgroup_room(3, root.path()) == 28000);
  CHECK(!read_cgroup_room(6, root.path()));  // the process is gone
}

TEST_CASE("the share of memory in huge pages that a cgroup tells: v2, v1, and none") {
  const FakeRoot root;
  const std::string scope = "/sys/fs/cgroup/system.slice/slurmstepd.scope";
  const std::string step = scope + "/job_5/step_0", task = step + "/user/task_0";
  root.file("/proc/1/cgroup", "0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_0\n");
  root.file(scope + "/memory.stat", "anon 100\nanon_thp 100\n");  // of all jobs
  CHECK(!read_huge_share_of_cgroup(1, root.path()));
  root.file(step + "/memory.stat", "anon 8000\nanon_thp 2000\n");
  CHECK(read_huge_share_of_cgroup(1, root.path()) == 0.25);
  root.file(task + "/memory.stat", "file 7\nanon 8000\nanon_thp 9000\n");  // read at other times
  CHECK(read_huge_share_of_cgroup(1, root.path()) == 1);
  root.file(task + "/memory.stat", "anon 0\nanon_thp 0\n");
  CHECK(read_huge_share_of_cgroup(1, root.path()) == 0.25);

  root.file("/proc/3/cgroup", "5:memory:/slurm/uid_1/job_5/step_0\n0::/\n");
  root.file("/sys/fs/cgroup/memory/slurm/uid_1/job_5/step_0/memory.stat",
            "cache 5\nrss 4000\nrss_huge 3000\ntotal_rss 9\n");
  CHECK(read_huge_share_of_cgroup(3, root.path()) == 0.75);
  root.file("/proc/4/cgroup", "0::/user.slice/session\n");
  CHECK(!read_huge_share_of_cgroup(4, root.path()));
  CHECK(!read_huge_share_of_cgroup(6, root.path()));  // the process is gone
}

TEST_CASE("the step's cpuset: cgroup v2, v1, and none") {
  const FakeRoot root;
  const std::string step = "/system.slice/slurmstepd.scope/job_5/step_0/user/task_0";
  root.file("/proc/1/cgroup", "0::" + step + "\n");
  root.file("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_5/step_0/user/cpuset.cpus.effective",
            "2-3,5-6\n");
  root.file("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_5/step_0/user/cpuset.cpus", "\n");
  root.file("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_5/cpuset.cpus", "2-6\n");
  const auto v2 = read_step_cpuset(1, root.path());
  REQUIRE(v2);
  CHECK(v2->cpus == cpus("2-3,5-6"));
  CHECK(!v2->enforced);  // ConstrainCores=no: whatever the machine has
  root.file("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_5/step_0/cpuset.cpus", "2-3,5-6\n");
  CHECK(read_step_cpuset(1, root.path())->enforced);
  const std::string sluid = "/system.slice/slurmstepd.scope/s5XAPN4G8E7K00/step_0";
  root.file("/proc/5/cgroup", "0::" + sluid + "/user/task_0\n");
  root.file("/sys/fs/cgroup" + sluid + "/cpuset.cpus", "4\n");
  root.file("/sys/fs/cgroup" + sluid + "/cpuset.cpus.effective", "4\n");
  REQUIRE(read_step_cpuset(5, root.path()));
  CHECK(read_step_cpuset(5, root.path())->enforced);
  root.file("/proc/2/cgroup", "5:cpuset:/slurm/uid_1/job_5/step_0\n0::/\n");
  root.file("/sys/fs/cgroup/cpuset/slurm/uid_1/job_5/step_0/cpuset.cpus", "1\n");
  CHECK(read_step_cpuset(2, root.path())->cpus == cpus("1"));
  CHECK(read_step_cpuset(2, root.path())->enforced);
  root.file("/proc/3/cgroup", "0::/user.slice\n");
  CHECK(!read_step_cpuset(3, root.path()));
  root.file("/sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-7\n");
  CHECK(!read_step_cpuset(3, root.path())->enforced);
  root.file("/proc/4/cgroup", "garbage\n::::\n");
  CHECK(!read_step_cpuset(4, root.path()));
}
