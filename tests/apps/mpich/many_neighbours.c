/* SPDX-License-Identifier: Apache-2.0
 * Two ranks that are neighbours many times, in both kinds of graphs: MPI_Neighbor_allgather sends
 * an int along each edge. */
#include <mpi.h>

enum { kDistributed = 1500, kGraph = 1200 };

static void gather(MPI_Comm graph) {
  static int in[kDistributed];
  const int one = 1;
  MPI_Neighbor_allgather(&one, 1, MPI_INT, in, 1, MPI_INT, graph);
  MPI_Comm_free(&graph);
}

int main(int argc, char** argv) {
  static int peers[kDistributed], edges[2 * kGraph];
  const int ends[2] = {kGraph, 2 * kGraph};
  int rank;
  MPI_Comm graph;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kDistributed; ++i) peers[i] = 1 - rank;
  for (int i = 0; i < 2 * kGraph; ++i) edges[i] = i < kGraph ? 1 : 0;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, kDistributed, peers, MPI_UNWEIGHTED, kDistributed,
                                 peers, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  gather(graph);
  MPI_Graph_create(MPI_COMM_WORLD, 2, ends, edges, 0, &graph);
  gather(graph);
  MPI_Finalize();
  return 0;
}
