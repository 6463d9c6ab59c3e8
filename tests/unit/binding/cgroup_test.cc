// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/cgroup.h"

#include "tests/unit/binding/fake_root.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

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

TEST_CASE("the CPU time that the quotas of the cgroups leave: v2, v1, and none") {
  const FakeRoot root;
  const std::string job = "/sys/fs/cgroup/system.slice/job_5";
  root.file("/proc/1/cgroup", "0::/system.slice/job_5/step_0\n");
  CHECK(!read_cpu_quota(1, root.path()));  // no cpu controller
  root.file(job + "/step_0/cpu.max", "max 100000\n");
  CHECK(!read_cpu_quota(1, root.path()));
  root.file(job + "/cpu.max", "150000 100000\n");
  CHECK(read_cpu_quota(1, root.path()) == 1.5);
  root.file("/sys/fs/cgroup/system.slice/cpu.max", "400000 100000\n");
  CHECK(read_cpu_quota(1, root.path()) == 1.5);
  root.file(job + "/step_0/cpu.max", "20000 40000\n");
  CHECK(read_cpu_quota(1, root.path()) == 0.5);
  root.file("/sys/fs/cgroup/cpu.max", "garbage\n");  // in a container: the root has a quota
  root.file("/proc/2/cgroup", "0::/\n");
  CHECK(!read_cpu_quota(2, root.path()));

  root.file("/proc/3/cgroup", "5:cpu,cpuacct:/slurm/job_5\n4:cpuset:/\n0::/\n");
  const std::string v1 = "/sys/fs/cgroup/cpu/slurm";
  root.file(v1 + "/job_5/cpu.cfs_quota_us", "-1\n");
  root.file(v1 + "/job_5/cpu.cfs_period_us", "100000\n");
  CHECK(!read_cpu_quota(3, root.path()));
  root.file(v1 + "/cpu.cfs_quota_us", "300000\n");
  root.file(v1 + "/cpu.cfs_period_us", "100000\n");
  CHECK(read_cpu_quota(3, root.path()) == 3);
  CHECK(!read_cpu_quota(6, root.path()));  // the process is gone
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
  CHECK(v2->cpus == *CpuSet::parse_list("2-3,5-6"));
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
  CHECK(read_step_cpuset(2, root.path())->cpus == *CpuSet::parse_list("1"));
  CHECK(read_step_cpuset(2, root.path())->enforced);
  root.file("/proc/3/cgroup", "0::/user.slice\n");
  CHECK(!read_step_cpuset(3, root.path()));
  root.file("/sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-7\n");
  CHECK(!read_step_cpuset(3, root.path())->enforced);
  root.file("/proc/4/cgroup", "garbage\n::::\n");
  CHECK(!read_step_cpuset(4, root.path()));
}
