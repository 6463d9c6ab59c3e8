// SPDX-License-Identifier: MIT
// Partners that change: a sweep over own memory, a message written anew, an exchange with one
// partner: rank^1 in the first half of the run, rank^(n/2) in the second. With a second argument,
// whatever it is, rank^1 all the time.
#include "shape.h"

enum { kMessage = 16 * 1024, kOwn = 8 * 1024, kSteps = 300 };

int main(int argc, char **argv) {
  start(&argc, &argv);
  char *out = room(kMessage), *in = room(kMessage);
  double *own = room(kOwn * 8), sum = 0;
  const int steps = kSteps * size_of_run;
  for (int step = 0; step < steps; ++step) {
    const int first = argc > 2 || step < steps / 2;
    int partner = first ? rank ^ 1 : (rank + ranks / 2) % ranks;
    if (partner >= ranks) partner = MPI_PROC_NULL;
    const int from = first ? partner : (rank + ranks - ranks / 2) % ranks;
    sum += sweep(own, kOwn);
    memset(out, step, kMessage);
    exchange(out, partner, in, from, kMessage, 1);
    if (partner != MPI_PROC_NULL) must(in[kMessage - 1] == (char)step, "message");
    for (int i = 0; i < kMessage; i += 64) sum += in[i];
    step_done();
  }
  return finish(sum);
}
