// SPDX-License-Identifier: Apache-2.0
// Inputs for measuring the quality and speed of mappings: recorded programs (tests/data/npb) and
// generated ones, each a pure function of its parameters and a seed.
#pragma once

#include <string>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/map/algorithm.h"

namespace ondeloc::bench {

struct Input {
  std::string name;
  CommMatrix matrix;
};

CommMatrix stencil_3d(int x, int y, int z, double bytes);  // 6 neighbours, open borders
CommMatrix stencil_2d(int x, int y, double bytes, bool periodic);
CommMatrix random_sparse(int ranks, int degree, unsigned seed);  // log-uniform bytes
CommMatrix all_to_all(int ranks, double bytes);
// Particle-particle ranks in a 3D halo, every `every`-th rank a PME rank: few ranks, heavy
// all-to-all among them, and each serves its particle ranks. The shape of GROMACS with -npme.
CommMatrix gromacs_like(int ranks, int every, unsigned seed);
// 3D halo with six unequal faces and light collectives along a tree. The shape of LAMMPS.
CommMatrix lammps_like(int ranks, unsigned seed);
// Pairs of drawn ranks that exchange most of the bytes, while all ranks send a little to all.
CommMatrix heavy_pairs(int ranks, int pairs, unsigned seed);
// Groups of `size` drawn ranks that talk only among themselves, some of them ten times as much.
CommMatrix groups(int ranks, int size, unsigned seed);

std::vector<Input> recorded_inputs();       // tests/data/npb
std::vector<Input> made_inputs(int ranks);  // every generator at this size
// The generated inputs that are random, with other numbers for every seed; seed 0: as in
// made_inputs().
std::vector<Input> drawn_inputs(int ranks, unsigned seed);
std::vector<Input> sparse_and_dense(int ranks);  // for the speed table

// A machine without its cores: the number of children at each level of the tree. A level of one
// child is left out of `name`.
struct Shape {
  std::string name;
  int packages = 1, nodes = 1, llcs = 1;  // NUMA nodes of a package, caches of a node
  int leaves() const { return packages * nodes * llcs; }
  bool is_tree() const { return llcs > 1 || (packages > 1 && nodes > 1); }
};
const std::vector<Shape>& flat_shapes();  // 2, 4 and 8 NUMA nodes
const std::vector<Shape>& tree_shapes();  // several caches in a node

// A complete request that owns all its parts: `ranks` on a machine of this shape with
// ceil(ranks / leaves) one-PU slots in each cache, and the default cost model.
struct Problem {
  Problem(const CommMatrix& matrix, const Shape& machine_shape);
  MapRequest request() const { return {machine, slots, traffic, model, previous}; }
  Shape shape;
  Machine machine;
  SlotSet slots;
  Traffic traffic;
  CostModel model;
  Mapping previous;
};

}  // namespace ondeloc::bench
