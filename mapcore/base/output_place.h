// SPDX-License-Identifier: Apache-2.0
// Finds the folder and the name that an output path leads to, and opens the file there safely.
//
// In a folder that others may write to (such as /tmp) another user can plant a link or a file under
// the name, or swap it while we look. So every step works on a descriptor: folders are opened one
// by one, links are read from their own descriptor, and fstat(2) judges the file that was opened.
// The rules are those of the kernel's fs.protected_symlinks and fs.protected_regular, which sites
// may have switched off: in such a folder only links and files of the caller or of the folder's
// owner are used. Nothing here waits for a pipe or a device. Errors: one sentence that begins with
// `label`. Ownership: owns its descriptors. Thread safety: a value, one thread.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {

class OutputPlace {
 public:
  // Follows links, also to a file that does not exist yet. `label` names the file in messages.
  static Result<OutputPlace> find(const std::string& path, std::string label);

  struct Existing {
    UniqueFd fd;
    struct stat info;
  };
  // Opens the file of that name without waiting and without truncating it; `access` is O_WRONLY or
  // O_RDWR. Nothing: no file has the name. The descriptor has O_NONBLOCK.
  Result<std::optional<Existing>> open_existing(int access) const;

  const std::string& label() const { return label_; }
  // The path is an entry of /proc/PID/fd, such as /dev/stdout: a file that is open already and may
  // have no name.
  bool is_open_file() const { return is_open_file_; }
  Error cannot_write() const;            // with errno
  Error refuse_kind(mode_t mode) const;  // "... is a pipe; name a file instead"

 private:
  friend class PendingFile;
  OutputPlace(std::string label, UniqueFd folder, std::string name, bool is_open_file)
      : label_(std::move(label)),
        folder_(std::move(folder)),
        name_(std::move(name)),
        is_open_file_(is_open_file) {}

  std::string label_;
  UniqueFd folder_;
  std::string name_;
  bool is_open_file_;
};

// A new file in the folder of a place. It has no name (O_TMPFILE), or a temporary one if the file
// system cannot do that, until it takes its name: a writer that is killed leaves nothing half
// written. A temporary name is removed at the end of its life.
class PendingFile {
 public:
  // Mode 0666 less the umask. REQUIRES: the place outlives the file.
  static Result<PendingFile> create(const OutputPlace& place, int access);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  int fd() const { return fd_.get(); }
  UniqueFd take_fd() { return std::move(fd_); }
  // Closes the file and replaces whatever has the name, at once. False: see errno.
  bool replace(const OutputPlace& place);
  // Leaves the file open. False with EEXIST if something has the name by now.
  bool take_free_name(const OutputPlace& place);

 private:
  PendingFile() = default;
  bool rename_to(const OutputPlace& place);
  bool link_to(const OutputPlace& place, const std::string& name) const;
  UniqueFd fd_;
  int folder_ = -1;        // of the place
  std::string temporary_;  // empty: it has no name
};

}  // namespace ondeloc
