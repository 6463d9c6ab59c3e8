// SPDX-License-Identifier: Apache-2.0
// ondeloc profile import, info, merge, export.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "mapcore/apps/cmd_profile.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/base/ids.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/new_file.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/comm/matrix_io.h"
#include "mapcore/profile/export_csv.h"
#include "mapcore/profile/import_csv.h"
#include "mapcore/profile/job_report.h"
#include "mapcore/profile/merge.h"
#include "mapcore/profile/window_matrix.h"

namespace ondeloc::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kProfileOutput = "the profile to write; - is standard output";

// Returns the sentence, or prints it on standard error if the profile is on standard output.
std::string told(const std::string& output, const std::string& text) {
  if (output != "-") return text;
  fmt::print(stderr, "{}", text);
  return "";
}

struct Sums {
  std::uint64_t messages = 0, bytes = 0, self = 0;
  std::uint64_t dropped = 0, dropped_bytes = 0;
  std::uint64_t exact_messages = 0, exact_bytes = 0, exact_off_node = 0;
  bool exact = false;
};

Sums add_up(ProfileReader& profile) {
  Sums sums;
  profile.for_each(
      {},
      [&](std::span<const ProfileEvent> events) {
        for (const ProfileEvent& event : events) {
          sums.messages += event.src != event.dst ? 1 : 0;
          sums.self += event.src == event.dst ? 1 : 0;
          sums.bytes += event.src != event.dst ? event.bytes : 0;
        }
      },
      show_progress("reading"));
  for (const RankDrops& drops : profile.drops()) {
    sums.dropped += drops.events;
    sums.dropped_bytes += drops.bytes;
  }
  for (const PairTotal& total : profile.totals()) {
    sums.exact = true;
    sums.exact_messages += total.messages;
    sums.exact_bytes += total.bytes;
    sums.exact_off_node += total.src == total.dst ? total.bytes : 0;
  }
  return sums;
}

void add_threads(const ProfileReader& profile, Json& out) {
  const std::vector<ThreadLabel> threads = profile.threads();
  if (threads.empty()) return;
  out["threads"] = threads.size();
  Json names = Json::array();
  for (const ThreadLabel& thread : threads)
    names.push_back(fmt::format("{} {}", thread.thread, thread.text()));
  out["thread_names"] = names;
}

void add_cpus(std::span<const RankCpuSet> cpus, Json& out) {
  if (const int share = recorded_share(cpus); share > 0) out["cpus_per_rank"] = share;
}

Json info_json(ProfileReader& profile, const std::string& file) {
  const auto& header = profile.header();
  const TimeWindow span = profile.span();
  const Sums sums = add_up(profile);
  Json out = {{"file", file},
              {"kind", "profile"},
              {"origin", header.origin},
              {"node", header.node},
              {"job", header.job},
              {"step", header.step},
              {"ranks", header.ranks},
              {"ranks_recorded", header.local_ranks},
              {"nodes", header.nodes}};
  out["seconds"] = static_cast<double>(span.to_ns - span.from_ns) * 1e-9;
  out["messages"] = sums.messages;
  out["bytes"] = sums.bytes;
  out["self_sends"] = sums.self;
  out["dropped_messages"] = sums.dropped;
  out["dropped_bytes"] = sums.dropped_bytes;
  if (sums.exact) {
    out["counted_messages"] = sums.exact_messages;
    out["counted_bytes"] = sums.exact_bytes;
    out["off_node_bytes"] = sums.exact_off_node;
  }
  add_cpus(profile.cpus(), out);
  if (!profile.step_cpus().empty()) out["step_cpus"] = profile.step_cpus().to_list();
  out["memory_ranks"] = profile.memory().size();
  add_threads(profile, out);
  if (!profile.notes().empty()) out["notes"] = profile.notes();
  out["blocks"] = profile.blocks().size();
  out["file_bytes"] = profile.file_octets();
  out["complete"] = profile.complete();
  out["damage"] = profile.damage();
  for (const NodeShift& node : profile.nodes())
    out["clocks"].push_back({{"node", node.node},
                             {"shift_seconds", static_cast<double>(node.shift_ns) * 1e-9},
                             {"source", "system clock"}});
  return out;
}

// Sums of bytes are doubles inside; JSON would write "127270912.0".
Json whole(double bytes) {
  return bytes >= 0 && bytes < 9e18 ? Json(static_cast<std::uint64_t>(bytes)) : Json(bytes);
}

Json info_json(const ReportInput& report, const std::string& file) {
  Json out = {{"file", file},
              {"kind", "report"},
              {"node", report.node},
              {"job", report.job},
              {"step", report.step},
              {"ranks", report.matrix.ranks},
              {"ranks_recorded", report.ranks.size()},
              {"seconds", report.seconds},
              {"bytes", whole(report.matrix.total_bytes())},
              {"off_node_bytes", whole(report.off_node_bytes)},
              {"intervals", report.intervals},
              {"remaps", report.remaps}};
  add_cpus(report.cpus, out);
  if (!report.notes.empty()) out["notes"] = report.notes;
  return out;
}

Json info_json(const PlainMatrices& matrices, const std::string& file) {
  Json out = {{"file", file},
              {"kind", matrices.series.empty() ? "matrix" : "series"},
              {"ranks", matrices.sum.ranks},
              {"bytes", whole(matrices.sum.total_bytes())},
              {"pairs", matrices.sum.entries.size()}};
  if (!matrices.series.empty()) out["intervals"] = matrices.series.size();
  return out;
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? fmt::format("{:.6f}", value.get<double>()) : value.dump();
}

// Writes one line for each value, and for each element of an array.
std::string to_lines(const Json& info) {
  std::string text;
  for (const auto& [key, value] : info.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    for (const Json& one : value.is_array() ? value : Json::array({value})) {
      // NOLINTNEXTLINE(readability-container-size-empty): empty() of JSON asks for no value at all
      if (one == "") continue;
      text += fmt::format("{:<18}{}\n", name, value_text(one));
    }
  }
  return text;
}

Result<std::string> run_info(const std::string& file, const std::string& format) {
  auto source = open_traffic(file);
  if (!source) return std::move(source).error();
  const Json info = std::visit([&](auto& found) { return info_json(found, file); }, *source);
  return format == "json" ? json_text(info) : to_lines(info);
}

struct ImportOptions {
  std::string csv, profile;
  int ranks = 0;
};

Result<std::string> run_import(const ImportOptions& options) {
  const auto counts =
      import_events_csv(options.csv, options.profile, options.ranks, show_progress("importing"));
  if (!counts) return counts.error();
  return told(options.profile, fmt::format("{} messages of {} ranks in {}\n", counts->events,
                                           counts->ranks, options.profile));
}

struct MergeOptions {
  std::vector<std::string> inputs;
  std::string output;
};

// The files of a merge, of which one of the two lists has all. Each file is read once: a pipe has
// nothing for a second reader.
struct MergeFiles {
  std::vector<NamedText> reports;
  std::vector<MergeInput> profiles;
};

Status add_file(const std::string& path, InputFile file, MergeFiles& files) {
  const bool is_profile = file.kind == InputKind::kProfile;
  if (!is_profile && !is_report(file.kind))
    return Error(
        fmt::format("'{}' is {}; give the profiles, or the reports, of the nodes of a step",
                    file.name, info_of(file.kind).what));
  if (is_profile ? !files.reports.empty() : !files.profiles.empty())
    return Error(
        fmt::format("'{}' is {}, and the files before it are not; give profiles only, or "
                    "reports only",
                    file.name, info_of(file.kind).what));
  if (is_profile) {
    files.profiles.push_back({path, std::move(file.profile)});
  } else {
    files.reports.push_back({file.name, std::move(file.text)});
  }
  return {};
}

Result<MergeFiles> read_merge_files(const std::vector<std::string>& paths) {
  if (Status once = check_read_once(paths); !once) return std::move(once).error();
  MergeFiles files;
  double bytes = 0;
  for (const std::string& path : paths) {
    auto file = load_input(path);
    if (!file) return std::move(file).error();
    bytes += static_cast<double>(file->text.size());
    if (Status added = add_file(path, *std::move(file), files); !added)
      return std::move(added).error();
    if (bytes > static_cast<double>(kMostJobReportBytes))
      return Error(fmt::format("the reports have more than {} together; give fewer",
                               bytes_text(static_cast<double>(kMostJobReportBytes))));
  }
  return files;
}

Result<std::string> run_merge_reports(const std::vector<NamedText>& reports,
                                      const MergeOptions& options) {
  for (const std::string& input : options.inputs)
    if (Status good = check_output(input, options.output); !good) return std::move(good).error();
  const auto merged = merge_reports(reports);
  if (!merged) return merged.error();
  if (Status written = write_new_file(options.output, merged->text); !written)
    return std::move(written).error();
  return told(options.output,
              fmt::format("{} of {} in {}\n", counted(merged->joined.ranks.size(), "rank"),
                          counted(merged->joined.nodes.size(), "node"), options.output));
}

Result<std::string> run_merge(const MergeOptions& options) {
  auto files = read_merge_files(options.inputs);
  if (!files) return std::move(files).error();
  if (!files->reports.empty()) return run_merge_reports(files->reports, options);
  const auto merged =
      merge_profiles(std::move(files->profiles), options.output, show_progress("merging"));
  if (!merged) return merged.error();
  for (const std::string& damage : merged->damage) say(damage);
  std::string text = fmt::format("{} messages of {} nodes in {}\n", merged->events,
                                 merged->nodes.size(), options.output);
  if (merged->clocks_unknown)
    text += "the clocks of the nodes are not aligned: a file knows no system clock\n";
  for (const NodeShift& node : merged->nodes) {
    if (!merged->clocks_unknown)
      text += fmt::format("{}: times shifted by {}{}, by the system clock of that node\n",
                          node.node, node.shift_ns < 0 ? "-" : "+",
                          seconds_text(std::abs(static_cast<double>(node.shift_ns)) * 1e-9));
  }
  return told(options.output, text);
}

struct ExportOptions {
  TrafficOptions profile;
  std::string format = "events", output;
  std::size_t intervals = 20;
};

// False for a matrix from a text that tells bytes only.
bool tells_messages(const CommMatrix& matrix) {
  const auto& entries = matrix.entries;
  return entries.empty() || std::any_of(entries.begin(), entries.end(),
                                        [](const MatrixEntry& e) { return e.messages > 0; });
}

// A matrix may be a share or a mean of others: its numbers need not be whole.
std::string matrix_csv(const CommMatrix& matrix) {
  const bool has_messages = tells_messages(matrix);
  std::string text = has_messages ? "src,dst,bytes,messages\n" : "src,dst,bytes\n";
  for (const MatrixEntry& e : matrix.entries) {
    text += fmt::format("{},{},{}", e.src, e.dst, e.bytes);
    text += has_messages ? fmt::format(",{}\n", e.messages) : "\n";
  }
  return text;
}

Result<std::string> export_matrix(CommMatrix matrix, const std::string& format,
                                  const std::string& name) {
  if (format != "matrix-csv" && matrix.ranks > kMaxMatrixRanks)
    return Error(
        fmt::format("a square of {} ranks is too large ({} at most): export matrix-csv, "
                    "which holds only the pairs that talk",
                    matrix.ranks, kMaxMatrixRanks));
  if (format == "normalised") matrix = normalised(std::move(matrix));
  if (format == "messages") {
    if (!tells_messages(matrix))
      return Error(
          fmt::format("--format: '{}' does not tell the number of messages; use matrix, "
                      "normalised or matrix-csv",
                      name));
    for (MatrixEntry& entry : matrix.entries) entry.bytes = entry.messages;
  }
  return format == "matrix-csv" ? matrix_csv(matrix) : to_mat(matrix);
}

Status write_stream(ProfileReader& profile, const TimeWindow& window, const ExportOptions& options,
                    const TextSink& sink) {
  const Progress progress = show_progress("exporting");
  return options.format == "intervals"
             ? export_intervals(profile, window, options.intervals, sink, progress)
             : export_events(profile, window, sink, progress);
}

Status to_output(ProfileReader& profile, const TimeWindow& window, const ExportOptions& options) {
  auto file = NewFile::create(options.output.empty() ? "-" : options.output);
  if (!file) return std::move(file).error();
  Status wrote;
  const TextSink sink = [&](std::string_view text) {
    wrote = file->write(text);
    return wrote.ok();
  };
  const Status done = write_stream(profile, window, options, sink);
  if (!wrote) return wrote;
  return done ? file->commit() : done;
}

Result<std::string> export_stream(ProfileReader& profile, const ExportOptions& options) {
  const auto window = parse_window(options.profile.window, profile);
  if (!window) return window.error();
  Status done = to_output(profile, *window, options);
  say_losses(profile);
  if (!done) return std::move(done).error();
  return std::string();
}

Result<std::string> run_export(const ExportOptions& options) {
  if (Status good = check_output(options.profile.file, options.output); !good)
    return std::move(good).error();
  auto source = open_traffic(options.profile.file);
  if (!source) return std::move(source).error();
  if (options.format == "events" || options.format == "intervals") {
    auto* profile = std::get_if<ProfileReader>(&*source);
    if (profile == nullptr)
      return Error(
          fmt::format("--format: '{}' holds no single messages; use matrix, messages, "
                      "normalised or matrix-csv",
                      name_of_input(options.profile.file)));
    return export_stream(*profile, options);
  }
  auto matrix = source_matrix(*source, options.profile);
  if (!matrix) return std::move(matrix).error();
  auto text =
      export_matrix(*std::move(matrix), options.format, name_of_input(options.profile.file));
  if (!text || options.output.empty()) return text;
  if (Status written = write_new_file(options.output, *text); !written)
    return std::move(written).error();
  return std::string();
}

void add_export(CLI::App& profile, Job& job) {
  CLI::App* command = profile.add_subcommand("export", "messages, intervals or matrix as text");
  auto options = std::make_shared<ExportOptions>();
  add_traffic(*command, options->profile, "")->required();
  add_window(*command, options->profile);
  command
      ->add_option("-f,--format", options->format,
                   "events, intervals, matrix (.mat, bytes), messages (.mat), normalised (.mat, "
                   "largest = 1) or matrix-csv (default: events)")
      ->check(
          CLI::IsMember({"events", "intervals", "matrix", "messages", "normalised", "matrix-csv"}));
  command->add_option("-n,--intervals", options->intervals, "equal intervals (default: 20)")
      ->check(CLI::Range(1, 100000));
  command
      ->add_option("-o,--output", options->output,
                   "write to this file (default: -, standard output)")
      ->check(not_empty());
  command->footer(examples({"ondeloc profile export app.prof -f matrix -o bytes.mat"}));
  command->callback([options, &job] { job = [options] { return run_export(*options); }; });
}

void add_import(CLI::App& profile, Job& job) {
  CLI::App* command =
      profile.add_subcommand("import", "make a profile of events.csv (time_us,src,dst,bytes)");
  auto options = std::make_shared<ImportOptions>();
  command->add_option("CSV", options->csv, "events.csv; - reads standard input")->required();
  command->add_option("-o,--output", options->profile, kProfileOutput)
      ->check(not_empty())
      ->required();
  command
      ->add_option("-n,--ranks", options->ranks,
                   "ranks of the program (default: one more than the largest rank seen)")
      ->check(CLI::Range(1, kMaxWorldRank + 1));
  command->footer(examples({"ondeloc profile import events.csv -o app.prof"}));
  command->callback([options, &job] { job = [options] { return run_import(*options); }; });
}

void add_merge(CLI::App& profile, Job& job) {
  CLI::App* command =
      profile.add_subcommand("merge", "one file of the profiles, or reports, of several nodes");
  auto options = std::make_shared<MergeOptions>();
  command->add_option("FILE", options->inputs, "profiles of one step, or its reports")->required();
  command->add_option("-o,--output", options->output, "the file to write; - is standard output")
      ->check(not_empty())
      ->required();
  command->footer(examples({"ondeloc profile merge app.prof.n1 app.prof.n2 -o app.prof",
                            "ondeloc profile merge ondeloc-1234.0.*.json -o job.json"}));
  command->callback([options, &job] { job = [options] { return run_merge(*options); }; });
}

void add_info(CLI::App& profile, Job& job) {
  CLI::App* command = profile.add_subcommand("info", "what is in the file");
  auto options = std::make_shared<TrafficOptions>();
  auto format = std::make_shared<std::string>("text");
  add_traffic(*command, *options, "")->required();
  command->add_option("-f,--format", *format, "text or json (default: text)")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(examples({"ondeloc profile info app.prof"}));
  command->callback(
      [options, format, &job] { job = [=] { return run_info(options->file, *format); }; });
}

}  // namespace

void add_profile_files(CLI::App& profile, Job& job) {
  add_import(profile, job);
  add_info(profile, job);
  add_merge(profile, job);
  add_export(profile, job);
}

}  // namespace ondeloc::cli
