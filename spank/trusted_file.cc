// SPDX-License-Identifier: Apache-2.0
#include "spank/trusted_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <string_view>

#include "mapcore/base/unique_fd.h"

namespace ondeloc {
namespace {

constexpr int kMostLinks = 40;  // as the kernel

// `what`: the component, as far as it was followed.
Status check_node(const struct stat& node, const std::string& what) {
  if (node.st_uid != 0) return Error(what + ": not owned by root");
  if (S_ISLNK(node.st_mode)) return {};  // its mode says nothing
  const bool is_folder = S_ISDIR(node.st_mode);
  const bool by_group = (node.st_mode & S_IWGRP) != 0 && !(is_folder && node.st_gid == 0);
  const bool by_others = (node.st_mode & S_IWOTH) != 0;
  const bool is_sticky = is_folder && (node.st_mode & S_ISVTX) != 0;
  if ((by_group || by_others) && !is_sticky) return Error(what + ": writable by others than root");
  return {};
}

Result<std::string> target_of(int link, const std::string& what) {
  char target[PATH_MAX];
  const ssize_t length = readlinkat(link, "", target, sizeof(target));
  if (length < 0) return Error::from_errno(what);
  return std::string(target, static_cast<std::size_t>(length));
}

// Takes components off the front of `rest_` until none is left.
class Walk {
 public:
  explicit Walk(std::string path) : rest_(std::move(path)) {}

  Status run() {
    if (Status good = go_to_root(); !good) return good;
    for (std::string name = next(); !name.empty(); name = next()) {
      if (Status good = enter(name); !good) return good;
    }
    return {};
  }
  bool is_at_file() const { return S_ISREG(node_.st_mode); }

 private:
  std::string next() {
    rest_.erase(0, rest_.find_first_not_of('/'));
    const std::string name = rest_.substr(0, rest_.find('/'));
    rest_.erase(0, name.size());
    return name;
  }

  Status go_to_root() {
    at_.reset(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    where_.clear();
    if (!at_.valid() || fstat(at_.get(), &node_) != 0) return Error::from_errno("/");
    return check_node(node_, "/");
  }

  Status enter(const std::string& name) {
    const std::string what = where_ + "/" + name;
    UniqueFd next(openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat node {};
    if (!next.valid() || fstat(next.get(), &node) != 0) return Error::from_errno(what);
    if (Status good = check_node(node, what); !good) return good;
    if (S_ISLNK(node.st_mode)) return follow(next.get(), what);
    at_ = std::move(next);
    node_ = node;
    where_ = what;
    return {};
  }

  Status follow(int link, const std::string& what) {
    if (++links_ > kMostLinks) return Error::from_errno(what, ELOOP);
    auto target = target_of(link, what);
    if (!target) return std::move(target).error();
    rest_.insert(0, *target + "/");
    return target->starts_with('/') ? go_to_root() : Status();
  }

  std::string rest_;   // not followed yet
  std::string where_;  // followed so far, "" for the root directory
  UniqueFd at_;
  struct stat node_ {};  // of at_
  int links_ = 0;
};

}  // namespace

Status check_trusted_file(const std::string& path, int mode) {
  if (!path.starts_with('/')) return Error(path + ": not an absolute path");
  Walk walk(path);
  if (Status good = walk.run(); !good) return good;
  if (!walk.is_at_file()) return Error(path + ": not a regular file");
  // Effective ids: in user_init they alone are the user's.
  if (faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) != 0) return Error::from_errno(path);
  return {};
}

}  // namespace ondeloc
