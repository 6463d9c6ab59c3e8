// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, which goes with it, and what is in a file.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ondeloc {

struct Folder {
  std::string path;
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "ondeloc-test-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const char* name) const { return path + "/" + name; }
  auto files() const { return std::distance(std::filesystem::directory_iterator(path), {}); }
};

inline std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace ondeloc
