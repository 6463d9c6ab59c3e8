// SPDX-License-Identifier: Apache-2.0
#include "mapcore/threads/counts_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace ondeloc {

using ondeloc_threads::SharedCounts;

void CountsFile::Unmap::operator()(SharedCounts* counts) const {
  ::munmap(counts, sizeof(SharedCounts));
}

Result<CountsFile> CountsFile::create() {
  CountsFile file;
  file.fd_.reset(::memfd_create("ondeloc-threads", 0));
  if (!file.fd_.valid() || ::ftruncate(file.fd_.get(), sizeof(SharedCounts)) != 0)
    return Error::from_errno("the counts of the threads cannot be created");
  void* memory =
      ::mmap(nullptr, sizeof(SharedCounts), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd_.get(), 0);
  if (memory == MAP_FAILED) return Error::from_errno("the counts of the threads cannot be mapped");
  file.counts_.reset(static_cast<SharedCounts*>(memory));
  return file;
}

}  // namespace ondeloc
