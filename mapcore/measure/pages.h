// SPDX-License-Identifier: Apache-2.0
// Fresh pages of memory. The thread that touches them first decides on which NUMA node they lie.
// Ownership: the object owns the memory. Thread safety: const members from any thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace ondeloc {

class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Pages() {
    if (is_good()) munmap(data_, bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  bool is_good() const { return data_ != MAP_FAILED; }  // false: out of memory
  std::size_t size() const { return bytes_; }
  char* data() const { return static_cast<char*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace ondeloc
