// SPDX-License-Identifier: Apache-2.0
#include "mapcore/input/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "mapcore/base/quantity.h"
#include "mapcore/base/read_file.h"

namespace ondeloc {
namespace {

constexpr std::size_t kHead = 64;  // bytes that tell a profile from a text

// A reader of profiles jumps, which a pipe does not allow.
Result<UniqueFd> in_memory(const std::string& text, const std::string& name) {
  UniqueFd fd(memfd_create("ondeloc-profile", MFD_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(name);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = write(fd.get(), text.data() + at, text.size() - at);
    if (put < 0 && errno != EINTR) return Error::from_errno(name);
    at += put > 0 ? static_cast<std::size_t>(put) : 0;
  }
  return fd;
}

// O_NONBLOCK: a pipe without a writer is empty, the command does not wait for a writer.
Result<UniqueFd> open_input(const std::string& path, const std::string& name) {
  UniqueFd fd(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                          : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Error::from_errno(name);
  if (path != "-" && fcntl(fd.get(), F_SETFL, 0) != 0) return Error::from_errno(name);
  return fd;
}

}  // namespace

Result<InputFile> load_input(const std::string& path) {
  InputFile file;
  file.name = name_of_input(path);
  auto fd = open_input(path, file.name);
  if (!fd) return std::move(fd).error();
  if (Status read = read_on(fd->get(), file.text, kHead, file.name); !read)
    return std::move(read).error();
  const bool is_profile = kind_of_text(file.text) == InputKind::kProfile;
  if (is_profile && is_regular(fd->get())) {
    file.text.clear();
    file.profile = *std::move(fd);
    file.kind = InputKind::kProfile;
    return file;
  }
  if (Status read = read_on(fd->get(), file.text, kMaxInputBytes + 1, file.name); !read)
    return std::move(read).error();
  if (file.text.size() > kMaxInputBytes)
    return Error(fmt::format("{}: larger than {}", file.name,
                             capacity_text(static_cast<double>(kMaxInputBytes))));
  file.kind = kind_of_text(file.text);
  if (file.kind != InputKind::kProfile) return file;
  auto memory = in_memory(file.text, file.name);
  if (!memory) return std::move(memory).error();
  file.profile = *std::move(memory);
  file.text.clear();
  return file;
}

Result<InputFile> load_input(const std::string& path, Need need) {
  auto file = load_input(path);
  if (file && !holds(file->kind, need)) return wrong_kind(file->name, file->kind, need);
  return file;
}

}  // namespace ondeloc
