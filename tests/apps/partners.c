/* SPDX-License-Identifier: Apache-2.0
 *
 * partners [-s SECONDS | -m MESSAGES] [-b BYTES] [-p PAUSE_US] [-x PAUSE_US] [-i SECONDS] [-w]:
 * changes its partners half-way. 4 ranks, or 8, 12, .... In the first half rank r exchanges
 * messages with r ^ 1, in the second half with r ^ 2. A half is SECONDS long (default 5) or
 * MESSAGES exchanges.
 *   -b   bytes of a message (default 65536)
 *   -p   pause after each exchange, microseconds (default 200)
 *   -x   pause of a rank that may not run where it started, microseconds (default 0)
 *   -i   time between two lines of progress, seconds (default 1)
 *   -w   each rank prints, with its progress, where its threads may run
 *
 * Prints lines that a person and a test can read, times in seconds since the epoch:
 *   partners: rank R half H from T0 to T1 sent to rank P: B bytes in N messages
 *   partners: rank R at T half H sent to rank P: B bytes so far
 *   partners: rank R at T thread I may run on CPUs LIST                 (-w)
 *   partners: rank R half H first on CPUs LIST last on CPUs LIST
 * All counters are the program's own.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

struct settings {
  double seconds;
  long messages;
  int bytes;
  unsigned pause, away;
  int watch;
  double progress;
};

struct half {
  int number, partner;
  long long bytes, messages;
  double start;
};

static struct settings settings = {5, 0, 65536, 200, 0, 0, 1};
static cpu_set_t start_cpus;
static int rank, size;
static char *out, *in;

static double now(void) {
  struct timeval t;
  gettimeofday(&t, NULL);
  return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Cpus_allowed_list of a thread; "?" if the thread has ended. */
static void cpus_of(const char* thread, char* list, size_t length) {
  char path[300], line[4200];
  snprintf(list, length, "?");
  snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
  FILE* status = fopen(path, "r");
  if (status == NULL) return;
  while (fgets(line, sizeof(line), status) != NULL)
    if (strncmp(line, "Cpus_allowed_list:", 18) == 0) {
      line[strcspn(line, "\n")] = '\0';
      snprintf(list, length, "%s", line + 18 + strspn(line + 18, " \t"));
    }
  fclose(status);
}

static void cpus_of_main(char* list, size_t length) {
  char id[32];
  snprintf(id, sizeof(id), "%d", (int)getpid());
  cpus_of(id, list, length);
}

static void print_threads(void) {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return;
  for (struct dirent* e = readdir(tasks); e != NULL; e = readdir(tasks)) {
    char list[256];
    if (e->d_name[0] == '.') continue;
    cpus_of(e->d_name, list, sizeof(list));
    printf("partners: rank %d at %.3f thread %s may run on CPUs %s\n", rank, now(), e->d_name,
           list);
  }
  closedir(tasks);
}

static void print_progress(const struct half* h) {
  printf("partners: rank %d at %.3f half %d sent to rank %d: %lld bytes so far\n", rank, now(),
         h->number, h->partner, h->bytes);
  if (settings.watch) print_threads();
  fflush(stdout);
}

/* The lower rank of a pair decides and tells the other by the first byte of the message, so that
 * both stop after the same exchange. */
static int goes_on(const struct half* h) {
  if (settings.messages > 0) return h->messages + 1 < settings.messages;
  return now() - h->start < settings.seconds;
}

static int is_away(void) {
  cpu_set_t cpus;
  return settings.away > 0 && sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
         !CPU_EQUAL(&cpus, &start_cpus);
}

static void exchange(struct half* h, int lead) {
  if (lead) out[0] = (char)goes_on(h);
  MPI_Sendrecv(out, settings.bytes, MPI_CHAR, h->partner, h->number, in, settings.bytes, MPI_CHAR,
               h->partner, h->number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  h->bytes += settings.bytes;
  ++h->messages;
  if (settings.pause > 0) usleep(settings.pause);
  if (is_away()) usleep(settings.away);
}

static void run_half(int number, int partner) {
  struct half h = {number, partner, 0, 0, now()};
  char first[256], last[256];
  const int lead = rank < partner;
  double next = h.start + settings.progress;
  cpus_of_main(first, sizeof(first));
  for (int more = 1; more;) {
    exchange(&h, lead);
    more = lead ? out[0] : in[0];
    if (now() >= next) {
      print_progress(&h);
      next += settings.progress;
    }
  }
  cpus_of_main(last, sizeof(last));
  printf(
      "partners: rank %d half %d from %.3f to %.3f sent to rank %d: %lld bytes in %lld messages\n",
      rank, number, h.start, now(), partner, h.bytes, h.messages);
  printf("partners: rank %d half %d first on CPUs %s last on CPUs %s\n", rank, number, first, last);
  fflush(stdout);
}

static void read_arguments(int argc, char** argv) {
  for (int option; (option = getopt(argc, argv, "s:m:b:p:x:i:w")) != -1;) switch (option) {
      case 's':
        settings.seconds = atof(optarg);
        break;
      case 'm':
        settings.messages = atol(optarg);
        break;
      case 'i':
        settings.progress = atof(optarg);
        break;
      case 'b':
        settings.bytes = atoi(optarg);
        break;
      case 'p':
        settings.pause = (unsigned)atoi(optarg);
        break;
      case 'x':
        settings.away = (unsigned)atoi(optarg);
        break;
      case 'w':
        settings.watch = 1;
        break;
      default:
        exit(2);
    }
  if (settings.bytes < 1) settings.bytes = 1;
}

int main(int argc, char** argv) {
  (void)sched_getaffinity(0, sizeof(start_cpus), &start_cpus);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  read_arguments(argc, argv);
  if (size < 4 || size % 4 != 0) {
    if (rank == 0) fprintf(stderr, "partners: run it with 4 ranks, or 8, 12, ...\n");
    MPI_Finalize();
    return 2;
  }
  out = calloc(1, (size_t)settings.bytes);
  in = calloc(1, (size_t)settings.bytes);
  run_half(1, rank ^ 1);
  run_half(2, rank ^ 2);
  MPI_Finalize();
  return 0;
}
