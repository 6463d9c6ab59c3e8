// SPDX-License-Identifier: Apache-2.0
// Prints the CPUs of each thread of an OpenMP team, a line each in the order of the threads.
#include <omp.h>
#include <sched.h>
#include <stdio.h>

static void print_cpus(void) {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return;
  printf("%d:", omp_get_thread_num());
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &cpus)) printf(" %d", cpu);
  printf("\n");
}

int main(void) {
#pragma omp parallel
  for (int i = 0; i < omp_get_num_threads(); ++i) {
    if (i == omp_get_thread_num()) print_cpus();
#pragma omp barrier
  }
  return 0;
}
