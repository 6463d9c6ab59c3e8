// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/export_csv.h"

#include <fmt/format.h>

#include <iterator>

#include "mapcore/profile/clusters.h"
#include "mapcore/profile/pair_sum.h"
#include "mapcore/profile/window_matrix.h"

namespace ondeloc {
namespace {

Status stopped() { return Error("the output cannot be written"); }

void put_event(fmt::memory_buffer& out, const ProfileEvent& event, std::uint64_t zero) {
  const std::uint64_t ns = event.time_ns - zero;
  auto to = std::back_inserter(out);
  if (ns % 1000 == 0) {
    fmt::format_to(to, "{},{},{},{}\n", ns / 1000, event.src, event.dst, event.bytes);
  } else {
    fmt::format_to(to, "{}.{:03},{},{},{}\n", ns / 1000, ns % 1000, event.src, event.dst,
                   event.bytes);
  }
}

}  // namespace

Status export_events(ProfileReader& profile, const TimeWindow& window, const TextSink& sink,
                     const Progress& progress) {
  const std::uint64_t zero = profile.span().from_ns;
  bool good = sink("time_us,src,dst,bytes\n");
  profile.for_each_in_order(
      window,
      [&](std::span<const ProfileEvent> events) {
        fmt::memory_buffer out;
        for (const ProfileEvent& event : events) put_event(out, event, zero);
        good = good && sink(std::string_view(out.data(), out.size()));
      },
      progress);
  return good ? Status() : stopped();
}

Status export_intervals(ProfileReader& profile, const TimeWindow& window, std::size_t count,
                        const TextSink& sink, const Progress& progress) {
  const TimeWindow span = clip(window, profile.span());
  const TimeBins bins(span, count);
  constexpr int kDenseRanks = 64;  // a square of them costs little for each interval
  PairSum sum(profile.ranks(), kDenseRanks);
  bool good = sink("interval,src,dst,bytes\n");
  std::size_t now = 0;
  const auto put_interval = [&] {
    fmt::memory_buffer out;
    for (const MatrixEntry& e : sum.matrix().entries)
      fmt::format_to(std::back_inserter(out), "{},{},{},{:.0f}\n", now, e.src, e.dst, e.bytes);
    good = good && sink(std::string_view(out.data(), out.size()));
    sum.clear();
  };
  profile.for_each_in_order(
      span,
      [&](std::span<const ProfileEvent> events) {
        for (const ProfileEvent& event : events) {
          const std::size_t at = bins.index(event.time_ns);
          if (at != now) put_interval();
          now = at;
          sum.add(event);
        }
      },
      progress);
  put_interval();
  return good ? Status() : stopped();
}

}  // namespace ondeloc
