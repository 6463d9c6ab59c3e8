// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/bind_static.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "mapcore/binding/affinity.h"
#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

// A process that is bound in the place of a task.
class Bound {
 public:
  Bound() : pid_(fork()) {
    while (pid_ == 0) pause();
  }
  ~Bound() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// The warning of a rank of a step of two nodes with a rank each and `-c2`.
std::string warning(const std::string& file, int rank) {
  const Bound task;
  BindArguments call;
  call.file = file;
  call.rank = call.node_index = rank;
  call.ranks = call.nodes = 2;
  call.pid = task.pid();
  call.local_rank = 0;
  call.local_ranks = 1;
  call.node = "node" + std::to_string(rank);
  call.cpus_per_task = 2;
  call.topology = "package:1 core:1 pu:1";
  call.nic = "off";
  const StaticOutcome outcome = bind_static(call);
  CHECK(outcome.fault == Fault::kNone);
  return outcome.sentence;
}

}  // namespace

TEST_CASE("static: the first of the nodes with the same slots warns of narrow ranks", "[cpus]") {
  if (!get_affinity(0)->test(PuOs(0))) ONDELOC_SKIP("needs CPU 0");
  const TempDir dir;
  write_text(dir.file("ranks"), "rank 0=node0 slot=0\nrank 1=node1 slot=0\n");
  CHECK(warning(dir.file("ranks"), 0).find("rank 0 gets 1 CPU, but the step has 2") !=
        std::string::npos);
  CHECK(warning(dir.file("ranks"), 1).empty());
  CHECK(warning("lama:core", 0).find("rank 0 gets 1 CPU") != std::string::npos);
  CHECK(warning("lama:core", 1).empty());
  // Other slots are another mistake.
  write_text(dir.file("ranks"), "rank 0=node0 slot=0:0\nrank 1=node1 slot=0\n");
  CHECK_FALSE(warning(dir.file("ranks"), 1).empty());
}
