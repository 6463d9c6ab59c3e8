// SPDX-License-Identifier: Apache-2.0
// A set of CPUs by OS index. A value type without hwloc, for the parts that must not know it.
// Thread safety: as std::vector. Bounds: indexes from 0 to kMaxCpu - 1; set() beyond is ignored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/base/result.h"

namespace ondeloc {

class CpuSet {
 public:
  static constexpr int kMaxCpu = 8192;  // the largest NR_CPUS of a Linux kernel

  CpuSet() = default;
  // "0-3,8": Linux list form, as in cpuset.cpus and --cpuset. Empty text is the empty set.
  static Result<CpuSet> parse_list(std::string_view text);
  // "0x3,0xC*2": the union of the masks that Slurm lists for --cpu-bind and in
  // SLURM_CPU_BIND_LIST. Hexadecimal, most significant digit first; "*N" repeats a mask N times.
  static Result<CpuSet> parse_mask_list(std::string_view text);
  // Word w, bit b is CPU 64 w + b: the order of sched_getaffinity on a little-endian machine.
  static CpuSet from_words(std::span<const std::uint64_t> words);

  void set(PuOs cpu);
  void clear(PuOs cpu);
  bool test(PuOs cpu) const;
  int count() const;
  bool empty() const { return count() == 0; }
  int first() const { return next(-1); }  // -1 when empty
  int next(int previous) const;           // -1 when there is none after `previous`
  std::vector<PuOs> to_vector() const;    // ascending
  std::string to_list() const;            // "0-3,8"
  std::span<const std::uint64_t> words() const { return words_; }

  bool is_subset_of(const CpuSet& other) const;
  bool intersects(const CpuSet& other) const;
  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other);
  CpuSet& operator-=(const CpuSet& other);
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
  friend bool operator==(const CpuSet& a, const CpuSet& b);

 private:
  std::vector<std::uint64_t> words_;  // no trailing zero words
  void trim();
};

}  // namespace ondeloc
