// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/machine.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace numalab {
namespace {

using Json = nlohmann::json;

// Reads members of the description and names the one that is wrong.
class Reader {
 public:
  Reader(const Json& root, std::string where) : root_(root), where_(std::move(where)) {}

  double number(const std::string& pointer, double least, double most) const {
    const Json::json_pointer at("/" + pointer);
    if (!root_.contains(at) || !root_[at].is_number()) fail(pointer, "a number has to be there");
    const double value = root_[at].get<double>();
    if (!(value >= least && value <= most)) {
      std::ostringstream range;
      range << "has to be from " << least << " to " << most << ", not " << value;
      fail(pointer, range.str());
    }
    return value;
  }
  double number_or(const std::string& pointer, double otherwise, double least, double most) const {
    const bool given = root_.contains(Json::json_pointer("/" + pointer));
    return given ? number(pointer, least, most) : otherwise;
  }
  int count(const std::string& pointer, int least, int most) const {
    const double value = number(pointer, least, most);
    if (!root_[Json::json_pointer("/" + pointer)].is_number_integer()) {
      fail(pointer, "a whole number has to be there");
    }
    return static_cast<int>(value);
  }
  std::string text(const std::string& pointer) const {
    const Json::json_pointer at("/" + pointer);
    if (!root_.contains(at) || !root_[at].is_string()) fail(pointer, "a text has to be there");
    return root_[at].get<std::string>();
  }
  std::size_t length(const std::string& pointer) const {
    const Json::json_pointer at("/" + pointer);
    if (!root_.contains(at) || !root_[at].is_array()) fail(pointer, "a list has to be there");
    return root_[at].size();
  }
  [[noreturn]] void fail(const std::string& pointer, const std::string& why) const {
    throw std::runtime_error(where_ + ": " + pointer + ": " + why);
  }

 private:
  const Json& root_;
  std::string where_;
};

CacheSize read_cache(const Reader& reader, const std::string& name) {
  CacheSize size;
  size.kib = static_cast<std::uint64_t>(reader.count(name + "/kib", 1, 1 << 20));
  size.ways = static_cast<unsigned>(reader.count(name + "/ways", 2, 64));
  const auto sets = size.sets();
  if (sets == 0 || (sets & (sets - 1)) != 0) {
    reader.fail(name, "kib and ways have to give a power of two of sets");
  }
  return size;
}

constexpr double kMostNs = 1e6;
// It holds if the description tells none. Results of core-to-core-latency between the threads of
// one core are 7 ns (Xeon Gold 6242), 8 ns (Xeon 8375C) and 8 to 10 ns (EPYC). machine.py has it
// too.
constexpr double kThreadToThreadNs = 8;
constexpr double kMostGbytes = 1e5;

void read_links(const Reader& reader, Machine& machine) {
  for (std::size_t i = 0; i < reader.length("links"); ++i) {
    const std::string at = "links/" + std::to_string(i);
    const std::string ends = at + "/between";
    Link link;
    if (reader.length(ends) != 2) reader.fail(ends, "two nodes have to be there");
    link.a = reader.count(ends + "/0", 0, machine.nodes - 1);
    link.b = reader.count(ends + "/1", 0, machine.nodes - 1);
    link.latency_ns = reader.number(at + "/latency_ns", 0, kMostNs);
    link.gbytes_per_s = reader.number(at + "/gbytes_per_s", 0.001, kMostGbytes);
    machine.links.push_back(link);
  }
}

}  // namespace

Machine parse_machine(const std::string& text, const std::string& where) {
  const Json root = Json::parse(text, nullptr, false);
  if (!root.is_object()) throw std::runtime_error(where + ": this is not a JSON object");
  const Reader reader(root, where);
  Machine machine;
  machine.name = reader.text("name");
  machine.title = reader.text("title");
  machine.nodes = reader.count("nodes", 1, 8);
  machine.llcs_per_node = reader.count("llcs_per_node", 1, 16);
  machine.cores_per_llc = reader.count("cores_per_llc", 1, 64);
  machine.threads_per_core = reader.count("threads_per_core", 1, 2);
  if (machine.vcpus() > 64) reader.fail("nodes", "the machine has more than 64 hardware threads");
  machine.instructions_per_ns = reader.number("core/instructions_per_ns", 0.1, 10);
  machine.smt_share = reader.number("core/smt_share", 0.1, 1);
  machine.stream_depth = reader.count("core/stream_depth", 1, 64);
  machine.thread_to_thread_ns =
      reader.number_or("core/thread_to_thread_ns", kThreadToThreadNs, 0, kMostNs);
  machine.private_cache = read_cache(reader, "private_cache");
  machine.llc = read_cache(reader, "llc");
  machine.llc_ns = reader.number("llc/latency_ns", 0, kMostNs);
  machine.core_to_core_ns = reader.number("llc/core_to_core_ns", 0, kMostNs);
  machine.fabric_ns = reader.number("fabric/latency_ns", 0, kMostNs);
  machine.port_gbytes_per_s = reader.number("fabric/port_gbytes_per_s", 0, kMostGbytes);
  machine.memory_ns = reader.number("memory/latency_ns", 0, kMostNs);
  machine.memory_gbytes_per_s = reader.number("memory/gbytes_per_s", 0.001, kMostGbytes);
  read_links(reader, machine);
  return machine;
}

Machine read_machine(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": the file cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_machine(text.str(), path);
}

}  // namespace numalab
