// SPDX-License-Identifier: Apache-2.0
#include "mapcore/site/read_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/decide/verdict.h"
#include "mapcore/input/report_run.h"
#include "mapcore/report/report_json.h"
#include "mapcore/site/directory.h"

namespace ondeloc {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory";
  if (S_ISLNK(mode)) return "is a link";
  return "is not a regular file";
}

// The whole text, or why not.
Result<std::string> read_whole(int fd, std::size_t size) {
  if (size > kMostSiteReportBytes)
    return Error(
        fmt::format("is larger than {}", capacity_text(static_cast<double>(kMostSiteReportBytes))));
  std::string text(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::read(fd, text.data() + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("cannot be read");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

struct OpenFile {
  UniqueFd fd;
  struct stat info;
};

Result<std::optional<OpenFile>> gone() {
  if (errno == ENOENT) return std::optional<OpenFile>();
  return Error::from_errno("cannot be read");
}

// Opens a regular file without following links or waiting. Nothing: it is gone by now.
Result<std::optional<OpenFile>> open_regular(int directory, const std::string& name) {
  OpenFile file{};
  if (::fstatat(directory, name.c_str(), &file.info, AT_SYMLINK_NOFOLLOW) != 0) return gone();
  if (!S_ISREG(file.info.st_mode)) return Error(kind_of(file.info.st_mode));
  // The name may lead elsewhere by now: the opened file counts.
  file.fd.reset(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.fd.valid()) return gone();
  if (::fstat(file.fd.get(), &file.info) != 0 || !S_ISREG(file.info.st_mode))
    return Error("was replaced");
  return std::optional(std::move(file));
}

Result<ReportRun> run_in(const OpenFile& file, const std::string& name, ReportParts parts) {
  auto text = read_whole(file.fd.get(), static_cast<std::size_t>(file.info.st_size));
  if (!text) return std::move(text).error();
  auto run = parse_report_run(*text, name, parts);
  if (!run)
    return Error(run.error().code() == ENOTSUP ? "is a report of another version of ondeloc"
                                               : "is not a report of ondeloc");
  return run;
}

// The report of the job in a file of the user.
std::optional<ReportRun> run_of_job(int directory, const std::string& name, const JobOfUser& job) {
  const auto file = open_regular(directory, name);
  if (!file || !*file || (*file)->info.st_uid != job.user) return std::nullopt;
  auto run = run_in(**file, name, ReportParts::kWhole);
  if (!run || run->job != job.job) return std::nullopt;
  return *std::move(run);
}

class Reader {
 public:
  Reader(int directory, std::time_t since) : directory_(directory), since_(since) {}

  void read(const std::string& name) {
    auto report = report_of(name);
    if (!report)
      skip(name, report.error().message());
    else if (*report)
      files_.reports.push_back(*std::move(*report));
  }

  SiteFiles take() {
    keep_last_of_each();
    return std::move(files_);
  }

 private:
  // Nothing: the file is older than `since`, or is gone by now.
  Result<std::optional<SiteReport>> report_of(const std::string& name) {
    if (!name.ends_with(kSiteReportSuffix)) return Error("does not end in .json");
    auto file = open_regular(directory_, name);
    if (!file) return std::move(file).error();
    if (!*file) return std::optional<SiteReport>();
    const struct stat& info = (*file)->info;
    if (info.st_mtime < since_) {
      ++files_.older;
      return std::optional<SiteReport>();
    }
    const auto run = run_in(**file, name, ReportParts::kSums);
    if (!run) return run.error();
    return std::optional(site_report_of(*run, info.st_uid, info.st_mtime));
  }

  void skip(const std::string& name, const std::string& why) {
    ++files_.skipped;
    if (files_.faults.size() < kMostNamedFaults)
      files_.faults.push_back(fmt::format("'{}' {}", shorten_path(name), why));
  }

  // Copies under other names would count twice.
  void keep_last_of_each() {
    const auto key = [](const SiteReport& report) {
      return std::tie(report.user, report.job, report.restarts, report.step, report.node);
    };
    auto& reports = files_.reports;
    std::stable_sort(reports.begin(), reports.end(), [&](const SiteReport& a, const SiteReport& b) {
      return key(a) != key(b) ? key(a) < key(b) : a.written > b.written;
    });
    const auto same = [&](const SiteReport& a, const SiteReport& b) { return key(a) == key(b); };
    const auto end = std::unique(reports.begin(), reports.end(), same);
    const auto copies = static_cast<std::size_t>(reports.end() - end);
    if (copies == 0) return;
    files_.skipped += copies;
    files_.faults.push_back(
        fmt::format("{} of a step and node that another file has too", counted(copies, "report")));
    reports.erase(end, reports.end());
  }

  int directory_;
  std::time_t since_;
  SiteFiles files_;
};

}  // namespace

Result<SiteFiles> read_site_directory(const std::string& path, std::time_t since) {
  auto directory = open_site_directory(path);
  if (!directory) return std::move(directory).error();
  const auto names = names_in(directory->get(), path);
  if (!names) return names.error();
  Reader reader(::dirfd(directory->get()), since);
  for (const std::string& name : *names) reader.read(name);
  return reader.take();
}

Result<JobVerdicts> verdicts_of_job(const std::string& path, const JobOfUser& job) {
  auto directory = open_site_directory(path);
  if (!directory) return std::move(directory).error();
  const auto names = names_in(directory->get(), path);
  if (!names) return names.error();
  const std::string start = fmt::format("{}{}.", kSiteReportPrefix, job.job);
  JobVerdicts found;
  std::size_t reports = 0;
  for (const std::string& name : *names) {
    if (!name.starts_with(start) || !name.ends_with(kSiteReportSuffix)) continue;
    if (reports == kMostReportsOfJob) {
      ++found.left_out;
      continue;
    }
    const auto run = run_of_job(::dirfd(directory->get()), name, job);
    if (!run) continue;
    found.verdicts.insert(verdict(run->run));
    ++reports;
  }
  return found;
}

}  // namespace ondeloc
