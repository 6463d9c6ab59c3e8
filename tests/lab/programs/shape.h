// SPDX-License-Identifier: MIT
// Code that the lab's programs share. Each program has the shape of one kind of program: its pairs,
// the sizes of its messages, and the memory that is swept in between. No program computes anything
// of use; each checks that the bytes received are the bytes sent.
#pragma once
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int rank, ranks, size_of_run = 1;

// With LAB_STEPS=PREFIX each rank writes the times at which its steps ended, in seconds of
// MPI_Wtime, into PREFIX.RANK.
enum { kMostSteps = 1 << 16 };
static double step_ends[kMostSteps];
static int steps_done;

static inline void step_done(void) {
  if (steps_done < kMostSteps) step_ends[steps_done++] = MPI_Wtime();
}

static inline void write_steps(void) {
  const char* prefix = getenv("LAB_STEPS");
  char path[256];
  if (prefix == NULL || snprintf(path, sizeof path, "%s.%d", prefix, rank) >= (int)sizeof path)
    return;
  FILE* file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    return;
  }
  for (int i = 0; i < steps_done; ++i) fprintf(file, "%.9f\n", step_ends[i]);
  fclose(file);
}

// The kernel gathers the last pages that a CPU has faulted in, 15 on Linux 6.1, before it puts them
// on its lists. While a page waits there, each process_vm_readv() of it counts a use in every
// cgroup above the process, on cache lines that all ranks share. A program that still faults pages
// in does not see this.
static void push_pages_to_lists(void) {
  const size_t bytes = 16 * 4096;
  void* pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  memset(pages, 1, bytes);
  munmap(pages, bytes);
}

static void* room(size_t bytes) {
  void* place = NULL;
  if (posix_memalign(&place, 4096, bytes ? bytes : 1) != 0) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(place, 0, bytes);
  push_pages_to_lists();
  return place;
}

static void start(int* argc, char*** argv) {
  // No page fault in simulated time. In a batch this function is called for each run.
  if (step_ends[0] == 0) memset(step_ends, 1, sizeof step_ends);
  MPI_Init(argc, argv);
  steps_done = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (*argc > 1) size_of_run = atoi((*argv)[1]);
  if (size_of_run < 1) {
    if (rank == 0) fprintf(stderr, "usage: %s [SIZE from 1]\n", (*argv)[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

// A sweep over memory, one multiplication an element; returns a value that depends on all of it.
static inline double sweep(double* data, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    data[i] = data[i] * 0.5 + 1;
    sum += data[i];
  }
  return sum;
}

static inline void exchange(void* send, int to, void* receive, int from, int bytes, int tag) {
  MPI_Sendrecv(send, bytes, MPI_BYTE, to, tag, receive, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

// The nearest to a square, or a cube, that the ranks can be dealt on.
static inline void grid(int dimensions, int* extent) {
  for (int i = 0; i < dimensions; ++i) extent[i] = 0;
  MPI_Dims_create(ranks, dimensions, extent);
}

static inline int finish(double value) {
  double sum = 0;
  MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, size %d, sum %.6g\n", ranks, size_of_run, sum);
  MPI_Finalize();
  write_steps();
  return 0;
}

static inline void must(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
