// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "batch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trigger.h"

enum { kMaxRanks = 64, kMaxMappings = 512, kPage = 4096, kPagesAtOnce = 512 };

static struct {
  unsigned label;
  int cpus[kMaxRanks];
} mappings[kMaxMappings];
static int count, next;

static void read_file(const char* path) {
  char text[1024];
  FILE* file = fopen(path, "r");
  if (file == NULL) perror(path), exit(1);
  while (count < kMaxMappings && fgets(text, sizeof text, file) != NULL) {
    char* at = text;
    mappings[count].label = (unsigned)strtoul(at, &at, 10);
    for (int rank = 0; rank < kMaxRanks; ++rank)
      mappings[count].cpus[rank] = (int)strtol(at, &at, 10);
    ++count;
  }
  fclose(file);
}

static void go_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    const int tid = atoi(task->d_name);
    if (tid > 0 && sched_setaffinity(tid, sizeof set, &set) != 0)
      perror("sched_setaffinity"), exit(1);
  }
  closedir(tasks);
}

static void move(uintptr_t begin, uintptr_t end, int node) {
  void* pages[kPagesAtOnce];
  int nodes[kPagesAtOnce], status[kPagesAtOnce];
  while (begin < end) {
    unsigned long n = 0;
    for (; n < kPagesAtOnce && begin < end; ++n, begin += kPage)
      pages[n] = (void*)begin, nodes[n] = node;
    syscall(SYS_move_pages, 0, n, pages, nodes, status,
            geteuid() == 0 ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE);
  }
}

// Private memory, and of the segments of Open MPI (vader_segment.NODE.USER.JOB.RANK) the own one.
static void bring_memory(int rank) {
  static unsigned last_node = ~0U;
  unsigned cpu = 0, node = 0;
  syscall(SYS_getcpu, &cpu, &node, NULL);
  if (node == last_node) return;
  last_node = node;
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1024];
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end;
    char kind[8], path[512] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %511s", &begin, &end, kind, path) < 3 ||
        kind[1] != 'w')
      continue;
    const char* dot = strrchr(path, '.');
    const bool own_segment =
        strstr(path, "vader_segment") != NULL && dot != NULL && atoi(dot + 1) == rank;
    if (kind[3] == 'p' || own_segment) move(begin, end, (int)node);
  }
  if (maps != NULL) fclose(maps);
}

bool batch_take(int rank) {
  if (count == 0) return true;
  go_to(mappings[next].cpus[rank]);
  bring_memory(rank);
  return next++ == 0;
}

bool batch_is_last(void) { return next >= count; }

void batch_label(void) {
  if (count == 0) return;
  for (int shift = 16; shift >= 0; shift -= 8)
    lab_trigger(LAB_LABEL, mappings[next - 1].label >> shift & 0xff);
}

typedef int Main(int, char**, char**);
static Main* program;

static int call_for_each(int argc, char** argv, char** environment) {
  int status = 0;
  do {
    status = program(argc, argv, environment);
  } while (status == 0 && !batch_is_last());
  return status;
}

// Takes the place of the C library's: it calls the program's main.
int __libc_start_main(Main* main_of_program, int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*ld_fini)(void), void* end) {
  typedef int Start(Main*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
  void* symbol = dlsym(RTLD_NEXT, "__libc_start_main");
  Start* start;
  memcpy(&start, &symbol, sizeof start);
  const char* path = getenv("LAB_BATCH");
  program = main_of_program;
  if (path != NULL && getenv("PMIX_RANK") != NULL) read_file(path);
  return start(call_for_each, argc, argv, init, fini, ld_fini, end);
}
