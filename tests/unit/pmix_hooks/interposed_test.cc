// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/interposed.h"

#include <thread>

#include "tests/unit/catch.h"

namespace {

using namespace ondeloc;

int prepared = 0;  // by the call that chooses the counting function
std::atomic<int> sum_seen{0};

struct MadeUp : CountsNothing {
  static bool is_counted(MpiFamily) {
    prepared = 1;
    return true;
  }
  static void count(const Word*) { sum_seen.fetch_add(prepared, std::memory_order_relaxed); }
};

int next_function(Word) { return 0; }

}  // namespace

ONDELOC_INTERPOSE_ONE(MPI_Made_up, 1, MadeUp)

// ThreadSanitizer sees it if the jump is not ordered with the choice before it.
TEST_CASE("a thread that takes another thread's jump sees what was prepared for it") {
  using Call = InterposedCall<CallMPI_Made_up, 1>;
  Call::reached.next = reinterpret_cast<void*>(next_function);
  const auto before = Call::slot.load();
  set_mpi_family(MpiFamily::kMpich);
  counting.active = true;
  std::thread other([&] {
    while (Call::slot.load(std::memory_order_relaxed) == before) std::this_thread::yield();
    MPI_Made_up(nullptr);
  });
  MPI_Made_up(nullptr);
  other.join();
  counting.active = false;
  set_mpi_family(MpiFamily::kUndecided);
  CHECK(sum_seen == 2);
}
