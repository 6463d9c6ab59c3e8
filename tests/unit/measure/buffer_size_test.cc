// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/buffer_size.h"

#include <vector>

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

constexpr std::uint64_t kMiB = 1U << 20;
// Two packages of 16 caches of 32 MiB for 8 cores, each with an L2 of 1 MiB.
constexpr const char* kManyCaches = "pack:2 l3:16(size=33554432) l2:8(size=1048576) core:1 pu:1";

std::vector<Reader> all_of(const Machine& machine) {
  std::vector<Reader> readers;
  for (const Pu& pu : machine.pus) readers.push_back({pu.os, pu.os});
  return readers;
}

FreeMemory gib(std::uint64_t count) {
  return [count](int) { return count * 1024 * kMiB; };
}

}  // namespace

TEST_CASE("the buffers of the readers of each cache are four times the cache and its L2s") {
  const Machine many = *load_machine(kManyCaches);
  REQUIRE(many.llcs.size() == 32);
  REQUIRE(many.llcs.front().bytes == 32 * kMiB);
  const auto readers = all_of(many);
  CHECK(*buffer_size(many, readers, gib(512)) == 20 * kMiB);
  CHECK(*buffer_size(many, std::span(readers).first(8), gib(512)) == 20 * kMiB);
  CHECK(*buffer_size(many, std::span(readers).first(1), gib(512)) == 160 * kMiB);
  const Machine unknown = *load_machine("numa:1 core:2 pu:1");
  CHECK(*buffer_size(unknown, all_of(unknown), gib(512)) == 8 * kMiB);
}

TEST_CASE("memory that is short makes the buffers smaller, until the caches would hold them") {
  const Machine many = *load_machine(kManyCaches);
  const auto readers = all_of(many);
  CHECK(*buffer_size(many, readers, gib(6)) == 12 * kMiB);  // of one NUMA node with all readers
  const auto refused = buffer_size(many, readers, gib(4));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("measure when the node has more free memory") !=
        std::string::npos);
  CHECK(buffer_size(many, readers, [](int) { return std::nullopt; }).ok());
}
