// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpi_family.h"

#include <atomic>
#include <cstring>

#include "pmix_hooks/open_mpi_facts.h"
#include "pmix_hooks/rank/mpich_handles.h"
#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

constexpr std::size_t kVersionBytes = 8192 + 1;  // MPICH's MPI_MAX_LIBRARY_VERSION_STRING

struct State {
  std::atomic<MpiFamily> family;
  char version[kVersionBytes];
};
constinit State state{};

// One row for each library: the text that MPI_Get_library_version() begins with or, if the text is
// not at the beginning, contains, and the name that reports use. The version is the first number
// behind the text.
struct Row {
  const char* text;
  bool at_beginning;
  const char* name;
  MpiFamily family;
  bool validated;
};
constexpr Row kRows[] = {
    {open_mpi::kVersionPrefix, true, "Open MPI", MpiFamily::kOpenMpi, true},
    {"MPICH Version", true, "MPICH", MpiFamily::kMpich, true},
    {"Intel(R) MPI Library", true, "Intel MPI", MpiFamily::kMpich, false},
    {"CRAY MPICH version", false, "Cray MPICH", MpiFamily::kMpich, false},
    {"MVAPICH2 Version", true, "MVAPICH2", MpiFamily::kMpich, false},
    {"MVAPICH Version", true, "MVAPICH", MpiFamily::kMpich, false},
};

const char* end_of_match(const Row& row, const char* version) {
  const std::size_t length = std::strlen(row.text);
  if (row.at_beginning)
    return std::strncmp(version, row.text, length) == 0 ? version + length : nullptr;
  const char* found = std::strstr(version, row.text);
  return found == nullptr ? nullptr : found + length;
}

// "4.0.2, package" -> "4.0.2".
void append_number(char (&name)[kLibraryNameBytes], const char* text) {
  text += std::strcspn(text, "0123456789\n");
  const std::size_t used = std::strlen(name);
  std::size_t length = std::strcspn(text, ", \t\n");
  if (length > kLibraryNameBytes - 1 - used) length = kLibraryNameBytes - 1 - used;
  std::memcpy(name + used, text, length);
}

// From its version 5 on, MPICH is built without nodes if it sends all messages by UCX, and the user
// has not asked for shared memory. Source: src/mpid/ch4/subconfigure.m4 at v5.0.0, c1af5ce839.
bool knows_nodes(int series, const char* version) {
  if (std::strstr(version, "--enable-nolocal") != nullptr) return false;
  const char* device = std::strstr(version, "ch4:ucx");
  if (series < 5 || device == nullptr || std::strcspn(device, " \t\n") != std::strlen("ch4:ucx"))
    return true;
  const char* asked = std::strstr(version, "--with-ch4-shmmods=");
  return asked != nullptr && std::strncmp(asked + std::strlen("--with-ch4-shmmods="), "no", 2) != 0;
}

MpiLibrary library_of_row(const Row& row, const char* rest) {
  MpiLibrary library{row.family, 0, row.validated, true, {}};
  copy_text(library.name, row.name);
  append_text(library.name, " ");
  append_number(library.name, rest);
  if (row.validated)
    library.series = static_cast<int>(leading_number(rest + std::strcspn(rest, "0123456789\n")));
  if (row.family == MpiFamily::kMpich) library.knows_nodes = knows_nodes(library.series, rest);
  return library;
}

}  // namespace

MpiLibrary library_from_version(const char* version) {
  for (const Row& row : kRows)
    if (const char* rest = end_of_match(row, version)) return library_of_row(row, rest);
  return {MpiFamily::kNone, 0, false, true, {}};
}

MpiLibrary recognise_library(const MpiCalls& calls) {
  int length = 0;
  if (calls.get_library_version(state.version, &length) != 0)
    return {MpiFamily::kNone, 0, false, true, {}};
  state.version[kVersionBytes - 1] = '\0';
  return library_from_version(state.version);
}

bool are_mpich_handles(const MpiCalls& calls, bool has_world) {
  int rank = has_world ? -1 : 0;
  long long bytes = 0;
  if (has_world && calls.comm_rank(word_of_bits(mpich_handles.comm_world), &rank) != 0)
    return false;
  return rank >= 0 && calls.type_size(word_of_bits(mpich_handles.double_type), &bytes) == 0 &&
         bytes == 8;
}

MpiFamily mpi_family() { return state.family.load(std::memory_order_acquire); }

void set_mpi_family(MpiFamily family) { state.family.store(family, std::memory_order_release); }

}  // namespace ondeloc
