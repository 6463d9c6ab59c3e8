// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

std::string failed(const std::string& name) {
  return (name == "-" ? "standard output" : "'" + shorten_path(name) + "'") + " cannot be written";
}

Error cannot_write(const std::string& name) { return Error::from_errno(failed(name)); }

std::string followed(const std::string& path) {
  char whole[PATH_MAX];
  return ::realpath(path.c_str(), whole) == nullptr ? path : std::string(whole);
}

// A leftover of a program that was killed under the same process number is nobody's any more.
int open_temporary(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const int fd = ::open(path.c_str(), kFlags, 0666);
  if (fd >= 0 || errno != EEXIST || ::unlink(path.c_str()) != 0) return fd;
  return ::open(path.c_str(), kFlags, 0666);
}

bool is_file(const struct stat& one, const std::string& path) {
  struct stat other {};
  return ::stat(path.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

Result<NewFile> NewFile::create(const std::string& path) {
  NewFile file(path, followed(path));
  if (path == "-") {
    file.fd_.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!file.fd_.valid()) return cannot_write(path);
    return file;
  }
  struct stat info {};
  const bool exists = ::stat(file.target_.c_str(), &info) == 0;
  if (exists && ::access(path.c_str(), W_OK) != 0) return cannot_write(path);
  if (exists && !S_ISREG(info.st_mode)) {
    file.fd_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    const std::string temporary = file.target_ + ".tmp" + std::to_string(::getpid());
    file.fd_.reset(open_temporary(temporary));
    if (file.fd_.valid()) file.temporary_ = temporary;
  }
  if (!file.fd_.valid()) return cannot_write(path);
  if (exists && !file.temporary_.empty()) (void)::fchmod(file.fd_.get(), info.st_mode & 0777);
  return file;
}

NewFile::~NewFile() {
  if (fd_.valid() && !temporary_.empty()) ::unlink(temporary_.c_str());
}

UniqueFd NewFile::duplicate() const { return UniqueFd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }

Status NewFile::write(std::string_view octets) {
  while (!octets.empty()) {
    const ssize_t wrote = ::write(fd_.get(), octets.data(), octets.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return cannot_write(name_);
    octets.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Status NewFile::commit() {
  if (Status synced = sync_fd(fd_.get(), failed(name_)); !synced) return synced;
  if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0)
    return cannot_write(name_);
  temporary_.clear();
  return ::close(fd_.release()) == 0 ? Status() : cannot_write(name_);
}

Status write_new_file(const std::string& path, std::string_view octets) {
  auto file = NewFile::create(path);
  if (!file) return std::move(file).error();
  if (Status wrote = file->write(octets); !wrote) return wrote;
  return file->commit();
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat one {};
  return ::stat(a.c_str(), &one) == 0 && is_file(one, b);
}

bool would_replace(const std::string& input, const std::string& output) {
  struct stat one {};
  const int found = input == "-" ? ::fstat(STDIN_FILENO, &one) : ::stat(input.c_str(), &one);
  return found == 0 && output != "-" && S_ISREG(one.st_mode) && is_file(one, output);
}

Status sync_fd(int fd, std::string_view what) {
  if (::fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP) return {};
  return Error::from_errno(what);
}

}  // namespace ondeloc
