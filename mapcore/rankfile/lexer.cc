// SPDX-License-Identifier: Apache-2.0
#include "mapcore/rankfile/lexer.h"

#include <fmt/format.h>

#include "mapcore/base/text.h"

namespace ondeloc::rankfile {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Result<std::vector<Word>> run() {
    std::vector<Word> words;
    while (at_ < text_.size()) {
      if (skip_blank_or_line_comment()) continue;
      if (starts("/*")) {
        if (Status closed = skip_block_comment(); !closed) return std::move(closed).error();
        continue;
      }
      auto word = take_word();
      if (!word) return std::move(word).error();
      words.push_back(*word);
    }
    return words;
  }

 private:
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  bool skip_blank_or_line_comment() {
    const char c = text_[at_];
    if (c == '#' || starts("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return false;
    line_ += c == '\n' ? 1 : 0;
    ++at_;
    return true;
  }

  Status skip_block_comment() {
    const int start = line_;
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == text_.npos) return Error(fmt::format("line {}: the comment does not end", start));
    for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
    return {};
  }

  Result<Word> take_word() {
    const std::size_t from = at_;
    if (text_[at_] == '=') return Word{text_.substr(at_++, 1), line_};
    while (at_ < text_.size() && is_word_byte(text_[at_]) && !starts("//") && !starts("/*")) ++at_;
    if (at_ > from) return Word{text_.substr(from, at_ - from), line_};
    return Error(fmt::format("line {}: '{}' has no place in a rankfile", line_,
                             shorten(text_.substr(at_, 1))));
  }

  static bool is_word_byte(char c) {
    return c > ' ' && c <= '~' && c != '=' && c != '#' && c != '"' && c != '\'';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

Result<std::vector<Word>> split_words(std::string_view text) { return Scanner(text).run(); }

}  // namespace ondeloc::rankfile
