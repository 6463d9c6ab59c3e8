// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/request_start.h"

#include <algorithm>
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

// A request that a collective makes needs the first cache line only, where the code of collectives
// is outside `all_makers`.
struct alignas(64) State {
  void* real;
  void* ours;
  Code all_makers;  // from the first to the end of the last
  std::size_t makers_found;
  std::atomic<bool> has_watched;
  Code makers[kMakers];  // those that the library has, each once
};
static_assert(offsetof(State, makers) <= 64);
constinit State state{};

Code code_of(const char* name) {
  const void* begin = mpi_symbol(name);
  if (begin == nullptr) return {0, 0};
  return {reinterpret_cast<std::uintptr_t>(begin), symbol_size(begin)};
}

bool is_in(const Code& code, const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - code.begin < code.size;
}

bool is_in_maker(const void* address) {
  if (!is_in(state.all_makers, address)) return false;
  return std::any_of(state.makers, state.makers + state.makers_found,
                     [address](const Code& code) { return is_in(code, address); });
}

// Most names are another name of a function that is known.
void add_maker(const Code& code) {
  if (code.size == 0) return;
  for (std::size_t i = 0; i < state.makers_found; ++i)
    if (state.makers[i].begin == code.begin) return;
  state.makers[state.makers_found++] = code;
  Code& all = state.all_makers;
  const std::uintptr_t end = std::max(all.begin + all.size, code.begin + code.size);
  all.begin = all.size == 0 ? code.begin : std::min(all.begin, code.begin);
  all.size = end - all.begin;
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
  state.all_makers = {0, 0};
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
