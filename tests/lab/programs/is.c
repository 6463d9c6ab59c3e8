// SPDX-License-Identifier: MIT
// Integer sort as NPB's IS: keys are counted into buckets, sizes are summed over all ranks, keys go
// to the rank of their bucket.
#include "shape.h"

enum { kKeys = 16 * 1024, kSteps = 16 };

int main(int argc, char **argv) {
  start(&argc, &argv);
  unsigned *keys = room(kKeys * 4), *sorted = room(kKeys * 4), *mine = room(kKeys * 4 * 4),
           random = 12345u + (unsigned)rank;
  int *counts = room(sizeof(int) * ranks), *from = room(sizeof(int) * ranks),
      *begin = room(sizeof(int) * (ranks + 1)), *place = room(sizeof(int) * (ranks + 1)),
      *sums = room(sizeof(int) * ranks);
  double sum = 0;
  for (int step = 0; step < kSteps * size_of_run; ++step) {
    memset(counts, 0, sizeof(int) * (size_t)ranks);
    for (int i = 0; i < kKeys; ++i) {
      random = random * 1664525u + 1013904223u;
      keys[i] = (random >> 8) % (unsigned)ranks;
      ++counts[keys[i]];
    }
    begin[0] = 0;
    for (int i = 0; i < ranks; ++i) begin[i + 1] = begin[i] + counts[i];
    memcpy(place, begin, sizeof(int) * (size_t)(ranks + 1));
    for (int i = 0; i < kKeys; ++i) sorted[place[keys[i]]++] = keys[i];
    MPI_Allreduce(counts, sums, ranks, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(counts, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
    place[0] = 0;
    for (int i = 0; i < ranks; ++i) place[i + 1] = place[i] + from[i];
    must(place[ranks] == sums[rank] && place[ranks] <= kKeys * 4, "number of keys");
    MPI_Alltoallv(sorted, counts, begin, MPI_UNSIGNED, mine, from, place, MPI_UNSIGNED,
                  MPI_COMM_WORLD);
    for (int i = 0; i < place[ranks]; ++i) must(mine[i] == (unsigned)rank, "key");
    sum += place[ranks];
    step_done();
  }
  return finish(sum);
}
