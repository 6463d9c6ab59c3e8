// SPDX-License-Identifier: Apache-2.0
// talk [--bytes N] [--pause MICROSECONDS] [--away MICROSECONDS] [--spin MICROSECONDS]
// [--memory MIB] [--share DISTANCE] PATTERN:COUNT|PATTERN:until... Every rank sends COUNT messages
// of N bytes (256 KiB) to its partner of each pattern, one pattern after the other: `pair` rank^1,
// `half` rank + n/2, `mirror` n - 1 - rank, `last` the last two ranks with each other, `ring` rank
// + 1, `quiet` none. With `until` it goes on until there is a file PATTERN.over in the working
// directory; PATTERN.begun is made there when it begins. An OpenMP team of OMP_NUM_THREADS is
// started and its threads stay.
// --away: pause after each message of a rank that may not run where it started.
// --memory: touched once, by each thread of the team an equal part, before the first message.
// --spin: the CPU time that each thread of the team uses after each message. --share: thread i of
// the team then writes to pages of its own and to pages that it shares with thread i ^ DISTANCE.
// The threads start on the CPUs of the process in their order, and are free afterwards. Prints
// "sent RANK PEER BYTES" for each pattern and, where a pattern begins and ends, "phase PATTERN
// begin|end SECONDS" of CLOCK_MONOTONIC, and with --share "passes RANK N", how often all threads of
// the rank together have written to their pages.
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static long spin_time;   // microseconds
static long away_pause;  // microseconds
static cpu_set_t start_cpus;
char *kept;  // visible outside this file, so that the compiler does not drop it
static int share_distance;
static long passes;
static char *blocks;  // of each thread of the team, and then of each pair
enum { BLOCK = 1 << 20, PAGE = 4096 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void nap(long microseconds) {
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&time, NULL);
}

// Puts thread i on the i-th CPU of the process for a moment. The kernel leaves threads that are
// alone on their CPUs there.
static void stand_in_order(void) {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
#pragma omp parallel
  {
    int before = omp_get_thread_num() % CPU_COUNT(&all);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &all) && before-- == 0) CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof all, &all);
  }
}

// Small pages: a huge page would be of several blocks.
static void make_blocks(void) {
  const size_t size = (size_t)omp_get_max_threads() * 2 * BLOCK;
  blocks = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(blocks, size, MADV_NOHUGEPAGE);
}

static void write_blocks(void) {
  const int self = omp_get_thread_num(), partner = self ^ share_distance;
  volatile char *own = blocks + (size_t)self * BLOCK;
  volatile char *shared =
      blocks + (size_t)(omp_get_num_threads() + (self < partner ? self : partner)) * BLOCK;
  for (int at = 0; at < BLOCK; at += PAGE) {
    own[at] = 1;
    shared[at + (self < partner)] = 1;
  }
#pragma omp atomic
  ++passes;
}

static void spin(void) {
#pragma omp parallel
  {
    struct timespec time;
    long begin = 0, used = 0;
    for (int first = 1; used < spin_time; first = 0) {
      if (blocks != NULL) write_blocks();
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      used = time.tv_sec * 1000000 + time.tv_nsec / 1000;
      if (first) begin = used;
      used -= begin;
    }
  }
}

static int is_away(void) {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  CPU_AND(&cpus, &cpus, &start_cpus);
  return CPU_COUNT(&cpus) == 0;
}

// Waits without spinning: an emulated CPU that spins takes the host's time from the rank that the
// caller waits for.
static void wait_all(int count, MPI_Request *requests, long pause) {
  int done = 0;
  for (MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE); !done;
       MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE)) {
    nap(pause);
  }
}

static void exchange(char *out, int to, char *in, int from, int bytes, long pause) {
  MPI_Request requests[2];
  MPI_Irecv(in, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[1]);
  wait_all(2, requests, pause);
}

static void barrier(void) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait_all(1, &request, 20000);
}

static int partner_of(const char *pattern, int rank, int size) {
  if (strncmp(pattern, "pair", 4) == 0) return rank ^ 1;
  if (strncmp(pattern, "half", 4) == 0) return (rank + size / 2) % size;
  if (strncmp(pattern, "last", 4) == 0) return rank >= size - 2 ? rank ^ 1 : -1;
  if (strncmp(pattern, "mirror", 6) == 0) return size - 1 - rank;
  if (strncmp(pattern, "ring", 4) == 0) return (rank + 1) % size;
  return -1;
}

// Receives from every rank that has this rank as partner.
static int source_of(const char *pattern, int rank, int size) {
  if (strncmp(pattern, "ring", 4) == 0) return (rank + size - 1) % size;
  return partner_of(pattern, rank, size);
}

// A file NAME.SUFFIX in the working directory, NAME being what stands before the pattern's colon.
static const char *file_of(const char *pattern, const char *suffix) {
  static char name[64];
  snprintf(name, sizeof name, "%.*s.%s", (int)strcspn(pattern, ":"), pattern, suffix);
  return name;
}

static void tell_begin(const char *pattern) {
  printf("phase %s begin %.3f\n", pattern, now());
  fflush(stdout);
  FILE *begun = fopen(file_of(pattern, "begun"), "w");
  if (begun != NULL) fclose(begun);
}

// Rank 0 looks for the file, from time to time; all ranks go on or end after the same round.
static int goes_on(const char *pattern, int rank, long round, long count, long pause) {
  if (count > 0) return round < count;
  if (round % 8 != 0) return 1;
  int over = rank == 0 && access(file_of(pattern, "over"), F_OK) == 0;
  MPI_Request request;
  MPI_Ibcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  wait_all(1, &request, pause);
  return !over;
}

static void talk(const char *pattern, int bytes, long pause) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long count = strtol(strchr(pattern, ':') + 1, NULL, 10);  // 0: until
  long round = 0;
  const int to = partner_of(pattern, rank, size), from = source_of(pattern, rank, size);
  char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
  memset(out, rank, (size_t)bytes);
  barrier();
  if (rank == 0) tell_begin(pattern);
  for (; goes_on(pattern, rank, round, count, pause); ++round) {
    if (to >= 0 && to < size) exchange(out, to, in, from, bytes, pause);
    if (spin_time > 0) spin();
    nap(away_pause > 0 && is_away() ? away_pause : pause);
  }
  barrier();
  if (to >= 0 && to < size) printf("sent %d %d %lld\n", rank, to, (long long)round * bytes);
  if (blocks != NULL) printf("passes %d %ld\n", rank, passes);
  if (rank == 0) printf("phase %s end %.3f\n", pattern, now());
  fflush(stdout);
  free(out);
  free(in);
}

static void touch(long memory) {
  kept = malloc((size_t)memory);
#pragma omp parallel for schedule(static)
  for (long at = 0; at < memory; at += 4096) memset(kept + at, 1, 4096);
}

int main(int argc, char **argv) {
  int bytes = 1 << 18, provided;
  long pause = 20000;
  sched_getaffinity(0, sizeof start_cpus, &start_cpus);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
#pragma omp parallel
  nap(1000);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--bytes") == 0 && i + 1 < argc) {
      bytes = atoi(argv[++i]);
    } else if (strcmp(argv[i], "--pause") == 0 && i + 1 < argc) {
      pause = atol(argv[++i]);
    } else if (strcmp(argv[i], "--away") == 0 && i + 1 < argc) {
      away_pause = atol(argv[++i]);
    } else if (strcmp(argv[i], "--spin") == 0 && i + 1 < argc) {
      spin_time = atol(argv[++i]);
    } else if (strcmp(argv[i], "--share") == 0 && i + 1 < argc) {
      share_distance = atoi(argv[++i]);
      make_blocks();
      stand_in_order();
    } else if (strcmp(argv[i], "--memory") == 0 && i + 1 < argc) {
      touch(atol(argv[++i]) << 20);
    } else if (strchr(argv[i], ':')) {
      talk(argv[i], bytes, pause);
    }
  }
  barrier();
  MPI_Finalize();
  return 0;
}
