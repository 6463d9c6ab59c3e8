// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/machine_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "mapcore/base/json_text.h"
#include "mapcore/base/printable.h"
#include "mapcore/base/ranges_text.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr double kNanosecond = 1e-9;
constexpr double kLeastNanoseconds = 0.1;  // less than a cycle of any CPU
constexpr double kMostNanoseconds = 1e9;   // a second: no message between two cores takes as long
constexpr double kLeastBytesPerSecond = 1;
constexpr double kMostBytesPerSecond = 1e15;
constexpr int kMostNode = 4096;
constexpr std::size_t kMostText = 256;
constexpr std::size_t kMostNote = 1024;

double from_nanoseconds(double ns) { return ns * kNanosecond; }
// Four digits are more than a measurement has.
double rounded(double value) {
  if (value <= 0) return 0;
  const double decimals = 3 - std::floor(std::log10(value));
  const double scale = std::pow(10, std::abs(decimals));  // exact; a tenth is no double
  return decimals > 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}
double to_nanoseconds(double seconds) { return rounded(seconds / kNanosecond); }

// An object of the document, and the words for its place: none for the document itself.
struct Part {
  const Json& json;
  std::string place;  // such as " of element 2 of \"nodes\""
};

// Reads members of JSON objects and keeps the first thing that is wrong.
class Reader {
 public:
  const std::string& fault() const { return fault_; }
  bool is_good() const { return fault_.empty(); }
  void refuse(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }

  // 0: not measured.
  double rate(const Part& part, const char* key) {
    return number(part, key, kLeastBytesPerSecond, kMostBytesPerSecond);
  }
  double latency(const Part& part, const char* key) {
    return from_nanoseconds(number(part, key, kLeastNanoseconds, kMostNanoseconds));
  }
  int count(const Part& part, const char* key, int most) {
    if (!part.json.contains(key)) return 0;
    const double read = number_or(part.json[key], -1);
    if (read >= 0 && read <= most && read == std::floor(read)) return static_cast<int>(read);
    refuse(fmt::format("\"{}\"{} is not a whole number from 0 to {}", key, part.place, most));
    return 0;
  }
  // A NUMA node by the kernel's number, which has to be there.
  int node(const Part& part, const char* key) {
    if (!part.json.contains(key)) refuse(fmt::format("\"{}\"{} is missing", key, part.place));
    return count(part, key, kMostNode);
  }
  std::string text(const Json& object, const char* key) {
    if (!object.contains(key)) return "";
    return text_of(object[key], key, kMostText);
  }
  std::vector<std::string> texts(const Json& object, const char* key) {
    std::vector<std::string> all;
    for (const Json& value : list(object, key)) all.push_back(text_of(value, key, kMostNote));
    return all;
  }
  // The elements of a list; none where it is missing.
  const Json& list(const Json& object, const char* key) {
    static const Json kNone = Json::array();
    if (!object.contains(key)) return kNone;
    if (object[key].is_array() && object[key].size() <= kMaxMachineFileObjects) return object[key];
    refuse(fmt::format("\"{}\" is not a list of at most {} elements", key, kMaxMachineFileObjects));
    return kNone;
  }
  // The elements of a list of objects; none from the first on that is no object.
  std::vector<Part> parts(const Json& object, const char* key) {
    std::vector<Part> all;
    for (const Json& value : list(object, key)) {
      const std::string which = fmt::format("element {} of \"{}\"", all.size() + 1, key);
      if (!is_object(value, which)) break;
      all.push_back({value, " of " + which});
    }
    return all;
  }
  bool is_object(const Json& value, const std::string& which) {
    if (!value.is_object()) refuse(which + " is not an object");
    return value.is_object();
  }

 private:
  static double number_or(const Json& value, double otherwise) {
    return value.is_number() ? value.get<double>() : otherwise;
  }
  // 0 where it is missing.
  double number(const Part& part, const char* key, double least, double most) {
    if (!part.json.contains(key)) return 0;
    const double read = number_or(part.json[key], -1);
    if (read == 0) return 0;  // -0 too
    if (read >= least && read <= most) return read;
    refuse(fmt::format("\"{}\"{} is neither 0 nor a number from {:g} to {:g}", key, part.place,
                       least, most));
    return 0;
  }
  std::string text_of(const Json& value, const char* key, std::size_t most) {
    if (value.is_string() && value.get_ref<const std::string&>().size() <= most)
      return printable(value.get<std::string>());
    refuse(fmt::format("\"{}\" is not a text of at most {} characters", key, most));
    return "";
  }

  std::string fault_;
};

void read_domains(Reader& reader, const Json& document, MachineFile& file) {
  if (!document.contains("domains") || !document["domains"].is_object())
    return reader.refuse("the object \"domains\" is missing");
  for (int d = 0; d < kDomainCount; ++d) {
    const char* key = domain_key(static_cast<Domain>(d));
    if (!document["domains"].contains(key)) continue;
    const std::string which = fmt::format("\"{}\" of \"domains\"", key);
    const Part part{document["domains"][key], " of " + which};
    if (!reader.is_object(part.json, which)) return;
    MeasuredDomain& domain = file.domains[d];
    domain = {reader.latency(part, "latency_ns"), reader.rate(part, "bandwidth"),
              reader.latency(part, "home_other_ns")};
    // Each message that ondeloc measures gives both. The model would take a byte without a
    // bandwidth as free.
    if (domain.latency > 0 && domain.bandwidth <= 0)
      return reader.refuse(which + " has a latency and no bandwidth");
  }
}

void read_nodes(Reader& reader, const Json& document, MachineFile& file) {
  std::set<int> known;
  for (const Part& part : reader.parts(document, "nodes")) {
    const MeasuredNode node{reader.node(part, "os"), reader.rate(part, "alone"),
                            reader.rate(part, "shared")};
    if (!reader.is_good()) return;
    if (!known.insert(node.os).second)
      return reader.refuse(
          fmt::format("\"os\"{} is {}, as in an element before", part.place, node.os));
    file.nodes.push_back(node);
  }
}

void read_links(Reader& reader, const Json& document, MachineFile& file) {
  std::set<std::pair<int, int>> known;
  for (const Part& part : reader.parts(document, "links")) {
    const MeasuredLink link{reader.node(part, "from"), reader.node(part, "to"),
                            reader.rate(part, "bandwidth")};
    if (!reader.is_good()) return;
    if (!known.emplace(link.from, link.to).second)
      return reader.refuse(
          fmt::format("\"from\" and \"to\"{} are {} and {}, as in an element before", part.place,
                      link.from, link.to));
    file.links.push_back(link);
  }
}

bool measured_something(const MachineFile& file) {
  return std::any_of(file.domains.begin(), file.domains.end(),
                     [](const MeasuredDomain& domain) { return domain.latency > 0; }) ||
         std::any_of(file.nodes.begin(), file.nodes.end(),
                     [](const MeasuredNode& node) { return node.alone > 0 || node.shared > 0; });
}

}  // namespace

std::string MachineFile::source() const { return fmt::format("measured {} on {}", date, host); }

Result<MachineFile> parse_machine_file(std::string_view text, std::string_view name) {
  const auto fault = [&](const std::string& what) {
    return Error(
        fmt::format("machine file '{}': {}; write it with ondeloc measure -o FILE", name, what));
  };
  if (is_json_too_deep(text)) return fault("brackets nest too deep");
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded() || !document.is_object())
    return fault("the file is not a JSON object");
  Reader reader;
  const Part whole{document, ""};
  if (reader.count(whole, "ondeloc_machine", kVersion) != kVersion)
    return fault(
        fmt::format("\"ondeloc_machine\", the version of the format, is not {}", kVersion));
  MachineFile file;
  file.date = reader.text(document, "date");
  file.host = reader.text(document, "host");
  file.cpu = reader.text(document, "cpu");
  file.kernel = reader.text(document, "kernel");
  file.busy = document.contains("busy") && document["busy"] == true;
  file.cpus = reader.count(whole, "cpus", CpuSet::kMaxCpu);
  file.llcs = reader.count(whole, "llcs", CpuSet::kMaxCpu);
  file.packages = reader.count(whole, "packages", CpuSet::kMaxCpu);
  file.numa_nodes = reader.count(whole, "numa_nodes", CpuSet::kMaxCpu);
  read_domains(reader, document, file);
  read_nodes(reader, document, file);
  read_links(reader, document, file);
  file.core_bandwidth = reader.rate(whole, "core_bandwidth");
  file.port_bandwidth = reader.rate(whole, "port_bandwidth");
  file.notes = reader.texts(document, "notes");
  if (!reader.is_good()) return fault(reader.fault());
  if (file.date.empty() || file.host.empty()) return fault("\"date\" or \"host\" is missing");
  if (!measured_something(file)) return fault("the file has no measured number");
  return file;
}

Result<MachineFile> read_machine_file(const std::string& path, ReadFrom from) {
  const auto text = read_file(path, kMaxMachineFileBytes, from);
  if (!text) return Error(text.error()).within("machine file");
  return parse_machine_file(*text, name_of_input(path));
}

std::string to_json(const MachineFile& file) {
  Json json = {{"ondeloc_machine", kVersion}, {"date", file.date},
               {"host", file.host},           {"cpu", file.cpu},
               {"kernel", file.kernel},       {"busy", file.busy},
               {"cpus", file.cpus},           {"llcs", file.llcs},
               {"packages", file.packages},   {"domains", Json::object()}};
  for (int d = 0; d < kDomainCount; ++d) {
    const MeasuredDomain& domain = file.domains[d];
    if (domain.latency <= 0) continue;
    Json& entry = json["domains"][domain_key(static_cast<Domain>(d))];
    entry = {{"latency_ns", to_nanoseconds(domain.latency)},
             {"bandwidth", rounded(domain.bandwidth)}};
    if (domain.home_other > 0) entry["home_other_ns"] = to_nanoseconds(domain.home_other);
  }
  if (file.numa_nodes > 0) json["numa_nodes"] = file.numa_nodes;
  json["nodes"] = Json::array();
  for (const MeasuredNode& node : file.nodes)
    json["nodes"].push_back(
        {{"os", node.os}, {"alone", rounded(node.alone)}, {"shared", rounded(node.shared)}});
  json["links"] = Json::array();
  for (const MeasuredLink& link : file.links)
    json["links"].push_back(
        {{"from", link.from}, {"to", link.to}, {"bandwidth", rounded(link.bandwidth)}});
  json["core_bandwidth"] = rounded(file.core_bandwidth);
  json["port_bandwidth"] = rounded(file.port_bandwidth);
  if (!file.notes.empty()) json["notes"] = file.notes;
  return json_text(json);
}

int count_packages(const Machine& machine) {
  std::set<int> packages;
  for (const Pu& pu : machine.pus) packages.insert(machine.seat_of(pu).package);
  return static_cast<int>(packages.size());
}

namespace {

using NodeSet = std::set<int>;       // the kernel's numbers
using DomainSet = std::set<Domain>;  // of those between NUMA nodes

bool is_between_nodes(Domain domain) {
  return domain == Domain::kPackage || domain == Domain::kMachine;
}

DomainSet measured_between_nodes(const MachineFile& file) {
  DomainSet found;
  for (int d = 0; d < kDomainCount; ++d)
    if (is_between_nodes(static_cast<Domain>(d)) && file.domains[d].latency > 0)
      found.insert(static_cast<Domain>(d));
  return found;
}

DomainSet domains_between(const NodeSet& nodes, const Machine& whole) {
  std::map<int, Seat> seats;  // one in each last-level cache
  for (const Pu& pu : whole.pus)
    if (nodes.count(whole.nodes[pu.node].os) > 0) seats[pu.llc.value] = whole.seat_of(pu);
  DomainSet found;
  for (const auto& [first, a] : seats)
    for (const auto& [second, b] : seats)
      if (is_between_nodes(shared_domain(a, b))) found.insert(shared_domain(a, b));
  return found;
}

// A release that did not write the number of NUMA nodes measured messages between all nodes that it
// named, so the file tells whether these lie in one package.
Status check_packages_of_nodes(const MachineFile& file, const Machine& whole,
                               std::string_view name) {
  NodeSet nodes;
  for (const MeasuredNode& node : file.nodes) nodes.insert(node.os);
  if (nodes.empty() || measured_between_nodes(file) == domains_between(nodes, whole)) return {};
  return Error(fmt::format(
      "machine file '{}': {} under another NUMA setting of the firmware, because NUMA nodes {} lie "
      "in other packages there than here; run ondeloc measure here",
      name, file.source(), ranges_text(std::vector<int>(nodes.begin(), nodes.end()))));
}

// The firmware of one machine can offer several numbers of NUMA nodes.
Status check_numa_nodes(const MachineFile& file, const Machine& whole, std::string_view name) {
  const int nodes = static_cast<int>(whole.nodes.size());
  if (file.numa_nodes > 0 && file.numa_nodes != nodes)
    return Error(fmt::format(
        "machine file '{}': {} with {}, and this machine has {}; run ondeloc measure here", name,
        file.source(), counted(static_cast<std::size_t>(file.numa_nodes), "NUMA node"), nodes));
  for (const MeasuredNode& node : file.nodes) {
    const bool is_here = std::any_of(whole.nodes.begin(), whole.nodes.end(),
                                     [&](const NumaNode& here) { return here.os == node.os; });
    if (!is_here)
      return Error(fmt::format(
          "machine file '{}': {} on NUMA node {}, which this machine lacks; run ondeloc measure "
          "here",
          name, file.source(), node.os));
  }
  if (file.numa_nodes > 0) return {};
  return check_packages_of_nodes(file, whole, name);
}

}  // namespace

Status check_machine_file(const MachineFile& file, const Machine& whole, std::string_view name) {
  const int cpus = static_cast<int>(whole.pus.size()), llcs = static_cast<int>(whole.llcs.size());
  const int packages = count_packages(whole);
  const bool same_cpu = file.cpu.empty() || whole.model.empty() || file.cpu == whole.model;
  if (same_cpu && file.cpus == cpus && file.llcs == llcs && file.packages == packages)
    return check_numa_nodes(file, whole, name);
  return Error(fmt::format(
      "machine file '{}': {} ({}, {} CPUs, {} last-level caches, {} packages), and this machine is "
      "another ({}, {}, {}, {}); run ondeloc measure here",
      name, file.source(), file.cpu.empty() ? "unknown CPU" : file.cpu, file.cpus, file.llcs,
      file.packages, whole.model.empty() ? "unknown CPU" : whole.model, cpus, llcs, packages));
}

}  // namespace ondeloc
