/* SPDX-License-Identifier: Apache-2.0
 * A program that makes a session and never calls MPI_Init. If the MPI library has no sessions (Open
 * MPI 4), session_init.c replaces them. */
#include <mpi.h>
#include <stdio.h>

#ifdef HAVE_SESSIONS
static int use_session(void) {
  MPI_Session session;
  const int rc = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  return rc != MPI_SUCCESS ? rc : MPI_Session_finalize(&session);
}
#else
int MPI_Session_init(void* info, void* errhandler, void* session);
static int use_session(void) {
  void* session;
  return MPI_Session_init(NULL, NULL, &session);
}
#endif

int main(void) {
  const int rc = use_session();
  printf("session: %d\n", rc);
  return rc == MPI_SUCCESS ? 0 : 1;
}
