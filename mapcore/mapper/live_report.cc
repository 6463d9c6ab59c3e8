// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/live_report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tuple>

#include "mapcore/base/new_file.h"

namespace ondeloc {

void LiveReport::publish(std::string_view text) {
  UniqueFd next(memfd_create(kLiveReportName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!next.valid() || fchmod(next.get(), S_IRUSR | S_IWUSR) != 0) return;
  if (!write_to(next.get(), text, kLiveReportName)) return;
  if (fcntl(next.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return;
  file_ = std::move(next);
}

bool LiveReport::was_read() const {
  struct stat found {};
  if (!file_.valid() || fstat(file_.get(), &found) != 0) return false;
  const auto &read = found.st_atim, &written = found.st_mtim;
  return std::tie(read.tv_sec, read.tv_nsec) > std::tie(written.tv_sec, written.tv_nsec);
}

}  // namespace ondeloc
