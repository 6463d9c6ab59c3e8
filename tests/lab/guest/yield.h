// SPDX-License-Identifier: MIT
// Whether a rank of Open MPI gives its CPU away while it waits. Needs _GNU_SOURCE. Does nothing in
// a program without Open MPI.
#pragma once
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static inline void yield_when_idle(bool yield) {
  void* symbol = dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle");
  bool (*set)(bool);
  memcpy(&set, &symbol, sizeof set);
  if (symbol != NULL) set(yield);
}
