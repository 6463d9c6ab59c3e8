// SPDX-License-Identifier: Apache-2.0
#include "mapcore/report/report_json.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "mapcore/base/new_file.h"
#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json rank_json(const ReportRank& rank) {
  return {{"rank", rank.rank},
          {"local", rank.local},
          {"pid", rank.pid},
          {"initial_cpus", rank.initial_cpus},
          {"final_cpus", rank.final_cpus},
          {"migrations", rank.migrations}};
}

Json cell_json(const ReportCell& cell) {
  Json out = {{"src", cell.src}};
  if (cell.dst >= 0) out["dst"] = cell.dst;
  out["bytes"] = cell.bytes;
  out["messages"] = cell.messages;
  return out;
}

Json interval_json(const ReportInterval& interval) {
  return {{"t", interval.t},
          {"interval_ms", interval.interval_ms},
          {"bytes", interval.bytes},
          {"messages", interval.messages},
          {"off_node_bytes", interval.off_node_bytes},
          {"samples", interval.samples},
          {"sample_bytes", interval.sample_bytes},
          {"remote_share_before", or_null(interval.remote_share_before)},
          {"remote_share_after", or_null(interval.remote_share_after)},
          {"peak_load_before", interval.peak_load_before},
          {"peak_load_after", interval.peak_load_after},
          {"cost_before", interval.cost_before},
          {"cost_after", interval.cost_after},
          {"remapped", interval.remapped},
          {"moved", interval.moved},
          {"compute_us", interval.compute_us}};
}

template <class T>
Json array_of(const std::vector<T>& items, Json (*write)(const T&)) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(write(item));
  return out;
}

Json topology_json(const Report& report) {
  Json numa = Json::array();
  for (const auto& [os, pus] : report.numa) numa.push_back({{"os", os}, {"pus", pus}});
  return {{"numa", numa}, {"cpus", report.cpus}};
}

Json options_json(const Report& report) {
  Json options = Json::object();
  for (const auto& [key, value] : report.options) options[key] = value;
  return options;
}

}  // namespace

std::string to_json(const Report& report) {
  const Json events = {{"attach", report.events.attach},
                       {"sample", report.events.sample},
                       {"row", report.events.row},
                       {"detach", report.events.detach},
                       {"dropped", report.events.dropped}};
  const Json totals = {{"remaps", report.remaps},
                       {"migrations", report.migrations},
                       {"mapper_cpu_ms", report.mapper_cpu_ms},
                       {"wall_ms", report.wall_ms}};
  const Json json = {{"version", kReportVersion},
                     {"job", report.job},
                     {"step", report.step},
                     {"node", report.node},
                     {"mode", report.mode},
                     {"algorithm", report.algorithm},
                     {"options", options_json(report)},
                     {"topology", topology_json(report)},
                     {"ranks", array_of(report.ranks, rank_json)},
                     {"matrix", array_of(report.matrix, cell_json)},
                     {"off_node", array_of(report.off_node, cell_json)},
                     {"intervals", array_of(report.intervals, interval_json)},
                     {"events", events},
                     {"totals", totals},
                     {"notes", report.notes}};
  // Names come from outside (node, file patterns): a byte that is no UTF-8 must not lose the
  // report.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string expand_pattern(std::string_view pattern, std::uint32_t job, std::uint32_t step,
                           std::string_view node) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'j':
        out += fmt::format("{}", job);
        break;
      case 's':
        out += fmt::format("{}", step);
        break;
      case 'N':
        out += node;
        break;
      case '%':
        out += '%';
        break;
      default:
        out += pattern[i];
        continue;
    }
    ++i;
  }
  return out;
}

namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// In place: /dev/null stays what it is, and a terminal that takes no more is not waited for.
Status write_device(const std::string& path, const std::string& where, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return Error::from_errno(where);
  if (!S_ISCHR(info.st_mode)) return Error(where + " was replaced meanwhile: write it again");
  return write_to(fd.get(), text, where);
}

}  // namespace

Status write_file(const std::string& path, std::string_view text) {
  const std::string where = fmt::format("file '{}'", shorten_path(path));
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISCHR(info.st_mode)) return write_device(path, where, text);
    if (!S_ISREG(info.st_mode))
      return Error(fmt::format("{} is {}: name a file instead", where, kind_of(info.st_mode)));
    if (access(path.c_str(), W_OK) != 0)
      return Error::from_errno(where + " is kept, name another one");
  }
  auto file = NewFile::create(path);
  if (!file) return std::move(file).error();
  if (Status wrote = file->write(text); !wrote) return wrote;
  return file->commit(NewFile::Sync::kNo);  // a step that ends does not wait for the disk
}

}  // namespace ondeloc
