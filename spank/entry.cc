// SPDX-License-Identifier: Apache-2.0
// The symbols that Slurm looks up in spank_ondeloc.so. The plugin is loaded into root's daemons: no
// exception leaves it, and no return code fails a job.
#pragma GCC visibility push(default)
#include "spank/slurm_spank.h"
// SPANK_PLUGIN defines const objects. In C++ they have internal linkage unless declared before.
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

// Lines of plugstack.conf that name this file, and calls of callbacks since. Slurm makes every call
// once for each line, one after the other; only the first one may act on the step.
unsigned lines = 0;
unsigned calls = 0;

template <class Work>
int guarded_once(const char* where, Work work) noexcept {
  const bool is_repetition = lines > 1 && calls++ % lines != 0;
  return is_repetition ? ESPANK_SUCCESS : guarded(where, work);
}

// The plugin stays mapped after dlclose, and Slurm may call slurm_spank_init again.
void forget_lines_after_the_last() {
  if (lines > 1 && calls % lines != 0) return;
  lines = 0;
  calls = 0;
}

bool in_stepd() { return spank_context() == S_CTX_REMOTE; }

ondeloc::Arguments words(int count, char* values[]) {
  return {values, static_cast<std::size_t>(count)};
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int slurm_spank_init(spank_t spank, int count, char* values[]) {
  if (++lines > 1) return ESPANK_SUCCESS;
  return guarded("init", [&] {
    ondeloc::register_option(spank, words(count, values));
    ondeloc::export_env_default();
  });
}

int slurm_spank_init_post_opt(spank_t spank, int count, char* values[]) {
  return guarded_once("init_post_opt", [&] {
    ondeloc::withdraw_env_default();
    if (in_stepd()) ondeloc::stepd_init_post_opt(spank, words(count, values), ondeloc::the_step());
  });
}

int slurm_spank_local_user_init(spank_t spank, int count, char* values[]) {
  return guarded_once("local_user_init",
                      [&] { ondeloc::srun_user_init(spank, words(count, values)); });
}

int slurm_spank_user_init(spank_t spank, int, char*[]) {
  return guarded_once("user_init", [&] { ondeloc::stepd_user_init(spank, ondeloc::the_step()); });
}

int slurm_spank_task_init(spank_t spank, int, char*[]) {
  return guarded_once("task_init", [&] { ondeloc::task_init(spank, ondeloc::the_step()); });
}

int slurm_spank_task_post_fork(spank_t, int, char*[]) {
  return guarded_once("task_post_fork",
                      [&] { ondeloc::stepd_task_post_fork(ondeloc::the_step()); });
}

int slurm_spank_task_exit(spank_t spank, int, char*[]) {
  return guarded_once("task_exit", [&] { ondeloc::stepd_task_exit(spank, ondeloc::the_step()); });
}

int slurm_spank_exit(spank_t spank, int, char*[]) {
  const int rc = guarded_once("exit", [&] {
    if (in_stepd()) ondeloc::stepd_exit(spank, ondeloc::the_step());
  });
  forget_lines_after_the_last();
  return rc;
}

}  // extern "C"
#pragma GCC visibility pop
