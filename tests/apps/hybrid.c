/* SPDX-License-Identifier: Apache-2.0
 *
 * hybrid ROUNDS [SECONDS]: an MPI program whose ranks have teams of OpenMP threads. In each round
 * every thread sweeps over an array of its own, and then the main thread exchanges a message with
 * the neighbouring ranks. With SECONDS more rounds come before, for so long. Prints at the end:
 *   hybrid: rank R of SIZE, N threads: SECONDS s, sum SUM
 *   hybrid: rank R thread I last on CPUs LIST
 */
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNumbers = 1 << 15, kMessage = 1 << 12 };

static double sweep(double* numbers, int from) {
  double sum = 0;
  for (int pass = 0; pass < 8; ++pass)
    for (int i = 0; i < kNumbers; ++i) {
      numbers[i] = 0.5 * numbers[i] + (double)((i + from) % 7);
      sum += numbers[i];
    }
  return sum;
}

static void print_cpus(int rank, int thread) {
  cpu_set_t cpus;
  char list[1024] = "";
  int length = 0;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE && length < 1000; ++cpu)
    if (CPU_ISSET(cpu, &cpus))
      length += snprintf(list + length, sizeof list - (size_t)length, " %d", cpu);
  printf("hybrid: rank %d thread %d last on CPUs%s\n", rank, thread, list);
}

// The NUMA lab (tests/lab) preloads this function, because it times the rounds alone.
__attribute__((weak)) void lab_rounds(bool begin);

static void say_rounds(bool begin) {
  if (lab_rounds == NULL) return;
  MPI_Barrier(MPI_COMM_WORLD);
  lab_rounds(begin);
  MPI_Barrier(MPI_COMM_WORLD);
}

static double out[kMessage], in[kMessage];

static double do_round(double* numbers, int rank, int size) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  const double sum = sweep(numbers, rank + omp_get_thread_num());
#pragma omp barrier
#pragma omp master
  MPI_Sendrecv(out, kMessage, MPI_DOUBLE, next, 1, in, kMessage, MPI_DOUBLE, last, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#pragma omp barrier
  return sum;
}

// Rank 0 says when it is over.
static bool is_before(double end) {
  int before = MPI_Wtime() < end;
  MPI_Bcast(&before, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return before;
}

int main(int argc, char** argv) {
  int provided, rank, size;
  const long rounds = argc > 1 ? atol(argv[1]) : 100;
  const double seconds_before = argc > 2 ? atof(argv[2]) : 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double total = 0;
  bool before = seconds_before > 0;
  const double begin = MPI_Wtime();
#pragma omp parallel reduction(+ : total)
  {
    double* numbers = calloc(kNumbers, sizeof *numbers);
    while (before) {
      do_round(numbers, rank, size);
#pragma omp master
      before = is_before(begin + seconds_before);
#pragma omp barrier
    }
#pragma omp master
    say_rounds(true);
#pragma omp barrier
    for (long round = 0; round < rounds; ++round) total += do_round(numbers, rank, size);
#pragma omp master
    say_rounds(false);
#pragma omp barrier
    free(numbers);
    for (int i = 0; i < omp_get_num_threads(); ++i) {
      if (i == omp_get_thread_num()) print_cpus(rank, i);
#pragma omp barrier
    }
  }
  printf("hybrid: rank %d of %d, %d threads: %.3f s, sum %.6e\n", rank, size, omp_get_max_threads(),
         MPI_Wtime() - begin, total);
  MPI_Finalize();
  return 0;
}
