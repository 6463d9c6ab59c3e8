// SPDX-License-Identifier: MIT
// Multigrid as NPB's MG: down and up through the levels, at each a halo exchange with six
// neighbours and a sweep, both a quarter and an eighth of the level above.
#include "halo.h"

enum { kLevels = 5, kEdge = 32, kCycles = 24 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  make_blocks();
  double *block[kLevels], *out = room(kEdge * kEdge * 8), *in = room(kEdge * kEdge * 8), sum = 0;
  size_t cells[kLevels];
  for (int level = 0; level < kLevels; ++level) {
    const size_t edge = kEdge >> level;
    cells[level] = edge * edge * edge;
    block[level] = room(cells[level] * 8);
  }
  for (int cycle = 0; cycle < kCycles * size_of_run; ++cycle) {
    for (int turn = 0; turn < 2 * kLevels - 1; ++turn) {
      const int level = turn < kLevels ? turn : 2 * kLevels - 2 - turn, edge = kEdge >> level;
      const int face[3] = {edge * edge, edge * edge, edge * edge};
      sum += sweep(block[level], cells[level]);
      halo(block[level], cells[level], face, out, in);
    }
    double all;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    step_done();
  }
  return finish(sum);
}
