// SPDX-License-Identifier: Apache-2.0
// What Slurm looks up in spank_ondeloc.so, and nothing else. The plugin is loaded into root's
// daemons: no exception leaves it, and no return code ever fails a job.
#pragma GCC visibility push(default)
#include "spank/slurm_spank.h"
// SPANK_PLUGIN defines const objects, which have internal linkage in C++ unless declared before.
extern "C" {
extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(ondeloc, 1)
}
#pragma GCC visibility pop

#include <exception>

#include "spank/callbacks.h"
#include "spank/option.h"

namespace {

template <class Work>
int guarded(const char* where, Work work) noexcept {
  try {
    work();
  } catch (const std::exception& failure) {
    slurm_error("ondeloc: %s: %s", where, failure.what());
  } catch (...) {
    slurm_error("ondeloc: %s: unknown exception", where);
  }
  return ESPANK_SUCCESS;
}

bool in_stepd() { return spank_context() == S_CTX_REMOTE; }

ondeloc::Arguments words(int count, char* values[]) {
  return {values, static_cast<std::size_t>(count)};
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int slurm_spank_init(spank_t spank, int, char*[]) {
  return guarded("init", [&] { ondeloc::register_option(spank); });
}

int slurm_spank_init_post_opt(spank_t spank, int count, char* values[]) {
  if (!in_stepd()) return ESPANK_SUCCESS;
  return guarded("init_post_opt",
                 [&] { ondeloc::stepd_init_post_opt(spank, words(count, values)); });
}

int slurm_spank_local_user_init(spank_t spank, int count, char* values[]) {
  return guarded("local_user_init", [&] { ondeloc::srun_user_init(spank, words(count, values)); });
}

int slurm_spank_user_init(spank_t spank, int, char*[]) {
  return guarded("user_init", [&] { ondeloc::stepd_user_init(spank); });
}

int slurm_spank_task_init(spank_t spank, int, char*[]) {
  return guarded("task_init", [&] { ondeloc::task_init(spank); });
}

int slurm_spank_task_exit(spank_t spank, int, char*[]) {
  return guarded("task_exit", [&] { ondeloc::stepd_task_exit(spank); });
}

int slurm_spank_exit(spank_t spank, int, char*[]) {
  if (!in_stepd()) return ESPANK_SUCCESS;
  return guarded("exit", [&] { ondeloc::stepd_exit(spank); });
}

}  // extern "C"
#pragma GCC visibility pop
