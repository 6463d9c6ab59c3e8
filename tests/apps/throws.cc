// SPDX-License-Identifier: Apache-2.0
// Throws in an MPI error handler, as C++ bindings do, and catches outside of MPI.
#define OMPI_SKIP_MPICXX 1
#include <execinfo.h>
#include <mpi.h>

#include <cstdio>
#include <stdexcept>

namespace {

int frames_seen;

void on_error(MPI_Comm*, int*, ...) {
  void* frames[64];
  frames_seen = backtrace(frames, 64);
  throw std::runtime_error("an error of MPI");
}

template <class Call>
bool is_caught(Call call) {
  frames_seen = 0;
  try {
    call();
  } catch (const std::exception&) {
    return frames_seen >= 5;  // the handler, MPI, this function, main and its caller
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Win window;
  MPI_Request none = MPI_REQUEST_NULL;
  const bool from_window =
      is_caught([&] { MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_NULL, &window); });
  const bool from_start = is_caught([&] { MPI_Start(&none); });
  std::printf("caught %d %d\n", from_window ? 1 : 0, from_start ? 1 : 0);
  return MPI_Finalize();
}
