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

Result<std::vector<ProfileReader>> open_all(const std::vector<std::string>& inputs) {
  std::vector<ProfileReader> files;
  for (const std::string& input : inputs) {
    auto file = ProfileReader::open(input);
    if (!file) return std::move(file).error();
    files.push_back(*std::move(file));
  }
  if (Status same = check_same_step(files, inputs); !same) return std::move(same).error();
  return files;
}

profile_format::FileHeader header_of(const std::vector<ProfileReader>& files) {
  profile_format::FileHeader header = files.front().header();
  header.nodes = static_cast<std::uint32_t>(files.size());
  header.local_ranks = 0;
  header.origin = "merged by ondeloc";
  for (const ProfileReader& file : files) header.local_ranks += file.header().local_ranks;
  return header;
}

// By the system clocks of the headers; none where one of them is unknown.
void find_shifts(const std::vector<ProfileReader>& files, MergeResult& result) {
  const std::int64_t zero = files.front().header().realtime_ns;
  for (const ProfileReader& file : files) result.clocks_unknown |= file.header().realtime_ns == 0;
  for (const ProfileReader& file : files) {
    const auto& header = file.header();
    const std::int64_t shift = result.clocks_unknown ? 0 : header.realtime_ns - zero;
    result.nodes.push_back({header.node, shift, header.local_ranks});
  }
}

void copy_events(ProfileReader& file, std::int64_t shift, ProfileWriter& writer,
                 const Progress& progress) {
  const auto copy = [&](std::span<const ProfileEvent> events) {
    for (ProfileEvent event : events) {
      event.time_ns = shifted(event.time_ns, shift);
      (void)writer.add(event);
    }
  };
  file.for_each({}, copy, progress);
  (void)writer.flush();
}

void copy_small(const ProfileReader& file, ProfileWriter& writer) {
  (void)writer.add_totals(file.totals());
  (void)writer.add_drops(file.drops());
  std::vector<std::string> notes;
  for (const std::string& note : file.notes())
    notes.push_back(fmt::format("{}: {}", file.header().node, note));
  (void)writer.add_notes(notes);
  (void)writer.add_memory(file.memory());
}

}  // namespace

Result<MergeResult> merge_profiles(const std::vector<std::string>& inputs,
                                   const std::string& output, const Progress& progress) {
  if (inputs.size() < 2) return Error("merging needs at least two profiles");
  if (std::find(inputs.begin(), inputs.end(), output) != inputs.end())
    return Error(fmt::format("'{}' is an input: write the merged profile elsewhere", output));
  auto files = open_all(inputs);
  if (!files) return std::move(files).error();
  MergeResult result;
  find_shifts(*files, result);
  auto writer = ProfileWriter::create(output, header_of(*files));
  if (!writer) return std::move(writer).error();
  (void)writer->add_nodes(result.nodes);
  const auto count = static_cast<double>(files->size());
  for (std::size_t i = 0; i < files->size(); ++i) {
    ProfileReader& file = (*files)[i];
    copy_events(file, result.nodes[i].shift_ns, *writer, [&](double share) {
      if (progress) progress((static_cast<double>(i) + share) / count);
    });
    copy_small(file, *writer);
    if (!file.damage().empty()) result.damage.push_back(file.damage());
  }
  if (Status wrote = writer->finish(); !wrote) return std::move(wrote).error();
  result.events = writer->events();
  return result;
}

}  // namespace ondeloc
