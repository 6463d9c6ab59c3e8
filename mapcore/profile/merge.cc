// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/merge.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "mapcore/profile/reader.h"

namespace ondeloc {
namespace {

Status check_same_step(const std::vector<ProfileReader>& files,
                       const std::vector<std::string>& names) {
  const auto& first = files.front().header();
  for (std::size_t i = 1; i < files.size(); ++i) {
    const auto& header = files[i].header();
    if (header.ranks != first.ranks || header.job != first.job || header.step != first.step)
      return Error(fmt::format("'{}' is of step {}.{} with {} ranks, '{}' of {}.{} with {}",
                               names[0], first.job, first.step, first.ranks, names[i], header.job,
                               header.step, header.ranks));
    for (std::size_t j = 0; j < i; ++j) {
      if (files[j].header().node == header.node)
        return Error(
            fmt::format("'{}' and '{}' are both of node '{}'", names[j], names[i], header.node));
    }
  }
  return {};
}

std::uint64_t shifted(std::uint64_t time_ns, std::int64_t shift) {
  if (shift >= 0) return time_ns + static_cast<std::uint64_t>(shift);
  const std::uint64_t back = static_cast<std::uint64_t>(-(shift + 1)) + 1;
  return time_ns > back ? time_ns - back : 0;
}

Status copy_small(const ProfileReader& file, ProfileWriter& writer) {
  (void)writer.add_totals(file.totals());
  (void)writer.add_drops(file.drops());
  std::vector<std::string> notes;
  for (const std::string& note : file.notes())
    notes.push_back(fmt::format("{}: {}", file.header().node, note));
  (void)writer.add_notes(notes);
  return writer.add_memory(file.memory());
}

}  // namespace

Result<MergeResult> merge_profiles(const std::vector<std::string>& inputs,
                                   const std::string& output, const Progress& progress) {
  if (inputs.size() < 2) return Error("merging needs at least two profiles");
  if (std::find(inputs.begin(), inputs.end(), output) != inputs.end())
    return Error(fmt::format("'{}' is an input: write the merged profile elsewhere", output));
  std::vector<ProfileReader> files;
  for (const std::string& input : inputs) {
    auto file = ProfileReader::open(input);
    if (!file) return std::move(file).error();
    files.push_back(*std::move(file));
  }
  if (Status same = check_same_step(files, inputs); !same) return std::move(same).error();
  profile_format::FileHeader header = files.front().header();
  header.nodes = static_cast<std::uint32_t>(files.size());
  header.local_ranks = 0;
  header.origin = "merged by ondeloc";
  MergeResult result;
  for (const ProfileReader& file : files) {
    header.local_ranks += file.header().local_ranks;
    result.clocks_unknown |= file.header().realtime_ns == 0;
  }
  for (const ProfileReader& file : files) {
    const std::int64_t shift =
        result.clocks_unknown ? 0 : file.header().realtime_ns - header.realtime_ns;
    result.nodes.push_back({file.header().node, shift, file.header().local_ranks});
  }
  auto writer = ProfileWriter::create(output, header);
  if (!writer) return std::move(writer).error();
  (void)writer->add_nodes(result.nodes);
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].for_each(
        {},
        [&](std::span<const ProfileEvent> events) {
          for (ProfileEvent event : events) {
            event.time_ns = shifted(event.time_ns, result.nodes[i].shift_ns);
            (void)writer->add(event);
          }
        },
        [&](double share) {
          if (progress)
            progress((static_cast<double>(i) + share) / static_cast<double>(files.size()));
        });
    (void)writer->flush();
    (void)copy_small(files[i], *writer);
    if (!files[i].damage().empty()) result.damage.push_back(files[i].damage());
  }
  if (Status wrote = writer->finish(); !wrote) return std::move(wrote).error();
  result.events = writer->events();
  return result;
}

}  // namespace ondeloc
