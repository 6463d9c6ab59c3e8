// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/pointer_map.h"

#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/unit/catch.h"

using ondeloc::MapEntry;
using ondeloc::ObjectMap;
using ondeloc::PointerMap;

namespace {
constexpr std::size_t kObjects = 0x7f0000100000, kHandles = 0x98000000;
const void* pointer(std::size_t i, std::size_t size = 512, std::size_t first = kObjects) {
  return reinterpret_cast<const void*>(first + i * size);
}
}  // namespace

// Objects as dense as requests may be, and handles, which are numbers.
TEMPLATE_TEST_CASE_SIG("every key that was inserted is found, others are not, over several tables",
                       "", ((class Map, std::size_t kFirst, std::size_t kSize), Map, kFirst, kSize),
                       (PointerMap, kObjects, 512), (PointerMap, kHandles, 1),
                       (ObjectMap, kObjects, 640), (ObjectMap, kObjects, 64),
                       (ObjectMap, kHandles, 1)) {
  Map map;
  const auto pointer = [](std::size_t i) { return ::pointer(i, kSize, kFirst); };
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

TEST_CASE("requests beside each other have their entries beside each other") {
  ObjectMap map;
  std::vector<MapEntry*> entries;
  for (std::size_t i = 0; i < 6; ++i) entries.push_back(map.find_or_insert(pointer(i, 640)));
  for (const MapEntry* entry : entries) CHECK(std::abs(entry - entries[0]) < 8 + 6);
}
