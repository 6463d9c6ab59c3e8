// SPDX-License-Identifier: MIT
// A 3D FFT as NPB's FT: passes over the own slab, then a transposition, in which every rank sends
// the same to every other.
#include "shape.h"

enum { kSlab = 32 * 1024, kSteps = 16 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int part = kSlab / ranks;
  double *slab = room((size_t)part * ranks * 8), *turned = room((size_t)part * ranks * 8), sum = 0;
  for (int step = 0; step < kSteps * size_of_run; ++step) {
    for (int pass = 0; pass < 2; ++pass) sum += sweep(slab, (size_t)part * ranks);
    for (int to = 0; to < ranks; ++to) slab[(size_t)part * to] = rank;
    MPI_Alltoall(slab, part, MPI_DOUBLE, turned, part, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; ++from) must(turned[(size_t)part * from] == from, "part");
    sum += sweep(turned, (size_t)part * ranks);
    step_done();
  }
  return finish(sum);
}
