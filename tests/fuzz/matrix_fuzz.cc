// SPDX-License-Identifier: Apache-2.0
// Parses any text as a matrix and as a series of intervals.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "mapcore/comm/matrix_io.h"

namespace {

void check(const ondeloc::CommMatrix& matrix) {
  if (matrix.ranks < 1 || matrix.ranks > ondeloc::kMaxMatrixRanks) std::abort();
  for (const ondeloc::MatrixEntry& e : matrix.entries) {
    if (e.src < 0 || e.src >= matrix.ranks || e.dst < 0 || e.dst >= matrix.ranks) std::abort();
    if (e.src == e.dst || !std::isfinite(e.bytes) || e.bytes < 0) std::abort();
  }
}

void check(const ondeloc::Error& error) {
  if (error.message().empty() || error.message().size() > 300) std::abort();  // one sentence
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto matrix = ondeloc::parse_matrix(text, "fuzz");
  matrix ? check(*matrix) : check(matrix.error());
  const auto series = ondeloc::parse_intervals(text, "fuzz");
  if (!series) {
    check(series.error());
    return 0;
  }
  for (const ondeloc::CommMatrix& one : *series) check(one);
  return 0;
}
