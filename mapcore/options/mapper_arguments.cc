// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/mapper_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr std::string_view kKeyPrefix = "--";
constexpr std::string_view kVariablePrefix = "ONDELOC_MAPPER_";

std::string text_of(const std::string& value) { return value; }
std::string text_of(bool value) { return value ? "yes" : ""; }
std::string text_of(int value) { return value < 0 ? "" : fmt::format("{}", value); }
std::string text_of(std::uint32_t value) { return fmt::format("{}", value); }
std::string text_of(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

template <class Enum>
requires std::is_enum_v<Enum> std::string text_of(Enum value) {
  return std::string(enum_name(value));
}

template <class Enum>
requires std::is_enum_v<Enum>
bool read_value(Enum& out, std::string_view text) {
  const auto value = parse_enum<Enum>(text);
  out = value.value_or(Enum{});
  return value.has_value();
}

bool read_value(std::string& out, std::string_view text) {
  out = text;
  return true;
}

bool read_value(bool& out, std::string_view text) {
  out = text == "yes";
  return out;
}

template <class Number>
requires std::is_integral_v<Number>
bool read_value(Number& out, std::string_view text) {
  const auto value = parse_unsigned(text, std::is_signed_v<Number> ? INT32_MAX : UINT32_MAX);
  out = static_cast<Number>(value.value_or(0));
  return value.has_value();
}

bool read_value(std::vector<std::string>& out, std::string_view text) {
  for (const std::string_view piece : split(text, ',')) out.emplace_back(piece);
  return true;
}

// `name`: of the key, or of the variable if the value must not be seen by other users.
template <class Call>
struct Row {
  std::string_view name;
  bool is_required;
  std::string (*get)(const Call&);  // empty text: the word is left out
  bool (*set)(Call&, std::string_view);

  bool is_variable() const { return name.starts_with(kVariablePrefix); }
};

template <class Call, auto kMember>
constexpr Row<Call> row(std::string_view name, bool is_required = false) {
  return {name, is_required, [](const Call& call) { return text_of(call.*kMember); },
          [](Call& call, std::string_view text) { return read_value(call.*kMember, text); }};
}

constexpr bool kRequired = true;

using M = MapperArguments;
constexpr auto kWatchRows = std::to_array<Row<M>>(
    {row<M, &M::segment_fd>("--segment", kRequired), row<M, &M::channel_fd>("--channel"),
     row<M, &M::messages_fd>("--messages"), row<M, &M::kill_switch_fd>("--kill-switch"),
     row<M, &M::node>("--node"), row<M, &M::machine>("--machine"), row<M, &M::oom>("--oom"),
     row<M, &M::log>("--log"), row<M, &M::report_dir>("--report-dir"),
     row<M, &M::partition>("--partition"), row<M, &M::restarts>("--restarts"),
     row<M, &M::rank_library>("--rank-lib"), row<M, &M::check_only>("--check"),
     row<M, &M::min_interval_ms>("--min-interval"), row<M, &M::test_switches>("--test-switches"),
     row<M, &M::options>("ONDELOC_MAPPER_OPTIONS", kRequired),
     row<M, &M::topology>("ONDELOC_MAPPER_TOPOLOGY"),
     row<M, &M::no_events>("ONDELOC_MAPPER_NO_EVENTS")});

using B = BindArguments;
constexpr auto kBindRows = std::to_array<Row<B>>(
    {row<B, &B::rank>("--rank", kRequired), row<B, &B::ranks>("--ranks", kRequired),
     row<B, &B::pid>("--pid", kRequired), row<B, &B::local_rank>("--local-rank"),
     row<B, &B::local_ranks>("--local-ranks"), row<B, &B::node>("--node"),
     row<B, &B::node_index>("--node-index"), row<B, &B::cpus_per_task>("--cpus-per-task"),
     row<B, &B::relative>("--relative"), row<B, &B::kill_switch_fd>("--kill-switch"),
     row<B, &B::file>("ONDELOC_MAPPER_FILE", kRequired),
     row<B, &B::topology>("ONDELOC_MAPPER_TOPOLOGY"),
     row<B, &B::cpu_bind_type>("ONDELOC_MAPPER_CPU_BIND_TYPE"),
     row<B, &B::cpu_bind_list>("ONDELOC_MAPPER_CPU_BIND_LIST"), row<B, &B::nodes>("--nodes"),
     row<B, &B::nic>("ONDELOC_MAPPER_NIC"),
     row<B, &B::device_variables>("ONDELOC_MAPPER_DEVICE_VARIABLES")});

template <class Call>
ProgramWords write_words(const Call& call, std::span<const Row<Call>> rows) {
  ProgramWords words{{Call::kForm}, {}};
  for (const Row<Call>& row : rows) {
    const std::string text = row.get(call);
    if (text.empty()) continue;
    auto& list = row.is_variable() ? words.environment : words.arguments;
    list.push_back(fmt::format("{}={}", row.name, text));
  }
  return words;
}

// `given`: rows that have been set so far.
template <class Call>
Status read_word(Call& call, std::span<const Row<Call>> rows, std::string_view word,
                 std::vector<const Row<Call>*>& given) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Row<Call>& each) { return each.name == name; });
  if (row == rows.end()) return Error(fmt::format("'{}' is not known", shorten(name)));
  if (equals == word.npos) return Error(fmt::format("{} needs a value", name));
  if (std::find(given.begin(), given.end(), &*row) != given.end())
    return Error(fmt::format("{} is given twice", name));
  given.push_back(&*row);
  const std::string_view text = word.substr(equals + 1);
  if (row->set(call, text)) return {};
  return Error(fmt::format("{}: '{}' is not valid", name, shorten(text)));
}

template <class Call>
Result<Call> read_words(const ProgramWords& words, std::span<const Row<Call>> rows) {
  if (words.arguments.empty() || words.arguments.front() != Call::kForm)
    return Error(fmt::format("the first word is not '{}'", Call::kForm));
  Call call;
  std::vector<const Row<Call>*> given;
  for (const std::string_view word : std::span(words.arguments).subspan(1)) {
    if (!word.starts_with(kKeyPrefix))
      return Error(fmt::format("'{}' is not an option", shorten(word)));
    if (Status good = read_word(call, rows, word, given); !good) return std::move(good).error();
  }
  for (const std::string_view word : words.environment) {
    if (!word.starts_with(kVariablePrefix)) continue;
    if (Status good = read_word(call, rows, word, given); !good) return std::move(good).error();
  }
  for (const Row<Call>& row : rows) {
    if (row.is_required && std::find(given.begin(), given.end(), &row) == given.end())
      return Error(fmt::format("{} is missing", row.name));
  }
  return call;
}

}  // namespace

ProgramWords MapperArguments::to_words() const { return write_words<M>(*this, kWatchRows); }
ProgramWords BindArguments::to_words() const { return write_words<B>(*this, kBindRows); }

Result<MapperArguments> MapperArguments::parse(const ProgramWords& words) {
  return read_words<M>(words, kWatchRows);
}

Result<BindArguments> BindArguments::parse(const ProgramWords& words) {
  return read_words<B>(words, kBindRows);
}

ProgramWords program_words(int argc, const char* const* argv, const char* const* environment) {
  ProgramWords words;
  for (int i = 1; i < argc; ++i) words.arguments.emplace_back(argv[i]);
  for (; environment != nullptr && *environment != nullptr; ++environment)
    words.environment.emplace_back(*environment);
  return words;
}

}  // namespace ondeloc
