// SPDX-License-Identifier: Apache-2.0
// Joins this process to the step after MPI_Init, or when a session makes its first communicator,
// and leaves before MPI_Finalize or the end of the last session. A process that is not as expected
// runs as if ondeloc were not there, and a note tells the mapper why, if the segment can be
// reached.
//
// Order of life of the objects that change (each file has one, named `state` unless it says
// otherwise; all are zero at the start of the process and none is ever destroyed):
//   before main          symbols.cc has_mpi_from_start
//   first MPI call       interposed.h `reached` and `slot` (one for each name): the next function;
//                        symbols.cc `cached`: the MPI library
//   prepare()            attach.cc self: step, launcher; notes.cc
//   sessions             sessions.cc: the open ones
//   attach()             attach.cc self: segment, calls, table; peers.cc, type_sizes.cc type_table,
//                        persistent.cc, counting.cc recording and counting, pmix_events.cc,
//                        one_sided.cc, row_sender.cc, reporter.cc, last pml_hooks.cc or, for
//                        every library, mpi_family.cc
//   attach(), MPICH      mpich_modelled.cc, mpich_nodes.cc, mpich_shapes.cc, mpich_neighbours.cc
//                        calls
//   messages             counting.cc counting, recording; peers.cc, persistent.cc, partitioned.cc
//                        and reporter.cc; a row goes to the mapper without a call. MPICH:
//                        mpich_requests.cc and mpich_shapes.cc keep requests and communicators
//   detach()             pml_hooks.cc puts the table back, counting becomes inactive, peers.cc
//                        gives its group back, reporter.cc sends the last events
//   after that           every hook and wrapper only passes on
//   exit                 by_handle.cc notes an MPI that was never seen
// Thread safety: called by the thread that initialises or finalises MPI, or makes a session; only
// the first call of each does anything.
#pragma once

namespace ondeloc {

// Before MPI_Init or MPI_Session_init: reads the launcher's environment, because the MPI_Init of a
// singleton makes a PMIx server and an environment of its own.
void prepare();
// After prepare(): ondeloc may move this process, unless MPI_Init shows that the process does not
// belong to the step.
bool may_be_moved();
// `session`: an open session; null after MPI_Init.
void attach(void* session);
// MPI_Init or a session was seen, whatever came of it.
bool attach_was_tried();
// Attached, and there was no MPI_Init before.
bool attached_by_session();
void detach();

}  // namespace ondeloc
