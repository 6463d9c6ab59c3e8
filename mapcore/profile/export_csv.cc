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
  PairSum sum(profile.ranks());
  bool good = sink("interval,src,dst,bytes\n");
  for (std::size_t i = 0; i < count && good && span.from_ns < span.to_ns; ++i) {
    if (progress) progress(static_cast<double>(i) / static_cast<double>(count));
    sum.clear();
    profile.for_each({bins.begin_ns(i), bins.begin_ns(i + 1)},
                     [&](std::span<const ProfileEvent> events) {
                       for (const ProfileEvent& event : events) sum.add(event);
                     });
    fmt::memory_buffer out;
    for (const MatrixEntry& e : sum.matrix().entries)
      fmt::format_to(std::back_inserter(out), "{},{},{},{:.0f}\n", i, e.src, e.dst, e.bytes);
    good = sink(std::string_view(out.data(), out.size()));
  }
  return good ? Status() : stopped();
}

}  // namespace ondeloc
