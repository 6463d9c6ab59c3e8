// SPDX-License-Identifier: Apache-2.0
// Expands any text as a list of hosts: few, short and different names, or one sentence.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "mapcore/place/host_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondeloc;
  const auto names = expand_hosts({reinterpret_cast<const char*>(data), size});
  if (!names) {
    if (names.error().message().size() > 300) std::abort();
    return 0;
  }
  if (names->empty() || names->size() > kMostHosts) std::abort();
  const std::set<std::string> different(names->begin(), names->end());
  if (different.size() != names->size()) std::abort();
  for (const std::string& name : *names)
    if (name.empty() || name.size() > 255 || name.find_first_of(" ,[]\n") != name.npos)
      std::abort();
  return 0;
}
