// SPDX-License-Identifier: Apache-2.0
// Kernels of OpenMP in the shape of CG, MG, LU and FT of the NAS Parallel Benchmarks, small enough
// for an emulator:
//   thread_kernels cg|mg|lu|ft SIZE ROUNDS
// Each thread owns a contiguous part of the rows or planes. Prints a checksum, which does not
// depend on the number of threads but for rounding.
//   cg  a conjugate gradient step with random columns: every thread reads parts of the vectors of
//   all mg  a V-cycle of a 7-point smoother over planes: neighbours exchange planes, on coarse
//   grids further away lu  two sweeps in a pipeline: a thread starts a plane when its lower (then
//   its upper) neighbour has finished its part ft  butterflies along the rows and a transposition:
//   every thread reads from every other
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int size, rounds;

// The NUMA lab (tests/lab) preloads this function, because it times the rounds alone.
__attribute__((weak)) void lab_rounds(bool begin);

static void say_rounds(bool begin) {
  if (lab_rounds != NULL) lab_rounds(begin);
}

// Each thread writes its part first, so that the part lies on the thread's NUMA node.
static double* doubles(size_t count) {
  double* data = aligned_alloc(64, (count * sizeof(double) + 63) / 64 * 64);
  if (data == NULL) abort();
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < count; ++i) data[i] = 0;
  return data;
}

static double sum_of(const double* data, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += data[i];
  return sum;
}

static uint64_t random_state = 1;
static uint32_t next_random(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33);
}

enum { kColumns = 11 };  // beside the diagonal

static double cg(void) {
  const int n = size;
  int* column = malloc(sizeof(int) * kColumns * (size_t)n);
  if (column == NULL) abort();
  for (int i = 0; i < kColumns * n; ++i) column[i] = (int)(next_random() % (uint32_t)n);
  double *x = doubles(n), *r = doubles(n), *p = doubles(n), *q = doubles(n), rho = 0, pq;
  for (int i = 0; i < n; ++i) r[i] = p[i] = 1 + next_random() % 10;
  for (int i = 0; i < n; ++i) rho += r[i] * r[i];
  say_rounds(true);
  for (int round = 0; round < rounds; ++round) {
    pq = 0;
#pragma omp parallel for schedule(static) reduction(+ : pq)
    for (int i = 0; i < n; ++i) {
      double sum = 2 * kColumns * p[i];
      for (int k = 0; k < kColumns; ++k) sum -= p[column[i * kColumns + k]] / 2;
      q[i] = sum;
      pq += sum * p[i];
    }
    const double alpha = rho / pq, last = rho;
    rho = 0;
#pragma omp parallel for schedule(static) reduction(+ : rho)
    for (int i = 0; i < n; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      rho += r[i] * r[i];
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; ++i) p[i] = r[i] + rho / last * p[i];
  }
  say_rounds(false);
  return sum_of(x, n);
}

// u = smoothed v on a grid of n planes with n * n points, the border stays.
static void smooth(double* u, const double* v, int n) {
  const long plane = (long)n * n;
#pragma omp parallel for schedule(static)
  for (int z = 1; z < n - 1; ++z)
    for (int y = 1; y < n - 1; ++y)
      for (int x = 1; x < n - 1; ++x) {
        const long at = z * plane + y * n + x;
        u[at] = (v[at] * 2 + v[at - 1] + v[at + 1] + v[at - n] + v[at + n] + v[at - plane] +
                 v[at + plane]) /
                8;
      }
}

// Takes every second point of a grid of 2 * n planes, or gives it back.
static void change_grid(double* coarse, double* fine, int n, int to_coarse) {
  const long plane = (long)n * n;
#pragma omp parallel for schedule(static)
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) {
        double *small = coarse + z * plane + y * n + x,
               *large = fine + 8 * z * plane + 4 * y * n + 2 * x;
        if (to_coarse)
          *small = *large;
        else
          *large = (*large + *small) / 2;
      }
}

static double mg(void) {
  enum { kLevels = 3 };
  double *u[kLevels], *v[kLevels];
  for (int level = 0, n = size; level < kLevels; ++level, n /= 2) {
    u[level] = doubles((size_t)n * n * n);
    v[level] = doubles((size_t)n * n * n);
  }
  const size_t points = (size_t)size * size * size;
  for (size_t i = 0; i < points; ++i) u[0][i] = next_random() % 100;
  say_rounds(true);
  for (int round = 0; round < rounds; ++round) {
    for (int level = 0, n = size; level < kLevels; ++level, n /= 2) {
      smooth(v[level], u[level], n);
      smooth(u[level], v[level], n);
      if (level + 1 < kLevels) change_grid(u[level + 1], u[level], n / 2, 1);
    }
    for (int level = kLevels - 1, n = size >> (kLevels - 1); level-- > 0; n *= 2) {
      change_grid(u[level + 1], u[level], n, 0);
      smooth(v[level], u[level], 2 * n);
      smooth(u[level], v[level], 2 * n);
    }
  }
  say_rounds(false);
  return sum_of(u[0], points);
}

// The planes that a thread has finished, each counter in a line of its own.
typedef struct {
  _Alignas(64) volatile int planes;
} Progress;

static void wait_for_plane(const Progress* of, int plane) {
  while (of->planes <= plane) {
#pragma omp flush
  }
}

static void finish_plane(Progress* of, int plane) {
#pragma omp flush
  of->planes = plane + 1;
}

static double lu(void) {
  const int n = size;
  const long plane = (long)n * n;
  double* u = doubles((size_t)n * plane);
  for (long i = 0; i < n * plane; ++i) u[i] = next_random() % 100;
  Progress* progress = aligned_alloc(64, sizeof(Progress) * 2 * 256);
  if (progress == NULL) abort();
  say_rounds(true);
#pragma omp parallel
  {
    const int self = omp_get_thread_num(), threads = omp_get_num_threads();
    const int first = 1 + (n - 2) * self / threads, last = 1 + (n - 2) * (self + 1) / threads;
    Progress *lower = progress + self, *upper = progress + 256 + self;
    for (int round = 0; round < rounds; ++round) {
      lower->planes = upper->planes = 0;
#pragma omp barrier
      for (int z = 1; z < n - 1; ++z) {
        if (self > 0) wait_for_plane(lower - 1, z);
        for (int y = first; y < last; ++y)
          for (int x = 1; x < n - 1; ++x) {
            double* at = u + z * plane + y * n + x;
            *at = (*at + at[-1] + at[-n] + at[-plane]) / 4;
          }
        finish_plane(lower, z);
      }
#pragma omp barrier
      for (int z = n - 2; z > 0; --z) {
        if (self + 1 < threads) wait_for_plane(upper + 1, n - z);
        for (int y = last - 1; y >= first; --y)
          for (int x = n - 2; x > 0; --x) {
            double* at = u + z * plane + y * n + x;
            *at = (*at + at[1] + at[n] + at[plane]) / 4;
          }
        finish_plane(upper, n - z);
      }
#pragma omp barrier
    }
  }
  say_rounds(false);
  return sum_of(u, (size_t)n * plane);
}

static double ft(void) {
  const int n = size;
  double *a = doubles((size_t)n * n), *b = doubles((size_t)n * n);
  for (long i = 0; i < (long)n * n; ++i) a[i] = next_random() % 100;
  say_rounds(true);
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel for schedule(static)
    for (int row = 0; row < n; ++row)
      for (int half = 1; half < n; half *= 2)
        for (int i = 0; i < n; ++i)
          if ((i & half) == 0) {
            double *even = a + (long)row * n + i, *odd = even + half;
            const double sum = (*even + *odd) / 2, difference = (*even - *odd) / 2;
            *even = sum;
            *odd = difference;
          }
#pragma omp parallel for schedule(static)
    for (int row = 0; row < n; ++row)
      for (int i = 0; i < n; ++i) b[(long)row * n + i] = a[(long)i * n + row];
    double* other = a;
    a = b;
    b = other;
  }
  say_rounds(false);
  double sum = 0;
  for (long i = 0; i < (long)n * n; ++i) sum += fabs(a[i]);
  return sum;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    double (*run)(void);
  } kKernels[] = {{"cg", cg}, {"mg", mg}, {"lu", lu}, {"ft", ft}};
  if (argc != 4) return 2;
  size = atoi(argv[2]);
  rounds = atoi(argv[3]);
  for (unsigned i = 0; i < sizeof kKernels / sizeof *kKernels; ++i) {
    if (strcmp(argv[1], kKernels[i].name) != 0) continue;
    printf("%.9e\n", kKernels[i].run());
    return 0;
  }
  return 2;
}
