// SPDX-License-Identifier: Apache-2.0
// MPI sessions of this process. A program without MPI_Init joins the step when one of its sessions
// makes its first communicator, and leaves it when its last session ends. A session that only asks
// for something changes nothing. Thread safety: any thread.
#pragma once

namespace ondeloc {

// `session`: the address of its handle, which has the size that the MPI library gives it.
void session_opened(const void* session);
// REQUIRES: before the end of the session.
void session_closing(const void* session);
// A communicator was made from a group of a session.
void session_made_communicator();

}  // namespace ondeloc
