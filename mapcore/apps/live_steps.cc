// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/live_steps.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <sstream>
#include <tuple>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/mapper/live_report.h"

namespace ondeloc::cli {
namespace {

constexpr std::size_t kMostLiveOctets = 1 << 26;

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  while (const dirent* entry = open ? readdir(open.get()) : nullptr)
    names.emplace_back(entry->d_name);
  return names;
}

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

// Mappers of the user: a process may call itself anything, so what it publishes is not trusted.
std::vector<std::string> mapper_folders() {
  std::vector<std::string> folders;
  for (const std::string& name : entries_of("/proc")) {
    struct stat owner {};
    const std::string folder = "/proc/" + name;
    if (!is_number(name) || stat(folder.c_str(), &owner) != 0 || owner.st_uid != getuid()) continue;
    const auto command = read_file(folder + "/comm", 64);
    if (command && *command == "ondeloc-mapper\n") folders.push_back(folder);
  }
  return folders;
}

std::string link_text(const std::string& path) {
  std::array<char, 256> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

// Empty if the mapper has published nothing, or the file was replaced between two calls.
std::string published_by(const std::string& folder) {
  for (const std::string& fd : entries_of(folder + "/fd")) {
    const std::string path = folder + "/fd/" + fd;
    if (!is_number(fd) || !link_text(path).starts_with(std::string("/memfd:") + kLiveReportName))
      continue;
    auto text = read_file(path, kMostLiveOctets);
    if (text) return *std::move(text);
  }
  return "";
}

bool is_wanted(const ReportRun& run, const WantedStep& wanted) {
  return (!wanted.job || *wanted.job == run.job) && (!wanted.step || *wanted.step == run.step);
}

}  // namespace

Result<WantedStep> parse_step(const std::string& text) {
  WantedStep wanted;
  if (text.empty()) return wanted;
  const std::size_t dot = text.find('.');
  wanted.job = parse_unsigned(std::string_view(text).substr(0, dot));
  if (dot != text.npos) wanted.step = parse_unsigned(std::string_view(text).substr(dot + 1));
  if (!wanted.job || (dot != text.npos && !wanted.step))
    return Error(fmt::format("'{}' is not a job or step; write JOBID or JOBID.STEP, such as 123.0",
                             shorten(text)));
  return wanted;
}

LiveSteps live_steps(const WantedStep& wanted) {
  constexpr int kTries = 3;
  LiveSteps found;
  for (const std::string& folder : mapper_folders()) {
    std::string text;
    for (int i = 0; i < kTries && text.empty(); ++i) text = published_by(folder);
    auto run = parse_report_run(text, folder);
    if (run && is_wanted(*run, wanted))
      found.steps.push_back(*std::move(run));
    else if (!run && run.error().code() == ENOTSUP)
      found.unread.push_back(run.error().message());
    else if (!run)
      ++found.starting;
  }
  // A mapper that has published nothing, or in another version, does not tell its step, and the
  // user asked for this one.
  if (wanted.job && !found.steps.empty()) {
    found.starting = 0;
    found.unread.clear();
  }
  std::sort(found.steps.begin(), found.steps.end(), [](const ReportRun& a, const ReportRun& b) {
    return std::tie(a.job, a.step) < std::tie(b.job, b.step);
  });
  return found;
}

CpuTimes cpu_times() {
  constexpr std::size_t kMostStat = 1 << 22;
  CpuTimes times;
  const auto stat = read_file("/proc/stat", kMostStat);
  std::istringstream lines(stat ? *stat : std::string());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (!name.starts_with("cpu") || !is_number(name.substr(3))) continue;
    CpuTime time;
    double ticks = 0;
    for (int i = 0; i < 8 && words >> ticks;
         ++i) {  // user nice system idle iowait irq softirq steal
      time.all += ticks;
      if (i != 3 && i != 4) time.busy += ticks;
    }
    times[std::stoi(name.substr(3))] = time;
  }
  return times;
}

std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after,
                                 const std::string& cpus) {
  const auto list = CpuSet::parse_list(cpus);
  double busy = 0, all = 0;
  for (const auto& [cpu, time] : after) {
    const auto at = before.find(cpu);
    if (at == before.end() || !list || !list->test(PuOs(cpu))) continue;
    busy += time.busy - at->second.busy;
    all += time.all - at->second.all;
  }
  if (all <= 0) return std::nullopt;
  return std::clamp(busy / all, 0.0, 1.0);
}

}  // namespace ondeloc::cli
