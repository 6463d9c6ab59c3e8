// SPDX-License-Identifier: MIT
// Conjugate gradients as NPB's CG: a process grid; in each iteration a sparse product, sums along
// the rows of the grid by halving, one exchange with the transposed rank, and two reductions of one
// number.
#include "shape.h"

enum { kVector = 2048, kSparse = 24 * 1024, kIterations = 60 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  int extent[2];
  grid(2, extent);
  const int columns = extent[0], row = rank / columns, column = rank % columns;
  const int square = extent[0] == extent[1];
  const int transposed = square ? column * columns + row : rank ^ 1 % ranks;
  double *matrix = room(kSparse * 8), *vector = room(kVector * 8), *other = room(kVector * 8),
         rho = 1;
  for (int i = 0; i < kVector; ++i) vector[i] = 1;
  for (int iteration = 0; iteration < kIterations * size_of_run; ++iteration) {
    rho += sweep(matrix, kSparse) * 1e-9;
    for (int i = 0; i < kVector; ++i)
      vector[i] = matrix[i * 5 % kSparse] * 0.25 + vector[(i * 37) % kVector] * 0.5;
    for (int step = 1; step < columns; step *= 2) {
      const int partner = row * columns + (column ^ step);
      if ((column ^ step) >= columns) continue;
      exchange(vector, partner, other, partner, kVector * 8, 1);
      for (int i = 0; i < kVector; ++i) vector[i] = (vector[i] + other[i]) * 0.5;
    }
    if (transposed < ranks && transposed != rank) {
      exchange(vector, transposed, other, transposed, kVector * 8, 2);
      for (int i = 0; i < kVector; ++i) vector[i] = (vector[i] + other[i]) * 0.5;
    }
    double part = vector[iteration % kVector], sum;
    MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&rho, &part, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    rho = sum / (part + 1);
    step_done();
  }
  return finish(rho);
}
