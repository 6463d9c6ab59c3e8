// SPDX-License-Identifier: Apache-2.0
// Output that appears whole or not at all: a new file (PendingFile) replaces the old one at
// commit(). A link is followed and stays; its target is replaced. The rules for folders that others
// may write to are those of output_place.h. Devices and pipes are written in place; "-" is standard
// output. Errors: one sentence with the name.
// Ownership: owns the new file and removes it unless it was committed. Thread safety: a value, one
// thread. Programs that write should ignore SIGXFSZ, so that `ulimit -f` is an error like a full
// disk.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/base/output_place.h"
#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {

class NewFile {
 public:
  enum class Accepts {
    kAnything,      // for commands: a pipe is waited for until somebody reads it
    kFileOrDevice,  // never waits: pipes are refused, a device that is full is an error
  };
  // Mode 0666 less the umask, or that of the file that it replaces.
  static Result<NewFile> create(const std::string& path, Accepts accepts = Accepts::kAnything);
  NewFile(NewFile&&) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;

  int fd() const { return pending_ ? pending_->fd() : fd_.get(); }
  // Removes the new file until write() makes it anew. On a file system without nameless files (NFS)
  // a program that is killed in a long wait before its first write would leave it. Pipes, devices
  // and standard output stay open. Call it before the first write.
  void put_off();
  UniqueFd duplicate() const;  // for a writer that owns its descriptor
  Status write(std::string_view octets);
  // kYes waits for the disk: after a crash of the machine either the old or the new file is there.
  // kNo is for the end of a step, which must not wait.
  enum class Sync { kYes, kNo };
  Status commit(Sync sync = Sync::kYes);  // closes and replaces; once

 private:
  explicit NewFile(std::string label) : label_(std::move(label)) {}
  Status open_standard_output();
  Status open(const std::string& path, Accepts accepts);
  Status begin_new();

  std::string label_;
  std::unique_ptr<OutputPlace> place_;  // at one address: pending_ refers to it
  std::optional<PendingFile> pending_;  // a new file; else fd_ is written in place
  std::optional<mode_t> mode_;          // of the file that pending_ replaces
  bool is_put_off_ = false;
  UniqueFd fd_;
};

Status write_new_file(const std::string& path, std::string_view octets);

// Error: two of the names of inputs lead to one existing file; "-" is standard input.
Status check_different_files(const std::vector<std::string>& inputs);
// True when writing `output` would replace the file that is read as `input`. "-" as input is
// standard input, which may be a file. Only regular files can be lost. The shell opens standard
// output before we run, so "-" as output is never refused.
bool would_replace(const std::string& input, const std::string& output);

// Writes everything, also after short writes. An error begins with `what`.
Status write_to(int fd, std::string_view octets, std::string_view what);

// fsync(2); file systems that cannot do it are accepted. Exceeded quotas often show only here.
Status sync_fd(int fd, std::string_view what);

}  // namespace ondeloc
