// SPDX-License-Identifier: Apache-2.0
// The callback in a task's own process. Here everything is final: ids, cgroup, cpuset, affinity,
// mount namespace, PMIX_* variables.
#include <fcntl.h>
#include <unistd.h>

#include "mapcore/segment/segment_create.h"

#include "spank/bind.h"
#include "spank/callbacks.h"
#include "spank/environment.h"
#include "spank/items.h"
#include "spank/mapper.h"
#include "spank/task_cpus.h"
#include "spank/tell.h"
#include "spank/trusted_file.h"

namespace ondeloc {
namespace {

// Rank in MPI_COMM_WORLD: SLURM_PROCID counts over all components of a heterogeneous step,
// S_TASK_GLOBAL_ID does not; SLURM_NODEID and S_JOB_NODEID likewise.
Status read_task(spank_t spank, const Step& step, Task& task) {
  const auto local = item<int>(spank, S_TASK_ID);
  const auto world = job_env_number(spank, "SLURM_PROCID");
  const auto node = job_env_number(spank, "SLURM_NODEID");
  if (!local || !world || !node) return Error("Slurm does not tell the rank of the task");
  task.local_rank = static_cast<std::uint32_t>(*local);
  if (*world >= step.world_ranks)
    return Error("Slurm does not tell how many ranks the components of the step have together");
  task.world_rank = *world;
  task.node_index = *node;
  task.node = job_env(spank, "SLURMD_NODENAME").value_or("localhost");
  return {};
}

Status write_slot(const Step& step, const Task& task) {
  const CpuWords cpus = own_cpus();
  const int bad = write_task_slot(step.segment.get(), {.local_rank = task.local_rank,
                                                       .world_rank = task.world_rank,
                                                       .pid = getpid(),
                                                       .start_time = process_start_time(getpid()),
                                                       .mask = cpus});
  if (bad != 0) return Error::from_errno("task slot", bad);
  // The rank finds the segment under this number after exec.
  if (fcntl(step.segment.get(), F_SETFD, 0) != 0) return Error::from_errno("segment");
  return {};
}

Status watch(spank_t spank, const Step& step, const Task& task) {
  if (access(step.rank_lib.c_str(), R_OK) != 0) {
    const Error reason = Error::from_errno(step.rank_lib);
    drop_preload(spank, step);
    return reason;
  }
  if (Status good = write_slot(step, task); !good) return good;
  if (task.local_rank != 0) return {};
  if (Status good = check_trusted_file(step.mapper, X_OK); !good) return good;
  return start_mapper(spank, step, task);
}

}  // namespace

void task_init(spank_t spank) {
  const Step& s = step();
  if (!s.watch && !s.bind) return;
  Task task;
  Status good = read_task(spank, s, task);
  bool tells = task.local_rank == 0;  // what hinders one task mostly hinders all
  if (good && s.bind) {
    good = bind_task(spank, s, task);
    tells = tells || !good;  // bind_task lets one task of the node fail
    if (good && has_all_cpus()) good = keep_task_unbound(spank, s);
  }
  if (good && s.watch) good = watch(spank, s, task);
  if (good) return;
  fail_open(good.error().message());
  tell_pending(tells);
}

}  // namespace ondeloc
