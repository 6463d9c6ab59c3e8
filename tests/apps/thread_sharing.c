// SPDX-License-Identifier: Apache-2.0
// Threads that share memory in a known way: thread_sharing PATTERN THREADS LINES ROUNDS
// Each round, threads write lines of 64 bytes and others read them after a barrier. Prints "FROM TO LINES" for each pair: the lines that
// thread TO read for the first time after thread FROM wrote them. Thread 0 is the main thread.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kMostThreads = 64, kWords = 8 };  // words in a line

typedef void work(int self, int round);

static int threads, rounds;
static long lines;
static volatile long* buffer[kMostThreads];
static long account[kMostThreads][kMostThreads];  // [to][from]: written by one thread only
static long sink[kMostThreads][kWords];
static pthread_barrier_t barrier;
static sem_t full[kMostThreads], empty[kMostThreads];

static void wait_for_all(void) { pthread_barrier_wait(&barrier); }

static void write_lines(int of) {
  for (long i = 0; i < lines; ++i) buffer[of][i * kWords] = i;
}

static void read_lines(int self, int from) {
  long sum = 0;
  for (long i = 0; i < lines; ++i) sum += buffer[from][i * kWords];
  sink[self][0] = sum;
  account[self][from] += lines;
}

static void read_from(int self, int from) {
  write_lines(self);
  wait_for_all();
  if (from >= 0) read_lines(self, from);
  wait_for_all();
}

static void pairs(int self, int round) {
  (void)round;
  read_from(self, self ^ 1);
}

static void ring(int self, int round) {
  (void)round;
  read_from(self, (self + threads - 1) % threads);
}

// Each thread reads what its two children in a binary tree wrote.
static void tree(int self, int round) {
  (void)round;
  write_lines(self);
  wait_for_all();
  for (int child = 2 * self + 1; child <= 2 * self + 2 && child < threads; ++child) read_lines(self, child);
  wait_for_all();
}

static void all_to_all(int self, int round) {
  (void)round;
  write_lines(self);
  wait_for_all();
  for (int from = 0; from < threads; ++from)
    if (from != self) read_lines(self, from);
  wait_for_all();
}

// Pairs that change their partner in the middle of the run.
static void phases(int self, int round) { read_from(self, round < rounds / 2 ? self ^ 1 : self ^ 2); }

// Two threads add to words of their own in the same lines, one after the other.
static void false_sharing(int self, int round) {
  volatile long* shared = buffer[self & ~1];
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == (self & 1)) {
      for (long i = 0; i < lines; ++i) shared[i * kWords + turn] += 1;
      if (round > 0 || turn == 1) account[self][self ^ 1] += lines;
    }
    wait_for_all();
  }
}

static void take(sem_t* semaphore) {
  while (sem_wait(semaphore) != 0 && errno == EINTR) {
  }
}

// Thread 0 fills a buffer for each other thread, which reads it.
static void producer_consumer(int self, int round) {
  (void)round;
  if (self != 0) {
    take(&full[self]);
    for (long i = 0, sum = 0; i < lines; ++i) sink[self][0] = sum += buffer[self][i * kWords];
    account[self][0] += lines;
    sem_post(&empty[self]);
    return;
  }
  for (int to = 1; to < threads; ++to) {
    take(&empty[to]);
    write_lines(to);
    sem_post(&full[to]);
  }
}

static const struct {
  const char* name;
  work* run;
} kPatterns[] = {{"pairs", pairs},   {"ring", ring},
                 {"tree", tree},     {"all_to_all", all_to_all},
                 {"phases", phases}, {"false_sharing", false_sharing},
                 {"producer_consumer", producer_consumer}};
static work* pattern;

static void* run_rounds(void* number) {
  const int self = (int)(long)number;
  for (int round = 0; round < rounds; ++round) pattern(self, round);
  return NULL;
}

static void prepare(void) {
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int t = 0; t < threads; ++t) {
    buffer[t] = mmap(NULL, (size_t)lines * 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer[t] == MAP_FAILED) exit(3);
    sem_init(&full[t], 0, 0);
    sem_init(&empty[t], 0, 1);
  }
}

static void run_threads(void) {
  pthread_t others[kMostThreads];
  for (long t = 1; t < threads; ++t) {
    char name[16];
    if (pthread_create(&others[t], NULL, run_rounds, (void*)t) != 0) exit(3);
    snprintf(name, sizeof name, "worker %ld", t);
    pthread_setname_np(others[t], name);
  }
  run_rounds((void*)0L);
  for (int t = 1; t < threads; ++t) pthread_join(others[t], NULL);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  for (size_t p = 0; p < sizeof kPatterns / sizeof *kPatterns; ++p)
    if (strcmp(kPatterns[p].name, argv[1]) == 0) pattern = kPatterns[p].run;
  threads = atoi(argv[2]);
  lines = atol(argv[3]);
  rounds = atoi(argv[4]);
  if (pattern == NULL || threads < 2 || threads > kMostThreads) return 2;
  prepare();
  run_threads();
  for (int to = 0; to < threads; ++to)
    for (int from = 0; from < threads; ++from)
      if (account[to][from] > 0) printf("%d %d %ld\n", from, to, account[to][from]);
  return 0;
}
