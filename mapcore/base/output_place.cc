// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/output_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <climits>
#include <deque>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr int kMostLinks = 40;  // the kernel's limit

// Other users may put entries into the folder. In a folder of a group without the sticky bit
// colleagues replace each other's files on purpose.
bool is_shared(const struct stat& folder) {
  const bool sticky_group = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWGRP) != 0;
  return (folder.st_mode & S_IWOTH) != 0 || sticky_group;
}

bool may_use(const struct stat& entry, int folder) {
  struct stat around {};
  if (::fstat(folder, &around) != 0) return false;
  return !is_shared(around) || entry.st_uid == ::geteuid() || entry.st_uid == around.st_uid;
}

bool is_in_proc(int fd) {
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

std::deque<std::string> pieces_of(std::string_view path) {
  std::deque<std::string> pieces;
  const auto all = split(path, '/');
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool last = i + 1 == all.size();
    if (last && (all[i].empty() || all[i] == ".")) pieces.emplace_back(".");  // a folder is meant
    if (!all[i].empty() && all[i] != ".") pieces.emplace_back(all[i]);
  }
  return pieces;
}

const char* kind_of(mode_t mode) {
  if (S_ISREG(mode)) return "a file that is open elsewhere";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Walks from folder to folder, each a descriptor. ELOOP, ENOTDIR and the like come as errno.
class Walk {
 public:
  Walk(const std::string& path, const std::string& label) : label_(label), rest_(pieces_of(path)) {
    restart(path);
  }

  // False: at the last name, or an error that error() tells.
  bool step() {
    if (rest_.empty() || !folder_.valid()) return false;
    name_ = rest_.front();
    rest_.pop_front();
    // O_DIRECTORY also lets the automounter do its work.
    UniqueFd next(::openat(folder_.get(), name_.c_str(), kLook | O_NOFOLLOW | O_DIRECTORY));
    if (next.valid() && rest_.empty()) return fail_as("is a directory; name a file in it");
    if (next.valid()) {
      folder_ = std::move(next);
      return true;
    }
    if (errno == ENOENT && rest_.empty()) return false;
    const UniqueFd entry(::openat(folder_.get(), name_.c_str(), kLook | O_NOFOLLOW));
    struct stat info {};
    if (!entry.valid() || ::fstat(entry.get(), &info) != 0) return fail(errno);
    if (S_ISLNK(info.st_mode)) return follow(entry.get(), info);
    return rest_.empty() ? false : fail(ENOTDIR);
  }

  std::optional<Error> error() const { return error_; }
  UniqueFd take_folder() { return std::move(folder_); }
  const std::string& name() const { return name_; }
  bool is_open_file() const { return is_open_file_; }

 private:
  static constexpr int kLook = O_PATH | O_CLOEXEC;

  void restart(std::string_view path) {
    if (path.empty()) {
      fail(ENOENT);
      return;
    }
    if (path.front() == '/' || !folder_.valid())
      folder_.reset(::open(path.front() == '/' ? "/" : ".", kLook | O_DIRECTORY));
    if (!folder_.valid()) fail(errno);
  }

  bool follow(int link, const struct stat& info) {
    // /proc/PID/fd names open files, which need not have a path. Nobody else can put links there.
    if (is_in_proc(link)) {
      is_open_file_ = rest_.empty();
      if (is_open_file_) return false;
      folder_.reset(::openat(folder_.get(), name_.c_str(), kLook | O_DIRECTORY));
      return folder_.valid() || fail(errno);
    }
    if (++links_ > kMostLinks) return fail(ELOOP);
    if (!may_use(info, folder_.get()))
      return fail_as(
          "leads over another user's link in a folder that others may write to; name another "
          "file");
    char to[PATH_MAX];
    const ssize_t size = ::readlinkat(link, "", to, sizeof to);
    if (size <= 0) return fail(errno);
    const std::string_view target(to, static_cast<std::size_t>(size));
    const auto pieces = pieces_of(target);
    rest_.insert(rest_.begin(), pieces.begin(), pieces.end());
    restart(target);
    return !error_;
  }

  bool fail(int code) {
    error_ = Error::from_errno(label_ + " cannot be written", code);
    return false;
  }
  bool fail_as(const char* sentence) {
    error_ = Error(fmt::format("{} {}", label_, sentence));
    return false;
  }

  const std::string& label_;
  std::deque<std::string> rest_;
  UniqueFd folder_;
  std::string name_;
  bool is_open_file_ = false;
  int links_ = 0;
  std::optional<Error> error_;
};

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// Two nodes may write one name on a shared file system, with one process number.
std::string temporary_name(const std::string& name) {
  constexpr unsigned kSpread = 2654435761U;
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const unsigned tag =
      static_cast<unsigned>(now.tv_nsec) + kSpread * static_cast<unsigned>(::getpid());
  return fmt::format("{}.{:08x}", name, tag);
}

// A file that cannot be given a name later, because /proc is missing, is of no use.
UniqueFd open_nameless(int folder, int access) {
  UniqueFd fd(::openat(folder, ".", O_TMPFILE | O_CLOEXEC | access, 0666));
  struct stat info {};
  if (fd.valid() && ::lstat(path_of(fd.get()).c_str(), &info) != 0) fd.reset();
  return fd;
}

}  // namespace

Result<OutputPlace> OutputPlace::find(const std::string& path, std::string label) {
  Walk walk(path, label);
  while (walk.step()) {
  }
  if (auto error = walk.error()) return *std::move(error);
  const bool is_open_file = walk.is_open_file();
  const std::string name = walk.name();
  return OutputPlace(std::move(label), walk.take_folder(), name, is_open_file);
}

Error OutputPlace::cannot_write() const { return Error::from_errno(label_ + " cannot be written"); }

Error OutputPlace::refuse_kind(mode_t mode) const {
  return Error(fmt::format("{} is {}; name a file instead", label_, kind_of(mode)));
}

Result<std::optional<OutputPlace::Existing>> OutputPlace::open_existing(int access) const {
  const int follow = is_open_file_ ? 0 : O_NOFOLLOW;
  const int flags = access | follow | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Existing found{UniqueFd(::openat(folder_.get(), name_.c_str(), flags)), {}};
  if (!found.fd.valid()) {
    const int why = errno;
    if (why == ENOENT) return std::optional<Existing>();
    // The file is a pipe that nobody reads, or a socket.
    if (why == ENXIO && ::fstatat(folder_.get(), name_.c_str(), &found.info, 0) == 0)
      return Error(refuse_kind(found.info.st_mode).message(),
                   S_ISFIFO(found.info.st_mode) ? ENXIO : 0);
    if (why == ELOOP)
      return Error(label_ + " was replaced by a link while it was opened; name another file");
    errno = why;
    return cannot_write();
  }
  if (::fstat(found.fd.get(), &found.info) != 0) return cannot_write();
  if (!is_open_file_ && !may_use(found.info, folder_.get()))
    return Error(label_ +
                 " belongs to another user, in a folder that others may write to; name another "
                 "file");
  return std::optional<Existing>(std::move(found));
}

Result<PendingFile> PendingFile::create(const OutputPlace& place, int access) {
  PendingFile file;
  file.folder_ = place.folder_.get();
  file.fd_ = open_nameless(file.folder_, access);
  if (file.fd_.valid()) return file;
  const std::string name = temporary_name(place.name_);
  file.fd_.reset(::openat(file.folder_, name.c_str(), O_CREAT | O_EXCL | O_CLOEXEC | access, 0666));
  if (!file.fd_.valid()) return place.cannot_write();
  file.temporary_ = name;
  return file;
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      folder_(other.folder_),
      temporary_(std::exchange(other.temporary_, std::string())) {}

PendingFile::~PendingFile() {
  if (!temporary_.empty()) ::unlinkat(folder_, temporary_.c_str(), 0);
}

bool PendingFile::link_to(const OutputPlace& place, const std::string& name) const {
  return ::linkat(AT_FDCWD, path_of(fd_.get()).c_str(), place.folder_.get(), name.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
}

bool PendingFile::replace(const OutputPlace& place) {
  if (temporary_.empty()) {
    std::string name = temporary_name(place.name_);
    if (!link_to(place, name)) return false;
    temporary_ = std::move(name);
  }
  // A network file system reports here that it could not store everything.
  if (::close(fd_.release()) != 0) return false;
  return rename_to(place);
}

bool PendingFile::rename_to(const OutputPlace& place) {
  if (::renameat(folder_, temporary_.c_str(), folder_, place.name_.c_str()) != 0) return false;
  temporary_.clear();
  return true;
}

bool PendingFile::take_free_name(const OutputPlace& place) {
  if (temporary_.empty()) return link_to(place, place.name_);
  if (::linkat(folder_, temporary_.c_str(), folder_, place.name_.c_str(), 0) == 0) return true;
  if (errno == EEXIST) return false;
  return rename_to(place);  // a file system without hard links
}

}  // namespace ondeloc
