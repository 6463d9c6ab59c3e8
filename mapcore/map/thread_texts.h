// SPDX-License-Identifier: Apache-2.0
// Mappings as the texts that OpenMP and tools for threads take. Entry i of a placement is thread i
// of one program, counted in the order in which the program creates its threads; the main thread is
// 0. A placement of ranks has the same texts. Thread safety: pure functions.
#pragma once

#include <string>

#include "mapcore/base/result.h"
#include "mapcore/map/mapping_io.h"

namespace ondeloc {

// "{0},{4,12}": a value of OMP_PLACES (OpenMP 5.2, section 21.1.6). With OMP_PROC_BIND=close and a
// team of as many threads, thread i runs on place i (section 10.1.3).
std::string to_omp_places(const RankCpus& placement);

// "0 4 12": a value of GOMP_CPU_AFFINITY. libgomp binds thread i to the i-th CPU.
// Error: a thread that has several CPUs.
Result<std::string> to_gomp_affinity(const RankCpus& placement);

// "0,4,12": the list of `likwid-pin -c`, which binds thread i to the i-th CPU.
// Error: a thread that has several CPUs.
Result<std::string> to_likwid_pin(const RankCpus& placement);

// "0,4-5": the CPUs of all threads together, for `taskset -c`, which binds the whole program.
std::string to_taskset(const RankCpus& placement);

}  // namespace ondeloc
