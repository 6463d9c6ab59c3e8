// SPDX-License-Identifier: Apache-2.0
// Reads small files, links and directories below /sys and /proc. Every read is bounded. A missing
// file is an empty value, never an error: a driver that is loaded while we read leaves half a
// directory. `root` lets tests read a made-up tree. Thread safety: no state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/unique_fd.h"

namespace ondeloc {

class Sysfs {
 public:
  explicit Sysfs(std::string root = "") : root_(std::move(root)) {}

  // The names in a directory, sorted so that eth2 comes before eth10; at most kMostEntries.
  std::vector<std::string> list(const std::string& path) const;
  // The first 4 KiB of a file without the blanks and newlines around it; empty if it is missing.
  std::string read(const std::string& path) const;
  // The same for a larger file.
  std::string read(const std::string& path, std::size_t most) const;
  std::optional<long> read_number(const std::string& path) const;
  bool exists(const std::string& path) const;
  // The target of a symbolic link, unresolved; empty if it is not a link.
  std::string link(const std::string& path) const;
  // The last component of link().
  std::string link_name(const std::string& path) const;
  // The directory of the PCI device that `path` is, or hangs on; empty if there is none. Links are
  // followed. The result is a path for the functions above.
  std::string pci_directory(const std::string& path) const;

  static constexpr std::size_t kMostEntries = 4096;

 private:
  friend class SysfsFolder;
  std::string root_;
};

// A directory that stays open. With hundreds of virtual functions, most of the time of a search is
// the kernel's walk along paths: a path that starts in the directory has fewer components. Owns the
// descriptor.
class SysfsFolder {
 public:
  // A directory that is missing is an empty one. `sys` has to live longer.
  SysfsFolder(const Sysfs& sys, std::string path);

  // The functions do the same as those of Sysfs, for paths below the directory.
  std::vector<std::string> list() const { return sys_.list(path_); }
  bool exists(const std::string& path) const;
  std::string link(const std::string& path) const;
  // The directory of the PCI device that an entry of a class, such as "mlx5_0", belongs to.
  std::string pci_directory(const std::string& entry) const;
  const std::string& path() const { return path_; }

 private:
  const Sysfs& sys_;
  std::string path_;
  UniqueFd fd_;
};

// The last component of a path.
std::string_view last_component(std::string_view path);

}  // namespace ondeloc
