// SPDX-License-Identifier: Apache-2.0
// Every algorithm has to bring the data to their ranks. tests/apps/mpich shows that the model sends
// the same messages as MPICH.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tests/unit/catch.h"

#include "pmix_hooks/mpich_model/collective.h"

using namespace ondeloc::mpich_model;

namespace {

using Messages = std::map<std::pair<int, int>, std::uint64_t>;  // from, to: bytes

struct Sender {
  int from;
  Messages* messages;
};

// The messages of all ranks of a communicator whose nodes are not known.
Messages messages_of(int size, const Collective& call) {
  Messages messages;
  for (int rank = 0; rank < size; ++rank) {
    Sender sender{rank, &messages};
    const Sink sink{[](void* self, bool, int peer, std::uint64_t bytes) {
                      const auto* here = static_cast<Sender*>(self);
                      (*here->messages)[{here->from, peer}] += bytes;
                    },
                    &sender};
    send_messages({size, rank, 0, {}}, call, sink);
  }
  return messages;
}

Collective call_of(Kind kind, std::uint64_t count, int root = 0, Form form = Form::kBlocking) {
  return {kind, form, root, false, {count, 4, true, true}, 0, 0, Blocks(count), 32768};
}

std::uint64_t received(const Messages& messages, int rank) {
  std::uint64_t bytes = 0;
  for (const auto& [pair, length] : messages)
    if (pair.second == rank && pair.first != rank) bytes += length;
  return bytes;
}

}  // namespace

TEST_CASE("every rank receives a whole broadcast") {
  for (int size = 2; size <= 17; ++size)
    for (const int root : {0, 1, size - 1})
      for (const std::uint64_t count : {1, 3000, 50000, 200000}) {
        const Messages messages = messages_of(size, call_of(Kind::kBroadcast, count, root));
        for (int rank = 0; rank < size; ++rank)
          if (rank != root) CHECK(received(messages, rank) >= count * 4);
      }
}

TEST_CASE("no count behind the program's array is read") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  int* const end = static_cast<int*>(pages) + page / sizeof(int);
  REQUIRE(mprotect(end, page, PROT_NONE) == 0);
  for (int size = 1; size <= 33; ++size) {
    std::fill_n(end - size, size, 700);
    for (const Kind kind : {Kind::kAllgatherv, Kind::kReduceScatter})
      for (const bool commutes : {false, true})
        for (const Form form : {Form::kBlocking, Form::kStarted}) {
          Collective call = call_of(kind, 700, 0, form);
          call.operand.commutative = commutes;
          call.blocks = Blocks(end - size, false);
          CHECK(messages_of(size, call).empty() == (size == 1));
        }
  }
  munmap(pages, 2 * page);
}

TEST_CASE("no message leaves the communicator") {
  for (int kind = 0; kind <= static_cast<int>(Kind::kAlltoall); ++kind)
    for (int size = 1; size <= 17; ++size)
      for (const Form form : {Form::kBlocking, Form::kStarted})
        for (const std::uint64_t count : {0, 1, 700, 200000}) {
          const auto call = call_of(static_cast<Kind>(kind), count, size - 1, form);
          for (const auto& [pair, bytes] : messages_of(size, call)) {
            CHECK(pair.second >= 0);
            CHECK(pair.second < size);
          }
        }
}

TEST_CASE("an allgather brings every block to every rank") {
  for (int size = 2; size <= 17; ++size)
    for (const std::uint64_t count : {1, 5000, 100000}) {
      const Messages messages = messages_of(size, call_of(Kind::kAllgather, count));
      for (int rank = 0; rank < size; ++rank)
        CHECK(received(messages, rank) == count * 4 * static_cast<std::uint64_t>(size - 1));
    }
}

TEST_CASE("eight ranks exchange short blocks directly, nine by Bruck's algorithm") {
  CHECK(messages_of(8, call_of(Kind::kAlltoall, 6)).count({0, 3}) == 1);
  CHECK(messages_of(9, call_of(Kind::kAlltoall, 6)).count({0, 3}) == 0);
}

TEST_CASE("the root of a gather receives all blocks") {
  for (int size = 2; size <= 17; ++size) {
    const Messages messages = messages_of(size, call_of(Kind::kGather, 100, size - 1));
    CHECK(received(messages, size - 1) == 400 * static_cast<std::uint64_t>(size - 1));
  }
}
