// SPDX-License-Identifier: MIT
// Measures the simulated machine with the guest's own clock: one JSON object a line for each
// figure. run-lab compares them with the description of the machine.
//   lab_validate chase CPU NODE KIB LEVEL  ns from load to load, addresses in random order; if the
//                                     LEVEL is not memory, all lines are loaded before
//   lab_validate stream NODE CPU...   GB/s of all these CPUs together, each reading memory of NODE
//   lab_validate handover A B NODE    ns in which a line of NODE goes from CPU A to CPU B, one way
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trigger.h"

enum { kLine = 64, kMaxCpus = 64 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) perror("sched_setaffinity"), exit(1);
}

// Huge pages: a stream begins anew with each page that does not follow the one before in physical
// memory, and its first two lines take their full latency. How scattered pages of 4 KiB are differs
// from boot to boot.
static char* memory_of(int node, size_t bytes) {
  const size_t page = 2 << 20, whole = (bytes + page - 1) / page * page;
  char* place = mmap(0, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned long mask = 1ul << node;
  if (place == MAP_FAILED) perror("mmap"), exit(1);
  place += (page - (uintptr_t)place % page) % page;
  if (madvise(place, whole, MADV_HUGEPAGE) != 0) perror("madvise");
  if (syscall(SYS_mbind, place, whole, MPOL_BIND, &mask, 64, 0) != 0) perror("mbind"), exit(1);
  memset(place, 1, bytes);
  return place;
}

// The kernel gives a measurement pages whose lines an earlier one has left in the caches. LAB_LLC
// "KIB CPUS" tells the size of a last-level cache, and how many CPUs share it.
static void evict(void) {
  size_t kib = 0, sharers = 0;
  const size_t most = 256 << 20;
  const char* text = getenv("LAB_LLC");
  if (text == NULL || sscanf(text, "%zu %zu", &kib, &sharers) != 2 || sharers == 0) return;
  const size_t bytes = kib << 11 < most ? kib << 11 : most;
  volatile char* memory = memory_of(0, bytes);
  LAB_TRIGGER(1, 0);
  for (size_t cpu = 0; cpu < (size_t)sysconf(_SC_NPROCESSORS_ONLN); cpu += sharers) {
    run_on((int)cpu);
    for (size_t at = 0; at < bytes; at += kLine) (void)memory[at];
  }
  LAB_TRIGGER(2, 0);
}

// Another process of the guest or its kernel can hold up a measurement, and 20 µs are enough to
// spoil one of a private cache. Hence each figure is the median of some rounds.
enum { kRounds = 5 };

static int smaller_first(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double rounds[kRounds]) {
  qsort(rounds, kRounds, sizeof *rounds, smaller_first);
  return rounds[kRounds / 2];
}

static void* follow(void** at, long hops) {
  for (long i = 0; i < hops; i += 8) {
    at = *at, at = *at, at = *at, at = *at;
    at = *at, at = *at, at = *at, at = *at;
  }
  return at;
}

static int chase(int cpu, int node, size_t kib, const char* level) {
  evict();
  run_on(cpu);
  const size_t bytes = kib << 10, lines = bytes / kLine;
  char* memory = memory_of(node, bytes);
  size_t* order = malloc(lines * sizeof *order);
  unsigned long random = 12345;
  for (size_t i = 0; i < lines; ++i) order[i] = i;
  for (size_t i = lines - 1; i > 0; --i) {
    random = random * 6364136223846793005ul + 1442695040888963407ul;
    const size_t j = (random >> 33) % (i + 1), held = order[i];
    order[i] = order[j], order[j] = held;
  }
  for (size_t i = 0; i < lines; ++i)
    *(void**)(memory + kLine * order[i]) = memory + kLine * order[(i + 1) % lines];
  void** at = (void**)(memory + kLine * order[0]);
  const long hops = 40000;
  LAB_TRIGGER(1, 0);
  if (strcmp(level, "memory") != 0) at = follow(at, (long)lines * 2);  // fills the caches
  double ns[kRounds];
  for (int round = 0; round < kRounds; ++round) {
    const double begin = seconds();
    at = follow(at, hops);
    ns[round] = (seconds() - begin) / (double)hops * 1e9;
  }
  LAB_TRIGGER(2, 0);
  printf("{\"what\":\"chase\",\"cpu\":%d,\"node\":%d,\"kib\":%zu,\"ns\":%.3f,\"end\":%d}\n", cpu,
         node, kib, median(ns), at == NULL);
  return 0;
}

// A reader that is held up leaves more of the bandwidth to the others, and the sum of all rates
// then shows too much.
static struct {
  int cpu, node;
  double seconds[kRounds];
  char* memory;
} readers[kMaxCpus];
static pthread_barrier_t together;
static volatile double start[kRounds];
static const size_t kStreamBytes = 2 << 20;

// All start at one time of the clock: a barrier lets them go microseconds apart.
static double read_once(long reader, int round) {
  pthread_barrier_wait(&together);
  if (reader == 0) start[round] = seconds() + 20e-6;
  while (start[round] == 0 || seconds() < start[round]) {
  }
  const double begin = seconds();
  const char* at = readers[reader].memory + (size_t)round * kStreamBytes;  // no cache has it
  for (const char* end = at + kStreamBytes; at < end; at += 8 * kLine) {
    __asm__ volatile(
        "mov (%0),%%rax\n mov 64(%0),%%rax\n mov 128(%0),%%rax\n mov 192(%0),%%rax\n"
        "mov 256(%0),%%rax\n mov 320(%0),%%rax\n mov 384(%0),%%rax\n mov 448(%0),%%rax\n" ::"r"(at)
        : "rax", "memory");
  }
  return seconds() - begin;
}

static void* reader(void* argument) {
  const long i = (long)argument;
  run_on(readers[i].cpu);
  readers[i].memory = memory_of(readers[i].node, kRounds * kStreamBytes);
  pthread_barrier_wait(&together);
  if (i == 0) LAB_TRIGGER(1, 0);
  for (int round = 0; round < kRounds; ++round) readers[i].seconds[round] = read_once(i, round);
  if (i == 0) LAB_TRIGGER(4, 2);
  pthread_barrier_wait(&together);
  if (i == 0) LAB_TRIGGER(2, 0);
  return NULL;
}

static double gbytes_per_s_of(int count) {
  double gbytes_per_s[kRounds] = {0};
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < count; ++i) {
      gbytes_per_s[round] += (double)kStreamBytes / readers[i].seconds[round] / 1e9;
    }
  }
  return median(gbytes_per_s);
}

static int stream(int node, int count, char** cpus) {
  pthread_t threads[kMaxCpus];
  evict();
  pthread_barrier_init(&together, NULL, (unsigned)count);
  for (long i = 0; i < count; ++i) {
    readers[i].cpu = atoi(cpus[i]);
    readers[i].node = node;
    pthread_create(&threads[i], NULL, reader, (void*)i);
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  printf("{\"what\":\"stream\",\"node\":%d,\"cpus\":%d,\"first\":%d,\"gbytes_per_s\":%.4f}\n", node,
         count, readers[0].cpu, gbytes_per_s_of(count));
  return 0;
}

enum { kWarmUp = 200, kHandovers = 1800 };
static volatile long* line;
static int sides[2];

static void take_turns(long side, long first, long end) {
  for (long turn = first + side; turn < end; turn += 2) {
    while (*line != turn) {
    }
    *line = turn + 1;
  }
  while (side == 0 && *line != end) {
  }
}

static void* hand_over(void* argument) {
  const long side = (long)argument;
  run_on(sides[side]);
  pthread_barrier_wait(&together);
  if (side == 0) LAB_TRIGGER(1, 0);
  pthread_barrier_wait(&together);
  take_turns(side, 0, kWarmUp);
  double ns[kRounds];
  for (int round = 0; round < kRounds; ++round) {
    const long first = kWarmUp + (long)round * kHandovers;
    const double begin = seconds();
    take_turns(side, first, first + kHandovers);
    ns[round] = (seconds() - begin) / kHandovers * 1e9;
  }
  if (side == 0) {
    LAB_TRIGGER(4, 3);
    printf("{\"what\":\"handover\",\"from\":%d,\"to\":%d,\"ns\":%.2f", sides[0], sides[1],
           median(ns));
  }
  pthread_barrier_wait(&together);
  if (side == 0) LAB_TRIGGER(2, 0);
  return NULL;
}

static int handover(int a, int b, int node) {
  pthread_t threads[2];
  sides[0] = a, sides[1] = b;
  line = (volatile long*)memory_of(node, 4096);
  *line = 0;
  pthread_barrier_init(&together, NULL, 2);
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, hand_over, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf(",\"node\":%d}\n", node);
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "chase") && argc == 6)
    return chase(atoi(argv[2]), atoi(argv[3]), (size_t)atol(argv[4]), argv[5]);
  if (!strcmp(what, "stream") && argc > 3 && argc <= 3 + kMaxCpus)
    return stream(atoi(argv[2]), argc - 3, argv + 3);
  if (!strcmp(what, "handover") && argc == 5)
    return handover(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
  fputs("usage: lab_validate chase CPU NODE KIB LEVEL | stream NODE CPU... | handover A B NODE\n",
        stderr);
  return 2;
}
