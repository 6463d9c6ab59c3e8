// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/request_start.h"

#include <atomic>
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
  Code makers[kMakers];  // those that the library has, each once
  std::size_t makers_found;
  std::atomic<bool> has_watched;
};
constinit State state{};

Code code_of(const char* name) {
  const void* begin = mpi_symbol(name);
  if (begin == nullptr) return {0, 0};
  return {reinterpret_cast<std::uintptr_t>(begin), symbol_size(begin)};
}

bool is_in_maker(const void* address) {
  for (std::size_t i = 0; i < state.makers_found; ++i)
    if (reinterpret_cast<std::uintptr_t>(address) - state.makers[i].begin < state.makers[i].size)
      return true;
  return false;
}

// Most names are another name of a function that is known.
void add_maker(const Code& code) {
  if (code.size == 0) return;
  for (std::size_t i = 0; i < state.makers_found; ++i)
    if (state.makers[i].begin == code.begin) return;
  state.makers[state.makers_found++] = code;
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
  state.makers_found = 0;
  for (const char* name : open_mpi::kMakersOfSends) add_maker(code_of(name));
}

void watch_request(void* request) {
  state.has_watched.store(true, std::memory_order_relaxed);
  replace(request, state.real, state.ours);
}

// The library's collectives make many requests, so this usual case has to be quick. The thread that
// reuses a watched request sees `has_watched`: the library has passed the request on to it.
void watch_new_request(void* request, const void* caller) {
  if (__builtin_expect(is_in_maker(caller), 0))
    watch_request(request);
  else if (state.has_watched.load(std::memory_order_relaxed))
    replace(request, state.ours, state.real);
}

}  // namespace ondeloc
