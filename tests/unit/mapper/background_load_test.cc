// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/background_load.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mapcore/binding/affinity.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/step/forbid_call.h"

using namespace ondeloc;

TEST_CASE("a topology that is loaded aside changes neither priority nor CPUs of the caller") {
  const CpuSet before = *get_affinity(0);
  const int nice_before = getpriority(PRIO_PROCESS, 0);
  CpuSet one;
  one.set(PuOs(before.first()));
  BackgroundLoad load;
  CHECK(!load.is_started());
  load.start("host", one);
  const auto machine = load.take();
  REQUIRE(machine);
  CHECK(machine->pus.size() == load_machine("host")->pus.size());
  CHECK(*get_affinity(0) == before);
  CHECK(getpriority(PRIO_PROCESS, 0) == nice_before);
  load.start("no such file", {});
  CHECK(!load.take());
}

TEST_CASE("loading the host's topology binds the process to no CPU, where a rank may run") {
  const pid_t child = fork();
  if (child == 0) {
    const bool filtered = filter_call(SYS_sched_setaffinity, SECCOMP_RET_KILL_PROCESS);
    _exit(filtered && load_machine("host") ? 0 : 1);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
