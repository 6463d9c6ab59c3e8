// SPDX-License-Identifier: Apache-2.0
// The counts of a program whose threads are followed, in a memory file that the plugin maps too.
// Ownership: owns the file and its mapping. Thread safety: a value, one thread.
#pragma once

#include <memory>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/threads/plugin/shared_counts.h"

namespace ondeloc {

class CountsFile {
 public:
  static Result<CountsFile> create();
  // The child inherits this descriptor.
  int fd() const { return fd_.get(); }
  const ondeloc_threads::SharedCounts& counts() const { return *counts_; }
  ondeloc_threads::SharedCounts& counts() { return *counts_; }

 private:
  struct Unmap {
    void operator()(ondeloc_threads::SharedCounts* counts) const;
  };
  UniqueFd fd_;
  std::unique_ptr<ondeloc_threads::SharedCounts, Unmap> counts_;
};

}  // namespace ondeloc
