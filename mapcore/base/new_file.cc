// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr useconds_t kReaderPoll = 20'000;

std::string label_of(const std::string& path) {
  return path == "-" ? "standard output" : fmt::format("'{}'", shorten_path(path));
}

// Waits until somebody reads the pipe, as a shell's redirection does.
Result<std::optional<OutputPlace::Existing>> open_waiting(const OutputPlace& place,
                                                          NewFile::Accepts accepts) {
  for (;;) {
    auto existing = place.open_existing(O_WRONLY);
    const bool waits =
        !existing && existing.error().code() == ENXIO && accepts == NewFile::Accepts::kAnything;
    if (!waits) return existing;
    ::usleep(kReaderPoll);
  }
}

bool stat_input(const std::string& input, struct stat& file) {
  return (input == "-" ? ::fstat(STDIN_FILENO, &file) : ::stat(input.c_str(), &file)) == 0;
}

bool is_file(const struct stat& one, const std::string& path) {
  struct stat other {};
  return ::stat(path.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

Result<NewFile> NewFile::create(const std::string& path, Accepts accepts) {
  NewFile file(label_of(path));
  Status opened = path == "-" ? file.open_standard_output() : file.open(path, accepts);
  if (!opened) return std::move(opened).error();
  return file;
}

Status NewFile::open_standard_output() {
  fd_.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  return fd_.valid() ? Status() : Error::from_errno(label_ + " cannot be written");
}

Status NewFile::open(const std::string& path, Accepts accepts) {
  auto place = OutputPlace::find(path, label_);
  if (!place) return std::move(place).error();
  place_ = std::make_unique<OutputPlace>(*std::move(place));
  auto existing = open_waiting(*place_, accepts);
  if (!existing) return std::move(existing).error();
  if (!*existing) return begin_new();
  const mode_t mode = (*existing)->info.st_mode;
  if (S_ISREG(mode) && !place_->is_open_file()) {
    (*existing)->fd.reset();
    mode_ = mode & 0777;
    return begin_new();
  }
  if (accepts == Accepts::kFileOrDevice && !S_ISCHR(mode)) return place_->refuse_kind(mode);
  fd_ = std::move((*existing)->fd);
  if (accepts == Accepts::kAnything) (void)::fcntl(fd_.get(), F_SETFL, O_APPEND);  // and blocking
  return {};
}

Status NewFile::begin_new() {
  auto pending = PendingFile::create(*place_, O_WRONLY);
  if (!pending) return std::move(pending).error();
  pending_.emplace(*std::move(pending));
  if (mode_) (void)::fchmod(pending_->fd(), *mode_);
  return {};
}

void NewFile::put_off() {
  is_put_off_ = pending_.has_value();
  pending_.reset();
}

UniqueFd NewFile::duplicate() const { return UniqueFd(::fcntl(fd(), F_DUPFD_CLOEXEC, 0)); }

Status NewFile::write(std::string_view octets) {
  if (std::exchange(is_put_off_, false)) {
    if (Status begun = begin_new(); !begun) return begun;
  }
  return write_to(fd(), octets, label_ + " cannot be written");
}

Status NewFile::commit(Sync sync) {
  if (sync == Sync::kYes) {
    if (Status synced = sync_fd(fd(), label_ + " cannot be written"); !synced) return synced;
  }
  const bool done = pending_ ? pending_->replace(*place_) : ::close(fd_.release()) == 0;
  return done ? Status() : Error::from_errno(label_ + " cannot be written");
}

Status write_new_file(const std::string& path, std::string_view octets) {
  auto file = NewFile::create(path);
  if (!file) return std::move(file).error();
  if (Status wrote = file->write(octets); !wrote) return wrote;
  return file->commit();
}

Status check_different_files(const std::vector<std::string>& inputs) {
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& input : inputs) {
    struct stat file {};
    if (!stat_input(input, file)) continue;
    const auto [at, is_new] = seen.emplace(std::pair(file.st_dev, file.st_ino), input);
    if (!is_new)
      return Error(
          fmt::format("'{}' and '{}' are the same file; give each file once", at->second, input));
  }
  return {};
}

bool would_replace(const std::string& input, const std::string& output) {
  struct stat one {};
  return stat_input(input, one) && output != "-" && S_ISREG(one.st_mode) && is_file(one, output);
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
