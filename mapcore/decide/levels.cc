// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/levels.h"

#include <fmt/format.h>

#include <array>

#include "mapcore/base/quantity.h"

namespace ondeloc {
namespace {

using PerDomain = std::array<double, kDomainCount>;

constexpr std::array<const char*, kDomainCount> kLevelNames = {
    "same core", "same L2", "same LLC", "same NUMA node", "same package", "across packages"};

constexpr std::array<const char*, kDomainCount> kShortNames = {"core", "L2",      "LLC",
                                                               "node", "package", "across"};

std::string percent_of(double part, double whole) {
  return fmt::format("{:.0f}", whole > 0 ? 100 * part / whole : 0);
}

std::string change_text(const std::string& before, const std::string& after) {
  return before == after ? after : fmt::format("{} -> {}", before, after);
}

std::string shares_text(const TrafficChange& change, PerDomain DomainTraffic::*kind, double before,
                        double after) {
  std::string text;
  for (const Domain domain : used_domains(change)) {
    const auto d = static_cast<std::size_t>(domain);
    text += fmt::format("{}{} {} %", text.empty() ? "" : ", ", level_name(domain),
                        change_text(percent_of((change.before.*kind)[d], before),
                                    percent_of((change.after.*kind)[d], after)));
  }
  return text;
}

}  // namespace

const char* level_name(Domain domain) { return kLevelNames[static_cast<std::size_t>(domain)]; }

const char* short_level_name(Domain domain) {
  return kShortNames[static_cast<std::size_t>(domain)];
}

std::vector<Domain> used_domains(const TrafficChange& change) {
  std::vector<Domain> used;
  for (int d = 0; d < kDomainCount; ++d) {
    const auto amount = [d](const DomainTraffic& one) { return one.bytes[d] + one.messages[d]; };
    if (amount(change.before) + amount(change.after) > 0) used.push_back(static_cast<Domain>(d));
  }
  return used;
}

std::vector<std::string> level_lines(const TrafficChange& change) {
  if (used_domains(change).empty()) return {};
  const std::string bytes = shares_text(change, &DomainTraffic::bytes, change.before.all_bytes(),
                                        change.after.all_bytes());
  const std::string messages = shares_text(
      change, &DomainTraffic::messages, change.before.all_messages(), change.after.all_messages());
  if (change.after.all_bytes() <= 0) return {"messages: " + messages};
  if (change.after.all_messages() <= 0) return {"bytes: " + bytes};
  if (bytes == messages) return {"bytes and messages: " + bytes};
  return {"bytes: " + bytes, "messages: " + messages};
}

std::string level_table(const TrafficChange& change) {
  std::string text;
  const auto bytes_cell = [](double part, double whole) {
    return fmt::format("{:>9} {:>5}", bytes_text(part), percent_of(part, whole) + " %");
  };
  const auto messages_cell = [](double part, double whole) {
    return fmt::format("{:>9.4g} {:>5}", part, percent_of(part, whole) + " %");
  };
  for (const Domain domain : used_domains(change)) {
    const auto d = static_cast<std::size_t>(domain);
    const auto row = [&](const DomainTraffic& one) {
      return bytes_cell(one.bytes[d], one.all_bytes()) + " " +
             messages_cell(one.messages[d], one.all_messages());
    };
    text +=
        fmt::format("{:<15} {} {}\n", level_name(domain), row(change.before), row(change.after));
  }
  if (text.empty()) return text;
  return fmt::format("{:<15} {:^31} {:^31}\n", "", "before", "after") + text;
}

std::optional<double> share_between_nodes(const DomainTraffic& traffic) {
  const double all = traffic.all_bytes();
  if (all <= 0) return std::nullopt;
  return traffic.between_nodes / all;
}

}  // namespace ondeloc
