// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/buffer_size.h"

#include <vector>

#include "mapcore/base/quantity.h"
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

FreeInCgroup no_limit() {
  return [] { return std::nullopt; };
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
  CHECK(*buffer_size(many, readers, gib(512), no_limit()) == 20 * kMiB);
  CHECK(*buffer_size(many, std::span(readers).first(8), gib(512), no_limit()) == 20 * kMiB);
  CHECK(*buffer_size(many, std::span(readers).first(1), gib(512), no_limit()) == 160 * kMiB);
  const Machine unknown = *load_machine("numa:1 core:2 pu:1");
  CHECK(*buffer_size(unknown, all_of(unknown), gib(512), no_limit()) == 8 * kMiB);
}

TEST_CASE("memory that is short makes the buffers smaller, until the caches would hold them") {
  const Machine many = *load_machine(kManyCaches);
  const auto readers = all_of(many);
  CHECK(*buffer_size(many, readers, gib(6), no_limit()) ==
        12 * kMiB);  // of one NUMA node with all readers
  const auto refused = buffer_size(many, readers, gib(4), no_limit());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("measure when the node has more free memory") !=
        std::string::npos);
  CHECK(buffer_size(
            many, readers, [](int) { return std::nullopt; }, no_limit())
            .ok());
}

TEST_CASE("the limit of the job's cgroup makes the buffers smaller, too") {
  const Machine many = *load_machine(kManyCaches);
  const auto readers = all_of(many);
  const auto limit = [](std::uint64_t mib) {
    return [mib]() -> std::optional<std::uint64_t> { return mib * kMiB; };
  };
  REQUIRE(readers.size() == 256);
  CHECK(*buffer_size(many, readers, gib(512), limit(100 * 1024)) == 20 * kMiB);
  CHECK(*buffer_size(many, readers, gib(512), limit(6 * 1024)) == 12 * kMiB);
  CHECK(*buffer_size(many, readers, gib(5), limit(6 * 1024)) == 10 * kMiB);
  const auto refused = buffer_size(many, readers, gib(512), limit(1024));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message() ==
        "the memory limit of the job's cgroup leaves " + bytes_text(2.0 * kMiB) +
            " for each of 256 CPUs, and the caches would hold the data that is read; give the job "
            "more memory, such as with srun --mem=0");
}
