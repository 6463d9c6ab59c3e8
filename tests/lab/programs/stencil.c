// SPDX-License-Identifier: MIT
// A 3D stencil: in each step one sweep over the block and six faces; the block is flat, so the
// faces differ in size.
#include "halo.h"

enum { kX = 48, kY = 32, kZ = 12, kSteps = 120 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  make_blocks();
  const int face[3] = {kY * kX, kZ * kX, kZ * kY};
  const size_t cells = (size_t)kX * kY * kZ;
  double *block = room(cells * 8), *out = room((size_t)kX * kY * 8),
         *in = room((size_t)kX * kY * 8), sum = 0;
  for (int step = 0; step < kSteps * size_of_run; ++step) {
    sum += sweep(block, cells);
    halo(block, cells, face, out, in);
    step_done();
  }
  return finish(sum);
}
