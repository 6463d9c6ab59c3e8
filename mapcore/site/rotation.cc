// SPDX-License-Identifier: Apache-2.0
#include "mapcore/site/rotation.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "mapcore/base/text.h"
#include "mapcore/report/report_json.h"
#include "mapcore/site/directory.h"
#include "mapcore/site/read_directory.h"

namespace ondeloc {
namespace {

struct OldFile {
  std::string name;
  std::time_t written;
  std::uint64_t bytes;  // its size, or what it takes on the disk if that is less (holes)
  bool is_too_large;    // for a report: read_directory.h passes it over
};

constexpr std::uint64_t kBlockBytes = 512;  // of st_blocks, see stat(2)

bool has_report_name(std::string_view name) {
  return name.starts_with(kSiteReportPrefix) && name.ends_with(kSiteReportSuffix);
}

// The oldest first, behind files that are too large: one with a date in the future would take the
// room of all reports.
std::vector<OldFile> files_of(int directory, const std::vector<std::string>& names) {
  std::vector<OldFile> files;
  for (const std::string& name : names) {
    struct stat info {};
    if (!has_report_name(name) ||
        ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (!S_ISREG(info.st_mode)) continue;
    const auto size = static_cast<std::uint64_t>(info.st_size);
    const auto on_disk = kBlockBytes * static_cast<std::uint64_t>(info.st_blocks);
    files.push_back({name, info.st_mtime, std::min(size, on_disk), size > kMostSiteReportBytes});
  }
  std::stable_sort(files.begin(), files.end(), [](const OldFile& a, const OldFile& b) {
    return std::pair(!a.is_too_large, a.written) < std::pair(!b.is_too_large, b.written);
  });
  return files;
}

void remove_one(int directory, const OldFile& file, Rotated& done) {
  if (::unlinkat(directory, file.name.c_str(), 0) == 0) {
    ++done.removed;
    done.bytes += file.bytes;
  } else if (errno != ENOENT && ++done.failed == 1) {
    done.why =
        Error::from_errno(fmt::format("'{}' cannot be removed", shorten_path(file.name))).message();
  }
}

}  // namespace

Result<Rotated> rotate_reports(const std::string& path, const Rotation& rule) {
  auto directory = open_site_directory(path);
  if (!directory) return std::move(directory).error();
  const auto names = names_in(directory->get(), path);
  if (!names) return names.error();
  const int fd = ::dirfd(directory->get());
  const std::vector<OldFile> files = files_of(fd, *names);
  std::uint64_t kept = 0;
  for (const OldFile& file : files) kept += file.bytes;
  Rotated done;
  for (const OldFile& file : files) {
    const bool is_old = rule.oldest && file.written < *rule.oldest;
    if (!is_old && (!rule.most_bytes || kept <= *rule.most_bytes)) continue;
    remove_one(fd, file, done);
    kept -= file.bytes;
  }
  return done;
}

}  // namespace ondeloc
