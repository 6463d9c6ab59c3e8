// SPDX-License-Identifier: Apache-2.0
// The options that have a fixed set of values, each with the list of its names. enum_name(),
// parse_enum() and the help read the same list. Thread safety: constants and pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace ondeloc {

template <class Enum>
struct NamedValue {
  std::string_view name;
  Enum value;
};

// always: apply every mapping; many: apply a mapping that moves many ranks; never: watch only.
enum class Decide { kAuto, kAlways, kMany, kNever };
inline constexpr NamedValue<Decide> kDecideNames[] = {{"auto", Decide::kAuto},
                                                      {"always", Decide::kAlways},
                                                      {"many", Decide::kMany},
                                                      {"never", Decide::kNever}};
constexpr std::span<const NamedValue<Decide>> named_values(Decide) { return kDecideNames; }

enum class Transport { kAuto, kShm, kPmix };
inline constexpr NamedValue<Transport> kTransportNames[] = {
    {"auto", Transport::kAuto}, {"shm", Transport::kShm}, {"pmix", Transport::kPmix}};
constexpr std::span<const NamedValue<Transport>> named_values(Transport) { return kTransportNames; }

enum class Memory { kAuto, kFollow, kLater, kStay };
inline constexpr NamedValue<Memory> kMemoryNames[] = {{"auto", Memory::kAuto},
                                                      {"follow", Memory::kFollow},
                                                      {"later", Memory::kLater},
                                                      {"stay", Memory::kStay}};
constexpr std::span<const NamedValue<Memory>> named_values(Memory) { return kMemoryNames; }

// slot: every thread runs on all CPUs of its rank; cores: each busy thread has CPUs of its own;
// sample: the same, and threads that share pages, as samples of their page faults show, sit next to
// each other.
enum class ThreadBinding { kSlot, kCores, kSample };
inline constexpr NamedValue<ThreadBinding> kThreadBindingNames[] = {
    {"slot", ThreadBinding::kSlot},
    {"cores", ThreadBinding::kCores},
    {"sample", ThreadBinding::kSample}};
constexpr std::span<const NamedValue<ThreadBinding>> named_values(ThreadBinding) {
  return kThreadBindingNames;
}

// The measure of the communication of a pair: its bytes, the number of its messages, or the time
// that both take.
enum class Weight { kBytes, kMessages, kTime };
inline constexpr NamedValue<Weight> kWeightNames[] = {
    {"bytes", Weight::kBytes}, {"messages", Weight::kMessages}, {"time", Weight::kTime}};
constexpr std::span<const NamedValue<Weight>> named_values(Weight) { return kWeightNames; }

// The reaction of a step to an error of the user that is found on the node.
enum class OnError { kFail, kWarn };
inline constexpr NamedValue<OnError> kOnErrorNames[] = {{"fail", OnError::kFail},
                                                        {"warn", OnError::kWarn}};
constexpr std::span<const NamedValue<OnError>> named_values(OnError) { return kOnErrorNames; }

// The process that the kernel kills if memory runs out: the mapper before any rank, or any process
// by the kernel's own rules.
enum class OomPolicy { kFirst, kFair };
inline constexpr NamedValue<OomPolicy> kOomPolicyNames[] = {{"first", OomPolicy::kFirst},
                                                            {"fair", OomPolicy::kFair}};
constexpr std::span<const NamedValue<OomPolicy>> named_values(OomPolicy) { return kOomPolicyNames; }

// The lines that a watched step leaves in slurmd's log: none, one on verdict, moves and cost, or
// that and the summary, traffic by level and notes.
enum class SiteLog { kNone, kLine, kVerbose };
inline constexpr NamedValue<SiteLog> kSiteLogNames[] = {
    {"none", SiteLog::kNone}, {"line", SiteLog::kLine}, {"verbose", SiteLog::kVerbose}};
constexpr std::span<const NamedValue<SiteLog>> named_values(SiteLog) { return kSiteLogNames; }

template <class Enum>
constexpr std::string_view enum_name(Enum value) {
  for (const NamedValue<Enum>& row : named_values(value))
    if (row.value == value) return row.name;
  return "?";
}

template <class Enum>
constexpr std::optional<Enum> parse_enum(std::string_view name) {
  for (const NamedValue<Enum>& row : named_values(Enum{}))
    if (row.name == name) return row.value;
  return std::nullopt;
}

namespace detail {

template <class Enum>
constexpr std::size_t joined_length() {
  std::size_t length = 0;
  for (const NamedValue<Enum>& row : named_values(Enum{})) length += row.name.size() + 1;
  return length - 1;
}

template <class Enum>
constexpr auto join_names() {
  std::array<char, joined_length<Enum>()> text{};
  auto out = text.begin();
  for (const NamedValue<Enum>& row : named_values(Enum{})) {
    if (out != text.begin()) *out++ = '|';
    out = std::copy(row.name.begin(), row.name.end(), out);
  }
  return text;
}

template <class Enum>
inline constexpr auto kJoined = join_names<Enum>();

}  // namespace detail

// "auto|shm|pmix".
template <class Enum>
constexpr std::string_view enum_names() {
  return {detail::kJoined<Enum>.data(), detail::kJoined<Enum>.size()};
}

}  // namespace ondeloc
