// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/import_csv.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "mapcore/base/new_file.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/profile/writer.h"

namespace ondeloc {
namespace {

constexpr std::string_view kHeaderLine = "time_us,src,dst,bytes";
constexpr std::size_t kMaxLine = 256;

bool is_header(std::string_view line) {
  std::string names;
  for (const std::string_view name : split(line, ','))
    names.append(names.empty() ? "" : ",").append(csv_field(name));
  return names == kHeaderLine;
}

// "12" or "12.345" microseconds -> nanoseconds.
std::optional<std::uint64_t> parse_time(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto whole = parse_unsigned(text.substr(0, dot), UINT64_MAX / 2000);
  if (!whole) return std::nullopt;
  if (dot == text.npos) return *whole * 1000;
  std::string digits(text.substr(dot + 1));
  if (digits.empty() || digits.size() > 3) return std::nullopt;
  digits.resize(3, '0');
  const auto fraction = parse_unsigned(digits);
  if (!fraction) return std::nullopt;
  return *whole * 1000 + *fraction;
}

std::string_view trim(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line.substr(0, kMaxLine);
}

// Lines of a file in bounded memory; the file is the caller's.
class LineFile {
 public:
  LineFile(int fd, std::uint64_t size) : fd_(fd), size_(size), buffer_(1U << 20) {}

  // nullopt at the end. A line longer than kMaxLine is cut, which makes it an invalid event.
  std::optional<std::string_view> next() {
    for (;;) {
      const char* start = buffer_.data() + at_;
      const void* end = std::memchr(start, '\n', filled_ - at_);
      if (end != nullptr) {
        const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - start);
        at_ += length + 1;
        ++line_;
        return trim(std::string_view(start, length));
      }
      if (!fill()) return last();
    }
  }
  std::uint64_t line() const { return line_; }
  int error() const { return error_; }  // errno of a read that failed, which ended the lines
  double share() const {
    return size_ == 0 ? 1 : std::min(1.0, static_cast<double>(read_) / static_cast<double>(size_));
  }

 private:
  bool fill() {
    std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
    filled_ -= at_;
    at_ = 0;
    if (filled_ == buffer_.size()) filled_ = kMaxLine + 1;  // a line without an end: keep its start
    ssize_t got = 0;
    do {
      got = ::read(fd_, buffer_.data() + filled_, buffer_.size() - filled_);
    } while (got < 0 && errno == EINTR);
    if (got < 0) error_ = errno;
    if (got <= 0) return false;
    filled_ += static_cast<std::size_t>(got);
    read_ += static_cast<std::uint64_t>(got);
    return true;
  }
  std::optional<std::string_view> last() {
    if (at_ == filled_ || error_ != 0) return std::nullopt;
    const std::string_view rest(buffer_.data() + at_, filled_ - at_);
    at_ = filled_;
    ++line_;
    return trim(rest);
  }

  int fd_;
  std::uint64_t size_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t line_ = 0;
  int error_ = 0;
};

Error cannot_read(const std::string& name, const char* where = "") {
  return Error::from_errno(fmt::format("events '{}' cannot be read{}", name, where));
}

Error not_an_event(const std::string& name, std::uint64_t line, std::string_view text) {
  return Error(fmt::format(
      "events '{}', line {}: '{}' is not an event; expected '{}', such as '1500,0,3,4096'", name,
      line, shorten(text), kHeaderLine));
}

// Looks at the first line that is not empty, as soon as it is there. A text that is no list of
// events may have no end.
class FirstLine {
 public:
  explicit FirstLine(const std::string& name) : name_(name) {}

  Status look(std::string_view more) {
    if (done_) return {};
    begin_ += more;
    std::string_view rest = begin_;
    for (std::size_t end; !done_ && (end = rest.find('\n')) != rest.npos;
         rest.remove_prefix(end + 1)) {
      const std::string_view line = rest.substr(0, end);
      if (Status good = check(trim(++line_ == 1 ? without_mark(line) : line)); !good) return good;
    }
    if (!done_ && rest.size() > kMaxLine) return not_an_event(name_, line_ + 1, trim(rest));
    begin_.erase(0, begin_.size() - rest.size());
    return {};
  }

 private:
  Status check(std::string_view line) {
    if (line.empty()) return {};
    done_ = true;
    if (is_header(line) || parse_event_line(line)) return {};
    return not_an_event(name_, line_, line);
  }

  const std::string& name_;
  std::string begin_;
  std::uint64_t line_ = 0;
  bool done_ = false;
};

Status copy_all(int from, int to, const std::string& name) {
  std::vector<char> block(1U << 20);
  FirstLine first(name);
  for (ssize_t got; (got = ::read(from, block.data(), block.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(name, " to its end");
    const std::string_view octets(block.data(), static_cast<std::size_t>(got));
    if (Status good = first.look(octets); !good) return good;
    if (Status wrote = write_to(to, octets, "a temporary copy of " + name); !wrote) return wrote;
  }
  return {};
}

// The copy is on disk and has no name: it may be larger than memory.
Result<UniqueFd> copy_of_standard_input(const std::string& name) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return Error::from_errno("no temporary copy of " + name);
  UniqueFd copy(::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 0));
  std::fclose(file);
  if (Status copied = copy_all(STDIN_FILENO, copy.get(), name); !copied)
    return std::move(copied).error();
  return copy;
}

// To be read twice.
Result<UniqueFd> open_events(const std::string& path) {
  const std::string name = name_of_input(path);
  if (path == "-") return copy_of_standard_input(name);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe is refused
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return cannot_read(name);
  if (!S_ISREG(info.st_mode))
    return Error(fmt::format(
        "events '{}' is not a regular file, and import reads it twice; give a pipe as standard "
        "input (-)",
        name));
  return fd;
}

std::uint64_t size_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// Every event of the file; `each` may fail. Half of the progress starts at `base`.
template <class Each>
Status for_each_line(int fd, const std::string& name, double base, const Progress& progress,
                     Each each) {
  if (::lseek(fd, 0, SEEK_SET) != 0) return cannot_read(name);
  LineFile lines(fd, size_of(fd));
  bool begun = false;
  while (auto line = lines.next()) {
    if (progress && lines.line() % 65536 == 0) progress(base + lines.share() / 2);
    if (lines.line() == 1) line = without_mark(*line);
    if (line->empty()) continue;
    const bool is_first = !std::exchange(begun, true);
    if (is_first && is_header(*line)) continue;
    const auto event = parse_event_line(*line);
    if (!event) return not_an_event(name, lines.line(), *line);
    if (Status good = each(*event, lines.line()); !good) return good;
  }
  if (lines.error() == 0) return {};
  errno = lines.error();
  return cannot_read(name, " to its end");
}

}  // namespace

// The most bytes of one message: sums over all messages of a file stay exact.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;

std::optional<ProfileEvent> parse_event_line(std::string_view line) {
  std::array<std::string_view, 4> part;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t comma = line.find(',');
    if (comma == line.npos) return std::nullopt;
    part[i] = csv_field(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  part[3] = csv_field(line);
  const auto time = parse_time(part[0]);
  const auto src = parse_unsigned(part[1], profile_format::kMaxRanks - 1);
  const auto dst = parse_unsigned(part[2], profile_format::kMaxRanks - 1);
  const auto bytes = parse_unsigned(part[3], kMostBytes);
  if (!time || !src || !dst || !bytes) return std::nullopt;
  return ProfileEvent{*time, static_cast<std::uint32_t>(*src), static_cast<std::uint32_t>(*dst),
                      *bytes};
}

Result<ImportCounts> import_events_csv(const std::string& csv, const std::string& profile,
                                       int ranks, const Progress& progress) {
  if (would_replace(csv, profile))
    return Error(fmt::format("'{}' is the input: write the profile elsewhere", profile));
  const auto events = open_events(csv);
  if (!events) return events.error();
  const std::string name = name_of_input(csv);
  ImportCounts counts;
  std::uint32_t most = 0;
  Status counted =
      for_each_line(events->get(), name, 0, progress, [&](const ProfileEvent& event, auto line) {
        most = std::max({most, event.src, event.dst});
        ++counts.events;
        if (ranks == 0 || most < static_cast<std::uint32_t>(ranks)) return Status();
        return Status(Error(fmt::format("events '{}', line {}: rank {} is not below {} (--ranks)",
                                        name, line, most, ranks)));
      });
  if (!counted) return std::move(counted).error();
  if (counts.events == 0) return Error(fmt::format("events '{}' holds no event", name));
  counts.ranks = ranks != 0 ? ranks : static_cast<int>(most) + 1;
  const auto n = static_cast<std::uint32_t>(counts.ranks);
  profile_format::FileHeader header;
  header.ranks = header.local_ranks = n;
  header.origin = "imported events.csv";
  auto file = NewFile::create(profile);
  if (!file) return std::move(file).error();
  auto writer = ProfileWriter::over(file->duplicate(), profile, header);
  if (!writer) return std::move(writer).error();
  Status wrote =
      for_each_line(events->get(), name, 0.5, progress, [&](const ProfileEvent& event, auto) {
        return event.src < n && event.dst < n ? writer->add(event)
                                              : Error(fmt::format("'{}' changed while read", name));
      });
  if (wrote) wrote = writer->finish();
  if (wrote) wrote = file->commit();
  if (!wrote) return std::move(wrote).error();
  return counts;
}

}  // namespace ondeloc
