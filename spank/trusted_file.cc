// SPDX-License-Identifier: Apache-2.0
#include "spank/trusted_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ondeloc {

Status check_trusted_file(const std::string& path, int mode) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return Error::from_errno(path);
  if (!S_ISREG(file.st_mode)) return Error(path + ": not a regular file");
  if (file.st_uid != 0) return Error(path + ": not owned by root");
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error(path + ": writable by others than root");
  // Effective ids: in user_init only they are the user's.
  if (faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) != 0) return Error::from_errno(path);
  return {};
}

}  // namespace ondeloc
