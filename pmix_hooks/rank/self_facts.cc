// SPDX-License-Identifier: Apache-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pmix_hooks/rank/self_facts.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

constexpr int kMaxCpu = static_cast<int>(ONDELOC_MASK_WORDS) * 64;

struct Mask {
  std::uint64_t words[ONDELOC_MASK_WORDS];
  bool test(int cpu) const { return (words[cpu / 64] >> (cpu % 64) & 1) != 0; }
};

// The system call itself: the C library's wrapper takes a cpu_set_t.
bool own_mask(Mask& mask) {
  std::memset(&mask, 0, sizeof(mask));
  return syscall(SYS_sched_getaffinity, 0, sizeof(mask.words), mask.words) > 0;
}

bool read_text(const char* path, char* text, std::size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = read(fd, text, size - 1);
  close(fd);
  text[got > 0 ? got : 0] = '\0';
  return got > 0;
}

bool list_meets(const char* list, const Mask& mask) {
  while (*list >= '0' && *list <= '9') {
    const char* end = nullptr;
    const std::uint32_t first = leading_number(list, &end);
    const std::uint32_t last = *end == '-' ? leading_number(end + 1, &end) : first;
    for (std::uint32_t cpu = first; cpu <= last && cpu < kMaxCpu; ++cpu)
      if (mask.test(static_cast<int>(cpu))) return true;
    list = *end == ',' ? end + 1 : end;
  }
  return false;
}

int end_of_range(const Mask& mask, int first) {
  int last = first;
  while (last + 1 < kMaxCpu && mask.test(last + 1)) ++last;
  return last;
}

}  // namespace

void allowed_cpus(char* text, std::size_t size) {
  Mask mask;
  text[0] = '\0';
  if (!own_mask(mask)) return;
  std::size_t used = 0;
  for (int cpu = 0; cpu < kMaxCpu; ++cpu) {
    if (!mask.test(cpu)) continue;
    const int last = end_of_range(mask, cpu);
    char range[32];
    const char* comma = used == 0 ? "" : ",";
    const int length = cpu == last ? snprintf(range, sizeof(range), "%s%d", comma, cpu)
                                   : snprintf(range, sizeof(range), "%s%d-%d", comma, cpu, last);
    if (used + static_cast<std::size_t>(length) >= size) return;
    copy_text(text + used, size - used, range);
    used += static_cast<std::size_t>(length);
    cpu = last;
  }
}

std::uint64_t allowed_nodes() {
  Mask mask;
  std::uint64_t nodes = 0;
  if (!own_mask(mask)) return 0;
  for (int k = 0; k < 64; ++k) {
    char path[64], list[4096];
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", k);
    if (read_text(path, list, sizeof(list)) && list_meets(list, mask)) nodes |= 1ULL << k;
  }
  return nodes;
}

std::uint32_t thread_count() {
  char text[1024];
  if (!read_text("/proc/self/stat", text, sizeof(text))) return 0;
  const char* at = std::strrchr(text, ')');  // then fields 3, 4, ...; threads is field 20
  for (int field = 2; at != nullptr && field < 20; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : leading_number(at + 1);
}

// The system call: the C library has a function for it since 2.29 only.
void current_place(std::int32_t& cpu, std::int32_t& node) {
  unsigned here = 0, there = 0;
  const bool known = syscall(SYS_getcpu, &here, &there, nullptr) == 0;
  cpu = known ? static_cast<std::int32_t>(here) : -1;
  node = known ? static_cast<std::int32_t>(there) : -1;
}

}  // namespace ondeloc
