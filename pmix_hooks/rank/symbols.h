// SPDX-License-Identifier: Apache-2.0
// Finding what lies behind this library: the next definition of an MPI function, and symbols of the
// MPI library and of libpmix, which may have been loaded privately (mpi4py, components). Nothing
// here loads anything. Thread safety: any thread. Errors: null.
#pragma once

namespace ondeloc {

// The next definition of an MPI function after ours in search order, another tool's or the
// library's, where MPI was there when the program started: it is what every caller would have
// reached without us. Else null.
void* next_symbol(const char* name);

// The function that a call would reach without this library.
struct NextFunction {
  void* function;
  // The function belongs to another MPI than the counted one, for example to a sequential solver's
  // own MPI. Its calls are only passed on.
  bool foreign;
};

// For an MPI that was loaded after the start: each library that was loaded with RTLD_LOCAL may have
// an MPI of its own. The result is the function that the object of `caller` was linked with, else
// the next definition (Open MPI makes itself global in MPI_Init, and a library that was loaded
// before keeps its own function), else the MPI library's, else the one of any library.
NextFunction local_symbol(const char* name, const void* caller);

// A function of the MPI library itself.
void* mpi_symbol(const char* name);

// An object of the MPI library, where the process has it: the linker may have moved it into the
// program (copy relocation), and the library's own copy is then dead.
void* mpi_object(const char* name);

// A symbol of the libpmix of this process.
void* pmix_symbol(const char* name);

// True if an address lies in an executable segment of a loaded object.
bool is_code(const void* address);

// Size in bytes of the object symbol that begins at `address`, 0 when unknown.
unsigned long symbol_size(const void* address);

}  // namespace ondeloc
