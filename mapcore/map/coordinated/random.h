// SPDX-License-Identifier: Apache-2.0
// Random numbers for perturbations: a seed gives the same numbers on every machine. Thread safety:
// pure functions of a state that the caller keeps. The state is never 0.
#pragma once

#include <cstdint>

namespace ondeloc::coordinated {

constexpr std::uint64_t random_from(std::uint64_t seed) {
  return seed * 2654435769U + 88172645463325252U;
}

// xorshift64*: S. Vigna, ACM Trans. Math. Softw. 42(4), 2016.
constexpr std::uint64_t next_random(std::uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545F4914F6CDD1DULL;
}

constexpr int below(std::uint64_t& state, int n) {
  return static_cast<int>((next_random(state) >> 33) % static_cast<std::uint64_t>(n));
}

}  // namespace ondeloc::coordinated
