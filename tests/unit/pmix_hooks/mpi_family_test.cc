// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpi_family.h"

#include <string>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

struct Example {
  const char* version;  // as the libraries print it
  MpiFamily family;
  bool validated;
  const char* name;
};

}  // namespace

TEST_CASE("the version text tells the family") {
  const Example examples[] = {
      {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", MpiFamily::kOpenMpi, true,
       "Open MPI 4.1.4"},
      {"MPICH Version:      \t4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022\n",
       MpiFamily::kMpich, true, "MPICH 4.0.2"},
      {"Intel(R) MPI Library 2021.11 for Linux* OS\n", MpiFamily::kMpich, false,
       "Intel MPI 2021.11"},
      {"MPI VERSION    : CRAY MPICH version 8.1.27.26 (ANL base 3.4a2)\n", MpiFamily::kMpich, false,
       "Cray MPICH 8.1.27.26"},
      {"MVAPICH2 Version      :\t2.3.7\n", MpiFamily::kMpich, false, "MVAPICH2 2.3.7"},
      {"MVAPICH Version      :\t3.0\n", MpiFamily::kMpich, false, "MVAPICH 3.0"}};
  for (const Example& example : examples) {
    const MpiLibrary library = library_from_version(example.version);
    CHECK(library.family == example.family);
    CHECK(library.validated == example.validated);
    CHECK(std::string(library.name) == example.name);
  }
  CHECK(library_from_version("Open MPI v5.0.7, package").series == 5);
  CHECK(library_from_version("MPICH Version:      \t5.0.2\n").series == 5);
}

TEST_CASE("another library is not recognised") {
  for (const char* version : {"", "Open MPI", "IBM Spectrum MPI", "MPICH", "libfoo MPICH Version"})
    CHECK(library_from_version(version).family == MpiFamily::kNone);
}

TEST_CASE("a build of MPICH 5 for UCX alone takes each rank for a node") {
  struct Build {
    const char* version;
    bool knows_nodes;
  };
  const Build builds[] = {
      {"MPICH Version: 5.0.2\nMPICH Device: ch4:ucx\nMPICH configure: --with-device=ch4:ucx\n",
       false},
      {"MPICH Version: 5.0.2\nMPICH Device: ch4:ofi\nMPICH configure: --with-ucx=/usr\n", true},
      {"MPICH Version: 5.0.2\nMPICH Device: ch4:ucx\nMPICH configure: --with-ch4-shmmods=posix\n",
       true},
      {"MPICH Version: 5.0.2\nMPICH Device: ch4:ucx\nMPICH configure: --with-ch4-shmmods=none\n",
       false},
      {"MPICH Version: 5.0.2\nMPICH Device: ch4:ucx,ofi\n", true},
      {"MPICH Version: 4.2.1\nMPICH Device: ch4:ucx\nMPICH configure: --with-device=ch4:ucx\n",
       true},
      {"MPICH Version: 4.2.1\nMPICH Device: ch4:ofi\nMPICH configure: --enable-nolocal\n", false}};
  for (const Build& build : builds)
    CHECK(library_from_version(build.version).knows_nodes == build.knows_nodes);
}

TEST_CASE("a version of any length fits") {
  const std::string version = "MPICH Version: " + std::string(500, '4');
  CHECK(std::string(library_from_version(version.c_str()).name).size() == kLibraryNameBytes - 1);
}
