// SPDX-License-Identifier: Apache-2.0
#include "mapcore/rankfile/rankfile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/rankfile/lexer.h"

namespace ondeloc {
namespace {

using rankfile::Word;

class Parser {
 public:
  explicit Parser(std::vector<Word> words) : words_(std::move(words)) {}

  Result<Rankfile> run() {
    while (at_ < words_.size())
      if (Status good = parse_entry(); !good) return std::move(good).error();
    if (Status good = join_threads(); !good) return std::move(good).error();
    return std::move(file_);
  }

 private:
  Error expected(std::string_view what) const {
    if (at_ >= words_.size()) {
      return Error(fmt::format("line {}: the entry ends before {}",
                               words_.empty() ? 1 : words_.back().line, what));
    }
    return Error(fmt::format("line {}: found '{}', expected {}", words_[at_].line,
                             shorten(words_[at_].text), what));
  }
  bool take(std::string_view text) {
    if (at_ >= words_.size() || words_[at_].text != text) return false;
    ++at_;
    return true;
  }

  std::optional<int> take_number(int most) {
    const auto number = at_ < words_.size()
                            ? parse_unsigned(words_[at_].text, static_cast<std::uint64_t>(most))
                            : std::nullopt;
    if (!number) return std::nullopt;
    ++at_;
    return static_cast<int>(*number);
  }

  Status parse_entry() {
    const int line = words_[at_].line;
    if (!take("rank")) return expected("an entry like 'rank 0=host slot=0:1'");
    const auto rank = take_number(kMaxWorldRank);
    if (!rank) return expected("a rank number");
    if (take("thread")) return parse_thread(WorldRank(*rank), line);
    RankfileEntry entry;
    entry.line = line;
    entry.rank = WorldRank(*rank);
    if (!take("=")) return expected("'=', or 'thread' and its number");
    if (Status host = parse_host(entry); !host) return host;
    auto slots = parse_slots(fmt::format("rank {}", *rank));
    if (!slots) return std::move(slots).error();
    entry.slots = *std::move(slots);
    const auto [known, is_new] = file_.entries.try_emplace(entry.rank, std::move(entry));
    if (is_new) return {};
    return Error(
        fmt::format("line {}: rank {} stands on line {} already", line, *rank, known->second.line));
  }

  Status parse_thread(WorldRank rank, int line) {
    const auto thread = take_number(kMaxThreads - 1);
    if (!thread)
      return expected(fmt::format("the number of a thread, from 0 to {}", kMaxThreads - 1));
    auto slots = parse_slots(fmt::format("rank {} thread {}", rank.value, *thread));
    if (!slots) return std::move(slots).error();
    const auto [known, is_new] =
        threads_[rank].try_emplace(*thread, ThreadEntry{line, *std::move(slots)});
    if (is_new) return {};
    return Error(fmt::format("line {}: thread {} of rank {} stands on line {} already", line,
                             *thread, rank.value, known->second.line));
  }

  // A thread's line may come before the line of its rank.
  Status join_threads() {
    for (auto& [rank, threads] : threads_) {
      const auto entry = file_.entries.find(rank);
      if (entry == file_.entries.end()) {
        return Error(fmt::format(
            "line {}: thread {} of rank {} has a line, but the rank has none; add 'rank {}=HOST "
            "slot=...' with the cores of all its threads",
            threads.begin()->second.line, threads.begin()->first, rank.value, rank.value));
      }
      entry->second.threads = std::move(threads);
    }
    return {};
  }

  Status parse_host(RankfileEntry& entry) {
    if (at_ >= words_.size() || words_[at_].text == "=" || words_[at_].text == "slot")
      return expected("a host name");
    std::string_view host = words_[at_].text;
    if (host.starts_with("+n")) {
      const auto node = parse_unsigned(host.substr(2), kMaxWorldRank);
      if (!node) return expected("a node such as +n0");
      entry.node = static_cast<int>(*node);
    } else {
      if (const std::size_t user = host.rfind('@'); user != host.npos) host.remove_prefix(user + 1);
      if (host.empty() || host.size() > 255) return expected("a host name");
      entry.host = host;
    }
    ++at_;
    return {};
  }

  // Reads "slot = list". The list may have blanks around its separators. A word that no separator
  // joins to the list begins the next entry; if it is wrong, the error names its own line.
  Result<std::vector<SlotItem>> parse_slots(const std::string& owner) {
    if (!take("slot") && !take("slots")) return expected("'slot='");
    if (!take("=")) return expected("'='");
    std::vector<SlotItem> slots;
    std::string list;
    const std::size_t first = at_;
    for (; at_ < words_.size() && words_[at_].text != "rank"; ++at_) {
      if (!list.empty() && !is_separator(list.back()) && !is_separator(words_[at_].text.front()))
        break;
      list += words_[at_].text;
    }
    for (const std::string_view piece : split(list, ';')) {
      auto item = parse_item(piece);
      if (!item) {
        at_ = first;
        if (first >= words_.size()) return expected("a slot list such as 0:1 or 0-3");
        return Error(
            fmt::format("line {}: {}: {}", words_[first].line, owner, item.error().message()));
      }
      slots.push_back(*std::move(item));
    }
    return slots;
  }

  static bool is_separator(char c) { return std::string_view(",;:-").find(c) != std::string::npos; }

  static Error bad_item(std::string_view item) {
    return Error(
        fmt::format("slot '{}' is not of the form 0-3, 0:1, 0:0-3, 1:* or S0", shorten(item)));
  }

  static std::string_view without_letter(std::string_view text, std::string_view letters) {
    if (!text.empty() && letters.find(text.front()) != letters.npos) text.remove_prefix(1);
    return text;
  }

  static Result<SlotItem> parse_item(std::string_view text) {
    SlotItem item;
    const std::size_t colon = text.find(':');
    const std::string_view head = without_letter(text, "SsPp");
    if (colon == text.npos) {
      item.whole_package = head.size() != text.size();
      if (!add_ranges(head, item)) return bad_item(text);
      return item;
    }
    const auto package = parse_unsigned(head.substr(0, head.find(':')), CpuSet::kMaxCpu - 1);
    if (!package) return bad_item(text);
    item.package = static_cast<int>(*package);
    bool all = false;
    for (const std::string_view cores : split(text.substr(colon + 1), ':')) {
      const std::string_view list = without_letter(cores, "Cc");
      all = all || list == "*";
      if (list != "*" && !add_ranges(list, item)) return bad_item(text);
    }
    if (all) item.ranges.clear();
    return item;
  }

  static bool add_ranges(std::string_view text, SlotItem& item) {
    for (const std::string_view part : split(text, ',')) {
      const std::size_t dash = part.find('-');
      const auto first = parse_unsigned(part.substr(0, dash), CpuSet::kMaxCpu - 1);
      const auto last =
          dash == part.npos ? first : parse_unsigned(part.substr(dash + 1), CpuSet::kMaxCpu - 1);
      if (!first || !last || *last < *first) return false;
      item.ranges.push_back({static_cast<int>(*first), static_cast<int>(*last)});
    }
    return true;
  }

  std::vector<Word> words_;
  std::size_t at_ = 0;
  Rankfile file_;
  std::map<WorldRank, std::map<int, ThreadEntry>> threads_;
};

bool has_relative_mark(std::string_view text) {
  for (std::size_t at = 0; (at = text.find(kRelativeMark, at)) != text.npos; ++at) {
    const std::string_view rest = text.substr(at + kRelativeMark.size());
    const bool begins_line = at == 0 || text[at - 1] == '\n';
    if (begins_line && trim_blanks(rest.substr(0, rest.find('\n'))).empty()) return true;
  }
  return false;
}

}  // namespace

Result<Rankfile> parse_rankfile(std::string_view text, std::string_view name) {
  text = without_mark(text);
  auto words = rankfile::split_words(text);
  if (!words) return std::move(words).error().within(fmt::format("rankfile '{}'", name));
  auto file = Parser(*std::move(words)).run();
  if (!file) return std::move(file).error().within(fmt::format("rankfile '{}'", name));
  file->relative = has_relative_mark(text);
  return file;
}

Result<Rankfile> read_rankfile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Error::from_errno(fmt::format("rankfile '{}'", shorten_path(path)));
  std::string text;
  char block[65536];
  for (ssize_t got; (got = read(fd.get(), block, sizeof(block))) != 0;) {
    if (got < 0) return Error::from_errno(fmt::format("rankfile '{}'", shorten_path(path)));
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > kMaxRankfileBytes) {
      return Error(fmt::format("rankfile '{}': larger than {}", shorten_path(path),
                               capacity_text(kMaxRankfileBytes)));
    }
  }
  return parse_rankfile(text, shorten_path(path));
}

}  // namespace ondeloc
