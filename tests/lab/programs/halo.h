// SPDX-License-Identifier: MIT
// Exchange of the six faces of a block in a 3D grid of ranks, with wrap-around.
#pragma once
#include "shape.h"

static int extent_of_grid[3], place[3];

static void make_blocks(void) {
  grid(3, extent_of_grid);
  place[0] = rank / (extent_of_grid[1] * extent_of_grid[2]);
  place[1] = rank / extent_of_grid[2] % extent_of_grid[1];
  place[2] = rank % extent_of_grid[2];
}

static int neighbour(int dimension, int step) {
  int to[3] = {place[0], place[1], place[2]};
  to[dimension] = (to[dimension] + step + extent_of_grid[dimension]) % extent_of_grid[dimension];
  return (to[0] * extent_of_grid[1] + to[1]) * extent_of_grid[2] + to[2];
}

// face[d]: numbers in the face across dimension d. Cells are copied out of the block and back as a
// stencil does.
static void halo(double* block, size_t cells, const int* face, double* out, double* in) {
  for (int d = 0; d < 3; ++d) {
    for (int step = -1; step <= 1; step += 2) {
      const int to = neighbour(d, step), from = neighbour(d, -step);
      if (to == rank) continue;
      for (int i = 0; i < face[d]; ++i) out[i] = block[(size_t)i * 7 % cells];
      out[0] = rank;
      exchange(out, to, in, from, face[d] * 8, d);
      must(in[0] == from, "neighbour");
      for (int i = 1; i < face[d]; ++i) block[(size_t)i * 5 % cells] += in[i] * 1e-3;
    }
  }
}
