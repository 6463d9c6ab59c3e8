// SPDX-License-Identifier: Apache-2.0
// Output that is whole or not there: a file without a name in the same folder (O_TMPFILE), so that
// a writer that is killed leaves nothing, or one with a temporary name where the file system has no
// such; then rename. What stood under the name before stays until commit(); a link is followed, its
// target replaced. What is no regular file (/dev/stdout, a pipe) is written as it is; "-" is
// standard output. Errors: one sentence with the name.
// Ownership: owns the temporary file and removes it unless it was committed. Thread safety: a
// value, one thread. Programs that write should ignore SIGXFSZ, so that `ulimit -f` is an error
// like a full disk.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {

class NewFile {
 public:
  static Result<NewFile> create(const std::string& path);  // mode 0666 less the umask
  NewFile(NewFile&&) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  int fd() const { return fd_.get(); }
  UniqueFd duplicate() const;  // for who wants to own its descriptor
  Status write(std::string_view octets);
  // Waits for the disk, so that a machine that fails afterwards has the new file or the old one, or
  // does not: where the end of a step would wait.
  enum class Sync { kYes, kNo };
  Status commit(Sync sync = Sync::kYes);  // closes and renames; once

 private:
  NewFile(std::string name, std::string target)
      : name_(std::move(name)), target_(std::move(target)) {}
  bool open_new();
  bool take_place();
  std::string name_;       // as the user said it
  std::string target_;     // where links lead
  bool is_new_ = false;    // to take the place of target_
  std::string temporary_;  // where it has a name
  UniqueFd fd_;
};

Status write_new_file(const std::string& path, std::string_view octets);

// True when both names lead to one existing file.
bool same_file(const std::string& a, const std::string& b);
// True when writing `output` would replace what is read under the name `input`, where "-" is
// standard input, which may come from a file. Only regular files can be lost; what the shell sends
// standard output to is its affair.
bool would_replace(const std::string& input, const std::string& output);

// Goes on where a write was short; `what` failed, where one did.
Status write_to(int fd, std::string_view octets, std::string_view what);

// fsync where the file system knows it: the first that hears of a quota is often this.
Status sync_fd(int fd, std::string_view what);

}  // namespace ondeloc
