// SPDX-License-Identifier: MIT
// Preloaded into tests/apps/thread_kernels and hybrid: simulated time runs over the rounds of the
// program, then the counters are written. Each rank of an MPI program calls lab_rounds.
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>

#include "trigger.h"
#include "yield.h"

void lab_rounds(bool begin);

// When this ends, all threads of the team are awake and wait for work.
static void wake_team(void) {
#pragma omp parallel
  { __asm__ volatile("" ::: "memory"); }
}

static bool is_first(void) {
  const char* rank = getenv("PMIX_RANK");
  return rank == NULL || atoi(rank) == 0;
}

void lab_rounds(bool begin) {
  yield_when_idle(!begin);
  if (!is_first()) return;
  if (begin) {
    LAB_TRIGGER(1, 0);
    wake_team();
    LAB_TRIGGER(3, 0);
  } else {
    LAB_TRIGGER(4, 1);
    LAB_TRIGGER(2, 0);
  }
}
