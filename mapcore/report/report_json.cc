// SPDX-License-Identifier: Apache-2.0
#include "mapcore/report/report_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "mapcore/base/new_file.h"
#include "mapcore/base/text.h"
#include "mapcore/report/json_rows.h"
#include "mapcore/report/report_version.h"

namespace ondeloc {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
Json array_of(const std::vector<T>& items, Json (*write)(const T&)) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(write(item));
  return out;
}

Json pages_json(const ReportPages& pages) { return {{"node", pages.node}, {"share", pages.share}}; }

Json sharing_json(const ReportSharing& pair) {
  return {{"first", pair.first}, {"second", pair.second}, {"faults", pair.faults}};
}

Json rank_json(const ReportRank& rank) {
  return {{"rank", rank.rank},
          {"local", rank.local},
          {"pid", rank.pid},
          {"threads", rank.threads},
          {"initial_cpus", rank.initial_cpus},
          {"start_cpus", rank.start_cpus},
          {"final_cpus", rank.final_cpus},
          {"migrations", rank.migrations},
          {"thread_cpus", rank.thread_cpus},
          {"thread_faults", rank.thread_faults},
          {"thread_sharing", array_of(rank.thread_sharing, sharing_json)},
          {"page_nodes", array_of(rank.page_nodes, pages_json)},
          {"far_pages", or_null(rank.far_pages)},
          {"gpus", rank.gpus},
          {"gpu_source", rank.gpu_source},
          {"gpus_near_at_start", or_null(rank.gpus_near_at_start)},
          {"gpus_near_at_end", or_null(rank.gpus_near_at_end)},
          {"nic", rank.nic}};
}

Json domain_json(const ReportDomain& domain) {
  Json out;
  for_each_member(domain, [&](const char* key, const auto& value) { out[key] = value; });
  return out;
}

Json adapter_json(const ReportAdapter& adapter) {
  return {
      {"name", adapter.name}, {"near_bytes", adapter.near_bytes}, {"far_bytes", adapter.far_bytes}};
}

Json topology_json(const Report& report) {
  Json numa = Json::array();
  for (const ReportNuma& node : report.numa)
    numa.push_back({{"os", node.os}, {"pus", node.pus}, {"package", node.package}});
  Json caches = Json::array();
  for (const ReportCache& cache : report.caches)
    caches.push_back({{"numa", cache.numa}, {"pus", cache.pus}, {"bytes", cache.bytes}});
  Json devices = Json::array();
  for (const ReportDevice& device : report.devices)
    devices.push_back({{"name", device.name},
                       {"kind", device.kind},
                       {"pci", device.pci},
                       {"node", device.node},
                       {"near", device.near}});
  return {{"numa", numa},
          {"caches", caches},
          {"cores", report.cores},
          {"cpus", report.cpus},
          {"devices", devices}};
}

Json energy_json(const ReportEnergy& energy) {
  return {{"seconds", energy.seconds},
          {"package_joules", or_null(energy.package_joules)},
          {"dram_joules", or_null(energy.dram_joules)},
          {"why_no_package", energy.why_no_package},
          {"why_no_dram", energy.why_no_dram}};
}

Json memory_json(const ReportMemory& memory) {
  return {{"local_bytes", or_null(memory.local_bytes)},
          {"total_bytes", or_null(memory.total_bytes)},
          {"remote_share", or_null(memory.remote_share)},
          {"why_unknown", memory.why}};
}

Json counters_json(const ReportCounters& counters) {
  return {{"cache_misses", or_null(counters.cache_misses)},
          {"read_bytes", or_null(counters.read_bytes)},
          {"written_bytes", or_null(counters.written_bytes)},
          {"why_no_misses", counters.why_no_misses},
          {"why_no_bytes", counters.why_no_bytes}};
}

Json texts_json(const std::vector<std::pair<std::string, std::string>>& texts) {
  Json json = Json::object();
  for (const auto& [key, value] : texts) json[key] = value;
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  const Json events = {{"attach", report.events.attach},
                       {"sample", report.events.sample},
                       {"row", report.events.row},
                       {"detach", report.events.detach},
                       {"dropped", report.events.dropped}};
  const Json totals = {{"domains", array_of(report.domains, domain_json)},
                       {"remote_share_before", or_null(report.remote_share_before)},
                       {"remote_share_after", or_null(report.remote_share_after)},
                       {"remaps", report.remaps},
                       {"migrations", report.migrations},
                       {"mapper_cpu_ms", report.mapper_cpu_ms},
                       {"wall_ms", report.wall_ms}};
  const Json json = {{"version", kReportVersion},
                     {"job", report.job},
                     {"step", report.step},
                     {"node", report.node},
                     {"mode", report.mode},
                     {"algorithm", report.algorithm},
                     {"complete", report.is_complete},
                     {"origin", texts_json(report.origin)},
                     {"options", texts_json(report.options)},
                     {"topology", topology_json(report)},
                     {"model", texts_json(report.model)},
                     {"ranks", array_of(report.ranks, rank_json)},
                     {"adapters", array_of(report.adapters, adapter_json)},
                     {"events", events},
                     {"energy", energy_json(report.energy)},
                     {"memory", memory_json(report.memory)},
                     {"counters", counters_json(report.counters)},
                     {"totals", totals},
                     {"notes", report.notes}};
  // Names of nodes and files may hold bytes that are not UTF-8. They must not lose the report.
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  text.resize(text.rfind("\n}"));
  append_member("matrix", report.matrix, text);
  append_member("off_node", report.off_node, text);
  append_member("off_node_matrix", report.off_node_matrix, text);
  append_member("modelled", report.modelled, text);
  append_member("intervals", report.intervals, text);
  text += "\n}\n";
  return text;
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

// Only regular files: as root, a link in the directory might lead to a device.
Status protect(int fd, const std::string& directory) {
  struct stat folder {
  }, file{};
  if (::stat(directory.c_str(), &folder) != 0 || ::fstat(fd, &file) != 0)
    return Error::from_errno(fmt::format("'{}'", shorten_path(directory)));
  if (!S_ISREG(file.st_mode)) return {};
  const bool for_group = (folder.st_mode & S_ISGID) != 0 && file.st_gid == folder.st_gid;
  if (::fchmod(fd, for_group ? 0640 : 0600) == 0) return {};
  return Error::from_errno(fmt::format("'{}'", shorten_path(directory)));
}

}  // namespace

std::string site_report_name(std::uint32_t job, std::uint32_t step, std::string_view node,
                             std::uint32_t restarts) {
  const std::string run = restarts > 0 ? fmt::format("r{}.", restarts) : "";
  return fmt::format("{}{}.{}{}.{}{}", kSiteReportPrefix, job, run, step, node, kSiteReportSuffix);
}

Status write_site_report(const std::string& directory, const std::string& name,
                         std::string_view text) {
  auto file = NewFile::create(directory + "/" + name, NewFile::Accepts::kFileOrDevice);
  if (!file) return std::move(file).error();
  if (Status safe = protect(file->fd(), directory); !safe) return safe;
  if (Status wrote = file->write(text); !wrote) return wrote;
  return file->commit(NewFile::Sync::kNo);
}

Status write_file(const std::string& path, std::string_view text) {
  auto file = NewFile::create(path, NewFile::Accepts::kFileOrDevice);
  if (!file) return std::move(file).error();
  if (Status wrote = file->write(text); !wrote) return wrote;
  return file->commit(NewFile::Sync::kNo);  // a step that ends does not wait for the disk
}

}  // namespace ondeloc
