// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/perf_event.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mapcore/base/text.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

perf_event_attr attributes_of(PerfKind kind) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = kind.type;
  attributes.config = kind.config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return attributes;
}

}  // namespace

Result<UniqueFd> open_perf_event(perf_event_attr& attributes, pid_t thread, int cpu) {
  const long fd = syscall(SYS_perf_event_open, &attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return Error::from_errno("perf_event_open");
  return UniqueFd(static_cast<int>(fd));
}

// EACCES and EPERM come from the kernel's policy, other errors from the hardware or a limit.
std::string why_no_perf(int error, const char* counter) {
  if (error == EMFILE || error == ENFILE) return "the limit of open files (ulimit -Hn) is too low";
  if (error != EACCES && error != EPERM)
    return fmt::format("this machine has no {} ({})", counter, std::strerror(error));
  const auto policy = read_small_file("/proc/sys/kernel/perf_event_paranoid", 16);
  return fmt::format("the kernel does not let users count (kernel.perf_event_paranoid is {})",
                     policy ? trim_blanks(*policy) : "unknown");
}

Result<PerfEvent> PerfEvent::of_thread(PerfKind kind, pid_t thread) {
  perf_event_attr attributes = attributes_of(kind);
  // kernel.perf_event_paranoid = 2, the kernel's default, asks for it.
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  attributes.inherit = 1;
  auto fd = open_perf_event(attributes, thread, -1);
  if (!fd) return std::move(fd).error();
  return PerfEvent(*std::move(fd));
}

Result<PerfEvent> PerfEvent::of_cpu(PerfKind kind, int cpu) {
  perf_event_attr attributes = attributes_of(kind);
  auto fd = open_perf_event(attributes, -1, cpu);
  if (!fd) return std::move(fd).error();
  return PerfEvent(*std::move(fd));
}

std::optional<double> PerfEvent::read() const {
  struct {
    std::uint64_t value, enabled, running;
  } got{};
  if (::read(fd_.get(), &got, sizeof(got)) != sizeof(got)) return std::nullopt;
  if (got.running == 0) {
    if (got.enabled == 0) return 0;  // the thread has not run since
    return std::nullopt;
  }
  return static_cast<double>(got.value) * static_cast<double>(got.enabled) /
         static_cast<double>(got.running);
}

}  // namespace ondeloc
