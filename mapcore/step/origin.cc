// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/origin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <string_view>

#include "mapcore/base/read_file.h"
#include "mapcore/base/shell_word.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMostCommand = 1 << 21;  // the longest command line of Linux
constexpr std::size_t kMostShown = 2000;       // octets of it in a report

const RankState* first_attached(const Ranks& ranks) {
  for (const LocalRank local : ranks.ids())
    if (ranks.at(local).attached()) return &ranks.at(local);
  return nullptr;
}

std::string date_text() {
  std::tm date{};
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  gmtime_r(&now, &date);
  std::array<char, 32> text{};
  const std::size_t length =
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &date);
  return {text.data(), length};
}

}  // namespace

std::string command_text(std::string_view words) {
  std::string text;
  while (!words.empty() && text.size() < kMostShown) {
    const std::size_t end = std::min(words.find('\0'), words.size());
    if (!text.empty()) text += ' ';
    text += shell_word(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  if (text.size() > kMostShown) text.resize(kMostShown);
  return words.empty() && text.size() < kMostShown ? text : text + " ...";
}

std::vector<std::pair<std::string, std::string>> origin_of(const Ranks& ranks,
                                                           const std::string& partition,
                                                           std::uint32_t restarts) {
  std::vector<std::pair<std::string, std::string>> origin;
  const RankState* rank = first_attached(ranks);
  if (rank != nullptr) {
    const auto words = read_file(fmt::format("/proc/{}/cmdline", rank->process), kMostCommand);
    if (words && !words->empty()) {
      const std::size_t end = std::min(words->find('\0'), words->size());
      origin.emplace_back("program", words->substr(0, end));
      origin.emplace_back(
          "arguments",
          command_text(std::string_view(*words).substr(std::min(end + 1, words->size()))));
    }
    if (!rank->library.empty()) origin.emplace_back("MPI", rank->library);
  }
  origin.emplace_back("user", fmt::format("uid {}", getuid()));
  if (!partition.empty()) origin.emplace_back("partition", partition);
  if (restarts > 0) origin.emplace_back("restarts", fmt::format("{}", restarts));
  if (rank != nullptr) origin.emplace_back("mapped since", date_text());
  origin.emplace_back("ondeloc", ONDELOC_VERSION);
  origin.emplace_back("Slurm", ONDELOC_SLURM_VERSION);
  return origin;
}

}  // namespace ondeloc
