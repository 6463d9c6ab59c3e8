// SPDX-License-Identifier: Apache-2.0
// Says which addresses of a process have a page that no other process maps, from /proc/pid/pagemap.
// The kernel tells the node of an address, and takes as long if there is no page. A rank has ten
// times as many addresses as pages of its own: stacks, libraries and memory that ranks share.
// Thread safety: const member functions may run at the same time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mapcore/base/unique_fd.h"

namespace ondeloc {

class PageMap {
 public:
  explicit PageMap(pid_t pid);
  // Appends addresses of such pages from `begin` to `end` (both multiples of the page size) until
  // `pages` has `most`. Returns the first address that it did not look at. Where the kernel does
  // not tell, all addresses are appended.
  std::uint64_t append_pages(std::uint64_t begin, std::uint64_t end, std::size_t most,
                             std::vector<std::uintptr_t>& pages) const;

 private:
  UniqueFd file_;
};

}  // namespace ondeloc
