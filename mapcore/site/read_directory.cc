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
    struct stat info {};
    if (::fstatat(directory_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return gone();
    if (!S_ISREG(info.st_mode)) return Error(kind_of(info.st_mode));
    // The name may lead elsewhere by now: the opened file counts.
    const UniqueFd fd(::openat(directory_, name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd.valid()) return gone();
    if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return Error("was replaced");
    if (info.st_mtime < since_) {
      ++files_.older;
      return std::optional<SiteReport>();
    }
    auto text = read_whole(fd.get(), static_cast<std::size_t>(info.st_size));
    if (!text) return std::move(text).error();
    const auto run = parse_report_run(*text, name, ReportParts::kSums);
    if (!run)
      return Error(run.error().code() == ENOTSUP ? "is a report of another version of ondeloc"
                                                 : "is not a report of ondeloc");
    return std::optional(site_report_of(*run, info.st_uid, info.st_mtime));
  }

  static Result<std::optional<SiteReport>> gone() {
    if (errno == ENOENT) return std::optional<SiteReport>();
    return Error::from_errno("cannot be read");
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

}  // namespace ondeloc
