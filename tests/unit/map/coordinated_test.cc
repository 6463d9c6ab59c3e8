// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "mapcore/comm/matrix_io.h"
#include "mapcore/map/algorithm.h"
#include "mapcore/map/coordinated/distance.h"
#include "mapcore/map/coordinated/search.h"
#include "mapcore/map/coordinated/valuation.h"
#include "tests/unit/catch.h"
#include "tests/unit/map/case.h"
#include "tests/unit/test_data.h"

namespace coordinated_test {
using namespace ondeloc;
using namespace ondeloc::coordinated;

namespace {

CommMatrix random_matrix(int ranks, int degree, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) {
    for (int d = 0; d < degree; ++d)
      entries.push_back({i, static_cast<int>(random() % static_cast<unsigned>(ranks)),
                         static_cast<double>(1 + random() % 100000), 1});
  }
  return CommMatrix::from_entries(ranks, std::move(entries));
}

CommMatrix npb(const char* name) {
  return *read_matrix(fmt::format("{}/npb/{}/bytes.mat", test_data(), name));
}

constexpr const char* kStarts[] = {"packed", "scatter", "random", "balance", "locality", "ondeloc"};
constexpr const char* kPrograms[] = {"bt.A.25", "cg.A.32", "ep.A.32", "ft.A.32",
                                     "is.A.32", "lu.A.32", "mg.A.32", "sp.A.25"};
constexpr const char* kMachines[] = {"numa:2 core:16 pu:1", "numa:4 core:8 pu:1",
                                     "package:2 numa:2 l3:2 core:2 pu:2"};

bool is_no_worse(double a, double b) { return a <= b * (1 + 1e-9); }

}  // namespace

TEST_CASE("coordinated is never worse than its starts on recorded programs") {
  for (const char* machine : kMachines) {
    for (const char* program : kPrograms) {
      const Case c(machine, npb(program));
      const Cost ours = c.cost(c.map());
      for (const char* start : kStarts) {
        INFO(machine << " " << program << " " << start);
        CHECK(is_no_worse(ours.total, c.cost(c.map(start)).total));
      }
    }
  }
}

TEST_CASE("coordinated is never worse than its starts or the present mapping, random matrices") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const int ranks = 2 + static_cast<int>(seed * 7 % 40);
    Case c(kMachines[seed % 3],
           random_matrix(std::min(ranks, 32), 1 + static_cast<int>(seed % 5), seed));
    c.previous = c.map(fmt::format("random:{}", seed).c_str());
    const Cost ours = c.cost(c.map());
    CHECK(is_no_worse(ours.total, c.cost(c.previous).total));
    for (const char* start : kStarts) {
      INFO(seed << " " << start);
      CHECK(is_no_worse(ours.total, c.cost(c.map(start)).total));
    }
  }
}

namespace {

// Least cost of all mappings of 8 ranks on two nodes with four slots each.
double least_cost_of_all(const Case& c) {
  double best = 1e300;
  for (unsigned mask = 0; mask < 256; ++mask) {
    if (__builtin_popcount(mask) != 4) continue;
    Mapping mapping;
    int left = 0, right = 4;
    for (int i = 0; i < 8; ++i) mapping.emplace_back((mask >> i & 1U) != 0 ? right++ : left++);
    best = std::min(best, c.cost(mapping).total);
  }
  return best;
}

}  // namespace

TEST_CASE("coordinated finds the optimum of small cases") {
  for (unsigned seed = 1; seed <= 25; ++seed) {
    const Case c("numa:2 core:4 pu:1", random_matrix(8, 2, seed));
    INFO(seed);
    CHECK(is_no_worse(c.cost(c.map()).total, least_cost_of_all(c)));
  }
}

TEST_CASE("bytes to other nodes load the memory of their rank, also where there are no others") {
  for (unsigned seed = 1; seed <= 25; ++seed) {
    const int degree = static_cast<int>(seed % 3);
    Case c("numa:2 core:4 pu:1", random_matrix(8, degree, seed));
    std::mt19937 random(seed);
    for (int i = 0; i < 8; ++i)
      c.off_node.push_back(random() % 4 == 0 ? static_cast<double>(random() % 1000000) : 0);
    INFO(seed);
    CHECK(is_no_worse(c.cost(c.map()).total, least_cost_of_all(c)));
    c.previous = c.map();
    CHECK(c.map() == c.previous);
  }
}

namespace {

double bytes_by_distance(const Graph& graph, const Part& part, std::span<const double> distance,
                         std::size_t nodes) {
  double sum = 0;
  for (int i = 0; i < graph.vertices; ++i) {
    for (const Traffic::Edge& edge : graph.row(i)) {
      const auto a = static_cast<std::size_t>(part[i]);
      const auto b = static_cast<std::size_t>(part[edge.peer]);
      sum += edge.bytes * distance[a * nodes + b] / 2;
    }
  }
  return sum;
}

bool fit(const Graph& graph, const Part& part, std::vector<int> room) {
  for (std::size_t i = 0; i < part.size(); ++i) room[part[i]] -= graph.size[i];
  return std::all_of(room.begin(), room.end(), [](int left) { return left >= 0; });
}

// True when a move or a swap makes it less.
bool has_better(const Graph& graph, const Part& part, const std::vector<int>& room,
                std::span<const double> distance) {
  const double now = bytes_by_distance(graph, part, distance, room.size());
  const auto is_better = [&](const Part& other) {
    return fit(graph, other, room) &&
           bytes_by_distance(graph, other, distance, room.size()) < now * (1 - 1e-9);
  };
  for (std::size_t i = 0; i < part.size(); ++i) {
    Part other = part;
    for (int k = 0; k < static_cast<int>(room.size()); ++k) {
      other[i] = k;
      if (is_better(other)) return true;
    }
    for (std::size_t j = 0; j < i; ++j) {
      other = part;
      std::swap(other[i], other[j]);
      if (is_better(other)) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("the search for distance alone ends where no move and no swap helps") {
  const std::vector<int> room = {6, 10, 0, 9};
  // Nodes 0 and 1 in one package, 2 and 3 in another; and all alike.
  const std::vector<double> near_and_far = {0, 1, 2, 2, 1, 0, 2, 2, 2, 2, 0, 1, 2, 2, 1, 0};
  const std::vector<double> alike = {0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0};
  for (const auto& distance : {near_and_far, alike}) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
      const Case c("numa:4 core:8 pu:1", random_matrix(18, 4, seed));
      const MapRequest request = c.request();
      RankGraph ranks(request);
      Graph graph = ranks.view;
      // Some vertices are pairs of ranks, as in coarse graphs.
      std::vector<int> size(18, 1);
      for (std::size_t i = 0; i < size.size(); i += 6) size[i] = 2;
      graph.size = size;
      Part part(18, 1);
      std::fill(part.begin(), part.begin() + 5, 0);
      std::fill(part.begin() + 12, part.end(), 3);
      REQUIRE(fit(graph, part, room));
      const double before = bytes_by_distance(graph, part, distance, room.size());
      DistanceRefiner refiner(room, distance, graph.vertices);
      const double after = refiner.refine(graph, part);
      INFO("seed " << seed);
      CHECK(fit(graph, part, room));
      CHECK(after == Approx(bytes_by_distance(graph, part, distance, room.size())));
      CHECK(after <= before);
      CHECK_FALSE(has_better(graph, part, room, distance));
    }
  }
}

TEST_CASE("four partitions at once cost no less than the bound, which knows their remote bytes") {
  using namespace coordinated;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    CommMatrix matrix = random_matrix(32, 1 + static_cast<int>(seed % 9), seed);
    for (MatrixEntry& entry : matrix.entries) entry.bytes *= seed % 2 == 0 ? 0x1p200 : 1;
    const Case c(kMachines[seed % 3], matrix);
    RankGraph ranks(c.request());
    const Target target = Target::from(c.request(), ranks.strength);
    std::array<Part, kAtOnce> parts;
    std::mt19937 random(seed);
    for (Part& part : parts) {
      part = packed_start(ranks.view, target);
      std::shuffle(part.begin(), part.end(), random);
    }
    const auto least = least_costs(ranks.view, target, parts);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Scratch scratch;
      const Value value = value_of(ranks.view, target, parts[p], scratch);
      INFO(seed << " " << p);
      CHECK(least[p] <= value.cost);
      const double penalty =
          *std::min_element(target.penalty.begin() + 1, target.penalty.begin() + target.nodes);
      CHECK(least[p] >= 0.999 * (target.mean_load + value.remote * penalty));
    }
  }
}

TEST_CASE("scaling the matrix by a power of two changes no mapping") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const CommMatrix matrix = random_matrix(24, 4, seed);
    const Mapping mapping = Case(kMachines[1], matrix, Weight::kBytes).map();
    for (const double factor : {0x1p-30, 0.5, 2.0, 0x1p300}) {
      CommMatrix scaled = matrix;
      for (MatrixEntry& entry : scaled.entries) entry.bytes *= factor;
      CHECK(Case(kMachines[1], scaled, Weight::kBytes).map() == mapping);
    }
  }
}

TEST_CASE("a mapping that coordinated gave moves nobody") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    for (const char* machine : kMachines) {
      Case c(machine, random_matrix(32, 3, seed));
      c.previous = c.map();
      INFO(machine << " " << seed);
      CHECK(c.cost(c.map()).total <= c.cost(c.previous).total);
      const Mapping again = c.map();
      if (is_no_worse(c.cost(c.previous).total, c.cost(again).total)) CHECK(again == c.previous);
    }
  }
}

TEST_CASE("more effort is never dearer, and sometimes cheaper", "[costs]") {
  int cheaper = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    for (const char* machine : kMachines) {
      Case c(machine, random_matrix(32, 2 + static_cast<int>(seed % 3), seed));
      if (seed % 2 == 0) c.previous = c.map("scatter");
      INFO(machine << " " << seed);
      const double usual = c.cost(c.map()).total;
      CHECK(c.map("coordinated:1") == c.map());
      double before = usual;
      for (const char* effort : {"coordinated:2", "coordinated:5", "coordinated:20"}) {
        const double now = c.cost(c.map(effort)).total;
        CHECK(is_no_worse(now, before));
        before = now;
      }
      cheaper += before < usual * (1 - 1e-4) ? 1 : 0;
    }
  }
  CHECK(cheaper > 0);
}

TEST_CASE("equal-cost symmetric mappings move nobody") {
  Case c("numa:4 core:4 pu:1", CommMatrix::from_entries(16, [] {
           std::vector<MatrixEntry> entries;  // four cliques, each spread over 0, 4, 8, 12 + k
           for (int i = 0; i < 16; ++i) {
             for (int j = 0; j < 16; ++j) {
               if (i != j && i % 4 == j % 4) entries.push_back({i, j, 1000, 1});
             }
           }
           return entries;
         }()));
  // Every clique on a node of its own, nodes in another order than any start would give.
  const int node_of_clique[] = {2, 0, 3, 1};
  for (int i = 0; i < 16; ++i) c.previous.emplace_back(node_of_clique[i % 4] * 4 + i / 4);
  CHECK(c.map() == c.previous);
  std::swap(c.previous[0], c.previous[1]);  // two ranks in each other's place: only they move
  const Mapping repaired = c.map();
  CHECK(c.cost(repaired).remote_share.value() == 0);
  CHECK(count_migrations(c.slots, c.previous, repaired) == 2);
}

TEST_CASE("a negligible gain moves no rank") {
  for (const auto& [bytes, moved] : {std::pair{1.0, 0}, std::pair{1e7, 2}}) {
    // Ranks 4 and 5 talk a little, each to a rank of the other node.
    Case c("numa:2 core:3 pu:1",
           CommMatrix::from_entries(
               6, {{0, 1, 1e10, 1}, {2, 3, 1e10, 1}, {4, 2, bytes, 1}, {5, 0, bytes, 1}}));
    for (const int slot : {0, 1, 3, 4, 2, 5}) c.previous.emplace_back(slot);
    CHECK(count_migrations(c.slots, c.previous, c.map()) == moved);
  }
}

TEST_CASE("evaluate does not care how ranks are numbered") {
  const CommMatrix matrix = random_matrix(16, 3, 5);
  const Case c("numa:4 core:4 pu:1", matrix);
  std::vector<int> order(16);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  CommMatrix renamed = matrix;
  for (MatrixEntry& e : renamed.entries) {
    e.src = order[e.src];
    e.dst = order[e.dst];
  }
  const Case other("numa:4 core:4 pu:1", CommMatrix::from_entries(16, renamed.entries));
  const Mapping mapping = c.map();
  Mapping moved(16);
  for (std::size_t i = 0; i < 16; ++i) moved[order[i]] = mapping[i];
  CHECK(c.cost(mapping).total == Approx(other.cost(moved).total).epsilon(1e-12));
}

TEST_CASE("bytes that rounding leaves of none are none: the search ends") {
  const Case c("numa:2 core:8 pu:1",
               CommMatrix::from_entries(5, {{1, 3, 0.1, 1}, {2, 4, 0.4, 1}, {3, 1, 0.9, 1}}));
  CHECK(c.map().size() == 5);
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const int ranks = 4 + static_cast<int>(seed % 29);
    std::vector<MatrixEntry> entries;
    for (int i = 0; i + 1 < ranks; i += 2 + static_cast<int>(random() % 2))
      entries.push_back({i, i + 1, static_cast<double>(1 + random() % 9) / 10, 1});
    const Case groups(kMachines[seed % 3], CommMatrix::from_entries(ranks, entries));
    CHECK(groups.map().size() == static_cast<std::size_t>(ranks));
  }
}

TEST_CASE("many ranks of like traffic are spread as evenly as the simple starts do it") {
  const int ranks = 260;
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) {
    for (int j = 0; j < ranks; ++j) entries.push_back({i, j, 1000, 1});
  }
  const Case c("numa:8 core:64 pu:1", CommMatrix::from_entries(ranks, entries));
  const Cost ours = c.cost(c.map());
  for (const char* start : {"packed", "scatter", "balance"}) {
    INFO(start);
    CHECK(is_no_worse(ours.total, c.cost(c.map(start)).total));
  }
}

TEST_CASE("odd inputs") {
  CHECK(Case("numa:2 core:2 pu:1", CommMatrix::from_entries(3, {})).map().size() == 3);
  CHECK(Case("numa:1 core:4 pu:1", random_matrix(4, 2, 1)).map().size() == 4);
  CHECK(Case("numa:4 core:1 pu:1", random_matrix(4, 2, 1)).map().size() == 4);
  CHECK(Case("numa:2 core:2 pu:1", random_matrix(1, 1, 1)).map().size() == 1);
  CHECK(Case("numa:2 core:2 pu:1", random_matrix(9, 2, 1)).map().size() == 9);
  CHECK(Case("numa:2 core:2 pu:1", CommMatrix::from_entries(4, {{1, 2, 1e290, 1}})).map().size() ==
        4);
  CHECK(Case("numa:2 core:2 pu:1", CommMatrix::from_entries(4, {{1, 2, 1e-300, 1}})).map().size() ==
        4);
}

}  // namespace coordinated_test
