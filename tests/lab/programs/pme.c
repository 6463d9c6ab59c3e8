// SPDX-License-Identifier: MIT
// Many to few, as molecular dynamics with ranks of its own for the long-range part: of each four
// ranks three exchange halos in a ring and send charges to the fourth, which transposes with the
// others of its kind and sends forces back.
#include "shape.h"

enum { kHalo = 8 * 1024, kCharges = 12 * 1024, kSteps = 60 };

int main(int argc, char **argv) {
  start(&argc, &argv);
  // The few are the last quarter, as GROMACS orders them with -ddorder pp_pme.
  const int few = ranks / 4 > 0 ? ranks / 4 : 1, many = ranks - few, is_few = rank >= many;
  MPI_Comm own;
  MPI_Comm_split(MPI_COMM_WORLD, is_few, rank, &own);
  char *data = room(kCharges * (size_t)(1 + ranks)), *more = room(kCharges * (size_t)(1 + ranks));
  double *cells = room(16 * 1024 * 8), sum = 0;
  for (int step = 0; step < kSteps * size_of_run; ++step) {
    if (is_few) {
      int served = 0;
      for (int from = 0; from < many; ++from) {
        if (from % few != rank - many) continue;
        MPI_Recv(data + (size_t)served++ * kCharges, kCharges, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      }
      sum += sweep(cells, 16 * 1024);
      MPI_Alltoall(data, kCharges / few, MPI_BYTE, more, kCharges / few, MPI_BYTE, own);
      for (int to = rank - many; to < many; to += few)
        MPI_Send(more, kCharges, MPI_BYTE, to, 2, MPI_COMM_WORLD);
      step_done();
      continue;
    }
    MPI_Send(data, kCharges, MPI_BYTE, many + rank % few, 1, MPI_COMM_WORLD);
    for (int halo = 0; halo < 2; ++halo) {
      data[halo] = (char)step;
      exchange(data, (rank + 1) % many, more, (rank + many - 1) % many, kHalo, 3);
      must(more[halo] == (char)step, "halo");
      sum += sweep(cells, 8 * 1024);
    }
    MPI_Recv(more, kCharges, MPI_BYTE, many + rank % few, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    step_done();
  }
  return finish(sum);
}
