// SPDX-License-Identifier: Apache-2.0
// The callback in a task's own process. Everything is final here: ids, cgroup, cpuset, affinity,
// mount namespace and PMIX_* variables.
#include <fcntl.h>
#include <unistd.h>

#include "mapcore/segment/segment_create.h"

#include "spank/bind.h"
#include "spank/callbacks.h"
#include "spank/environment.h"
#include "spank/mapper.h"
#include "spank/nic.h"
#include "spank/spank_items.h"
#include "spank/task_cpus.h"
#include "spank/trusted_file.h"
#include "spank/user_log.h"

namespace ondeloc {
namespace {

// The rank in MPI_COMM_WORLD is SLURM_PROCID, which counts over all components of a heterogeneous
// step; S_TASK_GLOBAL_ID does not. SLURM_NODEID and S_JOB_NODEID differ likewise.
Status read_task(spank_t spank, const Step& step, Task& task) {
  const auto local = item<int>(spank, S_TASK_ID);
  const auto world = job_env_number(spank, "SLURM_PROCID");
  const auto node = job_env_number(spank, "SLURM_NODEID");
  if (!local || !world || !node) return Error("Slurm does not say which rank the task has");
  task.local_rank = static_cast<std::uint32_t>(*local);
  if (*world >= step.identity.world_ranks)
    return Error("Slurm does not say how many ranks the components of the step have together");
  task.world_rank = *world;
  task.node_index = *node;
  task.node = job_env(spank, "SLURMD_NODENAME").value_or("localhost");
  return {};
}

Status write_slot(const UniqueFd& segment, const Task& task) {
  const CpuSet cpus = own_cpus();
  const int bad = write_task_slot(segment.get(), {.local_rank = task.local_rank,
                                                  .world_rank = task.world_rank,
                                                  .pid = getpid(),
                                                  .start_time = process_start_time(getpid()),
                                                  .mask = cpus.words()});
  if (bad != 0) return Error::from_errno("task slot", bad);
  // After exec the rank finds the segment under this number.
  if (fcntl(segment.get(), F_SETFD, 0) != 0) return Error::from_errno("segment");
  return {};
}

Status watch(spank_t spank, const Step& step, const Task& task) {
  const Request& request = step.request;
  if (access(request.rank_library.c_str(), R_OK) != 0) {
    const Error reason = Error::from_errno(request.rank_library);
    remove_preload(spank, step);
    return reason;
  }
  if (Status good = write_slot(step.fds.segment, task); !good) return good;
  if (request.needs_profile()) {
    if (Status good = check_profile(spank, step, task); !good) return good;
  }
  if (task.local_rank != 0) return {};
  if (Status good = check_trusted_file(request.mapper_path, X_OK); !good) return good;
  return start_mapper(spank, step, task);
}

void set_nic(spank_t spank, const Step& step, const Task& task) {
  const Status good = choose_nic(spank, step, task.local_rank);
  if (!good && task.local_rank == 0)
    log_to_requester(step, good.error().message() + "; no adapter is chosen");
}

}  // namespace

void task_init(spank_t spank, Step& step) {
  const Request& request = step.request;
  if (!request.watch && !request.bind) return;
  Task task;
  Status good = read_task(spank, step, task);
  if (good && request.bind) {
    good = bind_task(spank, step, task);
    if (good && has_all_cpus()) good = keep_task_unbound(spank, step);
  }
  if (good) set_nic(spank, step, task);
  if (good && request.watch) good = watch(spank, step, task);
  if (good) return;
  fail_open(step, good.error().message());
  // A failure in one task mostly occurs in all.
  if (take_token(step.fds.failure_token)) flush_pending(step);
}

}  // namespace ondeloc
