// SPDX-License-Identifier: Apache-2.0
#include "mapcore/site/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mapcore/base/text.h"

namespace ondeloc {

Result<Directory> open_site_directory(const std::string& path) {
  Directory directory(::opendir(path.c_str()));
  if (directory) return directory;
  return Error::from_errno(fmt::format("'{}'", shorten_path(path)));
}

Result<std::vector<std::string>> names_in(DIR* directory, const std::string& path) {
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMostSiteFiles)
      return Error(fmt::format("'{}' has more than {} files; remove some", shorten_path(path),
                               kMostSiteFiles));
    names.push_back(name);
    errno = 0;
  }
  if (errno != 0) return Error::from_errno(fmt::format("'{}'", shorten_path(path)));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ondeloc
