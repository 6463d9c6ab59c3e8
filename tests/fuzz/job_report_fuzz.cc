// SPDX-License-Identifier: Apache-2.0
// Any text as the report of a job: joining keeps all bytes, and a merge of an accepted text reads
// as the same job. Two halves of the input, parted by a zero byte, are two reports to merge.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/input/report_run.h"
#include "mapcore/profile/job_report.h"

namespace {
using namespace ondeloc;

// Sums of the same numbers in another order differ in their last digits.
bool is_same(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

double bytes_of(const ReportInput& job) {
  double sum = job.matrix.total_bytes();
  for (const auto& [rank, bytes] : job.off_node) sum += bytes;
  return sum;
}

void check(const ReportInput& job) {
  if (!std::isfinite(job.seconds) || job.nodes.size() > kMostNodeReports) std::abort();
  if (!job.cpus.empty() && job.cpus.size() != job.ranks.size()) std::abort();
  for (const MatrixEntry& entry : job.matrix.entries)
    if (entry.src < 0 || entry.dst < 0 || entry.src >= job.matrix.ranks ||
        entry.dst >= job.matrix.ranks)
      std::abort();
}

void check_merge(const std::vector<NamedText>& texts) {
  const auto merged = merge_reports(texts);
  if (!merged) return;
  check(merged->joined);
  const auto again = parse_job_report(merged->text, "merged");
  if (!again || again->ranks != merged->joined.ranks || again->job != merged->joined.job ||
      !is_same(bytes_of(*again), bytes_of(merged->joined)))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto job = parse_job_report(text, "fuzz"); job) check(*job);
  (void)parse_job_report_runs(text, "fuzz");
  const std::size_t half = text.find('\0');
  std::vector<NamedText> texts{{"a", std::string(text.substr(0, half))}};
  if (half != text.npos) texts.push_back({"b", std::string(text.substr(half + 1))});
  check_merge(texts);
  return 0;
}
