// SPDX-License-Identifier: Apache-2.0
// A made-up /proc and /sys, gone at the end of the test.
#pragma once

#include <string>

#include "tests/unit/temp_dir.h"

namespace ondeloc {

class FakeRoot {
 public:
  void file(const std::string& path, const std::string& text) const {
    write_in_folders(dir_.path() + path, text);
  }
  const std::string& path() const { return dir_.path(); }

 private:
  TempDir dir_;
};

}  // namespace ondeloc
