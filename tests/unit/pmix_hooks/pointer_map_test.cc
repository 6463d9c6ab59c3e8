// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/pointer_map.h"

#include <thread>
#include <vector>

#include "tests/unit/catch.h"

using ondeloc::MapEntry;
using ondeloc::PointerMap;

namespace {
const void* pointer(std::size_t i) { return reinterpret_cast<const void*>(0x100000 + i * 512); }
}  // namespace

TEST_CASE("every key that was inserted is found, others are not, over several tables") {
  PointerMap map;
  CHECK(map.find(pointer(0)) == nullptr);
  for (std::size_t i = 0; i < 20000; ++i) {
    MapEntry* entry = map.find_or_insert(pointer(i));
    REQUIRE(entry != nullptr);
    REQUIRE(entry->first == 0);
    entry->first = i + 1;
  }
  for (std::size_t i = 0; i < 20000; ++i) {
    REQUIRE(map.find(pointer(i)) != nullptr);
    REQUIRE(map.find(pointer(i))->first == i + 1);
    REQUIRE(map.find_or_insert(pointer(i)) == map.find(pointer(i)));
  }
  for (std::size_t i = 20000; i < 21000; ++i) CHECK(map.find(pointer(i)) == nullptr);
}

TEST_CASE("threads that insert the same keys at once get the same entries") {
  PointerMap map;
  constexpr std::size_t kKeys = 3000, kThreads = 4;
  std::vector<std::vector<MapEntry*>> got(kThreads, std::vector<MapEntry*>(kKeys));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kKeys; ++i) {
        const std::size_t key = t % 2 == 0 ? i : kKeys - 1 - i;
        got[t][key] = map.find_or_insert(pointer(key));
        got[t][key]->second.fetch_add(1, std::memory_order_relaxed);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kKeys; ++i) {
    for (std::size_t t = 1; t < kThreads; ++t) REQUIRE(got[t][i] == got[0][i]);
    REQUIRE(got[0][i]->second == kThreads);
  }
}
