// SPDX-License-Identifier: Apache-2.0
#include "mapcore/comm/matrix_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

// The message for a file that begins like none of the formats.
constexpr std::string_view kFormats =
    "a matrix is n lines of n numbers with blanks between, or CSV with the header src,dst,bytes";
constexpr double kMaxCell = 1e290;  // sums over kMaxMatrixRanks^2 cells stay finite

// Visits the lines of a text that are neither empty nor comments, with their numbers from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool next() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      line_ = trim_blanks(rest_.substr(0, end));
      rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
      ++number_;
      if (!line_.empty() && line_.front() != '#') return true;
    }
    line_ = {};
    return false;
  }
  std::string_view line() const { return line_; }
  int number() const { return number_; }

 private:
  std::string_view rest_, line_;
  int number_ = 0;
};

Error at_line(std::string_view name, int line, const std::string& what) {
  return Error(fmt::format("{}, line {}: {}", name, line, what));
}

// Returns the next word of a line; blanks separate words.
std::string_view take_word(std::string_view& rest) {
  const std::size_t from = rest.find_first_not_of(" \t");
  if (from == std::string_view::npos) return rest = {};
  const std::size_t to = std::min(rest.find_first_of(" \t", from), rest.size());
  const std::string_view word = rest.substr(from, to - from);
  rest = rest.substr(to);
  return word;
}

Result<double> parse_cell(std::string_view word) {
  const auto value = parse_double(word);
  if (!value) return Error(fmt::format("'{}' is not a number", shorten(word)));
  if (*value < 0) {
    return Error(fmt::format("'{}' is negative: bytes are 0 or more", shorten(word)));
  }
  if (*value > kMaxCell) return Error(fmt::format("'{}' is too large", shorten(word)));
  return *value;
}

// Adds the non-zero cells of one row; returns how many cells it has.
Result<int> add_row(std::string_view line, int row, std::vector<MatrixEntry>& entries) {
  int column = 0;
  for (std::string_view word; !(word = take_word(line)).empty(); ++column) {
    if (column >= kMaxMatrixRanks)
      return Error(fmt::format("more than {} numbers in a row", kMaxMatrixRanks));
    auto bytes = parse_cell(word);
    if (!bytes) return std::move(bytes).error().within(fmt::format("column {}", column + 1));
    if (*bytes > 0) entries.push_back({row, column, *bytes, 0});
  }
  return column;
}

Result<CommMatrix> parse_mat(Lines& lines, std::string_view name) {
  std::vector<MatrixEntry> entries;
  int rows = 0, columns = 0;
  do {
    const auto found = add_row(lines.line(), rows, entries);
    if (!found)
      return at_line(name, lines.number(),
                     fmt::format("{}{}{}", found.error().message(), rows == 0 ? ": " : "",
                                 rows == 0 ? kFormats : ""));
    if (rows == 0) columns = *found;
    if (*found != columns) {
      return at_line(name, lines.number(),
                     fmt::format("{} numbers where the first row has {}", *found, columns));
    }
    if (++rows > columns) break;
  } while (lines.next());
  if (rows != columns) {
    return at_line(
        name, lines.number(),
        fmt::format("{} rows of {} numbers: a matrix is square",
                    rows > columns ? "more than " + std::to_string(columns) : std::to_string(rows),
                    columns));
  }
  return CommMatrix::from_entries(rows, std::move(entries));
}

struct Row {
  int interval = 0;
  MatrixEntry entry;
};

// The columns of a CSV, from its header.
struct Columns {
  bool interval = false;
  bool messages = false;
  std::size_t count() const { return 3U + (interval ? 1U : 0U) + (messages ? 1U : 0U); }
};

std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> words = split(line, ',');
  for (std::string_view& word : words) word = csv_field(word);
  return words;
}

std::optional<Columns> parse_header(std::string_view line) {
  std::vector<std::string_view> words = fields(line);
  Columns columns;
  if (words.front() == "interval") {
    columns.interval = true;
    words.erase(words.begin());
  }
  columns.messages = words.size() == 4 && words[3] == "messages";
  if (words.size() != (columns.messages ? 4U : 3U)) return std::nullopt;
  if (words[0] != "src" || words[1] != "dst" || words[2] != "bytes") return std::nullopt;
  return columns;
}

Result<int> parse_index(std::string_view word, int limit, std::string_view what) {
  const auto value = parse_unsigned(word, static_cast<std::uint64_t>(limit) - 1);
  if (value) return static_cast<int>(*value);
  return Error(fmt::format("'{}' is not a valid {}; use a number from 0 to {}", shorten(word), what,
                           limit - 1));
}

Result<Row> parse_row(std::string_view line, const Columns& columns) {
  std::vector<std::string_view> words = fields(line);
  if (words.size() != columns.count()) {
    return Error(fmt::format("{} fields, but the header has {}", words.size(), columns.count()));
  }
  Row row;
  if (columns.interval) {
    const auto interval = parse_index(words[0], kMaxMatrixIntervals, "interval");
    if (!interval) return interval.error();
    row.interval = *interval;
    words.erase(words.begin());
  }
  const auto src = parse_index(words[0], kMaxMatrixRanks, "rank");
  if (!src) return src.error();
  const auto dst = parse_index(words[1], kMaxMatrixRanks, "rank");
  if (!dst) return dst.error();
  const auto bytes = parse_cell(words[2]);
  if (!bytes) return bytes.error();
  row.entry = {*src, *dst, *bytes, 0};
  if (columns.messages) {
    const auto messages = parse_cell(words[3]);
    if (!messages) return messages.error();
    row.entry.messages = *messages;
  }
  return row;
}

struct Table {
  int ranks = 0;
  int intervals = 1;
  std::vector<Row> rows;
};

Result<Table> parse_csv(Lines& lines, std::string_view name, bool needs_interval) {
  const auto columns = parse_header(lines.line());
  if (!columns || (needs_interval && !columns->interval)) {
    return at_line(name, lines.number(),
                   fmt::format("'{}' is not {}", shorten(lines.line()),
                               needs_interval ? "the header interval,src,dst,bytes of a series"
                                              : fmt::format("understood: {}", kFormats)));
  }
  Table table;
  while (lines.next()) {
    auto row = parse_row(lines.line(), *columns);
    if (!row) return at_line(name, lines.number(), row.error().message());
    table.ranks = std::max({table.ranks, row->entry.src + 1, row->entry.dst + 1});
    table.intervals = std::max(table.intervals, row->interval + 1);
    table.rows.push_back(*std::move(row));
  }
  if (table.ranks == 0) return Error(fmt::format("{}: no line after the header", name));
  return table;
}

CommMatrix from_pairs(int ranks, std::vector<MatrixEntry> entries) {
  CommMatrix matrix = CommMatrix::from_entries(ranks, std::move(entries));
  matrix.may_have_more = true;
  return matrix;
}

// A header begins with a letter, a row of numbers does not. ("nan" and "inf" are not names of
// columns.)
bool looks_like_csv(std::string_view line) { return line.find(',') != std::string_view::npos; }

}  // namespace

Result<CommMatrix> parse_matrix(std::string_view text, std::string_view name) {
  Lines lines(without_mark(text));
  if (!lines.next()) return Error(fmt::format("{}: the file has no number", name));
  if (!looks_like_csv(lines.line())) return parse_mat(lines, name);
  auto table = parse_csv(lines, name, false);
  if (!table) return std::move(table).error();
  std::vector<MatrixEntry> entries;
  for (const Row& row : table->rows) entries.push_back(row.entry);
  return from_pairs(table->ranks, std::move(entries));
}

Result<std::vector<CommMatrix>> parse_intervals(std::string_view text, std::string_view name) {
  Lines lines(without_mark(text));
  if (!lines.next()) return Error(fmt::format("{}: the file is empty", name));
  auto table = parse_csv(lines, name, true);
  if (!table) return std::move(table).error();
  std::vector<std::vector<MatrixEntry>> entries(static_cast<std::size_t>(table->intervals));
  for (const Row& row : table->rows)
    entries[static_cast<std::size_t>(row.interval)].push_back(row.entry);
  std::vector<CommMatrix> series;
  series.reserve(entries.size());
  for (auto& of_interval : entries)
    series.push_back(from_pairs(table->ranks, std::move(of_interval)));
  return series;
}

Result<CommMatrix> read_matrix(const std::string& path) {
  auto text = read_file(path, kMaxMatrixBytes);
  if (!text) return std::move(text).error();
  return parse_matrix(*text, name_of_input(path));
}

Result<std::vector<CommMatrix>> read_intervals(const std::string& path) {
  auto text = read_file(path, kMaxMatrixBytes);
  if (!text) return std::move(text).error();
  return parse_intervals(*text, name_of_input(path));
}

std::string to_mat(const CommMatrix& matrix) {
  const auto n = static_cast<std::size_t>(matrix.ranks);
  std::vector<double> row(n);
  std::string text;
  auto next = matrix.entries.begin();
  for (int i = 0; i < matrix.ranks; ++i) {
    std::fill(row.begin(), row.end(), 0);
    for (; next != matrix.entries.end() && next->src == i; ++next)
      row[static_cast<std::size_t>(next->dst)] = next->bytes;
    for (std::size_t j = 0; j < n; ++j) text += fmt::format("{}{}", j == 0 ? "" : " ", row[j]);
    text += '\n';
  }
  return text;
}

}  // namespace ondeloc
