// SPDX-License-Identifier: Apache-2.0
#include "mapcore/report/report_json.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json rank_json(const ReportRank& rank) {
  return {{"rank", rank.rank},
          {"local", rank.local},
          {"pid", rank.pid},
          {"initial_cpus", rank.initial_cpus},
          {"final_cpus", rank.final_cpus},
          {"migrations", rank.migrations}};
}

Json cell_json(const ReportCell& cell) {
  Json out = {{"src", cell.src}};
  if (cell.dst >= 0) out["dst"] = cell.dst;
  out["bytes"] = cell.bytes;
  out["messages"] = cell.messages;
  return out;
}

Json interval_json(const ReportInterval& interval) {
  return {{"t", interval.t},
          {"interval_ms", interval.interval_ms},
          {"bytes", interval.bytes},
          {"messages", interval.messages},
          {"off_node_bytes", interval.off_node_bytes},
          {"samples", interval.samples},
          {"sample_bytes", interval.sample_bytes},
          {"remote_share_before", or_null(interval.remote_share_before)},
          {"remote_share_after", or_null(interval.remote_share_after)},
          {"peak_load_before", interval.peak_load_before},
          {"peak_load_after", interval.peak_load_after},
          {"cost_before", interval.cost_before},
          {"cost_after", interval.cost_after},
          {"remapped", interval.remapped},
          {"moved", interval.moved},
          {"compute_us", interval.compute_us}};
}

template <class T>
Json array_of(const std::vector<T>& items, Json (*write)(const T&)) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(write(item));
  return out;
}

Json topology_json(const Report& report) {
  Json numa = Json::array();
  for (const auto& [os, pus] : report.numa) numa.push_back({{"os", os}, {"pus", pus}});
  return {{"numa", numa}, {"cpus", report.cpus}};
}

Json options_json(const Report& report) {
  Json options = Json::object();
  for (const auto& [key, value] : report.options) options[key] = value;
  return options;
}

}  // namespace

std::string to_json(const Report& report) {
  const Json events = {{"attach", report.events.attach},
                       {"sample", report.events.sample},
                       {"row", report.events.row},
                       {"detach", report.events.detach},
                       {"dropped", report.events.dropped}};
  const Json totals = {{"remaps", report.remaps},
                       {"migrations", report.migrations},
                       {"mapper_cpu_ms", report.mapper_cpu_ms},
                       {"wall_ms", report.wall_ms}};
  const Json json = {{"version", kReportVersion},
                     {"job", report.job},
                     {"step", report.step},
                     {"node", report.node},
                     {"mode", report.mode},
                     {"algorithm", report.algorithm},
                     {"options", options_json(report)},
                     {"topology", topology_json(report)},
                     {"ranks", array_of(report.ranks, rank_json)},
                     {"matrix", array_of(report.matrix, cell_json)},
                     {"off_node", array_of(report.off_node, cell_json)},
                     {"intervals", array_of(report.intervals, interval_json)},
                     {"events", events},
                     {"totals", totals},
                     {"notes", report.notes}};
  // Names come from outside (node, file patterns): a byte that is no UTF-8 must not lose the
  // report.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string expand_pattern(std::string_view pattern, std::uint32_t job, std::uint32_t step,
                           std::string_view node) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'j':
        out += fmt::format("{}", job);
        break;
      case 's':
        out += fmt::format("{}", step);
        break;
      case 'N':
        out += node;
        break;
      case '%':
        out += '%';
        break;
      default:
        out += pattern[i];
        continue;
    }
    ++i;
  }
  return out;
}

namespace {

Status write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(fd, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Error::from_errno("write");
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash + 1);
}

// The kernel's rule for links (fs.protected_symlinks): in a folder like /tmp only one's own and
// those of the folder's owner are followed. It asks for a file that is there; a link may come after
// that.
bool may_follow(const UniqueFd& link, const std::string& folder) {
  struct stat self {
  }, around{};
  if (fstat(link.get(), &self) != 0 || stat(folder.empty() ? "." : folder.c_str(), &around) != 0)
    return false;
  const bool shared = (around.st_mode & S_ISVTX) != 0 && (around.st_mode & S_IWOTH) != 0;
  return !shared || self.st_uid == geteuid() || self.st_uid == around.st_uid;
}

// Where links lead, also one to a file that is not there yet. Empty: there is one not to be
// followed.
std::string followed(std::string path) {
  constexpr int kMostLinks = 40;  // as the kernel
  for (int links = 0; links < kMostLinks; ++links) {
    char to[PATH_MAX];
    const UniqueFd link(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const ssize_t size = link.valid() ? readlinkat(link.get(), "", to, sizeof(to)) : -1;
    if (size <= 0) break;
    if (!may_follow(link, folder_of(path))) return {};
    const std::string name(to, static_cast<std::size_t>(size));
    path = name.front() == '/' ? name : folder_of(path) + name;
  }
  return path;
}

// A file without a name until it is whole, where the file system has such (O_TMPFILE): a writer
// that is killed leaves nothing behind, which base/new_file.h cannot promise. Else one with a
// temporary name.
class NewReport {
 public:
  explicit NewReport(const std::string& path) : path_(path), name_(path + ".XXXXXX") {}
  ~NewReport() {
    if (named_) unlink(name_.c_str());
  }
  NewReport(const NewReport&) = delete;
  NewReport& operator=(const NewReport&) = delete;

  bool open() {
    const std::string folder = folder_of(path_);
    fd_.reset(
        ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    return fd_.valid() || open_named();
  }
  int descriptor() const { return fd_.get(); }
  // The file of that name, if there is one, is there until this one is.
  bool take_place() {
    if (!named_ && !give_name()) return false;
    if (close(fd_.release()) != 0 || rename(name_.c_str(), path_.c_str()) != 0) return false;
    named_ = false;
    return true;
  }

 private:
  bool open_named() {
    fd_.reset(mkostemp(name_.data(), O_CLOEXEC));
    named_ = fd_.valid();
    const mode_t mask = umask(0);
    umask(mask);
    return named_ && fchmod(fd_.get(), 0666 & ~mask) == 0;
  }
  bool give_name() {
    const std::string link = fmt::format("/proc/self/fd/{}", fd_.get());
    name_ = fmt::format("{}.{}", path_, getpid());
    named_ = linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) == 0;
    return named_;
  }

  std::string path_, name_;
  UniqueFd fd_;
  bool named_ = false;
};

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// In place: /dev/null stays what it is, and a terminal that takes no more is not waited for.
Status write_device(const std::string& path, const std::string& where, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return Error::from_errno(where);
  if (!S_ISCHR(info.st_mode)) return Error(where + " was replaced meanwhile: write it again");
  if (Status done = write_all(fd.get(), text); !done) return std::move(done).error().within(where);
  return {};
}

// `old`: what the new file takes the place of, if anything. Its permissions stay.
Status replace(const std::string& path, const struct stat* old, const std::string& where,
               std::string_view text) {
  const std::string target = followed(path);
  if (target.empty()) return Error(where + " is another user's link: name another file");
  NewReport file(target);
  if (!file.open()) return Error::from_errno(where);
  if (old != nullptr) (void)fchmod(file.descriptor(), old->st_mode & 0777);
  if (Status done = write_all(file.descriptor(), text); !done)
    return std::move(done).error().within(where);
  if (!file.take_place()) return Error::from_errno(where);
  return {};
}

}  // namespace

Status write_file(const std::string& path, std::string_view text) {
  const std::string where = fmt::format("file '{}'", shorten_path(path));
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return Error::from_errno(where);
    return replace(path, nullptr, where, text);
  }
  if (S_ISCHR(info.st_mode)) return write_device(path, where, text);
  if (!S_ISREG(info.st_mode))
    return Error(fmt::format("{} is {}: name a file instead", where, kind_of(info.st_mode)));
  if (access(path.c_str(), W_OK) != 0)
    return Error::from_errno(where + " is kept, name another one");
  return replace(path, &info, where, text);
}

}  // namespace ondeloc
