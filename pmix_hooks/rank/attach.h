// SPDX-License-Identifier: Apache-2.0
// Joins this process to the step after MPI_Init and leaves before MPI_Finalize. Whatever is not as
// expected is left alone: the process runs as if ondeloc were not there, and where the segment can
// be reached a note tells the mapper why.
// Thread safety: called by the thread that initialises or finalises MPI, or makes a session; only
// the first call of each does anything.
#pragma once

#include <cstdint>

namespace ondeloc {

// Before MPI_Init or MPI_Session_init: notes what the launcher's environment says, since a
// singleton's MPI_Init makes itself a PMIx server and an environment to go with it.
void prepare();
// After prepare(): ondeloc may move this process, unless MPI_Init shows that it is none of the
// step's.
bool may_be_moved();
void attach();
void detach();
// Any thread, after prepare(). enum ondeloc_note
void add_note(std::uint32_t bits);

}  // namespace ondeloc
