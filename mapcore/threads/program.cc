// SPDX-License-Identifier: Apache-2.0
#include "mapcore/threads/program.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {
namespace {

constexpr const char* kEmulator = "qemu-x86_64";
constexpr const char* kPluginFile = "ondeloc_threads.so";

// An empty piece of PATH is the present folder.
std::string find_on_path(const std::string& name) {
  if (name.find('/') != name.npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  for (;;) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    const std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (::access(file.c_str(), X_OK) == 0) return file;
    if (folder.size() == rest.size()) return "";
    rest.remove_prefix(folder.size() + 1);
  }
}

bool is_elf_of_x86_64(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Elf64_Ehdr header{};
  return fd.valid() && ::read(fd.get(), &header, sizeof header) == sizeof header &&
         std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == EM_X86_64;
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  std::string file = find_on_path(name);
  if (file.empty())
    return Error(
        fmt::format("'{}' is not a program that can be run; name one after --", shorten(name)));
  if (!is_elf_of_x86_64(file))
    return Error(
        fmt::format("'{}' is not an ELF program of x86-64; QEMU runs no scripts, so name "
                    "the interpreter first",
                    shorten_path(file)));
  return file;
}

Result<std::string> find_emulator() {
  std::string file = find_on_path(kEmulator);
  if (!file.empty()) return file;
  return Error(fmt::format("{} is not on PATH; install Debian's package qemu-user", kEmulator));
}

Result<std::string> find_threads_plugin() {
  char self[PATH_MAX] = "";
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string path(self, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const char* place : {"../lib/ondeloc", "."}) {
    std::string file = fmt::format("{}/{}/{}", folder, place, kPluginFile);
    if (::access(file.c_str(), R_OK) == 0) return file;
  }
  return Error(
      fmt::format("{} is missing; it belongs into {}/../lib/ondeloc, install ondeloc again",
                  kPluginFile, shorten_path(folder)));
}

}  // namespace ondeloc
