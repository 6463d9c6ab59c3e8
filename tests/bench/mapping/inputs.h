// SPDX-License-Identifier: Apache-2.0
// The inputs that mapping quality and speed are measured on: recorded programs (tests/data/npb) and
// made ones, each a pure function of its parameters and a seed.
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

std::vector<Input> recorded_inputs();       // tests/data/npb
std::vector<Input> made_inputs(int ranks);  // every generator at this size
// Those that are drawn, with other numbers for every seed; seed 0: as among made_inputs().
std::vector<Input> drawn_inputs(int ranks, unsigned seed);
std::vector<Input> sparse_and_dense(int ranks);  // for the speed table

// A whole request that owns what it refers to: `ranks` on `nodes` NUMA nodes with
// ceil(ranks/nodes) one-PU slots each, default cost model.
struct Problem {
  Problem(const CommMatrix& matrix, int nodes);
  MapRequest request() const { return {machine, slots, traffic, model, previous}; }
  Machine machine;
  SlotSet slots;
  Traffic traffic;
  CostModel model;
  Mapping previous;
};

}  // namespace ondeloc::bench
