// SPDX-License-Identifier: MIT
// A wavefront over a process grid as NPB's LU: for each plane a small message from north and west,
// some work, one to south and east; then the way back; after that a halo of whole faces.
#include "shape.h"

enum { kEdge = 64, kPlanes = 24, kCells = 2048, kIterations = 12 };

static int north, south, west, east;

static double wave(double* edge, double* cells, int forward) {
  const int from_row = forward ? north : south, from_column = forward ? west : east;
  const int to_row = forward ? south : north, to_column = forward ? east : west;
  double sum = 0;
  for (int plane = 0; plane < kPlanes; ++plane) {
    MPI_Recv(edge, kEdge, MPI_DOUBLE, from_row, forward, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(edge + kEdge, kEdge, MPI_DOUBLE, from_column, forward, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    for (int i = 0; i < kCells; ++i)
      cells[plane * kCells + i] =
          cells[plane * kCells + i] * 0.5 + edge[i % (2 * kEdge)] * 0.25 + 1;
    for (int i = 0; i < 2 * kEdge; ++i) edge[i] = cells[plane * kCells + i];
    sum += edge[0];
    MPI_Send(edge, kEdge, MPI_DOUBLE, to_row, forward, MPI_COMM_WORLD);
    MPI_Send(edge + kEdge, kEdge, MPI_DOUBLE, to_column, forward, MPI_COMM_WORLD);
  }
  return sum;
}

static int at(const int* extent, int row, int column) {
  const int inside = row >= 0 && row < extent[0] && column >= 0 && column < extent[1];
  return inside ? row * extent[1] + column : MPI_PROC_NULL;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int extent[2];
  grid(2, extent);
  const int row = rank / extent[1], column = rank % extent[1];
  north = at(extent, row - 1, column), south = at(extent, row + 1, column);
  west = at(extent, row, column - 1), east = at(extent, row, column + 1);
  double *cells = room(kPlanes * kCells * 8), *edge = room(2 * kEdge * 8),
         *face = room(kPlanes * kEdge * 8), *other = room(kPlanes * kEdge * 8), sum = 0;
  for (int iteration = 0; iteration < kIterations * size_of_run; ++iteration) {
    sum += wave(edge, cells, 1);
    sum += wave(edge, cells, 0);
    for (int i = 0; i < kPlanes * kEdge; ++i) face[i] = cells[i * 2] + iteration;
    exchange(face, south, other, north, kPlanes * kEdge * 8, 3);
    exchange(face, east, other, west, kPlanes * kEdge * 8, 4);
    step_done();
  }
  return finish(sum);
}
