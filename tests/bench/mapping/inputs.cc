// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/mapping/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>

#include "mapcore/comm/matrix_io.h"
#include "mapcore/topology/load.h"

namespace ondeloc::bench {
namespace {

struct Grid {
  int x, y, z;
  int at(int i, int j, int k) const { return (k * y + j) * x + i; }
};

// The most cube-like grid of this many ranks.
Grid near_cube(int ranks) {
  Grid best{ranks, 1, 1};
  for (int z = 1; z * z * z <= ranks; ++z) {
    for (int y = z; z * y * y <= ranks; ++y) {
      if (ranks % (z * y) == 0) best = {ranks / (z * y), y, z};
    }
  }
  return best;
}

void add_both(std::vector<MatrixEntry>& entries, int a, int b, double bytes) {
  if (a == b) return;
  entries.push_back({a, b, bytes, 1});
  entries.push_back({b, a, bytes, 1});
}

void add_halo(std::vector<MatrixEntry>& entries, const Grid& grid, double x, double y, double z) {
  for (int k = 0; k < grid.z; ++k) {
    for (int j = 0; j < grid.y; ++j) {
      for (int i = 0; i < grid.x; ++i) {
        const int here = grid.at(i, j, k);
        if (i + 1 < grid.x) add_both(entries, here, grid.at(i + 1, j, k), x);
        if (j + 1 < grid.y) add_both(entries, here, grid.at(i, j + 1, k), y);
        if (k + 1 < grid.z) add_both(entries, here, grid.at(i, j, k + 1), z);
      }
    }
  }
}

}  // namespace

CommMatrix stencil_3d(int x, int y, int z, double bytes) {
  std::vector<MatrixEntry> entries;
  add_halo(entries, {x, y, z}, bytes, bytes, bytes);
  return CommMatrix::from_entries(x * y * z, std::move(entries));
}

CommMatrix stencil_2d(int x, int y, double bytes, bool periodic) {
  std::vector<MatrixEntry> entries;
  add_halo(entries, {x, y, 1}, bytes, bytes, 0);
  for (int j = 0; periodic && x > 2 && j < y; ++j) add_both(entries, j * x, j * x + x - 1, bytes);
  for (int i = 0; periodic && y > 2 && i < x; ++i) add_both(entries, i, (y - 1) * x + i, bytes);
  return CommMatrix::from_entries(x * y, std::move(entries));
}

CommMatrix random_sparse(int ranks, int degree, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) {
    for (int d = 0; d < degree; ++d) {
      const int peer = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const double bytes = std::floor(std::exp2(10 + static_cast<double>(random() % 1000) / 100));
      if (peer != i) entries.push_back({i, peer, bytes, 1});
    }
  }
  return CommMatrix::from_entries(ranks, std::move(entries));
}

CommMatrix all_to_all(int ranks, double bytes) {
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) {
    for (int j = 0; j < ranks; ++j) entries.push_back({i, j, bytes, 1});
  }
  return CommMatrix::from_entries(ranks, std::move(entries));
}

CommMatrix gromacs_like(int ranks, int every, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<MatrixEntry> entries;
  std::vector<int> particle, pme;
  for (int i = 0; i < ranks; ++i) (i % every == every - 1 ? pme : particle).push_back(i);
  const Grid grid = near_cube(static_cast<int>(particle.size()));
  std::vector<MatrixEntry> halo;
  add_halo(halo, grid, 90e3, 60e3, 40e3);
  for (const MatrixEntry& e : halo) {
    const double noise = static_cast<double>(random() % 8000);
    entries.push_back({particle[e.src], particle[e.dst], e.bytes + noise, e.messages});
  }
  for (std::size_t i = 0; i < particle.size(); ++i) {
    add_both(entries, particle[i], pme[i * pme.size() / particle.size()],
             50e3 + static_cast<double>(random() % 5000));
  }
  for (const int a : pme) {
    for (const int b : pme) {
      if (a != b) entries.push_back({a, b, 600e3, 1});
    }
  }
  return CommMatrix::from_entries(ranks, std::move(entries));
}

CommMatrix lammps_like(int ranks, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<MatrixEntry> entries;
  std::vector<MatrixEntry> halo;
  add_halo(halo, near_cube(ranks), 120e3, 150e3, 200e3);
  for (MatrixEntry e : halo) {
    e.bytes += static_cast<double>(random() % 30000);
    entries.push_back(e);
  }
  for (int step = 1; step < ranks; step *= 2) {
    for (int i = 0; i < ranks; ++i) {
      if ((i ^ step) < ranks) entries.push_back({i, i ^ step, 64, 1});
    }
  }
  return CommMatrix::from_entries(ranks, std::move(entries));
}

namespace {

std::vector<int> drawn_order(int ranks, std::mt19937_64& random) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace

CommMatrix heavy_pairs(int ranks, int pairs, unsigned seed) {
  std::mt19937_64 random(seed);
  const std::vector<int> order = drawn_order(ranks, random);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i)
    for (int j = 0; j < ranks; ++j)
      if (i != j) entries.push_back({i, j, 1e3, 1});
  for (int pair = 0; pair < pairs; ++pair)
    add_both(entries, order[2 * pair], order[2 * pair + 1], 1e6);
  return CommMatrix::from_entries(ranks, std::move(entries));
}

CommMatrix groups(int ranks, int size, unsigned seed) {
  std::mt19937_64 random(seed);
  const std::vector<int> order = drawn_order(ranks, random);
  std::vector<MatrixEntry> entries;
  for (int first = 0; first + size <= ranks; first += size) {
    const double bytes = random() % 3 == 0 ? 1e6 : 1e5;
    for (int a = first; a < first + size; ++a)
      for (int b = a + 1; b < first + size; ++b) add_both(entries, order[a], order[b], bytes);
  }
  return CommMatrix::from_entries(ranks, std::move(entries));
}

std::vector<Input> recorded_inputs() {
  std::vector<Input> inputs;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ONDELOC_TEST_DATA) + "/npb")) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const auto& folder : folders) {
    auto matrix = read_matrix((folder / "bytes.mat").string());
    if (matrix) inputs.push_back({folder.filename().string(), *std::move(matrix)});
  }
  return inputs;
}

std::vector<Input> drawn_inputs(int ranks, unsigned seed) {
  auto name = [&](const char* kind) {
    return seed == 0 ? fmt::format("{}.{}", kind, ranks)
                     : fmt::format("{}.{}/{}", kind, ranks, seed);
  };
  const unsigned first = 5 * seed;
  return {{name("random-4"), random_sparse(ranks, 4, first + 1)},
          {name("random-16"), random_sparse(ranks, 16, first + 2)},
          {name("gromacs"), gromacs_like(ranks, 4, first + 3)},
          {name("gromacs-8"), gromacs_like(ranks, 8, first + 4)},
          {name("lammps"), lammps_like(ranks, first + 5)},
          {name("pairs"), heavy_pairs(ranks, ranks / 8, first + 1)},
          {name("groups"), groups(ranks, 6, first + 2)}};
}

std::vector<Input> made_inputs(int ranks) {
  const Grid cube = near_cube(ranks);
  Grid square{ranks, 1, 1};
  for (int y = 1; y * y <= ranks; ++y) {
    if (ranks % y == 0) square = {ranks / y, y, 1};
  }
  auto name = [&](const char* kind) { return fmt::format("{}.{}", kind, ranks); };
  std::vector<Input> inputs{{name("stencil-3d"), stencil_3d(cube.x, cube.y, cube.z, 65536)},
                            {name("stencil-2d"), stencil_2d(square.x, square.y, 65536, false)},
                            {name("torus-2d"), stencil_2d(square.x, square.y, 65536, true)},
                            {name("all-to-all"), all_to_all(ranks, 4096)}};
  for (Input& input : drawn_inputs(ranks, 0)) inputs.push_back(std::move(input));
  return inputs;
}

std::vector<Input> sparse_and_dense(int ranks) {
  const Grid cube = near_cube(ranks);
  return {{fmt::format("stencil-3d.{}", ranks), stencil_3d(cube.x, cube.y, cube.z, 65536)},
          {fmt::format("gromacs.{}", ranks), gromacs_like(ranks, 8, 4)},
          {fmt::format("random-8.{}", ranks), random_sparse(ranks, 8, 1)},
          {fmt::format("all-to-all.{}", ranks), all_to_all(ranks, 4096)}};
}

const std::vector<Shape>& flat_shapes() {
  static const std::vector<Shape> kShapes = {
      {"numa2", 1, 2, 1}, {"numa4", 1, 4, 1}, {"numa8", 1, 8, 1}};
  return kShapes;
}

const std::vector<Shape>& tree_shapes() {
  static const std::vector<Shape> kShapes = {
      {"l3x8", 1, 1, 8}, {"2x l3x8", 2, 1, 8}, {"2x4 l3x2", 2, 4, 2}};
  return kShapes;
}

Problem::Problem(const CommMatrix& matrix, const Shape& machine_shape)
    : shape(machine_shape), traffic(matrix) {
  const int cores = (matrix.ranks + shape.leaves() - 1) / shape.leaves();
  machine =
      *load_machine(shape.is_tree() ? fmt::format("package:{} numa:{} l3:{} core:{} pu:1",
                                                  shape.packages, shape.nodes, shape.llcs, cores)
                                    : fmt::format("numa:{} core:{} pu:1", shape.nodes, cores));
  for (const Pu& pu : machine.pus) {
    CpuSet one;
    one.set(pu.os);
    slots.push_back(make_slot(machine, one));
  }
  model = CostModel::from(machine);
}

}  // namespace ondeloc::bench
