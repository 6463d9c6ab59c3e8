// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpi_family.h"

#include <atomic>
#include <cstring>

#include "pmix_hooks/mpich_facts.h"
#include "pmix_hooks/open_mpi_facts.h"
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

MpiLibrary library_of_row(const Row& row, const char* rest) {
  MpiLibrary library{row.family, 0, row.validated, {}};
  copy_text(library.name, row.name);
  append_text(library.name, " ");
  append_number(library.name, rest);
  if (row.family == MpiFamily::kOpenMpi) library.series = static_cast<int>(leading_number(rest));
  return library;
}

}  // namespace

MpiLibrary library_from_version(const char* version) {
  for (const Row& row : kRows)
    if (const char* rest = end_of_match(row, version)) return library_of_row(row, rest);
  return {MpiFamily::kNone, 0, false, {}};
}

MpiLibrary recognise_library(const MpiCalls& calls) {
  int length = 0;
  if (calls.get_library_version(state.version, &length) != 0)
    return {MpiFamily::kNone, 0, false, {}};
  state.version[kVersionBytes - 1] = '\0';
  return library_from_version(state.version);
}

bool is_mpich_abi(const MpiCalls& calls, bool has_world) {
  int rank = has_world ? -1 : 0;
  long long bytes = 0;
  if (has_world && calls.comm_rank(mpich::word_of(mpich::kCommWorld), &rank) != 0) return false;
  return rank >= 0 && calls.type_size(mpich::word_of(mpich::kDouble), &bytes) == 0 && bytes == 8;
}

MpiFamily mpi_family() { return state.family.load(std::memory_order_acquire); }

void set_mpi_family(MpiFamily family) { state.family.store(family, std::memory_order_release); }

}  // namespace ondeloc
