// SPDX-License-Identifier: Apache-2.0
// A program may look MPI's functions up in the handle of the library (dlsym: ctypes, Julia). It
// then calls past this library. Open MPI's initialisation is met all the same (interpose.cc); that
// of other libraries is not, and at its end the process says so.
#include <link.h>
#include <stdlib.h>

#include <cstring>

#include "mapcore/segment/layout.h"
#include "mapcore/segment/rank_env.h"

#include "pmix_hooks/open_mpi_facts.h"
#include "pmix_hooks/rank/attach.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/symbols.h"

namespace ondeloc {
namespace {

int is_mpi(dl_phdr_info* object, std::size_t, void*) {
  return std::strstr(object->dlpi_name, "/libmpi") != nullptr ? 1 : 0;
}

// Most processes of a step have no MPI and end here without a look-up.
bool has_mpi() { return dl_iterate_phdr(is_mpi, nullptr) != 0; }

// MPI allows this call at any time, also after MPI_Finalize.
bool was_initialised() {
  int flag = 0;
  const auto ask = reinterpret_cast<int (*)(int*)>(mpi_symbol("PMPI_Initialized"));
  return ask != nullptr && ask(&flag) == open_mpi::kSuccess && flag != 0;
}

[[gnu::destructor]] void note_unseen_program() {
  if (getenv(ONDELOC_ENV_STEP) == nullptr || attach_was_tried() || !has_mpi()) return;
  if (!was_initialised()) return;
  prepare();
  add_note(ONDELOC_NOTE_BY_HANDLE);
}

}  // namespace
}  // namespace ondeloc
