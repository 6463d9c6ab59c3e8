// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <ctime>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

std::string failed(const std::string& name) {
  if (name == "-") return "standard output cannot be written";
  return fmt::format("'{}' cannot be written", shorten_path(name));
}

Error cannot_write(const std::string& name) { return Error::from_errno(failed(name)); }

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? "./" : path.substr(0, slash + 1);
}

// The kernel's rule for links (fs.protected_symlinks): in a folder like /tmp only one's own and
// those of the folder's owner are followed. It asks for a file that is there; a link may come after
// that.
bool may_follow(const UniqueFd& link, const std::string& folder) {
  struct stat self {
  }, around{};
  if (::fstat(link.get(), &self) != 0 || ::stat(folder.c_str(), &around) != 0) return false;
  const bool shared = (around.st_mode & S_ISVTX) != 0 && (around.st_mode & S_IWOTH) != 0;
  return !shared || self.st_uid == ::geteuid() || self.st_uid == around.st_uid;
}

// Where links lead, also one to a file that is not there yet. Empty: there is one not to be
// followed.
std::string followed(std::string path) {
  constexpr int kMostLinks = 40;  // as the kernel
  for (int links = 0; links < kMostLinks; ++links) {
    char to[PATH_MAX];
    const UniqueFd link(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const ssize_t size = link.valid() ? ::readlinkat(link.get(), "", to, sizeof(to)) : -1;
    if (size <= 0) break;
    if (!may_follow(link, folder_of(path))) return {};
    const std::string name(to, static_cast<std::size_t>(size));
    path = name.front() == '/' ? name : folder_of(path).append(name);
  }
  return path;
}

// Two nodes may write one name on a shared file system, with one process number.
std::string temporary_name(const std::string& path) {
  constexpr unsigned kSpread = 2654435761U;
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const unsigned tag =
      static_cast<unsigned>(now.tv_nsec) + kSpread * static_cast<unsigned>(::getpid());
  char suffix[16];
  std::snprintf(suffix, sizeof suffix, ".%08x", tag);
  return path + suffix;
}

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// In that folder; a file that could get no name later is none.
UniqueFd open_nameless(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  struct stat info {};
  if (fd.valid() && ::lstat(path_of(fd.get()).c_str(), &info) != 0) fd.reset();
  return fd;
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
  if (file.target_.empty())
    return Error(fmt::format("'{}' is another user's link: name another file", shorten_path(path)));
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return cannot_write(path);
  if (exists && ::access(path.c_str(), W_OK) != 0) return cannot_write(path);
  if (exists && !S_ISREG(info.st_mode)) {
    file.fd_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.fd_.valid()) return cannot_write(path);
    return file;
  }
  if (!file.open_new()) return cannot_write(path);
  if (exists) (void)::fchmod(file.fd_.get(), info.st_mode & 0777);
  return file;
}

bool NewFile::open_new() {
  is_new_ = true;
  fd_ = open_nameless(folder_of(target_));
  if (fd_.valid()) return true;
  const std::string name = temporary_name(target_);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  fd_.reset(::open(name.c_str(), kFlags, 0666));
  if (fd_.valid()) temporary_ = name;
  return fd_.valid();
}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

UniqueFd NewFile::duplicate() const { return UniqueFd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }

Status NewFile::write(std::string_view octets) {
  return write_to(fd_.get(), octets, failed(name_));
}

// The file of that name, if there is one, is there until this one is.
bool NewFile::take_place() {
  if (temporary_.empty()) {
    const std::string name = temporary_name(target_);
    if (::linkat(AT_FDCWD, path_of(fd_.get()).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) !=
        0)
      return false;
    temporary_ = name;
  }
  // A network file system tells now that it could not keep everything.
  if (::close(fd_.release()) != 0) return false;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return false;
  temporary_.clear();
  return true;
}

Status NewFile::commit(Sync sync) {
  if (sync == Sync::kYes) {
    if (Status synced = sync_fd(fd_.get(), failed(name_)); !synced) return synced;
  }
  const bool done = is_new_ ? take_place() : ::close(fd_.release()) == 0;
  return done ? Status() : cannot_write(name_);
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

Status write_to(int fd, std::string_view octets, std::string_view what) {
  while (!octets.empty()) {
    const ssize_t wrote = ::write(fd, octets.data(), octets.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Error::from_errno(what);
    octets.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Status sync_fd(int fd, std::string_view what) {
  if (::fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP) return {};
  return Error::from_errno(what);
}

}  // namespace ondeloc
