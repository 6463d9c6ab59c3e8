// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/request_start.h"

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "pmix_hooks/rank/symbols.h"

namespace ondeloc {
namespace {

// The code of one function. Empty if the library does not have it.
struct Code {
  std::uintptr_t begin;
  std::uintptr_t size;
};
constexpr std::size_t kMakers = std::size(open_mpi::kMakersOfSends);

struct State {
  void* real;
  void* ours;
  Code makers[kMakers];
};
constinit State state{};

Code code_of(const char* name) {
  const void* begin = mpi_symbol(name);
  if (begin == nullptr) return {0, 0};
  return {reinterpret_cast<std::uintptr_t>(begin), symbol_size(begin)};
}

bool is_in_maker(const void* address) {
  for (const Code& maker : state.makers)
    if (reinterpret_cast<std::uintptr_t>(address) - maker.begin < maker.size) return true;
  return false;
}

void replace(void* request, const void* before, void* now) {
  auto* words = static_cast<void**>(request);
  for (int i = open_mpi::kRequestFirstWord; i < open_mpi::kRequestWords; ++i)
    if (words[i] == before) return __atomic_store_n(&words[i], now, __ATOMIC_RELAXED);
}

}  // namespace

void request_start_setup(open_mpi::PmlStart real, open_mpi::PmlStart ours) {
  state.real = reinterpret_cast<void*>(real);
  state.ours = reinterpret_cast<void*>(ours);
  for (std::size_t i = 0; i < kMakers; ++i) state.makers[i] = code_of(open_mpi::kMakersOfSends[i]);
}

void watch_request(void* request) { replace(request, state.real, state.ours); }

void watch_new_request(void* request, const void* caller) {
  if (is_in_maker(caller))
    watch_request(request);
  else
    replace(request, state.ours, state.real);
}

}  // namespace ondeloc
