// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "mapcore/base/text.h"
#include "mapcore/devices/device.h"

namespace ondeloc {
namespace {

constexpr std::size_t kSmallFile = 4096;

std::string_view trim_space(std::string_view text) {
  const char* const kSpace = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kSpace);
  return from == text.npos ? std::string_view()
                           : text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

}  // namespace

std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::vector<std::string> Sysfs::list(const std::string& path) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir((root_ + path).c_str()), closedir);
  if (!dir) return names;
  while (names.size() < kMostEntries) {
    const dirent* entry = readdir(dir.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return strverscmp(a.c_str(), b.c_str()) < 0;
  });
  return names;
}

std::string Sysfs::read(const std::string& path, std::size_t most) const {
  const UniqueFd fd(open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return "";
  std::string text;
  char piece[kSmallFile];
  while (text.size() < most) {
    const ssize_t got = ::read(fd.get(), piece, std::min(sizeof(piece), most - text.size()));
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return std::string(trim_space(text));
}

std::string Sysfs::read(const std::string& path) const { return read(path, kSmallFile); }

std::optional<long> Sysfs::read_number(const std::string& path) const {
  const std::string text = read(path);
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 0);
  if (text.empty() || *end != '\0') return std::nullopt;
  return number;
}

bool Sysfs::exists(const std::string& path) const {
  return access((root_ + path).c_str(), F_OK) == 0;
}

namespace {

std::string link_at(int folder, const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = readlinkat(folder, path.c_str(), target, sizeof(target));
  return size <= 0 ? "" : std::string(target, static_cast<std::size_t>(size));
}

}  // namespace

std::string Sysfs::link(const std::string& path) const { return link_at(AT_FDCWD, root_ + path); }

std::string Sysfs::link_name(const std::string& path) const {
  return std::string(last_component(link(path)));
}

namespace {

// Cuts a path after its last PCI address; empty if it has none.
std::string up_to_pci(std::string path) {
  while (!path.empty() && !is_pci_address(last_component(path)))
    path.resize(path.rfind('/') == path.npos ? 0 : path.rfind('/'));
  return path;
}

}  // namespace

std::string Sysfs::pci_directory(const std::string& path) const {
  const auto resolve = [](const std::string& name) {
    const std::unique_ptr<char, void (*)(void*)> real(realpath(name.c_str(), nullptr), std::free);
    return real ? std::string(real.get()) : std::string();
  };
  std::string directory = resolve(root_ + path);
  const std::string base = root_.empty() ? "" : resolve(root_);
  if (!directory.starts_with(base)) return "";  // a link that leaves a test's tree
  directory.erase(0, base.size());
  return up_to_pci(std::move(directory));
}

SysfsFolder::SysfsFolder(const Sysfs& sys, std::string path)
    : sys_(sys),
      path_(std::move(path)),
      fd_(open((sys.root_ + path_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

// Without a descriptor the path would be one below the working directory.
bool SysfsFolder::exists(const std::string& path) const {
  return fd_.valid() && faccessat(fd_.get(), path.c_str(), F_OK, 0) == 0;
}

std::string SysfsFolder::link(const std::string& path) const {
  return fd_.valid() ? link_at(fd_.get(), path) : "";
}

// The entry of a class is a link whose text names all devices above it. To resolve it took four
// times as long.
std::string SysfsFolder::pci_directory(const std::string& entry) const {
  constexpr std::string_view kDevices = "/devices/";
  const std::string target = link(entry);
  if (const std::size_t at = target.find(kDevices); at != target.npos)
    return up_to_pci("/sys" + target.substr(at));
  const std::string path = path_ + "/" + entry;
  std::string directory = sys_.pci_directory(path + "/device");
  return directory.empty() ? sys_.pci_directory(path) : directory;
}

}  // namespace ondeloc
