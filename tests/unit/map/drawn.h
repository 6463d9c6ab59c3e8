// SPDX-License-Identifier: Apache-2.0
// Matrices that are drawn by chance: the same seed draws the same one.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "mapcore/comm/comm_matrix.h"

namespace ondeloc {

// Each rank sends to up to `degree` others, messages of at most `most_bytes`.
inline CommMatrix drawn(int ranks, int degree, unsigned seed, double most_bytes) {
  std::mt19937 random(seed);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) {
    for (int d = 0; d < degree; ++d) {
      const int j = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const double messages = 1 + random() % 1000;
      if (i != j)
        entries.push_back(
            {i, j, messages * std::floor(random() % 1000 * most_bytes / 1000), messages});
    }
  }
  return CommMatrix::from_entries(ranks, entries);
}

}  // namespace ondeloc
