// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "mapcore/base/new_file.h"
#include "mapcore/base/read_file.h"
#include "mapcore/profile/reader.h"

namespace ondeloc {
namespace {

// Returns the recordings in a file: one, or all that a merge put together.
Result<std::vector<NodeShift>> parts_of(const ProfileReader& file, const std::string& name) {
  const auto& header = file.header();
  if (header.nodes <= 1 && file.nodes().empty())
    return std::vector<NodeShift>{{header.node, 0, header.local_ranks}};
  if (file.nodes().size() == header.nodes) return file.nodes();
  return Error(
      fmt::format("'{}' is a merged profile whose list of nodes is damaged: merge the "
                  "recordings again",
                  name));
}

Status check_same_step(const std::vector<ProfileReader>& files,
                       const std::vector<std::string>& names) {
  const auto& first = files.front().header();
  for (std::size_t i = 1; i < files.size(); ++i) {
    const auto& header = files[i].header();
    if (header.ranks != first.ranks || header.job != first.job || header.step != first.step)
      return Error(fmt::format("'{}' is of step {}.{} with {} ranks, '{}' of {}.{} with {}",
                               names[0], first.job, first.step, first.ranks, names[i], header.job,
                               header.step, header.ranks));
  }
  return {};
}

Status check_files(const std::vector<MergeInput>& inputs, const std::string& output) {
  std::vector<std::string> paths;
  for (const MergeInput& input : inputs) {
    if (would_replace(input.path, output))
      return Error(fmt::format("'{}' is an input: write the merged profile elsewhere", output));
    paths.push_back(input.path);
  }
  return check_different_files(paths);
}

std::uint64_t shifted(std::uint64_t time_ns, std::int64_t shift) {
  const auto ahead = static_cast<std::uint64_t>(shift);
  // The last nanosecond of the clock lies outside every window.
  if (shift >= 0) return std::min(time_ns, UINT64_MAX - 1 - ahead) + ahead;
  const std::uint64_t back = static_cast<std::uint64_t>(-(shift + 1)) + 1;
  return time_ns > back ? time_ns - back : 0;
}

Result<std::vector<ProfileReader>> open_all(std::vector<MergeInput> inputs,
                                            const std::vector<std::string>& names) {
  std::vector<ProfileReader> files;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto file = ProfileReader::from_fd(std::move(inputs[i].fd), names[i]);
    if (!file) return std::move(file).error();
    files.push_back(*std::move(file));
  }
  if (Status same = check_same_step(files, names); !same) return std::move(same).error();
  return files;
}

profile_format::FileHeader header_of(const std::vector<ProfileReader>& files,
                                     const std::vector<NodeShift>& nodes) {
  profile_format::FileHeader header = files.front().header();
  header.nodes = static_cast<std::uint32_t>(nodes.size());
  header.local_ranks = 0;
  header.node.clear();  // the nodes are in a block of their own
  header.origin = "merged by ondeloc";
  for (const NodeShift& node : nodes) header.local_ranks += node.local_ranks;
  return header;
}

// Returns the shift for the times of each file, by the system clocks in the headers; 0 if one is
// unknown.
Result<std::vector<std::int64_t>> find_shifts(const std::vector<ProfileReader>& files,
                                              const std::vector<std::string>& names,
                                              MergeResult& result) {
  const std::int64_t zero = files.front().header().realtime_ns;
  for (const ProfileReader& file : files) result.clocks_unknown |= file.header().realtime_ns == 0;
  std::vector<std::int64_t> shifts(files.size());
  for (std::size_t i = 0; i < files.size() && !result.clocks_unknown; ++i) {
    if (__builtin_sub_overflow(files[i].header().realtime_ns, zero, &shifts[i]))
      return Error(fmt::format("the system clocks of '{}' and '{}' are centuries apart", names[0],
                               names[i]));
  }
  return shifts;
}

// Threads of two programs have the same numbers, so a sum of their profiles has no meaning.
Status check_no_threads(const std::vector<ProfileReader>& files,
                        const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].threads().empty())
      return Error(
          fmt::format("'{}' is of the threads of one program; only profiles of the nodes of "
                      "one step can be merged",
                      names[i]));
  }
  return {};
}

// Collects every recording with the sum of its shifts. Error: two recordings of one node.
Status collect_nodes(const std::vector<ProfileReader>& files, const std::vector<std::string>& names,
                     const std::vector<std::int64_t>& shifts, MergeResult& result) {
  std::map<std::string, std::size_t> file_of;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto parts = parts_of(files[i], names[i]);
    if (!parts) return std::move(parts).error();
    for (NodeShift& part : *parts) {
      const auto [at, is_new] = file_of.try_emplace(part.node, i);
      if (!is_new)
        return Error(fmt::format("'{}' and '{}' are both of node '{}'", names[at->second], names[i],
                                 part.node));
      if (__builtin_add_overflow(part.shift_ns, shifts[i], &part.shift_ns))
        return Error(
            fmt::format("'{}' has a time shift beyond 292 years; record the step again", names[i]));
      result.nodes.push_back(std::move(part));
    }
  }
  return {};
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
  std::vector<std::string> texts = file.notes(), notes;
  if (!file.damage().empty()) texts.insert(texts.begin(), file.damage());
  for (const std::string& note : texts)
    notes.push_back(file.nodes().empty() ? fmt::format("{}: {}", file.header().node, note) : note);
  (void)writer.add_notes(notes);
  (void)writer.add_memory(file.memory());
  (void)writer.add_cpus(file.cpus(), {});  // CPUs of different nodes have the same numbers
}

}  // namespace

Result<MergeResult> merge_profiles(std::vector<MergeInput> inputs, const std::string& output,
                                   const Progress& progress) {
  if (inputs.size() < 2) return Error("merging needs at least two profiles");
  if (Status good = check_files(inputs, output); !good) return std::move(good).error();
  std::vector<std::string> names;
  for (const MergeInput& input : inputs) names.push_back(name_of_input(input.path));
  auto files = open_all(std::move(inputs), names);
  if (!files) return std::move(files).error();
  if (Status good = check_no_threads(*files, names); !good) return std::move(good).error();
  MergeResult result;
  const auto shifts = find_shifts(*files, names, result);
  if (!shifts) return shifts.error();
  if (Status good = collect_nodes(*files, names, *shifts, result); !good)
    return std::move(good).error();
  auto target = NewFile::create(output);
  if (!target) return std::move(target).error();
  auto writer = ProfileWriter::over(target->duplicate(), output, header_of(*files, result.nodes));
  if (!writer) return std::move(writer).error();
  (void)writer->add_nodes(result.nodes);
  const auto count = static_cast<double>(files->size());
  for (std::size_t i = 0; i < files->size(); ++i) {
    ProfileReader& file = (*files)[i];
    copy_events(file, (*shifts)[i], *writer, [&](double share) {
      if (progress) progress((static_cast<double>(i) + share) / count);
    });
    copy_small(file, *writer);
    if (!file.damage().empty()) result.damage.push_back(file.damage());
  }
  const bool all_ended =
      std::all_of(files->begin(), files->end(), std::mem_fn(&ProfileReader::complete));
  if (Status wrote = writer->finish(all_ended); !wrote) return std::move(wrote).error();
  if (Status there = target->commit(); !there) return std::move(there).error();
  result.events = writer->events();
  return result;
}

}  // namespace ondeloc
