// SPDX-License-Identifier: Apache-2.0
// Reading communication matrices from files. Two text formats, told apart by their first line:
//
//   .mat  n lines of n non-negative numbers, blanks between; row i = bytes sent by rank i. The
//         format of TreeMatch and of Open MPI's profile2mat.
//   CSV   header "src,dst,bytes" or "src,dst,bytes,messages", one line per pair; repeated pairs add
//         up. A series has the header "interval,src,dst,bytes[,messages]" with intervals counted
//         from 0; as one matrix its intervals add up.
//
// Empty lines and lines that begin with '#' are skipped. The diagonal is read and dropped. Bounds:
// kMaxMatrixRanks ranks, kMaxMatrixIntervals intervals, kMaxMatrixBytes of text. Errors: one
// sentence with file and line. Thread safety: pure functions but for reading the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"

namespace ondeloc {

inline constexpr int kMaxMatrixRanks = 4096;
inline constexpr int kMaxMatrixIntervals = 100000;
inline constexpr std::size_t kMaxMatrixBytes = std::size_t{1} << 30;

// Errors call the text `name`: the name of the file, or "standard input".
Result<CommMatrix> parse_matrix(std::string_view text, std::string_view name);

// One matrix per interval, all over the same ranks; intervals without a line are empty matrices.
Result<std::vector<CommMatrix>> parse_intervals(std::string_view text, std::string_view name);

// The same from a file; "-" is standard input.
Result<CommMatrix> read_matrix(const std::string& path);
Result<std::vector<CommMatrix>> read_intervals(const std::string& path);

// Returns the matrix as .mat text; whole numbers have no fraction.
std::string to_mat(const CommMatrix& matrix);

}  // namespace ondeloc
