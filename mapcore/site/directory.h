// SPDX-License-Identifier: Apache-2.0
// Lists a directory of reports, up to a bound. Thread safety: one thread.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

inline constexpr std::size_t kMostSiteFiles = 1'000'000;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Result<Directory> open_site_directory(const std::string& path);
// The names in their order, so that the same files give the same text. Error: more than
// kMostSiteFiles. `path` is for messages.
Result<std::vector<std::string>> names_in(DIR* directory, const std::string& path);

}  // namespace ondeloc
